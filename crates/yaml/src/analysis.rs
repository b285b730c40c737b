//! Looks at a string and tells in which styles it can be written without changing its meaning.

use crate::natural::Generation;
use crate::number;
use crate::resolve::{self, Meaning};
use crate::timestamp::is_timestamp;

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

/// What a string allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Analysis {
    pub multiline: bool,
    pub plain: bool,
    pub single_quoted: bool,
    pub literal: bool,
    /// Holds a character that JSON text leaves as it is and YAML text may not have, or takes for a
    /// line break.
    pub unreadable: bool,
}

/// Bytes that have no meaning wherever they stand in a string.
const SAFE: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = b'!';
    while b < 0x7F {
        table[b as usize] = b != b'#' && b != b':';
        b += 1;
    }
    table
};

/// Looks at every character of `text`.
pub(crate) fn analyze(text: &str, generation: Generation) -> Analysis {
    let bytes = text.as_bytes();
    let mut plain = !text.starts_with("---") && !text.starts_with("...") && starts_plain(bytes);
    if bytes.iter().all(|b| SAFE[*b as usize]) {
        return Analysis {
            multiline: false,
            plain,
            single_quoted: true,
            literal: !text.is_empty(),
            unreadable: false,
        };
    }
    let (mut breaks, mut special, mut tabs, mut unreadable) = (false, false, false, false);
    let (mut break_space, mut space_break) = (false, false);
    let (mut after_space, mut after_break, mut after_white) = (false, false, true);
    for (at, c) in text.char_indices() {
        match c {
            ':' if at > 0 && matches!(bytes.get(at + 1), None | Some(b' ' | b'\t')) => {
                plain = false;
            }
            '#' if after_white => plain = false,
            '\t' if generation == Generation::V3 => tabs = true,
            _ if !is_printable(c) => {
                special = true;
                unreadable |= matches!(c, '\x7F'..='\u{9F}' | '\u{FFFE}' | '\u{FFFF}');
            }
            _ => {}
        }
        let is_break = matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
        let is_space = c == ' ';
        breaks |= is_break;
        break_space |= is_space && after_break;
        space_break |= is_break && after_space;
        (after_space, after_break) = (is_space, is_break);
        after_white = is_space || is_break || c == '\t' || c == '\0';
    }
    let leading = text.starts_with([' ', '\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
    // What the last character was is still known.
    plain &= !(leading || after_space || breaks || tabs || special || space_break);
    Analysis {
        multiline: breaks,
        plain,
        single_quoted: !(break_space || space_break || special || tabs),
        literal: !(after_space || space_break || special),
        unreadable,
    }
}

/// Whether the first character leaves a string plain.
fn starts_plain(bytes: &[u8]) -> bool {
    match bytes {
        [
            b'#' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\''
            | b'"' | b'%' | b'@' | b'`',
            ..,
        ] => false,
        [b'?' | b':' | b'-', rest @ ..] => !matches!(rest.first(), None | Some(b' ' | b'\t')),
        _ => true,
    }
}

/// Whether go-yaml writes the character as it is. It escapes everything beyond U+FFFF.
pub(crate) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}')
        && c != '\u{FEFF}'
}

/// The style for a string, before its characters are considered.
pub(crate) fn wanted_style(text: &str, generation: Generation) -> Style {
    if text.contains('\n') {
        Style::Literal
    } else if stays_text(text, generation) {
        Style::Plain
    } else {
        Style::DoubleQuoted
    }
}

/// Whether the text, written plain, would be read as text by this library and by others.
fn stays_text(text: &str, generation: Generation) -> bool {
    if resolve::plain(text) != Meaning::Text {
        return false;
    }
    match text.as_bytes().first() {
        Some(b'0'..=b'9' | b'+' | b'-') => {
            let signed_octal = generation == Generation::V3
                && text.starts_with("0")
                && number::parse_signed_digits(&text.replace('_', ""), "0o", 8).is_some();
            !signed_octal && !is_timestamp(text) && !is_base60(text)
        }
        _ => true,
    }
}

/// Whether the text is a number to the base of 60, such as `1:30`: YAML 1.1 has them, go-yaml does
/// not read them.
fn is_base60(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = text.split(':');
    let Some(first) = parts.next() else {
        return false;
    };
    if !first.starts_with(|c: char| c.is_ascii_digit())
        || !first.bytes().all(|b| b.is_ascii_digit() || b == b'_')
    {
        return false;
    }
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return false;
    }
    while let Some(part) = parts.next() {
        let (digits, fraction) = match part.split_once('.') {
            Some((digits, fraction)) if parts.peek().is_none() => (digits, fraction),
            _ => (part, ""),
        };
        let valid = matches!(
            digits.as_bytes(),
            [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']
        );
        if !valid || !fraction.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
            return false;
        }
    }
    true
}
