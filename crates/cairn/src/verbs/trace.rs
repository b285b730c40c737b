//! `cairn trace`: the tree of an instance on a live cluster, with what each part of it says and waits for. It reads only.

use std::collections::BTreeSet;

use api::Crd;
use controller::template_stack_manager::Catalog;
use controller::{Cluster, Error, Resource};
use engine::Compiled;
use kube::api::{DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use objects::{Gvk, nearest};
use serde_json::{Value, json};

use crate::args::Trace;
use crate::connection::IS_IT_RUNNING;
use crate::failure::{Code, Failure};
use crate::live::{Node, State, grow_all};
use crate::printer::Printer;
use crate::registries::block_on;

pub(crate) fn run(args: &Trace, printer: &Printer) -> Result<Code, Failure> {
    block_on(async {
        let connected = args.connection.connect().await?;
        let cluster = Cluster::new(connected.client.clone(), "cairn-trace");
        let mut catalog = Catalog::new(&cluster);
        let stacks = stacks(&cluster, &connected.namespace, &mut catalog).await?;
        let (root, kind) = meant(&stacks, &args.kind)?;
        let kind = resource(&mut catalog, &kind).await?;
        let namespace = if kind.namespaced { connected.namespace.as_str() } else { "" };
        let instance = cluster.get(&kind, &controller::Key::new(namespace, &args.name)).await.map_err(told)?;
        let Some(instance) = instance else {
            let others = cluster.list(&kind, namespace, Some(20)).await.map_err(told)?;
            return Err(absent(&kind, namespace, &args.name, &others));
        };
        let part = involved(&stacks, root);
        let mut live = Vec::new();
        let mut hidden = Vec::new();
        for stack in &part {
            for gvk in stack.compiled.rendered() {
                let Ok(Some(resource)) = catalog.resource(gvk).await else { continue };
                let found = children(&connected.client, &resource, namespace, &stack.compiled.name).await;
                match found {
                    Ok(objects) => live.extend(objects),
                    Err(Error::Forbidden(_)) => hidden.push(resource.to_string()),
                    Err(error) => return Err(told(error)),
                }
            }
        }
        let live: Vec<&Value> = live.iter().collect();
        let compiled: Vec<&Compiled> = part.iter().map(|stack| &stack.compiled).collect();
        let tree = grow_all(&compiled, &instance, &live);
        match args.output {
            Some(format) => printer.report(&described(&tree), format)?,
            None => printer.table(&rows(&tree))?,
        }
        for kind in hidden.into_iter().filter(|_| args.output.is_none()) {
            printer.line(&format!("you may not list {kind}, so that none of them are shown"))?;
        }
        Ok(Code::Ok)
    })?
}

/// A Stack of the cluster, compiled.
struct Known {
    compiled: Compiled,
    crds: Vec<Crd>,
}

/// All Stacks that can be seen: those of the cluster, or of the namespace for whoever may see no more.
async fn stacks(cluster: &Cluster, namespace: &str, catalog: &mut Catalog<'_>) -> Result<Vec<Known>, Failure> {
    let kind = Resource::namespaced(api::GROUP, api::VERSION, api::Stack::KIND, api::Stack::PLURAL);
    let listed = match cluster.list(&kind, "", None).await {
        Err(Error::Forbidden(_)) => cluster.list(&kind, namespace, None).await,
        listed => listed,
    };
    let mut known = Vec::new();
    for object in listed.map_err(told)? {
        // One that does not read or compile has no say in the others.
        let Ok(record) = serde_json::from_value::<api::Stack>(object) else { continue };
        let crds = catalog.definitions(&record.spec.customresourcedefinitions).await.map_err(told)?;
        let (stack, _) = engine::Stack::recorded(&record, &crds);
        if let (Some(compiled), _) = engine::compile(&stack) {
            known.push(Known { compiled, crds });
        }
    }
    Ok(known)
}

/// Which stack and which of its kinds is meant by a word.
fn meant(stacks: &[Known], word: &str) -> Result<(usize, Gvk), Failure> {
    let wanted = word.to_lowercase();
    let mut found: Vec<(usize, Gvk, String)> = Vec::new();
    let mut names: BTreeSet<String> = BTreeSet::new();
    for (at, stack) in stacks.iter().enumerate() {
        for kind in &stack.compiled.kinds {
            let Some(crd) =
                stack.crds.iter().find(|crd| crd.group == kind.gvk.group && crd.names.kind == kind.gvk.kind)
            else {
                continue;
            };
            let full = format!("{}.{}", crd.names.plural, crd.group);
            names.insert(full.clone());
            let own = [&crd.names.kind, &crd.names.plural, &crd.names.singular];
            let fits = own.iter().any(|name| {
                let name = name.to_lowercase();
                wanted == name || wanted == format!("{name}.{}", crd.group)
            });
            if fits && !found.iter().any(|(_, gvk, _)| *gvk == kind.gvk) {
                found.push((at, kind.gvk.clone(), full));
            }
        }
    }
    match found.as_slice() {
        [(at, gvk, _)] => Ok((*at, gvk.clone())),
        [] => {
            let failure = Failure::new(format!("no stack here has a kind {word:?}"));
            Err(match (nearest(&wanted, names.iter().map(String::as_str)), names.is_empty()) {
                (Some(near), _) => failure.hint(format!("did you mean `{near}`?")),
                (None, true) => failure.hint("no Stack is installed, or you may not see it: `cairn list -A`"),
                (None, false) => failure.hint(format!("there are {}", Vec::from_iter(names).join(", "))),
            })
        }
        several => {
            let names: Vec<&str> = several.iter().map(|(_, _, full)| full.as_str()).collect();
            Err(Failure::usage(format!("{word:?} may mean several kinds"))
                .hint(format!("write one of {}", names.join(", "))))
        }
    }
}

/// The stacks that have a part in an instance of one of them: its own, and those whose kinds its templates make.
fn involved(stacks: &[Known], root: usize) -> Vec<&Known> {
    let mut part = vec![root];
    let mut next = 0;
    while let Some(at) = part.get(next).copied() {
        next += 1;
        for gvk in stacks[at].compiled.rendered() {
            let maker = stacks.iter().position(|other| other.compiled.kind(gvk).is_some());
            part.extend(maker.filter(|maker| !part.contains(maker)));
        }
    }
    part.into_iter().map(|at| &stacks[at]).collect()
}

async fn resource(catalog: &mut Catalog<'_>, gvk: &Gvk) -> Result<Resource, Failure> {
    let found = catalog.resource(gvk).await.map_err(told)?;
    found.ok_or_else(|| Failure::new(format!("the cluster does not serve {gvk}")))
}

async fn children(client: &Client, kind: &Resource, namespace: &str, stack: &str) -> Result<Vec<Value>, Error> {
    let Gvk { group, version, kind: name } = &kind.gvk;
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, name), &kind.plural);
    let api: Api<DynamicObject> = match (kind.namespaced, namespace) {
        (false, _) | (_, "") => Api::all_with(client.clone(), &resource),
        (true, namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let list = api.list(&ListParams::default().labels(&engine::stack_label(stack))).await?;
    let api_version = kind.gvk.api_version().to_string();
    let whole = list.items.into_iter().map(|object| {
        let mut object = serde_json::to_value(&object).unwrap_or_default();
        // Items of a list do not say their kind.
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(name);
        object
    });
    Ok(whole.collect())
}

fn absent(kind: &Resource, namespace: &str, name: &str, others: &[Value]) -> Failure {
    let place = if namespace.is_empty() { String::new() } else { format!(" in namespace {namespace}") };
    let failure = Failure::new(format!("there is no {} {name:?}{place}", kind.gvk.kind));
    let names: Vec<&str> = others.iter().filter_map(|other| other["metadata"]["name"].as_str()).collect();
    match (nearest(name, names.iter().copied()), names.is_empty()) {
        (Some(near), _) => failure.hint(format!("did you mean {near:?}?")),
        (None, true) => failure.hint("there is none at all: name another namespace with -n"),
        (None, false) => failure.hint(format!("there are {}", names.join(", "))),
    }
}

fn told(error: Error) -> Failure {
    match error {
        Error::Forbidden(_) => Failure::new(error.to_string()).hint("it needs to list stacks, and what they made"),
        Error::NotFound(_) => Failure::new("the cluster knows no stacks")
            .hint("is the stack manager running? See `cairn stack-manager --help`"),
        Error::Unavailable(why) => Failure::new(why).hint(IS_IT_RUNNING),
        error => Failure::new(error.to_string()),
    }
}

fn rows(tree: &Node) -> Vec<Vec<String>> {
    let mut rows = vec![["OBJECT", "SYNCED", "READY", "STATUS"].map(str::to_owned).to_vec()];
    let mut synced = Vec::new();
    flat(tree, &mut synced);
    for (line, synced) in tree.lines().into_iter().zip(synced) {
        let truth = |truth: bool| if truth { "True" } else { "False" }.to_owned();
        let ready = truth(line.state == State::Ready);
        rows.push(vec![
            format!("{}{}", line.branch, line.what),
            synced.map_or_else(|| "-".to_owned(), truth),
            ready,
            line.note,
        ]);
    }
    rows
}

/// What each says of having been applied, in the order of the lines.
fn flat(node: &Node, found: &mut Vec<Option<bool>>) {
    found.push(node.synced);
    node.children.iter().for_each(|child| flat(child, found));
}

/// A tree for programs.
fn described(node: &Node) -> Value {
    let (kind, name) = node.object.split_once('/').unwrap_or((&node.object, ""));
    let mut value = json!({
        "kind": kind,
        "ready": node.state == State::Ready,
        "state": match node.state {
            State::Ready => "Ready",
            State::Coming => "Coming",
            State::Waiting => "Waiting",
            State::Failing => "Failing",
        },
        "message": node.note,
        "children": node.children.iter().map(described).collect::<Vec<_>>(),
    });
    if !name.is_empty() {
        value["name"] = json!(name);
    }
    if !node.template.is_empty() {
        value["template"] = json!(node.template);
    }
    if let Some(synced) = node.synced {
        value["synced"] = json!(synced);
    }
    value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{described, rows};
    use crate::live::{Node, State};

    #[test]
    fn a_tree_is_a_row_for_each_object_and_an_object_for_programs() {
        let child = Node {
            template: "web".to_owned(),
            object: "Deployment".to_owned(),
            state: State::Waiting,
            note: "waits for cache.status.endpoint".to_owned(),
            synced: None,
            children: Vec::new(),
        };
        let tree = Node {
            template: String::new(),
            object: "Site/shop".to_owned(),
            state: State::Waiting,
            note: "web is not ready".to_owned(),
            synced: Some(true),
            children: vec![child],
        };
        let rows = rows(&tree);
        assert_eq!(rows[1], ["Site/shop", "True", "False", "web is not ready"]);
        assert_eq!(rows[2], ["└─ web: Deployment", "-", "False", "waits for cache.status.endpoint"]);
        let value = described(&tree);
        assert_eq!((&value["kind"], &value["name"], &value["synced"]), (&json!("Site"), &json!("shop"), &json!(true)));
        assert_eq!(value["children"][0]["template"], "web");
        assert_eq!(value["children"][0]["state"], "Waiting");
    }
}
