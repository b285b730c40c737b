package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Options are the settings of one case; the zero value means Go's and Helm's defaults.
type Options struct {
	MissingKey string            `json:"missingkey,omitempty"`
	Delims     []string          `json:"delims,omitempty"`
	Funcs      string            `json:"funcs,omitempty"`
	Templates  map[string]string `json:"templates,omitempty"`
	Name       string            `json:"name,omitempty"`
}

func (o *Options) empty() bool {
	return o == nil || o.MissingKey == "" && len(o.Delims) == 0 && o.Funcs == "" && len(o.Templates) == 0 && o.Name == ""
}

// Record is a case and, once evaluated, what Go answered.
type Record struct {
	ID        string          `json:"id"`
	Template  string          `json:"template"`
	Data      json.RawMessage `json:"data,omitempty"`
	Options   *Options        `json:"options,omitempty"`
	Output    *string         `json:"output,omitempty"`
	OutputB64 *string         `json:"output_b64,omitempty"`
	Error     *string         `json:"error,omitempty"`
	ErrorB64  *string         `json:"error_b64,omitempty"`
}

// setResult stores a result in the field that can carry it without loss.
func (r *Record) setResult(res result) {
	r.Output, r.OutputB64, r.Error, r.ErrorB64 = nil, nil, nil, nil
	text := res.text
	if res.failed {
		if utf8.ValidString(text) {
			r.Error = &text
		} else {
			b := base64.StdEncoding.EncodeToString([]byte(text))
			r.ErrorB64 = &b
		}
		return
	}
	if utf8.ValidString(text) {
		r.Output = &text
	} else {
		b := base64.StdEncoding.EncodeToString([]byte(text))
		r.OutputB64 = &b
	}
}

// decodeData reads JSON as Kubernetes does: integers stay integers.
func decodeData(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return numbers(v)
}

func numbers(v any) (any, error) {
	var err error
	switch x := v.(type) {
	case json.Number:
		s := x.String()
		if !strings.ContainsAny(s, ".eE") {
			if i, err := strconv.ParseInt(s, 10, 64); err == nil {
				return i, nil
			}
			if u, err := strconv.ParseUint(s, 10, 64); err == nil {
				return u, nil
			}
		}
		return strconv.ParseFloat(s, 64)
	case []any:
		for i := range x {
			if x[i], err = numbers(x[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range x {
			if x[k], err = numbers(x[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// line encodes a value as one JSON line without HTML escapes.
func line(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
