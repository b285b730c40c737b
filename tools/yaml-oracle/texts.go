package main

import (
	"fmt"
	"strings"
)

// looks are scalars of every look: what a plain scalar may mean, and what must be quoted to stay text.
var looks = []string{
	"", "~", "null", "Null", "NULL", "nULL", "nil", "none",
	"true", "True", "TRUE", "tRUE", "false", "False", "FALSE", "yes", "Yes", "YES", "yEs", "no", "No", "NO", "nO",
	"on", "On", "ON", "oN", "off", "Off", "OFF", "oFF", "y", "Y", "n", "N", "t", "f", "yess", "noo", "o", "O",
	"0", "-0", "+0", "00", "1", "-1", "+1", "12345", "007", "0777", "-0777", "+0777", "08", "09.5", "0o777", "0O17",
	"-0o17", "+0o17", "0o", "0o8", "0b101", "0B11", "-0b101", "+0b1", "0b", "0b2", "0b+1", "0b-1", "-0b-1", "0o+7",
	"0x1F", "0X1f", "-0x1F", "+0xff", "0x", "0xg", "0x1F_FF", "1_000", "1__000", "_1", "1_", "+_1", "-_", "1_.5", "0_7",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
	"18446744073709551615", "18446744073709551616", "+18446744073709551615", "0xFFFFFFFFFFFFFFFF",
	"0x10000000000000000", "99999999999999999999999999",
	"1.0", "1.5", "-1.5", "+1.5", "1.", ".5", "-.5", "+.5", ".", "..", "-.", "1e3", "1E3", "1e+3", "1e-3", "1e", "1e+",
	"e3", ".5e1", ".e1", "1.e1", "1_0.5", ".1_2", "._5", ".5_", "1e400", "-1e400", "1e-400", ".5e999", "0.1", "0.30000000000000004",
	"1e21", "1e20", "123456789012345678901234567890", "1e-7", "0.000001", "0.0000001", "3.0e0", "1.7976931348623157e308",
	"0x1p4", "0x1.8p1", "inf", "Inf", "NaN", "nan", "infinity", "+inf",
	"1:30", "12:30:45", "-1:30", "190:20:30.15", "1:60", "1:", ":1", "01:02",
	"2001-01-01", "2001-1-1", "2001-13-01", "2001-02-29", "2000-02-29", "2001-12-14T21:59:43.10-05:00",
	"2001-12-14t21:59:43Z", "2001-12-14 21:59:43.10", "2001-12-14 21:59:43.10 -5", "2001-12-14   21:59:43", "2001-12-15 2:59:43",
	"2001-12-15T24:00:00Z", "2001-12-15T23:60:00Z", "2001-12-15T1:2:3Z", "2001-12-15T1:2:3,5Z", "2001-12-15T01:02:03+24:60",
	"2001-12-15T01:02:03+25:00", "2001-12-15T01:02:03+01", "20011-01-01", "201-01-01", "2001-01", "2001-", "2001-01-01x", "2001-01-32",
	"a", "abc", "a b", "a  b", "a:b", "a#b", "a #b", "#a", "a,b", "a[b", "a]b", "a{b", "a}b", "a?b", "?a", "?", ":a", ":", "-a", "- a",
	"-", "--", "---a", "--- a", "...a", "... a", "...", "---", "!", "!a", "&", "&a", "*", "*a", "|", "|a", ">", ">a", "'", "\"", "'a", "\"a", "%", "%a",
	"@", "@a", "`", "`a", "=", "==", "<<", "<", "a'b", "a\"b", "a\\b", "a\tb", "it's", "[", "]", "{", "}", "[a", "{a", "a]", "a}", ",", ",a",
	"é", "日本語", "😀", "a\u00a0b", "\u00a0", "\ufeffa", "a\ufeffb", "ü: x", "a\u2028b", "a\u0085b", "\u2029", "x\u200bz",
	"5Gi", "100m", "1.2.3", "v1", "10.0.0.1", "1e3x", "0.5.", "1-2", "1+1", "+", "++1", "+-1", "-+1", "--1",
	"key: value", "key:", "key: ", "a: b: c", "http://x/y?z=1", "C:\\dir", "$(VAR)", "${VAR}", "{{ .x }}", "a {{ .x }}", "*.example.com", "/^a.*$/",
}

func scalarTexts() []string {
	var texts []string
	for _, look := range looks {
		texts = append(texts, look, "a: "+look, "- "+look, "["+look+"]", "{k: "+look+"}")
	}
	for _, look := range looks {
		texts = append(texts, "- a\n- "+look+"\n- b", look+": x")
	}
	return texts
}

func keyTexts() []string {
	texts := []string{
		"a: 1\na: 2", "a: 1\nb: 2\na: 3\nb: 4", "true: a\nyes: b", "on: a\nx: b", "1.5: a\n1.50: b", "{a: 1, a: 2}",
		"a: {b: 1, b: 2}\nc: [{d: 1, d: 2}]", "~: a", "null: a\nb: c", ": a", "? : a", "? a", "? a\n: b", "? a\nb: c", "[a]: b",
		"{a: b}: c", "? [a, b]\n: c", "? {a: 1}\n: c", "? - a\n  - b\n: c", "{[a]: b}", "{{a}}", "{{ .Values.x }}", "a: {{ .Values.x }}", "{{ a }}: b",
		"a: {{ b }} c", "{{ include \"x\" . }}", "- {{ a }}", "1e400: x", ".inf: a", "-.inf: a", ".nan: a", "a: .inf", "a: -.inf", "a: .nan",
		"a: .inf\nb: .nan", "b: .inf\na: .nan", "a: .nan\na: 1", "18446744073709551615: a", "9223372036854775808: {a: [1, x, ~, true, 1.5]}",
		"1.1: a", "1234567.5: a", "0.1: a", "1e10: a", "16777217.0: a", "123456789.125: a", "0x10: a", "010: a", "2001-01-01: a", "!!str 1: a", "!!int \"1\": a",
		"!!float 1: a", "!!binary aGk=: a", "!!null x: a", "? |\n  a\n  b\n: c", "? >\n  a\n  b\n: c", "\"a\\nb\": c", "'a''b': c", "a b c: d", "\"\": a", "'': a",
		"a:\n  ? b\n  : c\n  ? d\n  : e", "? a: b\n: c", "- ? a\n  : b", "- a: 1\n  b: 2\n- c: 3", "a: 1\n'a': 2", "1: a\n01: b\n0x1: c",
		"-0.0: a\n0.0: b", "0.0: a\n-0.0: b", "~: 1\nnull: 2", "{a, b, c}", "{a, b: 1, ? c, ? d: 2}", "[a: 1, b: 2]", "[a: 1, ? b : 2, ? c]", "[? a]", "[? ]", "[? , a]", "{? }", "{: a}", "[: a]", "{a: , b: }",
		"x: ~\n~: {\"a\\u0001\\u007f\\u00e9\\u200b\\ud7ff\\U0001F600\": [\"q\\\"\\\\\\a\\b\\f\\v\\r\\n\\t\"]}",
		"~: {b: 1, a: 2, c: {d: []}}", "~: {2: b, 10: a}", "~: !!binary '/w=='", "? [!!binary '4oI=']\n: a", "~: {}", "~: []", "~: ''", "~: 18446744073709551615", "~: 1e100", "~: 1000000.0", "~: [.inf, -.inf, .nan]",
	}
	for _, n := range []int{126, 127, 128, 129, 1020, 1021, 1022, 1023, 1024, 1025, 1026, 1030} {
		key := strings.Repeat("k", n)
		texts = append(texts, key+": v", "\""+key+"\": v", "{"+key+": v}", "? "+key+"\n: v", "a: 1\n"+key+": v", strings.Repeat("é", n)+": v")
	}
	return texts
}

func structureTexts() []string {
	return []string{
		"", "\n", " ", "# c", "# c\n", "---", "---\n", "--- # c\n", "...", "---\n...\n", "--- a", "---\na: 1\n---\nb: 2", "a: 1\n...\nb: 2", "a: 1\n---\n: : bad", "%YAML 1.1\n---\na: 1",
		"a: 1", "a: 1\nb: 2", "a:\n  b: 1", "a:\n b: 1\n c: 2", "a:\n- 1\n- 2", "a:\n  - 1\n  - 2", "- 1\n- 2", "- - 1\n  - 2\n- 3", "- a: 1\n  b: 2", "- a: 1\n- b: 2",
		"-\n  a: 1", "- \n  - a", "-\n- a", "-", "- ", "a:", "a: ", "a:\nb:", "a:\n\n  b: 1\n\n\nc: 2", "a: # c\n  b # d", "a: b # c", "a: b #c", "a: b#c", "a:b", "a :b", "a : b",
		"[]", "{}", "[a]", "[a, b]", "[a, b,]", "[a,, b]", "[,a]", "[,]", "{a: 1}", "{a: 1, b: 2}", "{a: 1,}", "{,}", "{a}", "{a:1}", "{\"a\":1}", "{'a':1}", "{\"a\": 1, \"b\": [1, 2, {\"c\": null}]}",
		"[a\n, b]", "[\na,\nb\n]", "{\na: 1,\nb: 2\n}", "a: [\n  b,\n  c\n]", "a: {\n  b: 1\n}", "a:\n  [b]", "[[a], [b, [c]]]", "{a: {b: {c: 1}}}", "[{a: 1}, {b: 2}]", "- [a, b]\n- {c: d}",
		"[]: x", "{}: x", "a: []\nb: {}", "[a, []: b]", "{a: []}", "[[]]", "[{}]", "[[], a]", "{a: {}, b: c}", "- []: x", "- {}\n- []",
		"a: b\n c", "a: b\n  c\n  d", "a:\n  b\n  c", "a\nb", "a\n\nb", "a\n\n\nb", "- a\n  b", "- a\n\n  b\n- c", "a: b\n\n  c\nd: e", "[a\n b]", "{a: b\n c}", "{a\n b: c}",
		"a: - b", "a: b: c", "- a\nb: c", "a: 1\n- b", "a:\n  - b\n c: d", "a:\n    b: 1\n  c: 2", "  a: 1\nb: 2", "a: 1\n  b: 2", "- a\n - b", "- a\n  - b", " - a\n- b", "a: |\nb: c",
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  labels: {a: b}\ndata:\n  k: |\n    line 1\n    line 2\n  n: \"1\"\n",
		"a: 1 # c\n# d\nb: 2\n  # e\nc: 3", "# c\na: 1", "a:\n# c\n  b: 1", "a:\n  # c\n  b: 1\n # d\n  c: 2", "[a, # c\nb]", "{a: 1, # c\nb: 2}", "[a #c\n]", "[a # c\n, b]",
		"a: ? b", "a: : b", "? a : b", "- ? a", "- : a", "- - - a", "- - - a\n    - b\n  - c\n- d", "a:\n- b:\n  - c:\n    - d", "a:\n- b: 1\n  c: 2\n- d: 3\ne: 4",
		"\"a\": 1", "'a': 1", "\"a\" : 1", "\"a\":1", "\"a\"b", "\"a\" b", "'a'b: 1", "[\"a\"b]", "[\"a\":b]", "[\"a\": b]", "{\"a\":b}", "{\"a\"::b}", "{a::b}", "{a: :b}", "[a:b]", "[:a]", "[a:]", "{a:}", "{:a}",
		"[-]", "[- a]", "[-a]", "{- a: b}", "[a, - b]", "[?a]", "{?a: b}", "[a?b]", "[a ? b]", "{a ?: b}", "[ ? a : b ]", "a: [b: c]", "a: [b: c, d: e]", "[a: b]: c",
		"x: {a: 1, a: 2}\nx: 3", "a:\n  b: 1\na:\n  c: 2", "<<: 1", "a: {<<: {b: 1}, c: 2}",
	}
}

func blockTexts() []string {
	var texts []string
	bodies := []string{
		"", "a", "a\n", "  a\n", "  a\n  b\n", "  a\n\n  b\n", "  a\n\n\n  b\n\n\n", "\n  a\n", "\n\n  a\n  b", "   a\n  b\n", "  a\n   b\n  c\n", "  a\n\tb\n", "  \ta\n", "\ta\n", "  a\n \n  b\n", "  a\n    \n  b\n",
		"    \n  a\n", "  a  \n  b \n", "  # c\n  a\n", "  a\n# c\n", "  a\n # c\n", "  a\nb: c\n", "  a: b\n  - c\n", "  a\n\n   b\n\n   c\n\n  d\n", "  a\r\n  b\r\n", "  a\n...\n", "  a\n---\nb", " a\n  b\n c\n", "  é\n  日\n", "  a\u2028  b\n", "  a\u0085  b\n",
	}
	for _, header := range []string{"|", ">", "|-", ">-", "|+", ">+"} {
		for _, body := range bodies {
			texts = append(texts, "k: "+header+"\n"+body)
		}
	}
	for _, header := range []string{"|1", "|2", "|3", "|4", ">1", ">2", "|2-", "|-2", "|+2", "|2+", ">2-", "|0", "|-0", "|10", "|a", "|+-", "|--", "| # c", "|# c", "|-  # c", "|2 ", "| \t", "|\t# c", "|9", "| a"} {
		for _, body := range []string{"  a\n  b\n", "    a\n   b\n", " a\n", "", "\n   a\n"} {
			texts = append(texts, "k: "+header+"\n"+body)
		}
	}
	for _, text := range []string{"|\n a\n", "|\na\n", ">\n a\n b", "- |\n a\n- >\n b\n", "- |\n  a\n  b\n-  |\n   c", "- - |\n   a\n", "a:\n- |\n  b\n- c", "a:\n  b: |\n    c\n   d: e", "a:\n  b: |\n   c\n  d: e", "[|\n a]", "{a: |\n b}", "--- |\n a\n b\n", "--- >\n a\n\n b\n c\n", "a: |\n\n\n\nb: 1", "a: |+\n\n\n\nb: 1", "a: |+\n  x\n\n\nb: 1", "a: >\n  x\n  y\n\n  z\n   w\n  v\n\n\nb: 1", "a: |  \n  x", "a: !!str |\n  x", "a: &x |\n  y\nb: *x", "a: | # x\n  # y\n  z", "? |\n  a\n: |\n  b\n"} {
		texts = append(texts, text)
	}
	return texts
}

func quoteTexts() []string {
	texts := []string{
		`""`, `''`, `"a"`, `'a'`, `"a b"`, `'a b'`, `"a  b"`, `" a "`, `' a '`, `'it''s'`, `''''`, `''''''`, `"\""`, `"a\"b"`, `"\\"`, `"\/"`, `"\z"`, `"\`, `"`, `'`, `"a`, `'a`, `"a'`, `'a"`, `"a""b"`, `'a' 'b'`, `"a" # c`, `"a"#c`, `"a #b"`, `'a: b'`,
		`"\0\a\b\t\n\v\f\r\e\ \"\'\\\N\_\L\P"`, "\"\\\t\"", `"\x41"`, `"\x4"`, `"\x4g"`, `"\u0041"`, `"\u00e9"`, `"\u65e5"`, `"\U0001F600"`, `"\U00110000"`, `"\ud83d\ude00"`, `"\ud800"`, `"\uD7FF\uE000"`, `"\U0000d800"`, `"\u004"`, `"\u"`, `"\x7f\x80\x85\x9f\xa0\xff"`,
		"\"a\nb\"", "\"a\n\nb\"", "\"a\n\n\nb\"", "\"a \n b\"", "\"a\\\nb\"", "\"a\\\n  b\"", "\"a\\\n\nb\"", "\"a\\\n\n\n  b\"", "\"a \\\n b\"", "\"a\\ \n b\"", "\"\na\"", "\"a\n\"", "\"\n\"", "\"\n\n\"", "\" \n \"", "\"a\n\tb\"", "\"a\t\n\tb\"", "\"a\r\nb\"", "\"a\rb\"", "\"a\r\n\r\nb\"", "\"a\u2028b\"", "\"a\u2028\u2029b\"", "\"a\u0085b\"", "\"a\n\u2028b\"", "\"a\u2028\nb\"",
		"'a\nb'", "'a\n\nb'", "'a \n b'", "'a\\\nb'", "'\na'", "'a\n'", "'a''\n''b'", "'a\n---\nb'", "\"a\n---\nb\"", "\"a\n...\nb\"", "\"a\n--- \"", "\"a\n---b\"", "\"a\n ---\"", "k: \"a\nb\"", "k: 'a\nb'", "k:\n  \"a\n  b\"", "\"a\nb\": c", "'a\nb': c", "[\"a\nb\"]", "{\"a\nb\": c}", "{\"a\": \"b\n c\"}", "\"a\": b", "'a': b", "\"a\" : b",
		"\"\x00\"", "\"\x01\"", "\"\x7f\"", "\"\u0080\"", "\"\ufffe\"", "\"\ufeff\"", "\"\ud7ff\"", "\"\ue000\"", "\"\U0010ffff\"", "\x00", "a\x00b", "a: \x01", "\x1b[0m", "a: b\x07\nc: [", "a: [\nb: \x07", "a: b\x7f",
	}
	for _, n := range []int{500, 508, 509, 510, 511, 512, 513, 520, 1020, 1023, 1024, 1030} {
		filler := strings.Repeat("x", n)
		texts = append(texts, "a: "+filler+"\n\x01", "a: [\n"+filler+"\x01", "# "+filler+"\n: : :\n\x01", "- "+filler+"é\x01", "]"+filler+"\x01", "a: \""+filler+"\\z\x01\"")
	}
	return texts
}

func aliasTexts() []string {
	texts := []string{
		"a: &x 1\nb: *x", "a: &x [1, 2]\nb: *x", "a: &x {c: 1}\nb: *x", "a: *x", "a: &x\nb: *x", "&x a: b\nc: *x", "&x\na: b", "&x a", "- &x a\n- *x\n- &x b\n- *x", "[&x a, *x]", "{&x a: *x}", "{a: &x b, *x : c}", "*x : a", "a: &x b\n*x : c", "a: &x b\n*x: c",
		"&x [*x]", "&x {a: *x}", "&x [a, [b, *x]]", "a: &x\n  b: *x", "&a [&b [*a, *b]]", "a: &x *y", "a: &x &y b", "a: &", "a: & b", "a: &x! b", "a: *", "a: *x!", "a: &x,b", "[&x,b]", "[*x,b]", "a: &é b", "a: &x-y_1 b\nc: *x-y_1", "a: &x\n  - 1\nb: *x", "a: &x |\n  t\nb: *x", "a: &x 'q'\nb: *x", "a: &x !!str 1\nb: *x", "a: !!str &x 1\nb: *x", "&x !!map {a: b}", "a: &x\n- 1\nb: *x",
		"a: &x {b: 1}\nc: {<<: *x}", "a: &x {b: 1}\nc: {<<: *x, b: 2}", "a: &x {b: 1}\nc: {b: 2, <<: *x}", "a: &x {b: 1}\nc:\n  <<: *x\n  d: 2", "a: &x {b: 1}\ny: &y {b: 2, c: 3}\nz:\n  <<: [*x, *y]", "a: &x {b: 1}\ny: &y {b: 2, c: 3}\nz:\n  <<: [*y, *x]\n  c: 4", "a:\n  <<: {b: 1}", "a:\n  <<: [{b: 1}, {b: 2, c: 3}]", "a:\n  <<: 1", "a:\n  <<: [1]", "a:\n  <<: a", "a:\n  <<:", "a:\n  <<: []", "a: &x 1\nb:\n  <<: *x", "a: &x [{b: 1}]\nb:\n  <<: *x", "a: &x 1\nb:\n  <<: [*x]", "a: {\"<<\": {b: 1}}", "a: {'<<': {b: 1}}", "a: {! \"<<\": {b: 1}}", "a: {!!merge \"<<\": {b: 1}}", "a: {!!merge <<: {b: 1}}", "a: {!!str <<: {b: 1}}", "a: <<", "<<: {a: 1}\na: 2", "a: 2\n<<: {a: 1}", "<<: {<<: {a: 1}, b: 2}", "<<: {a: 1}\n<<: {a: 2, b: 3}", "a: &x {b: 1}\n<<: *x\n<<: *x", "&x a: 1\n<<: *x", "&x\n<<: *x\na: 1", "a: &x {<<: *x}", "a: &x\n  <<: [*x]", "<<: {~: 1}", "<<: {[a]: 1}", "<<: {1: a}\n1: b",
		"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b,*b]",
	}
	bomb := "a: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 9; i++ {
		name := fmt.Sprintf("*a%d", i-1)
		bomb += fmt.Sprintf("k%d: &a%d [%s]\n", i, i, strings.Join([]string{name, name, name, name, name, name, name, name, name}, ","))
	}
	return append(texts, bomb)
}

func tagTexts() []string {
	var texts []string
	for _, tag := range []string{"!", "!!", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!binary", "!!map", "!!seq", "!!set", "!!foo", "!foo", "!e!foo", "!<tag:yaml.org,2002:str>", "!<tag:yaml.org,2002:int>", "!<!foo>", "!<>", "!<a", "!<a b>", "!!str,", "!a%20b", "!a%zz", "!a%C3%A9", "!a%80", "!a%C3a", "!!int!", "!é", "!!merge"} {
		for _, value := range []string{"1", "a", "1.5", "true", "~", "", "'1'", "2001-01-01", "aGVsbG8=", "18446744073709551615", "[a]", "{a: 1}"} {
			texts = append(texts, "a: "+tag+" "+value)
		}
	}
	return append(texts,
		"%TAG !e! tag:e.com,2000:\n---\n!e!x a", "%TAG ! !x\n---\n!y a", "%TAG !! tag:yaml.org,2002:\n---\n!!int '1'", "%TAG !! tag:e:\n---\n!!int a", "%TAG !e! tag:yaml.org,2002:\n---\n!e!int 'a'", "%TAG !e! a\n%TAG !e! b\n---\nc", "%TAG", "%TAG !", "%TAG e a\n---\n", "%TAG !e a\n---\n", "%TAG !e! \n---\n", "%TAG !e!a\n---\n", "%TAG !e! a b\n---\n", "%TAG !e! a # c\n---\nx",
		"%YAML 1.1\n--- a", "%YAML 1.2\n--- a", "%YAML 1.0\n--- a", "%YAML 2.0\n--- a", "%YAML 1\n--- a", "%YAML 1.\n--- a", "%YAML .1\n--- a", "%YAML 1.1.1\n--- a", "%YAML 111.1\n--- a", "%YAML a\n--- a", "%YAML 1.1 # c\n--- a", "%YAML 1.1 c\n--- a", "%YAML 1.1\n%YAML 1.1\n--- a", "%YAML 1.1\na", "%YAML 1.1", "%YAML 1.1\n", "%FOO\n--- a", "%\n--- a", "%FOO! a", "% a", " %YAML 1.1\n--- a", "a: 1\n%YAML 1.1\n---\nb: 2", "a\n%b", "--- a\n%YAML 1.1\n--- b", "a: %b", "%é",
		"!!binary |\n  aGVs\n  bG8=\n", "!!binary 'aGk'", "!!binary 'aG=k'", "!!binary 'aGk='", "!!binary '/w=='", "!!binary '4oI='", "!!binary '8J+YgA=='", "!!binary 'gICA'", "!!binary ''", "!!binary '===='", "!!binary 'a==='", "!!binary 'aa=='", "!!binary 'a b='", "!!binary aGk=\n", "- !!str\n- !!str ''\n- !foo\n- !!null\n- !!null ''",
		"!!str a: b", "!!str\na: b", "!!map\na: b", "!!seq\n- a", "- !!int 1\n- !!int '0x10'\n- !!float '1e3'\n- !!bool 'yes'", "!!float '.inf'", "!!float 18446744073709551615", "!!int 1.5", "!!int 1_000", "!!timestamp 2001", "!!timestamp '2001-12-14 1:2:3'", "[!!str]", "[!!str,a]", "[!!str a]", "{!!str a: !!int 1}", "{a: !!str}", "[! a, ! 'b', ! 1]", "! [a]", "a: !b!c d", "!a!b c")
}

func whitespaceTexts() []string {
	var texts []string
	for _, text := range []string{"a: 1\nb: 2\n", "a:\n  - b\n  - c: d\n    e: |\n      f\n      g\n  h: i\n", "a: >\n  b\n  c\n\n  d\n", "\"a\n\n b\"", "[a,\nb]\n", "# c\na: b # d\n\n", "a\nb\n\nc\n", "--- a\n...\n--- b\n"} {
		texts = append(texts, text, strings.ReplaceAll(text, "\n", "\r\n"), strings.ReplaceAll(text, "\n", "\r"), strings.ReplaceAll(text, "\n", "\u0085"), strings.ReplaceAll(text, "\n", "\u2028"), "\ufeff"+text, strings.ReplaceAll(text, " ", "\t"), strings.ReplaceAll(text, "\n", "\n\n"), strings.ReplaceAll(text, "\n", " \n"), strings.ReplaceAll(text, "\n", "\t\n"), strings.TrimRight(text, "\n"), text+"\n\n", text+"  ", text+"\t", text+"  # c")
	}
	return append(texts, "\ta: 1", "a:\t1", "a: \t1", "a:\n\tb: 1", "a:\n \tb: 1", "a:\n  b:\t1\t", "-\ta", "- \ta", "-\t- a", "- a\n-\tb", "a\t: b", "a: b\tc", "[\ta\t,\tb\t]", "[\n\ta\n]", "{\n\ta: b\n}", "a: [\n\tb\n]", "a: b\n\tc", "a: b\n \tc", "a:\n  b\n\tc", "a: 'b\n\tc'", "a:\n\t- b", "\t", "\t\n", "a: 1\n\t", "a: 1\n\t\nb: 2", "a: 1\n\t# c", "a: 1\n \t# c\nb: 2", "a: |\n\tb", "a: |\n  b\n\tc", "a:\t|\n  b", "a:\t&x\tb", "a:\t!!str\tb", "?\ta\n:\tb", "? a\n:\tb", "\ufeff", "\ufeff\n", "\ufeff---\na: 1", "\ufeff# c\na: 1", "a: 1\n\ufeffb: 2", "---\n\ufeffa: 1", "\ufeff \ta", " \ufeffa: 1", "a: \ufeff", "\r", "\r\n", "\n\r", "a:\r  b\r", "a: b\r\n\r\nc: d\r\n", "\u0085", "\u2028a", "a:\u2028  b: c", "a: b\u0085c: d", "é: ü\n  ö\n日本: 語", "日本:\n   é: 1\n   ü: 2", "é: |\n  ü\n ö: x", "- é: 1\n  ü: 2\n- 日: [é,\n ü]", "a: \u00a0b", "a:\u00a0b", "\u00a0a: b", "😀: 😀", "a: 😀\n   b\nc: d")
}

func malformedTexts() []string {
	texts := []string{
		"[", "]", "{", "}", "[a", "{a", "{a: b", "[a]]", "{a: b}}", "[a}", "{a]", "[a b]c", "a: [", "a: [b", "a: ]", "a: }", "a: b]", "a: [b]]", "a: [b] c", "a: {b} c", "[a] b", "[a]\nb", "{a: b}\nc: d", "a\nb: c", "a: b\nc", "a: b\nc\nd: e", "a: b\n  c: d", "a:\n  b\n c", "a:\n  b: c\n d: e", "a: 'b", "a: \"b", "a: 'b'c", "a: \"b\"c", "a: @b", "a: `b", "a: %b", "@", "`", "a: b: c", "a: b:\n", "a: b: ", "a:: b", "- a: b: c", "- - a: b\n c", "- a\n b", "- a\nb", "-a\n- b", "- a\n-b", "a:\n- b\nc", "a:\n- b\n c: d", "a:\n  - b\n  c: d", "a:\n  b: c\n  - d", "a: 1\n b: 2", "a: 1\n  - b", "? a\n b: c", "? a\n? b\nc", ": a\n b", "a: |\n b\nc", "a: |x\n b", "a: !b!c d", "a: *b", "a: &b *b", "x\n- y", "- x\ny: z", "a: -\nb: 1", "a: - 1", "a: ? 1", "a: [1, 2\nb: 3", "a: {x: 1\nb: 3", "a: [1,\n2]\nb: 3", "a:\n[1]", "a:\n{b: 1}", "a:\n\"b\"", "a:\n- b\n- c\n  d\n e: f", "key: [a, b]: c", "{a: b, c", "{a: b c: d}", "{a: b\n, c: d\n", "[a, b: ", "[a: b, : c", "a\n  b: c", "a\n  - b", "'a'\nb", "'a' b", "'a': 'b' 'c'", "\"a\nb: c", "a: 'b\nc: d", "# c\n]", "\n\n\n]", "\n\na: b: c", "\n\na: [", "\n\n- a\nb", "\n\n'a", "\n\n\ta", "a: b\n\n\n@", "a:\n  - b\n @", "... a", "--- ]", "---\n]", "--- |x", "--- a: b", "--- - a", "---a", "---a: b", "--- a\nb: c", "a: 1\n--- ]", "a: 1\n...\n]", "a: 1\n... ]", "}{", "[[[", "{{{", "[[]", "{{}", "{{}}", "[{]", "{[}", "[{}", "{a: [}", "- [\n- a", "- {\n- a", "- '\n- a", "a: &", "a: *", "a: !<", "&a &b c", "!a !b c", "&a\n&b c", "&a - b", "!a - b", "- &a\n- b", "&a [", "!!int [", "a: &b\nc", "a: &b\n  c: d\n e: f",
		"{{- if .x }}\na: 1\n{{- end }}", "a: {{ .x }}\nb: 2", "a: \"{{ .x }}\"", "{{ .x }}", "- {{ .x }}\n- b", "a: {{ .x | quote }}", "a: {{ \"x\" }}", "a:\n{{ toYaml .x | indent 2 }}", "{{/* c */}}\na: 1", "a: b {{ .x }}: c", "{{ .x }}: {{ .y }}", "a: {{`x`}}", "{{ range .x }}\n- {{ . }}\n{{ end }}", "a: {{ default 1 .x }}", "a: {{ .x }}:8080", "a: {{ .x }}/y", "{{$x := 1}}",
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n   labels:\n    a: b\n", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n labels:\n    a: b\n", "apiVersion: v1\nkind Pod\n", "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: x\n   image: y\n", "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: x\n    image: y:z: w\n", "a: \"b\\c\"", "a: \"\\d\"", "a: C:\\d: e", "a: b\n\tc: d", "a:\n\tb: c", "a: [b\nc: d]", "a: {b: c\nd: e}",
	}
	for _, n := range []int{0, 1, 2, 3, 10} {
		prefix := strings.Repeat("k: v\n", n)
		for _, tail := range []string{"]", "a: b: c", "a", "'", "\"\\q\"", "\t", "  x: y", "- a", "@", "*u", "a: [", "{", "a: &", "!!int x", "a: !!int x", "? [a]\n: b", "a: |0", "---\n]"} {
			texts = append(texts, prefix+tail, prefix+tail+"\n", prefix+"z:\n  "+tail)
		}
	}
	return texts
}

func documentTexts() []string {
	return []string{
		"", "\n", "a", "a\n", "---", "---\n", "---\na", "---\na\n---\nb\n", "a\n---\nb", "a\n---\n---\nb", "---\n---\na", "a\n---\n", "a\n---", "a\n--- \nb", "a\n--- # c\nb", "a\n---# c\nb", "a\n--- b\nc", "a\n---b\nc", "a\n ---\nb", "a\n----\nb", "a\n...\nb", "# c\n---\na", "\n\n---\na", "---\n# c\n---\n# d\n", "a\r\n---\r\nb\r\n", "a\n---\t\nb", "a: |\n  x\n---\nb: |\n  y", "a: |\n  x\n  ---\n  y\n", "--- a\n", "---\n\n\n---\n\n", "a: '\n---\n'", "a\n---\u00a0\nb", "é\n---\nü",
	}
}
