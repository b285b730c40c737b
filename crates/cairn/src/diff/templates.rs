//! What of a package's templates is new, line by line; of those that make Secrets only how many
//! lines.

use std::collections::{BTreeMap, BTreeSet};

use api::StackSpec;
use engine::{makes_secret, secret_texts};

use super::package::of;
use super::text::unified;
use super::{Action, Change};

/// A template, a status template or a partial.
struct Text<'t> {
    text: &'t str,
    /// Whether values of Secrets may be in it.
    hidden: bool,
}

/// Templates, status templates and partials by what people call them.
fn named<'s>(spec: &'s StackSpec, secrets: &BTreeSet<&str>) -> BTreeMap<String, Text<'s>> {
    let hidden = secret_texts(spec, secrets);
    let mut found = BTreeMap::new();
    for (key, named) in &spec.templates {
        found.extend(named.iter().map(|(name, text)| {
            (
                format!("template {key} {name}"),
                Text {
                    text,
                    hidden: hidden.contains(&(key.as_str(), name.as_str())),
                },
            )
        }));
    }
    let status = spec.template_status.iter();
    found.extend(status.map(|(key, text)| {
        (
            format!("status template {key}"),
            Text {
                text,
                hidden: makes_secret(text),
            },
        )
    }));
    found
}

/// What changes from the texts of one Stack to those of another. `secrets` are the templates that
/// are known to make Secrets.
pub(super) fn texts(
    old: &StackSpec,
    new: &StackSpec,
    secrets: &BTreeSet<&str>,
    changes: &mut Vec<Change>,
) {
    let (old, new) = (named(old, secrets), named(new, secrets));
    for (what, text) in &new {
        match old.get(what) {
            None => changes.push(of(Action::Create, what.clone())),
            Some(before) if before.text != text.text => {
                let diff = unified(before.text, text.text);
                let count = |sign: char| diff.lines().filter(|line| line.starts_with(sign)).count();
                let how = format!("+{} -{} lines", count('+'), count('-'));
                let change = of(Action::Update, what.clone());
                changes.push(match before.hidden || text.hidden {
                    true => Change {
                        how: format!("{how}, which are part of a Secret and not shown"),
                        ..change
                    },
                    false => Change {
                        how,
                        diff,
                        ..change
                    },
                });
            }
            Some(_) => {}
        }
    }
    let gone = old.keys().filter(|what| !new.contains_key(*what));
    changes.extend(gone.map(|what| of(Action::Delete, what.clone())));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use api::StackSpec;
    use serde_json::json;

    use super::texts;

    #[test]
    fn no_line_of_what_makes_a_secret_is_shown_however_it_is_written() {
        let spec = |key: &str, name: &str, text: &str| -> StackSpec {
            let user = "{{- $pin := include \"lib\" \"pin\" . -}}\nkind: Secret\nmetadata:\n  labels: {{ include \"lib\" \"labels\" . }}\n\
                stringData: {x: '{{ include \"lib\" \"password\" . }}', pin: {{ $pin }}}\n";
            let mut templates = json!({
                "web.example.org/v1": { "user": user },
                "lib": { "password": "{{ include \"lib\" \"inner\" . }}", "inner": "", "pin": "", "labels": "" },
            });
            templates[key][name] = json!(text);
            serde_json::from_value(json!({ "templates": templates })).unwrap()
        };
        let web = "web.example.org/v1";
        for (key, name, text, expected) in [
            (web, "a", "kind: Secret\ndata:\n  password: VALUE\n", false),
            (
                web,
                "a",
                "kind: \"Secret\"\nstringData:\n  password: |\n    first\n    VALUE\n",
                false,
            ),
            (
                web,
                "a",
                "{apiVersion: v1, 'kind' : 'Secret', data: {password: VALUE}}\n",
                false,
            ),
            (
                web,
                "a",
                "kind: {{ \"Secret\" }}\ndata: {password: VALUE}\n",
                false,
            ),
            (
                web,
                "a",
                "{{ include \"lib\" \"head\" }}\nstringData: {password: VALUE}\n",
                false,
            ),
            (
                web,
                "known",
                "{{ include \"lib\" \"head\" }}\ndata: {password: VALUE}\n",
                false,
            ),
            ("lib", "password", "VALUE\n", false),
            ("lib", "inner", "VALUE\n", false),
            ("lib", "pin", "VALUE\n", false),
            ("lib", "labels", "VALUE\n", true),
            (web, "a", "kind: SecretStore\nspec: VALUE\n", true),
            (web, "a", "kind: ConfigMap\ndata: {x: VALUE}\n", true),
        ] {
            let of = |value: &str| spec(key, name, &text.replace("VALUE", value));
            let mut found = Vec::new();
            let secrets = BTreeSet::from(["known"]);
            texts(&of("hunter2"), &of("hunter3"), &secrets, &mut found);
            let shown = format!("{found:?}");
            assert!(shown.contains("+1 -1 lines"), "{text}: {shown}");
            assert_eq!(shown.contains("hunter"), expected, "{text}: {shown}");
        }
    }
}
