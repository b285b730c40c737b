//! The workload and the Service that an application is known by: those that its status speaks of.

use serde_json::Value;

use crate::files::Made;

/// The workload that is called by the shared name, else the one behind the Ingress, else the first.
pub(crate) fn workload<'m>(made: &'m [Made<'m>], base: &str) -> Option<&'m Made<'m>> {
    let workloads = || {
        made.iter()
            .filter(|made| ["Deployment", "StatefulSet", "ReplicaSet"].contains(&kind(made)))
    };
    let named = || workloads().find(|made| made.piece.name() == base);
    let selected = || {
        let selector = service(made, base)?.piece.value["spec"]["selector"].as_object()?;
        let labels =
            |made: &Made<'_>| made.piece.value["spec"]["template"]["metadata"]["labels"].clone();
        let fits = |labels: &Value| {
            selector
                .iter()
                .all(|(key, value)| labels.get(key) == Some(value))
        };
        workloads().find(|made| !selector.is_empty() && fits(&labels(made)))
    };
    named().or_else(selected).or_else(|| workloads().next())
}

/// The Service that people come in by: the one behind an Ingress, else one that is open to the
/// outside, else the one that is called by the shared name, else one that speaks HTTP, else the
/// first. One that stands for a host elsewhere is no address of the application.
pub(crate) fn service<'m>(made: &'m [Made<'m>], base: &str) -> Option<&'m Made<'m>> {
    let services = || {
        let is_own = |made: &&Made<'_>| made.piece.value["spec"]["type"] != "ExternalName";
        made.iter()
            .filter(|made| made.piece.is_core("Service"))
            .filter(is_own)
    };
    let backends: Vec<&str> = made
        .iter()
        .filter(|made| kind(made) == "Ingress")
        .flat_map(backends)
        .collect();
    let behind = || {
        backends
            .iter()
            .find_map(|name| services().find(|made| made.piece.name() == *name))
    };
    let is_open = |made: &&Made<'_>| {
        ["LoadBalancer", "NodePort"]
            .iter()
            .any(|open| made.piece.value["spec"]["type"] == *open)
    };
    let named = || services().find(|made| made.piece.name() == base);
    behind()
        .or_else(|| services().find(is_open))
        .or_else(named)
        .or_else(|| services().find(|made| speaks_http(&made.piece.value["spec"])))
        .or_else(|| services().next())
}

/// Whether a Service has an address of its own and a port for HTTP, by its name or number.
fn speaks_http(service: &Value) -> bool {
    let is_http = |port: &Value| {
        let is_named = port["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("http"));
        is_named || [80, 443, 8080].iter().any(|number| port["port"] == *number)
    };
    service["clusterIP"] != "None"
        && service["ports"]
            .as_array()
            .is_some_and(|ports| ports.iter().any(is_http))
}

fn kind<'m>(made: &'m Made<'_>) -> &'m str {
    &made.piece.gvk.kind
}

/// The Services that an Ingress leads to, in order.
fn backends<'m>(made: &Made<'m>) -> Vec<&'m str> {
    let spec = &made.piece.value["spec"];
    let rules = spec["rules"].as_array().into_iter().flatten();
    let paths = rules.flat_map(|rule| rule["http"]["paths"].as_array().into_iter().flatten());
    let all = [&spec["defaultBackend"]]
        .into_iter()
        .chain(paths.map(|path| &path["backend"]));
    all.filter_map(|backend| backend["service"]["name"].as_str())
        .collect()
}
