//! What is refused of built-in kinds beyond wrong types: those rules that everyday manifests run
//! into.

use objects::selector::LabelSelector;
use serde_json::Value;

use super::{containers, enums, per_kind};
use crate::defaults::{crd, template};
use crate::handlers::status::Cause;
use crate::registry::DEFINITIONS;

/// Fields that never change once they are set: a table and the field.
const FIXED: [(&str, &str); 11] = [
    ("configmaps", "immutable"),
    ("daemonsets.apps", "spec.selector"),
    ("deployments.apps", "spec.selector"),
    ("jobs.batch", "spec.selector"),
    ("jobs.batch", "spec.completionMode"),
    ("persistentvolumeclaims", "spec.volumeMode"),
    ("replicasets.apps", "spec.selector"),
    ("secrets", "type"),
    ("storageclasses.storage.k8s.io", "provisioner"),
    ("storageclasses.storage.k8s.io", "parameters"),
    ("storageclasses.storage.k8s.io", "reclaimPolicy"),
];

/// Numbers that are not negative.
const AT_LEAST: [(&str, &str, i64); 8] = [
    ("deployments.apps", "spec.replicas", 0),
    ("replicasets.apps", "spec.replicas", 0),
    ("statefulsets.apps", "spec.replicas", 0),
    ("replicationcontrollers", "spec.replicas", 0),
    ("deployments.apps", "spec.revisionHistoryLimit", 0),
    ("jobs.batch", "spec.parallelism", 0),
    ("jobs.batch", "spec.completions", 0),
    ("jobs.batch", "spec.backoffLimit", 0),
];

/// Everything that is wrong with an object. `old` is none for a creation.
pub(crate) fn faults(table: &str, old: Option<&Value>, object: &Value) -> Vec<Cause> {
    let mut faults = Vec::new();
    finalizers(object, &mut faults);
    if let Some(old) = old {
        fixed(table, old, object, &mut faults);
    }
    for (_, path, least) in AT_LEAST.iter().filter(|(of, ..)| *of == table) {
        if let Some(number) = at(object, path)
            .and_then(Value::as_i64)
            .filter(|number| number < least)
        {
            faults.push(Cause::invalid(
                path,
                &number.into(),
                &format!("must be greater than or equal to {least}"),
            ));
        }
    }
    match table {
        "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "daemonsets.apps" => {
            selector(table, object, &mut faults);
        }
        "configmaps" => data(object, &mut faults),
        "secrets" => data(object, &mut faults),
        DEFINITIONS => faults.extend(crd::faults(old, object)),
        "pods" if old.is_none() => containers::faults("spec", &object["spec"], &[], &mut faults),
        "leases.coordination.k8s.io" => {
            if let Some(seconds) = at(object, "spec.leaseDurationSeconds")
                .and_then(Value::as_i64)
                .filter(|it| *it <= 0)
            {
                faults.push(Cause::invalid(
                    "spec.leaseDurationSeconds",
                    &seconds.into(),
                    "must be greater than 0",
                ));
            }
        }
        _ => {}
    }
    if let Some(place) = template(table)
        && let Some(spec) = object
            .pointer(place)
            .and_then(|template| template.get("spec"))
    {
        let path = format!("{}.spec", place.trim_start_matches('/').replace('/', "."));
        let claims = object
            .pointer("/spec/volumeClaimTemplates")
            .and_then(Value::as_array);
        containers::faults(
            &path,
            spec,
            claims.map(Vec::as_slice).unwrap_or_default(),
            &mut faults,
        );
    }
    enums::faults(table, object, &mut faults);
    per_kind::faults(table, old, object, &mut faults);
    faults
}

/// The most bytes that the data of one object may have.
const MOST: usize = 1 << 20;

/// Names and size of what a config map or a secret holds.
fn data(object: &Value, faults: &mut Vec<Cause>) {
    let mut total = 0;
    for field in ["data", "binaryData"] {
        for (name, value) in object[field].as_object().into_iter().flatten() {
            let good =
                |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
            if name.is_empty() || !name.chars().all(good) {
                let why = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
                faults.push(Cause::invalid(
                    &format!("{field}[{name}]"),
                    &name.as_str().into(),
                    why,
                ));
            }
            total += value.as_str().map_or(0, str::len);
        }
    }
    if total > MOST {
        let field = if object["kind"] == "Secret" {
            "data"
        } else {
            "[]"
        };
        let message = format!("Too long: may not be more than {MOST} bytes");
        faults.push(Cause::new("FieldValueTooLong", field, message));
    }
}

/// Finalizers of built-in kinds are standard ones, or say whose they are.
fn finalizers(object: &Value, faults: &mut Vec<Cause>) {
    for (index, name) in object["metadata"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let text = name.as_str().unwrap_or_default();
        if !text.contains('/')
            && !matches!(text, "orphan" | "foregroundDeletion" | "kubernetes")
            && !text.contains(".k8s.io")
        {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            faults.push(Cause::invalid(
                &format!("metadata.finalizers[{index}]"),
                name,
                why,
            ));
        }
    }
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .try_fold(object, |value, name| value.get(name))
}

fn fixed(table: &str, old: &Value, new: &Value, faults: &mut Vec<Cause>) {
    for (_, path) in FIXED.iter().filter(|(of, _)| *of == table) {
        let (before, after) = (at(old, path), at(new, path));
        if *path == "immutable" {
            continue;
        }
        if before.is_some() && before != after {
            faults.push(Cause::invalid(
                path,
                after.unwrap_or(&Value::Null),
                "field is immutable",
            ));
        }
    }
    if matches!(table, "configmaps" | "secrets") && old["immutable"] == true {
        if new["immutable"] != true {
            faults.push(Cause::forbidden(
                "immutable",
                "field is immutable when `immutable` is set",
            ));
        }
        for field in ["data", "binaryData"] {
            if old.get(field) != new.get(field) {
                faults.push(Cause::forbidden(
                    field,
                    "field is immutable when `immutable` is set",
                ));
            }
        }
    }
    if table == "services"
        && old["spec"]["type"] == new["spec"]["type"]
        && old["spec"]["clusterIP"] != new["spec"]["clusterIP"]
    {
        let value = &new["spec"]["clusterIPs"];
        faults.push(Cause::invalid(
            "spec.clusterIPs[0]",
            value,
            "may not change once set",
        ));
    }
}

/// A workload selects its own pods, or it would make more and more of them.
fn selector(table: &str, object: &Value, faults: &mut Vec<Cause>) {
    let selector = &object["spec"]["selector"];
    let labels = &object["spec"]["template"]["metadata"]["labels"];
    if !selector.is_object() {
        // Of a daemon set the real server only says that nothing matches.
        if table != "daemonsets.apps" {
            faults.push(Cause::required("spec.selector", ""));
        }
    } else if selector.as_object().is_some_and(serde_json::Map::is_empty) {
        let kind = match table {
            "statefulsets.apps" => "statefulset",
            "daemonsets.apps" => "daemonset",
            // So the real server says of replica sets, too.
            _ => "deployment",
        };
        faults.push(Cause::invalid(
            "spec.selector",
            selector,
            &format!("empty selector is invalid for {kind}"),
        ));
        return;
    }
    let read = LabelSelector::from_value(selector).ok().flatten();
    let matches = read.is_some_and(|selector| {
        selector.matches(|label| labels.get(label).and_then(Value::as_str))
    });
    if !matches {
        let shown = if labels.is_null() {
            &Value::Null
        } else {
            labels
        };
        faults.push(Cause::invalid(
            "spec.template.metadata.labels",
            shown,
            "`selector` does not match template `labels`",
        ));
    }
}
