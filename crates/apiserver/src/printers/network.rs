//! Services, ingresses and what else leads to pods, as rows.

use serde_json::{Value, json};

use super::format::{items, labels, or_none, selector, text, texts};

/// The cell, if the kind has one of its own there.
pub(super) fn cell(plural: &str, column: &str, object: &Value) -> Option<Value> {
    Some(match (plural, column) {
        ("services", "Type") => text(object, "/spec/type").into(),
        ("services", "Cluster-IP") => or_none(text(object, "/spec/clusterIP")),
        ("services", "External-IP") => external(object).into(),
        ("services", "Port(s)") => or_none(&ports(items(object, "/spec/ports"))),
        ("services", "Selector") => labels(object, "/spec/selector"),
        ("ingresses", "Class") => or_none(text(object, "/spec/ingressClassName")),
        ("ingresses", "Hosts") => hosts(object).into(),
        ("ingresses", "Address") => balancers(object).into(),
        ("ingresses", "Ports") => if items(object, "/spec/tls").is_empty() {
            "80"
        } else {
            "80, 443"
        }
        .into(),
        ("ingressclasses", "Controller") => text(object, "/spec/controller").into(),
        ("ingressclasses", "Parameters") => parameters(object).into(),
        ("networkpolicies", "Pod-Selector") => selector(object, "/spec/podSelector"),
        ("endpoints", "Endpoints") => endpoints(object),
        ("endpointslices", "AddressType") => text(object, "/addressType").into(),
        ("endpointslices", "Ports") => slice_ports(object),
        ("endpointslices", "Endpoints") => {
            let all = items(object, "/endpoints")
                .iter()
                .flat_map(|endpoint| texts(items(endpoint, "/addresses")));
            few(&all.collect::<Vec<_>>(), "<unset>")
        }
        _ => return None,
    })
}

fn external(service: &Value) -> String {
    let own = texts(items(service, "/spec/externalIPs")).join(",");
    match text(service, "/spec/type") {
        "ExternalName" => text(service, "/spec/externalName").to_owned(),
        "LoadBalancer" => {
            let given = balancers(service);
            match (given.is_empty(), own.is_empty()) {
                (true, true) => "<pending>".to_owned(),
                (true, false) => own,
                (false, true) => given,
                (false, false) => format!("{given},{own}"),
            }
        }
        _ if own.is_empty() => "<none>".to_owned(),
        _ => own,
    }
}

fn balancers(object: &Value) -> String {
    let ingress = items(object, "/status/loadBalancer/ingress").iter();
    let address = |one: &Value| [text(one, "/ip"), text(one, "/hostname")].concat();
    ingress
        .map(address)
        .filter(|address| !address.is_empty())
        .collect::<Vec<_>>()
        .join(",")
}

fn ports(ports: &[Value]) -> String {
    let one = |port: &Value| {
        let node = port["nodePort"]
            .as_i64()
            .filter(|&node| node > 0)
            .map_or(String::new(), |node| format!(":{node}"));
        format!(
            "{}{node}/{}",
            port["port"].as_i64().unwrap_or_default(),
            text(port, "/protocol")
        )
    };
    ports.iter().map(one).collect::<Vec<_>>().join(",")
}

fn hosts(ingress: &Value) -> String {
    let all: Vec<&str> = items(ingress, "/spec/rules")
        .iter()
        .map(|rule| text(rule, "/host"))
        .filter(|host| !host.is_empty())
        .collect();
    match all.len() {
        0 => "*".to_owned(),
        more if more > 3 => format!("{} + {} more...", all[..3].join(","), more - 3),
        _ => all.join(","),
    }
}

fn parameters(class: &Value) -> String {
    let Some(to) = class.pointer("/spec/parameters") else {
        return "<none>".to_owned();
    };
    let group = match text(to, "/apiGroup") {
        "" => String::new(),
        group => format!(".{group}"),
    };
    format!("{}{group}/{}", text(to, "/kind"), text(to, "/name"))
}

/// Addresses with ports, three at most.
fn endpoints(object: &Value) -> Value {
    let mut all = Vec::new();
    for subset in items(object, "/subsets") {
        let ports = items(subset, "/ports");
        for address in items(subset, "/addresses") {
            let ip = text(address, "/ip");
            if ports.is_empty() {
                all.push(ip.to_owned());
            }
            all.extend(
                ports
                    .iter()
                    .map(|port| format!("{ip}:{}", port["port"].as_i64().unwrap_or_default())),
            );
        }
    }
    few(
        &all.iter().map(String::as_str).collect::<Vec<_>>(),
        "<none>",
    )
}

fn slice_ports(slice: &Value) -> Value {
    let shown = |port: &Value| {
        port["port"]
            .as_i64()
            .map_or("*".to_owned(), |port| port.to_string())
    };
    let all: Vec<String> = items(slice, "/ports").iter().map(shown).collect();
    few(
        &all.iter().map(String::as_str).collect::<Vec<_>>(),
        "<unset>",
    )
}

fn few(all: &[&str], none: &str) -> Value {
    match all.len() {
        0 => none.into(),
        more if more > 3 => json!(format!("{} + {} more...", all[..3].join(","), more - 3)),
        _ => all.join(",").into(),
    }
}
