//! Go's `strings` over bytes: case mapping, trimming, fields, splitting and replacing.
//! Only what template functions use; sprig's word functions are in `words`.

use super::unicode::{
    decode_last_rune, decode_rune, is_digit, is_letter, is_space, push_rune, runes, to_lower,
    to_title, to_upper,
};

/// Maps every rune; invalid bytes come out as U+FFFD, as `strings.Map` leaves them.
pub fn map_runes(text: &[u8], mut map: impl FnMut(char) -> char) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for item in runes(text) {
        push_rune(&mut out, map(item.rune));
    }
    out
}

/// `strings.ToUpper`.
#[must_use]
pub fn upper(text: &[u8]) -> Vec<u8> {
    map_runes(text, to_upper)
}

/// `strings.ToLower`.
#[must_use]
pub fn lower(text: &[u8]) -> Vec<u8> {
    map_runes(text, to_lower)
}

/// `strings.Title`: the first letter of every word in title case, the rest untouched.
#[must_use]
pub fn title(text: &[u8]) -> Vec<u8> {
    let mut before = ' ';
    map_runes(text, |rune| {
        let starts = is_separator(before);
        before = rune;
        if starts { to_title(rune) } else { rune }
    })
}

/// Beyond ASCII only white space separates words for [`title`].
fn is_separator(rune: char) -> bool {
    if rune.is_ascii() {
        !(rune.is_ascii_alphanumeric() || rune == '_')
    } else {
        !is_letter(rune) && !is_digit(rune) && is_space(rune)
    }
}

/// Cuts leading runes that satisfy `cut`.
pub fn trim_start_func(mut text: &[u8], cut: impl Fn(char) -> bool) -> &[u8] {
    while let (rune, width @ 1..) = decode_rune(text) {
        if !cut(rune) {
            break;
        }
        text = &text[width..];
    }
    text
}

/// Cuts trailing runes that satisfy `cut`.
pub fn trim_end_func(mut text: &[u8], cut: impl Fn(char) -> bool) -> &[u8] {
    while let (rune, width @ 1..) = decode_last_rune(text) {
        if !cut(rune) {
            break;
        }
        text = &text[..text.len() - width];
    }
    text
}

/// `strings.TrimSpace`.
#[must_use]
pub fn trim_space(text: &[u8]) -> &[u8] {
    trim_end_func(trim_start_func(text, is_space), is_space)
}

/// `strings.Trim`: cuts runes of `cutset` from both ends.
#[must_use]
pub fn trim<'a>(text: &'a [u8], cutset: &[u8]) -> &'a [u8] {
    let cut = |rune: char| runes(cutset).any(|item| item.rune == rune);
    trim_end_func(trim_start_func(text, cut), cut)
}

/// `strings.Fields`: the parts between runs of white space.
#[must_use]
pub fn fields(text: &[u8]) -> Vec<&[u8]> {
    let mut out = Vec::new();
    let mut start = None;
    for item in runes(text) {
        if is_space(item.rune) {
            if let Some(from) = start.take() {
                out.push(&text[from..item.at]);
            }
        } else if start.is_none() {
            start = Some(item.at);
        }
    }
    if let Some(from) = start {
        out.push(&text[from..]);
    }
    out
}

/// Offset of the first `needle`, which is 0 when it is empty.
#[must_use]
pub fn index(text: &[u8], needle: &[u8]) -> Option<usize> {
    if needle.is_empty() {
        return Some(0);
    }
    memchr::memmem::find(text, needle)
}

/// Whether `needle` occurs in `text`.
#[must_use]
pub fn contains(text: &[u8], needle: &[u8]) -> bool {
    index(text, needle).is_some()
}

/// `strings.SplitN`: a negative `limit` splits all, 0 gives nothing; an empty separator splits into
/// runes.
#[must_use]
pub fn split_n<'a>(text: &'a [u8], separator: &[u8], limit: i64) -> Vec<&'a [u8]> {
    if limit == 0 {
        return Vec::new();
    }
    let limit = if limit < 0 {
        usize::MAX
    } else {
        usize::try_from(limit).unwrap_or(usize::MAX)
    };
    let mut out = Vec::new();
    let mut rest = text;
    if separator.is_empty() {
        while let (_, width @ 1..) = decode_rune(rest) {
            let end = if out.len() + 1 == limit {
                rest.len()
            } else {
                width
            };
            out.push(&rest[..end]);
            rest = &rest[end..];
        }
        return out;
    }
    while out.len() + 1 < limit {
        let Some(at) = index(rest, separator) else {
            break;
        };
        out.push(&rest[..at]);
        rest = &rest[at + separator.len()..];
    }
    out.push(rest);
    out
}

/// `strings.ReplaceAll`: an empty `old` matches before every rune and at the end.
#[must_use]
pub fn replace_all(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    if old.is_empty() {
        for item in runes(text) {
            out.extend_from_slice(new);
            out.extend_from_slice(&text[item.at..item.at + item.width]);
        }
        out.extend_from_slice(new);
        return out;
    }
    let mut rest = text;
    while let Some(at) = index(rest, old) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(new);
        rest = &rest[at + old.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// Text with every invalid byte replaced by U+FFFD, one for each, as converting to runes and back
/// does.
#[must_use]
pub fn to_valid(text: &[u8]) -> Vec<u8> {
    map_runes(text, |rune| rune)
}

/// Whether `text` is valid UTF-8.
#[must_use]
pub fn is_valid(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn case_maps_one_rune_to_one() {
        for (given, up, down, titled) in [
            ("straße ﬁ", "STRAßE ﬁ", "straße ﬁ", "Straße ﬁ"),
            ("İΣ", "İΣ", "iσ", "İΣ"),
            ("ǆ a", "Ǆ A", "ǆ a", "ǅ A"),
            (
                "hELLO o'neil foo_bar 1st-x",
                "HELLO O'NEIL FOO_BAR 1ST-X",
                "hello o'neil foo_bar 1st-x",
                "HELLO O'Neil Foo_bar 1st-X",
            ),
            (
                "a\u{2003}b…c",
                "A\u{2003}B…C",
                "a\u{2003}b…c",
                "A\u{2003}B…c",
            ),
        ] {
            assert_eq!(text(&upper(given.as_bytes())), up);
            assert_eq!(text(&lower(given.as_bytes())), down);
            assert_eq!(text(&title(given.as_bytes())), titled);
        }
        assert_eq!(upper(b"a\xff"), "A\u{fffd}".as_bytes());
    }

    #[test]
    fn trimming_and_fields_know_unicode_space() {
        assert_eq!(trim_space("\u{a0}\u{85} a b \t\u{3000}".as_bytes()), b"a b");
        assert_eq!(trim_space(b" \xa0 "), b"\xa0");
        assert_eq!(trim("xéaéx".as_bytes(), "éx".as_bytes()), b"a");
        assert_eq!(trim(b"\xffa\xfe", b"\xfd"), b"a");
        assert_eq!(fields("\u{a0}a\u{2028}\tb ".as_bytes()), [b"a", b"b"]);
        assert!(fields(b" \n").is_empty());
    }

    #[test]
    fn splitting_and_replacing_treat_the_empty_text_as_between_runes() {
        for (given, separator, limit, want) in [
            ("a,b,c", ",", -1, vec!["a", "b", "c"]),
            ("a,b,c", ",", 2, vec!["a", "b,c"]),
            ("a,b,c", ",", 0, vec![]),
            ("", ",", -1, vec![""]),
            ("", "", -1, vec![]),
            ("aéb", "", -1, vec!["a", "é", "b"]),
            ("aéb", "", 2, vec!["a", "éb"]),
        ] {
            let got: Vec<String> = split_n(given.as_bytes(), separator.as_bytes(), limit)
                .into_iter()
                .map(text)
                .collect();
            assert_eq!(got, want, "{given}");
        }
        assert_eq!(replace_all(b"aaa", b"aa", b"b"), b"ba");
        assert_eq!(replace_all("aé".as_bytes(), b"", b"-"), "-a-é-".as_bytes());
        assert_eq!(replace_all(b"", b"", b"-"), b"-");
    }
}
