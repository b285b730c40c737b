//! Tables of what Go's `regexp` answers.

use super::*;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn all(expr: &str, given: &str, limit: i64) -> Vec<String> {
    let found = Regexp::new(expr.as_bytes())
        .unwrap()
        .find_all(given.as_bytes(), limit);
    found
        .into_iter()
        .map(|range| given[range].to_owned())
        .collect()
}

#[test]
fn what_go_refuses_is_refused_in_its_words() {
    for (expr, want) in [
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        (r"\p{Nope}", r"invalid character class range: `\p{Nope}`"),
        (r"\p", r"invalid character class range: `\p`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a|*", "missing argument to repetition operator: `*`"),
        ("(+)", "missing argument to repetition operator: `+`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a*+?", "invalid nested repetition operator: `*+?`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("(a{100}){100}", "invalid repeat count: `{100}`"),
        ("a{99999999999}", "invalid repeat count: `{99999999999}`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
        ("(?P<n-x>a)", "invalid named capture: `(?P<n-x>`"),
        ("(?<n", "invalid named capture: `(?<n`"),
    ] {
        let error = Regexp::new(expr.as_bytes()).unwrap_err().to_string();
        assert_eq!(error, format!("error parsing regexp: {want}"), "{expr}");
    }
    assert_eq!(
        Regexp::new(b"a\xff").unwrap_err().to_string(),
        "error parsing regexp: invalid UTF-8: `\u{fffd}`"
    );
    assert!(Regexp::new("(".repeat(1000).as_bytes()).is_err());
    assert!(Regexp::new(br"(\pL{1000}\pN{1000}){1}").is_err());
}

#[test]
fn classes_are_ascii_unless_unicode_is_asked_for() {
    for (expr, given, want) in [
        (r"\d+", "٣ 12", vec!["12"]),
        (r"\w+", "é_a1", vec!["_a1"]),
        (r"\s", "\u{a0}\u{b}\t", vec!["\t"]),
        (r"\ba", "éa", vec!["a"]),
        (r"[[:space:]]", "\u{b}", vec!["\u{b}"]),
        (r"[[:^alpha:]x]", "ax1", vec!["x", "1"]),
        (r"\pL+", "aé1", vec!["aé"]),
        (r"[^\p{Greek}]", "αb", vec!["b"]),
        (r"(?i)k", "kK\u{212a}", vec!["k", "K", "\u{212a}"]),
        (r"(?i)a(?-i)B|c", "AB ab C", vec!["AB"]),
        (r"(?s).", "\n", vec!["\n"]),
        (r".", "\n", vec![]),
        (r"(?m)^a$", "a\na", vec!["a", "a"]),
        (r"a$", "a\n", vec![]),
        (r"a+?", "aa", vec!["a", "a"]),
        (r"(?U)a+", "aa", vec!["a", "a"]),
        (r"(?U)a+?", "aa", vec!["aa"]),
        (r"\Qa.b\E+", "a.bb aXb", vec!["a.bb"]),
        (r"x{,2}", "x{,2}", vec!["x{,2}"]),
        (r"\101\x41\x{41}", "AAA", vec!["AAA"]),
        (r"(?P<x>a)(?<x>b)", "ab", vec!["ab"]),
        (r"a(?i)*", "aaA", vec!["aa", ""]),
    ] {
        let got = all(expr, given, -1);
        assert_eq!(got, want, "{expr}");
    }
}

#[test]
fn empty_matches_follow_go() {
    assert_eq!(all("a*", "baaac", -1), ["", "aaa", ""]);
    assert_eq!(all("a*", "baaac", 2), ["", "aaa"]);
    assert!(all("a", "aaa", 0).is_empty());
    for (expr, given, template, want) in [
        ("a*", "baaac", "x", "xbxcx"),
        ("", "ab", "-", "-a-b-"),
        ("a(x*)b", "-ab-axxb-", "${1}W", "-W-xxW-"),
        ("a(x*)b", "-ab-axxb-", "$1W", "---"),
        ("a(?P<n>x*)b", "-axb-", "$n$$", "-x$-"),
        ("a", "a", "${x $- $", "${x $- $"),
        ("(a)|b", "ab", "[$1$2$01]", "[a][]"),
    ] {
        let expr = Regexp::new(expr.as_bytes()).unwrap();
        assert_eq!(
            text(&expr.replace_all(given.as_bytes(), template.as_bytes())),
            want
        );
    }
    let dollar = Regexp::new(b"a")
        .unwrap()
        .replace_all_literal(b"aba", b"$1");
    assert_eq!(text(&dollar), "$1b$1");
}

#[test]
fn splitting_keeps_and_drops_empty_parts_as_go() {
    for (expr, given, limit, want) in [
        ("a", "banana", -1, vec!["b", "n", "n", ""]),
        ("a", "banana", 2, vec!["b", "nana"]),
        ("a", "banana", 0, vec![]),
        ("a", "", -1, vec![""]),
        ("", "", -1, vec![]),
        ("", "abc", -1, vec!["a", "b", "c"]),
        (
            "a*",
            "abaabaccadaaae",
            5,
            vec!["", "b", "b", "c", "cadaaae"],
        ),
        ("z+", "pizza", -1, vec!["pi", "a"]),
    ] {
        let expr = Regexp::new(expr.as_bytes()).unwrap();
        let got: Vec<String> = expr
            .split(given.as_bytes(), limit)
            .into_iter()
            .map(text)
            .collect();
        assert_eq!(got, want, "{given}");
    }
}

#[test]
fn bytes_that_are_not_utf8_match_as_replacement_characters() {
    let any = Regexp::new(b".").unwrap();
    assert_eq!(any.find_all(b"\xffa\xc3", -1), [0..1, 1..2, 2..3]);
    let expr = Regexp::new(br"\x{FFFD}(a)").unwrap();
    assert_eq!(
        expr.replace_all(b"-\xffa\xfe", b"<$0|$1>"),
        b"-<\xffa|a>\xfe"
    );
    assert!(expr.is_match(b"\xffa"));
    assert_eq!(expr.find(b"x\xffa"), Some(1..3));
    assert_eq!(
        expr.find_groups(b"x\xffa"),
        Some(vec![Some(1..3), Some(2..3)])
    );
}

#[test]
fn quoting_escapes_every_operator() {
    assert_eq!(
        text(&quote_meta(br"a.b\c+*?()|[]{}^$-#")),
        r"a\.b\\c\+\*\?\(\)\|\[\]\{\}\^\$-#"
    );
}
