//! Characters as Go sees them: decoding of bytes that need not be UTF-8, classes and case mapping
//! by Unicode 15.0. Case maps one character to one character; Rust's own mapping differs (`ß`, `İ`)
//! and is not used.

use super::tables;

/// What an invalid byte decodes to.
pub const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// Decodes the first rune and its width in bytes; an invalid byte is U+FFFD of width 1, no bytes
/// are U+FFFD of width 0.
#[must_use]
pub fn decode_rune(bytes: &[u8]) -> (char, usize) {
    let Some(&first) = bytes.first() else {
        return (REPLACEMENT, 0);
    };
    let (len, low, bits) = match first {
        0..=0x7f => return (char::from(first), 1),
        0xc2..=0xdf => (2, 0x80, u32::from(first & 0x1f)),
        0xe0..=0xef => (3, 0x800, u32::from(first & 0x0f)),
        0xf0..=0xf4 => (4, 0x1_0000, u32::from(first & 0x07)),
        _ => return (REPLACEMENT, 1),
    };
    let Some(rest) = bytes.get(1..len) else {
        return (REPLACEMENT, 1);
    };
    let mut code = bits;
    for &byte in rest {
        if byte & 0xc0 != 0x80 {
            return (REPLACEMENT, 1);
        }
        code = code << 6 | u32::from(byte & 0x3f);
    }
    match char::from_u32(code) {
        Some(rune) if code >= low => (rune, len),
        _ => (REPLACEMENT, 1),
    }
}

/// Decodes the last rune and its width in bytes, by the rules of [`decode_rune`].
#[must_use]
pub fn decode_last_rune(bytes: &[u8]) -> (char, usize) {
    if bytes.is_empty() {
        return (REPLACEMENT, 0);
    }
    for width in (1..=bytes.len().min(4)).rev() {
        let (rune, got) = decode_rune(&bytes[bytes.len() - width..]);
        if got == width && (rune != REPLACEMENT || width > 1) {
            return (rune, width);
        }
    }
    (REPLACEMENT, 1)
}

/// One decoded rune and where it stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rune {
    /// Offset of its first byte.
    pub at: usize,
    /// The character, U+FFFD for an invalid byte.
    pub rune: char,
    /// How many bytes it took.
    pub width: usize,
}

impl Rune {
    /// Whether this stands for a byte that is not UTF-8, as opposed to a U+FFFD that was written
    /// out.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.rune == REPLACEMENT && self.width == 1
    }
}

/// The runes of a byte string, as `range` over a Go string gives them.
#[derive(Clone, Debug)]
pub struct Runes<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Iterates over the runes of `bytes`.
#[must_use]
pub fn runes(bytes: &[u8]) -> Runes<'_> {
    Runes { bytes, at: 0 }
}

impl Iterator for Runes<'_> {
    type Item = Rune;

    fn next(&mut self) -> Option<Rune> {
        let (rune, width) = decode_rune(self.bytes.get(self.at..)?);
        if width == 0 {
            return None;
        }
        let item = Rune {
            at: self.at,
            rune,
            width,
        };
        self.at += width;
        Some(item)
    }
}

/// Number of runes, as `utf8.RuneCountInString`.
#[must_use]
pub fn rune_count(bytes: &[u8]) -> usize {
    runes(bytes).count()
}

/// Appends the UTF-8 form of `rune`.
pub fn push_rune(out: &mut Vec<u8>, rune: char) {
    out.extend_from_slice(rune.encode_utf8(&mut [0; 4]).as_bytes());
}

/// The characters at which a class begins and ends, in turn, from the distances between them.
pub(crate) const fn edges<const N: usize>(mut steps: [u32; N]) -> [u32; N] {
    let mut at = 1;
    while at < N {
        steps[at] += steps[at - 1];
        at += 1;
    }
    steps
}

fn in_class(edges: &[u32], rune: char) -> bool {
    edges.partition_point(|edge| *edge <= u32::from(rune)) % 2 == 1
}

/// Letters, marks, numbers, punctuation, symbols and the ASCII space.
#[must_use]
pub fn is_print(rune: char) -> bool {
    if rune.is_ascii() {
        (' '..='~').contains(&rune)
    } else {
        in_class(&tables::PRINT, rune)
    }
}

/// White space as `unicode.IsSpace`.
#[must_use]
pub fn is_space(rune: char) -> bool {
    matches!(
        rune,
        '\t'..='\r' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}'
            | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// Control characters, category Cc.
#[must_use]
pub fn is_control(rune: char) -> bool {
    rune.is_control()
}

/// Category L.
#[must_use]
pub fn is_letter(rune: char) -> bool {
    if rune.is_ascii() {
        rune.is_ascii_alphabetic()
    } else {
        in_class(&tables::LETTER, rune)
    }
}

/// Category M.
#[must_use]
pub fn is_mark(rune: char) -> bool {
    in_class(&tables::MARK, rune)
}

/// Category Nd.
#[must_use]
pub fn is_digit(rune: char) -> bool {
    if rune.is_ascii() {
        rune.is_ascii_digit()
    } else {
        in_class(&tables::DIGIT, rune)
    }
}

/// Category N.
#[must_use]
pub fn is_number(rune: char) -> bool {
    in_class(&tables::NUMBER, rune)
}

/// Category P.
#[must_use]
pub fn is_punct(rune: char) -> bool {
    in_class(&tables::PUNCT, rune)
}

/// Category S.
#[must_use]
pub fn is_symbol(rune: char) -> bool {
    in_class(&tables::SYMBOL, rune)
}

/// Category Lu.
#[must_use]
pub fn is_upper(rune: char) -> bool {
    if rune.is_ascii() {
        rune.is_ascii_uppercase()
    } else {
        in_class(&tables::UPPER, rune)
    }
}

/// Category Ll.
#[must_use]
pub fn is_lower(rune: char) -> bool {
    if rune.is_ascii() {
        rune.is_ascii_lowercase()
    } else {
        in_class(&tables::LOWER, rune)
    }
}

/// Category Lt, such as `ǅ`.
#[must_use]
pub fn is_title(rune: char) -> bool {
    in_class(&tables::TITLE, rune)
}

/// First and last character, and what to add for upper, lower and title case.
pub(crate) type CaseRange = (u32, u32, [i32; 3]);

/// In place of what to add: the characters are pairs, upper case first.
pub(crate) const PAIRS: [i32; 3] = [i32::MAX; 3];

/// The cases, as positions in a [`CaseRange`].
#[derive(Clone, Copy)]
enum Case {
    Upper,
    Lower,
    Title,
}

fn map_case(rune: char, case: Case) -> char {
    let code = u32::from(rune);
    let after = tables::CASES.partition_point(|range| range.0 <= code);
    let Some((first, _, shifts)) = tables::CASES[..after]
        .last()
        .filter(|range| code <= range.1)
    else {
        return rune;
    };
    let mapped = if *shifts == PAIRS {
        let pair = code - (code - first) % 2;
        pair + u32::from(matches!(case, Case::Lower))
    } else {
        code.wrapping_add_signed(shifts[case as usize])
    };
    char::from_u32(mapped).unwrap_or(rune)
}

/// Upper case, one character for one.
#[must_use]
pub fn to_upper(rune: char) -> char {
    if rune.is_ascii() {
        rune.to_ascii_uppercase()
    } else {
        map_case(rune, Case::Upper)
    }
}

/// Lower case, one character for one.
#[must_use]
pub fn to_lower(rune: char) -> char {
    if rune.is_ascii() {
        rune.to_ascii_lowercase()
    } else {
        map_case(rune, Case::Lower)
    }
}

/// Title case, one character for one; differs from upper case for letters such as `ǆ`.
#[must_use]
pub fn to_title(rune: char) -> char {
    if rune.is_ascii() {
        rune.to_ascii_uppercase()
    } else {
        map_case(rune, Case::Title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checksum(class: impl Fn(char) -> u32) -> u32 {
        (0..=0x10_ffff)
            .filter_map(char::from_u32)
            .fold(0, |sum, rune| {
                let value = class(rune);
                if value == 0 {
                    sum
                } else {
                    sum.wrapping_mul(31)
                        .wrapping_add(u32::from(rune) ^ value.rotate_left(7))
                }
            })
    }

    /// Expected sums come from the same fold over Go 1.26's `unicode` package.
    #[test]
    fn every_character_has_the_class_and_case_go_gives_it() {
        let class = |check: fn(char) -> bool| checksum(|rune| u32::from(check(rune)));
        let case = |map: fn(char) -> char| {
            checksum(|rune| {
                if map(rune) == rune {
                    0
                } else {
                    u32::from(map(rune))
                }
            })
        };
        for (name, got, want) in [
            ("print", class(is_print), 2487141356),
            ("space", class(is_space), 2666092250),
            ("control", class(is_control), 1906018047),
            ("letter", class(is_letter), 1147483910),
            ("mark", class(is_mark), 3654457527),
            ("digit", class(is_digit), 223497428),
            ("number", class(is_number), 2186630109),
            ("punct", class(is_punct), 2299313563),
            ("symbol", class(is_symbol), 639139129),
            ("upper", class(is_upper), 3258883296),
            ("lower", class(is_lower), 3893588286),
            ("title", class(is_title), 558577334),
            ("to_upper", case(to_upper), 3438486851),
            ("to_lower", case(to_lower), 1963147561),
            ("to_title", case(to_title), 2769408384),
        ] {
            assert_eq!(got, want, "{name}");
        }
    }

    #[test]
    fn invalid_bytes_decode_one_at_a_time() {
        for (bytes, want) in [
            (&b""[..], (REPLACEMENT, 0)),
            (b"a", ('a', 1)),
            ("é".as_bytes(), ('é', 2)),
            ("€x".as_bytes(), ('€', 3)),
            ("😀".as_bytes(), ('😀', 4)),
            (b"\xe2\x82", (REPLACEMENT, 1)),
            (b"\xc0\x80", (REPLACEMENT, 1)),
            (b"\xe0\x80\x80", (REPLACEMENT, 1)),
            (b"\xed\xa0\x80", (REPLACEMENT, 1)),
            (b"\xf4\x90\x80\x80", (REPLACEMENT, 1)),
            (b"\xff", (REPLACEMENT, 1)),
            ("\u{fffd}".as_bytes(), (REPLACEMENT, 3)),
        ] {
            assert_eq!(decode_rune(bytes), want, "{bytes:?}");
        }
        assert_eq!(decode_last_rune(b"a\xe2\x82"), (REPLACEMENT, 1));
        assert_eq!(decode_last_rune("a€".as_bytes()), ('€', 3));
        assert_eq!(decode_last_rune("\u{fffd}".as_bytes()), (REPLACEMENT, 3));
        assert_eq!(rune_count(b"a\xff\xc3\xa9"), 3);
    }
}
