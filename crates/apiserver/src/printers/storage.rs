//! Volumes, claims and their classes, as rows.

use serde_json::{Value, json};

use super::format::{items, text, texts};

/// The annotation of the class that is taken where none is named.
const DEFAULT_CLASS: &str = "/metadata/annotations/storageclass.kubernetes.io~1is-default-class";

/// The cell, if the kind has one of its own there.
pub(super) fn cell(plural: &str, column: &str, object: &Value) -> Option<Value> {
    let is_claim = plural == "persistentvolumeclaims";
    Some(match (plural, column) {
        ("storageclasses", "Name") => {
            let mark = if text(object, DEFAULT_CLASS) == "true" {
                " (default)"
            } else {
                ""
            };
            format!("{}{mark}", text(object, "/metadata/name")).into()
        }
        ("storageclasses", "Provisioner") => text(object, "/provisioner").into(),
        ("storageclasses", "ReclaimPolicy") => or(text(object, "/reclaimPolicy"), "Delete"),
        ("storageclasses", "VolumeBindingMode") => {
            or(text(object, "/volumeBindingMode"), "Immediate")
        }
        ("storageclasses", "AllowVolumeExpansion") => json!(object["allowVolumeExpansion"] == true),
        ("csidrivers", "AttachRequired") => {
            json!(object.pointer("/spec/attachRequired") != Some(&json!(false)))
        }
        ("csidrivers", "PodInfoOnMount") => {
            json!(object.pointer("/spec/podInfoOnMount") == Some(&json!(true)))
        }
        ("csidrivers", "StorageCapacity") => {
            json!(object.pointer("/spec/storageCapacity") == Some(&json!(true)))
        }
        ("csidrivers", "RequiresRepublish") => {
            json!(object.pointer("/spec/requiresRepublish") == Some(&json!(true)))
        }
        ("csidrivers", "TokenRequests") => {
            let audiences: Vec<&str> = items(object, "/spec/tokenRequests")
                .iter()
                .map(|request| text(request, "/audience"))
                .collect();
            or(&audiences.join(","), "<unset>")
        }
        ("csidrivers", "Modes") => or(
            &texts(items(object, "/spec/volumeLifecycleModes")).join(","),
            "<none>",
        ),
        (_, "Status") if object.pointer("/metadata/deletionTimestamp").is_some() => {
            "Terminating".into()
        }
        (_, "Status") => text(object, "/status/phase").into(),
        (_, "Volume") => text(object, "/spec/volumeName").into(),
        (_, "Capacity") if is_claim && text(object, "/spec/volumeName").is_empty() => "".into(),
        (_, "Capacity") if is_claim => text(object, "/status/capacity/storage").into(),
        (_, "Capacity") => text(object, "/spec/capacity/storage").into(),
        (_, "Access Modes") if is_claim && text(object, "/spec/volumeName").is_empty() => "".into(),
        (_, "Access Modes") if is_claim => modes(items(object, "/status/accessModes")).into(),
        (_, "Access Modes") => modes(items(object, "/spec/accessModes")).into(),
        (_, "StorageClass") => text(object, "/spec/storageClassName").into(),
        (_, "VolumeAttributesClass") => {
            or(text(object, "/spec/volumeAttributesClassName"), "<unset>")
        }
        (_, "VolumeMode") => or(text(object, "/spec/volumeMode"), "<unset>"),
        (_, "Reclaim Policy") => text(object, "/spec/persistentVolumeReclaimPolicy").into(),
        (_, "Reason") => text(object, "/status/reason").into(),
        (_, "Claim") => match object.pointer("/spec/claimRef") {
            Some(claim) => format!("{}/{}", text(claim, "/namespace"), text(claim, "/name")).into(),
            None => "".into(),
        },
        _ => return None,
    })
}

fn or(text: &str, absent: &str) -> Value {
    if text.is_empty() {
        absent.into()
    } else {
        text.into()
    }
}

/// Access modes by their letters.
fn modes(modes: &[Value]) -> String {
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let found = short
        .iter()
        .filter(|(long, _)| modes.iter().any(|mode| mode == long));
    found.map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}
