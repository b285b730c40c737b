package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"
)

// Question is one thing to ask: `text` for reading, `json` for writing.
type Question struct {
	ID   string          `json:"id,omitempty"`
	Op   string          `json:"op"`
	Text string          `json:"text,omitempty"`
	JSON json.RawMessage `json:"json,omitempty"`
}

// Answer holds exactly one of the results, or the error in Go's own words.
type Answer struct {
	ID        string          `json:"id,omitempty"`
	JSON      json.RawMessage `json:"json,omitempty"`
	Text      *string         `json:"text,omitempty"`
	Documents []string        `json:"documents,omitempty"`
	Error     string          `json:"error,omitempty"`
}

func answer(q Question) (a Answer) {
	a.ID = q.ID
	defer func() {
		if r := recover(); r != nil {
			a = Answer{ID: q.ID, Error: fmt.Sprintf("panic: %v", r)}
		}
	}()
	var err error
	switch q.Op {
	case "read":
		a.JSON, err = yaml.YAMLToJSON([]byte(q.Text))
		checkUnmarshal(q.Text, err)
	case "strict":
		a.JSON, err = yaml.YAMLToJSONStrict([]byte(q.Text))
	case "write":
		a.Text, err = write(q.JSON, yaml.Marshal)
	case "pretty":
		a.Text, err = write(q.JSON, pretty)
	case "documents":
		a.Documents, err = documents(q.Text)
	default:
		err = fmt.Errorf("unknown op %q", q.Op)
	}
	if err != nil {
		return Answer{ID: q.ID, Error: err.Error()}
	}
	return a
}

// checkUnmarshal holds the one promise made about Unmarshal into an interface: that its error is the error of
// YAMLToJSON behind a fixed prefix.
func checkUnmarshal(text string, want error) {
	var value any
	got := yaml.Unmarshal([]byte(text), &value)
	if (got == nil) != (want == nil) {
		panic(fmt.Sprintf("Unmarshal says %v, YAMLToJSON says %v", got, want))
	}
}

func write(text json.RawMessage, marshal func(any) ([]byte, error)) (*string, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	out, err := marshal(typed(value))
	if err != nil {
		return nil, err
	}
	s := string(out)
	return &s, nil
}

// typed turns JSON numbers into what a Go program would hold: int64, uint64 or float64.
func typed(value any) any {
	switch v := value.(type) {
	case json.Number:
		s := v.String()
		if i, err := strconv.ParseInt(s, 10, 64); err == nil && s != "-0" {
			return i
		}
		if u, err := strconv.ParseUint(s, 10, 64); err == nil {
			return u
		}
		f, _ := strconv.ParseFloat(s, 64)
		return f
	case map[string]any:
		for key, item := range v {
			v[key] = typed(item)
		}
	case []any:
		for i, item := range v {
			v[i] = typed(item)
		}
	}
	return value
}

func pretty(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := goyaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func documents(text string) ([]string, error) {
	reader := kyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	var found []string
	for {
		document, err := reader.Read()
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		found = append(found, string(document))
	}
}
