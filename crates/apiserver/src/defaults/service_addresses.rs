//! Addresses and ports of services. Nothing routes them, but they are there, and each is given
//! once.

use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::{Value, json};

use super::table::set;
use crate::handlers::status::Cause;
use crate::random;
use crate::storage::{Query, Store};

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
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        // A port that is not given is zero, and refused as such.
        let own = port
            .get("port")
            .and_then(Value::as_i64)
            .unwrap_or_default()
            .to_string();
        set(port, "targetPort", &own);
    }
    if spec["type"] == "ExternalName" {
        return;
    }
    let text = |value: Option<&Value>| {
        value
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let before = old.and_then(|old| text(old["spec"].get("clusterIP")));
    let address = text(spec.get("clusterIP"))
        .or(before)
        .unwrap_or_else(|| free_address(store));
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

fn services(store: &Store) -> Vec<crate::storage::Entry> {
    let all = Query {
        resource: "services",
        ..Query::default()
    };
    store.list(&all, |_| true).unwrap_or_default().entries
}

fn free_address(store: &Store) -> String {
    let taken = services(store);
    let mut candidate = 0;
    for _ in 0..64 {
        // The first one is the server's own.
        let offset =
            u32::try_from(random::number() % u64::from(ADDRESSES - 257)).unwrap_or(0) + 256;
        candidate = NETWORK + offset;
        let text = Ipv4Addr::from(candidate).to_string();
        if !taken
            .iter()
            .any(|entry| entry.value()["spec"]["clusterIP"] == text.as_str())
        {
            return text;
        }
    }
    Ipv4Addr::from(candidate).to_string()
}

fn node_ports(store: &Store, old: Option<&Value>, spec: &mut Value) {
    let mut taken: HashSet<u64> = services(store)
        .iter()
        .flat_map(|entry| ports_of(&entry.value()))
        .collect();
    taken.extend(ports(spec).filter_map(node_port));
    let free: Vec<u64> = PORTS.filter(|number| !taken.contains(number)).collect();
    let start = usize::try_from(random::number()).unwrap_or_default() % free.len().max(1);
    let mut free = free.iter().cycle().skip(start).take(free.len());
    let same = |port: &Value| (port["port"].to_string(), port["protocol"].to_string());
    let before: HashMap<_, _> = old
        .into_iter()
        .flat_map(|old| ports(&old["spec"]))
        .filter_map(|port| Some((same(port), node_port(port)?)))
        .collect();
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if node_port(port).is_none() {
            // Where all are given, the first is asked for, and refused.
            let number = before
                .get(&same(port))
                .or_else(|| free.next())
                .copied()
                .unwrap_or(PORTS.start);
            port["nodePort"] = number.into();
        }
    }
}

fn ports(spec: &Value) -> impl Iterator<Item = &Value> {
    spec["ports"].as_array().into_iter().flatten()
}

fn node_port(port: &Value) -> Option<u64> {
    port["nodePort"].as_u64().filter(|number| *number > 0)
}

/// The ports of nodes that a service has.
fn ports_of(service: &Value) -> Vec<u64> {
    let on_nodes = matches!(
        service["spec"]["type"].as_str(),
        Some("NodePort" | "LoadBalancer")
    );
    ports(&service["spec"])
        .filter(|_| on_nodes)
        .filter_map(node_port)
        .collect()
}

/// The address that a service has.
fn address_of(service: &Value) -> Option<&str> {
    let address = service["spec"]["clusterIP"]
        .as_str()
        .filter(|address| !matches!(*address, "" | "None"));
    address.filter(|_| service["spec"]["type"] != "ExternalName")
}

/// What a service asks for and cannot have. A creation asks for everything, even if the service is
/// there already: the real server looks for the name later. A dry run is not told that an address
/// is taken, as there.
pub(super) fn refused(
    store: &Store,
    old: Option<&Value>,
    service: &Value,
    dry: bool,
) -> Option<Cause> {
    let kept: HashSet<u64> = old.map(ports_of).unwrap_or_default().into_iter().collect();
    let more = ports_of(service)
        .iter()
        .any(|number| !kept.contains(number));
    if !more && old.is_some_and(|old| address_of(old).is_some()) {
        return None;
    }
    let there: Vec<Arc<Value>> = services(store)
        .iter()
        .map(crate::storage::Entry::value)
        .collect();
    address_refused(&there, old, service, dry).or_else(|| port_refused(&there, old, service))
}

fn address_refused<S>(there: &[S], old: Option<&Value>, service: &Value, dry: bool) -> Option<Cause>
where
    S: Deref<Target = Value>,
{
    // What a service has does not change, which is told elsewhere.
    let address = address_of(service).filter(|_| old.and_then(address_of).is_none())?;
    let is_taken = || there.iter().any(|other| address_of(other) == Some(address));
    let offset = address
        .parse::<Ipv4Addr>()
        .ok()?
        .to_bits()
        .wrapping_sub(NETWORK);
    let why = match offset {
        ADDRESSES.. if dry => {
            format!(
                "the provided IP ({address}) is not in the valid range. The range of valid IPs is 10.96.0.0/16"
            )
        }
        ADDRESSES.. => "the provided network does not match the current range".to_owned(),
        // The first one is the server's own.
        _ if !dry && (offset == 1 || is_taken()) => "provided IP is already allocated".to_owned(),
        _ => return None,
    };
    let why = format!("failed to allocate IP {address}: {why}");
    Some(Cause::invalid(
        "spec.clusterIPs",
        &service["spec"]["clusterIPs"],
        &why,
    ))
}

fn port_refused<S>(there: &[S], old: Option<&Value>, service: &Value) -> Option<Cause>
where
    S: Deref<Target = Value>,
{
    let taken: HashSet<u64> = there.iter().flat_map(|other| ports_of(other)).collect();
    let kept: HashSet<u64> = old.map(ports_of).unwrap_or_default().into_iter().collect();
    // One number serves one port by several protocols.
    let mut own: HashMap<u64, &Value> = HashMap::new();
    for (index, port) in ports(&service["spec"]).enumerate() {
        let Some(number) = node_port(port).filter(|number| !kept.contains(number)) else {
            continue;
        };
        let shared = own.insert(number, &port["port"]);
        let why = if !PORTS.contains(&number) {
            "provided port is not in the valid range. The range of valid ports is 30000-32767"
        } else if taken.contains(&number)
            || shared.is_some_and(|other| old.is_none() && *other != port["port"])
        {
            "provided port is already allocated"
        } else {
            continue;
        };
        return Some(Cause::invalid(
            &format!("spec.ports[{index}].nodePort"),
            &port["nodePort"],
            why,
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{address_refused, port_refused};

    fn service(kind: &str, address: &str, ports: &[(u64, u64)]) -> Value {
        let ports: Vec<Value> = ports
            .iter()
            .map(|(port, node)| json!({"port": port, "nodePort": node}))
            .collect();
        json!({"spec": {"type": kind, "clusterIP": address, "clusterIPs": [address], "ports": ports}})
    }

    #[test]
    fn what_one_service_has_another_cannot_have() {
        let there = [
            &service("NodePort", "10.96.0.77", &[(80, 30_999), (81, 31_000)]),
            &service("ExternalName", "10.96.0.78", &[]),
            &service("ClusterIP", "10.96.0.79", &[(80, 31_001)]),
            &service("ClusterIP", "None", &[]),
        ];
        let first = Some(there[0]);
        for (old, kind, address, ports, expected) in [
            (
                None,
                "ClusterIP",
                "10.96.0.77",
                &[][..],
                Some("spec.clusterIPs"),
            ),
            (None, "ClusterIP", "10.96.0.1", &[], Some("spec.clusterIPs")),
            (
                None,
                "ClusterIP",
                "10.95.255.255",
                &[],
                Some("spec.clusterIPs"),
            ),
            (None, "ClusterIP", "10.97.0.0", &[], Some("spec.clusterIPs")),
            (None, "ClusterIP", "10.96.0.78", &[], None),
            (None, "ClusterIP", "None", &[], None),
            (None, "ExternalName", "10.96.0.77", &[], None),
            (
                None,
                "NodePort",
                "10.96.1.1",
                &[(80, 30_998), (81, 30_999)],
                Some("spec.ports[1].nodePort"),
            ),
            (
                None,
                "NodePort",
                "10.96.1.1",
                &[(80, 29_999)],
                Some("spec.ports[0].nodePort"),
            ),
            (
                None,
                "LoadBalancer",
                "10.96.1.1",
                &[(80, 31_000)],
                Some("spec.ports[0].nodePort"),
            ),
            (None, "NodePort", "10.96.1.1", &[(80, 31_001)], None),
            // By two protocols, or as two ports.
            (
                None,
                "NodePort",
                "10.96.1.1",
                &[(53, 30_053), (53, 30_053)],
                None,
            ),
            (
                None,
                "NodePort",
                "10.96.1.1",
                &[(53, 30_053), (54, 30_053)],
                Some("spec.ports[1].nodePort"),
            ),
            // What a service has it keeps.
            (
                first,
                "NodePort",
                "10.96.0.77",
                &[(80, 30_999), (82, 31_000)],
                None,
            ),
            (first, "NodePort", "10.96.0.77", &[(80, 31_002)], None),
            (
                Some(there[2]),
                "NodePort",
                "10.96.0.79",
                &[(80, 30_999)],
                Some("spec.ports[0].nodePort"),
            ),
            (
                Some(there[1]),
                "ClusterIP",
                "10.96.0.77",
                &[],
                Some("spec.clusterIPs"),
            ),
        ] {
            let new = service(kind, address, ports);
            let found = address_refused(&there, old, &new, false)
                .or_else(|| port_refused(&there, old, &new));
            assert_eq!(found.map(|cause| cause.field).as_deref(), expected, "{new}");
        }
    }
}
