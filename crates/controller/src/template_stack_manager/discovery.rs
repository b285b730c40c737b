//! What the API server serves, read where every authenticated user may read: discovery and OpenAPI.
//! A stack's account has no right to read CRDs, and needs none.

use std::collections::{BTreeMap, BTreeSet};

use api::{Crd, KindRef};
use http::{Request, header};
use objects::{Gvk, builtin_kind};
use serde_json::{Value, json};

use crate::{Cluster, Error};
use objects::Resource;

/// What is known of the served kinds; asked once for each group and version.
pub struct Catalog<'c> {
    cluster: &'c Cluster,
    pages: BTreeMap<String, Option<Value>>,
}

impl<'c> Catalog<'c> {
    /// Nothing is asked yet.
    pub fn new(cluster: &'c Cluster) -> Self {
        Self {
            cluster,
            pages: BTreeMap::new(),
        }
    }

    /// The CRDs of owned kinds, as far as they are served, as if they had been read.
    pub async fn definitions(&mut self, entries: &[KindRef]) -> Result<Vec<Crd>, Error> {
        let mut documents: BTreeMap<(String, String), Value> = BTreeMap::new();
        for entry in entries {
            let Some((domain, version)) = entry.api_version.split_once('/') else {
                continue;
            };
            // Before the group there may be the name of the kind.
            let mut group = domain;
            loop {
                if let Some(document) = self.definition(group, version, &entry.kind).await? {
                    let place = (group.to_owned(), entry.kind.clone());
                    match documents
                        .get_mut(&place)
                        .and_then(|known| known["spec"]["versions"].as_array_mut())
                    {
                        Some(versions) => {
                            let mut more = document["spec"]["versions"]
                                .as_array()
                                .cloned()
                                .unwrap_or_default();
                            more.retain(|own| {
                                !versions.iter().any(|known| known["name"] == own["name"])
                            });
                            more.iter_mut()
                                .for_each(|own| own["storage"] = json!(false));
                            versions.extend(more);
                        }
                        None => {
                            documents.insert(place, document);
                        }
                    }
                    break;
                }
                let Some((_, rest)) = group.split_once('.') else {
                    break;
                };
                group = rest;
            }
        }
        Ok(documents
            .values()
            .filter_map(|document| Crd::read(document).0)
            .collect())
    }

    /// How requests name a kind; none if it is not served.
    pub async fn resource(&mut self, gvk: &Gvk) -> Result<Option<Resource>, Error> {
        if let Some(builtin) = builtin_kind(gvk) {
            let plural = builtin.plural.to_owned();
            return Ok(Some(Resource {
                gvk: gvk.clone(),
                plural,
                namespaced: builtin.namespaced,
            }));
        }
        let found = self.served(&gvk.group, &gvk.version, &gvk.kind).await?;
        Ok(found.map(|(plural, _, namespaced, _)| Resource {
            gvk: gvk.clone(),
            plural,
            namespaced,
        }))
    }

    /// Plural, singular, whether in namespaces, and whether the status is on its own.
    async fn served(
        &mut self,
        group: &str,
        version: &str,
        kind: &str,
    ) -> Result<Option<(String, String, bool, bool)>, Error> {
        let Some(page) = self.page(format!("/apis/{group}/{version}")).await? else {
            return Ok(None);
        };
        let resources = page["resources"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let names: BTreeSet<&str> = resources
            .iter()
            .filter_map(|own| own["name"].as_str())
            .collect();
        let found = resources.iter().find(|own| {
            own["kind"] == kind && own["name"].as_str().is_some_and(|name| !name.contains('/'))
        });
        Ok(found.map(|own| {
            let plural = own["name"].as_str().unwrap_or_default().to_owned();
            let singular = own["singularName"].as_str().unwrap_or_default().to_owned();
            let status = names.contains(format!("{plural}/status").as_str());
            (plural, singular, own["namespaced"] == true, status)
        }))
    }

    async fn definition(
        &mut self,
        group: &str,
        version: &str,
        kind: &str,
    ) -> Result<Option<Value>, Error> {
        let Some((plural, singular, namespaced, status)) =
            self.served(group, version, kind).await?
        else {
            return Ok(None);
        };
        let Some(page) = self
            .page(format!("/openapi/v3/apis/{group}/{version}"))
            .await?
        else {
            return Ok(None);
        };
        let is_kind = |schema: &&Value| {
            let kinds = schema["x-kubernetes-group-version-kind"].as_array();
            kinds.is_some_and(|kinds| {
                kinds
                    .iter()
                    .any(|own| own["kind"] == kind && own["version"] == version)
            })
        };
        let schemas = page["components"]["schemas"].as_object();
        let Some(schema) = schemas.and_then(|schemas| schemas.values().find(is_kind)) else {
            return Ok(None);
        };
        let mut schema = schema.clone();
        closed(&mut schema, 0);
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("x-kubernetes-group-version-kind");
        }
        if let Some(properties) = schema["properties"].as_object_mut() {
            properties.insert("metadata".to_owned(), json!({ "type": "object" }));
        }
        let subresources = if status {
            json!({ "status": {} })
        } else {
            json!({})
        };
        Ok(Some(json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{group}") },
            "spec": {
                "group": group,
                "scope": if namespaced { "Namespaced" } else { "Cluster" },
                "names": { "plural": plural, "singular": singular, "kind": kind, "listKind": format!("{kind}List") },
                "versions": [{
                    "name": version, "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": schema }, "subresources": subresources,
                }],
            },
        })))
    }

    async fn page(&mut self, path: String) -> Result<Option<Value>, Error> {
        if let Some(known) = self.pages.get(&path) {
            return Ok(known.clone());
        }
        let request = Request::get(&path)
            .header(header::ACCEPT, "application/json")
            .body(Vec::new());
        let request = request.map_err(|error| Error::Refused(error.to_string()))?;
        let page = match self
            .cluster
            .client()
            .request::<Value>(request)
            .await
            .map_err(Error::from)
        {
            Ok(page) => Some(page),
            Err(Error::NotFound(_)) => None,
            Err(error) => return Err(error),
        };
        self.pages.insert(path, page.clone());
        Ok(page)
    }
}

/// Puts a plain object in the place of every reference to another document, which only metadata
/// has.
fn closed(schema: &mut Value, depth: usize) {
    if depth > 100 {
        return;
    }
    match schema {
        Value::Object(fields) => {
            let refers = |value: &Value| value.get("$ref").is_some();
            let all = fields
                .get("allOf")
                .and_then(Value::as_array)
                .is_some_and(|all| all.iter().any(refers));
            if all || fields.contains_key("$ref") {
                *schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
                return;
            }
            fields
                .values_mut()
                .for_each(|value| closed(value, depth + 1));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| closed(item, depth + 1)),
        _ => {}
    }
}
