//! What is refused of network policies.

use serde_json::Value;

use super::ports;
use crate::handlers::status::Cause;

/// Adds what is wrong with the specification of a policy.
pub(crate) fn policy(spec: &Value, faults: &mut Vec<Cause>) {
    for (list, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in spec[list].as_array().into_iter().flatten().enumerate() {
            let place = format!("spec.{list}[{index}]");
            for (at, port) in rule["ports"].as_array().into_iter().flatten().enumerate() {
                self::port(&format!("{place}.ports[{at}]"), port, faults);
            }
            for (at, peer) in rule[peers].as_array().into_iter().flatten().enumerate() {
                self::peer(&format!("{place}.{peers}[{at}]"), peer, faults);
            }
        }
    }
    let types = spec["policyTypes"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if types.len() > 2 {
        faults.push(Cause::invalid(
            "spec.policyTypes",
            &spec["policyTypes"],
            "may not specify more than two policyTypes",
        ));
        return;
    }
    for (index, kind) in types
        .iter()
        .enumerate()
        .filter(|(_, kind)| *kind != "Egress" && *kind != "Ingress")
    {
        faults.push(Cause::unsupported(
            &format!("spec.policyTypes[{index}]"),
            kind,
            &["Egress", "Ingress"],
        ));
    }
}

fn port(place: &str, port: &Value, faults: &mut Vec<Cause>) {
    const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
    let at = |field: &str| format!("{place}.{field}");
    if port["protocol"]
        .as_str()
        .is_some_and(|protocol| !PROTOCOLS.contains(&protocol))
    {
        faults.push(Cause::unsupported(
            &at("protocol"),
            &port["protocol"],
            &PROTOCOLS,
        ));
    }
    ports::number_or_name(&at("port"), &port["port"], faults);
    let Some(end) = port["endPort"].as_i64() else {
        return;
    };
    match &port["port"] {
        Value::Null => faults.push(Cause::invalid(
            &at("endPort"),
            &end.into(),
            "must specify endPort along with port",
        )),
        Value::String(_) => {
            let why = "may not specify endPort when port is non-numeric";
            faults.push(Cause::invalid(&at("endPort"), &end.into(), why));
        }
        first if first.as_i64().is_some_and(|first| end < first) => {
            let why = "must be greater than or equal to `port`";
            faults.push(Cause::invalid(&at("endPort"), &end.into(), why));
        }
        _ => ports::number(&at("endPort"), &port["endPort"], faults),
    }
}

fn peer(place: &str, peer: &Value, faults: &mut Vec<Cause>) {
    let says = |field: &str| peer[field].is_object();
    let others = says("podSelector") || says("namespaceSelector");
    if says("ipBlock") {
        block(&format!("{place}.ipBlock"), &peer["ipBlock"], faults);
        if others {
            faults.push(Cause::forbidden(
                place,
                "may not specify both ipBlock and another peer",
            ));
        }
    } else if !others {
        faults.push(Cause::required(place, "must specify a peer"));
    }
}

fn block(place: &str, block: &Value, faults: &mut Vec<Cause>) {
    let at = format!("{place}.cidr");
    match block["cidr"].as_str().unwrap_or_default() {
        "" => faults.push(Cause::required(&at, "")),
        text if !is_network(text) => {
            let why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            faults.push(Cause::invalid(&at, &block["cidr"], why));
        }
        _ => {}
    }
}

fn is_network(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let most = match address.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(_)) => 32,
        Ok(std::net::IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.bytes().all(|byte| byte.is_ascii_digit())
        && bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[test]
    fn a_policy_names_peers_ports_and_directions() {
        let from = |peer: Value| json!({"ingress": [{"from": [peer]}]});
        let to = |port: Value| json!({"egress": [{"ports": [port]}]});
        for (spec, expected) in [
            (json!({}), &[][..]),
            (json!({"policyTypes": ["Ingress", "Egress"]}), &[]),
            (json!({"policyTypes": ["Inward"]}), &["spec.policyTypes[0]"]),
            (
                json!({"policyTypes": ["Ingress", "Egress", "Ingress"]}),
                &["spec.policyTypes"],
            ),
            (from(json!({"podSelector": {}})), &[]),
            (from(json!({})), &["spec.ingress[0].from[0]"]),
            (from(json!({"ipBlock": {"cidr": "10.0.0.0/8"}})), &[]),
            (
                from(json!({"ipBlock": {"cidr": "10.0.0.0/33"}})),
                &["spec.ingress[0].from[0].ipBlock.cidr"],
            ),
            (
                from(json!({"ipBlock": {}})),
                &["spec.ingress[0].from[0].ipBlock.cidr"],
            ),
            (
                from(json!({"ipBlock": {"cidr": "::/0"}, "podSelector": {}})),
                &["spec.ingress[0].from[0]"],
            ),
            (to(json!({"port": 53, "protocol": "UDP"})), &[]),
            (to(json!({"port": "dns"})), &[]),
            (
                to(json!({"port": 0, "protocol": "ICMP"})),
                &[
                    "spec.egress[0].ports[0].protocol",
                    "spec.egress[0].ports[0].port",
                ],
            ),
            (
                to(json!({"port": 80, "endPort": 79})),
                &["spec.egress[0].ports[0].endPort"],
            ),
            (
                to(json!({"endPort": 79})),
                &["spec.egress[0].ports[0].endPort"],
            ),
        ] {
            let mut found = Vec::new();
            super::policy(&spec, &mut found);
            let found: Vec<String> = found.into_iter().map(|cause| cause.field).collect();
            assert_eq!(found, expected, "{spec}");
        }
    }
}
