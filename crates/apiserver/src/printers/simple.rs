//! Cells that are a field, or that all kinds have.

use serde_json::{Value, json};

use super::format::{age, items, joined, text};

/// Fields by the kind and the column, and what is shown where there is none.
const FIELDS: [(&str, &str, &str, &str); 22] = [
    ("namespaces", "Status", "/status/phase", ""),
    ("secrets", "Type", "/type", ""),
    ("leases", "Holder", "/spec/holderIdentity", ""),
    ("runtimeclasses", "Handler", "/handler", ""),
    (
        "priorityclasses",
        "PreemptionPolicy",
        "/preemptionPolicy",
        "",
    ),
    (
        "mutatingadmissionpolicybindings",
        "PolicyName",
        "/spec/policyName",
        "",
    ),
    (
        "validatingadmissionpolicybindings",
        "PolicyName",
        "/spec/policyName",
        "",
    ),
    (
        "mutatingadmissionpolicybindings",
        "ParamRef",
        "/spec/paramRef/name",
        "<unset>",
    ),
    (
        "validatingadmissionpolicybindings",
        "ParamRef",
        "/spec/paramRef/name",
        "<unset>",
    ),
    (
        "mutatingadmissionpolicies",
        "ParamKind",
        "/spec/paramKind/kind",
        "<unset>",
    ),
    (
        "validatingadmissionpolicies",
        "ParamKind",
        "/spec/paramKind/kind",
        "<unset>",
    ),
    (
        "certificatesigningrequests",
        "SignerName",
        "/spec/signerName",
        "<none>",
    ),
    (
        "certificatesigningrequests",
        "Requestor",
        "/spec/username",
        "",
    ),
    (
        "flowschemas",
        "PriorityLevel",
        "/spec/priorityLevelConfiguration/name",
        "",
    ),
    (
        "flowschemas",
        "DistinguisherMethod",
        "/spec/distinguisherMethod/type",
        "<none>",
    ),
    ("prioritylevelconfigurations", "Type", "/spec/type", ""),
    ("resourceslices", "Node", "/spec/nodeName", ""),
    ("resourceslices", "Driver", "/spec/driver", ""),
    ("resourceslices", "Pool", "/spec/pool/name", ""),
    ("volumeattachments", "Attacher", "/spec/attacher", ""),
    ("volumeattachments", "Node", "/spec/nodeName", ""),
    ("volumeattributesclasses", "DriverName", "/driverName", ""),
];

/// The cell, if it is a simple one.
pub(super) fn cell(plural: &str, column: &str, object: &Value) -> Option<Value> {
    if let Some((_, _, pointer, absent)) = FIELDS
        .iter()
        .find(|(kind, name, ..)| (*kind, *name) == (plural, column))
    {
        let found = text(object, pointer);
        return Some(if found.is_empty() {
            (*absent).into()
        } else {
            found.into()
        });
    }
    let containers = || items(object, "/spec/template/spec/containers");
    Some(match column {
        "Name" => text(object, "/metadata/name").into(),
        "Age" => age(text(object, "/metadata/creationTimestamp")),
        "Created At" => text(object, "/metadata/creationTimestamp").into(),
        "Containers" => joined(containers(), "name"),
        "Images" => joined(containers(), "image"),
        "Webhooks" => json!(items(object, "/webhooks").len()),
        "Validations" => json!(items(object, "/spec/validations").len()),
        "Mutations" => json!(items(object, "/spec/mutations").len()),
        "Drivers" => json!(items(object, "/spec/drivers").len()),
        _ => return None,
    })
}
