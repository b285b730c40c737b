package main

import (
	"fmt"
	"math"
	"math/rand"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

// The module github.com/leekchan/gtf cannot be fetched from the module proxy, so its functions are
// restated here from its documented behaviour, for the names that neither text/template, sprig
// nor Helm has. Vectors of these functions therefore prove agreement with this file only.

var tag = regexp.MustCompile(`<[^>]*>`)

// guard turns a panic into the zero value of the result, as gtf promises for all its functions.
func guard[T any](f func() T) (out T) {
	defer func() {
		if recover() != nil {
			var zero T
			out = zero
		}
	}()
	return f()
}

// number reads any integer or float as float64.
func number(v any) (float64, bool) {
	r := reflect.ValueOf(v)
	switch {
	case r.IsValid() && r.CanInt():
		return float64(r.Int()), true
	case r.IsValid() && r.CanUint():
		return float64(r.Uint()), true
	case r.IsValid() && r.CanFloat():
		return r.Float(), true
	}
	return 0, false
}

// magnitude splits an integer into its sign and absolute value.
func magnitude(v any) (abs uint64, negative, ok bool) {
	r := reflect.ValueOf(v)
	switch {
	case r.IsValid() && r.CanInt():
		if i := r.Int(); i < 0 {
			return -uint64(i), true, true
		}
		return uint64(r.Int()), false, true
	case r.IsValid() && r.CanUint():
		return r.Uint(), false, true
	}
	return 0, false, false
}

// size counts runes of a string and elements of a collection.
func size(v any) (int, bool) {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.String:
		return len([]rune(r.String())), true
	case reflect.Slice, reflect.Array, reflect.Map:
		return r.Len(), true
	}
	return 0, false
}

func pad(width int, s string) int { return max(0, width-len([]rune(s))) }

func gtfFuncs() template.FuncMap {
	return template.FuncMap{
		"length": func(v any) int { n, _ := size(v); return n },
		"lengthis": func(want int, v any) bool {
			n, ok := size(v)
			return ok && n == want
		},
		"truncatechars": func(n int, s string) string {
			r := []rune(s)
			switch {
			case n < 0 || n >= len(r):
				return s
			case n > 3:
				return string(r[:n-3]) + "..."
			}
			return string(r[:n])
		},
		"urlencode": func(s string) string { return url.QueryEscape(s) },
		"wordcount": func(s string) int { return len(strings.Fields(s)) },
		"divisibleby": func(by, v any) bool {
			d, ok1 := number(by)
			n, ok2 := number(v)
			return ok1 && ok2 && math.Mod(n, d) == 0
		},
		"capfirst": func(s string) string {
			// The first byte is taken for a character of its own, even inside a longer rune.
			if s == "" {
				return ""
			}
			return strings.ToUpper(string(rune(s[0]))) + s[1:]
		},
		"pluralize": func(endings string, v any) string {
			n, negative, ok := magnitude(v)
			if !ok {
				return ""
			}
			one, many, split := strings.Cut(endings, ",")
			if !split {
				one, many = "", endings
			}
			switch {
			case strings.Contains(many, ","):
				return ""
			case n == 1 && !negative:
				return one
			}
			return many
		},
		"yesno": func(yes, no string, v bool) string {
			if v {
				return yes
			}
			return no
		},
		"rjust": func(width int, s string) string {
			return guard(func() string { return strings.Repeat(" ", pad(width, s)) + s })
		},
		"ljust": func(width int, s string) string {
			return guard(func() string { return s + strings.Repeat(" ", pad(width, s)) })
		},
		"center": func(width int, s string) string {
			return guard(func() string {
				n := pad(width, s)
				return strings.Repeat(" ", n/2) + s + strings.Repeat(" ", n-n/2)
			})
		},
		"filesizeformat": func(v any) string {
			n, ok := number(v)
			if !ok {
				return ""
			}
			units := []string{"bytes", "KB", "MB", "GB", "TB", "PB"}
			i := 0
			for n >= 1024 && i < len(units)-1 {
				n /= 1024
				i++
			}
			return strings.ReplaceAll(fmt.Sprintf("%.1f %s", n, units[i]), ".0", "")
		},
		"apnumber": func(v any) any {
			n, negative, ok := magnitude(v)
			if !ok || !negative && n > 9 {
				return v
			}
			// Zero and negative numbers run out of gtf's table: a swallowed panic, so nil.
			if negative || n == 0 {
				return nil
			}
			return strings.Fields("one two three four five six seven eight nine")[n-1]
		},
		"intcomma": func(v any) string {
			n, negative, ok := magnitude(v)
			if !ok {
				return ""
			}
			digits := strconv.FormatUint(n, 10)
			for i := len(digits) - 3; i > 0; i -= 3 {
				digits = digits[:i] + "," + digits[i:]
			}
			if negative {
				return "-" + digits
			}
			return digits
		},
		"ordinal": func(v any) string {
			n, negative, ok := magnitude(v)
			if !ok || negative {
				return ""
			}
			suffix := "th"
			if n%100 < 11 || n%100 > 13 {
				switch n % 10 {
				case 1:
					suffix = "st"
				case 2:
					suffix = "nd"
				case 3:
					suffix = "rd"
				}
			}
			return strconv.FormatUint(n, 10) + suffix
		},
		"striptags": func(s string) string { return strings.TrimSpace(tag.ReplaceAllString(s, "")) },
		"random": func(v any) any {
			return guard(func() any {
				r := reflect.ValueOf(v)
				switch r.Kind() {
				case reflect.String:
					runes := []rune(r.String())
					return string(runes[rand.Intn(len(runes))])
				case reflect.Slice, reflect.Array:
					return r.Index(rand.Intn(r.Len())).Interface()
				}
				return ""
			})
		},
	}
}
