//! Addresses and ports of services. Nothing routes them, but they are there, and each is given once.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::defaults::set;
use crate::{
    random,
    store::{Query, Store},
};

/// The network of the addresses, as in the clusters of the tests: 10.96.0.0/16.
const NETWORK: u32 = u32::from_be_bytes([10, 96, 0, 0]);
/// How many addresses there are.
const ADDRESSES: u32 = 1 << 16;
/// The ports of nodes.
const PORTS: std::ops::Range<u64> = 30_000..32_768;

/// Gives a service its addresses and ports, or what it had.
pub(super) fn fill(store: &Store, old: Option<&Value>, service: &mut Value) {
    let spec = &mut service["spec"];
    if !spec.is_object() {
        return;
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let own = port.get("port").cloned().unwrap_or_default().to_string();
        set(port, "targetPort", &own);
    }
    if spec["type"] == "ExternalName" {
        return;
    }
    let text = |value: Option<&Value>| value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let before = old.and_then(|old| text(old["spec"].get("clusterIP")));
    let address = text(spec.get("clusterIP")).or(before).unwrap_or_else(|| free_address(store));
    spec["clusterIPs"] = json!([address]);
    spec["clusterIP"] = address.into();
    set(spec, "ipFamilies", "[\"IPv4\"]");
    set(spec, "ipFamilyPolicy", "\"SingleStack\"");
    let on_nodes = match spec["type"].as_str() {
        Some("NodePort") => true,
        Some("LoadBalancer") => spec["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    };
    if on_nodes {
        node_ports(store, old, spec);
    }
}

fn services(store: &Store) -> Vec<crate::store::Entry> {
    let all = Query { resource: "services", ..Query::default() };
    store.list(&all, |_| true).unwrap_or_default().entries
}

fn free_address(store: &Store) -> String {
    let taken = services(store);
    let mut candidate = 0;
    for _ in 0..64 {
        // The first one is the server's own.
        let offset = u32::try_from(random::number() % u64::from(ADDRESSES - 257)).unwrap_or(0) + 256;
        candidate = NETWORK + offset;
        let text = Ipv4Addr::from(candidate).to_string();
        if !taken.iter().any(|entry| entry.value()["spec"]["clusterIP"] == text.as_str()) {
            return text;
        }
    }
    Ipv4Addr::from(candidate).to_string()
}

fn node_ports(store: &Store, old: Option<&Value>, spec: &mut Value) {
    let mut taken: Vec<u64> = Vec::new();
    for entry in services(store) {
        let ports = entry.value()["spec"]["ports"].as_array().cloned().unwrap_or_default();
        taken.extend(ports.iter().filter_map(|port| port["nodePort"].as_u64()));
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if port.get("nodePort").and_then(Value::as_u64).is_some_and(|number| number > 0) {
            continue;
        }
        let before = old.and_then(|old| old["spec"]["ports"].as_array()).into_iter().flatten();
        let same = before.clone().find(|other| other["port"] == port["port"] && other["protocol"] == port["protocol"]);
        let number = same.and_then(|other| other["nodePort"].as_u64()).unwrap_or_else(|| {
            let width = PORTS.end - PORTS.start;
            let start = random::number() % width;
            (0..width)
                .map(|step| PORTS.start + (start + step) % width)
                .find(|it| !taken.contains(it))
                .unwrap_or(PORTS.start)
        });
        taken.push(number);
        port["nodePort"] = number.into();
    }
}
