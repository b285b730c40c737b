package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// A case file is line based, so that thousands of cases stay readable:
//
//	# text            comment
//	@group NAME       starts a group; ids are AREA-GROUP-NUMBER, so append to a group, never insert
//	@data JSON        data of the following cases; alone, it removes the data
//	@options JSON     options of the following cases; alone, it removes them
//	@list NAME a ;; b names a list of alternatives
//	<<<  ...  >>>     a template of several lines
//	anything else     a template of one line
//
// In a template, «NAME» stands for every alternative of a list in turn (the cross product of all
// lists it names), «a ;; b» is a list in place, ⏎ is a newline, ␍ a carriage return, ␀ a NUL and ␣ a space (alternatives are trimmed). A case line may begin with
// `=JSON= ` to bring data of its own.
type source struct {
	area, group string
	data        json.RawMessage
	options     *Options
	lists       map[string][]string
	counts      map[string]int
	records     []*Record
}

var marks = strings.NewReplacer("␣", " ", "␍", "\r", "␀", "\x00")

func readCases(area, path string) ([]*Record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &source{area: area, group: "main", lists: map[string][]string{}, counts: map[string]int{}}
	var block []string
	inBlock := false
	for i, l := range strings.Split(string(text), "\n") {
		switch {
		case inBlock && l == ">>>":
			inBlock = false
			err = s.add(strings.Join(block, "\n"))
			block = nil
		case inBlock:
			block = append(block, l)
		case l == "<<<":
			inBlock = true
		default:
			err = s.line(l)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
	}
	if inBlock {
		return nil, fmt.Errorf("%s: block is not closed", path)
	}
	return s.records, nil
}

func (s *source) line(l string) error {
	switch word, rest, _ := strings.Cut(l, " "); word {
	case "", "#":
		return nil
	case "@group":
		s.group = strings.TrimSpace(rest)
	case "@data":
		s.data = nil
		if rest != "" {
			if !json.Valid([]byte(rest)) {
				return fmt.Errorf("data is not JSON: %s", rest)
			}
			s.data = json.RawMessage(rest)
		}
	case "@options":
		s.options = nil
		if rest != "" {
			s.options = &Options{}
			d := json.NewDecoder(strings.NewReader(rest))
			d.DisallowUnknownFields()
			if err := d.Decode(s.options); err != nil {
				return err
			}
		}
	case "@list":
		name, items, _ := strings.Cut(rest, " ")
		s.lists[name] = alternatives(items)
	default:
		if strings.HasPrefix(word, "@") && word != "@" && !strings.Contains(word, "{") {
			return fmt.Errorf("unknown directive %s", word)
		}
		return s.add(l)
	}
	return nil
}

func alternatives(text string) []string {
	items := strings.Split(text, ";;")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

func (s *source) add(text string) error {
	data := s.data
	if strings.HasPrefix(text, "=") {
		if raw, rest, ok := strings.Cut(text[1:], "= "); ok && json.Valid([]byte(raw)) {
			data, text = json.RawMessage(raw), rest
		}
	}
	texts, err := s.expand(strings.ReplaceAll(text, "⏎", "\n"))
	if err != nil {
		return err
	}
	for _, t := range texts {
		t = marks.Replace(t)
		s.counts[s.group]++
		id := fmt.Sprintf("%s-%s-%d", s.area, s.group, s.counts[s.group])
		s.records = append(s.records, &Record{ID: id, Template: t, Data: data, Options: s.options})
	}
	return nil
}

// expand replaces the first marker by each alternative and goes on with the rest; the same
// marker later in the template takes the same alternative.
func (s *source) expand(text string) ([]string, error) {
	before, rest, found := strings.Cut(text, "«")
	if !found {
		return []string{text}, nil
	}
	name, _, closed := strings.Cut(rest, "»")
	if !closed {
		return nil, fmt.Errorf("marker is not closed: %s", text)
	}
	items, known := s.lists[name]
	if !known {
		if !strings.Contains(name, ";;") {
			return nil, fmt.Errorf("unknown list %s", name)
		}
		items = alternatives(name)
	}
	var all []string
	for _, item := range items {
		texts, err := s.expand(before + strings.ReplaceAll(text[len(before):], "«"+name+"»", item))
		if err != nil {
			return nil, err
		}
		all = append(all, texts...)
	}
	return all, nil
}
