//! What the group serves, for clients that ask: resources, and their types and paths as OpenAPI
//! documents.

use api::template::{
    GROUP, KIND, PARAMETERS_KIND, PROCESSED, PROCESSING_API_VERSION, PROCESSING_GROUP,
};
use serde_json::{Map, Value, json};

/// The group and its only version.
pub(crate) fn group() -> Value {
    let version = json!({ "groupVersion": PROCESSING_API_VERSION, "version": api::VERSION });
    json!({
        "kind": "APIGroup", "apiVersion": "v1", "name": PROCESSING_GROUP,
        "versions": [version], "preferredVersion": version,
    })
}

/// The list of groups, of which there is one.
pub(crate) fn groups() -> Value {
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": [group()] })
}

/// The resources, as an `APIResourceList`. Stored templates are served by another group: here are
/// only their results.
pub fn resources() -> Value {
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": PROCESSING_API_VERSION,
        "resources": [
            {
                "name": PROCESSED, "singularName": "processedtemplate", "namespaced": true, "kind": KIND,
                "group": GROUP, "version": api::VERSION, "verbs": ["create"],
            },
            {
                "name": "templates/processed", "singularName": "", "namespaced": true, "kind": PARAMETERS_KIND,
                "group": PROCESSING_GROUP, "version": api::VERSION, "verbs": ["create"],
            },
        ],
    })
}

/// The name of a type in the documents.
fn type_name(kind: &str) -> String {
    let group = if kind == KIND {
        GROUP
    } else {
        PROCESSING_GROUP
    };
    let reversed: Vec<&str> = group.split('.').rev().collect();
    format!("{}.{}.{kind}", reversed.join("."), api::VERSION)
}

/// The types: a template as its CRD describes it, and values for one.
fn types() -> Map<String, Value> {
    let own = |kind: &str, group: &str| json!([{ "group": group, "version": api::VERSION, "kind": kind }]);
    let stored = format!("{}.{GROUP}", api::template::PLURAL);
    let crd = api::definitions()
        .into_iter()
        .find(|crd| crd["metadata"]["name"] == *stored)
        .unwrap_or_default();
    let mut template = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
    template["x-kubernetes-group-version-kind"] = own(KIND, GROUP);
    let text = |about: &str| json!({ "type": "string", "description": about });
    let parameters = json!({
        "type": "object",
        "description": "Values for the parameters of a stored template.",
        "properties": {
            "apiVersion": text("The group and version of this object."),
            "kind": text("TemplateParameters."),
            "name": text("The template they are for, if they say so."),
            "parameters": {
                "type": "object",
                "description": "Values by the names of parameters.",
                "additionalProperties": { "type": "string" },
            },
        },
        "x-kubernetes-group-version-kind": own(PARAMETERS_KIND, PROCESSING_GROUP),
    });
    Map::from_iter([
        (type_name(KIND), template),
        (type_name(PARAMETERS_KIND), parameters),
    ])
}

/// What the documents say of one path: where, what it takes, its name, and what it does.
struct Way {
    path: String,
    takes: &'static str,
    operation: &'static str,
    about: &'static str,
    places: &'static [(&'static str, &'static str)],
}

fn ways() -> [Way; 2] {
    let base = format!("/apis/{PROCESSING_API_VERSION}/namespaces/{{namespace}}");
    const NAMESPACE: (&str, &str) = ("namespace", "The namespace.");
    const NAME: (&str, &str) = ("name", "The name of the stored template.");
    [
        Way {
            path: format!("{base}/{PROCESSED}"),
            takes: KIND,
            operation: "createNamespacedProcessedTemplate",
            about: "Process a template with the values of its own parameters. Nothing is created.",
            places: &[NAMESPACE],
        },
        Way {
            path: format!("{base}/templates/{{name}}/processed"),
            takes: PARAMETERS_KIND,
            operation: "createNamespacedTemplateProcessed",
            about: "Process a stored template with values for its parameters. Nothing is created.",
            places: &[NAMESPACE, NAME],
        },
    ]
}

const QUERY: [(&str, &str); 4] = [
    (
        "result",
        "The form of the answer: template, or list for a List of its objects.",
    ),
    (
        "strict",
        "Whether references that nobody could mean are mistakes: true or false.",
    ),
    (
        "dialect",
        "How references are written, where the template leaves it open: parentheses or braces.",
    ),
    (
        "selectors",
        "keep: labels of the template stay away from selectors and pods.",
    ),
];

/// Types and paths as an OpenAPI document of version 3.
pub fn openapi() -> Value {
    let mut paths = Map::new();
    for way in ways() {
        let reference =
            |kind: &str| json!({ "$ref": format!("#/components/schemas/{}", type_name(kind)) });
        let content = |kind: &str| json!({ "application/json": { "schema": reference(kind) } });
        let at = |place: &'static str, required: bool| move |(name, about): &(&str, &str)| json!({ "name": name, "in": place, "required": required, "description": about, "schema": { "type": "string" } });
        let operation = json!({
            "operationId": way.operation,
            "description": way.about,
            "parameters": QUERY.iter().map(at("query", false)).collect::<Vec<_>>(),
            "requestBody": { "required": true, "content": content(way.takes) },
            "responses": { "201": { "description": "The processed template", "content": content(KIND) } },
            "x-kubernetes-action": "post",
        });
        let places: Vec<Value> = way.places.iter().map(at("path", true)).collect();
        paths.insert(way.path, json!({ "post": operation, "parameters": places }));
    }
    json!({
        "openapi": "3.0.0",
        "info": { "title": PROCESSING_GROUP, "version": api::VERSION },
        "paths": paths,
        "components": { "schemas": types() },
    })
}

/// The same as a document of version 2, which the real API server also collects.
pub(crate) fn openapi_v2() -> Value {
    let mut paths = Map::new();
    for way in ways() {
        let reference =
            |kind: &str| json!({ "$ref": format!("#/definitions/{}", type_name(kind)) });
        let mut parameters: Vec<Value> = way
            .places
            .iter()
            .map(|(name, about)| json!({ "name": name, "in": "path", "required": true, "type": "string", "description": about }))
            .collect();
        parameters.extend(
            QUERY
                .iter()
                .map(|(name, about)| json!({ "name": name, "in": "query", "type": "string", "description": about })),
        );
        parameters.push(json!({ "name": "body", "in": "body", "required": true, "schema": reference(way.takes) }));
        let operation = json!({
            "operationId": way.operation,
            "description": way.about,
            "consumes": ["application/json", "application/yaml"],
            "produces": ["application/json"],
            "parameters": parameters,
            "responses": { "201": { "description": "The processed template", "schema": reference(KIND) } },
        });
        paths.insert(way.path, json!({ "post": operation }));
    }
    json!({
        "swagger": "2.0",
        "info": { "title": PROCESSING_GROUP, "version": api::VERSION },
        "paths": paths,
        "definitions": types(),
    })
}

/// Where the document of version 3 is.
pub(crate) fn openapi_index() -> Value {
    let path = format!("apis/{PROCESSING_API_VERSION}");
    // It changes with the program, so that its version tells which one a client has read.
    let url = format!("/openapi/v3/{path}?hash={}", env!("CARGO_PKG_VERSION"));
    json!({ "paths": { path: { "serverRelativeURL": url } } })
}
