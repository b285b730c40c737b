//! What Kubernetes' own libraries make of applies and updates, as `tools/apply-oracle` recorded it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::path::PathBuf;
use std::{env, fs};

use objects::apply::{ApplyError, Change, apply, update};
use objects::fields::{FieldPath, FieldSet};
use objects::patch::strategic_merge_patch;
use objects::shape::Shapes;
use serde_json::Value;

/// The records, or random ones that `cargo xtask oracle --check` has just made.
fn vectors(name: &str) -> String {
    let recorded = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let dir = env::var_os("OBJECTS_VECTOR_DIR").map_or(recorded, PathBuf::from);
    fs::read_to_string(dir.join(name)).unwrap()
}

#[test]
fn objects_are_applied_as_the_api_server_applies_them() {
    let shapes = Shapes::openapi(&serde_json::from_str(&vectors("shapes.json")).unwrap());
    let shape = shapes.of_kind("example.org", "v1", "Thing").unwrap();
    let mut failures = Vec::new();
    let mut count = 0;
    for line in vectors("apply.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let mut live: Option<Value> = None;
        for (index, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            let text = |name: &str| step[name].as_str().unwrap_or_default();
            let reset: FieldSet = step["reset"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|name| FieldPath::fields(&[name.as_str().unwrap()]))
                .collect();
            let change = Change {
                manager: text("manager"),
                version: "example.org/v1",
                subresource: text("subresource"),
                now: &format!("2026-01-01T00:00:{index:02}Z"),
                shape,
                reset: &reset,
            };
            let result = if text("do") == "apply" {
                apply(
                    live.as_ref(),
                    &step["object"],
                    &change,
                    step["force"] == true,
                )
                .map(|applied| applied.object)
            } else {
                let mut object = step["object"].clone();
                update(live.as_ref(), &mut object, &change);
                Ok(object)
            };
            let place = || format!("{} step {index}", case["name"]);
            match result {
                Ok(object) => {
                    if step.get("want") != Some(&object) {
                        failures.push(format!(
                            "{}\n  ours {object}\n  want {} {}",
                            place(),
                            step["want"],
                            step["error"]
                        ));
                        break;
                    }
                }
                Err(error) => {
                    if error.to_string() != text("error") {
                        failures.push(format!(
                            "{}\n  ours {error}\n  want {} {}",
                            place(),
                            step["error"],
                            step["want"]
                        ));
                        break;
                    }
                    if let ApplyError::Conflicts(conflicts) = &error {
                        let mut causes: Vec<String> = conflicts
                            .0
                            .iter()
                            .map(|one| format!("{}: {}", one.path, one.message()))
                            .collect();
                        causes.sort();
                        assert_eq!(
                            serde_json::to_value(&causes).unwrap(),
                            step["causes"],
                            "{}",
                            place()
                        );
                    }
                }
            }
            // The recorded object goes on, so that one difference is told once.
            if let Some(want) = step.get("want") {
                let first = live.is_none();
                let object = live.insert(want.clone());
                if first {
                    object["metadata"]["uid"] = "u1".into();
                }
            }
        }
        count += 1;
    }
    assert!(
        failures.is_empty(),
        "{} of {count}:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(count >= 100, "the records were found");
}

#[test]
fn strategic_merge_patches_do_what_they_do_in_go() {
    let shapes = Shapes::openapi(&serde_json::from_str(&vectors("shapes.json")).unwrap());
    let shape = shapes.of_kind("example.org", "v1", "Thing").unwrap();
    let mut failures = Vec::new();
    let mut count = 0;
    for line in vectors("strategic.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let result = strategic_merge_patch(&case["original"], &case["patch"], shape);
        let error = case["error"].as_str().unwrap_or_default();
        let fits = match &result {
            Ok(patched) => case.get("want") == Some(patched),
            // The server itself looks fields up in its structs, not in the OpenAPI document, and
            // says so.
            Err(ours) if error.starts_with("unable to find api field") => ours
                .to_string()
                .starts_with("unable to find api field in struct"),
            Err(ours) => ours.to_string() == error,
        };
        if !fits {
            failures.push(format!("{line}\n  ours {result:?}"));
        }
        count += 1;
    }
    assert!(
        failures.is_empty(),
        "{} of {count}:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(count >= 100, "the records were found");
}
