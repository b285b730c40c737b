//! What of a package's templates is new, line by line; of those that make Secrets only how many lines.

use std::collections::{BTreeMap, BTreeSet};

use api::StackSpec;

use super::package::of;
use super::text::unified;
use super::{Action, Change};

/// A template, a status template or a partial.
pub(super) struct Text<'t> {
    name: &'t str,
    text: &'t str,
}

/// Templates, status templates and partials by what people call them.
pub(super) fn templates(spec: &StackSpec) -> BTreeMap<String, Text<'_>> {
    let mut found = BTreeMap::new();
    for (key, named) in &spec.templates {
        found.extend(named.iter().map(|(name, text)| (format!("template {key} {name}"), Text { name, text })));
    }
    let status = spec.template_status.iter();
    found.extend(status.map(|(key, text)| (format!("status template {key}"), Text { name: "status", text })));
    found
}

pub(super) fn texts(
    old: &BTreeMap<String, Text<'_>>,
    new: &BTreeMap<String, Text<'_>>,
    secrets: &BTreeSet<&str>,
    changes: &mut Vec<Change>,
) {
    let is_secret = |text: &Text<'_>| secrets.contains(text.name) || makes_secret(text.text);
    // What a Secret includes for its values is as secret as they are.
    let values: String = old.values().chain(new.values()).filter(|text| is_secret(text)).map(values_of).collect();
    let hidden = |text: &Text<'_>| is_secret(text) || values.contains(&format!("\"{}\"", text.name));
    for (what, text) in new {
        match old.get(what) {
            None => changes.push(of(Action::Create, what.clone())),
            Some(before) if before.text != text.text => {
                let diff = unified(before.text, text.text);
                let count = |sign: char| diff.lines().filter(|line| line.starts_with(sign)).count();
                let how = format!("+{} -{} lines", count('+'), count('-'));
                let change = of(Action::Update, what.clone());
                changes.push(match hidden(before) || hidden(text) {
                    true => Change { how: format!("{how}, which are part of a Secret and not shown"), ..change },
                    false => Change { how, diff, ..change },
                });
            }
            Some(_) => {}
        }
    }
    let gone = old.keys().filter(|what| !new.contains_key(*what));
    changes.extend(gone.map(|what| of(Action::Delete, what.clone())));
}

/// Whether a template reads as if a Secret came of it, however its kind is written.
fn makes_secret(text: &str) -> bool {
    let kind = |line: &str| {
        let bare: String = line.chars().filter(|letter| !" \t\"'`{}".contains(*letter)).collect();
        bare.match_indices("kind:Secret")
            .any(|(at, found)| !bare[at + found.len()..].starts_with(|letter: char| letter.is_ascii_alphanumeric()))
    };
    text.contains("stringData") || text.lines().any(kind)
}

/// The part of a template in which the values of a Secret are.
fn values_of<'t>(text: &Text<'t>) -> &'t str {
    let begin = ["data:", "stringData:"].iter().filter_map(|field| text.text.find(field)).min();
    begin.map_or(text.text, |at| &text.text[at..])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use api::StackSpec;
    use serde_json::json;

    use super::{templates, texts};

    #[test]
    fn no_line_of_what_makes_a_secret_is_shown_however_it_is_written() {
        let spec = |key: &str, name: &str, text: &str| -> StackSpec {
            let user = "kind: Secret\nstringData: {x: '{{ include \"lib\" \"password\" }}'}\n";
            let mut templates = json!({ "web.example.org/v1": { "user": user } });
            templates[key][name] = json!(text);
            serde_json::from_value(json!({ "templates": templates })).unwrap()
        };
        let web = "web.example.org/v1";
        for (key, name, text, expected) in [
            (web, "a", "kind: Secret\ndata:\n  password: VALUE\n", false),
            (web, "a", "kind: \"Secret\"\nstringData:\n  password: |\n    first\n    VALUE\n", false),
            (web, "a", "{apiVersion: v1, 'kind' : 'Secret', data: {password: VALUE}}\n", false),
            (web, "a", "kind: {{ \"Secret\" }}\ndata: {password: VALUE}\n", false),
            (web, "a", "{{ include \"lib\" \"head\" }}\nstringData: {password: VALUE}\n", false),
            (web, "known", "{{ include \"lib\" \"head\" }}\ndata: {password: VALUE}\n", false),
            ("lib", "password", "VALUE\n", false),
            ("lib", "labels", "VALUE\n", true),
            (web, "a", "kind: SecretStore\nspec: VALUE\n", true),
            (web, "a", "kind: ConfigMap\ndata: {x: VALUE}\n", true),
        ] {
            let of = |value: &str| spec(key, name, &text.replace("VALUE", value));
            let mut found = Vec::new();
            let secrets = BTreeSet::from(["known"]);
            texts(&templates(&of("hunter2")), &templates(&of("hunter3")), &secrets, &mut found);
            let shown = format!("{found:?}");
            assert!(shown.contains("+1 -1 lines"), "{text}: {shown}");
            assert_eq!(shown.contains("hunter"), expected, "{text}: {shown}");
        }
    }
}
