//! References in a text: what counts as one, in either dialect. Whether the name is a parameter is
//! not known here.

use std::ops::Range;

use crate::Dialect;

/// What a reference asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text in a text: `$(P)`, `${P}`.
    Text,
    /// A number, a truth or nothing, if the whole text is one: `$((P))`, `${{P}}`.
    Typed,
}

/// A reference in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference<'t> {
    /// The bytes it takes, without the mark of an escape.
    pub range: Range<usize>,
    /// The name in it.
    pub name: &'t str,
    /// What it asks for.
    pub form: Form,
    /// Whether another `$` stands before it, so that it is none.
    pub escaped: bool,
}

/// The references of a text, from left to right; none overlaps another.
///
/// ```
/// use templates::{Dialect, references};
///
/// let names: Vec<&str> = references(Dialect::Parentheses, "$(A)-$((B)) $$(C) $(D").map(|found| found.name).collect();
/// assert_eq!(names, ["A", "B", "C"]);
/// ```
pub fn references(dialect: Dialect, text: &str) -> References<'_> {
    References {
        dialect,
        text,
        at: 0,
    }
}

/// The iterator of [`references`].
pub struct References<'t> {
    dialect: Dialect,
    text: &'t str,
    at: usize,
}

impl<'t> Iterator for References<'t> {
    type Item = Reference<'t>;

    fn next(&mut self) -> Option<Reference<'t>> {
        let bytes = self.text.as_bytes();
        loop {
            let start = self.at + memchr::memchr(b'$', bytes.get(self.at..)?)?;
            let doubled =
                self.dialect == Dialect::Parentheses && bytes.get(start + 1) == Some(&b'$');
            // The kubelet reads two of them as one that means nothing, whatever follows.
            let start = start + usize::from(doubled);
            let Some((name, form)) = self.dialect.read(bytes, start) else {
                self.at = start + 1;
                continue;
            };
            let width = if form == Form::Typed { 2 } else { 1 };
            let range = start..name.end + width;
            self.at = range.end;
            // A name is of ASCII letters, so its ends are ends of characters.
            let name = self.text.get(name).unwrap_or_default();
            return Some(Reference {
                range,
                name,
                form,
                escaped: doubled,
            });
        }
    }
}

impl Dialect {
    /// The bytes of the name, and the form, of a reference that begins at a `$`.
    fn read(self, bytes: &[u8], dollar: usize) -> Option<(Range<usize>, Form)> {
        let (open, close) = match self {
            Dialect::Parentheses => (b'(', b')'),
            Dialect::Braces => (b'{', b'}'),
        };
        if bytes.get(dollar + 1) != Some(&open) {
            return None;
        }
        let form = if bytes.get(dollar + 2) == Some(&open) {
            Form::Typed
        } else {
            Form::Text
        };
        let width = if form == Form::Typed { 2 } else { 1 };
        let start = dollar + 1 + width;
        let rest = bytes.get(start..)?;
        let length = rest.iter().position(|byte| !is_name_byte(*byte))?;
        let closed = rest
            .get(length..length + width)?
            .iter()
            .all(|byte| *byte == close);
        (length > 0 && closed).then_some((start..start + length, form))
    }
}

/// Whether a parameter may be called so.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_name_byte)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::{Form, references};
    use crate::Dialect::{self, Braces, Parentheses};

    #[test]
    fn references_are_found_in_either_dialect_and_nothing_else_is() {
        let check = |dialect: Dialect, text: &str, expected: &[(&str, &str)]| {
            let found = references(dialect, text).map(|found| {
                let mark = match (found.escaped, found.form) {
                    (true, _) => "escaped",
                    (false, Form::Text) => "text",
                    (false, Form::Typed) => "typed",
                };
                (found.name, mark)
            });
            assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
        };
        for (text, expected) in [
            ("", &[][..]),
            ("plain", &[]),
            ("$(A)", &[("A", "text")]),
            ("$((A))", &[("A", "typed")]),
            ("x$(A)y$((B))z", &[("A", "text"), ("B", "typed")]),
            ("$(A)$(A)", &[("A", "text"), ("A", "text")]),
            ("$$(A)", &[("A", "escaped")]),
            ("$$((A))", &[("A", "escaped")]),
            ("$$$(A)", &[("A", "text")]),
            ("$$$$(A)", &[("A", "escaped")]),
            ("$(a b)", &[]),
            ("$()", &[]),
            ("$(())", &[]),
            ("$((A)", &[]),
            ("$((A) )", &[]),
            ("$(A))", &[("A", "text")]),
            ("$(1x_Y)", &[("1x_Y", "text")]),
            ("$(é)", &[]),
            ("é$(A)é", &[("A", "text")]),
            ("${A} $A $", &[]),
            ("$($(A))", &[("A", "text")]),
            ("$(A$(B)", &[("B", "text")]),
        ] {
            check(Parentheses, text, expected);
        }
        for (text, expected) in [
            ("${A}", &[("A", "text")][..]),
            ("${{A}}", &[("A", "typed")]),
            ("$${A}", &[("A", "text")]),
            ("${{${A}}}", &[("A", "text")]),
            ("${A:-x}", &[]),
            ("${ A }", &[]),
            ("$(A)", &[]),
        ] {
            check(Braces, text, expected);
        }
    }
}
