//! Word shapes as sprig's helpers make them: snake, kebab and camel case (xstrings), wrapping,
//! abbreviating, initials and case swapping (goutils). Several of these count bytes, not
//! characters, and must go on doing so.

use super::strings::{index, to_valid};
use super::unicode::{
    decode_rune, is_letter, is_lower, is_number, is_punct, is_space, is_title, is_upper, push_rune,
    runes, to_lower, to_title, to_upper,
};

/// Words in lower case joined by `_`.
#[must_use]
pub fn snake_case(text: &[u8]) -> Vec<u8> {
    join_lower(text, '_')
}

/// Words in lower case joined by `-`.
#[must_use]
pub fn kebab_case(text: &[u8]) -> Vec<u8> {
    join_lower(text, '-')
}

/// Words with their first letter in upper case and no connector between them; leading connectors
/// stay.
#[must_use]
pub fn pascal_case(text: &[u8]) -> Vec<u8> {
    camel_case(text, true)
}

/// As [`pascal_case`], with `big` unset the first letter is in lower case.
#[must_use]
pub fn camel_case(text: &[u8], big: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut items = runes(text).map(|item| item.rune);
    let mut held = None;
    let mut shouting = false;
    for rune in items.by_ref() {
        held = Some(rune);
        if !is_connector(rune) {
            shouting = is_upper(rune);
            held = Some(if big { to_upper(rune) } else { to_lower(rune) });
            break;
        }
        push_rune(&mut out, rune);
    }
    let Some(mut held) = held else { return out };
    let mut alone = true;
    for rune in items {
        alone = false;
        let before = std::mem::replace(&mut held, rune);
        match (is_connector(before), is_connector(rune)) {
            (true, true) => push_rune(&mut out, before),
            (true, false) => {
                shouting = is_upper(rune);
                held = to_upper(rune);
            }
            (false, _) => {
                // A word that began in upper case stays "shouted" until its first other character.
                if shouting && is_upper(rune) {
                    held = to_lower(rune);
                } else {
                    shouting = false;
                }
                push_rune(&mut out, before);
            }
        }
    }
    if !alone && shouting && !big {
        held = to_lower(held);
    }
    push_rune(&mut out, held);
    out
}

fn is_connector(rune: char) -> bool {
    rune == '-' || rune == '_' || is_space(rune)
}

/// A letter of a script whose words are spelled; the common ideographs are not.
fn is_alphabet(rune: char) -> bool {
    is_letter(rune)
        && !matches!(rune, '\u{4e00}'..='\u{9fcc}' | '\u{3400}'..='\u{4d85}' | '\u{20000}'..='\u{2b81d}')
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Invalid,
    Number,
    Upper,
    Alphabet,
    Connector,
    Punct,
    Other,
}

impl Kind {
    /// Kinds that a connector is written before.
    fn is_separate(self) -> bool {
        self != Self::Connector && self != Self::Punct
    }

    fn continues_number(self) -> bool {
        self == Self::Alphabet || self == Self::Number
    }
}

/// Splits words off the front of a text.
struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    /// The next word and its kind; at the end an empty invalid one.
    fn next(&mut self) -> (Kind, &'a [u8]) {
        let text = self.rest;
        let (first, size) = next_valid(text, char::REPLACEMENT_CHARACTER);
        let (kind, length) = if first == char::REPLACEMENT_CHARACTER {
            (Kind::Invalid, size)
        } else if is_connector(first) {
            (Kind::Connector, scan(text, size, first, is_connector))
        } else if is_punct(first) {
            (Kind::Punct, scan(text, size, first, is_punct))
        } else if is_upper(first) {
            (Kind::Upper, upper_length(text, size, first))
        } else if is_alphabet(first) {
            (
                Kind::Alphabet,
                scan(text, size, first, |rune| {
                    is_alphabet(rune) && !is_upper(rune)
                }),
            )
        } else if is_number(first) {
            (Kind::Number, scan(text, size, first, is_number))
        } else {
            let other = |rune| {
                !(is_connector(rune) || is_alphabet(rune) || is_number(rune) || is_punct(rune))
            };
            (Kind::Other, scan(text, size, first, other))
        };
        self.rest = &text[length..];
        (kind, &text[..length])
    }
}

/// An upper case word: either capitals only, or one capital and the small letters after it.
fn upper_length(text: &[u8], size: usize, first: char) -> usize {
    if size == text.len() {
        return size;
    }
    let (second, width) = next_valid(&text[size..], first);
    if is_upper(second) {
        let mut last_width = width;
        let mut end = size + width;
        let mut current = second;
        while end < text.len() {
            let (rune, width) = next_valid(&text[end..], current);
            current = rune;
            if !is_upper(rune) {
                break;
            }
            last_width = width;
            end += width;
        }
        // In "HTTPStatus" the last capital begins the next word.
        if end < text.len() && is_alphabet(current) {
            end - last_width
        } else {
            end
        }
    } else if is_alphabet(second) {
        scan(text, size + width, second, |rune| {
            is_alphabet(rune) && !is_upper(rune)
        })
    } else {
        size
    }
}

/// Extends a word from `end` while runes belong to it; runes that cannot be decoded go with what
/// follows them.
fn scan(text: &[u8], mut end: usize, mut last: char, belongs: impl Fn(char) -> bool) -> usize {
    while end < text.len() {
        let (rune, width) = next_valid(&text[end..], last);
        if !belongs(rune) {
            break;
        }
        last = rune;
        end += width;
    }
    end
}

/// The first rune that is not U+FFFD and the bytes up to its end; `fallback` if there is none.
fn next_valid(text: &[u8], fallback: char) -> (char, usize) {
    let mut size = 0;
    while let (rune, width @ 1..) = decode_rune(&text[size..]) {
        size += width;
        if rune != char::REPLACEMENT_CHARACTER {
            return (rune, size);
        }
    }
    (fallback, size)
}

fn join_lower(text: &[u8], connector: char) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    let mut words = Words { rest: text };
    let (mut kind, mut word) = words.next();
    while !words.rest.is_empty() {
        if kind != Kind::Connector {
            push_lower(&mut out, kind, word, connector);
        }
        let before = (kind, word);
        (kind, word) = words.next();
        match before.0 {
            Kind::Connector => push_lower(&mut out, Kind::Connector, before.1, connector),
            Kind::Punct => {}
            Kind::Number => {
                while kind.continues_number() {
                    push_lower(&mut out, kind, word, connector);
                    (kind, word) = words.next();
                }
                if kind != Kind::Invalid && kind.is_separate() {
                    push_rune(&mut out, connector);
                }
            }
            _ if kind != Kind::Number => {
                if kind.is_separate() {
                    push_rune(&mut out, connector);
                }
            }
            _ if words.rest.is_empty() => {}
            _ => {
                let number = word;
                (kind, word) = words.next();
                if kind == Kind::Alphabet {
                    // Small letters after a number make it a word of its own: "HTTP2xx" is
                    // "http_2xx".
                    push_rune(&mut out, connector);
                    out.extend_from_slice(number);
                    while kind.continues_number() {
                        push_lower(&mut out, kind, word, connector);
                        (kind, word) = words.next();
                    }
                    if kind != Kind::Invalid && kind.is_separate() {
                        push_rune(&mut out, connector);
                    }
                } else {
                    // Otherwise it ends the word before it: "Bld4Floor" is "bld4_floor".
                    out.extend_from_slice(number);
                    if kind.is_separate() {
                        push_rune(&mut out, connector);
                    }
                }
            }
        }
    }
    push_lower(&mut out, kind, word, connector);
    out
}

fn push_lower(out: &mut Vec<u8>, kind: Kind, word: &[u8], connector: char) {
    if kind != Kind::Upper && kind != Kind::Connector {
        out.extend_from_slice(word);
        return;
    }
    for item in runes(word) {
        let rune = item.rune;
        push_rune(
            out,
            if is_connector(rune) {
                connector
            } else if is_upper(rune) {
                to_lower(rune)
            } else {
                rune
            },
        );
    }
}

/// goutils' `SwapCase`: small letters at the start of a word become title case, others change
/// sides.
#[must_use]
pub fn swap_case(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut starts = true;
    for item in runes(text) {
        let rune = item.rune;
        let swapped = if is_upper(rune) || is_title(rune) {
            starts = false;
            to_lower(rune)
        } else if is_lower(rune) {
            if std::mem::take(&mut starts) {
                to_title(rune)
            } else {
                to_upper(rune)
            }
        } else {
            starts = is_space(rune);
            rune
        };
        push_rune(&mut out, swapped);
    }
    out
}

/// goutils' `Uncapitalize`: the first letter of every word in lower case.
#[must_use]
pub fn uncapitalize(text: &[u8]) -> Vec<u8> {
    let mut starts = true;
    let mut out = Vec::with_capacity(text.len());
    for item in runes(&to_valid(text)) {
        let rune = item.rune;
        if is_space(rune) {
            starts = true;
            push_rune(&mut out, rune);
        } else {
            push_rune(
                &mut out,
                if std::mem::take(&mut starts) {
                    to_lower(rune)
                } else {
                    rune
                },
            );
        }
    }
    out
}

/// goutils' `Initials`: the first byte of every word, written as the character of that number.
#[must_use]
pub fn initials(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut starts = true;
    for &byte in text {
        if is_space(char::from(byte)) {
            starts = true;
        } else if std::mem::take(&mut starts) {
            push_rune(&mut out, char::from(byte));
        }
    }
    out
}

/// goutils' `DeleteWhiteSpace`: if any byte is white space, all others are written as the
/// characters of their numbers.
#[must_use]
pub fn delete_white_space(text: &[u8]) -> Vec<u8> {
    if !text.iter().any(|&byte| is_space(char::from(byte))) {
        return text.to_vec();
    }
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        let rune = char::from(byte);
        if !is_space(rune) {
            push_rune(&mut out, rune);
        }
    }
    out
}

/// Why a text was not abbreviated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AbbreviateError {
    /// The width leaves no room for a character and the dots.
    #[error("stringutils illegal argument: Minimum abbreviation width is 4")]
    Width,
    /// The width leaves no room for dots on both sides.
    #[error("stringutils illegal argument: Minimum abbreviation width with offset is 7")]
    OffsetWidth,
}

/// goutils' `Abbreviate`: at most `width` bytes, the last three of them dots.
///
/// # Errors
/// A width below 4 for a text that is not empty.
pub fn abbreviate(text: &[u8], width: i64) -> Result<Vec<u8>, AbbreviateError> {
    abbreviate_full(text, 0, width)
}

/// goutils' `AbbreviateFull`: as [`abbreviate`], keeping the byte at `offset` in sight.
///
/// # Errors
/// A width below 4, or below 7 when dots come on both sides.
pub fn abbreviate_full(text: &[u8], offset: i64, width: i64) -> Result<Vec<u8>, AbbreviateError> {
    const DOTS: &[u8] = b"...";
    if text.is_empty() {
        return Ok(Vec::new());
    }
    if width < 4 {
        return Err(AbbreviateError::Width);
    }
    let Some(width) = usize::try_from(width)
        .ok()
        .filter(|&width| width < text.len())
    else {
        return Ok(text.to_vec());
    };
    let body = width - DOTS.len();
    let offset = offset.min((text.len() - body) as i64);
    let head = |text: &[u8], length: usize| [&text[..length], DOTS].concat();
    if offset <= 4 {
        return Ok(head(text, body));
    }
    if width < 7 {
        return Err(AbbreviateError::OffsetWidth);
    }
    let offset = usize::try_from(offset).unwrap_or(0);
    if offset + body < text.len() {
        let rest = &text[offset..];
        return Ok([DOTS, &head(rest, body - DOTS.len())].concat());
    }
    Ok([DOTS, &text[text.len() - body..]].concat())
}

/// goutils' `WrapCustom`: breaks a line at spaces after at most `width` bytes; an empty `newline`
/// is `\n`.
#[must_use]
pub fn wrap(text: &[u8], width: i64, newline: &[u8], break_words: bool) -> Vec<u8> {
    let newline = if newline.is_empty() { b"\n" } else { newline };
    let width = usize::try_from(width).unwrap_or(1).max(1);
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while rest.len() > width {
        if rest[0] == b' ' {
            rest = &rest[1..];
            continue;
        }
        let (end, next) = if let Some(space) = rest[..=width].iter().rposition(|&byte| byte == b' ')
        {
            (space, space + 1)
        } else if break_words {
            (width, width)
        } else if let Some(space) = index(&rest[width..], b" ") {
            (width + space, width + space + 1)
        } else {
            break;
        };
        out.extend_from_slice(&rest[..end]);
        out.extend_from_slice(newline);
        rest = &rest[next..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn words_are_split_at_case_numbers_and_connectors() {
        for (given, snake, pascal) in [
            ("FirstName", "first_name", "FirstName"),
            ("HTTPServer", "http_server", "Httpserver"),
            ("GO PATH", "go_path", "GoPath"),
            ("http2xx", "http_2xx", "Http2xx"),
            ("HTTP20xOK", "http_20x_ok", "Http20xOK"),
            ("Duration2m3s", "duration_2m3s", "Duration2m3s"),
            ("Bld4Floor3rd", "bld4_floor_3rd", "Bld4Floor3rd"),
            ("_complex__case_", "_complex__case_", "_Complex_Case_"),
            ("a.B-c", "a.b_c", "A.BC"),
            ("", "", ""),
            ("x", "x", "X"),
            ("-", "_", "--"),
        ] {
            assert_eq!(text(snake_case(given.as_bytes())), snake, "{given}");
            assert_eq!(text(pascal_case(given.as_bytes())), pascal, "{given}");
        }
        assert_eq!(kebab_case(b"FooBar 2X"), b"foo-bar-2-x");
    }

    #[test]
    fn abbreviating_counts_bytes_and_dots() {
        for (offset, width, want) in [
            (0, 10, Ok("Now is ...")),
            (5, 10, Ok("...s th...")),
            (40, 10, Ok("...ood men")),
            (0, 3, Err(AbbreviateError::Width)),
            (9, 6, Err(AbbreviateError::OffsetWidth)),
            (0, 100, Ok("Now is the time for all good men")),
            (-3, 10, Ok("Now is ...")),
        ] {
            let got = abbreviate_full(b"Now is the time for all good men", offset, width).map(text);
            assert_eq!(got, want.map(str::to_owned), "{offset} {width}");
        }
        assert_eq!(abbreviate(b"", 1), Ok(Vec::new()));
    }

    #[test]
    fn wrapping_breaks_long_words_only_when_asked() {
        for (width, broken, want) in [
            (5, false, "Hello\nWorld-wide\n web"),
            (5, true, "Hello|World|-wide| web"),
            (0, true, "H|e|l|l|o|W|o|r|l|d|-|w|i|d|e|w|e|b"),
            (100, false, "Hello World-wide  web"),
        ] {
            let newline: &[u8] = if broken { b"|" } else { b"" };
            assert_eq!(
                text(wrap(b"Hello World-wide  web", width, newline, broken)),
                want
            );
        }
    }

    #[test]
    fn some_helpers_see_bytes_as_characters() {
        assert_eq!(text(initials("first \u{e9}t try".as_bytes())), "f\u{c3}t");
        assert_eq!(text(delete_white_space("é ü".as_bytes())), "Ã©Ã¼");
        assert_eq!(text(delete_white_space("éü".as_bytes())), "éü");
        assert_eq!(text(uncapitalize("Hello WORLD".as_bytes())), "hello wORLD");
        assert_eq!(
            text(swap_case("this Is A.test ǅx".as_bytes())),
            "THIS iS a.TEST ǆX"
        );
    }
}
