//! Turns a CRD of v1beta1 into v1, and puts either into the shape in which it is applied.

use objects::{Path, Step};
use serde_json::{Map, Value, json};

/// A CRD as v1.
pub(super) struct Converted {
    pub(super) object: Value,
    /// For each version, where in the document its schema was written, if it was.
    pub(super) schemas: Vec<Option<Path>>,
}

/// What is of no use in an object that is to be applied.
const SERVER_SIDE: [&str; 6] = [
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

pub(super) fn convert(document: &Value, beta: bool) -> Converted {
    let mut object = document.clone();
    let mut schemas = Vec::new();
    if let Value::Object(fields) = &mut object {
        fields.insert("apiVersion".into(), "apiextensions.k8s.io/v1".into());
        // Generators write an empty status, which v1 refuses to be given.
        fields.remove("status");
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            metadata.retain(|name, _| !SERVER_SIDE.contains(&name.as_str()));
        }
        if let Some(Value::Object(spec)) = fields.get_mut("spec") {
            schemas = if beta { upgrade(spec) } else { places(spec) };
            complete(spec);
        }
    }
    Converted { object, schemas }
}

/// Where the schemas of a v1 CRD are.
fn places(spec: &Map<String, Value>) -> Vec<Option<Path>> {
    let versions = spec.get("versions").and_then(Value::as_array);
    let place = |(index, version): (usize, &Value)| {
        version
            .pointer("/schema/openAPIV3Schema")
            .map(|_| own(index))
    };
    versions
        .into_iter()
        .flatten()
        .enumerate()
        .map(place)
        .collect()
}

fn own(version: usize) -> Path {
    [
        Step::from("spec"),
        "versions".into(),
        version.into(),
        "schema".into(),
        "openAPIV3Schema".into(),
    ]
    .into_iter()
    .collect()
}

/// Moves what v1beta1 says of all versions at once into each of them.
fn upgrade(spec: &mut Map<String, Value>) -> Vec<Option<Path>> {
    let version = spec.remove("version");
    let shared: Vec<(&str, Value)> = [("validation", "schema"), ("subresources", "subresources")]
        .into_iter()
        .chain([
            ("additionalPrinterColumns", "additionalPrinterColumns"),
            ("selectableFields", "selectableFields"),
        ])
        .filter_map(|(from, to)| Some((to, spec.remove(from).filter(|value| !value.is_null())?)))
        .collect();
    let preserve = spec.remove("preserveUnknownFields") == Some(Value::Bool(true));
    spec.entry("scope").or_insert_with(|| "Namespaced".into());
    conversion(spec);
    let versions = spec.entry("versions").or_insert_with(|| json!([]));
    if versions.as_array().is_some_and(Vec::is_empty)
        && let Some(name) = version
    {
        *versions = json!([{ "name": name, "served": true, "storage": true }]);
    }
    let mut schemas = Vec::new();
    for (index, version) in versions.as_array_mut().into_iter().flatten().enumerate() {
        let Value::Object(version) = version else {
            schemas.push(None);
            continue;
        };
        let own_schema = version
            .get("schema")
            .is_some_and(|schema| schema.get("openAPIV3Schema").is_some());
        for (name, value) in &shared {
            version.entry(*name).or_insert_with(|| value.clone());
        }
        let place = if own_schema {
            own(index)
        } else {
            Path::fields(&["spec", "validation", "openAPIV3Schema"])
        };
        schemas.push(schema(version, preserve).then_some(place));
        columns(version);
    }
    schemas
}

/// Makes a schema of v1beta1 structural, where it only left out what is plain. False if there was
/// none.
fn schema(version: &mut Map<String, Value>, preserve: bool) -> bool {
    let schema = version.entry("schema").or_insert_with(|| json!({}));
    match schema.get_mut("openAPIV3Schema") {
        Some(schema) if !schema.is_null() => {
            structure(schema, preserve, 0);
            true
        }
        _ => {
            // v1beta1 takes anything then, and v1 takes anything only when told so.
            *schema = json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
            false
        }
    }
}

/// Deeper schemas are refused when they are read.
const DEPTH: usize = 100;

fn structure(schema: &mut Value, preserve: bool, depth: usize) {
    let Value::Object(fields) = schema else {
        return;
    };
    if depth > DEPTH {
        return;
    }
    let object = depth == 0
        || fields.contains_key("properties")
        || fields.contains_key("additionalProperties");
    if !fields.contains_key("type") && !fields.contains_key("x-kubernetes-int-or-string") {
        if object {
            fields.insert("type".into(), "object".into());
        } else if fields.contains_key("items") {
            fields.insert("type".into(), "array".into());
        }
    }
    let is_object = fields.get("type").is_some_and(|kind| kind == "object");
    if preserve && is_object && !fields.contains_key("additionalProperties") {
        fields.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties
            .values_mut()
            .for_each(|property| structure(property, preserve, depth + 1));
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = fields.get_mut(name) {
            structure(inner, preserve, depth + 1);
        }
    }
}

fn columns(version: &mut Map<String, Value>) {
    let columns = version
        .get_mut("additionalPrinterColumns")
        .and_then(Value::as_array_mut);
    for column in columns
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        if let Some(path) = column.remove("JSONPath") {
            column.insert("jsonPath".into(), path);
        }
    }
}

fn conversion(spec: &mut Map<String, Value>) {
    let Some(Value::Object(conversion)) = spec.get_mut("conversion") else {
        return;
    };
    let mut webhook = Map::new();
    for (from, to) in [
        ("webhookClientConfig", "clientConfig"),
        ("conversionReviewVersions", "conversionReviewVersions"),
    ] {
        if let Some(value) = conversion.remove(from) {
            webhook.insert(to.into(), value);
        }
    }
    if !webhook.is_empty()
        && conversion
            .get("strategy")
            .is_some_and(|strategy| strategy == "Webhook")
    {
        conversion.insert("webhook".into(), webhook.into());
    }
}

/// Fills in the names that the API server would fill in.
fn complete(spec: &mut Map<String, Value>) {
    let Some(Value::Object(names)) = spec.get_mut("names") else {
        return;
    };
    let Some(kind) = names.get("kind").and_then(Value::as_str).map(str::to_owned) else {
        return;
    };
    for (name, value) in [
        ("singular", kind.to_lowercase()),
        ("listKind", format!("{kind}List")),
    ] {
        if names
            .get(name)
            .is_none_or(|given| given.is_null() || given == "")
        {
            names.insert(name.into(), value.into());
        }
    }
}
