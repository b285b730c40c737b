//! What names may look like.

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_WORDS: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                           start and end with an alphanumeric character";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const SUBDOMAIN_WORDS: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
                               '.', and must start and end with an alphanumeric character";
const OLD_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const OLD_LABEL_WORDS: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                               alphabetic character, and end with an alphanumeric character";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_WORDS: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                         alphanumeric character";
const VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const VALUE_WORDS: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
                           and must start and end with an alphanumeric character";

const LABEL_LIMIT: usize = 63;
const SUBDOMAIN_LIMIT: usize = 253;

/// What the names of a kind look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NameRule {
    /// A DNS-1123 subdomain, as most are.
    #[default]
    Subdomain,
    /// A DNS-1123 label, as namespaces are.
    Label,
    /// A DNS-1035 label, which starts with a letter.
    OldLabel,
    /// A segment of a path, as roles are.
    PathSegment,
}

impl NameRule {
    /// All that is wrong with a name.
    pub fn errors(self, name: &str) -> Vec<String> {
        match self {
            Self::Subdomain => subdomain_errors(name, "characters"),
            Self::Label => {
                let mut errors = too_long(name, LABEL_LIMIT, "characters");
                if !is_label(name) {
                    errors.push(if is_dotted(name) {
                        "must not contain dots".to_owned()
                    } else {
                        pattern_error(LABEL_WORDS, LABEL, &["my-name", "123-abc"])
                    });
                }
                errors
            }
            Self::OldLabel => {
                let mut errors = too_long(name, LABEL_LIMIT, "characters");
                if !is_label(name) || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
                    errors.push(pattern_error(
                        OLD_LABEL_WORDS,
                        OLD_LABEL,
                        &["my-name", "abc-123"],
                    ));
                }
                errors
            }
            Self::PathSegment if matches!(name, "." | "..") => vec![format!("may not be '{name}'")],
            Self::PathSegment => ["/", "%"]
                .into_iter()
                .filter(|part| name.contains(part))
                .map(|part| format!("may not contain '{part}'"))
                .collect(),
        }
    }
}

/// Whether a name is a DNS-1123 subdomain, as the API server wants it of most objects.
pub fn is_subdomain(name: &str) -> bool {
    name.len() <= SUBDOMAIN_LIMIT && is_dotted(name)
}

fn is_dotted(name: &str) -> bool {
    name.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    label.starts_with(fits) && label.ends_with(fits) && label.chars().all(|c| fits(c) || c == '-')
}

fn is_key(name: &str) -> bool {
    let ends = |c: char| c.is_ascii_alphanumeric();
    name.starts_with(ends)
        && name.ends_with(ends)
        && name
            .chars()
            .all(|c| ends(c) || matches!(c, '-' | '_' | '.'))
}

/// All that is wrong with a label's key; those of annotations and finalizers are such, too.
pub fn label_key_errors(key: &str) -> Vec<String> {
    let wrong = |part: &str| {
        format!(
            "{part}{}",
            pattern_error(KEY_WORDS, KEY, &["MyName", "my.name", "123-abc"])
        )
    };
    let mut errors = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => {
            let place =
                " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![wrong("a valid label key ") + place];
        }
        Some(("", name)) => {
            errors.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            errors.extend(
                subdomain_errors(prefix, "bytes")
                    .iter()
                    .map(|error| format!("prefix part {error}")),
            );
            name
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    }
    errors.extend(
        too_long(name, LABEL_LIMIT, "bytes")
            .iter()
            .map(|error| format!("name part {error}")),
    );
    if !is_key(name) {
        errors.push(wrong("name part "));
    }
    errors
}

/// All that is wrong with a label's value.
pub fn label_value_errors(value: &str) -> Vec<String> {
    let mut errors = too_long(value, LABEL_LIMIT, "bytes");
    if !value.is_empty() && !is_key(value) {
        errors.push(pattern_error(
            VALUE_WORDS,
            VALUE,
            &["MyValue", "my_value", "12345"],
        ));
    }
    errors
}

fn subdomain_errors(name: &str, unit: &str) -> Vec<String> {
    let mut errors = too_long(name, SUBDOMAIN_LIMIT, unit);
    if !is_dotted(name) {
        errors.push(pattern_error(SUBDOMAIN_WORDS, SUBDOMAIN, &["example.com"]));
    }
    errors
}

/// Older checks count characters where newer ones say bytes; both count bytes.
fn too_long(text: &str, limit: usize, unit: &str) -> Vec<String> {
    if text.len() > limit {
        vec![format!("must be no more than {limit} {unit}")]
    } else {
        Vec::new()
    }
}

fn pattern_error(words: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples
        .iter()
        .map(|example| format!("'{example}', "))
        .collect();
    format!(
        "{words} (e.g. {}regex used for validation is '{pattern}')",
        examples.join(" or ")
    )
}

#[cfg(test)]
mod tests {
    use super::{NameRule, is_subdomain, label_key_errors, label_value_errors};

    #[test]
    fn names_are_lower_case_labels_with_dots_between() {
        for (name, valid) in [
            ("web", true),
            ("web-1.example", true),
            ("Web", false),
            ("a_b", false),
            ("-a", false),
            ("a.", false),
            ("", false),
        ] {
            assert_eq!(is_subdomain(name), valid, "{name:?}");
            assert_eq!(
                NameRule::Subdomain.errors(name).is_empty(),
                valid,
                "{name:?}"
            );
        }
    }

    #[test]
    fn each_rule_says_what_is_wrong() {
        let long = "x".repeat(254);
        for (rule, name, expected) in [
            (
                NameRule::Subdomain,
                &*long,
                "must be no more than 253 characters",
            ),
            (NameRule::Label, "a.b", "must not contain dots"),
            (
                NameRule::Label,
                "A",
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            ),
            (
                NameRule::OldLabel,
                "1a",
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
            ),
            (NameRule::PathSegment, "a/b", "may not contain '/'"),
            (NameRule::PathSegment, "..", "may not be '..'"),
        ] {
            assert_eq!(rule.errors(name), [expected], "{name}");
        }
        assert!(NameRule::PathSegment.errors("system:Node_x").is_empty());
    }

    #[test]
    fn label_keys_have_a_prefix_or_none_and_values_may_be_empty() {
        for key in [
            "a",
            "A_b.c-d",
            "example.com/a",
            "kubernetes.io/metadata.name",
        ] {
            assert!(label_key_errors(key).is_empty(), "{key}");
        }
        for (key, count, first) in [
            ("/a", 1, "prefix part must be non-empty"),
            ("b/", 2, "name part must be non-empty"),
            ("a/b/c", 1, "a valid label key must consist of"),
            ("", 2, "name part must be non-empty"),
            ("A.b/c", 1, "prefix part a lowercase RFC 1123 subdomain"),
            (
                &*"x".repeat(64),
                1,
                "name part must be no more than 63 bytes",
            ),
        ] {
            let errors = label_key_errors(key);
            assert!(
                errors.len() == count && errors[0].starts_with(first),
                "{key}: {errors:?}"
            );
        }
        assert!(label_value_errors("").is_empty() && label_value_errors("a_B.c").is_empty());
        assert!(
            label_value_errors("-")[0]
                .starts_with("a valid label must be an empty string or consist")
        );
        assert_eq!(
            label_value_errors(&"x".repeat(64)),
            ["must be no more than 63 bytes"]
        );
    }
}
