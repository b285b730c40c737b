//! The built-in resources, from what was recorded of the real server. Their types are read when
//! they are first needed.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::{Served, Subresource, api_version, table_name};
use crate::recorded;

/// Resources that are stored as another one: group, version and plural, and the group and version
/// of the other.
const SHARED: [(&str, &str, &str, &str, &str); 2] = [
    ("events.k8s.io", "v1", "events", "", "v1"),
    (
        "autoscaling",
        "v1",
        "horizontalpodautoscalers",
        "autoscaling",
        "v2",
    ),
];

/// Every built-in resource.
pub(super) fn read() -> Vec<Arc<Served>> {
    let Some(Value::Object(lists)) = recorded::value("resources") else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (path, list) in &lists {
        let mut parts = path.split('/').skip(1);
        let (group, version) = match (parts.next(), parts.next()) {
            (Some(group), Some(version)) => (group, version),
            (Some(version), None) => ("", version),
            _ => continue,
        };
        all.extend(of_version(group, version, list).into_iter().map(Arc::new));
    }
    all
}

pub(super) fn of_version(group: &str, version: &str, list: &Value) -> Vec<Served> {
    let resources = list["resources"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut found: Vec<Served> = Vec::new();
    for resource in resources {
        let Some(name) = resource["name"].as_str() else {
            continue;
        };
        match name.split_once('/') {
            None => found.push(served(group, version, name, resource)),
            // A subresource follows its resource, or stands alone where nothing can be done with
            // that.
            Some((plural, sub)) => {
                if !found.iter().any(|served| served.plural == plural) {
                    let alone = json!({ "namespaced": resource["namespaced"] });
                    found.push(served(group, version, plural, &alone));
                }
                if let Some(owner) = found.iter_mut().find(|served| served.plural == plural) {
                    owner.subresources.push(subresource(sub, resource));
                }
            }
        }
    }
    found
}

fn served(group: &str, version: &str, plural: &str, resource: &Value) -> Served {
    let kind = text(&resource["kind"]);
    let shared = SHARED
        .iter()
        .find(|other| (other.0, other.1, other.2) == (group, version, plural));
    let (stored_group, stored_version) =
        shared.map_or((group, version), |other| (other.3, other.4));
    Served {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: plural.to_owned(),
        singular: text(&resource["singularName"]),
        list_kind: format!("{kind}List"),
        kind,
        namespaced: resource["namespaced"] == true,
        short_names: texts(&resource["shortNames"]),
        categories: texts(&resource["categories"]),
        verbs: texts(&resource["verbs"]),
        subresources: Vec::new(),
        table: table_name(stored_group, plural),
        stored_as: api_version(stored_group, stored_version),
        is_stored: shared.is_none(),
        storage_hash: text(&resource["storageVersionHash"]),
        custom: None,
        types: OnceLock::new(),
    }
}

fn subresource(name: &str, resource: &Value) -> Subresource {
    let version = resource["version"].as_str();
    Subresource {
        name: name.to_owned(),
        kind: text(&resource["kind"]),
        group_version: version.map(|version| (text(&resource["group"]), version.to_owned())),
        verbs: texts(&resource["verbs"]),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value
        .as_array()
        .map(|items| items.iter().map(text).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_everyday_resources_are_there_with_their_subresources() {
        let all = read();
        let find = |table: &str| {
            all.iter()
                .find(|served| &*served.table == table && served.is_stored)
        };
        for (table, kind, namespaced, status) in [
            ("pods", "Pod", true, true),
            ("namespaces", "Namespace", false, true),
            ("configmaps", "ConfigMap", true, false),
            ("deployments.apps", "Deployment", true, true),
            (
                "horizontalpodautoscalers.autoscaling",
                "HorizontalPodAutoscaler",
                true,
                true,
            ),
            (
                "customresourcedefinitions.apiextensions.k8s.io",
                "CustomResourceDefinition",
                false,
                true,
            ),
        ] {
            let served = find(table).unwrap();
            assert_eq!(
                (&*served.kind, served.namespaced, served.has_status()),
                (kind, namespaced, status),
                "{table}"
            );
        }
        let scale = find("deployments.apps")
            .unwrap()
            .subresource("scale")
            .unwrap()
            .clone();
        assert_eq!(
            scale.group_version,
            Some(("autoscaling".to_owned(), "v1".to_owned()))
        );
        let events: Vec<_> = all
            .iter()
            .filter(|served| served.plural == "events")
            .map(|served| &*served.table)
            .collect();
        assert_eq!(events, ["events", "events"], "one table for both groups");
    }
}
