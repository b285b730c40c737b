//! What an unwatched run knows of where its text came from: just enough to tell whether a watched
//! one has to look closer.
//!
//! In an unwatched run the mark of a value is one of the few below. A text that comes from data and
//! could be more than one YAML scalar wherever it is printed is *risky*. That is decided by its
//! bytes alone, so that it costs next to nothing; whether it really changes the document, the spans
//! of a watched run tell.

/// Written in a template.
pub(crate) const AUTHOR: u32 = 0;
/// From data, or made of it.
pub(crate) const DATA: u32 = 1;
/// The text of a template that was run for it: the data in it was checked when it was printed
/// there.
pub(crate) const CHECKED: u32 = 2;
/// One JSON value or quoted text.
pub(crate) const TOKEN: u32 = 3;
/// YAML that was written from a value.
pub(crate) const YAML: u32 = 4;

/// Functions that write values as JSON, which is YAML in any place where a value may begin.
fn writes_token(function: &str) -> bool {
    let name = function.strip_prefix("must").unwrap_or(function);
    matches!(
        name,
        "toJson" | "ToJson" | "toRawJson" | "ToRawJson" | "toPrettyJson" | "ToPrettyJson" | "quote"
    )
}

/// Functions that write structured values: what comes out is as the value is, whatever is in it.
pub(crate) fn writes_value(function: &str) -> bool {
    function != "quote" && writes_token(function)
        || matches!(function, "toYaml" | "mustToYaml" | "toYamlPretty")
}

/// Of an unwatched run: the mark of what a function makes of data, given the mark of its last
/// argument.
pub(crate) fn made_by(function: &str, last: u32) -> u32 {
    // Most names are none of those below, which their first letter tells.
    if !function.starts_with(['i', 'n', 't', 'q', 'm', 'T']) {
        return DATA;
    }
    match function {
        "include" => CHECKED,
        "indent" | "nindent" if last != AUTHOR => last,
        "trim" if matches!(last, CHECKED | YAML) => last,
        "toYaml" | "mustToYaml" | "toYamlPretty" => YAML,
        _ if writes_token(function) => TOKEN,
        _ => DATA,
    }
}

/// Whether a text of that mark could be more than one scalar, printed after `before`, which is all
/// of the output, or of the text of a template that is run for it (`nested`).
pub(crate) fn is_risky(mark: u32, printed: &[u8], before: &[u8], nested: bool) -> bool {
    match mark {
        AUTHOR | CHECKED => false,
        TOKEN => !begins_value(printed, before, nested) || !is_indented(printed, before),
        YAML => {
            let is_empty = matches!(printed.trim_ascii(), b"{}" | b"[]");
            (!is_empty && printed.iter().any(|byte| b",[]{}#".contains(byte)))
                || !begins_value(printed, before, nested)
                || !is_indented(printed, before)
        }
        _ => could_break(printed),
    }
}

/// Whether a text could be anything but a part of one scalar, whatever stands before and after it.
fn could_break(text: &[u8]) -> bool {
    let (Some(first), Some(last)) = (text.first(), text.last()) else {
        return false;
    };
    let begins = match first {
        b'-' => !text.get(1).is_some_and(u8::is_ascii_alphanumeric),
        b'.' => text.starts_with(b"..."),
        first => b" ?:#&*!|><%@`".contains(first),
    };
    if begins || matches!(last, b' ' | b':') {
        return true;
    }
    let mut before = 0;
    text.iter().any(|byte| {
        let breaks = match byte {
            0..0x20 | 0x7f | b'"' | b'\'' | b'\\' | b',' | b'[' | b']' | b'{' | b'}' => true,
            b'#' => before == b' ',
            b' ' => before == b':',
            // Line breaks and marks beyond ASCII are among these.
            0x80..0xa0 => matches!(before, 0xc2 | 0xe2),
            0xef => true,
            _ => false,
        };
        before = *byte;
        breaks
    })
}

/// Whether no line of a text begins further left than its first one.
fn is_indented(printed: &[u8], before: &[u8]) -> bool {
    let (column, mut rest) = match printed.strip_prefix(b"\n") {
        Some(rest) => (rest.len() - rest.trim_ascii_start().len(), rest),
        None => (
            before.len() - memchr::memrchr(b'\n', before).map_or(0, |at| at + 1),
            printed,
        ),
    };
    while let Some(at) = memchr::memchr(b'\n', rest) {
        rest = &rest[at + 1..];
        let indent = rest.iter().take_while(|byte| **byte == b' ').count();
        if indent < column && rest.get(indent).is_some_and(|byte| *byte != b'\n') {
            return false;
        }
    }
    true
}

/// Whether a value begins here, as far as this line and the one before tell: a token is all of it
/// then.
fn begins_value(printed: &[u8], before: &[u8], nested: bool) -> bool {
    let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    let (above, mut line) = (&before[..start], &before[start..]);
    if printed.first() == Some(&b'\n') {
        // It goes on in a line of its own.
        return !line.iter().any(|byte| b"\"'#{[".contains(byte))
            && line
                .trim_ascii_end()
                .last()
                .is_none_or(|last| b":-|>".contains(last));
    }
    if line.trim_ascii().is_empty() {
        return begins_line(line.len(), above, nested && start == 0);
    }
    line = line.trim_ascii_start();
    while let Some(item) = line.strip_prefix(b"- ") {
        line = item.trim_ascii_start();
    }
    if line.is_empty() {
        return true;
    }
    let is_free = |part: &[u8]| !part.iter().any(|byte| b"\"'#{[\\".contains(byte));
    let (key, rest) = match line.first() {
        Some(quote @ (b'"' | b'\'')) => match memchr::memchr(*quote, &line[1..]) {
            Some(end) => (&line[1..=end], &line[end + 2..]),
            None => return false,
        },
        _ => match memchr::memchr(b':', line) {
            Some(end) if !matches!(line[0], b'{' | b'[') => line.split_at(end),
            _ => (&line[..0], line),
        },
    };
    if !is_free(key) {
        return false;
    }
    let rest = rest
        .strip_prefix(b": ")
        .map_or(rest, |rest| rest.trim_ascii_start());
    if rest.is_empty() {
        return true;
    }
    // In brackets, a value begins behind each of these.
    let quotes = memchr::memchr_iter(b'"', rest).count();
    matches!(rest[0], b'{' | b'[')
        && quotes.is_multiple_of(2)
        && !rest.iter().any(|byte| b"'#\\".contains(byte))
        && (rest.ends_with(b": ")
            || rest
                .trim_ascii_end()
                .last()
                .is_some_and(|last| b"{[,".contains(last)))
}

/// Whether a value begins at a column of a line that is empty so far, and does not go on with a
/// plain scalar above.
fn begins_line(column: usize, above: &[u8], unknown: bool) -> bool {
    if unknown {
        return false;
    }
    let above = above.trim_ascii_end();
    let Some(last) = above.last() else {
        return true;
    };
    let line = &above[memchr::memrchr(b'\n', above).map_or(0, |at| at + 1)..];
    let mut indent = line.len() - line.trim_ascii_start().len();
    while let Some(item) = line[indent..].strip_prefix(b"- ") {
        indent = line.len() - item.trim_ascii_start().len();
    }
    b":-|>".contains(last) || column <= indent
}

#[cfg(test)]
mod tests {
    use super::{DATA, TOKEN, YAML, is_risky};

    #[test]
    fn a_text_is_risky_if_it_could_be_more_than_one_scalar() {
        for harmless in [
            "nginx",
            "nginx:1.25",
            "registry.example.org:5000/a/b@sha256:00ff",
            "-Xmx512m",
            "a b",
            "a#b",
            "true",
            "null",
            "1.5",
            "ä",
            "日本",
            "http://a/b?c=d&e=f#g",
            "",
            "a-b_c.d~",
        ] {
            assert!(
                !is_risky(DATA, harmless.as_bytes(), b"a: ", false),
                "{harmless}"
            );
        }
        for risky in [
            "a\nb",
            "a\r",
            "a: b",
            "a:",
            "a #b",
            "#",
            " a",
            "a ",
            "- a",
            "-",
            "---",
            "...",
            "? a",
            ": a",
            "a, b",
            "[a",
            "a]",
            "{",
            "}",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "'",
            "\"",
            "a\"",
            "a\\",
            "%",
            "@",
            "`",
            "\u{85}",
            "a\u{2028}b",
            "\u{feff}",
            "\u{7f}",
            "a\tb",
            "<<",
        ] {
            assert!(is_risky(DATA, risky.as_bytes(), b"a: ", false), "{risky:?}");
        }
    }

    #[test]
    fn a_quoted_text_is_harmless_where_a_value_begins() {
        for (before, harmless) in [
            ("a: ", true),
            ("", true),
            ("x: 1\na: ", true),
            ("x:\n  - ", true),
            ("x:\n  - a: ", true),
            ("x:\n  \"a.b/c\": ", true),
            ("x: {a: ", true),
            ("x: [\"a\", ", true),
            ("x:\n  a: b\n  ", true),
            ("- a: b\n  ", true),
            ("x:\n  ", true),
            ("a: echo ", false),
            ("a: \"", false),
            ("a: '", false),
            ("a: b, ", false),
            ("a: b\n  ", false),
            ("# a: ", false),
            ("a: 'b: ", false),
            ("a: \"b: ", false),
        ] {
            assert_eq!(
                !is_risky(TOKEN, b"\"x # y\"", before.as_bytes(), false),
                harmless,
                "{before:?}"
            );
        }
        assert!(is_risky(TOKEN, b"\"x\"", b"", true));
        assert!(!is_risky(YAML, b"\n  a: b\n  c: d", b"a:", false));
        assert!(!is_risky(YAML, b"a: b", b"a:\n  ", false));
        assert!(!is_risky(YAML, b"{}", b"a: ", false));
        assert!(!is_risky(YAML, b"- a: b\n\n    c: d", b"a:\n  ", false));
        assert!(is_risky(YAML, b"|-\n  a", b"a: |\n    ", false));
        assert!(is_risky(YAML, b"a, b", b"a: [", false));
        assert!(is_risky(YAML, b"\n  a: b", b"a: \"", false));
    }
}
