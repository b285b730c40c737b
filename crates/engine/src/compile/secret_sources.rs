//! Which texts of a package may hold values of Secrets: those that make Secrets, and all that these
//! include for values.

use std::collections::{BTreeMap, BTreeSet};

use api::StackSpec;
use gotpl::{Set, TemplateUse};

use super::functions::{options, partial};

/// A template or a partial of a Stack: its key and its name.
pub type TextName<'s> = (&'s str, &'s str);

/// The texts of which nothing is to be shown. `made` are the names of templates that are known to
/// make Secrets; others are found by how they read.
pub fn secret_texts<'s>(spec: &'s StackSpec, made: &BTreeSet<&str>) -> BTreeSet<TextName<'s>> {
    let texts: BTreeMap<TextName<'s>, Text<'s>> = spec
        .templates
        .iter()
        .flat_map(|(key, named)| {
            named
                .iter()
                .map(move |(name, text)| ((key.as_str(), name.as_str()), text))
        })
        .map(|((key, name), text)| ((key, name), Text::read(key, name, text)))
        .collect();
    let mut found = BTreeSet::new();
    let mut reached: Vec<TextName<'s>> = Vec::new();
    for (name, text) in &texts {
        if made.contains(name.1) || makes_secret(text.source) {
            found.insert(*name);
            reached.extend(text.values().flat_map(|include| include.means(&texts)));
        }
    }
    // What is included for a value is part of it, with all that it includes itself.
    while let Some(name) = reached.pop() {
        if found.insert(name)
            && let Some(text) = texts.get(&name)
        {
            reached.extend(
                text.includes
                    .iter()
                    .flat_map(|(include, _)| include.means(&texts)),
            );
        }
    }
    found
}

/// Whether a template reads as if a Secret came of it, however its kind is written.
pub fn makes_secret(text: &str) -> bool {
    let kind = |line: &str| {
        let bare: String = line
            .chars()
            .filter(|letter| !" \t\"'`{}".contains(*letter))
            .collect();
        bare.match_indices("kind:Secret").any(|(at, found)| {
            !bare[at + found.len()..].starts_with(|letter: char| letter.is_ascii_alphanumeric())
        })
    };
    text.contains("stringData") || text.lines().any(kind)
}

struct Text<'s> {
    source: &'s str,
    /// What others may include it by.
    names: Vec<String>,
    /// What it includes, and whether that surely ends in the metadata of the object.
    includes: Vec<(Include, bool)>,
}

enum Include {
    Template(String),
    /// `include "key" "name"`.
    Partial(String, String),
    /// `include "key"` and something that only a run tells.
    PartialOf(String),
    Anything,
}

impl<'s> Text<'s> {
    fn read(key: &str, name: &str, source: &'s str) -> Self {
        let own = partial(key, name);
        let mut set = Set::with_options(options());
        let mut text = Text {
            source,
            names: vec![format!("{own}.yaml")],
            includes: Vec::new(),
        };
        if set.parse(&own, source).is_err() {
            text.names.push(own);
            text.includes.push((Include::Anything, false));
            return text;
        }
        text.names.extend(set.names().map(str::to_owned));
        // Text that is defined for later stands where it is not printed, and says nothing of the
        // lines around it.
        let plain = set.names().count() == 1;
        for name in set.names() {
            let outline = set.outline(name);
            let named = |at: usize| {
                outline
                    .templates
                    .iter()
                    .find(|named| named.site.offset == at)
            };
            for call in &outline.calls {
                let include = match (call.function.name, named(call.site.offset)) {
                    ("include", Some(named)) => Include::of(named),
                    ("include" | "tpl", _) => Include::Anything,
                    // It calls the function that it names.
                    ("generated", _)
                        if ["\"include\"", "\"tpl\""]
                            .iter()
                            .any(|word| source.contains(word)) =>
                    {
                        Include::Anything
                    }
                    _ => continue,
                };
                let prints = named(call.site.offset).is_some_and(|named| named.prints);
                text.includes.push((
                    include,
                    plain && prints && is_in_metadata(source, call.site.offset),
                ));
            }
            let called = |at: usize| outline.calls.iter().any(|call| call.site.offset == at);
            let templates = outline
                .templates
                .iter()
                .filter(|named| !called(named.site.offset));
            text.includes
                .extend(templates.map(|named| (Include::Template(named.name.clone()), false)));
        }
        text
    }

    /// What it includes for anything but metadata.
    fn values(&self) -> impl Iterator<Item = &Include> {
        self.includes
            .iter()
            .filter(|(_, in_metadata)| !in_metadata)
            .map(|(include, _)| include)
    }
}

impl Include {
    fn of(named: &TemplateUse) -> Include {
        match &named.then {
            Some(then) => Include::Partial(named.name.clone(), then.clone()),
            None => Include::PartialOf(named.name.clone()),
        }
    }

    /// The texts that it may mean. Where that cannot be known, it may be any but those that print
    /// whole objects.
    fn means<'s>(&self, texts: &BTreeMap<TextName<'s>, Text<'s>>) -> Vec<TextName<'s>> {
        let is_meant = |key: &str, text: &Text<'_>| {
            let is_called = |name: &str| text.names.iter().any(|own| own == name);
            match self {
                Include::Template(name) => is_called(name),
                Include::Partial(first, then) => {
                    is_called(&partial(first, then)) || is_called(first)
                }
                Include::PartialOf(name) => is_called(name) || key == name,
                Include::Anything => false,
            }
        };
        let meant: Vec<TextName<'s>> = texts
            .iter()
            .filter(|((key, _), text)| is_meant(key, text))
            .map(|(name, _)| *name)
            .collect();
        if !meant.is_empty() {
            return meant;
        }
        let is_object = |text: &Text<'_>| text.source.lines().any(|line| line.starts_with("kind:"));
        texts
            .iter()
            .filter(|(_, text)| !is_object(text))
            .map(|(name, _)| *name)
            .collect()
    }
}

/// Whether what an action prints can only be a part of an object's `metadata`: it stands in that
/// block, as the value of a key or with an indentation of its own.
fn is_in_metadata(source: &str, offset: usize) -> bool {
    let (before, after) = source.split_at(offset);
    let Some(start) = before.rfind("{{") else {
        return false;
    };
    let action = &source[start..offset + after.find("}}").unwrap_or(after.len())];
    let printed = actions_as_marks(&source[..start]);
    let mut inside = false;
    let mut lead = "";
    for line in printed.split('\n') {
        lead = line;
        let text = line.trim_start_matches(MARK);
        match text.chars().next() {
            None | Some('#' | ' ' | '\r') => {}
            Some(_) => {
                inside = ["metadata:", "\"metadata\":"]
                    .iter()
                    .any(|key| text.starts_with(key));
            }
        }
    }
    inside && (is_indented(action) || lead.contains(": "))
}

const MARK: char = '\0';

/// A text with a mark for each action, over however many lines it goes.
fn actions_as_marks(source: &str) -> String {
    let mut pieces = source.split("{{");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |mut printed, piece| {
        printed.push(MARK);
        printed.push_str(piece.split_once("}}").map_or("", |(_, behind)| behind));
        printed
    })
}

/// Whether an action ends in `indent` or `nindent` with more than nothing.
fn is_indented(action: &str) -> bool {
    let last = action
        .rsplit('|')
        .next()
        .unwrap_or_default()
        .trim()
        .trim_end_matches('-')
        .trim_end();
    let width = last
        .strip_prefix("nindent ")
        .or_else(|| last.strip_prefix("indent "));
    width
        .and_then(|width| width.trim().parse::<usize>().ok())
        .is_some_and(|width| width > 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use api::StackSpec;
    use serde_json::json;

    use super::secret_texts;

    const PARTIALS: [(&str, &str); 6] = [
        ("inner", "hunter2"),
        ("password", "{{ include \"lib\" \"inner\" . }}"),
        ("labels", "app: {{ include \"lib\" \"app\" . }}"),
        ("app", "web"),
        ("define", "{{ define \"named\" }}hunter2{{ end }}"),
        ("loop", "{{ include \"lib\" \"loop\" . }}"),
    ];

    /// The partials that are hidden beside a template of a Secret.
    fn hidden(secret: &str) -> Vec<String> {
        let partials: serde_json::Map<_, _> = PARTIALS
            .iter()
            .map(|(name, text)| ((*name).to_owned(), json!(text)))
            .collect();
        let web = json!({ "user": secret, "deployment": "kind: Deployment\nspec: {{ include \"lib\" \"app\" . }}\n" });
        let templates = json!({ "lib": partials, "web.example.org/v1": web });
        let spec: StackSpec = serde_json::from_value(json!({ "templates": templates })).unwrap();
        let found = secret_texts(&spec, &BTreeSet::from(["user"]));
        assert!(found.contains(&("web.example.org/v1", "user")), "{secret}");
        assert!(
            !found.contains(&("web.example.org/v1", "deployment")),
            "{secret}"
        );
        found
            .iter()
            .filter(|(key, _)| *key == "lib")
            .map(|(_, name)| (*name).to_owned())
            .collect()
    }

    #[test]
    fn what_a_secret_includes_for_its_values_is_secret_and_what_is_only_its_metadata_is_not() {
        let all: Vec<&str> = vec!["app", "define", "inner", "labels", "loop", "password"];
        let head = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .metadata.name }}\n";
        let secret = |rest: &str| format!("{head}{rest}");
        let labels = "  labels:\n    {{- include \"lib\" \"labels\" . | nindent 4 }}\n";
        for (text, expected) in [
            (secret("data:\n  a: {{ include \"lib\" \"inner\" . | b64enc }}\n"), vec!["inner"]),
            (secret("data:\n  a: {{ include \"lib\" \"password\" . }}\n"), vec!["inner", "password"]),
            (secret("data:\n  a: {{ include `lib` `inner` . }}\n"), vec!["inner"]),
            (secret("stringData: {a: {{ printf \"%s!\" (include \"lib\" \"inner\" .) }}}\n"), vec!["inner"]),
            (secret("data: {a: {{ template \"named\" . }}}\n"), vec!["define"]),
            (secret("data: {a: {{ include \"named\" . }}}\n"), vec!["define"]),
            (secret("data: {a: {{ include \"lib\" \"loop\" . }}}\n"), vec!["loop"]),
            (
                format!("{{{{- $a := include \"lib\" \"inner\" . -}}}}\n{}", secret("data: {a: {{ $a | b64enc }}}\n")),
                vec!["inner"],
            ),
            // What cannot be known may be anything.
            (secret("data: {a: {{ include $.spec.x . }}}\n"), all.clone()),
            (secret("data: {a: {{ include \"lib\" .spec.x }}}\n"), all.clone()),
            (secret("data: {a: {{ tpl .spec.x . }}}\n"), all.clone()),
            (secret("data: {a: {{ .spec.x | include \"lib\" }}}\n"), all.clone()),
            (secret("data: {a: {{ generated \"a\" \"include\" \"lib/inner\" . }}}\n"), all.clone()),
            (secret("data: {{ if }}\n"), all.clone()),
            // Metadata.
            (secret(&format!("{labels}data: {{a: b}}\n")), vec![]),
            (secret(&format!("{labels}data: {{a: {{{{ include \"lib\" \"inner\" . }}}}}}\n")), vec!["inner"]),
            (secret("  labels: {{ include \"lib\" \"labels\" . | fromYaml | toJson }}\n"), vec![]),
            (secret("  labels:\n{{ include \"lib\" \"labels\" . | indent 4 }}\ndata: {a: b}\n"), vec![]),
            (secret("{{- if .spec.a }}\n  labels: {a: {{ include \"lib\" \"app\" . }}}\n{{- end }}\ndata:\n"), vec![]),
            ("metadata: {labels: {a: {{ include \"lib\" \"app\" . }}}}\nkind: Secret\n".to_owned(), vec![]),
            // What only looks like it.
            (secret("{{ include \"lib\" \"inner\" . }}\n"), vec!["inner"]),
            (secret("  {{- include \"lib\" \"inner\" . }}\n"), vec!["inner"]),
            (secret("{{ include \"lib\" \"inner\" . | indent 0 }}\n"), vec!["inner"]),
            (secret("{{ if .spec.a }}data:{{ end }}\n  a: {{ include \"lib\" \"inner\" . }}\n"), vec!["inner"]),
            (secret("  a: {{ $a := include \"lib\" \"inner\" . }}\ndata: {a: {{ $a }}}\n"), vec!["inner"]),
            (secret("  a: {{ with include \"lib\" \"inner\" . }}b\ndata: {a: {{ . }}}{{ end }}\n"), vec!["inner"]),
            (secret("data:\n  metadata:\n    a: {{ include \"lib\" \"inner\" . }}\n"), vec!["inner"]),
            (secret("---\nkind: Secret\ndata:\n  a: {{ include \"lib\" \"inner\" . }}\n"), vec!["inner"]),
            (
                "data:\n{{ define \"x\" }}\nmetadata:\n{{ end }}\n  a: {{ include \"lib\" \"inner\" . }}\n".to_owned(),
                vec!["inner"],
            ),
            (secret("data:\n{{/*\nmetadata:\n*/}}\n  a: {{ include \"lib\" \"inner\" . }}\n"), vec!["inner"]),
            ("{kind: Secret, metadata: {}, data: {a: {{ include \"lib\" \"inner\" . }}}}\n".to_owned(), vec!["inner"]),
        ] {
            assert_eq!(hidden(&text), expected, "{text}");
        }
    }

    #[test]
    fn a_template_makes_a_secret_however_it_is_written() {
        for (text, expected) in [
            ("kind: Secret\ndata: {}\n", true),
            ("kind: \"Secret\"\n", true),
            ("{apiVersion: v1, 'kind' : 'Secret', data: {}}\n", true),
            ("kind: {{ \"Secret\" }}\n", true),
            ("{{ include \"lib\" \"head\" }}\nstringData: {}\n", true),
            ("kind: SecretStore\n", false),
            ("kind: ConfigMap\ndata: {}\n", false),
        ] {
            assert_eq!(super::makes_secret(text), expected, "{text}");
        }
    }
}
