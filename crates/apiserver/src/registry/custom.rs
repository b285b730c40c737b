//! What a definition says of a resource: its schema and rules, columns, subresources and selectable
//! fields.

use std::sync::{Arc, OnceLock};

use base64::{Engine, engine::general_purpose::STANDARD};
use objects::{Schema, shape::Shapes};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Served, Subresource, api_version, table_name};

/// What a version of a definition says beyond names.
#[derive(Debug)]
pub struct Custom {
    /// The name of the definition.
    pub definition: String,
    /// Its schema, to prune, default and validate by, with its CEL rules.
    pub schema: Schema,
    /// The types of its fields.
    pub shapes: Arc<Shapes>,
    /// Its schema as it was written.
    pub raw: Value,
    /// Its columns: `additionalPrinterColumns` as they were written.
    pub columns: Vec<Value>,
    /// Paths of fields that can be selected by, as `spec.colour`.
    pub selectable: Vec<String>,
    /// Where the replicas are, if it can be scaled.
    pub scale: Option<Scale>,
    /// Whether the definition is going, so that nothing new may come.
    pub terminating: bool,
    /// What to warn of when this version is used.
    pub deprecation: Option<String>,
}

/// Where the parts of a `Scale` are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Such as `.spec.replicas`.
    pub spec: String,
    /// Such as `.status.replicas`.
    pub status: String,
    /// Such as `.status.selector`.
    pub selector: Option<String>,
}

/// The resources of a definition, one for each version that is served.
pub(crate) fn versions(definition: &Value) -> Vec<Arc<Served>> {
    let spec = &definition["spec"];
    let names = &spec["names"];
    let (group, plural, kind) = (
        text(&spec["group"]),
        text(&names["plural"]),
        text(&names["kind"]),
    );
    let versions = spec["versions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let stored = versions
        .iter()
        .find(|version| version["storage"] == true)
        .map(|version| text(&version["name"]));
    let Some(stored) = stored else {
        return Vec::new();
    };
    let singular = names["singular"]
        .as_str()
        .map_or_else(|| kind.to_lowercase(), str::to_owned);
    let list_kind = names["listKind"]
        .as_str()
        .map_or_else(|| format!("{kind}List"), str::to_owned);
    let hash = Sha256::digest(format!("{group}/{stored}/{kind}").as_bytes());
    let storage_hash = STANDARD.encode(&hash[..8]);
    let serve = |version: &Value| {
        let name = text(&version["name"]);
        let scale = scale(&version["subresources"]["scale"]);
        let mut subresources = Vec::new();
        if version["subresources"]["status"].is_object() {
            subresources.push(subresource("status", &kind, None));
        }
        if scale.is_some() {
            subresources.push(subresource(
                "scale",
                "Scale",
                Some(("autoscaling".to_owned(), "v1".to_owned())),
            ));
        }
        let raw = version["schema"]["openAPIV3Schema"].clone();
        let custom = Custom {
            definition: text(&definition["metadata"]["name"]),
            schema: Schema::read(&raw).0,
            shapes: Arc::new(Shapes::crd(&raw, false)),
            raw,
            columns: version["additionalPrinterColumns"]
                .as_array()
                .cloned()
                .unwrap_or_default(),
            selectable: selectable(&version["selectableFields"]),
            scale,
            terminating: definition["metadata"]["deletionTimestamp"].is_string(),
            deprecation: deprecation(version, &api_version(&group, &name), &kind),
        };
        Arc::new(Served {
            types: OnceLock::new(),
            is_stored: name == stored,
            version: name,
            subresources,
            custom: Some(Arc::new(custom)),
            table: table_name(&group, &plural),
            stored_as: api_version(&group, &stored),
            namespaced: spec["scope"] == "Namespaced",
            short_names: texts(&names["shortNames"]),
            categories: texts(&names["categories"]),
            verbs: VERBS.map(str::to_owned).to_vec(),
            storage_hash: storage_hash.clone(),
            group: group.clone(),
            plural: plural.clone(),
            singular: singular.clone(),
            kind: kind.clone(),
            list_kind: list_kind.clone(),
        })
    };
    versions
        .iter()
        .filter(|version| version["served"] == true)
        .map(serve)
        .collect()
}

/// In the order in which the real server lists them.
const VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

fn subresource(name: &str, kind: &str, group_version: Option<(String, String)>) -> Subresource {
    let verbs = ["get", "patch", "update"].map(str::to_owned).to_vec();
    Subresource {
        name: name.to_owned(),
        kind: kind.to_owned(),
        group_version,
        verbs,
    }
}

fn scale(scale: &Value) -> Option<Scale> {
    Some(Scale {
        spec: scale["specReplicasPath"].as_str()?.to_owned(),
        status: scale["statusReplicasPath"].as_str()?.to_owned(),
        selector: scale["labelSelectorPath"].as_str().map(str::to_owned),
    })
}

fn selectable(fields: &Value) -> Vec<String> {
    let path = |field: &Value| {
        field["jsonPath"]
            .as_str()
            .map(|path| path.trim_start_matches('.').to_owned())
    };
    fields
        .as_array()
        .map(|fields| fields.iter().filter_map(path).collect())
        .unwrap_or_default()
}

fn deprecation(version: &Value, api_version: &str, kind: &str) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    let own = version["deprecationWarning"].as_str().map(str::to_owned);
    Some(own.unwrap_or_else(|| format!("{api_version} {kind} is deprecated")))
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
