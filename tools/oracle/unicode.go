package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"unicode"
)

// runUnicode writes what Go knows of characters as Rust tables: which class each is of, and how cases map.
func runUnicode(args []string) error {
	flags := flag.NewFlagSet("unicode", flag.ContinueOnError)
	path := flags.String("out", "../../crates/gocompat/src/tables.rs", "the file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "//! Characters as Go's `unicode` package has them, by Unicode %s: which are printable, letters, digits or cased, and\n"+
		"//! how cases map. Nothing but data.\n\n"+
		"use super::unicode::{CaseRange, PAIRS, edges};\n\n", unicode.Version)
	for _, class := range []struct {
		name, doc string
		is        func(rune) bool
	}{
		{"PRINT", "Letters, marks, numbers, punctuation, symbols and the ASCII space.", unicode.IsPrint},
		{"LETTER", "Category L.", unicode.IsLetter},
		{"MARK", "Category M.", unicode.IsMark},
		{"NUMBER", "Category N.", unicode.IsNumber},
		{"PUNCT", "Category P.", unicode.IsPunct},
		{"SYMBOL", "Category S.", unicode.IsSymbol},
		{"DIGIT", "Category Nd.", unicode.IsDigit},
		{"UPPER", "Category Lu.", unicode.IsUpper},
		{"LOWER", "Category Ll.", unicode.IsLower},
		{"TITLE", "Category Lt.", unicode.IsTitle},
	} {
		steps := classSteps(class.is)
		fmt.Fprintf(&out, "/// %s\n#[rustfmt::skip]\npub(super) static %s: [u32; %d] = edges([", class.doc, class.name, len(steps))
		wrapped(&out, steps)
		out.WriteString("]);\n\n")
	}
	var rows []string
	for _, row := range unicode.CaseRanges {
		shifts := "PAIRS"
		// Go marks ranges that go upper, lower, upper, lower by numbers that no character is away from another.
		if upper, lower, title := row.Delta[unicode.UpperCase], row.Delta[unicode.LowerCase], row.Delta[unicode.TitleCase]; max(upper, lower, title) <= unicode.MaxRune {
			shifts = fmt.Sprintf("[%d, %d, %d]", upper, lower, title)
		} else if upper != lower || lower != title {
			return fmt.Errorf("the cases of %d to %d follow a rule this does not know", row.Lo, row.Hi)
		}
		rows = append(rows, fmt.Sprintf("(%d, %d, %s)", row.Lo, row.Hi, shifts))
	}
	fmt.Fprintf(&out, "/// Characters whose case changes, in order.\n#[rustfmt::skip]\npub(super) static CASES: [CaseRange; %d] = [", len(rows))
	wrapped(&out, rows)
	out.WriteString("];\n")
	return os.WriteFile(*path, []byte(out.String()), 0o644)
}

// classSteps gives the characters at which a class begins and ends, each as the distance from the one before.
func classSteps(is func(rune) bool) []string {
	var steps []string
	last, inside := rune(0), false
	for c := rune(0); c <= unicode.MaxRune+1; c++ {
		if now := c <= unicode.MaxRune && is(c); now != inside {
			steps = append(steps, fmt.Sprint(c-last))
			last, inside = c, now
		}
	}
	return steps
}

// wrapped writes items as indented lines of at most 120 characters.
func wrapped(out *strings.Builder, items []string) {
	width := 0
	for _, item := range items {
		if width == 0 || width+len(item)+2 > 120 {
			out.WriteString("\n   ")
			width = 3
		}
		fmt.Fprintf(out, " %s,", item)
		width += len(item) + 2
	}
	out.WriteString("\n")
}
