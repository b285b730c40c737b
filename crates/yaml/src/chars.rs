//! The classes of characters that YAML 1.1 distinguishes, asked of UTF-8 bytes at a position.

/// The byte at `pos`, or NUL past the end: YAML text cannot contain NUL, so NUL always means the
/// end.
#[inline]
pub(crate) fn byte(bytes: &[u8], pos: usize) -> u8 {
    bytes.get(pos).copied().unwrap_or(0)
}

/// How many bytes the line break at `pos` takes; zero when there is none. CR LF is one break.
#[inline]
pub(crate) fn break_len(bytes: &[u8], pos: usize) -> usize {
    match byte(bytes, pos) {
        b'\n' => 1,
        b'\r' if byte(bytes, pos + 1) == b'\n' => 2,
        b'\r' => 1,
        0xC2 if byte(bytes, pos + 1) == 0x85 => 2,
        0xE2 if is_separator(bytes, pos) => 3,
        _ => 0,
    }
}

/// Whether U+2028 or U+2029 is at `pos`: the two breaks that are kept as they are instead of
/// becoming LF.
#[inline]
pub(crate) fn is_separator(bytes: &[u8], pos: usize) -> bool {
    byte(bytes, pos) == 0xE2
        && byte(bytes, pos + 1) == 0x80
        && matches!(byte(bytes, pos + 2), 0xA8 | 0xA9)
}

/// Whether a space or a tab is at `pos`.
#[inline]
pub(crate) fn is_blank(bytes: &[u8], pos: usize) -> bool {
    matches!(byte(bytes, pos), b' ' | b'\t')
}

/// Whether a line break or the end is at `pos`.
#[inline]
pub(crate) fn is_break_or_end(bytes: &[u8], pos: usize) -> bool {
    byte(bytes, pos) == 0 || break_len(bytes, pos) > 0
}

/// Whether a space, a tab, a line break or the end is at `pos`.
#[inline]
pub(crate) fn is_blank_or_end(bytes: &[u8], pos: usize) -> bool {
    is_blank(bytes, pos) || is_break_or_end(bytes, pos)
}

/// Whether the byte may be part of an anchor, a tag handle or a directive name.
#[inline]
pub(crate) fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'-'
}

/// The number of bytes of the character that starts with `b`.
#[inline]
pub(crate) fn width(b: u8) -> usize {
    match b {
        0..=0x7F => 1,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    }
}

/// How many bytes of `bytes` continue a character instead of starting one.
pub(crate) fn continuations(bytes: &[u8]) -> usize {
    bytes.iter().filter(|b| **b & 0xC0 == 0x80).count()
}

/// Whether YAML forbids the character outright.
pub(crate) fn is_forbidden(c: char) -> bool {
    !matches!(c,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}'
        | '\u{10000}'..='\u{10FFFF}')
}
