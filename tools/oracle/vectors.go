package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// maxOutput keeps the golden files small; a case above it should observe `len` instead.
const maxOutput = 16 << 10

var address = regexp.MustCompile(`0xc0[0-9a-f]{8}`)

func runVectors(args []string) error {
	flags := flag.NewFlagSet("vectors", flag.ContinueOnError)
	dir := flags.String("cases", "cases", "folder of the case files")
	out := flags.String("out", "../../crates/gotpl/tests/golden", "folder of the golden files")
	only := flags.String("area", "", "regenerate one area only")
	if err := flags.Parse(args); err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(*dir, "*.txt"))
	if err != nil {
		return err
	}
	sort.Strings(paths)
	total := 0
	for _, path := range paths {
		area := strings.TrimSuffix(filepath.Base(path), ".txt")
		if *only != "" && *only != area {
			continue
		}
		records, err := readCases(area, path)
		if err != nil {
			return err
		}
		n, err := writeGolden(records, filepath.Join(*out, area+".jsonl"))
		if err != nil {
			return err
		}
		fmt.Printf("%-12s %5d cases, %4d errors, %d bytes\n", area, n.cases, n.errors, n.bytes)
		total += n.cases
	}
	if *only == "" || *only == "random" {
		if err := writeRandom(filepath.Join(*out, "random.jsonl")); err != nil {
			return err
		}
		fmt.Printf("%-12s %5d cases\n", "random", randomCount)
		total += randomCount
	}
	fmt.Printf("%-12s %5d cases\n", "total", total)
	return nil
}

// An evaluator is `evaluate`, in this process or in another.
type evaluator func(*Record) result

type written struct{ cases, errors, bytes int }

// The random cases that are kept: enough to mix what the case files keep apart.
const (
	randomSeed  = "2026"
	randomCount = 1500
)

func writeRandom(path string) error {
	var file bytes.Buffer
	if err := runRandom([]string{"--seed", randomSeed, "--count", fmt.Sprint(randomCount)}, &file); err != nil {
		return err
	}
	return os.WriteFile(path, file.Bytes(), 0o644)
}

// writeGolden evaluates the cases and writes those that are new and repeatable.
func writeGolden(records []*Record, path string) (written, error) {
	var file bytes.Buffer
	var n written
	var problems []string
	seen := map[string]bool{}
	for _, r := range records {
		key := r.Template + "\x00" + string(r.Data) + fmt.Sprint(r.Options)
		if seen[key] {
			// Expanded lists overlap here and there; one copy is enough.
			continue
		}
		seen[key] = true
		res, why := settle(r, evaluate)
		if why != "" {
			problems = append(problems, fmt.Sprintf("%s: %s: %.300q\n    %.300s", r.ID, why, r.Template, res.text))
			continue
		}
		trim(r, res, evaluate)
		if r.Options.empty() {
			r.Options = nil
		}
		r.setResult(res)
		if res.failed {
			n.errors++
		}
		b, err := line(r)
		if err != nil {
			return n, err
		}
		file.Write(b)
		n.cases++
	}
	if len(problems) > 0 {
		return n, fmt.Errorf("%s:\n  %s", filepath.Base(path), strings.Join(problems, "\n  "))
	}
	n.bytes = file.Len()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return n, err
	}
	return n, os.WriteFile(path, file.Bytes(), 0o644)
}

// settle evaluates a case several times and refuses what cannot be a vector.
func settle(r *Record, evaluate evaluator) (result, string) {
	first := evaluate(r)
	switch {
	case first.broken:
		return first, "Go broke"
	case len(first.text) > maxOutput:
		return first, "output too long"
	case address.MatchString(first.text):
		return first, "prints an address"
	}
	for range 3 {
		if again := evaluate(r); again != first {
			return again, "not deterministic"
		}
	}
	return first, ""
}

// trim drops the keys of the data that do not matter, to keep the files small.
func trim(r *Record, want result, evaluate evaluator) {
	var whole map[string]json.RawMessage
	if json.Unmarshal(r.Data, &whole) != nil || len(whole) == 0 {
		return
	}
	part := map[string]json.RawMessage{}
	text := r.Template
	if r.Options != nil {
		for _, t := range r.Options.Templates {
			text += t
		}
	}
	for key, v := range whole {
		if strings.Contains(text, key) {
			part[key] = v
		}
	}
	raw, err := line(part)
	if err != nil || len(part) == len(whole) {
		return
	}
	raw = bytes.TrimSpace(raw)
	if bytes.Equal(raw, []byte("{}")) {
		raw = nil
	}
	try := *r
	for _, data := range []json.RawMessage{raw, json.RawMessage("{}")} {
		try.Data = data
		if evaluate(&try) == want {
			r.Data = data
			return
		}
		if raw != nil {
			return
		}
	}
}
