//! From the server's answers to the members of the pack: what differs from run to run is left out,
//! and an OpenAPI document is two members, since types are needed far more often than paths.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

/// The members of a pack by name, each the text of a JSON document.
pub type Members = BTreeMap<String, Vec<u8>>;

/// Sorts the answers into members.
pub fn members(answers: &Value) -> Result<Members> {
    let mut members = Members::new();
    let mut columns = Map::new();
    let mut resources = Map::new();
    let mut rights = Map::new();
    for (request, answer) in answers.as_object().context("the answers are no object")? {
        let (kind, rest) = request.split_once('/').unwrap_or((request, ""));
        match kind {
            "version" => put(&mut members, "version", answer)?,
            "api" | "apis" => put(
                &mut members,
                &format!("groups/{kind}"),
                &without_addresses(answer),
            )?,
            "aggregated" => put(&mut members, &format!("aggregated/{rest}"), answer)?,
            "openapi" => {
                let (schemas, others) = split(answer)?;
                put(&mut members, &format!("schemas/{rest}"), &schemas)?;
                put(&mut members, &format!("paths/{rest}"), &others)?;
            }
            "resources" => drop(resources.insert(rest.to_owned(), answer.clone())),
            "rbac" => drop(rights.insert(rest.to_owned(), first_rights(answer)?)),
            "table" => drop(columns.insert(rest.to_owned(), answer.clone())),
            other => bail!("nothing is known of answers to {other}"),
        }
    }
    put(&mut members, "resources", &Value::Object(resources))?;
    put(&mut members, "columns", &Value::Object(columns))?;
    put(&mut members, "rbac", &Value::Object(rights))?;
    Ok(members)
}

fn put(members: &mut Members, name: &str, value: &Value) -> Result<()> {
    members.insert(name.to_owned(), serde_json::to_vec(value)?);
    Ok(())
}

/// The server names the address it was asked at.
fn without_addresses(answer: &Value) -> Value {
    let mut answer = answer.clone();
    if let Some(fields) = answer.as_object_mut() {
        fields.remove("serverAddressByClientCIDRs");
    }
    answer
}

/// The roles or bindings that are there from the start, without what a server writes into each
/// object, and without the rules that are gathered from other roles a moment later.
fn first_rights(list: &Value) -> Result<Value> {
    let mut items = list["items"].clone();
    for item in items
        .as_array_mut()
        .context("a list of roles or bindings has no items")?
    {
        let gathers = item["aggregationRule"].is_object();
        let fields = item
            .as_object_mut()
            .context("a role or a binding is no object")?;
        if gathers {
            fields.remove("rules");
        }
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            metadata.retain(|name, _| {
                matches!(
                    name.as_str(),
                    "name" | "namespace" | "labels" | "annotations"
                )
            });
        }
    }
    Ok(items)
}

/// The types of an OpenAPI document, and the document without them.
fn split(document: &Value) -> Result<(Value, Value)> {
    let mut others = document.clone();
    let components = others.get_mut("components").and_then(Value::as_object_mut);
    let schemas = components
        .and_then(|components| components.remove("schemas"))
        .unwrap_or_else(|| json!({}));
    let schemas = if schemas.is_object() {
        schemas
    } else {
        bail!("the schemas of a document are no object")
    };
    Ok((schemas, others))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_become_members_without_what_changes_from_run_to_run() {
        let answers = json!({
            "version": {"major": "1"},
            "api": {"versions": ["v1"], "serverAddressByClientCIDRs": [{"serverAddress": "127.0.0.1:1"}]},
            "openapi/api/v1": {"components": {"schemas": {"A": {}}, "securitySchemes": {}}, "paths": {"/p": {}}},
            "resources/api/v1": {"resources": []},
            "table/api/v1/pods": [{"name": "Name"}],
            "rbac/clusterroles": {"items": [
                {"metadata": {"name": "a", "uid": "u", "managedFields": []}, "rules": [1]},
                {"metadata": {"name": "b"}, "rules": [1], "aggregationRule": {}},
            ]},
        });
        let members = members(&answers).unwrap();
        let found: Vec<(&str, &str)> = members
            .iter()
            .map(|(name, text)| (name.as_str(), std::str::from_utf8(text).unwrap()))
            .collect();
        let expected = [
            ("columns", r#"{"api/v1/pods":[{"name":"Name"}]}"#),
            ("groups/api", r#"{"versions":["v1"]}"#),
            (
                "paths/api/v1",
                r#"{"components":{"securitySchemes":{}},"paths":{"/p":{}}}"#,
            ),
            (
                "rbac",
                r#"{"clusterroles":[{"metadata":{"name":"a"},"rules":[1]},{"aggregationRule":{},"metadata":{"name":"b"}}]}"#,
            ),
            ("resources", r#"{"api/v1":{"resources":[]}}"#),
            ("schemas/api/v1", r#"{"A":{}}"#),
            ("version", r#"{"major":"1"}"#),
        ];
        assert_eq!(found, expected);
        assert!(super::members(&json!({"surprise/x": {}})).is_err());
    }
}
