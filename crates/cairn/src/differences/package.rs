//! What of a package is new, beside what is installed: fields of its types, templates by name, what it depends on.

use std::collections::{BTreeMap, BTreeSet};

use api::{Crd, StackSpec};
use engine::manage::{Breakage, LiveCrd, Parent, breakages};
use serde_json::{Map, Value};

use super::templates::texts;
use super::{Action, Change};

/// The changes from what is installed, if anything is, to a package's types and Stack. What would break is refused
/// unless `breaking` says that it is meant. Of the templates in `secrets`, and of those that look like them, only how
/// many lines change is told: what they make is a Secret.
pub(super) fn changes(
    old: Option<&StackSpec>,
    live: &[Crd],
    new: &StackSpec,
    crds: &[&Crd],
    install: &Parent,
    breaking: bool,
    secrets: &BTreeSet<&str>,
) -> Vec<Change> {
    let nothing = StackSpec::default();
    let old = old.unwrap_or(&nothing);
    let mut changes = Vec::new();
    // A package that says no version has that of its image's tag, which is not known here.
    if old.app.version != new.app.version && !new.app.version.is_empty() {
        changes.push(moved("version", &old.app.version, &new.app.version));
    }
    if old.app.permission_scope != new.app.permission_scope {
        let scope = |spec: &StackSpec| format!("{:?}", spec.app.permission_scope);
        changes.push(moved("permissionScope", &scope(old), &scope(new)));
    }
    for crd in crds {
        match live.iter().find(|live| live.name == crd.name) {
            Some(live) => {
                let known = LiveCrd::read(&live.object).filter(LiveCrd::is_ours);
                let foreseen = known.map(|known| known.foresee(crd, install)).unwrap_or_default();
                if let Some(owner) = &foreseen.owner {
                    changes.extend(foreseen.lacks.iter().map(|lack| lacks(crd, owner, lack)));
                    continue;
                }
                types(live, crd, &mut changes);
                if !breaking || !foreseen.others.is_empty() {
                    changes.extend(breaks(live, crd, &foreseen.others));
                }
            }
            None => changes.push(of(Action::Create, format!("type {} ({})", crd.names.kind, versions(crd)))),
        }
    }
    let gone = |kind: &api::KindRef| !new.customresourcedefinitions.contains(kind);
    for kind in old.customresourcedefinitions.iter().filter(|kind| gone(kind)) {
        changes.push(of(Action::Delete, format!("type {} ({})", kind.kind, kind.api_version)));
    }
    let depends = |spec: &StackSpec| -> BTreeSet<String> {
        spec.app.depends_on.iter().map(|depends| depends.crd.clone()).collect()
    };
    sets(&depends(old), &depends(new), "the right to use ", &mut changes);
    texts(old, new, secrets, &mut changes);
    if old.controller != new.controller {
        let action = match (old.controller.is_empty(), new.controller.is_empty()) {
            (true, _) => Action::Create,
            (_, true) => Action::Delete,
            _ => Action::Update,
        };
        changes.push(of(action, "the controller in install.yaml".to_owned()));
    }
    changes
}

pub(super) fn of(action: Action, what: String) -> Change {
    Change { action, what, how: String::new(), diff: String::new() }
}

fn moved(what: &str, old: &str, new: &str) -> Change {
    let shown = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
    let how = format!("{} -> {}", shown(old), shown(new));
    Change { how, ..of(Action::Update, what.to_owned()) }
}

fn versions(crd: &Crd) -> String {
    let names: Vec<_> = crd.versions.iter().map(|version| version.name.as_str()).collect();
    format!("{}/{}", crd.group, names.join(", "))
}

fn sets(old: &BTreeSet<String>, new: &BTreeSet<String>, what: &str, changes: &mut Vec<Change>) {
    changes.extend(new.difference(old).map(|name| of(Action::Create, format!("{what}{name}"))));
    changes.extend(old.difference(new).map(|name| of(Action::Delete, format!("{what}{name}"))));
}

/// What differs in a type, field by field.
fn types(live: &Crd, crd: &Crd, changes: &mut Vec<Change>) {
    let named = |version: &str| format!("{} ({}/{version})", crd.names.kind, crd.group);
    if live.scope != crd.scope {
        changes.push(moved(&format!("scope of {}", crd.names.kind), &scope(live), &scope(crd)));
    }
    for version in &crd.versions {
        let Some(old) = live.version(&version.name) else {
            changes.push(of(Action::Create, format!("version {}", named(&version.name))));
            continue;
        };
        let schema = |of: &Crd| {
            of.object.pointer("/spec/versions").and_then(Value::as_array).and_then(|all| {
                let own = all.iter().find(|own| own["name"] == version.name.as_str())?;
                Some(fields(&own["schema"]["openAPIV3Schema"]))
            })
        };
        let (before, after) = (schema(live).unwrap_or_default(), schema(crd).unwrap_or_default());
        let place = |path: &str| format!("field {path} of {}", named(&version.name));
        for (path, own) in &after {
            match before.get(path) {
                // What is inside something new is new, too.
                None if inside_another(path, |outer| after.contains_key(outer) && !before.contains_key(outer)) => {}
                None => changes.push(Change { how: told(own), ..of(Action::Create, place(path)) }),
                Some(old) if old != own => {
                    changes.push(Change { how: how(old, own), ..of(Action::Update, place(path)) });
                }
                Some(_) => {}
            }
        }
        for path in before.keys().filter(|path| !after.contains_key(*path)) {
            if !inside_another(path, |outer| before.contains_key(outer) && !after.contains_key(outer)) {
                changes.push(of(Action::Delete, place(path)));
            }
        }
        if old.served != version.served {
            let word = |served: bool| if served { "served" } else { "not served" };
            changes.push(moved(&format!("version {}", named(&version.name)), word(old.served), word(version.served)));
        }
        if old.columns != version.columns {
            changes.push(of(Action::Update, format!("columns of {}", named(&version.name))));
        }
    }
    for version in live.versions.iter().filter(|old| crd.version(&old.name).is_none()) {
        changes.push(of(Action::Delete, format!("version {}", named(&version.name))));
    }
}

/// What a package needs of a type that another install owns, and does not get.
fn lacks(crd: &Crd, owner: &str, lack: &Breakage) -> Change {
    let how = format!("is owned by {owner}, and lacks what this needs: {lack}");
    Change { how, ..of(Action::Refuse, format!("type {}", crd.names.kind)) }
}

/// What works now and would not any more, also for other installs.
fn breaks(live: &Crd, crd: &Crd, others: &[String]) -> Vec<Change> {
    let whom = if others.is_empty() { String::new() } else { format!("; it is also used by {}", others.join(", ")) };
    let told = |breakage: &Breakage| Change {
        how: format!("would break what uses it: {breakage}{whom}"),
        ..of(Action::Refuse, format!("type {}", crd.names.kind))
    };
    breakages(live, crd, &stored(live)).iter().map(told).collect()
}

/// The versions that objects of a type are stored in.
pub(super) fn stored(live: &Crd) -> Vec<String> {
    let stored = live.object["status"]["storedVersions"].as_array().map(Vec::as_slice).unwrap_or_default();
    stored.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn scope(crd: &Crd) -> String {
    format!("{:?}", crd.scope)
}

fn inside_another(path: &str, is: impl Fn(&str) -> bool) -> bool {
    path.char_indices().any(|(at, letter)| matches!(letter, '.' | '[' | '{') && at > 0 && is(&path[..at]))
}

type Facts = BTreeMap<String, Value>;

/// Every field of a schema by its path, with what is said of it.
fn fields(schema: &Value) -> BTreeMap<String, Facts> {
    let mut found = BTreeMap::new();
    gather(schema, "", false, 0, &mut found);
    found.remove("");
    found
}

/// No schema of a CRD nests more deeply.
const DEPTH: usize = 100;

fn gather(schema: &Value, path: &str, required: bool, depth: usize, found: &mut BTreeMap<String, Facts>) {
    let Some(own) = schema.as_object().filter(|_| depth < DEPTH) else { return };
    let below = ["properties", "items", "additionalProperties", "required", "description"];
    let said = own.iter().filter(|(name, _)| !below.contains(&name.as_str()));
    let mut facts: Facts = said.map(|(name, value)| (name.clone(), value.clone())).collect();
    if required {
        facts.insert("required".to_owned(), true.into());
    }
    found.insert(path.to_owned(), facts);
    let demanded = own.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (name, inner) in own.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let inner_path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let required = demanded.iter().any(|other| other == name.as_str());
        gather(inner, &inner_path, required, depth + 1, found);
    }
    for (name, suffix) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = own.get(name).filter(|inner| inner.is_object()) {
            gather(inner, &format!("{path}{suffix}"), false, depth + 1, found);
        }
    }
}

/// What is said of a field, in words.
fn told(facts: &Facts) -> String {
    let kind = facts.get("type").and_then(Value::as_str).unwrap_or("any type");
    let more = facts.iter().filter(|(name, _)| *name != "type").map(|(name, value)| match value {
        Value::Bool(true) => name.clone(),
        value => format!("{name} {value}"),
    });
    let all: Vec<String> = std::iter::once(kind.to_owned()).chain(more).collect();
    all.join(", ")
}

fn how(old: &Facts, new: &Facts) -> String {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let shown = |facts: &Facts, name: &String| facts.get(name).map_or("none".to_owned(), Value::to_string);
    let differing = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    let told: Vec<String> =
        differing.map(|name| format!("{name} {} -> {}", shown(old, name), shown(new, name))).collect();
    told.join(", ")
}

/// The parts of an object that a patch names, as they would be after it.
pub(super) fn merged(live: &Value, patch: &Value) -> Value {
    let Some(changes) = patch.as_object() else { return patch.clone() };
    let mut merged = live.as_object().cloned().unwrap_or_else(Map::new);
    for (name, value) in changes {
        if value.is_null() {
            merged.remove(name);
        } else {
            let before = merged.get(name).cloned().unwrap_or_default();
            merged.insert(name.clone(), self::merged(&before, value));
        }
    }
    Value::Object(merged)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::slice::from_ref;

    use api::{Crd, StackSpec};
    use serde_json::{Value, json};

    use super::{Parent, changes};
    use crate::differences::Action;

    fn crd(spec: &Value) -> Crd {
        let object = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "webs.example.org" },
            "spec": {
                "group": "example.org", "scope": "Namespaced", "names": { "kind": "Web", "plural": "webs" },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } },
                }],
            },
        });
        Crd::read(&object).0.unwrap()
    }

    fn told(old: Option<&StackSpec>, live: &[Crd], new: &StackSpec, crd: &Crd) -> Vec<String> {
        let changes = changes(old, live, new, &[crd], &install("team"), false, &BTreeSet::new());
        changes.iter().map(|change| format!("{} {} {}", change.action.word(), change.what, change.how)).collect()
    }

    fn install(namespace: &str) -> Parent {
        let scope = api::PermissionScope::Namespaced;
        Parent { scope, namespace: namespace.into(), name: "web".into(), uid: String::new() }
    }

    #[test]
    fn what_a_change_does_to_other_installs_is_told() {
        let field = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } } });
        let mut shared = crd(&field("a")).object;
        let user = |namespace: &str| json!({ "kind": "StackInstall", "namespace": namespace, "name": "web", "uid": namespace });
        shared["metadata"]["labels"] = json!({ "app.kubernetes.io/managed-by": "stack-manager" });
        shared["metadata"]["annotations"] = json!({
            "stacks.crossplane.io/parents": json!([user("team"), user("other")]).to_string(),
            "stacks.crossplane.io/spec-owner": "StackInstall/team/web",
        });
        let shared = Crd::read(&shared).0.unwrap();
        let told = |namespace: &str| {
            let (stack, new) = (StackSpec::default(), crd(&field("b")));
            let by = install(namespace);
            let found = changes(Some(&stack), from_ref(&shared), &stack, &[&new], &by, false, &BTreeSet::new());
            found.last().map(|change| format!("{} {} {}", change.action.word(), change.what, change.how)).unwrap()
        };
        assert_eq!(
            told("team"),
            "refused type Web would break what uses it: v1: `spec.a` would be gone; it is also used by StackInstall other/web"
        );
        assert_eq!(
            told("other"),
            "refused type Web is owned by StackInstall team/web, and lacks what this needs: v1: `spec.b` does not exist"
        );
    }

    #[test]
    fn fields_are_told_one_by_one_and_what_is_inside_a_new_one_with_it() {
        let before = crd(&json!({ "type": "object", "required": ["size"], "properties": {
            "size": { "type": "integer" }, "old": { "type": "string" },
        } }));
        let after = crd(&json!({ "type": "object", "properties": {
            "size": { "type": "integer", "default": 2, "description": "new words" },
            "more": { "type": "object", "properties": { "inner": { "type": "array", "items": { "type": "string" } } } },
        } }));
        let stack = StackSpec::default();
        assert_eq!(
            told(Some(&stack), from_ref(&before), &stack, &after),
            [
                "create field spec.more of Web (example.org/v1) object",
                "update field spec.size of Web (example.org/v1) default none -> 2, required true -> none",
                "delete field spec.old of Web (example.org/v1) ",
                "refused type Web would break what uses it: v1: `spec.old` would be gone",
            ]
        );
        assert_eq!(told(Some(&stack), from_ref(&before), &stack, &before), [""; 0]);
        assert_eq!(told(None, &[], &stack, &before), ["create type Web (example.org/v1) "]);
    }

    #[test]
    fn a_package_without_a_version_is_no_change_of_it() {
        let spec = |version: &str| -> StackSpec { serde_json::from_value(json!({ "version": version })).unwrap() };
        let web = crd(&json!({ "type": "object" }));
        for (old, new, expected) in [
            ("1.0.0", "", vec![]),
            ("1.0.0", "1.0.0", vec![]),
            ("", "", vec![]),
            ("1.0.0", "1.1.0", vec!["update version 1.0.0 -> 1.1.0"]),
            ("", "1.0.0", vec!["update version none -> 1.0.0"]),
        ] {
            assert_eq!(told(Some(&spec(old)), from_ref(&web), &spec(new), &web), expected, "{old} {new}");
        }
    }

    #[test]
    fn templates_are_told_by_name_with_their_changed_lines() {
        let spec = |templates: Value, version: &str| -> StackSpec {
            serde_json::from_value(json!({
                "version": version, "templates": { "web.example.org/v1": templates },
                "templateStatus": { "web.example.org/v1": "a: 1\n" },
            }))
            .unwrap()
        };
        let old = spec(json!({ "a": "x: 1\ny: 2\n", "b": "b" }), "1.0.0");
        let new = spec(json!({ "a": "x: 1\ny: 3\n", "c": "c" }), "1.1.0");
        let web = crd(&json!({ "type": "object" }));
        assert_eq!(
            told(Some(&old), from_ref(&web), &new, &web),
            [
                "update version 1.0.0 -> 1.1.0",
                "update template web.example.org/v1 a +1 -1 lines",
                "create template web.example.org/v1 c ",
                "delete template web.example.org/v1 b ",
            ]
        );
        let changes = changes(Some(&old), from_ref(&web), &new, &[&web], &install("team"), false, &BTreeSet::new());
        let changed = changes.iter().find(|change| change.action == Action::Update && !change.diff.is_empty());
        assert_eq!(changed.unwrap().diff, "@@ -1,2 +1,2 @@\n x: 1\n-y: 2\n+y: 3\n");
    }
}
