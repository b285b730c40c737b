//! What a test says of an error: words of it, or where it is, or both.

use serde_json::Value;

use crate::files::fields;
use crate::files::located_yaml::Part;
use crate::terminal::finding::Finding;

/// What an error has to say and where it has to be.
#[derive(Debug)]
pub(crate) struct ErrorMatcher {
    pub at: Option<String>,
    pub says: Option<String>,
    pub part: Part,
}

impl ErrorMatcher {
    /// One of them, or a list.
    pub fn read(part: &Part, faults: &mut Vec<Finding>) -> Vec<ErrorMatcher> {
        match part.value() {
            Value::Array(_) => part
                .items()
                .iter()
                .filter_map(|item| ErrorMatcher::one(item, faults))
                .collect(),
            _ => ErrorMatcher::one(part, faults).into_iter().collect(),
        }
    }

    fn one(part: &Part, faults: &mut Vec<Finding>) -> Option<ErrorMatcher> {
        if part.value().is_string() {
            let says = fields::text(part, faults);
            return Some(ErrorMatcher {
                at: None,
                says,
                part: part.clone(),
            });
        }
        fields::mapping(part, &["at", "says"], faults)?;
        let (at, says) = (part.field("at"), part.field("says"));
        if at.is_none() && says.is_none() {
            faults.push(
                part.error("this fits every error")
                    .hint("say what it `says`, or where it is `at`"),
            );
        }
        let mut text = |part: Option<Part>| part.and_then(|part| fields::text(&part, faults));
        Some(ErrorMatcher {
            at: text(at),
            says: text(says),
            part: part.clone(),
        })
    }

    /// Whether an error at one of these places, with this text, is meant.
    pub fn fit(&self, places: &[&str], text: &str) -> bool {
        let is_there = |at: &String| places.iter().any(|place| is_at(place, at));
        self.at.as_ref().is_none_or(is_there)
            && self.says.as_ref().is_none_or(|says| text.contains(says))
    }
}

/// `web.yaml:6:8` is at `web.yaml:6` too, but not at `web.yaml:60`.
fn is_at(place: &str, at: &str) -> bool {
    place
        .strip_prefix(at)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

impl std::fmt::Display for ErrorMatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.says, &self.at) {
            (Some(says), Some(at)) => write!(f, "{says:?} at {at}"),
            (Some(says), None) => write!(f, "{says:?}"),
            (None, at) => write!(f, "one at {}", at.as_deref().unwrap_or_default()),
        }
    }
}

/// How what is expected differs from what there is: each error has to be meant by some words, and
/// each words mean one.
pub(crate) fn differ(
    expected: &[ErrorMatcher],
    found: &[(Vec<String>, String)],
    differences: &mut Vec<Finding>,
    all: &Part,
) {
    let fits = |words: &ErrorMatcher, (places, text): &(Vec<String>, String)| {
        words.fit(&places.iter().map(String::as_str).collect::<Vec<_>>(), text)
    };
    for words in expected
        .iter()
        .filter(|words| !found.iter().any(|error| fits(words, error)))
    {
        let there: Vec<_> = found.iter().map(|(_, text)| text.as_str()).collect();
        let there = if there.is_empty() {
            "there is none".to_string()
        } else {
            there.join("; ")
        };
        differences.push(words.part.error(format!("no error says {words}: {there}")));
    }
    for (_, text) in found
        .iter()
        .filter(|error| !expected.iter().any(|words| fits(words, error)))
    {
        differences.push(all.key_error(format!("an error that is not expected: {text}")));
    }
}

#[cfg(test)]
mod tests {
    use super::is_at;

    #[test]
    fn a_place_is_named_as_far_as_one_likes() {
        for (place, at, expected) in [
            ("web.yaml:6:8", "web.yaml:6:8", true),
            ("web.yaml:6:8", "web.yaml:6", true),
            ("web.yaml:6:8", "web.yaml", true),
            ("web.yaml:60:8", "web.yaml:6", false),
            ("spec.replicas", "spec.replicas", true),
            ("spec.replicas", "spec.rep", false),
        ] {
            assert_eq!(is_at(place, at), expected, "{place} {at}");
        }
    }
}
