//! What the server knows of built-in kinds beyond their types: what it fills in, and what it
//! refuses. Everything here is about values; nothing is stored or looked up but the addresses of
//! services.

pub(crate) mod crd;
pub(crate) mod decode;
pub(crate) mod pod;
pub(crate) mod quantity;
pub(crate) mod service_addresses;
pub(crate) mod status;
pub(crate) mod table;

use serde_json::Value;

pub(crate) use crate::validation::common::faults;

use crate::handlers::status::Cause;
use crate::registry::{DEFINITIONS, Served};
use crate::storage::Store;

/// Where the pod template of a table's objects is, if they have one.
pub(crate) fn template(table: &str) -> Option<&'static str> {
    match table {
        "deployments.apps"
        | "replicasets.apps"
        | "statefulsets.apps"
        | "daemonsets.apps"
        | "jobs.batch"
        | "replicationcontrollers" => Some("/spec/template"),
        "cronjobs.batch" => Some("/spec/jobTemplate/spec/template"),
        "podtemplates" => Some("/template"),
        _ => None,
    }
}

/// Fills in what the real server fills in. `old` is none for a creation.
pub(crate) fn fill(store: &Store, served: &Served, old: Option<&Value>, object: &mut Value) {
    let table = &*served.table;
    if let Some(shapes) = served.shapes()
        && let Some(shape) = shapes.of_kind(&served.group, &served.version, &served.kind)
    {
        shape.fill(object);
    }
    table::fill(table, object);
    match table {
        "pods" => {
            pod::spec(&mut object["spec"]);
            pod::requests(&mut object["spec"]);
            if old.is_none() {
                pod::admit(object);
            }
        }
        "services" => service_addresses::fill(store, old, object),
        "secrets" => secret(object),
        "jobs.batch" if old.is_none() => job(object),
        DEFINITIONS => crd::fill(old, object),
        _ => {}
    }
    if let Some(template) = template(table).and_then(|place| object.pointer_mut(place)) {
        pod::spec(&mut template["spec"]);
    }
    if old.is_none() {
        status::fill(table, object);
    }
}

/// What an object asks for that it cannot have, mostly since another has it. The real server looks
/// for that first.
pub(crate) fn refused(
    store: &Store,
    table: &str,
    old: Option<&Value>,
    object: &Value,
    dry: bool,
) -> Option<Cause> {
    (table == "services")
        .then(|| service_addresses::refused(store, old, object, dry))
        .flatten()
}

/// What is written as text is kept as bytes.
fn secret(object: &mut Value) {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    let Some(Value::Object(texts)) = fields.remove("stringData") else {
        return;
    };
    let data = fields
        .entry("data")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    let Some(data) = data.as_object_mut() else {
        return;
    };
    for (name, text) in texts {
        data.insert(
            name,
            STANDARD.encode(text.as_str().unwrap_or_default()).into(),
        );
    }
}

/// A job selects its pods by its own uid, unless it selects them itself; without labels it has
/// those of its pods.
pub(crate) fn job(object: &mut Value) {
    if object["spec"]["manualSelector"] != true {
        select_by_uid(object);
    }
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    let own = object["metadata"]["labels"].as_object();
    if labels.is_object() && own.is_none_or(serde_json::Map::is_empty) {
        object["metadata"]["labels"] = labels;
    }
}

fn select_by_uid(object: &mut Value) {
    let (uid, name) = (
        object["metadata"]["uid"].clone(),
        object["metadata"]["name"].clone(),
    );
    let own = "batch.kubernetes.io/controller-uid";
    let mut add = |place: &str, label: &str, value: &Value| {
        let labels = &mut object["spec"][place];
        let labels = if place == "selector" {
            &mut labels["matchLabels"]
        } else {
            &mut labels["metadata"]["labels"]
        };
        // What its author wrote stays, and is refused where it is another's.
        if labels.get(label).is_none() {
            labels[label] = value.clone();
        }
    };
    add("selector", own, &uid);
    for (label, value) in [
        (own, &uid),
        ("controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("job-name", &name),
    ] {
        add("template", label, value);
    }
}
