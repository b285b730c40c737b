package main

import (
	"fmt"
	"math"
	"strings"
)

type object = map[string]any

// valuesToWrite are values whose YAML shows every decision of the emitter.
func valuesToWrite() []any {
	var values []any
	for _, look := range looks {
		values = append(values, look, object{"k": look, look: 1}, []any{look})
	}
	for _, text := range []string{
		"a\n", "a\nb", "a\nb\n", "a\n\n", "\n", "\n\n", "\na", "\n\na\n", " a\nb", "  a\n b\n", "a \nb", "a\n b", "a\nb ", "a\n \nb", "a\n\n\nb\n\n\n", "a\tb\nc", "\ta\nb", "a\t\nb", "a\r\nb", "a\rb", "\r", "é\nü\n", "😀\nb\n", "a\u2028b\nc", "a\u2028b", "\u2028a", "a\u2028", "a \u2028b", "a\u2028 b", "a\x01b", "a\x1bb\n", "a\x00", "\ufeffab c\n", "a\ufeffb", "\u00a0", "a\u200b", "\ufffd", "a: b\nc: d\n", "# c\na\n", "- a\n- b\n", "'a'\n\"b\"\n", "---\na\n", "...\n", "a\n---\nb", "key: |\n  x\n", "trailing \n", "#!/bin/sh\nset -e\nexec \"$@\"\n", "{\n  \"a\": 1\n}\n", "\\", "a\\nb", "\"", "'\"'", " ", "  ", " a", "a ", " a ", "a  b", "\t", "a\t", "\ta", "a \tb",
		"a\x7fb", "\u0080", "\u0085", "a\u0085b", "a \u0085 b", "a\u0085\u0085b", "\ufffe", "x\uffff",
	} {
		values = append(values, text, object{"k": text}, []any{text, []any{text}}, object{text: "v"}, object{"a": object{"b": text, "c": []any{text}}})
	}
	for _, n := range []int{70, 76, 77, 78, 79, 80, 81, 82, 83, 90, 160, 250} {
		word := strings.Repeat("x", n)
		words := strings.TrimSpace(strings.Repeat("word ", n/5))
		for _, text := range []string{word, word + " y", word + " y z", words, words + "  two", "'" + words, words + ": x", "# " + words, words + "\t" + words, words + "\n" + words, words + " ", " " + words, strings.Repeat("é ", n/2) + "x", strings.Repeat("a  b ", n/5) + "c", "@" + strings.Repeat("a  b ", n/5) + "c", "\x01" + strings.Repeat("a  b ", n/5) + "c", "it's: " + strings.Repeat("it's ", n/5) + "x", strings.Repeat("x", n/2) + " " + strings.Repeat("y", n/2) + " z w"} {
			values = append(values, object{"k": text}, object{"a": object{"bcd": []any{text}}})
		}
		values = append(values, words, object{word: 1}, object{words: 1}, object{word: []any{1}}, object{word: object{"a": 1}}, object{words: words})
	}
	for _, n := range []int{126, 127, 128, 129, 130, 1021, 1022, 1023, 1024, 1025} {
		key := strings.Repeat("k", n)
		values = append(values, object{key: 1}, object{key: object{"a": 1, "b": []any{1, 2}}}, object{key: []any{1, object{"c": 2}}}, object{strings.Repeat("<", n/6): 1}, []any{object{key: "v", "z": 1}})
	}
	for _, number := range []any{0, 1, -1, 42, math.MaxInt64, math.MinInt64, uint64(math.MaxUint64), uint64(math.MaxInt64) + 1, 0.0, 0.5, -0.5, 1.5, 100.0, 1e5, 999999.0, 1e6, 1234567.0, 1234567.5, 1e15, 1e18, 1e19, 1.5e19, 1e20, 1e21, 1.5e21, 1e22, 1e100, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1.23e-10, 5e-324, math.MaxFloat64, 0.1, 0.2, 1.0 / 3, 123456.789, 12345678.9, 1e5 + 0.5, -1e6, -1e20, 3.0, 2.5e-8, 100000.0, 1000000.5} {
		values = append(values, number, object{"k": number}, []any{number})
	}
	values = append(values, nil, true, false, object{}, []any{}, []any{nil, true, false}, object{"a": nil, "b": true, "c": object{}, "d": []any{}}, []any{[]any{}}, []any{object{}}, []any{[]any{[]any{}}}, []any{[]any{1, 2}, []any{3}}, []any{object{"a": 1, "b": 2}, object{"c": []any{1}}}, object{"a": []any{object{"b": []any{object{"c": 1}}}}}, object{"a": []any{[]any{object{"b": 1}}}}, []any{[]any{[]any{1, 2}, 3}, 4}, object{"a": object{"b": object{"c": object{"d": []any{1}}}}})
	for _, keys := range [][]string{
		{"a1", "a2", "a10", "a01", "a02", "a"}, {"A", "B", "a", "b", "_", "-", "1", "10", "2", "é", "日"}, {"x1y2", "x1y10", "x10y1"}, {"x01y2", "x1y2", "x2y1"}, {"b", "a", "C", "D"}, {"a-b", "ab", "a.b", "a_b", "a b", "a/b"}, {"1", "01", "001", "1a", "a1", "0"}, {"true", "false", "null", "y", "no", "~", ""}, {"app.kubernetes.io/name", "app", "app-2", "app2", "helm.sh/chart"}, {"v1", "v1alpha1", "v1beta1", "v1beta2", "v2", "v10", "v2beta1", "v11alpha2"}, {"100", "99", "9a", "9-", "9"}, {"k٣", "k3", "k4", "kⅣ", "k²"}, {"aé", "az", "a1", "a-"}, {"0a", "0b", "00a"}, {"key1", "key11", "key2", "key_1", "key-1", "Key1"}, {"a b", "a  b", "a\tb", "a\nb"}, {"99999999999999999999", "9999999999999999999", "1"},
	} {
		value := object{}
		for i, key := range keys {
			value[key] = i
		}
		values = append(values, value, []any{value}, object{"m": value})
	}
	deployment := object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "web", "labels": object{"app": "web", "version": "1.0", "on": "yes"}, "annotations": object{"note": strings.TrimSpace(strings.Repeat("lorem ipsum ", 20))}}, "spec": object{"replicas": 3, "template": object{"spec": object{"containers": []any{object{"name": "web", "image": "nginx:1.27", "args": []any{"-c", "echo a\necho b\n", "--port=80", "- x", "0777"}, "ports": []any{object{"containerPort": 80}}, "resources": object{"limits": object{"cpu": "0.5", "memory": "1e3"}}}}}}}}
	values = append(values, deployment, []any{deployment, deployment})
	for i := range 40 {
		values = append(values, object{fmt.Sprintf("k%d", i): strings.Repeat("ab ", i*3) + "end", "n": float64(i) * 1e5 / 3})
	}
	return values
}
