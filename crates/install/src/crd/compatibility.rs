//! Whether a CRD may take the place of the one that is there: whatever would make stored objects or
//! the manifests of users invalid is a breakage, and each is told.

use std::collections::BTreeSet;
use std::fmt;

use api::Crd;
use objects::{Additional, Bounds, Path, Schema, Step, Type};
use serde_json::Value;

/// Something that would no longer work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breakage {
    /// The version it is about; empty when it is about all.
    pub version: String,
    /// The field; the root when it is about the whole kind.
    pub path: Path,
    /// What would change.
    pub what: String,
}

impl fmt::Display for Breakage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.version.is_empty() {
            write!(formatter, "{}: ", self.version)?;
        }
        if !self.path.steps().is_empty() {
            write!(formatter, "`{}` ", self.path)?;
        }
        formatter.write_str(&self.what)
    }
}

/// The most breakages that are told; more help nobody.
const MOST: usize = 50;

/// Everything that works with `old` and would not with `new`. `stored` are the versions that
/// objects are stored in.
pub fn breakages(old: &Crd, new: &Crd, stored: &[String]) -> Vec<Breakage> {
    compare(old, new, stored, View::Change)
}

/// Everything that a package which brings `need` relies on and the live CRD does not have, in words
/// about the live CRD.
pub fn missing(need: &Crd, live: &Crd) -> Vec<Breakage> {
    compare(need, live, &[], View::Lack)
}

fn compare(old: &Crd, new: &Crd, stored: &[String], view: View) -> Vec<Breakage> {
    let mut found = Found {
        all: Vec::new(),
        view,
    };
    if old.scope != new.scope {
        found.kind(
            format!("is {:?}, and would become {:?}", old.scope, new.scope),
            format!("is {:?}, not {:?}", new.scope, old.scope),
        );
    }
    for (what, was, is) in [
        ("kind", &old.names.kind, &new.names.kind),
        ("plural", &old.names.plural, &new.names.plural),
        ("group", &old.group, &new.group),
    ] {
        if was != is {
            found.kind(
                format!("the {what} `{was}` would become `{is}`"),
                format!("the {what} is `{is}`, not `{was}`"),
            );
        }
    }
    for name in stored.iter().collect::<BTreeSet<_>>() {
        if new.version(name).is_none() {
            found.kind(
                format!("objects are stored in the version `{name}`, which would be gone"),
                format!("the version `{name}` does not exist"),
            );
        }
    }
    for was in old.versions.iter().filter(|version| version.served) {
        match new.version(&was.name) {
            Some(is) if is.served => {
                found.schema(&was.name, &Path::root(), &was.schema, &is.schema);
                if was.status && !is.status {
                    found.say(
                        &was.name,
                        &Path::root(),
                        "its status would no longer be written on its own",
                        "has no status subresource",
                    );
                }
                if was.scale.is_some() && is.scale.is_none() {
                    found.say(
                        &was.name,
                        &Path::root(),
                        "its objects could no longer be scaled",
                        "has no scale subresource",
                    );
                }
            }
            _ if !stored.contains(&was.name) || new.version(&was.name).is_some() => {
                found.kind(
                    format!("the version `{}` would no longer be served", was.name),
                    format!("the version `{}` is not served", was.name),
                );
            }
            _ => {}
        }
    }
    found.all
}

/// Who reads what was found.
#[derive(Clone, Copy)]
enum View {
    /// The author of the new CRD: what would change.
    Change,
    /// The author of the old CRD: what the new one, which is live, lacks.
    Lack,
}

struct Found {
    all: Vec<Breakage>,
    view: View,
}

impl Found {
    fn kind(&mut self, change: String, lack: String) {
        self.say("", &Path::root(), change, lack);
    }

    /// Adds what would change, or what is lacking.
    fn say(
        &mut self,
        version: &str,
        path: &Path,
        change: impl Into<String>,
        lack: impl Into<String>,
    ) {
        let what = match self.view {
            View::Change => change.into(),
            View::Lack => lack.into(),
        };
        if self.all.len() < MOST {
            self.all.push(Breakage {
                version: version.to_owned(),
                path: path.clone(),
                what,
            });
        }
    }

    /// Adds a demand on values: `match ...`, `be at most ...`.
    fn must(&mut self, version: &str, path: &Path, what: impl fmt::Display) {
        self.say(
            version,
            path,
            format!("would have to {what}"),
            format!("has to {what}"),
        );
    }

    /// What the old schema takes and the new one does not.
    fn schema(&mut self, version: &str, path: &Path, old: &Schema, new: &Schema) {
        if new.kind.is_none() && new.preserve_unknown {
            return;
        }
        if old.kind != new.kind || (old.int_or_string && !new.int_or_string) {
            let word = |schema: &Schema| match schema.kind {
                _ if schema.int_or_string => "an integer or string".to_owned(),
                Some(kind) => kind.as_str().to_owned(),
                None => "anything".to_owned(),
            };
            // Whole numbers are numbers, and an integer is one of integer or string.
            let wider = new.int_or_string && matches!(old.kind, Some(Type::Integer | Type::String));
            let number = (old.kind, new.kind) == (Some(Type::Integer), Some(Type::Number));
            if !wider && !number {
                self.say(
                    version,
                    path,
                    format!("would change from {} to {}", word(old), word(new)),
                    format!("is {}, not {}", word(new), word(old)),
                );
                return;
            }
        }
        if old.nullable && !new.nullable {
            self.say(version, path, "could no longer be null", "cannot be null");
        }
        for name in new
            .required
            .iter()
            .filter(|name| !old.required.contains(name))
        {
            let given = new
                .properties
                .get(name)
                .is_some_and(|schema| schema.default.is_some());
            if !given {
                self.say(
                    version,
                    &path.child(name.as_str()),
                    "would be required",
                    "is required",
                );
            }
        }
        self.values(version, path, old, new);
        self.bounds(version, path, old, new);
        if old.preserve_unknown && !new.preserve_unknown {
            let lack = "drops the fields that its schema does not name";
            self.say(
                version,
                path,
                "would lose the fields that its schema does not name",
                lack,
            );
        }
        for (name, was) in &old.properties {
            let here = path.child(name.as_str());
            match (new.properties.get(name), &new.additional) {
                (Some(is), _) => self.schema(version, &here, was, is),
                (None, Additional::Values(is)) => self.schema(version, &here, was, is),
                (None, Additional::Anything) => {}
                (None, _) if new.preserve_unknown => {}
                (None, _) => self.say(version, &here, "would be gone", "does not exist"),
            }
        }
        match (&old.additional, &new.additional) {
            (Additional::Values(was), Additional::Values(is)) => {
                self.schema(version, &path.child(Step::Each), was, is);
            }
            (
                Additional::Values(_) | Additional::Anything,
                Additional::Unsaid | Additional::Nothing,
            ) if !new.preserve_unknown => {
                self.say(
                    version,
                    path,
                    "could no longer have any key",
                    "cannot have any key",
                );
            }
            _ => {}
        }
        if let (Some(was), Some(is)) = (&old.items, &new.items) {
            self.schema(version, &path.child(Step::Each), was, is);
        }
    }

    fn values(&mut self, version: &str, path: &Path, old: &Schema, new: &Schema) {
        let Some(is) = &new.one_of_values else { return };
        match &old.one_of_values {
            None => {
                self.say(
                    version,
                    path,
                    format!("would take only {}", list(is)),
                    format!("takes only {}", list(is)),
                );
            }
            Some(was) => {
                let gone: Vec<Value> = was
                    .iter()
                    .filter(|value| !is.contains(value))
                    .cloned()
                    .collect();
                if !gone.is_empty() {
                    let gone = list(&gone);
                    self.say(
                        version,
                        path,
                        format!("would no longer take {gone}"),
                        format!("does not take {gone}"),
                    );
                }
            }
        }
    }

    fn bounds(&mut self, version: &str, path: &Path, old: &Schema, new: &Schema) {
        let pattern = |schema: &Schema| schema.pattern.as_ref().map(|pattern| pattern.text.clone());
        if let Some(is) = pattern(new).filter(|is| pattern(old).as_ref() != Some(is)) {
            self.must(version, path, format!("match `{is}`"));
        }
        if let Some(is) = new
            .format
            .as_ref()
            .filter(|is| old.format.as_ref() != Some(is))
        {
            self.must(version, path, format!("have the format `{is}`"));
        }
        for ((what, was), (_, is)) in uppers(&old.bounds).into_iter().zip(uppers(&new.bounds)) {
            if let Some(is) = is.filter(|is| was.is_none_or(|was| *is < was)) {
                self.must(version, path, format!("{what} at most {is}"));
            }
        }
        for ((what, was), (_, is)) in lowers(&old.bounds).into_iter().zip(lowers(&new.bounds)) {
            // Nothing is shorter than nothing: a length of zero takes all.
            if let Some(is) =
                is.filter(|is| was.is_none_or(|was| *is > was) && (what == "be" || *is > 0.0))
            {
                self.must(version, path, format!("{what} at least {is}"));
            }
        }
        let (was, is) = (&old.bounds, &new.bounds);
        let exclusive = [
            (
                was.exclusive_maximum,
                is.exclusive_maximum,
                was.maximum == is.maximum,
                is.maximum,
                "less",
            ),
            (
                was.exclusive_minimum,
                is.exclusive_minimum,
                was.minimum == is.minimum,
                is.minimum,
                "more",
            ),
        ];
        for (was, is, same, bound, word) in exclusive {
            if let Some(bound) = bound.filter(|_| is && !was && same) {
                self.must(version, path, format!("be {word} than {bound}"));
            }
        }
        if let Some(multiple) = is.multiple_of.filter(|_| is.multiple_of != was.multiple_of) {
            self.must(version, path, format!("be a multiple of {multiple}"));
        }
        for rule in new
            .rules
            .iter()
            .filter(|rule| !old.rules.iter().any(|was| was["rule"] == rule["rule"]))
        {
            self.must(version, path, format!("satisfy the rule {}", rule["rule"]));
        }
        let shape = |schema: &Schema| {
            let text = |schemas: &[Schema]| format!("{schemas:?}");
            [
                text(&schema.all_of),
                text(&schema.any_of),
                text(&schema.one_of),
                format!("{:?}", schema.not),
            ]
        };
        // Whether one set of alternatives allows all that another does cannot be told in general.
        if shape(new) != shape(&Schema::default()) && shape(old) != shape(new) {
            let what = "other `allOf`, `anyOf`, `oneOf` or `not`";
            self.say(
                version,
                path,
                format!("would have {what}"),
                format!("has {what}"),
            );
        }
    }
}

fn uppers(bounds: &Bounds) -> [(&'static str, Option<f64>); 4] {
    [
        ("be", bounds.maximum),
        ("have a length of", count(bounds.max_length)),
        ("have a number of items of", count(bounds.max_items)),
        ("have a number of fields of", count(bounds.max_properties)),
    ]
}

fn lowers(bounds: &Bounds) -> [(&'static str, Option<f64>); 4] {
    [
        ("be", bounds.minimum),
        ("have a length of", count(bounds.min_length)),
        ("have a number of items of", count(bounds.min_items)),
        ("have a number of fields of", count(bounds.min_properties)),
    ]
}

fn count(bound: Option<u64>) -> Option<f64> {
    bound.map(|bound| bound as f64)
}

fn list(values: &[Value]) -> String {
    let words: Vec<String> = values.iter().map(ToString::to_string).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use api::Crd;
    use serde_json::{Value, json};

    use super::{breakages, missing};

    fn crd(schema: &Value) -> Crd {
        with(&json!([{
            "name": "v1", "served": true, "storage": true,
            "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": schema } } },
        }]))
    }

    fn with(versions: &Value) -> Crd {
        let object = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "as.b.c" },
            "spec": {
                "group": "b.c", "scope": "Namespaced", "names": { "kind": "A", "plural": "as" }, "versions": versions,
            },
        });
        let (crd, problems) = Crd::read(&object);
        assert!(
            problems
                .iter()
                .all(|problem| problem.severity != api::Severity::Error),
            "{problems:?}"
        );
        crd.unwrap()
    }

    fn said(old: &Crd, new: &Crd, stored: &[&str]) -> String {
        let stored: Vec<String> = stored.iter().map(|&name| name.to_owned()).collect();
        let all: Vec<String> = breakages(old, new, &stored)
            .iter()
            .map(ToString::to_string)
            .collect();
        all.join("; ")
    }

    #[test]
    fn what_old_objects_could_trip_over_is_told_and_what_they_cannot_is_not() {
        let object = |properties: Value| json!({ "type": "object", "properties": properties });
        let a = |schema: Value| object(json!({ "a": schema }));
        let table = [
            (
                a(json!({"type": "string"})),
                a(json!({"type": "string", "description": "new"})),
                "",
            ),
            (
                a(json!({"type": "string"})),
                object(json!({"a": {"type": "string"}, "b": {"type": "string"}})),
                "",
            ),
            (
                a(json!({"type": "string"})),
                object(json!({})),
                "v1: `spec.a` would be gone",
            ),
            (
                a(json!({"type": "string"})),
                a(json!({"type": "integer"})),
                "v1: `spec.a` would change from string to integer",
            ),
            (
                a(json!({"type": "integer"})),
                a(json!({"type": "number"})),
                "",
            ),
            (
                a(json!({"type": "integer"})),
                a(json!({"x-kubernetes-int-or-string": true})),
                "",
            ),
            (
                a(json!({"x-kubernetes-int-or-string": true})),
                a(json!({"type": "string"})),
                "v1: `spec.a` would change from an integer or string to string",
            ),
            (
                a(json!({"type": "string", "nullable": true})),
                a(json!({"type": "string"})),
                "v1: `spec.a` could no longer be null",
            ),
            (
                a(json!({"type": "string"})),
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
                "v1: `spec.a` would be required",
            ),
            (
                a(json!({"type": "string"})),
                json!({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}, "required": ["a"]}),
                "",
            ),
            (
                a(json!({"type": "string", "enum": ["x", "y"]})),
                a(json!({"type": "string", "enum": ["x", "z"]})),
                "v1: `spec.a` would no longer take \"y\"",
            ),
            (
                a(json!({"type": "string", "enum": ["x"]})),
                a(json!({"type": "string", "enum": ["x", "z"]})),
                "",
            ),
            (
                a(json!({"type": "string"})),
                a(json!({"type": "string", "enum": ["x"]})),
                "v1: `spec.a` would take only \"x\"",
            ),
            (
                a(json!({"type": "integer", "maximum": 10})),
                a(json!({"type": "integer", "maximum": 9, "minimum": 1})),
                "v1: `spec.a` would have to be at most 9; v1: `spec.a` would have to be at least 1",
            ),
            (
                a(json!({"type": "integer", "maximum": 10})),
                a(json!({"type": "integer", "maximum": 11})),
                "",
            ),
            (
                a(json!({"type": "string"})),
                a(json!({"type": "string", "maxLength": 3, "pattern": "^a"})),
                "v1: `spec.a` would have to match `^a`; v1: `spec.a` would have to have a length of at most 3",
            ),
            (
                a(json!({"type": "array", "items": {"type": "string"}})),
                a(json!({"type": "array", "items": {"type": "integer"}})),
                "v1: `spec.a[*]` would change from string to integer",
            ),
            (
                a(json!({"type": "object", "additionalProperties": {"type": "string"}})),
                a(json!({"type": "object"})),
                "v1: `spec.a` could no longer have any key",
            ),
            (
                a(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
                a(json!({"type": "object"})),
                "v1: `spec.a` would lose the fields that its schema does not name",
            ),
            (
                a(json!({"type": "string"})),
                a(json!({"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]})),
                "v1: `spec.a` would have to satisfy the rule \"self != ''\"",
            ),
        ];
        for (old, new, expected) in table {
            assert_eq!(
                said(&crd(&old), &crd(&new), &["v1"]),
                expected,
                "{old} to {new}"
            );
            assert_eq!(said(&crd(&old), &crd(&old), &["v1"]), "", "{old} to itself");
        }
    }

    #[test]
    fn what_a_package_needs_and_the_live_crd_lacks_is_told_of_the_live_one() {
        let fields = |fields: Value| crd(&json!({ "type": "object", "properties": fields }));
        let need = fields(json!({ "a": { "type": "string" }, "b": { "type": "string" } }));
        let mut strict = json!({ "type": "object", "properties": { "a": { "type": "string", "maxLength": 3, "enum": ["x"] } } });
        for (live, expected) in [
            (
                fields(json!({ "a": { "type": "string" } })),
                "v1: `spec.b` does not exist",
            ),
            (
                fields(
                    json!({ "a": { "type": "integer" }, "b": { "type": "string", "pattern": "^b" } }),
                ),
                "v1: `spec.a` is integer, not string; v1: `spec.b` has to match `^b`",
            ),
            (
                crd(&{
                    strict["required"] = json!(["c"]);
                    strict
                }),
                "v1: `spec.c` is required; v1: `spec.a` takes only \"x\"; v1: `spec.a` has to have a length of at most \
                 3; v1: `spec.b` does not exist",
            ),
            (
                fields(
                    json!({ "a": { "type": "string" }, "b": { "type": "string" }, "c": { "type": "string" } }),
                ),
                "",
            ),
        ] {
            let all: Vec<String> = missing(&need, &live)
                .iter()
                .map(ToString::to_string)
                .collect();
            assert_eq!(all.join("; "), expected);
        }
    }

    #[test]
    fn a_version_in_use_stays() {
        let version = |name: &str, served: bool, storage: bool| {
            json!({
                "name": name, "served": served, "storage": storage,
                "schema": { "openAPIV3Schema": { "type": "object" } },
            })
        };
        let old = with(&json!([
            version("v1alpha1", true, false),
            version("v1", true, true)
        ]));
        let only = with(&json!([version("v1", true, true)]));
        assert_eq!(
            said(&old, &only, &["v1"]),
            "the version `v1alpha1` would no longer be served"
        );
        assert_eq!(
            said(&old, &only, &["v1", "v1alpha1"]),
            "objects are stored in the version `v1alpha1`, which would be gone"
        );
        let hidden = with(&json!([
            version("v1alpha1", false, false),
            version("v1", true, true)
        ]));
        assert_eq!(
            said(&old, &hidden, &["v1"]),
            "the version `v1alpha1` would no longer be served"
        );
        let more = with(&json!([
            version("v1alpha1", true, false),
            version("v1", true, false),
            version("v2", true, true)
        ]));
        assert_eq!(said(&old, &more, &["v1"]), "");
    }

    #[test]
    fn another_scope_or_name_is_another_kind() {
        let old = crd(&json!({"type": "object"}));
        let mut new = old.clone();
        new.scope = api::Scope::Cluster;
        new.names.kind = "B".into();
        assert_eq!(
            said(&old, &new, &[]),
            "is Namespaced, and would become Cluster; the kind `A` would become `B`"
        );
    }
}
