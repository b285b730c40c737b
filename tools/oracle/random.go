package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
)

// runRandom prints cases that depend on the seed alone, with what Go makes of them.
func runRandom(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("random", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "where to begin")
	count := flags.Int("count", 1000, "how many cases to print")
	if err := flags.Parse(args); err != nil {
		return err
	}
	sigs := signatures()
	p := pool{timeless: true}
	defer p.stop()
	for printed, i := 0, uint64(0); printed < *count; i++ {
		r := newGenerator(*seed, i, sigs).record(fmt.Sprintf("random-%d-%d", *seed, i))
		res, why := settle(r, p.evaluate)
		if why != "" {
			continue
		}
		trim(r, res, p.evaluate)
		r.setResult(res)
		b, err := line(r)
		if err != nil {
			return err
		}
		if _, err := out.Write(b); err != nil {
			return err
		}
		printed++
	}
	return nil
}

// A generator writes one random template over data of known shape.
type generator struct {
	*rand.Rand
	sigs   []signature
	scopes [][]variable
	// defined are the named templates so far: only earlier ones are called, so nothing recurs.
	defined []string
	// inner counts the enclosing blocks that move the dot.
	inner  int
	budget int
}

type variable struct {
	name string
	kind byte
}

func newGenerator(seed, index uint64, sigs []signature) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, index)), sigs: sigs, scopes: [][]variable{nil}, budget: 12 + int(index%25)}
}

func (g *generator) record(id string) *Record {
	r := &Record{ID: id, Data: g.data()}
	if g.chance(6) {
		r.Options = &Options{MissingKey: pick(g, []string{"zero", "error", "default"})}
	}
	var t strings.Builder
	for range g.IntN(3) {
		if g.chance(2) {
			t.WriteString(g.define())
		}
	}
	for range 1 + g.IntN(4) {
		t.WriteString(g.node(0))
	}
	r.Template = t.String()
	if g.chance(14) {
		r.Template = g.damage(r.Template)
	}
	return r
}

// chance is true once in n times.
func (g *generator) chance(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, items []T) T { return items[g.IntN(len(items))] }

// data is an object whose names tell the kind: s0 is a string, l1 a list, and so on.
func (g *generator) data() json.RawMessage {
	object := map[string]any{
		"s0": pick(g, []string{"alpha", "", "Beta Gamma", "ünï", "a\nb\n"}),
		"s1": pick(g, []string{"k1", "x,y", "42", "1h", "<&>", "true"}),
		"n0": json.RawMessage(pick(g, []string{"0", "1", "7", "-3", "1000000", "18446744073709551615"})),
		"n1": json.RawMessage(pick(g, []string{"2.5", "5.0", "-0.75", "1e21", "1234567.0", "3"})),
		"k0": json.RawMessage(pick(g, []string{"0", "1", "2", "4"})),
		"b0": g.chance(2), "b1": true, "nul": nil,
		"l0": pick(g, [][]any{{}, {1, 2, 3}, {"b", "a", "b"}, {nil, "", 0}}),
		"l1": []any{map[string]any{"k1": "v", "n": 1}, map[string]any{"k1": nil, "n": 2}},
		"m0": pick(g, []map[string]any{{}, {"k1": 1, "k2": "two"}, {"a": nil, "b": map[string]any{"k1": []any{1}}}}),
		"m1": map[string]any{"k1": map[string]any{"k2": "deep", "l": []any{1, "x"}}, "z": false},
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return nil
	}
	return raw
}

var fields = map[byte][]string{
	's': {".s0", ".s1", "$.s0", ".m1.k1.k2"},
	'n': {".n0", ".n1", "$.n0", ".k0"},
	'k': {"(int .k0)", "(len .l1)"},
	'b': {".b0", ".b1", "$.b1", ".m1.z"},
	'l': {".l0", ".l1", "$.l0", ".m1.k1.l"},
	'm': {".m0", ".m1", "$.m1", ".m1.k1"},
	'a': {".s0", ".n0", ".n1", ".b0", ".l0", ".m0", ".nul", ".gone", ".m0.k1", ".gone.x", ".", "$", ".nul.x"},
	'K': {".s1"},
}

// expr is an operand of a kind, or now and then of another.
func (g *generator) expr(kind byte, depth int) string {
	if g.chance(18) && kind != 'k' {
		kind = pick(g, []byte("snfblma"))
	}
	g.budget--
	roll := g.IntN(10)
	if roll < 4 && depth < 4 && g.budget > 0 && kind != 'k' {
		if call := g.call(kind, depth+1); call != "" {
			return "(" + call + ")"
		}
	}
	if roll < 6 {
		var usable []string
		for _, scope := range g.scopes {
			for _, v := range scope {
				if v.kind == kind {
					usable = append(usable, v.name)
				}
			}
		}
		if len(usable) > 0 {
			return pick(g, usable)
		}
	}
	if names := fields[kind]; roll < 9 && len(names) > 0 {
		return g.rooted(pick(g, names))
	}
	if kind == 'k' && g.chance(25) {
		return pick(g, []string{`"2"`, `2.0`, `2.5`, `nil`, `.gone`, `true`, `.s0`, `(list)`})
	}
	if list := samples[kind]; len(list) > 0 {
		return pick(g, list)
	}
	return "."
}

// rooted makes most fields begin at the root where the dot is something else.
func (g *generator) rooted(field string) string {
	if g.inner == 0 || g.chance(5) || field == "." || strings.HasPrefix(field, "$") {
		return field
	}
	if strings.HasPrefix(field, ".") {
		return "$" + field
	}
	return strings.Replace(field, " .", " $.", 1)
}

// call is a function call that gives a kind, as a command or a pipeline.
func (g *generator) call(kind byte, depth int) string {
	var usable []signature
	for _, s := range g.sigs {
		if s.gives == kind || kind == 'a' {
			usable = append(usable, s)
		}
	}
	if len(usable) == 0 {
		return ""
	}
	s := pick(g, usable)
	params := append([]byte(nil), s.params...)
	if s.rest != 0 {
		for range g.IntN(3) {
			params = append(params, s.rest)
		}
	}
	switch {
	case g.chance(40) && len(params) > 0:
		params = params[1:]
	case g.chance(40):
		params = append(params, 's')
	}
	args := make([]string, len(params))
	for i, p := range params {
		args[i] = g.expr(p, depth)
	}
	if len(args) > 0 && g.chance(3) {
		last := args[len(args)-1]
		return strings.Join(append([]string{strings.TrimSuffix(strings.TrimPrefix(last, "("), ")") + " | " + s.name}, args[:len(args)-1]...), " ")
	}
	return strings.Join(append([]string{s.name}, args...), " ")
}

func (g *generator) pipeline(kind byte) string {
	if g.chance(3) {
		return g.expr(kind, 0)
	}
	if call := g.call(kind, 0); call != "" {
		return call
	}
	return g.expr(kind, 0)
}

// action wraps text in delimiters, with or without trim markers.
func (g *generator) action(text string) string {
	left, right := "{{ ", " }}"
	if g.chance(4) {
		left = "{{- "
	}
	if g.chance(5) {
		right = " -}}"
	}
	return left + text + right
}

func (g *generator) body(depth int) string {
	g.scopes = append(g.scopes, nil)
	var b strings.Builder
	for range 1 + g.IntN(2) {
		b.WriteString(g.node(depth + 1))
	}
	g.scopes = g.scopes[:len(g.scopes)-1]
	return b.String()
}

func (g *generator) declare(kind byte) string {
	name := fmt.Sprintf("$v%d", g.IntN(5))
	top := len(g.scopes) - 1
	g.scopes[top] = append(g.scopes[top], variable{name, kind})
	return name
}

func (g *generator) kind() byte { return pick(g, []byte("ssnnfblma")) }

// node is one piece of a template.
func (g *generator) node(depth int) string {
	roll := g.IntN(20)
	if depth > 2 || g.budget < 0 {
		roll = g.IntN(8)
	}
	switch {
	case roll < 3:
		return pick(g, []string{"text", " ", "\n", "  - x\n", "é", "key: ", "\t", "{ ", "}"})
	case roll < 8:
		return g.action(g.pipeline(g.kind()))
	case roll < 10:
		kind := g.kind()
		value := g.pipeline(kind)
		return g.action(g.declare(kind) + " := " + value)
	case roll < 11:
		for _, scope := range g.scopes {
			if len(scope) > 0 {
				v := pick(g, scope)
				return g.action(v.name + " = " + g.pipeline(v.kind))
			}
		}
		return g.action(g.pipeline('s'))
	case roll < 14:
		text := g.action("if "+g.pipeline(pick(g, []byte("bba")))) + g.body(depth)
		if g.chance(3) {
			text += g.action("else if "+g.pipeline('b')) + g.body(depth)
		}
		if g.chance(2) {
			text += g.action("else") + g.body(depth)
		}
		return text + g.action("end")
	case roll < 15:
		text := g.action("with " + g.pipeline(pick(g, []byte("mas"))))
		g.inner++
		text += g.body(depth)
		g.inner--
		switch g.IntN(3) {
		case 0:
			text += g.action("else") + g.body(depth)
		case 1:
			text += g.action("else with "+g.pipeline('a')) + g.body(depth)
		}
		return text + g.action("end")
	case roll < 18:
		return g.loop(depth)
	case roll < 19:
		if len(g.defined) == 0 {
			return "{{- /* nothing */}}"
		}
		name := pick(g, g.defined)
		if g.chance(2) {
			return g.action(fmt.Sprintf("template %q %s", name, g.argument()))
		}
		return g.action(fmt.Sprintf("include %q %s | %s", name, g.argument(), pick(g, []string{"upper", "quote", "nindent 2", "trim", "len", "sha256sum"})))
	}
	return pick(g, []string{"{{/* comment */}}", "{{- /* comment */ -}}", `{{ tpl "{{ .s0 }}{{ .gone }}" . }}`, "{{ `raw` }}"})
}

// argument is what a named template gets: mostly the root, which it then finds its fields in.
func (g *generator) argument() string {
	if g.chance(4) {
		return g.expr('a', 1)
	}
	return "$"
}

func (g *generator) loop(depth int) string {
	kind := pick(g, []byte("lllmmks"))
	over := g.pipeline(kind)
	if kind == 'k' {
		// Never a computed number: it could be astronomic.
		over = g.rooted(pick(g, []string{"3", ".k0", "0", "-1", "(len .l1)", "2.5"}))
	}
	head := over
	g.scopes = append(g.scopes, nil)
	switch g.IntN(3) {
	case 0:
		head = g.declare('a') + " := " + over
	case 1:
		if kind != 'k' || g.chance(5) {
			head = g.declare('s') + ", " + g.declare('a') + " := " + over
		}
	}
	g.inner++
	text := g.action("range "+head) + g.body(depth)
	if g.chance(4) {
		text += g.action("if "+g.expr('b', 2)) + g.action(pick(g, []string{"break", "continue"})) + g.action("end") + g.body(depth)
	}
	g.inner--
	g.scopes = g.scopes[:len(g.scopes)-1]
	if g.chance(3) {
		text += g.action("else") + g.body(depth)
	}
	return text + g.action("end")
}

func (g *generator) define() string {
	name := fmt.Sprintf("t%d", len(g.defined))
	outer := g.scopes
	g.scopes = [][]variable{nil}
	text := g.action(fmt.Sprintf("define %q", name)) + g.body(1) + g.action("end")
	g.scopes = outer
	g.defined = append(g.defined, name)
	return text
}

// damage breaks a template in one place.
func (g *generator) damage(text string) string {
	if text == "" {
		return "{{"
	}
	at := []rune(text)
	i := g.IntN(len(at))
	switch g.IntN(4) {
	case 0:
		return string(at[:i])
	case 1:
		return string(at[:i]) + string(at[i+1:])
	case 2:
		return string(at[:i]) + pick(g, []string{"}}", "{{", "\"", "(", ")", "|", "$", ".", "-", "end", " ", "`", "'", "\\", ":=", "{{ end }}", "{{ else }}"}) + string(at[i:])
	}
	j := g.IntN(len(at))
	at[i], at[j] = at[j], at[i]
	return string(at)
}
