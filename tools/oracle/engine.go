package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// rootName is what Helm calls its root template; text given to `tpl` is parsed under it.
const rootName = "gotpl"

// caseTimeout bounds one evaluation; a case that needs longer is not a useful vector.
const caseTimeout = 20 * time.Second

var builtins = map[string]bool{
	"and": true, "or": true, "not": true, "len": true, "index": true, "slice": true, "print": true,
	"println": true, "printf": true, "html": true, "js": true, "urlquery": true, "call": true, "eq": true,
	"ne": true, "lt": true, "le": true, "gt": true, "ge": true,
}

type result struct {
	text   string
	failed bool
	// broken says that Go itself panicked or timed out: nothing to learn from it.
	broken bool
}

func setUTC() error {
	time.Local = time.UTC
	return os.Setenv("TZ", "UTC")
}

// newSet builds an empty template set with the options of a case.
func newSet(o *Options) (*template.Template, error) {
	if o == nil {
		o = &Options{}
	}
	t := template.New(rootName)
	switch o.MissingKey {
	case "", "default", "invalid", "zero", "error":
		if o.MissingKey != "" {
			t.Option("missingkey=" + o.MissingKey)
		}
	default:
		return nil, fmt.Errorf("options: missingkey %q is none of default, invalid, zero, error", o.MissingKey)
	}
	switch len(o.Delims) {
	case 0:
	case 2:
		t.Delims(o.Delims[0], o.Delims[1])
	default:
		return nil, fmt.Errorf("options: delims takes two strings")
	}
	switch o.Funcs {
	case "builtin":
	case "sprig":
		f := sprig.TxtFuncMap()
		for _, name := range removed {
			delete(f, name)
		}
		t.Funcs(f)
	case "", "helm":
		t.Funcs(helmFuncs(t, o.MissingKey == "error"))
	default:
		return nil, fmt.Errorf("options: funcs %q is none of builtin, sprig, helm", o.Funcs)
	}
	return t, nil
}

// limited collects output and gives up before a runaway loop fills the memory.
type limited struct{ strings.Builder }

var errTooLong = errors.New("the output is too long")

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > 16<<20 {
		return 0, errTooLong
	}
	return l.Builder.Write(p)
}

// evaluate parses and runs one case on fresh data.
func evaluate(r *Record) (res result) {
	done := make(chan result, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- result{text: fmt.Sprintf("panic: %v\n%s", p, debug.Stack()), failed: true, broken: true}
			}
		}()
		done <- evaluateNow(r)
	}()
	select {
	case res = <-done:
	case <-time.After(caseTimeout):
		res = result{text: "timeout", failed: true, broken: true}
	}
	return res
}

func evaluateNow(r *Record) result {
	fail := func(err error) result { return result{text: err.Error(), failed: true} }
	o := r.Options
	if o == nil {
		o = &Options{}
	}
	data, err := decodeData(r.Data)
	if err != nil {
		return result{text: err.Error(), failed: true, broken: true}
	}
	root, err := newSet(o)
	if err != nil {
		return result{text: err.Error(), failed: true, broken: true}
	}
	if timeless {
		refuseChance(root)
	}
	names := make([]string, 0, len(o.Templates))
	for name := range o.Templates {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if _, err := root.New(name).Parse(o.Templates[name]); err != nil {
			return fail(err)
		}
	}
	name := o.Name
	if name == "" {
		name = "template"
	}
	if _, err := root.New(name).Parse(r.Template); err != nil {
		return fail(err)
	}
	var out limited
	if err := root.ExecuteTemplate(&out, name, data); err != nil {
		if errors.Is(err, errTooLong) || errors.Is(err, chanceError{}) {
			return result{text: err.Error(), failed: true, broken: true}
		}
		return fail(err)
	}
	return result{text: out.String()}
}

// runEval answers each JSON line of the input with one line.
func runEval(in io.Reader, out io.Writer) error {
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, 64<<20)
	w := bufio.NewWriter(out)
	defer w.Flush()
	var p pool
	defer p.stop()
	for scan.Scan() {
		if len(strings.TrimSpace(scan.Text())) == 0 {
			continue
		}
		var r Record
		if err := json.Unmarshal(scan.Bytes(), &r); err != nil {
			return err
		}
		r.setResult(p.evaluate(&r))
		answer := struct {
			ID        string  `json:"id"`
			Output    *string `json:"output,omitempty"`
			OutputB64 *string `json:"output_b64,omitempty"`
			Error     *string `json:"error,omitempty"`
			ErrorB64  *string `json:"error_b64,omitempty"`
		}{r.ID, r.Output, r.OutputB64, r.Error, r.ErrorB64}
		b, err := line(answer)
		if err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return scan.Err()
}

// runFuncs lists every function name with the library that first has it.
func runFuncs(out io.Writer) error {
	names := map[string]string{}
	for name := range builtins {
		names[name] = "builtin"
	}
	for name := range sprig.TxtFuncMap() {
		if _, ok := names[name]; !ok && !slices.Contains(removed, name) {
			names[name] = "sprig"
		}
	}
	gtf := gtfFuncs()
	for name := range helmFuncs(template.New(rootName), false) {
		if _, ok := names[name]; ok {
			continue
		}
		names[name] = "helm"
		if _, ok := gtf[name]; ok {
			names[name] = "gtf"
		}
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	sort.Strings(sorted)
	for _, name := range sorted {
		if _, err := fmt.Fprintf(out, "%s\t%s\n", names[name], name); err != nil {
			return err
		}
	}
	return nil
}
