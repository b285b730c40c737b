//! Warnings as headers: quoted as HTTP wants it, in UTF-8, each once, and not more than a client
//! reads.

use std::collections::HashSet;

use http::HeaderValue;

/// How many characters all warnings of an answer have together, before each is cut short.
const TOTAL: usize = 4 << 10;
/// How many characters of a warning are left then.
const EACH: usize = 256;

/// The values of the `Warning` headers for some texts.
pub(crate) fn headers(warnings: &[String]) -> Vec<HeaderValue> {
    let mut seen = HashSet::new();
    let texts: Vec<&String> = warnings
        .iter()
        .filter(|text| !text.is_empty() && seen.insert(*text))
        .collect();
    let total: usize = texts.iter().map(|text| text.chars().count()).sum();
    let most = if total > TOTAL { EACH } else { usize::MAX };
    let mut left = TOTAL;
    let mut headers = Vec::new();
    for text in texts {
        let length = text.chars().count().min(most);
        let Some(rest) = left.checked_sub(length) else {
            break;
        };
        left = rest;
        headers.extend(header(text.chars().take(length)));
    }
    headers
}

/// A warning by nobody in particular. What is not ASCII is sent as it is, as the real server does;
/// line breaks and the like, which no header can hold, become spaces.
fn header(text: impl Iterator<Item = char>) -> Option<HeaderValue> {
    let mut value = "299 - \"".to_owned();
    for letter in text {
        match letter {
            '"' | '\\' => value.extend(['\\', letter]),
            letter if letter.is_control() => value.push(' '),
            letter => value.push(letter),
        }
    }
    value.push('"');
    HeaderValue::from_bytes(value.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::{EACH, TOTAL, headers};

    fn shown(warnings: &[&str]) -> Vec<String> {
        let warnings: Vec<String> = warnings.iter().map(|&text| text.to_owned()).collect();
        headers(&warnings)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect()
    }

    #[test]
    fn every_warning_arrives_whatever_its_letters() {
        for (text, expected) in [
            (
                "unknown field \"spec.a\"",
                r#"299 - "unknown field \"spec.a\"""#,
            ),
            (
                "unknown field \"spec.größe\"",
                r#"299 - "unknown field \"spec.größe\"""#,
            ),
            ("字段", r#"299 - "字段""#),
            ("a\\b", r#"299 - "a\\b""#),
            (
                "two\nlines\tand a bell\u{7}",
                r#"299 - "two lines and a bell ""#,
            ),
            ("\u{85}next line", r#"299 - " next line""#),
        ] {
            assert_eq!(shown(&[text]), [expected], "{text:?}");
        }
    }

    #[test]
    fn each_is_sent_once_and_many_are_cut_short() {
        assert_eq!(
            shown(&["a", "", "b", "a"]),
            [r#"299 - "a""#, r#"299 - "b""#]
        );
        let long = "ö".repeat(TOTAL);
        assert_eq!(
            shown(&[&long])[0].chars().count(),
            TOTAL + r#"299 - """#.len()
        );
        let many: Vec<String> = (0..100).map(|index| format!("{index}{long}")).collect();
        let sent = headers(&many);
        assert_eq!(sent.len(), TOTAL / EACH);
    }
}
