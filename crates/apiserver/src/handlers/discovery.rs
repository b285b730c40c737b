//! What is served, for clients that ask: groups, versions and resources; and the paths that are
//! about the server.

use std::{collections::BTreeMap, sync::Arc};

use http::{HeaderValue, Response, header::CONTENT_TYPE, request::Parts};
use serde_json::{Value, json};

use super::status::ApiError;
use super::{openapi, respond};
use crate::recorded;
use crate::registry::{Kinds, Served, api_version};
use crate::request::info::Asked;
use crate::request::negotiation::{As, Form};
use crate::server::Inner;
use crate::transport::response_body::Body;

/// Answers a request that is about no resource.
pub(crate) fn answer(
    inner: &Arc<Inner>,
    asked: &Asked,
    parts: &Parts,
) -> Result<Response<Body>, ApiError> {
    if !matches!(asked.attributes.verb.as_str(), "get" | "head") {
        return Err(ApiError::method_not_allowed());
    }
    let kinds = inner.registry.now();
    let path = asked.attributes.path.trim_end_matches('/');
    if let Some(value) = inner.auth.discovery(path) {
        return respond::value(parts, 200, &value);
    }
    let words: Vec<&str> = path.split('/').filter(|word| !word.is_empty()).collect();
    match &*words {
        [] => respond::value(parts, 200, &json!({"paths": paths(&kinds)})),
        ["api"] if aggregated(parts) => Ok(discovery_list(parts, &all_of(&kinds, str::is_empty))),
        ["apis"] if aggregated(parts) => Ok(discovery_list(
            parts,
            &all_of(&kinds, |group| !group.is_empty()),
        )),
        ["api"] => respond::value(
            parts,
            200,
            &json!({
                "kind": "APIVersions", "versions": ["v1"],
                "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
            }),
        ),
        ["apis"] => {
            let groups: Vec<Value> = groups(&kinds)
                .iter()
                .map(|(name, versions)| group(name, versions))
                .collect();
            respond::value(
                parts,
                200,
                &json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}),
            )
        }
        ["apis", name] => {
            let all = groups(&kinds);
            let found = all
                .iter()
                .find(|(group, _)| group == name)
                .ok_or_else(ApiError::no_page)?;
            let mut value = group(&found.0, &found.1);
            value["kind"] = "APIGroup".into();
            value["apiVersion"] = "v1".into();
            respond::value(parts, 200, &value)
        }
        ["api", version] => resources(&kinds, "", version, parts),
        ["apis", group, version] => resources(&kinds, group, version, parts),
        ["version"] => respond::value(parts, 200, &recorded::value("version").unwrap_or_default()),
        ["healthz" | "livez" | "readyz", ..] => Ok(health(inner)),
        ["metrics"] => Ok(plain(
            "text/plain; version=0.0.4; charset=utf-8",
            inner.metrics.text(),
        )),
        ["openapi", rest @ ..] => openapi::answer(inner, rest, parts),
        _ => Err(ApiError::no_page()),
    }
}

fn resources(
    kinds: &Kinds,
    group: &str,
    version: &str,
    parts: &Parts,
) -> Result<Response<Body>, ApiError> {
    let list = kinds
        .resource_list(group, version)
        .ok_or_else(|| kinds.missing(group))?;
    respond::value(parts, 200, &list)
}

fn aggregated(parts: &Parts) -> bool {
    Form::wanted(&parts.headers).is_ok_and(|form| form.what == As::Discovery)
}

fn discovery_list(parts: &Parts, items: &[Value]) -> Response<Body> {
    let list = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
    let mut response = respond::json_bytes(
        200,
        Body::full(serde_json::to_vec(&list).unwrap_or_default()),
    );
    let kind = HeaderValue::from_static(
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    );
    response.headers_mut().insert(CONTENT_TYPE, kind);
    _ = parts;
    response
}

/// Groups, in the order in which the real server lists its own, and their versions, the preferred
/// one first.
fn groups(kinds: &Kinds) -> Vec<(String, Vec<String>)> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for served in kinds.all().filter(|served| !served.group.is_empty()) {
        let versions = all.entry(served.group.clone()).or_default();
        if !versions.contains(&served.version) {
            versions.push(served.version.clone());
        }
    }
    for versions in all.values_mut() {
        versions.sort_by(|a, b| rank(b).cmp(&rank(a)).then_with(|| a.cmp(b)));
    }
    let first = recorded::value("groups/apis").unwrap_or_default();
    let names = first["groups"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|group| group["name"].as_str());
    let mut ordered = Vec::with_capacity(all.len());
    for name in names {
        ordered.extend(all.remove_entry(name));
    }
    ordered.extend(all);
    ordered
}

/// How much a version is preferred: stable ones over betas over alphas, then the higher number.
fn rank(version: &str) -> (u8, u64, u64) {
    let read = || {
        let rest = version.strip_prefix('v')?;
        let digits = rest.len()
            - rest
                .trim_start_matches(|letter: char| letter.is_ascii_digit())
                .len();
        let (major, rest) = rest.split_at(digits);
        let major = major.parse().ok()?;
        if rest.is_empty() {
            return Some((3, major, 0));
        }
        if let Some(minor) = rest.strip_prefix("beta") {
            return Some((2, major, minor.parse().ok()?));
        }
        Some((1, major, rest.strip_prefix("alpha")?.parse().ok()?))
    };
    read().unwrap_or((0, 0, 0))
}

fn group(name: &str, versions: &[String]) -> Value {
    let shown: Vec<Value> = versions
        .iter()
        .map(|version| json!({"groupVersion": api_version(name, version), "version": version}))
        .collect();
    let preferred = shown.first().cloned().unwrap_or_default();
    json!({"name": name, "versions": shown, "preferredVersion": preferred})
}

fn paths(kinds: &Kinds) -> Vec<String> {
    let mut paths: Vec<String> = [
        "/.well-known/openid-configuration",
        "/api",
        "/api/v1",
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ]
    .map(str::to_owned)
    .to_vec();
    for (group, versions) in groups(kinds) {
        paths.push(format!("/apis/{group}"));
        paths.extend(
            versions
                .iter()
                .map(|version| format!("/apis/{group}/{version}")),
        );
    }
    paths.push("/apis/".to_owned());
    paths.sort_unstable();
    paths
}

/// Groups with all that is in them, as aggregated discovery shows them.
fn all_of(kinds: &Kinds, wanted: impl Fn(&str) -> bool) -> Vec<Value> {
    let mut all = groups(kinds);
    all.insert(0, (String::new(), vec!["v1".to_owned()]));
    let mut items = Vec::new();
    for (group, versions) in all.iter().filter(|(group, _)| wanted(group)) {
        let versions: Vec<Value> = versions
            .iter()
            .map(|version| {
                let of_version = kinds.of_version(group, version).unwrap_or_default();
                let resources: Vec<Value> =
                    of_version.iter().map(|served| resource(served)).collect();
                json!({"version": version, "resources": resources, "freshness": "Current"})
            })
            .collect();
        let metadata = if group.is_empty() {
            json!({})
        } else {
            json!({"name": group})
        };
        items.push(json!({"metadata": metadata, "versions": versions}));
    }
    items
}

fn resource(served: &Served) -> Value {
    let own = |kind: &str| match served.custom {
        // Built-in ones leave the group and version of the resource out.
        None => json!({"group": "", "version": "", "kind": kind}),
        Some(_) => json!({"group": served.group, "version": served.version, "kind": kind}),
    };
    let mut value = json!({
        "resource": served.plural, "responseKind": own(&served.kind), "singularResource": served.singular,
        "scope": if served.namespaced { "Namespaced" } else { "Cluster" }, "verbs": served.verbs,
    });
    if !served.short_names.is_empty() {
        value["shortNames"] = json!(served.short_names);
    }
    if !served.categories.is_empty() {
        value["categories"] = json!(served.categories);
    }
    if !served.subresources.is_empty() {
        let subresources: Vec<Value> = served
            .subresources
            .iter()
            .map(|sub| {
                let kind = match &sub.group_version {
                    Some((group, version)) => {
                        json!({"group": group, "version": version, "kind": sub.kind})
                    }
                    None => own(&sub.kind),
                };
                json!({"subresource": sub.name, "responseKind": kind, "verbs": sub.verbs})
            })
            .collect();
        value["subresources"] = subresources.into();
    }
    value
}

fn health(inner: &Inner) -> Response<Body> {
    if let Some(trouble) = inner.store.trouble() {
        let mut response = plain("text/plain; charset=utf-8", trouble.to_string());
        *response.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
        return response;
    }
    plain("text/plain; charset=utf-8", "ok".to_owned())
}

pub(crate) fn plain(kind: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Body::full(text));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
