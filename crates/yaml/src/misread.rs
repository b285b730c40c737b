//! Keys that YAML does not take for the text that was written: `on`, `yes`, `off` and `no` without
//! quotes are true or false to it, and `0x10` and `1.10` numbers.

use crate::spans::{Span, Spans, Step};

/// A key that does not mean what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MisreadKey {
    /// Where it was written.
    pub span: Span,
    /// Where it stands in what was read.
    pub path: Vec<Step>,
    /// As it was written.
    pub written: String,
    /// As it is read.
    pub read: String,
}

impl MisreadKey {
    /// What is wrong.
    pub fn what(&self) -> String {
        format!("YAML reads the key `{}` as `{}`", self.written, self.read)
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        format!("write it in quotes: `\"{}\":`", self.written)
    }
}

/// The keys of a text that are read as something else than was written.
pub fn misread_keys(text: &str, spans: &Spans) -> Vec<MisreadKey> {
    let found = spans
        .scalars()
        .into_iter()
        .filter(|scalar| scalar.is_key)
        .filter_map(|scalar| {
            let Some(Step::Key(read)) = scalar.path.last() else {
                return None;
            };
            let written = text.get(scalar.span.start..scalar.span.end)?;
            // Quotes, aliases, anchors and tags say what they mean.
            let is_plain = !written.starts_with(['"', '\'', '*', '&', '!', '?']);
            let is_other = is_plain && !written.eq_ignore_ascii_case(read);
            let (read, written) = (read.to_string(), written.to_owned());
            is_other.then(|| MisreadKey {
                span: scalar.span,
                path: scalar.path.clone(),
                written,
                read,
            })
        });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::misread_keys;

    #[test]
    fn keys_that_are_not_what_was_written_are_misread() {
        for (text, expected) in [
            ("on: 1\n", &[("on", "true", 1)][..]),
            (
                "a:\n  \"on\": 1\n  off: 2\n  no: 3\n",
                &[("off", "false", 3), ("no", "false", 4)],
            ),
            ("true: 1\nFalse: 2\n8080: 3\n", &[]),
            (
                "0x10: 1\n1.10: 2\n",
                &[("0x10", "16", 1), ("1.10", "1.1", 2)],
            ),
            ("&a b: 1\n*a : 2\n'no': 3\n\"1.10\": 4\na b: 5\n", &[]),
            ("a: yes\n- b\n", &[]),
            ("a: yes\n", &[]),
        ] {
            let found = crate::parse_spanned(text)
                .map(|read| misread_keys(text, &read.spans))
                .unwrap_or_default();
            let found: Vec<_> = found
                .iter()
                .map(|key| (key.written.as_str(), key.read.as_str(), key.span.line))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
