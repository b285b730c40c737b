//! What a Stack says of itself: whether it may run, what it waits for, and whether its controller
//! is there.

use api::conditions::{CONTROLLER_AVAILABLE, DEPENDENCIES_SATISFIED, READY};
use api::{Condition, Crd, Diagnostic, Stack, StackStatus, Status, key};
use package::image::Digest;
use serde_json::Value;

use super::install::{Conditions, EventRecord, Trouble};
use crate::KIND_ALREADY_SERVED;
use crate::reconcile::stack::Decision;

/// The reason for which a Stack is not ready whose templates do not compile.
pub const INVALID_TEMPLATES: &str = "InvalidTemplates";

/// The conditions of a Stack, and what is new. `available` says of its controllers whether they
/// run, with a reason and a message; `before` is its status, which says what its controller found
/// wrong with its templates.
pub fn report(
    before: &StackStatus,
    generation: Option<i64>,
    now: &str,
    decision: &Decision,
    available: Option<(bool, &str, &str)>,
) -> (Vec<Condition>, Vec<EventRecord>) {
    let (before, diagnostics) = (&before.conditions, &before.diagnostics);
    let mut conditions = Conditions::new(before, generation, now);
    match decision {
        Decision::Refused(reasons) => {
            conditions.trouble(
                DEPENDENCIES_SATISFIED,
                &Trouble::new("NotAllowed", reasons.join("; ")),
            );
            conditions.trouble(READY, &Trouble::new("NotAllowed", reasons.join("; ")));
        }
        Decision::Limited(trouble) => {
            conditions.trouble(DEPENDENCIES_SATISFIED, trouble);
            conditions.trouble(READY, trouble);
        }
        Decision::Taken(why) => {
            for kind in [DEPENDENCIES_SATISFIED, CONTROLLER_AVAILABLE, READY] {
                conditions.trouble(kind, &Trouble::new(KIND_ALREADY_SERVED, why));
            }
        }
        Decision::Waiting(kinds) => {
            let message = format!("waiting for {}", kinds.join(", "));
            conditions.trouble(DEPENDENCIES_SATISFIED, &Trouble::new("Waiting", &message));
            conditions.trouble(READY, &Trouble::new("Waiting", message));
        }
        Decision::Run(run) => {
            conditions.done(
                DEPENDENCIES_SATISFIED,
                "Satisfied",
                "all that it depends on is there",
            );
            let (runs, reason, message) =
                available.unwrap_or((false, "Starting", "its controller is being started"));
            let status = if runs { Status::True } else { Status::False };
            conditions.set(CONTROLLER_AVAILABLE, status, reason, message);
            let notes = if run.notes.is_empty() {
                String::new()
            } else {
                format!(" ({})", run.notes.join("; "))
            };
            match verdict(diagnostics).filter(|_| runs) {
                Some(wrong) => conditions.trouble(READY, &Trouble::new(INVALID_TEMPLATES, wrong)),
                None => conditions.set(READY, status, reason, format!("{message}{notes}")),
            }
        }
    }
    conditions.finish(before)
}

/// What is wrong with templates, in one sentence.
fn verdict(diagnostics: &[Diagnostic]) -> Option<String> {
    let first = diagnostics.first()?;
    let Diagnostic {
        key,
        template,
        line,
        column,
        message,
        ..
    } = first;
    let mut place = if key.is_empty() {
        String::new()
    } else {
        format!("{key}/{template}.yaml:")
    };
    for number in [line, column]
        .into_iter()
        .filter(|number| **number > 0 && !key.is_empty())
    {
        place.push_str(&format!("{number}:"));
    }
    let place = if place.is_empty() {
        place
    } else {
        format!("{place} ")
    };
    let more = match diagnostics.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more in `status.diagnostics`)"),
    };
    Some(format!(
        "{place}{message}{more}; what compiled before, if anything, goes on"
    ))
}

/// A hash of the CRDs of the kinds that a Stack owns and depends on, as they are now.
pub fn crds_hash(stack: &Stack, crds: &[&Crd]) -> String {
    let (owned, _) = key::owned(&stack.spec.customresourcedefinitions, crds);
    let needed: Vec<key::Reference> = stack
        .spec
        .app
        .depends_on
        .iter()
        .filter_map(|depends| key::Reference::parse(&depends.crd))
        .collect();
    let is_meant = |crd: &&&Crd| {
        let is_owned = owned
            .iter()
            .any(|own| own.group == crd.group && own.kind == crd.names.kind);
        let means = |needed: &key::Reference| {
            crd.versions
                .iter()
                .any(|version| needed.means(&crd.gvk(&version.name), &crd.names.plural))
        };
        is_owned || needed.iter().any(means)
    };
    let mut specs: Vec<(&str, &Value)> = crds
        .iter()
        .filter(is_meant)
        .map(|crd| (crd.name.as_str(), &crd.object["spec"]))
        .collect();
    specs.sort_by_key(|(name, _)| *name);
    let text: String = specs
        .iter()
        .map(|(name, spec)| format!("{name}\n{spec}\n"))
        .collect();
    Digest::of(text.as_bytes())
        .to_string()
        .trim_start_matches("sha256:")
        .chars()
        .take(16)
        .collect()
}

#[cfg(test)]
mod tests {
    use api::{Crd, Diagnostic, Stack};
    use serde_json::{Value, json};

    use super::{crds_hash, verdict};

    #[test]
    fn what_is_wrong_with_templates_is_told_with_its_place() {
        let wrong = |key: &str, line, column| Diagnostic {
            key: key.to_owned(),
            template: "a".to_owned(),
            line,
            column,
            message: "it is wrong".to_owned(),
            hint: String::new(),
        };
        let after = "; what compiled before, if anything, goes on";
        for (diagnostics, expected) in [
            (vec![], None),
            (vec![wrong("", 0, 0)], Some("it is wrong")),
            (
                vec![wrong("k.g/v1", 3, 7)],
                Some("k.g/v1/a.yaml:3:7: it is wrong"),
            ),
            (
                vec![wrong("k.g/v1", 3, 0)],
                Some("k.g/v1/a.yaml:3: it is wrong"),
            ),
            (
                vec![wrong("k.g/v1", 3, 7), wrong("", 0, 0)],
                Some("k.g/v1/a.yaml:3:7: it is wrong (and 1 more in `status.diagnostics`)"),
            ),
        ] {
            assert_eq!(
                verdict(&diagnostics),
                expected.map(|text| format!("{text}{after}"))
            );
        }
    }

    #[test]
    fn the_hash_follows_the_crds_that_a_stack_is_about_and_no_others() {
        let crd = |kind: &str, schema: Value| {
            let plural = format!("{}s", kind.to_lowercase());
            let object = json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": { "name": format!("{plural}.example.org") },
                "spec": {
                    "group": "example.org", "scope": "Namespaced", "names": { "kind": kind, "plural": plural },
                    "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
                },
            });
            Crd::read(&object).0.unwrap()
        };
        let stack: Stack = serde_json::from_value(json!({
            "apiVersion": api::API_VERSION, "kind": "Stack", "metadata": { "name": "s", "namespace": "n" },
            "spec": {
                "customresourcedefinitions": [{ "kind": "Own", "apiVersion": "example.org/v1" }],
                "dependsOn": [{ "crd": "needed.example.org/v1" }],
            },
        }))
        .unwrap();
        let open = || json!({ "type": "object" });
        let other = || json!({ "type": "object", "description": "other" });
        let hash = |crds: &[Crd]| crds_hash(&stack, &crds.iter().collect::<Vec<_>>());
        let base = hash(&[
            crd("Own", open()),
            crd("Needed", open()),
            crd("Else", open()),
        ]);
        for (what, crds, is_same) in [
            (
                "in another order",
                vec![
                    crd("Else", open()),
                    crd("Needed", open()),
                    crd("Own", open()),
                ],
                true,
            ),
            (
                "another changed",
                vec![
                    crd("Own", open()),
                    crd("Needed", open()),
                    crd("Else", other()),
                ],
                true,
            ),
            (
                "its own changed",
                vec![crd("Own", other()), crd("Needed", open())],
                false,
            ),
            (
                "one that it needs changed",
                vec![crd("Own", open()), crd("Needed", other())],
                false,
            ),
            ("one that it needs went", vec![crd("Own", open())], false),
        ] {
            assert_eq!(hash(&crds) == base, is_same, "{what}");
        }
    }
}
