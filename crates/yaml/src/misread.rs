//! Keys that YAML takes for true or false: `on`, `yes`, `off` and `no` without quotes are no texts to it.

use crate::spans::{Span, Spans, Step};

/// A key that does not mean what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MisreadKey {
    /// Where it was written.
    pub span: Span,
    /// As it was written.
    pub written: String,
    /// As it is read.
    pub read: &'static str,
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

/// The keys of a text that are read as true or false though neither was written.
pub fn misread_keys(text: &str, spans: &Spans) -> Vec<MisreadKey> {
    let found = spans.scalars().into_iter().filter(|scalar| scalar.is_key).filter_map(|scalar| {
        let Some(Step::Key(name)) = scalar.path.last() else { return None };
        let read = ["true", "false"].into_iter().find(|word| *word == &**name)?;
        let written = text.get(scalar.span.start..scalar.span.end)?;
        let is_other = !written.trim_matches(['"', '\'']).eq_ignore_ascii_case(read);
        is_other.then(|| MisreadKey { span: scalar.span, written: written.to_owned(), read })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::misread_keys;

    #[test]
    fn only_keys_that_were_not_written_as_truths_are_misread() {
        for (text, expected) in [
            ("on: 1\n", &[("on", "true", 1)][..]),
            ("a:\n  \"on\": 1\n  off: 2\n  no: 3\n", &[("off", "false", 3), ("no", "false", 4)]),
            ("true: 1\nFalse: 2\n", &[]),
            ("a: yes\n- b\n", &[]),
            ("a: yes\n", &[]),
        ] {
            let found = crate::parse_spanned(text).map(|read| misread_keys(text, &read.spans)).unwrap_or_default();
            let found: Vec<_> = found.iter().map(|key| (key.written.as_str(), key.read, key.span.line)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
