//! Nodes, events, quotas, rights and the rest, as rows.

use serde_json::{Value, json};

use super::format::{age, count, either, items, number, or_none, text};

/// The cell, if the kind has one of its own there.
pub(super) fn cell(plural: &str, column: &str, object: &Value) -> Option<Value> {
    match plural {
        "events" => event(column, object),
        "nodes" => node(column, object),
        "rolebindings" | "clusterrolebindings" => binding(column, object),
        _ => other(plural, column, object),
    }
}

fn other(plural: &str, column: &str, object: &Value) -> Option<Value> {
    Some(match (plural, column) {
        ("configmaps", "Data") => json!(count(object, "/data") + count(object, "/binaryData")),
        ("secrets", "Data") => json!(count(object, "/data")),
        ("resourcequotas", "Request") => quota(object, false).into(),
        ("resourcequotas", "Limit") => quota(object, true).into(),
        ("poddisruptionbudgets", "Min Available") => either(object, "/spec/minAvailable", "N/A"),
        ("poddisruptionbudgets", "Max Unavailable") => {
            either(object, "/spec/maxUnavailable", "N/A")
        }
        ("poddisruptionbudgets", "Allowed Disruptions") => {
            json!(number(object, "/status/disruptionsAllowed"))
        }
        ("priorityclasses", "Value") => json!(number(object, "/value")),
        ("priorityclasses", "Global-Default") => json!(object["globalDefault"] == true),
        ("flowschemas", "MatchingPrecedence") => json!(number(object, "/spec/matchingPrecedence")),
        ("flowschemas", "MissingPL") => condition(object, "Dangling").into(),
        ("prioritylevelconfigurations", "NominalConcurrencyShares") => {
            let limited = either(object, "/spec/limited/nominalConcurrencyShares", "");
            if limited == "" {
                either(object, "/spec/exempt/nominalConcurrencyShares", "<none>")
            } else {
                limited
            }
        }
        ("prioritylevelconfigurations", _) => {
            let field = match column {
                "Queues" => "queues",
                "HandSize" => "handSize",
                "QueueLengthLimit" => "queueLengthLimit",
                _ => return None,
            };
            either(
                object,
                &format!("/spec/limited/limitResponse/queuing/{field}"),
                "<none>",
            )
        }
        ("apiservices", "Service") => match object.pointer("/spec/service") {
            Some(service) => {
                format!("{}/{}", text(service, "/namespace"), text(service, "/name")).into()
            }
            None => "Local".into(),
        },
        ("apiservices", "Available") => condition(object, "Available").into(),
        ("servicecidrs", "CIDRs") => super::format::texts(items(object, "/spec/cidrs"))
            .join(",")
            .into(),
        ("ipaddresses", "ParentRef") => {
            let to = |field: &str| text(object, &format!("/spec/parentRef/{field}"));
            let parts = [to("resource"), to("namespace"), to("name")].join("/");
            match to("group") {
                "" => parts.into(),
                group => format!("{group}.{parts}").into(),
            }
        }
        ("certificatesigningrequests", "RequestedDuration") => {
            match object
                .pointer("/spec/expirationSeconds")
                .and_then(Value::as_i64)
            {
                Some(seconds) => super::format::duration(seconds).into(),
                None => "<none>".into(),
            }
        }
        ("certificatesigningrequests", "Condition") => {
            let mut found: Vec<&str> = items(object, "/status/conditions")
                .iter()
                .map(|condition| text(condition, "/type"))
                .collect();
            if found.is_empty() {
                found.push("Pending");
            } else if !text(object, "/status/certificate").is_empty() {
                found.push("Issued");
            }
            found.join(",").into()
        }
        ("resourceclaims", "State") => claim(object).into(),
        ("volumeattachments", "PV") => text(object, "/spec/source/persistentVolumeName").into(),
        ("volumeattachments", "Attached") => {
            json!(object.pointer("/status/attached") == Some(&json!(true)))
        }
        _ => return None,
    })
}

fn event(column: &str, event: &Value) -> Option<Value> {
    let object = if event.get("regarding").is_some() {
        "regarding"
    } else {
        "involvedObject"
    };
    let first = |pointers: &[&str]| {
        pointers
            .iter()
            .map(|pointer| text(event, pointer))
            .find(|found| !found.is_empty())
            .unwrap_or_default()
    };
    let last = first(&[
        "/series/lastObservedTime",
        "/lastTimestamp",
        "/deprecatedLastTimestamp",
        "/eventTime",
    ]);
    let begin = first(&["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime"]);
    Some(match column {
        "Last Seen" => age(last),
        "First Seen" => age(begin),
        "Type" => text(event, "/type").into(),
        "Reason" => text(event, "/reason").into(),
        "Object" => {
            let kind = text(event, &format!("/{object}/kind")).to_lowercase();
            match text(event, &format!("/{object}/name")) {
                "" => kind.into(),
                name => format!("{kind}/{name}").into(),
            }
        }
        "Subobject" => text(event, &format!("/{object}/fieldPath")).into(),
        "Source" => {
            let component = first(&[
                "/source/component",
                "/deprecatedSource/component",
                "/reportingComponent",
                "/reportingController",
            ]);
            let host = first(&[
                "/source/host",
                "/deprecatedSource/host",
                "/reportingInstance",
            ]);
            let parts: Vec<&str> = [component, host]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect();
            parts.join(", ").into()
        }
        "Message" => first(&["/message", "/note"]).trim().into(),
        "Count" => {
            let number = ["/series/count", "/count", "/deprecatedCount"]
                .iter()
                .find_map(|pointer| {
                    event
                        .pointer(pointer)
                        .and_then(Value::as_i64)
                        .filter(|&number| number > 0)
                });
            json!(number.unwrap_or(1))
        }
        "Name" => text(event, "/metadata/name").into(),
        _ => return None,
    })
}

fn node(column: &str, node: &Value) -> Option<Value> {
    let address = |kind: &str| {
        let addresses = items(node, "/status/addresses");
        or_none(
            addresses
                .iter()
                .find(|address| address["type"] == kind)
                .map_or("", |found| text(found, "/address")),
        )
    };
    let info = |field: &str| match text(node, &format!("/status/nodeInfo/{field}")) {
        "" => "<unknown>".into(),
        found => Value::from(found),
    };
    Some(match column {
        "Status" => {
            let mut state = match condition(node, "Ready").as_str() {
                "True" => "Ready",
                "Unknown" => "Unknown",
                _ => "NotReady",
            }
            .to_owned();
            if node.pointer("/spec/unschedulable") == Some(&json!(true)) {
                state.push_str(",SchedulingDisabled");
            }
            state.into()
        }
        "Roles" => {
            let labels = node.pointer("/metadata/labels").and_then(Value::as_object);
            let role = |key: &String| {
                key.strip_prefix("node-role.kubernetes.io/")
                    .map(str::to_owned)
            };
            let roles: Vec<String> = labels
                .into_iter()
                .flatten()
                .filter_map(|(key, _)| role(key))
                .collect();
            or_none(&roles.join(","))
        }
        "Version" => text(node, "/status/nodeInfo/kubeletVersion").into(),
        "Internal-IP" => address("InternalIP"),
        "External-IP" => address("ExternalIP"),
        "OS-Image" => info("osImage"),
        "Kernel-Version" => info("kernelVersion"),
        "Container-Runtime" => info("containerRuntimeVersion"),
        _ => return None,
    })
}

fn binding(column: &str, binding: &Value) -> Option<Value> {
    let named = |kind: &str| {
        let subjects = items(binding, "/subjects")
            .iter()
            .filter(|subject| subject["kind"] == kind);
        let name = |subject: &Value| match text(subject, "/namespace") {
            "" => text(subject, "/name").to_owned(),
            namespace => format!("{namespace}/{}", text(subject, "/name")),
        };
        Value::from(subjects.map(name).collect::<Vec<_>>().join(", "))
    };
    Some(match column {
        "Role" => format!(
            "{}/{}",
            text(binding, "/roleRef/kind"),
            text(binding, "/roleRef/name")
        )
        .into(),
        "Users" => named("User"),
        "Groups" => named("Group"),
        "ServiceAccounts" => named("ServiceAccount"),
        _ => return None,
    })
}

/// What is used of what may be: `pods: 1/3`; limits are told apart from requests.
fn quota(quota: &Value, limits: bool) -> String {
    let Some(hard) = quota
        .pointer("/status/hard")
        .or_else(|| quota.pointer("/spec/hard"))
        .and_then(Value::as_object)
    else {
        return String::new();
    };
    let shown = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let one = |(name, most): (&String, &Value)| {
        let used = quota
            .pointer("/status/used")
            .and_then(|used| used.get(name))
            .map_or("0".to_owned(), shown);
        format!("{name}: {used}/{}", shown(most))
    };
    hard.iter()
        .filter(|(name, _)| name.starts_with("limits.") == limits)
        .map(one)
        .collect::<Vec<_>>()
        .join(", ")
}

fn condition(object: &Value, kind: &str) -> String {
    let conditions = items(object, "/status/conditions");
    conditions
        .iter()
        .find(|condition| condition["type"] == kind)
        .map_or("Unknown", |found| text(found, "/status"))
        .to_owned()
}

fn claim(claim: &Value) -> String {
    let mut states = Vec::new();
    if claim.pointer("/metadata/deletionTimestamp").is_some() {
        states.push("deleted");
    }
    states.push(if claim.pointer("/status/allocation").is_some() {
        "allocated"
    } else {
        "pending"
    });
    if !items(claim, "/status/reservedFor").is_empty() {
        states.push("reserved");
    }
    states.join(",")
}
