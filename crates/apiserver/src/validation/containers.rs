//! What is refused of pods and templates of pods: containers without a name or an image, ports,
//! variables and mounts that lead nowhere.

use std::collections::HashSet;

use objects::name::NameRule;
use serde_json::Value;

use super::{enums, ports};
use crate::handlers::status::Cause;

/// Adds what is wrong with the specification of a pod at a path. Each of the `claims`, the
/// templates that a StatefulSet has for them, is a volume, too.
pub(crate) fn faults(path: &str, spec: &Value, claims: &[Value], faults: &mut Vec<Cause>) {
    let mut volumes = volumes(path, spec, faults);
    volumes.extend(
        claims
            .iter()
            .filter_map(|claim| claim["metadata"]["name"].as_str()),
    );
    if list(spec, "containers").is_empty() {
        faults.push(Cause::required(&format!("{path}.containers"), ""));
    }
    let mut names = HashSet::new();
    for lists in ["containers", "initContainers"] {
        for (index, container) in list(spec, lists).iter().enumerate() {
            let place = format!("{path}.{lists}[{index}]");
            name(
                &format!("{place}.name"),
                &container["name"],
                &mut names,
                faults,
            );
            image(&format!("{place}.image"), &container["image"], faults);
            container_ports(&place, container, faults);
            variables(&place, container, faults);
            mounts(&place, container, &volumes, faults);
        }
    }
    enums::pod_faults(path, spec, faults);
}

fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// A name that has to be there, once.
fn name<'v>(place: &str, name: &'v Value, names: &mut HashSet<&'v str>, faults: &mut Vec<Cause>) {
    match name.as_str().unwrap_or_default() {
        "" => faults.push(Cause::required(place, "")),
        text => {
            let wrong = NameRule::Label.errors(text);
            faults.extend(wrong.iter().map(|why| Cause::invalid(place, name, why)));
            if !names.insert(text) {
                faults.push(Cause::new(
                    "FieldValueDuplicate",
                    place,
                    format!("Duplicate value: {text:?}"),
                ));
            }
        }
    }
}

fn image(place: &str, image: &Value, faults: &mut Vec<Cause>) {
    match image.as_str().unwrap_or_default() {
        "" => faults.push(Cause::required(place, "")),
        text if text.trim() != text => {
            faults.push(Cause::invalid(
                place,
                image,
                "must not have leading or trailing whitespace",
            ));
        }
        _ => {}
    }
}

/// The names of the volumes that can be mounted.
fn volumes<'v>(path: &str, spec: &'v Value, faults: &mut Vec<Cause>) -> HashSet<&'v str> {
    let mut names = HashSet::new();
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        name(
            &format!("{path}.volumes[{index}].name"),
            &volume["name"],
            &mut names,
            faults,
        );
    }
    names
}

fn container_ports(place: &str, container: &Value, faults: &mut Vec<Cause>) {
    let mut names = HashSet::new();
    for (index, port) in list(container, "ports").iter().enumerate() {
        let at = |field: &str| format!("{place}.ports[{index}].{field}");
        if let Some(text) = port["name"].as_str().filter(|text| !text.is_empty()) {
            let before = faults.len();
            ports::name(&at("name"), &port["name"], faults);
            if faults.len() == before && !names.insert(text) {
                faults.push(Cause::new(
                    "FieldValueDuplicate",
                    &at("name"),
                    format!("Duplicate value: {text:?}"),
                ));
            }
        }
        match port["containerPort"].as_i64().unwrap_or_default() {
            0 => faults.push(Cause::required(&at("containerPort"), "")),
            _ => ports::number(&at("containerPort"), &port["containerPort"], faults),
        }
        if port["hostPort"].as_i64().is_some_and(|number| number != 0) {
            ports::number(&at("hostPort"), &port["hostPort"], faults);
        }
    }
}

fn variables(place: &str, container: &Value, faults: &mut Vec<Cause>) {
    for (index, variable) in list(container, "env").iter().enumerate() {
        let at = |field: &str| format!("{place}.env[{index}].{field}");
        if variable["name"].as_str().unwrap_or_default().is_empty() {
            faults.push(Cause::required(&at("name"), ""));
        }
        let given = variable["value"]
            .as_str()
            .is_some_and(|value| !value.is_empty());
        if given && variable["valueFrom"].is_object() {
            let why = "may not be specified when `value` is not empty";
            faults.push(Cause::invalid(&at("valueFrom"), &"".into(), why));
        }
    }
}

fn mounts(place: &str, container: &Value, volumes: &HashSet<&str>, faults: &mut Vec<Cause>) {
    let mut paths = HashSet::new();
    for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
        let at = |field: &str| format!("{place}.volumeMounts[{index}].{field}");
        let text = |field: &str| mount[field].as_str().unwrap_or_default();
        if text("name").is_empty() {
            faults.push(Cause::required(&at("name"), ""));
        }
        if text("mountPath").is_empty() {
            faults.push(Cause::required(&at("mountPath"), ""));
        }
        if !volumes.contains(text("name")) {
            faults.push(Cause::new(
                "FieldValueNotFound",
                &at("name"),
                format!("Not found: {:?}", text("name")),
            ));
        }
        if !paths.insert(text("mountPath")) {
            faults.push(Cause::invalid(
                &at("mountPath"),
                &mount["mountPath"],
                "must be unique",
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn found(spec: &Value) -> Vec<String> {
        let mut found = Vec::new();
        super::faults(
            "spec",
            spec,
            &[json!({"metadata": {"name": "claim"}})],
            &mut found,
        );
        found
            .into_iter()
            .map(|cause| cause.field.trim_start_matches("spec.").to_owned())
            .collect()
    }

    #[test]
    fn containers_are_held_to_what_could_run() {
        let with = |field: &str, value: Value| {
            let mut container = json!({"name": "a", "image": "i"});
            container[field] = value;
            json!({"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}]})
        };
        for (spec, expected) in [
            (json!({}), &["containers"][..]),
            (with("name", json!("a")), &[]),
            (with("name", json!("")), &["containers[0].name"]),
            (with("name", json!("A b")), &["containers[0].name"]),
            (with("image", Value::Null), &["containers[0].image"]),
            (with("image", json!(" i")), &["containers[0].image"]),
            (
                with("ports", json!([{"containerPort": 80, "name": "http"}])),
                &[],
            ),
            (
                with("ports", json!([{"name": "http"}])),
                &["containers[0].ports[0].containerPort"],
            ),
            (
                with("ports", json!([{"containerPort": 70000}])),
                &["containers[0].ports[0].containerPort"],
            ),
            (
                with("ports", json!([{"containerPort": 1, "hostPort": 70000}])),
                &["containers[0].ports[0].hostPort"],
            ),
            (
                with("ports", json!([{"containerPort": 1, "name": "80"}])),
                &["containers[0].ports[0].name"],
            ),
            (
                with(
                    "ports",
                    json!([{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]),
                ),
                &["containers[0].ports[1].name"],
            ),
            (
                with("env", json!([{"value": "x"}])),
                &["containers[0].env[0].name"],
            ),
            (
                with("env", json!([{"name": "n", "value": "x", "valueFrom": {}}])),
                &["containers[0].env[0].valueFrom"],
            ),
            (
                with("volumeMounts", json!([{"name": "v", "mountPath": "/a"}])),
                &[],
            ),
            (
                with(
                    "volumeMounts",
                    json!([{"name": "claim", "mountPath": "/a"}]),
                ),
                &[],
            ),
            (
                with("volumeMounts", json!([{"name": "w", "mountPath": "/a"}])),
                &["containers[0].volumeMounts[0].name"],
            ),
            (
                with("volumeMounts", json!([{"name": "v"}])),
                &["containers[0].volumeMounts[0].mountPath"],
            ),
            (
                json!({"containers": [{"name": "a", "image": "i"}], "initContainers": [{"name": "a"}]}),
                &["initContainers[0].name", "initContainers[0].image"],
            ),
            (
                json!({"containers": [{"name": "a", "image": "i"}], "volumes": [{"name": "v"}, {"name": "v"}, {}]}),
                &["volumes[1].name", "volumes[2].name"],
            ),
        ] {
            assert_eq!(found(&spec), expected, "{spec}");
        }
    }
}
