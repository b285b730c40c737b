//! Go string and character literals: writing them (`Quote`) and reading them back (`Unquote`).

use super::super::unicode::{decode_rune, is_print, push_rune, runes};

const HEX: &[u8; 16] = b"0123456789abcdef";

/// A double-quoted Go literal; what does not print is escaped.
#[must_use]
pub fn quote(text: &[u8]) -> Vec<u8> {
    quote_with(text, false)
}

/// As [`quote`], and everything beyond ASCII is escaped too.
#[must_use]
pub fn quote_to_ascii(text: &[u8]) -> Vec<u8> {
    quote_with(text, true)
}

/// A single-quoted Go literal; a number that is no character gives `'\ufffd'` printed as is.
#[must_use]
pub fn quote_rune(rune: u32) -> Vec<u8> {
    quote_rune_with(rune, false)
}

/// As [`quote_rune`], and everything beyond ASCII is escaped too.
#[must_use]
pub fn quote_rune_to_ascii(rune: u32) -> Vec<u8> {
    quote_rune_with(rune, true)
}

/// Whether `text` can stand between backquotes: valid, one line, no control character but tab.
#[must_use]
pub fn can_backquote(text: &[u8]) -> bool {
    runes(text).all(|item| match item.rune {
        '\u{feff}' | '`' | '\u{7f}' => false,
        rune => !item.is_invalid() && (rune >= ' ' || rune == '\t'),
    })
}

fn quote_with(text: &[u8], ascii: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    out.push(b'"');
    for item in runes(text) {
        if item.is_invalid() {
            push_hex_byte(&mut out, text[item.at]);
        } else {
            push_escaped(&mut out, item.rune, b'"', ascii);
        }
    }
    out.push(b'"');
    out
}

fn quote_rune_with(rune: u32, ascii: bool) -> Vec<u8> {
    let mut out = vec![b'\''];
    push_escaped(
        &mut out,
        char::from_u32(rune).unwrap_or(char::REPLACEMENT_CHARACTER),
        b'\'',
        ascii,
    );
    out.push(b'\'');
    out
}

fn push_hex_byte(out: &mut Vec<u8>, byte: u8) {
    out.extend_from_slice(&[
        b'\\',
        b'x',
        HEX[usize::from(byte >> 4)],
        HEX[usize::from(byte & 15)],
    ]);
}

fn push_escaped(out: &mut Vec<u8>, rune: char, quote: u8, ascii: bool) {
    if rune == char::from(quote) || rune == '\\' {
        out.push(b'\\');
        push_rune(out, rune);
        return;
    }
    if is_print(rune) && (!ascii || rune.is_ascii()) {
        push_rune(out, rune);
        return;
    }
    let code = u32::from(rune);
    match rune {
        '\x07' => out.extend_from_slice(b"\\a"),
        '\x08' => out.extend_from_slice(b"\\b"),
        '\x0c' => out.extend_from_slice(b"\\f"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        '\x0b' => out.extend_from_slice(b"\\v"),
        '\0'..='\x1f' | '\x7f' => push_hex_byte(out, code as u8),
        '\u{80}'..='\u{ffff}' => out.extend_from_slice(format!("\\u{code:04x}").as_bytes()),
        _ => out.extend_from_slice(format!("\\U{code:08x}").as_bytes()),
    }
}

/// Reads a Go literal in double quotes, backquotes or (one character) single quotes; `None` is Go's
/// `invalid syntax`.
#[must_use]
pub fn unquote(literal: &[u8]) -> Option<Vec<u8>> {
    let (&mark, rest) = literal.split_first()?;
    let (&end, body) = rest.split_last()?;
    if mark != end {
        return None;
    }
    match mark {
        b'`' => (!body.contains(&b'`'))
            .then(|| body.iter().copied().filter(|&byte| byte != b'\r').collect()),
        b'"' | b'\'' => {
            let mut out = Vec::with_capacity(body.len());
            let mut left = body;
            let mut count = 0_usize;
            while !left.is_empty() {
                if left[0] == mark || left[0] == b'\n' {
                    return None;
                }
                let (unit, width) = unquote_char(left, mark)?;
                match unit {
                    Unit::Byte(byte) => out.push(byte),
                    Unit::Rune(rune) => push_rune(&mut out, rune),
                }
                left = &left[width..];
                count += 1;
            }
            // Go takes the empty single-quoted literal too.
            (mark == b'"' || count <= 1).then_some(out)
        }
        _ => None,
    }
}

/// What one escape of a literal stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A single byte, from `\x` or an octal escape.
    Byte(u8),
    /// A character; an invalid byte of the literal is U+FFFD.
    Rune(char),
}

/// Reads the first character or escape of a literal's body and its width; `mark` is the quote that
/// may be escaped.
#[must_use]
pub fn unquote_char(body: &[u8], mark: u8) -> Option<(Unit, usize)> {
    let first = *body.first()?;
    if first == mark && (mark == b'\'' || mark == b'"') {
        return None;
    }
    if first != b'\\' {
        let (rune, width) = decode_rune(body);
        return Some((Unit::Rune(rune), width));
    }
    let digits = |from: usize, len: usize, radix: u32| {
        body.get(from..from + len)?
            .iter()
            .try_fold(0_u32, |sum, &byte| {
                Some((sum << radix.ilog2()) | char::from(byte).to_digit(radix)?)
            })
    };
    let simple = |rune: char| Some((Unit::Rune(rune), 2));
    match *body.get(1)? {
        b'a' => simple('\x07'),
        b'b' => simple('\x08'),
        b'f' => simple('\x0c'),
        b'n' => simple('\n'),
        b'r' => simple('\r'),
        b't' => simple('\t'),
        b'v' => simple('\x0b'),
        b'\\' => simple('\\'),
        quote @ (b'\'' | b'"') if quote == mark => simple(char::from(quote)),
        b'x' => Some((Unit::Byte(u8::try_from(digits(2, 2, 16)?).ok()?), 4)),
        b'u' => Some((Unit::Rune(char::from_u32(digits(2, 4, 16)?)?), 6)),
        b'U' => Some((Unit::Rune(char::from_u32(digits(2, 8, 16)?)?), 10)),
        b'0'..=b'7' => Some((Unit::Byte(u8::try_from(digits(1, 3, 8)?).ok()?), 4)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_escapes_what_does_not_print() {
        for (text, plain, ascii) in [
            (&b""[..], r#""""#, r#""""#),
            (b"a\"b'\\", r#""a\"b'\\""#, r#""a\"b'\\""#),
            (
                b"\x00\x07\x08\x0c\n\r\t\x0b\x1f\x7f",
                r#""\x00\a\b\f\n\r\t\v\x1f\x7f""#,
                r#""\x00\a\b\f\n\r\t\v\x1f\x7f""#,
            ),
            (
                "é\u{a0}\u{ad}".as_bytes(),
                r#""é\u00a0\u00ad""#,
                r#""\u00e9\u00a0\u00ad""#,
            ),
            (
                "\u{2028}😀\u{e0001}".as_bytes(),
                r#""\u2028😀\U000e0001""#,
                r#""\u2028\U0001f600\U000e0001""#,
            ),
            (
                b"\xff\xc3\xa9\xe2\x82",
                r#""\xffé\xe2\x82""#,
                r#""\xff\u00e9\xe2\x82""#,
            ),
            (
                "\u{fffd}\u{feff}".as_bytes(),
                "\"\u{fffd}\\ufeff\"",
                r#""\ufffd\ufeff""#,
            ),
        ] {
            assert_eq!(String::from_utf8(quote(text)).unwrap(), plain);
            assert_eq!(String::from_utf8(quote_to_ascii(text)).unwrap(), ascii);
        }
        for (rune, want) in [
            (0x27, r"'\''"),
            (0x22, "'\"'"),
            (0x0a, r"'\n'"),
            (0xd800, "'\u{fffd}'"),
            (0x11_0000, "'\u{fffd}'"),
        ] {
            assert_eq!(String::from_utf8(quote_rune(rune)).unwrap(), want);
        }
        assert_eq!(quote_rune_to_ascii(0x263a), br"'\u263a'");
    }

    #[test]
    fn backquotes_hold_only_one_printable_line() {
        for (text, want) in [
            (&b"a\tb\"\\"[..], true),
            (b"a`", false),
            (b"a\n", false),
            (b"\x7f", false),
            (b"\xff", false),
            (b"\xef\xbb\xbf", false),
        ] {
            assert_eq!(can_backquote(text), want, "{text:?}");
        }
    }

    #[test]
    fn literals_are_read_back_or_refused() {
        for (literal, want) in [
            (r#""a\tb""#, Some(&b"a\tb"[..])),
            (
                r#""\x41\101\u00e9\U0001f600""#,
                Some("AA\u{e9}\u{1f600}".as_bytes()),
            ),
            (r#""\xff\377""#, Some(b"\xff\xff")),
            (r#""\'""#, None),
            (r#"'\''"#, Some(b"'")),
            (r#"'"'"#, Some(b"\"")),
            ("'ab'", None),
            ("''", Some(b"")),
            (r#""\400""#, None),
            (r#""\ud800""#, None),
            (r#""a"b""#, None),
            ("\"a\nb\"", None),
            ("`a\\n\r\nb`", Some(b"a\\n\nb")),
            ("`a`b`", None),
            ("\"", None),
            ("", None),
            ("'\"", None),
            (r#""\""#, None),
        ] {
            assert_eq!(unquote(literal.as_bytes()).as_deref(), want, "{literal}");
        }
    }
}
