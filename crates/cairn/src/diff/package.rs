//! What of a package is new, beside what is installed: fields of its types, templates by name, what
//! it depends on.

use std::collections::{BTreeMap, BTreeSet};

use api::{Crd, StackSpec};
use install::{Break, Leaving, LiveCrd, Parent, Placement};
use serde_json::{Map, Value};

use super::placed::{Fate, Placed};
use super::templates::texts;
use super::{Action, Change, Remedy};

/// The changes from what is installed, if anything is, to a package's Stack, with what becomes of
/// its types. Of the templates in `secrets`, and of those that look like them, only the number of
/// changed lines is shown: what they make is a Secret.
pub(super) fn changes(
    old: Option<&StackSpec>,
    new: &StackSpec,
    fate: &Fate<'_>,
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
    for placed in &fate.placed {
        of_type(placed, &mut changes);
    }
    let gone = |kind: &api::KindRef| !new.customresourcedefinitions.contains(kind);
    for kind in old
        .customresourcedefinitions
        .iter()
        .filter(|kind| gone(kind))
    {
        let what = format!("type {} ({})", kind.kind, kind.api_version);
        changes.push(match stays(kind, &fate.left) {
            Some(why) => Change {
                how: why,
                ..of(Action::Update, what)
            },
            None => of(Action::Delete, what),
        });
    }
    let depends = |spec: &StackSpec| -> BTreeSet<String> {
        spec.app
            .depends_on
            .iter()
            .map(|depends| depends.crd.clone())
            .collect()
    };
    sets(
        &depends(old),
        &depends(new),
        "the right to use ",
        &mut changes,
    );
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
    Change {
        action,
        what,
        how: String::new(),
        diff: String::new(),
        remedy: Remedy::None,
    }
}

fn moved(what: &str, old: &str, new: &str) -> Change {
    let shown = |text: &str| {
        if text.is_empty() {
            "none".to_owned()
        } else {
            text.to_owned()
        }
    };
    let how = format!("{} -> {}", shown(old), shown(new));
    Change {
        how,
        ..of(Action::Update, what.to_owned())
    }
}

fn versions(crd: &Crd) -> String {
    let names: Vec<_> = crd
        .versions
        .iter()
        .map(|version| version.name.as_str())
        .collect();
    format!("{}/{}", crd.group, names.join(", "))
}

fn sets(old: &BTreeSet<String>, new: &BTreeSet<String>, what: &str, changes: &mut Vec<Change>) {
    changes.extend(
        new.difference(old)
            .map(|name| of(Action::Create, format!("{what}{name}"))),
    );
    changes.extend(
        old.difference(new)
            .map(|name| of(Action::Delete, format!("{what}{name}"))),
    );
}

/// What differs in a type, field by field.
fn types(live: &Crd, crd: &Crd, changes: &mut Vec<Change>) {
    let named = |version: &str| format!("{} ({}/{version})", crd.names.kind, crd.group);
    if live.scope != crd.scope {
        changes.push(moved(
            &format!("scope of {}", crd.names.kind),
            &scope(live),
            &scope(crd),
        ));
    }
    for version in &crd.versions {
        let Some(old) = live.version(&version.name) else {
            changes.push(of(
                Action::Create,
                format!("version {}", named(&version.name)),
            ));
            continue;
        };
        let schema = |of: &Crd| {
            of.object
                .pointer("/spec/versions")
                .and_then(Value::as_array)
                .and_then(|all| {
                    let own = all
                        .iter()
                        .find(|own| own["name"] == version.name.as_str())?;
                    Some(fields(&own["schema"]["openAPIV3Schema"]))
                })
        };
        let (before, after) = (
            schema(live).unwrap_or_default(),
            schema(crd).unwrap_or_default(),
        );
        let place = |path: &str| format!("field {path} of {}", named(&version.name));
        for (path, own) in &after {
            match before.get(path) {
                // What is inside something new is new, too.
                None if inside_another(path, |outer| {
                    after.contains_key(outer) && !before.contains_key(outer)
                }) => {}
                None => changes.push(Change {
                    how: told(own),
                    ..of(Action::Create, place(path))
                }),
                Some(old) if old != own => {
                    changes.push(Change {
                        how: how(old, own),
                        ..of(Action::Update, place(path))
                    });
                }
                Some(_) => {}
            }
        }
        for path in before.keys().filter(|path| !after.contains_key(*path)) {
            if !inside_another(path, |outer| {
                before.contains_key(outer) && !after.contains_key(outer)
            }) {
                changes.push(of(Action::Delete, place(path)));
            }
        }
        if old.served != version.served {
            let word = |served: bool| if served { "served" } else { "not served" };
            changes.push(moved(
                &format!("version {}", named(&version.name)),
                word(old.served),
                word(version.served),
            ));
        }
        if old.columns != version.columns {
            changes.push(of(
                Action::Update,
                format!("columns of {}", named(&version.name)),
            ));
        }
    }
    for version in live
        .versions
        .iter()
        .filter(|old| crd.version(&old.name).is_none())
    {
        changes.push(of(
            Action::Delete,
            format!("version {}", named(&version.name)),
        ));
    }
}

/// What becomes of a type, by what the stack manager would do with its CRD.
fn of_type(placed: &Placed<'_>, changes: &mut Vec<Change>) {
    let Placed {
        new,
        live,
        placement,
    } = placed;
    let kind = &new.names.kind;
    let refused = |how: String| Change {
        how,
        ..of(Action::Refuse, format!("type {kind}"))
    };
    let Some(live) = live.map(|live| &live.crd) else {
        changes.push(match placement {
            Placement::Refuse(trouble) => refused(trouble.message.clone()),
            Placement::Wait(why) => Change {
                how: why.clone(),
                ..of(Action::Hold, format!("type {kind}"))
            },
            _ => of(Action::Create, format!("type {kind} ({})", versions(new))),
        });
        return;
    };
    match placement {
        // Of a CRD that another install owns, what is applied is what it is.
        Placement::Apply(object) | Placement::Inherit(object, _) => {
            if object["spec"] == new.object["spec"] {
                types(live, new, changes);
            }
        }
        Placement::Keep => {}
        Placement::Recreate => {
            types(live, new, changes);
            let how = "is deleted and created again, since it has no objects".to_owned();
            changes.push(Change {
                how,
                ..of(Action::Update, format!("type {kind}"))
            });
        }
        Placement::Wait(why) => changes.push(Change {
            how: why.clone(),
            ..of(Action::Hold, format!("type {kind}"))
        }),
        Placement::Refuse(trouble) => changes.push(refused(trouble.message.clone())),
        Placement::Break(Break {
            broken,
            users,
            by_install,
            ..
        }) => {
            types(live, new, changes);
            let remedy = if *by_install {
                Remedy::Install
            } else {
                Remedy::Crd(new.name.clone())
            };
            changes.extend(broken.iter().map(|breakage| Change {
                remedy: remedy.clone(),
                ..refused(format!("would break what uses it: {breakage}{users}"))
            }));
        }
    }
}

/// What should be known of types that others use too, or that are not for the stack manager to
/// change.
pub(super) fn notes(placed: &[Placed<'_>], parent: &Parent) -> Vec<String> {
    let mut found = Vec::new();
    for Placed {
        new,
        live,
        placement,
    } in placed
    {
        let Some(live) = live else { continue };
        let name = &new.name;
        let differs = || {
            let mut changes = Vec::new();
            types(&live.crd, new, &mut changes);
            !changes.is_empty()
        };
        match placement {
            Placement::Inherit(_, note) => found.push(note.clone()),
            Placement::Keep if differs() => {
                found.push(format!(
                    "the CRD {name} is not managed by the stack manager and stays as it is"
                ));
            }
            Placement::Apply(object) => {
                let (before, Some(after)) = (
                    live.record(),
                    LiveCrd::read(object).map(|live| live.record()),
                ) else {
                    continue;
                };
                let owner = after.owner().map(ToString::to_string).unwrap_or_default();
                let names = |user: &install::User| user.to_string();
                let others: Vec<String> = after.others(parent).map(names).collect();
                if after.others(parent).any(|user| Some(user) == after.owner()) {
                    if differs() {
                        found.push(format!(
                            "the CRD {name} is owned by {owner} and stays as it is; it serves this package"
                        ));
                    }
                    continue;
                }
                if let Some(former) = before
                    .others(parent)
                    .find(|user| Some(*user) == before.owner())
                {
                    found.push(format!(
                        "the CRD {name} passes from {former} to {owner}, which alone can change it then"
                    ));
                }
                if !others.is_empty() && differs() {
                    found.push(format!(
                        "the CRD {name} is also used by {}",
                        others.join(", ")
                    ));
                }
            }
            _ => {}
        }
    }
    found
}

/// Why a type that a package no longer brings stays, if others use it.
fn stays(kind: &api::KindRef, left: &[(&LiveCrd, Leaving)]) -> Option<String> {
    let group = kind
        .api_version
        .split_once('/')
        .map_or("", |(group, _)| group);
    let (_, leaving) = left
        .iter()
        .find(|(live, _)| live.crd.group == group && live.crd.names.kind == kind.kind)?;
    let Leaving::Apply(object) = leaving else {
        return None;
    };
    let users: Vec<String> = LiveCrd::read(object)?
        .record()
        .users()
        .iter()
        .map(ToString::to_string)
        .collect();
    Some(format!(
        "is no longer in the package and is left to {}",
        users.join(", ")
    ))
}

/// The versions that objects of a type are stored in.
pub(super) fn stored(live: &Crd) -> Vec<String> {
    let stored = live.object["status"]["storedVersions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    stored
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn scope(crd: &Crd) -> String {
    format!("{:?}", crd.scope)
}

fn inside_another(path: &str, is: impl Fn(&str) -> bool) -> bool {
    path.char_indices()
        .any(|(at, letter)| matches!(letter, '.' | '[' | '{') && at > 0 && is(&path[..at]))
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

fn gather(
    schema: &Value,
    path: &str,
    required: bool,
    depth: usize,
    found: &mut BTreeMap<String, Facts>,
) {
    let Some(own) = schema.as_object().filter(|_| depth < DEPTH) else {
        return;
    };
    let below = [
        "properties",
        "items",
        "additionalProperties",
        "required",
        "description",
    ];
    let said = own
        .iter()
        .filter(|(name, _)| !below.contains(&name.as_str()));
    let mut facts: Facts = said
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if required {
        facts.insert("required".to_owned(), true.into());
    }
    found.insert(path.to_owned(), facts);
    let demanded = own
        .get("required")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    for (name, inner) in own
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let inner_path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
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
    let kind = facts
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or("any type");
    let more = facts
        .iter()
        .filter(|(name, _)| *name != "type")
        .map(|(name, value)| match value {
            Value::Bool(true) => name.clone(),
            value => format!("{name} {value}"),
        });
    let all: Vec<String> = std::iter::once(kind.to_owned()).chain(more).collect();
    all.join(", ")
}

fn how(old: &Facts, new: &Facts) -> String {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let shown =
        |facts: &Facts, name: &String| facts.get(name).map_or("none".to_owned(), Value::to_string);
    let differing = names
        .into_iter()
        .filter(|name| old.get(*name) != new.get(*name));
    let told: Vec<String> = differing
        .map(|name| format!("{name} {} -> {}", shown(old, name), shown(new, name)))
        .collect();
    told.join(", ")
}

/// The parts of an object that a patch names, as they would be after it.
pub(super) fn merged(live: &Value, patch: &Value) -> Value {
    let Some(changes) = patch.as_object() else {
        return patch.clone();
    };
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

    use api::{Crd, StackSpec};
    use install::{LiveCrd, NamespacedCrds, Parent, Wanted, place};
    use serde_json::{Value, json};

    use super::{changes, notes};
    use crate::diff::placed::{Fate, Placed};
    use crate::diff::{Action, Change};

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

    fn found(
        old: Option<&StackSpec>,
        live: Option<&Crd>,
        new: &StackSpec,
        crd: &Crd,
    ) -> Vec<Change> {
        let owned = live.map(|live| owned(live, &["team"]));
        changes(
            old,
            new,
            &fate(owned.as_ref(), crd, "team", &[], "p"),
            &BTreeSet::new(),
        )
    }

    fn told(
        old: Option<&StackSpec>,
        live: Option<&Crd>,
        new: &StackSpec,
        crd: &Crd,
    ) -> Vec<String> {
        found(old, live, new, crd).iter().map(in_words).collect()
    }

    fn in_words(change: &Change) -> String {
        format!("{} {} {}", change.action.word(), change.what, change.how)
    }

    fn install(namespace: &str) -> Parent {
        let scope = if namespace.is_empty() {
            api::PermissionScope::Cluster
        } else {
            api::PermissionScope::Namespaced
        };
        Parent {
            scope,
            namespace: namespace.into(),
            name: "web".into(),
            uid: namespace.into(),
        }
    }

    /// A CRD that these installs use, the first of which owns it.
    fn owned(crd: &Crd, by: &[&str]) -> LiveCrd {
        let mut shared = crd.object.clone();
        let user = |namespace: &&str| json!({ "kind": "StackInstall", "namespace": namespace, "name": "web", "uid": namespace });
        shared["metadata"]["labels"] = json!({ "app.kubernetes.io/managed-by": "stack-manager" });
        shared["metadata"]["annotations"] = json!({
            "stacks.crossplane.io/parents": json!(by.iter().map(user).collect::<Vec<_>>()).to_string(),
            "stacks.crossplane.io/spec-owner": format!("StackInstall/{}/web", by[0]),
            "stacks.crossplane.io/publisher": "p",
        });
        shared["status"] = json!({ "storedVersions": ["v1"] });
        LiveCrd::read(&shared).unwrap()
    }

    fn fate<'f>(
        live: Option<&'f LiveCrd>,
        new: &'f Crd,
        by: &str,
        instances: &[&str],
        publisher: &str,
    ) -> Fate<'f> {
        let instances: Vec<String> = instances.iter().map(|place| (*place).to_owned()).collect();
        let placement = place(&Wanted {
            new,
            version: "1.0.0",
            live,
            parent: &install(by),
            publisher,
            allow_breaking: false,
            group: &[],
            gone: &BTreeSet::new(),
            instances: &instances,
            in_use: !instances.is_empty(),
            reserved: None,
            namespaced: NamespacedCrds::Allow,
        });
        Fate {
            placed: vec![Placed {
                new,
                live,
                placement,
            }],
            ..Fate::default()
        }
    }

    fn field(names: &[&str]) -> Crd {
        let fields: Value = names
            .iter()
            .map(|name| ((*name).to_owned(), json!({ "type": "string" })))
            .collect();
        crd(&json!({ "type": "object", "properties": fields }))
    }

    #[test]
    fn what_a_change_does_to_other_installs_is_told() {
        let shared = owned(&field(&["a"]), &["team", "other"]);
        let create = "create field spec.b of Web (example.org/v1) string";
        let delete = "delete field spec.a of Web (example.org/v1) ";
        let breaks = "refused type Web would break what uses it: v1: `spec.a` would be gone; it is also used by StackInstall";
        for (by, fields, instances, publisher, expected) in [
            ("team", &["b"][..], &[][..], "p", vec![create.to_owned(), delete.to_owned(), format!("{breaks} other/web")]),
            (
                "team",
                &["b"],
                &["other"],
                "p",
                vec![create.to_owned(), delete.to_owned(), format!("{breaks} other/web (with instances)")],
            ),
            ("team", &["a", "b"], &["other"], "p", vec![create.to_owned()]),
            // What is not its to change, it does not change.
            (
                "other",
                &["b"],
                &[],
                "p",
                vec![
                    "refused type Web the CRD webs.example.org is owned by StackInstall team/web and lacks what version 1.0.0 \
                     needs: v1: `spec.b` does not exist; only its owner can change it, or a ClusterStackInstall of this \
                     package"
                        .to_owned(),
                ],
            ),
            ("other", &[], &[], "p", vec![]),
            (
                "third",
                &["a"],
                &[],
                "q",
                vec![
                    "refused type Web the CRD webs.example.org is published by p, and owned by StackInstall team/web, while \
                     q publishes this package: install the package from there, or ask an administrator for a \
                     ClusterStackInstall of it, which owns the CRD then"
                        .to_owned(),
                ],
            ),
        ] {
            let (stack, new) = (StackSpec::default(), field(fields));
            let fate = fate(Some(&shared), &new, by, instances, publisher);
            let found = changes(Some(&stack), &stack, &fate, &BTreeSet::new());
            assert_eq!(found.iter().map(in_words).collect::<Vec<_>>(), expected, "{by} {fields:?}");
        }
    }

    #[test]
    fn a_crd_that_others_use_or_own_is_noted() {
        let shared = owned(&field(&["a"]), &["team", "other"]);
        let mut foreign = field(&["a"]).object;
        foreign["status"] = json!({ "storedVersions": ["v1"] });
        let foreign = LiveCrd::read(&foreign).unwrap();
        for (live, by, fields, expected) in [
            (
                &shared,
                "team",
                &["a", "b"][..],
                vec!["the CRD webs.example.org is also used by StackInstall other/web"],
            ),
            (
                &shared,
                "other",
                &[],
                vec![
                    "the CRD webs.example.org is owned by StackInstall team/web and stays as it is; it serves this package",
                ],
            ),
            (
                &shared,
                "",
                &["a"],
                vec![
                    "the CRD webs.example.org passes from StackInstall team/web to ClusterStackInstall web, which alone can \
                     change it then",
                ],
            ),
            (
                &foreign,
                "team",
                &[],
                vec![
                    "the CRD webs.example.org is not managed by the stack manager and stays as it is",
                ],
            ),
            (&foreign, "team", &["a"], vec![]),
        ] {
            let new = field(fields);
            let fate = fate(Some(live), &new, by, &[], "p");
            assert_eq!(
                notes(&fate.placed, &install(by)),
                expected,
                "{by} {fields:?}"
            );
            let stack = StackSpec::default();
            let found = changes(Some(&stack), &stack, &fate, &BTreeSet::new());
            assert_eq!(found.is_empty(), fields.len() < 2, "{found:?}");
        }
    }

    #[test]
    fn fields_are_told_one_by_one_and_what_is_inside_a_new_one_with_it() {
        let before = crd(
            &json!({ "type": "object", "required": ["size"], "properties": {
            "size": { "type": "integer" }, "old": { "type": "string" },
        } }),
        );
        let after = crd(&json!({ "type": "object", "properties": {
            "size": { "type": "integer", "default": 2, "description": "new words" },
            "more": { "type": "object", "properties": { "inner": { "type": "array", "items": { "type": "string" } } } },
        } }));
        let stack = StackSpec::default();
        assert_eq!(
            told(Some(&stack), Some(&before), &stack, &after),
            [
                "create field spec.more of Web (example.org/v1) object",
                "update field spec.size of Web (example.org/v1) default none -> 2, required true -> none",
                "delete field spec.old of Web (example.org/v1) ",
                "refused type Web would break what uses it: v1: `spec.old` would be gone",
            ]
        );
        assert_eq!(told(Some(&stack), Some(&before), &stack, &before), [""; 0]);
        assert_eq!(
            told(None, None, &stack, &before),
            ["create type Web (example.org/v1) "]
        );
    }

    #[test]
    fn a_package_without_a_version_is_no_change_of_it() {
        let spec = |version: &str| -> StackSpec {
            serde_json::from_value(json!({ "version": version })).unwrap()
        };
        let web = crd(&json!({ "type": "object" }));
        for (old, new, expected) in [
            ("1.0.0", "", vec![]),
            ("1.0.0", "1.0.0", vec![]),
            ("", "", vec![]),
            ("1.0.0", "1.1.0", vec!["update version 1.0.0 -> 1.1.0"]),
            ("", "1.0.0", vec!["update version none -> 1.0.0"]),
        ] {
            assert_eq!(
                told(Some(&spec(old)), Some(&web), &spec(new), &web),
                expected,
                "{old} {new}"
            );
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
            told(Some(&old), Some(&web), &new, &web),
            [
                "update version 1.0.0 -> 1.1.0",
                "update template web.example.org/v1 a +1 -1 lines",
                "create template web.example.org/v1 c ",
                "delete template web.example.org/v1 b ",
            ]
        );
        let found = found(Some(&old), Some(&web), &new, &web);
        let changed = found
            .iter()
            .find(|change| change.action == Action::Update && !change.diff.is_empty());
        assert_eq!(
            changed.unwrap().diff,
            "@@ -1,2 +1,2 @@\n x: 1\n-y: 2\n+y: 3\n"
        );
    }
}
