//! Values made of random characters: `[set]{count}` groups in a text, in OpenShift's notation, with
//! ranges that include their ends. The expression is read once from left to right; what was drawn
//! is never read again.

use std::fmt;

use crate::Random;

/// The order that ranges go by.
const ORDER: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const SYMBOLS: &[u8; 32] = b"~!@#$%^&*()-_+={}[]\\|<,>.?/\"';:`";
/// The most characters of one group.
const LONGEST_GROUP: usize = 255;
/// The most characters of one value.
const LONGEST: usize = 64 << 10;

/// Why nothing was generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateError {
    /// What is wrong.
    pub what: String,
    /// What to do, if something can be done.
    pub hint: Option<String>,
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

fn error(what: String, hint: &str) -> GenerateError {
    GenerateError {
        what,
        hint: Some(hint.to_owned()),
    }
}

/// A value from an expression. Text outside of groups stays as it is.
///
/// ```
/// let mut bits = (0..).map(|number: u64| number << 58);
/// let value = templates::generate("user[0-9]{3}", &mut || Ok(bits.next().unwrap())).unwrap();
/// assert!(value.starts_with("user") && value.len() == 7);
/// ```
pub fn generate(expression: &str, random: Random<'_>) -> Result<String, GenerateError> {
    let mut value = String::new();
    let mut rest = expression;
    while let Some(open) = memchr::memchr(b'[', rest.as_bytes()) {
        let (before, from) = rest.split_at(open);
        value.push_str(before);
        let Some((set, count, length)) = group(from) else {
            value.push('[');
            rest = &from[1..];
            continue;
        };
        let letters = letters(set)?;
        let count = count
            .parse::<usize>()
            .ok()
            .filter(|count| (1..=LONGEST_GROUP).contains(count))
            .ok_or_else(|| {
                error(
                    format!("`[{set}]{{{count}}}` asks for {count} characters"),
                    "ask for 1 to 255",
                )
            })?;
        for _ in 0..count {
            let bits = random().map_err(|what| GenerateError { what, hint: None })?;
            // The product's upper half is a number below the count of letters, all equally likely
            // but for 2^-57.
            let at = (u128::from(bits) * letters.len() as u128) >> 64;
            value.push(char::from(letters[at as usize]));
        }
        if value.len() > LONGEST {
            return Err(error(
                format!("the value would have more than {LONGEST} characters"),
                "generate less",
            ));
        }
        rest = &from[length..];
    }
    value.push_str(rest);
    Ok(value)
}

/// The set and the count of a group at the start of a text, and its length.
fn group(text: &str) -> Option<(&str, &str, usize)> {
    let bytes = text.as_bytes();
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'\\');
    let close = 1 + bytes.get(1..)?.iter().position(|byte| !inside(byte))?;
    if close == 1 || bytes.get(close..close + 2)? != b"]{" {
        return None;
    }
    let digits = bytes[close + 2..]
        .iter()
        .position(|byte| !byte.is_ascii_digit())?;
    let end = close + 2 + digits;
    if digits == 0 || bytes[end] != b'}' {
        return None;
    }
    Some((&text[1..close], &text[close + 2..end], end + 1))
}

/// The characters of a set, each once.
fn letters(set: &str) -> Result<Vec<u8>, GenerateError> {
    let bytes = set.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let place = |letter: u8| ORDER.iter().position(|other| *other == letter);
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            match bytes.get(at + 1) {
                Some(b'w') => found.extend(ORDER.iter().chain(b"_")),
                Some(b'd') => found.extend(b"0123456789"),
                Some(b'a') => found.extend(ORDER),
                Some(b'A') => found.extend(SYMBOLS),
                other => {
                    let written = other
                        .map(|byte| char::from(*byte).to_string())
                        .unwrap_or_default();
                    let what = format!("`[{set}]` has the class `\\{written}`, which is not known");
                    return Err(error(what, r"the classes are \w, \d, \a and \A"));
                }
            }
            at += 2;
            continue;
        }
        let end = bytes
            .get(at + 2)
            .filter(|end| bytes[at + 1] == b'-' && **end != b'\\');
        let Some(end) = end else {
            found.push(bytes[at]);
            at += 1;
            continue;
        };
        match (place(bytes[at]), place(*end)) {
            (Some(first), Some(last)) if first <= last => found.extend(&ORDER[first..=last]),
            _ => {
                let range = format!("{}-{}", char::from(bytes[at]), char::from(*end));
                let what = format!("`[{set}]` has the range `{range}`, which goes backwards");
                return Err(error(what, "ranges go by the order a-z, A-Z, 0-9"));
            }
        }
        at += 3;
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{ORDER, SYMBOLS, generate, letters};

    /// Bits that reach every letter of any set.
    fn sweep() -> impl FnMut() -> Result<u64, String> {
        let mut at: u64 = 0;
        move || {
            at = at.wrapping_add(0x0333_3333_3333_3333);
            Ok(at)
        }
    }

    #[test]
    fn sets_hold_what_they_say_with_both_ends() {
        let text = |set: &str| String::from_utf8(letters(set).unwrap()).unwrap();
        for (set, expected) in [
            ("0-9", "0123456789"),
            ("0-1", "01"),
            ("0-0", "0"),
            ("a-c", "abc"),
            ("x-zA-C", "ABCxyz"),
            ("y-B", "AByz"),
            ("ABC", "ABC"),
            ("a-ca-cb", "abc"),
            (r"\d", "0123456789"),
            (r"\d-", "-0123456789"),
            ("-a", "-a"),
        ] {
            assert_eq!(text(set), expected, "{set}");
        }
        assert_eq!(letters(r"\w").unwrap().len(), 63);
        assert_eq!(letters(r"\wA-Z").unwrap().len(), 63);
        assert_eq!(letters(r"\a").unwrap().len(), ORDER.len());
        assert_eq!(letters(r"\A").unwrap().len(), SYMBOLS.len());
    }

    #[test]
    fn groups_are_drawn_and_everything_else_stays() {
        for (expression, length, fits) in [
            (
                "[a-zA-Z0-9]{16}",
                16,
                &(|text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric()))
                    as &dyn Fn(&str) -> bool,
            ),
            ("user[A-Z0-9]{3}", 7, &|text| text.starts_with("user")),
            ("[0-1]{255}", 255, &|text| {
                text.contains('0') && text.contains('1')
            }),
            (r"[\w]{50}", 50, &|_| true),
            ("[a-z]", 5, &|text| text == "[a-z]"),
            ("[a-z_]{3}", 9, &|text| text == "[a-z_]{3}"),
            ("[]{3}", 5, &|text| text == "[]{3}"),
            ("[a-z]{}", 7, &|text| text == "[a-z]{}"),
            ("[[a-a]{2}", 3, &|text| text == "[aa"),
            (r"[\A]{200}", 200, &|text| text.contains('[')),
            ("é[a-a]{1}é", 5, &|text| text == "éaé"),
            ("", 0, &|_| true),
        ] {
            let value = generate(expression, &mut sweep()).unwrap();
            assert!(
                value.len() == length && fits(&value),
                "{expression}: {value}"
            );
        }
    }

    #[test]
    fn every_letter_of_a_set_can_be_drawn_and_no_other() {
        for bits in [0, 1, u64::MAX / 2, u64::MAX] {
            let value = generate("[a-c]{1}", &mut || Ok(bits)).unwrap();
            assert!(["a", "b", "c"].contains(&&*value));
        }
        assert_eq!(generate("[a-c]{1}", &mut || Ok(u64::MAX)).unwrap(), "c");
        assert_eq!(generate("[a-c]{1}", &mut || Ok(0)).unwrap(), "a");
    }

    #[test]
    fn what_is_malformed_or_explodes_is_refused() {
        for (expression, expected) in [
            ("[a-z]{0}".to_owned(), "asks for 0 characters"),
            ("[a-z]{300}".to_owned(), "asks for 300 characters"),
            (
                "[a-z]{99999999999999999999}".to_owned(),
                "asks for 99999999999999999999 characters",
            ),
            ("[Z-A]{3}".to_owned(), "`Z-A`, which goes backwards"),
            ("[A-z]{3}".to_owned(), "`A-z`, which goes backwards"),
            (r"[\q]{3}".to_owned(), r"the class `\q`"),
            (r"[a\]{3}".to_owned(), r"the class `\`"),
            ("[a-z]{255}".repeat(1000), "more than 65536"),
        ] {
            let error = generate(&expression, &mut sweep()).unwrap_err();
            assert!(error.what.contains(expected), "{expression}: {error}");
        }
        assert_eq!(
            generate("[a-z]{1}", &mut || Err("dry".to_owned()))
                .unwrap_err()
                .what,
            "dry"
        );
    }
}
