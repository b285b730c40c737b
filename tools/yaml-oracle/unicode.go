package main

import (
	"fmt"
	"os"
	"strings"
	"unicode"
)

// unicodeTables writes Go's classes of characters beyond ASCII as a Rust file: sorting keys depends on them.
func unicodeTables(path string) error {
	var out strings.Builder
	out.WriteString("//! Which characters beyond ASCII are letters and digits to Go's `unicode` package.\n\n")
	table(&out, "LETTERS", "Ranges of letters, both ends included.", unicode.IsLetter)
	out.WriteString("\n")
	table(&out, "DIGITS", "Ranges of decimal digits, both ends included.", unicode.IsDigit)
	return os.WriteFile(path, []byte(out.String()), 0o644)
}

func table(out *strings.Builder, name, doc string, is func(rune) bool) {
	fmt.Fprintf(out, "/// %s\n#[rustfmt::skip]\npub(crate) const %s: &[(u32, u32)] = &[", doc, name)
	count := 0
	for c := rune(0x80); c <= unicode.MaxRune; c++ {
		if !is(c) {
			continue
		}
		first := c
		for c < unicode.MaxRune && is(c+1) {
			c++
		}
		if count%7 == 0 {
			out.WriteString("\n   ")
		}
		fmt.Fprintf(out, " (%d, %d),", first, c)
		count++
	}
	out.WriteString("\n];\n")
}
