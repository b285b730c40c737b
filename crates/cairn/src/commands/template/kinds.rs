//! The kinds that a cluster serves, and objects of any of them.

use std::collections::BTreeSet;

use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::discovery::{Discovery, Scope, verbs};
use kube::{Api, Client};
use serde_json::Value;

use super::told;
use crate::terminal::error::Failure;

/// A kind, in the version that the cluster prefers.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub resource: ApiResource,
    pub namespaced: bool,
    verbs: Vec<String>,
}

impl Kind {
    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|own| own == verb)
    }

    /// Its objects in a namespace; everywhere if none is named.
    pub fn api(&self, client: &Client, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace {
            Some(namespace) if self.namespaced => {
                Api::namespaced_with(client.clone(), namespace, &self.resource)
            }
            _ => Api::all_with(client.clone(), &self.resource),
        }
    }

    /// As kubectl names an object of it.
    pub fn shown(&self, name: &str) -> String {
        let kind = self.resource.kind.to_lowercase();
        if self.resource.group.is_empty() {
            format!("{kind}/{name}")
        } else {
            format!("{kind}.{}/{name}", self.resource.group)
        }
    }

    /// Whether a user means it: kind, plural or singular, with or without the group.
    pub fn is_called(&self, name: &str) -> bool {
        let (short, group) = name
            .split_once('.')
            .map_or((name, None), |(short, group)| (short, Some(group)));
        let own = [
            self.resource.kind.to_lowercase(),
            self.resource.plural.clone(),
        ];
        own.contains(&short.to_lowercase())
            && group.is_none_or(|group| group == self.resource.group)
    }
}

/// Everything that is served, each kind once.
pub(crate) async fn all(client: &Client) -> Result<Vec<Kind>, Failure> {
    let discovery = match Discovery::new(client.clone()).run_aggregated().await {
        // Of a group that has a part of a resource and not the resource, the server writes a list
        // as null. The own one is such a group: it keeps no objects, and its server may not even
        // run any more.
        Err(kube::Error::SerdeError(_)) => {
            Discovery::new(client.clone())
                .exclude(&[api::template::PROCESSING_GROUP])
                .run()
                .await
        }
        outcome => outcome,
    };
    let discovery = discovery.map_err(|error| told(&error))?;
    let mut found = Vec::new();
    for group in discovery.groups_alphabetical() {
        for (resource, capabilities) in group.resources_by_stability() {
            // Two groups show the same events.
            if resource.group != "events.k8s.io" {
                let namespaced = capabilities.scope == Scope::Namespaced;
                found.push(Kind {
                    resource,
                    namespaced,
                    verbs: capabilities.operations,
                });
            }
        }
    }
    Ok(found)
}

/// The kind that a user means by a name: its own, its plural, or a short one.
pub(crate) async fn called<'k>(
    all: &'k [Kind],
    client: &Client,
    name: &str,
) -> Result<Option<&'k Kind>, Failure> {
    if let Some(found) = all.iter().find(|kind| kind.is_called(name)) {
        return Ok(Some(found));
    }
    // Only lists of single groups have short names, and few of them are asked for.
    let versions: BTreeSet<&str> = all
        .iter()
        .map(|kind| kind.resource.api_version.as_str())
        .collect();
    for version in versions {
        let list = match version.contains('/') {
            true => client.list_api_group_resources(version).await,
            false => client.list_core_api_resources(version).await,
        };
        // A group whose server does not answer has nothing to say.
        let Ok(list) = list else { continue };
        let short = |names: &Option<Vec<String>>| {
            names
                .iter()
                .flatten()
                .any(|short| short == &name.to_lowercase())
        };
        if let Some(found) = list
            .resources
            .iter()
            .find(|resource| short(&resource.short_names))
        {
            let is = |kind: &&Kind| {
                kind.resource.api_version == version && kind.resource.plural == found.name
            };
            return Ok(all.iter().find(is));
        }
    }
    Ok(None)
}

/// The kind of an object, by its `apiVersion` and `kind`.
pub(crate) async fn of(client: &Client, object: &Value) -> Result<Kind, Failure> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let kind = kube::core::GroupVersionKind::gvk(group, version, kind);
    let (resource, capabilities) =
        kube::discovery::pinned_kind(client, &kind)
            .await
            .map_err(|error| match error {
                kube::Error::Discovery(_) => unknown(&kind),
                kube::Error::Api(status) if status.code == 404 => unknown(&kind),
                error => told(&error),
            })?;
    Ok(Kind {
        resource,
        namespaced: capabilities.scope == Scope::Namespaced,
        verbs: capabilities.operations,
    })
}

fn unknown(kind: &kube::core::GroupVersionKind) -> Failure {
    let version = kind.api_version();
    Failure::new(format!(
        "the cluster has no kind {} of {version}",
        kind.kind
    ))
    .hint("is its definition installed? `kubectl api-resources` shows what there is")
}

/// The objects of a kind, as values with their kind and version. What may not be listed is as if it
/// were not there.
pub(crate) async fn listed(
    kind: &Kind,
    client: &Client,
    namespace: Option<&str>,
    selector: Option<&str>,
) -> Result<Option<Vec<Value>>, Failure> {
    if !kind.can(verbs::LIST) {
        return Ok(Some(Vec::new()));
    }
    let params = ListParams {
        label_selector: selector.map(str::to_owned),
        ..ListParams::default()
    };
    let list = match kind.api(client, namespace).list(&params).await {
        Ok(list) => list,
        Err(kube::Error::Api(status)) if status.code == 403 => return Ok(None),
        Err(kube::Error::Api(status)) if [404, 405, 503].contains(&status.code) => {
            return Ok(Some(Vec::new()));
        }
        Err(error) => return Err(told(&error)),
    };
    let values = list.items.into_iter().map(|item| {
        let mut value = serde_json::to_value(item).unwrap_or_default();
        // Items of a list do not say what they are.
        value["apiVersion"] = kind.resource.api_version.clone().into();
        value["kind"] = kind.resource.kind.clone().into();
        value
    });
    Ok(Some(values.collect()))
}
