//! What is refused of services, in the order in which the real server looks at it.

use std::collections::HashSet;

use objects::name::NameRule;
use serde_json::Value;

use super::ports;
use crate::handlers::status::Cause;

/// Adds what is wrong with the specification of a service.
pub(crate) fn faults(spec: &Value, faults: &mut Vec<Cause>) {
    let ports = spec["ports"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let (kind, headless) = (
        spec["type"].as_str().unwrap_or_default(),
        spec["clusterIP"] == "None",
    );
    if ports.is_empty() && !headless && kind != "ExternalName" {
        faults.push(Cause::required("spec.ports", ""));
    }
    match kind {
        "LoadBalancer" if headless => {
            let why = "may not be set to 'None' for LoadBalancer services";
            faults.push(Cause::invalid("spec.clusterIPs[0]", &"None".into(), why));
        }
        "NodePort" if headless => {
            let why = "may not be set to 'None' for NodePort services";
            faults.push(Cause::invalid("spec.clusterIPs[0]", &"None".into(), why));
        }
        "ExternalName" => external(&spec["externalName"], faults),
        _ => {}
    }
    let mut names = HashSet::new();
    for (index, port) in ports.iter().enumerate() {
        one(
            &format!("spec.ports[{index}]"),
            port,
            ports.len() > 1,
            &mut names,
            faults,
        );
    }
    if kind == "ClusterIP" {
        for (index, _) in ports
            .iter()
            .enumerate()
            .filter(|(_, port)| node_port(port).is_some())
        {
            let why = "may not be used when `type` is 'ClusterIP'";
            faults.push(Cause::forbidden(
                &format!("spec.ports[{index}].nodePort"),
                why,
            ));
        }
    }
    twice(ports, faults);
}

fn node_port(port: &Value) -> Option<u64> {
    port["nodePort"].as_u64().filter(|number| *number > 0)
}

/// Where a service leads that is a name alone.
fn external(name: &Value, faults: &mut Vec<Cause>) {
    let text = name.as_str().unwrap_or_default();
    if text.is_empty() {
        faults.push(Cause::required("spec.externalName", ""));
        return;
    }
    let wrong = NameRule::Subdomain.errors(text.strip_suffix('.').unwrap_or(text));
    faults.extend(
        wrong
            .iter()
            .map(|why| Cause::invalid("spec.externalName", name, why)),
    );
}

fn one<'p>(
    place: &str,
    port: &'p Value,
    need: bool,
    names: &mut HashSet<&'p str>,
    faults: &mut Vec<Cause>,
) {
    let at = |field: &str| format!("{place}.{field}");
    match port["name"].as_str().filter(|name| !name.is_empty()) {
        None if need => faults.push(Cause::required(&at("name"), "")),
        None => {}
        Some(name) => {
            let wrong = NameRule::Label.errors(name);
            faults.extend(
                wrong
                    .iter()
                    .map(|why| Cause::invalid(&at("name"), &port["name"], why)),
            );
            if !names.insert(name) && wrong.is_empty() {
                faults.push(Cause::new(
                    "FieldValueDuplicate",
                    &at("name"),
                    format!("Duplicate value: {name:?}"),
                ));
            }
        }
    }
    // A number that is not given is zero to the real server, and so is no port.
    let zero = Value::from(0);
    let given = |field: &str| {
        port.get(field)
            .filter(|value| !value.is_null())
            .cloned()
            .unwrap_or(zero.clone())
    };
    ports::number(&at("port"), &given("port"), faults);
    ports::number_or_name(&at("targetPort"), &given("targetPort"), faults);
    if let Some(protocol) = port["appProtocol"].as_str() {
        let wrong = objects::name::label_key_errors(protocol);
        faults.extend(
            wrong
                .iter()
                .map(|why| Cause::invalid(&at("appProtocol"), &port["appProtocol"], why)),
        );
    }
}

/// Ports that are there twice, on nodes or at the service's own address.
fn twice(ports: &[Value], faults: &mut Vec<Cause>) {
    let (mut served, mut on_nodes) = (HashSet::new(), HashSet::new());
    for (index, port) in ports.iter().enumerate() {
        let Some(number) = node_port(port) else {
            continue;
        };
        if !on_nodes.insert((number, port["protocol"].as_str())) {
            let message = format!("Duplicate value: {number}");
            faults.push(Cause::new(
                "FieldValueDuplicate",
                &format!("spec.ports[{index}].nodePort"),
                message,
            ));
        }
    }
    for (index, port) in ports.iter().enumerate() {
        if !served.insert((port["port"].as_i64(), port["protocol"].as_str())) {
            // The real server shows the port by Go's names, with nothing in it but what is there
            // twice.
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                port["protocol"],
                port["port"].as_i64().unwrap_or_default()
            );
            let message = format!("Duplicate value: {shown}");
            faults.push(Cause::new(
                "FieldValueDuplicate",
                &format!("spec.ports[{index}]"),
                message,
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::faults;

    fn found(spec: &Value) -> Vec<String> {
        let mut found = Vec::new();
        faults(spec, &mut found);
        found.iter().map(|cause| cause.field.clone()).collect()
    }

    #[test]
    fn a_service_is_held_to_what_could_be_routed() {
        let ports =
            |ports: Value| json!({"type": "ClusterIP", "clusterIP": "10.96.0.9", "ports": ports});
        for (spec, expected) in [
            (json!({}), &["spec.ports"][..]),
            (json!({"clusterIP": "None"}), &[]),
            (ports(json!([{"port": 80, "targetPort": 80}])), &[]),
            (ports(json!([{"port": 80, "targetPort": "http"}])), &[]),
            // The seed's MongoDB.
            (
                ports(json!([{"name": "mongo"}])),
                &["spec.ports[0].port", "spec.ports[0].targetPort"],
            ),
            (
                ports(json!([{"targetPort": 27017}])),
                &["spec.ports[0].port"],
            ),
            (
                ports(json!([{"port": null, "targetPort": 27017}])),
                &["spec.ports[0].port"],
            ),
            (
                ports(json!([{"port": 0, "targetPort": 0}])),
                &["spec.ports[0].port", "spec.ports[0].targetPort"],
            ),
            (
                ports(json!([{"port": 65536, "targetPort": -1}])),
                &["spec.ports[0].port", "spec.ports[0].targetPort"],
            ),
            (
                ports(json!([{"port": 80, "targetPort": "80"}])),
                &["spec.ports[0].targetPort"],
            ),
            (
                ports(json!([{"port": 80, "targetPort": "a-name-of-sixteen"}])),
                &["spec.ports[0].targetPort"],
            ),
            (
                ports(json!([{"port": 80, "targetPort": 80, "nodePort": 30000}])),
                &["spec.ports[0].nodePort"],
            ),
            (
                ports(json!([{"port": 80, "targetPort": 80, "appProtocol": "a b"}])),
                &["spec.ports[0].appProtocol"],
            ),
            (
                ports(json!([{"port": 80, "targetPort": 80, "name": "Web"}])),
                &["spec.ports[0].name"],
            ),
            (
                ports(
                    json!([{"port": 80, "targetPort": 80}, {"port": 81, "targetPort": 81, "name": "b"}]),
                ),
                &["spec.ports[0].name"],
            ),
            (
                ports(
                    json!([{"port": 80, "targetPort": 80, "name": "b"}, {"port": 81, "targetPort": 81, "name": "b"}]),
                ),
                &["spec.ports[1].name"],
            ),
            (json!({"type": "ExternalName"}), &["spec.externalName"]),
            (
                json!({"type": "ExternalName", "externalName": "example.org."}),
                &[],
            ),
            (
                json!({"type": "ExternalName", "externalName": "a b"}),
                &["spec.externalName"],
            ),
            (
                json!({"type": "LoadBalancer", "ports": [{"port": 10250, "targetPort": 1}]}),
                &[],
            ),
            (
                json!({"type": "NodePort", "clusterIP": "None", "ports": [{"port": 1, "targetPort": 1}]}),
                &["spec.clusterIPs[0]"],
            ),
        ] {
            assert_eq!(found(&spec), expected, "{spec}");
        }
    }

    #[test]
    fn each_port_of_a_service_is_there_once_however_many_there_are() {
        let port = |number: usize| {
            let port = number % 60_000 + 1;
            json!({"name": format!("p{number}"), "port": port, "targetPort": port, "protocol": "TCP"})
        };
        let mut many: Vec<Value> = (0..50_000).map(port).collect();
        assert!(found(&json!({"ports": many, "type": "NodePort"})).is_empty());
        many.push(json!({"name": "p7", "port": 7, "targetPort": 7, "protocol": "TCP"}));
        many.push(json!({"name": "last", "port": 7, "targetPort": 7, "protocol": "UDP", "nodePort": 30_000}));
        many.push(json!({"name": "more", "port": 8, "targetPort": 8, "protocol": "UDP", "nodePort": 30_000}));
        let expected = [
            "spec.ports[50000].name",
            "spec.ports[50002].nodePort",
            "spec.ports[50000]",
        ];
        assert_eq!(found(&json!({"ports": many, "type": "NodePort"})), expected);
    }
}
