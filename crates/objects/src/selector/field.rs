//! Field selectors.

use std::fmt;

use serde_json::Value;

use super::SelectorError;
use crate::go;

/// The fields that every kind can be selected by.
const ALWAYS: [&str; 2] = ["metadata.name", "metadata.namespace"];

/// What is asked of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRequirement {
    /// The field: `metadata.name`.
    pub field: String,
    /// Whether it has to have the value, or must not.
    pub equal: bool,
    /// The value.
    pub value: String,
}

/// Requirements that all have to hold; none of them is everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelector(pub Vec<FieldRequirement>);

impl FieldSelector {
    /// Reads a selector: `metadata.name=a,status.phase!=Running`.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut terms = terms(text);
        terms.sort_unstable();
        let mut requirements = Vec::new();
        for term in terms.into_iter().filter(|term| !term.is_empty()) {
            let Some((field, equal, value)) = split(term) else {
                return Err(SelectorError(format!(
                    "invalid selector: '{text}'; can't understand '{term}'"
                )));
            };
            requirements.push(FieldRequirement {
                field: field.to_owned(),
                equal,
                value: unescaped(value)?,
            });
        }
        Ok(Self(requirements))
    }

    /// Refuses fields that the kind cannot be selected by. Those it can beside its name and
    /// namespace are `more`.
    pub fn check(&self, more: &[&str]) -> Result<(), SelectorError> {
        let unknown = |one: &&FieldRequirement| {
            !ALWAYS.contains(&&*one.field) && !more.contains(&&*one.field)
        };
        match self.0.iter().find(unknown) {
            None => Ok(()),
            // Kinds with fields of their own say less.
            Some(one) if !more.is_empty() => Err(SelectorError(format!(
                "field label not supported: {}",
                one.field
            ))),
            Some(one) => Err(SelectorError(format!(
                "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                go::quoted(&one.field)
            ))),
        }
    }

    /// Whether everything is selected.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// The value that a field has to have, if one is asked for.
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|one| one.equal && one.field == field)
            .map(|one| &*one.value)
    }

    /// Whether an object with these fields is selected; a field that is not there is empty.
    pub fn matches(&self, field: impl Fn(&str) -> String) -> bool {
        self.0
            .iter()
            .all(|one| (field(&one.field) == one.value) == one.equal)
    }

    /// Whether an object is selected by the fields that it has at these paths.
    pub fn matches_object(&self, object: &Value) -> bool {
        self.matches(|field| {
            let value = field
                .split('.')
                .try_fold(object, |value, name| value.get(name));
            match value {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text.clone(),
                Some(other) => go::plain(other),
            }
        })
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, one) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let operator = if one.equal { "=" } else { "!=" };
            let value = one
                .value
                .replace('\\', "\\\\")
                .replace(',', "\\,")
                .replace('=', "\\=");
            write!(formatter, "{comma}{}{operator}{value}", one.field)?;
        }
        Ok(())
    }
}

/// The parts between commas that are not escaped.
fn terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (index, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn split(term: &str) -> Option<(&str, bool, &str)> {
    let at = term.char_indices().map(|(at, _)| at).find(|at| {
        let rest = &term[*at..];
        rest.starts_with("!=") || rest.starts_with('=')
    })?;
    let (field, rest) = term.split_at(at);
    match rest.strip_prefix("!=") {
        Some(value) => Some((field, false, value)),
        None => Some((
            field,
            true,
            rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))?,
        )),
    }
}

fn unescaped(value: &str) -> Result<String, SelectorError> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                other => {
                    let sequence: String = std::iter::once('\\').chain(other).collect();
                    return Err(SelectorError(format!(
                        "invalid field selector: invalid escape sequence: {sequence}"
                    )));
                }
            },
            ',' | '=' => {
                let code = u32::from(c);
                return Err(SelectorError(format!(
                    "invalid field selector: unescaped character in value: {code}"
                )));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::FieldSelector;

    #[test]
    fn fields_select() {
        let pod = json!({"metadata": {"name": "a", "namespace": "n"}, "status": {"phase": "Running"}, "spec": {"x": true}});
        for (text, selects, written) in [
            ("", true, ""),
            ("metadata.name=a", true, "metadata.name=a"),
            (
                "metadata.name==a,status.phase!=Failed",
                true,
                "metadata.name=a,status.phase!=Failed",
            ),
            ("metadata.name!=a", false, "metadata.name!=a"),
            ("spec.nodeName=", true, "spec.nodeName="),
            ("spec.x=true", true, "spec.x=true"),
            (
                r"metadata.name=a\,b\=c\\",
                false,
                r"metadata.name=a\,b\=c\\",
            ),
            (",,", true, ""),
        ] {
            let selector = FieldSelector::parse(text).unwrap();
            assert_eq!(selector.matches_object(&pod), selects, "{text}");
            assert_eq!(selector.to_string(), written);
        }
        assert_eq!(
            FieldSelector::parse("metadata.name=a")
                .unwrap()
                .exact("metadata.name"),
            Some("a")
        );
    }

    #[test]
    fn what_cannot_be_selected_by_is_refused_in_the_words_of_the_server() {
        for (text, expected) in [
            (
                "metadata.name",
                "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
            ),
            (
                "a=b=c",
                "invalid field selector: unescaped character in value: 61",
            ),
            (
                "metadata.name=a\\",
                "invalid field selector: invalid escape sequence: \\",
            ),
            (
                "metadata.name=a\\x",
                "invalid field selector: invalid escape sequence: \\x",
            ),
        ] {
            assert_eq!(
                FieldSelector::parse(text).unwrap_err().to_string(),
                expected,
                "{text}"
            );
        }
        let selector = FieldSelector::parse("spec.foo=bar").unwrap();
        assert_eq!(
            selector.check(&["spec.nodeName"]).unwrap_err().to_string(),
            "field label not supported: spec.foo"
        );
        assert_eq!(
            selector.check(&[]).unwrap_err().to_string(),
            "\"spec.foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
        assert!(selector.check(&["spec.foo"]).is_ok());
    }
}
