//! Laws that hold for any stack: made-up templates that read each other in every way there is.

mod support;

use std::collections::BTreeSet;

use engine::{Compiled, Observed, Plan, compile};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{config_map, instance, live, planned, stack};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A piece of text that reads a sibling in some way.
fn piece(sibling: &str, way: usize) -> String {
    let field = format!(".{sibling}.status.ip");
    match way % 9 {
        0 => format!("{{{{ {field} }}}}"),
        1 => format!("{{{{ {field} | default \"none\" }}}}"),
        2 => format!("{{{{ if {field} }}}}yes{{{{ else }}}}no{{{{ end }}}}"),
        3 => format!("{{{{ with {field} }}}}{{{{ . }}}}{{{{ end }}}}"),
        4 => format!("{{{{ upper {field} }}}}"),
        5 => format!("{{{{ dig \"status\" \"ip\" \"none\" (.{sibling} | default dict) }}}}"),
        6 => format!("{{{{ printf \"%v\" {field} }}}}"),
        7 => format!("{{{{ if hasKey (.{sibling} | default dict) \"status\" }}}}1{{{{ end }}}}"),
        _ => "{{ .spec.image }}".to_string(),
    }
}

/// A template: a few pieces, and perhaps a condition around it all.
fn template(name: &str, reads: &[(usize, usize)], around: Option<(usize, usize)>) -> String {
    let pieces: String = reads
        .iter()
        .map(|(sibling, way)| piece(NAMES[*sibling], *way))
        .collect();
    let body = config_map(name, &format!("\"x{pieces}\""));
    match around {
        None => body,
        Some((_, 0)) => format!("{{{{ if .spec.on }}}}{body}{{{{ end }}}}"),
        Some((sibling, 1)) => format!(
            "{{{{ if .{}.status.ip }}}}{body}{{{{ end }}}}",
            NAMES[sibling]
        ),
        Some((sibling, _)) => {
            format!(
                "{{{{ if hasKey (.{} | default dict) \"status\" }}}}{body}{{{{ end }}}}",
                NAMES[sibling]
            )
        }
    }
}

prop_compose! {
    fn one()(reads in prop::collection::vec((0..4_usize, 0..9_usize), 0..3), around in prop::option::of((0..4_usize, 0..3_usize)))
        -> (Vec<(usize, usize)>, Option<(usize, usize)>) {
        (reads, around)
    }
}

/// Stacks that compile; circles and the like are not what is tried here.
fn stacks() -> impl Strategy<Value = (Vec<(String, String)>, bool)> {
    (prop::collection::vec(one(), 4), any::<bool>())
        .prop_map(|(templates, on)| {
            let named = NAMES.iter().zip(templates);
            let texts = named.map(|(name, (reads, around))| {
                ((*name).to_string(), template(name, &reads, around))
            });
            (texts.collect::<Vec<_>>(), on)
        })
        .prop_filter("compiles", |(templates, _)| compiled(templates).is_some())
}

fn compiled(templates: &[(String, String)]) -> Option<Compiled> {
    let templates: Vec<(&str, &str)> = templates
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    compile(&stack(&templates)).0
}

fn user(on: bool) -> Value {
    instance(&json!({"image": "nginx", "on": on}))
}

/// All children there, all statuses told.
fn complete() -> Observed {
    NAMES
        .iter()
        .map(|name| ((*name).to_string(), live(name, &json!({"ip": "10.0.0.1"}))))
        .collect()
}

fn deleted(plan: &Plan) -> BTreeSet<String> {
    plan.deletes
        .iter()
        .map(|delete| delete.template.clone())
        .collect()
}

/// What the API server would hold after a plan.
fn applied(plan: &Plan, mut observed: Observed) -> Observed {
    for apply in &plan.applies {
        let mut object = apply.object.clone();
        if let Some(status) = observed
            .get(&apply.template)
            .and_then(|live| live.get("status"))
        {
            object["status"] = status.clone();
        }
        observed.insert(apply.template.clone(), object);
    }
    for delete in &plan.deletes {
        observed.remove(&delete.template);
    }
    observed
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_carried_out_and_seen_again_changes_nothing((templates, on) in stacks()) {
        let compiled = compiled(&templates).unwrap();
        // New children can make others possible: after as many passes as there are templates all is
        // said.
        let mut observed = Observed::new();
        for _ in 0..NAMES.len() {
            observed = applied(&planned(&compiled, &user(on), &observed), observed);
        }
        let again = planned(&compiled, &user(on), &observed);
        prop_assert_eq!(applied(&again, observed.clone()), observed);
    }

    #[test]
    fn what_waits_is_never_deleted((templates, on) in stacks(), missing in prop::sample::subsequence(NAMES.to_vec(), 0..4)) {
        let compiled = compiled(&templates).unwrap();
        let mut observed = complete();
        for name in missing {
            observed.remove(name);
        }
        let plan = planned(&compiled, &user(on), &observed);
        let waiting: BTreeSet<String> = plan.holds.iter().map(|hold| hold.template.clone()).collect();
        prop_assert!(deleted(&plan).is_disjoint(&waiting));
    }

    #[test]
    fn inputs_that_go_away_delete_nothing_that_complete_inputs_keep((templates, on) in stacks(), gone in 0..4_usize, whole in any::<bool>()) {
        let compiled = compiled(&templates).unwrap();
        let kept: BTreeSet<String> =
            planned(&compiled, &user(on), &complete()).applies.into_iter().map(|apply| apply.template).collect();
        // A child that its own inputs switch off is no input that went away: its absence is a fact.
        // So is that of a child whose author asked and answered with a guard, or that is only made
        // while it is there.
        let answered = |(name, text): &(String, String)| {
            text.starts_with("{{ if hasKey") || text.starts_with(&format!("{{{{ if .{name}."))
        };
        prop_assume!(kept.contains(NAMES[gone]) && !templates.iter().any(answered));
        let mut observed = complete();
        if whole {
            observed.remove(NAMES[gone]);
        } else {
            observed.get_mut(NAMES[gone]).unwrap()["status"] = json!({});
        }
        let plan = planned(&compiled, &user(on), &observed);
        let wrongly: Vec<_> = deleted(&plan).into_iter().filter(|name| kept.contains(name)).collect();
        prop_assert!(wrongly.is_empty(), "{:?} deleted for lack of {}", wrongly, NAMES[gone]);
    }

    #[test]
    fn what_was_decided_before_is_what_would_be_decided_now(
        (templates, on) in stacks(),
        steps in prop::collection::vec((0..4_usize, 0..4_usize), 1..5),
    ) {
        let compiled = compiled(&templates).unwrap();
        let seed = engine::Seed::new(*b"a seed for tests");
        let context = engine::Context::new("demo", &seed);
        let (kind, instance) = (&compiled.kinds[0], user(on));
        let afresh = |observed: &Observed| engine::decide(kind, &instance, observed, &context, None);
        let mut then = Observed::new();
        let mut before = afresh(&then);
        for (child, change) in steps {
            let mut now = then.clone();
            match (NAMES[child], change) {
                (name, 0) => drop(now.remove(name)),
                (name, 1) => drop(now.insert(name.to_owned(), live(name, &json!({})))),
                (name, 2) => drop(now.insert(name.to_owned(), live(name, &json!({"ip": "10.0.0.1"})))),
                _ => now = applied(&before, now),
            }
            let again = engine::decide(kind, &instance, &now, &context, Some((before, &then)));
            let mut same = again.clone();
            same.applies.iter_mut().for_each(|apply| apply.is_same = false);
            prop_assert_eq!(same, afresh(&now));
            (before, then) = (again, now);
        }
    }

    #[test]
    fn the_same_inputs_give_the_same_plan((templates, on) in stacks()) {
        let (one, other) = (compiled(&templates).unwrap(), compiled(&templates.iter().rev().cloned().collect::<Vec<_>>()).unwrap());
        prop_assert_eq!(planned(&one, &user(on), &complete()), planned(&other, &user(on), &complete()));
    }
}
