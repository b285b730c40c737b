//! The types of everything that is served, as OpenAPI documents: as recorded for what is built in,
//! and made from the definitions for the rest.

use std::{collections::BTreeMap, sync::Arc};

use http::{
    HeaderValue, Response,
    header::{ACCEPT, CONTENT_TYPE},
    request::Parts,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::aggregated::Extension;
use super::respond;
use super::status::ApiError;
use crate::recorded;
use crate::registry::{Kinds, Served};
use crate::server::Inner;
use crate::transport::response_body::Body;

/// A recorded document that has the types which all kinds share, and few others.
const SHARED: &str = "schemas/apis/coordination.k8s.io/v1";
/// The names of those types.
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
/// The older form of the documents, as clients ask for it, and as it is called where an `@` is not
/// allowed.
const OLDER: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const OLDER_TYPE: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Answers below `/openapi/`.
pub(crate) fn answer(
    inner: &Arc<Inner>,
    path: &[&str],
    parts: &Parts,
) -> Result<Response<Body>, ApiError> {
    let kinds = inner.registry.now();
    match path {
        ["v3"] => respond::value(parts, 200, &index(&kinds, &inner.extensions)),
        ["v3", "apis", group, version] if let Some(extension) = inner.extension(group, version) => {
            respond::value(parts, 200, &extension.openapi)
        }
        ["v3", "apis", group, version] if custom(&kinds, group, version).next().is_some() => {
            let served: Vec<&Arc<Served>> = custom(&kinds, group, version).collect();
            respond::value(parts, 200, &document(&served))
        }
        ["v3", rest @ ..] => {
            let document = recorded::openapi(&rest.join("/")).ok_or_else(ApiError::no_page)?;
            respond::value(parts, 200, &document)
        }
        ["v2"] => older(parts),
        _ => Err(ApiError::no_page()),
    }
}

/// The older form, in which no type is described. kubectl asks for it when it does not find a kind
/// in the newer one, and would stumble over the missing page where it should over the kind.
fn older(parts: &Parts) -> Result<Response<Body>, ApiError> {
    let (title, version) = ("Kubernetes", "unversioned");
    let accepted = parts
        .headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|accept| accept.to_str().ok());
    if !accepted.into_iter().any(|accept| accept.contains(OLDER)) {
        let info = json!({"title": title, "version": version});
        return respond::value(
            parts,
            200,
            &json!({"swagger": "2.0", "info": info, "paths": {}}),
        );
    }
    // Short texts with the numbers that they have in the message `Document`.
    let text = |number: u8, text: &[u8]| [&[number << 3 | 2, text.len() as u8], text].concat();
    let info = [text(1, title.as_bytes()), text(2, version.as_bytes())].concat();
    let mut response =
        respond::json_bytes(200, Body::full([text(1, b"2.0"), text(2, &info)].concat()));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(OLDER_TYPE));
    Ok(response)
}

/// The custom resources of a group and version.
fn custom<'a>(
    kinds: &'a Kinds,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = &'a Arc<Served>> {
    let all = kinds.custom().values().flatten();
    all.filter(move |served| served.group == group && served.version == version)
}

/// Where each document is. What a hash is of, changes when it does: clients keep what they have
/// read.
fn index(kinds: &Kinds, extensions: &[Extension]) -> Value {
    let mut hashes: BTreeMap<String, Sha256> = BTreeMap::new();
    for path in recorded::openapi_paths() {
        hashes.entry(path.to_owned()).or_default().update(path);
    }
    for served in kinds.custom().values().flatten() {
        let hash = hashes
            .entry(format!("apis/{}/{}", served.group, served.version))
            .or_default();
        hash.update(&served.kind);
        if let Some(custom) = &served.custom {
            hash.update(custom.raw.to_string());
        }
    }
    for extension in extensions {
        let hash = hashes
            .entry(format!("apis/{}/{}", extension.group, extension.version))
            .or_default();
        hash.update(extension.openapi.to_string());
    }
    let mut paths = Map::new();
    for (path, hash) in hashes {
        let hash: String = hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect();
        let url = format!("/openapi/v3/{path}?hash={hash}");
        paths.insert(path, json!({"serverRelativeURL": url}));
    }
    json!({ "paths": paths })
}

fn document(all: &[&Arc<Served>]) -> Value {
    let mut schemas = Map::new();
    if let Some(Value::Object(shared)) = recorded::value(SHARED) {
        schemas.extend(
            shared
                .into_iter()
                .filter(|(name, _)| name.starts_with("io.k8s.apimachinery.")),
        );
    }
    let mut paths = Map::new();
    for served in all {
        let (item, list) = (
            definition_name(served, &served.kind),
            definition_name(served, &served.list_kind),
        );
        schemas.insert(item.clone(), item_schema(served));
        schemas.insert(list.clone(), list_schema(served, &item));
        add_paths(served, &item, &list, &mut paths);
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"},
        "paths": paths,
        "components": {"schemas": schemas},
    })
}

/// `com.example.v1.Thing` for a thing of `example.com/v1`.
fn definition_name(served: &Served, kind: &str) -> String {
    let reversed: Vec<&str> = served.group.split('.').rev().collect();
    format!("{}.{}.{kind}", reversed.join("."), served.version)
}

fn kind_of(served: &Served, kind: &str) -> Value {
    json!({"group": served.group, "version": served.version, "kind": kind})
}

fn item_schema(served: &Served) -> Value {
    let raw = served
        .custom
        .as_ref()
        .map(|custom| custom.raw.clone())
        .filter(Value::is_object);
    let mut schema = raw.unwrap_or_else(|| json!({"type": "object"}));
    for (name, about) in [("apiVersion", VERSION), ("kind", KIND)] {
        schema["properties"][name] = json!({"type": "string", "description": about});
    }
    schema["properties"]["metadata"] = json!({
        "description": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
        "allOf": [{"$ref": format!("#/components/schemas/{META}.ObjectMeta")}],
    });
    schema["x-kubernetes-group-version-kind"] = json!([kind_of(served, &served.kind)]);
    schema
}

const VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

fn list_schema(served: &Served, item: &str) -> Value {
    json!({
        "type": "object",
        "description": format!("{} is a list of {}", served.list_kind, served.kind),
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string", "description": VERSION},
            "kind": {"type": "string", "description": KIND},
            "metadata": {"allOf": [{"$ref": format!("#/components/schemas/{META}.ListMeta")}]},
            "items": {"type": "array", "items": {"allOf": [{"$ref": format!("#/components/schemas/{item}")}]}},
        },
        "x-kubernetes-group-version-kind": [kind_of(served, &served.list_kind)],
    })
}

fn add_paths(served: &Served, item: &str, list: &str, paths: &mut Map<String, Value>) {
    let place = if served.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let base = format!(
        "/apis/{}/{}{place}/{}",
        served.group, served.version, served.plural
    );
    let mut collection = operations(
        served,
        &[
            ("get", "list", list),
            ("post", "post", item),
            ("delete", "deletecollection", list),
        ],
    );
    let mut single = operations(
        served,
        &[
            ("get", "get", item),
            ("put", "put", item),
            ("patch", "patch", item),
            ("delete", "delete", item),
        ],
    );
    let mut fixed = Vec::new();
    if served.namespaced {
        fixed.push(json!({"name": "namespace", "in": "path", "required": true, "schema": {"type": "string", "uniqueItems": true}}));
    }
    collection["parameters"] = fixed.clone().into();
    fixed.push(
        json!({"name": "name", "in": "path", "required": true, "schema": {"type": "string", "uniqueItems": true}}),
    );
    single["parameters"] = fixed.into();
    paths.insert(base.clone(), collection);
    for sub in &served.subresources {
        let mut part = operations(
            served,
            &[
                ("get", "get", item),
                ("put", "put", item),
                ("patch", "patch", item),
            ],
        );
        part["parameters"] = single["parameters"].clone();
        paths.insert(format!("{base}/{{name}}/{}", sub.name), part);
    }
    paths.insert(format!("{base}/{{name}}"), single);
}

/// Operations: a method, what it does, and the type of its answer.
fn operations(served: &Served, all: &[(&str, &str, &str)]) -> Value {
    let mut methods = Map::new();
    for (method, action, answer) in all {
        let reference = json!({"$ref": format!("#/components/schemas/{answer}")});
        let mut operation = json!({
            "operationId": format!("{action}{}{}{}", served.group, served.version, served.kind),
            "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": reference}}}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind_of(served, &served.kind),
        });
        let text = |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
        operation["parameters"] = match *method {
            "post" | "put" | "patch" => json!([
                text("dryRun"),
                text("fieldManager"),
                text("fieldValidation")
            ]),
            "delete" => json!([text("dryRun"), text("propagationPolicy")]),
            _ => json!([
                text("labelSelector"),
                text("fieldSelector"),
                text("resourceVersion")
            ]),
        };
        methods.insert((*method).to_owned(), operation);
    }
    methods.into()
}
