//! `cairn trace`: the tree of an instance on a live cluster, with what each part of it says and
//! waits for. It reads only.

use std::collections::BTreeSet;

use api::Crd;
use controller::template_stack_manager::Catalog;
use controller::{Cluster, Error};
use engine::Compiled;
use install::waits_for_kind;
use kube::api::{DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use objects::{Gvk, Resource, nearest};
use serde_json::{Value, json};

use crate::cli::{Format, Objects, Trace};
use crate::cluster::connect::IS_IT_RUNNING;
use crate::cluster::registries::block_on;
use crate::inspect::{Node, State, Working, grow_all, involved, unserved};
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &Trace, printer: &Printer) -> Result<Code, Failure> {
    block_on(async {
        let connected = args.connection.connect().await?;
        let cluster = Cluster::new(connected.client.clone(), "cairn-trace");
        let mut catalog = Catalog::new(&cluster);
        let stacks = stacks(&cluster, &connected.namespace, &mut catalog).await?;
        let (word, name) = named(args)?;
        let gvk = match meant(&stacks, word) {
            Err(failure) if failure.code != Code::Usage => {
                let waiting = waiting(&cluster, &connected.namespace).await;
                return Err(waiting.into_iter().fold(failure, Failure::hint));
            }
            meant => meant?,
        };
        let kind = resource(&mut catalog, &gvk).await?;
        let namespace = if kind.namespaced {
            connected.namespace.as_str()
        } else {
            ""
        };
        let instances = match name {
            Some(name) => {
                let found = cluster
                    .get(&kind, &objects::Key::new(namespace, name))
                    .await
                    .map_err(told)?;
                let Some(found) = found else {
                    let others = cluster
                        .list(&kind, namespace, Some(20))
                        .await
                        .map_err(told)?;
                    return Err(absent(&kind, namespace, name, &others));
                };
                vec![found]
            }
            None => {
                let found = cluster.list(&kind, namespace, None).await.map_err(told)?;
                if found.is_empty() && args.output.is_none() {
                    printer.line(&format!(
                        "there is no {}{}",
                        kind.gvk.kind,
                        placed(namespace)
                    ))?;
                    return Ok(Code::Ok);
                }
                found
                    .into_iter()
                    .map(|object| complete(object, &kind))
                    .collect()
            }
        };
        let all: Vec<&Working> = stacks
            .iter()
            .filter_map(|stack| stack.working.as_ref().ok())
            .collect();
        let having = || {
            all.iter()
                .copied()
                .filter(|stack| stack.compiled.kind(&gvk).is_some())
        };
        let broken = stacks
            .iter()
            .filter(|_| !having().any(|stack| stack.serves(namespace)));
        let broken = broken
            .filter(|stack| stack.is_in(namespace))
            .find_map(|stack| stack.broken(&gvk));
        if let Some(why) = broken.or_else(|| unserved(&gvk.kind, namespace, having())) {
            let trees: Vec<Node> = instances
                .iter()
                .map(|instance| left_alone(instance, &why))
                .collect();
            return show(&trees, args, printer);
        }
        let part: Vec<&Compiled> = involved(&all, &gvk, namespace)
            .into_iter()
            .map(|at| &all[at].compiled)
            .collect();
        // What a Stack says of its instances is part of what they are.
        let mut live: Vec<Value> = stacks.iter().map(|stack| stack.object.clone()).collect();
        let mut hidden = Vec::new();
        for stack in &part {
            for gvk in stack.rendered() {
                let Ok(Some(resource)) = catalog.resource(gvk).await else {
                    continue;
                };
                let found = children(&connected.client, &resource, namespace, &stack.name).await;
                match found {
                    Ok(objects) => live.extend(objects),
                    Err(Error::Forbidden(_)) => hidden.push(resource.to_string()),
                    Err(error) => return Err(told(error)),
                }
            }
        }
        let live: Vec<&Value> = live.iter().collect();
        let mut trees: Vec<Node> = instances
            .iter()
            .map(|instance| grow_all(&part, instance, &live))
            .collect();
        for tree in &mut trees {
            find_foreign(tree, &cluster, &mut catalog).await;
        }
        show(&trees, args, printer)?;
        for kind in hidden.into_iter().filter(|_| args.output.is_none()) {
            printer.line(&format!(
                "you may not list {kind}, so that none of them are shown"
            ))?;
        }
        Ok(Code::Ok)
    })?
}

/// The installs that wait for something and have no Stack yet: one of them may bring what was asked
/// for.
async fn waiting(cluster: &Cluster, namespace: &str) -> Vec<String> {
    let own = Resource::namespaced(
        api::GROUP,
        api::VERSION,
        api::StackInstall::KIND,
        api::StackInstall::PLURAL,
    );
    let wide = (
        api::ClusterStackInstall::KIND,
        api::ClusterStackInstall::PLURAL,
    );
    let wide = Resource::cluster(api::GROUP, api::VERSION, wide.0, wide.1);
    let mut found = Vec::new();
    for (kind, namespace) in [(own, namespace), (wide, "")] {
        // Who may not look is told nothing.
        let installs = cluster
            .list(&kind, namespace, None)
            .await
            .unwrap_or_default();
        // One that waits for another of its kind brings nothing that is not there.
        let is_new = |install: &&Value| {
            install["status"]["stackRecord"].is_null() && !waits_for_kind(install)
        };
        found.extend(installs.iter().filter(is_new).filter_map(|install| {
            let conditions = install["status"]["conditions"].as_array()?;
            let waits = conditions
                .iter()
                .find(|one| one["type"] == api::conditions::READY && one["status"] == "False")?;
            let (name, why) = (
                install["metadata"]["name"].as_str()?,
                waits["message"].as_str()?,
            );
            Some(format!(
                "the install {name} is not in place yet, and may bring it: {why}"
            ))
        }));
    }
    found
}

/// The kind and the name, if one is given: in two words or, as kubectl takes it, in one.
fn named(args: &Trace) -> Result<(&str, Option<&str>), Failure> {
    match (args.kind.split_once('/'), &args.name) {
        (None, name) => Ok((&args.kind, name.as_deref())),
        (Some((kind, name)), None) if !kind.is_empty() && !name.is_empty() => {
            Ok((kind, Some(name)))
        }
        (Some(_), _) => Err(Failure::usage(format!("{:?} is no kind", args.kind))
            .hint("write `KIND NAME`, or `KIND/NAME`")),
    }
}

/// Says of what seems to be on its way that an object of its name is in the way. Kinds without
/// conditions cannot say so themselves.
async fn find_foreign(tree: &mut Node, cluster: &Cluster, catalog: &mut Catalog<'_>) {
    let mut nodes = vec![tree];
    while let Some(node) = nodes.pop() {
        if let Some(wanted) = &node.wanted
            && let Some(gvk) = Gvk::of(wanted.object())
            && let Ok(Some(kind)) = catalog.resource(&gvk).await
        {
            let mut key = objects::Key::of(wanted.object());
            if !kind.namespaced {
                key.namespace.clear();
            }
            if let Ok(Some(found)) = cluster.get(&kind, &key).await
                && let Some(why) = wanted.in_the_way(&complete(found, &kind), &key.to_string())
            {
                node.object = format!("{}/{}", gvk.kind, key.name);
                node.state = State::Failing;
                node.note = why;
            }
        }
        nodes.extend(node.children.iter_mut());
    }
}

/// An instance that nobody serves.
fn left_alone(instance: &Value, why: &str) -> Node {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Node {
        template: String::new(),
        object: format!(
            "{}/{}",
            text(&instance["kind"]),
            text(&instance["metadata"]["name"])
        ),
        id: crate::terminal::printer::named(instance),
        state: State::Failing,
        note: why.to_owned(),
        wanted: None,
        synced: None,
        children: Vec::new(),
    }
}

/// Prints trees: the one that was asked for, or all of a kind.
fn show(trees: &[Node], args: &Trace, printer: &Printer) -> Result<Code, Failure> {
    let all = || match trees {
        [tree] if args.name.is_some() || args.kind.contains('/') => described(tree),
        trees => json!({ "items": trees.iter().map(described).collect::<Vec<_>>() }),
    };
    match args.output {
        Some(Objects::Json) => printer.report(&all(), Format::Json)?,
        Some(Objects::Yaml) => printer.report(&all(), Format::Yaml)?,
        Some(Objects::Name) => {
            for tree in trees {
                ids(tree, &mut |id| printer.line(id))?;
            }
        }
        None => printer.table(&rows(trees))?,
    }
    Ok(Code::Ok)
}

/// All objects of a tree that are there, as kubectl names them.
fn ids(node: &Node, found: &mut impl FnMut(&str) -> Result<(), Failure>) -> Result<(), Failure> {
    if !node.id.is_empty() {
        found(&node.id)?;
    }
    node.children.iter().try_for_each(|child| ids(child, found))
}

/// An object with its kind, which items of a list do not say.
fn complete(mut object: Value, kind: &Resource) -> Value {
    object["apiVersion"] = json!(kind.gvk.api_version().to_string());
    object["kind"] = json!(kind.gvk.kind);
    object
}

/// A Stack of the cluster, compiled, or what is wrong with it.
struct Known {
    object: Value,
    record: api::Stack,
    working: Result<Working, String>,
    crds: Vec<Crd>,
}

impl Known {
    /// The kinds that it owns, with their CRDs.
    fn kinds(&self) -> Vec<(Gvk, &Crd)> {
        let crd = |group: &str, kind: &str| {
            self.crds
                .iter()
                .find(|crd| crd.group == group && crd.names.kind == kind)
        };
        match &self.working {
            Ok(working) => {
                let kinds = working.compiled.kinds.iter();
                kinds
                    .filter_map(|kind| {
                        Some((kind.gvk.clone(), crd(&kind.gvk.group, &kind.gvk.kind)?))
                    })
                    .collect()
            }
            Err(_) => {
                let (owned, _) =
                    api::key::owned(&self.record.spec.customresourcedefinitions, &self.crds);
                let of = |own: &api::key::Owned| {
                    let crd = crd(&own.group, &own.kind)?;
                    Some((crd.gvk(own.versions.first()?), crd))
                };
                owned.iter().filter_map(of).collect()
            }
        }
    }

    fn is_in(&self, namespace: &str) -> bool {
        let wide = self.record.spec.app.permission_scope == api::PermissionScope::Cluster;
        wide || namespace.is_empty() || self.record.metadata.namespace == namespace
    }

    /// Why nothing becomes of instances of a kind, if the stack has it and does not compile.
    fn broken(&self, gvk: &Gvk) -> Option<String> {
        let wrong = self.working.as_ref().err()?;
        let api::Metadata {
            name, namespace, ..
        } = &self.record.metadata;
        self.kinds().iter().any(|(own, _)| own == gvk).then(|| {
            format!("the stack `{name}` in namespace {namespace} does not compile, and its instances stay as they are: {wrong}")
        })
    }
}

/// All Stacks that can be seen: those of the cluster, or of the namespace for whoever may see no
/// more.
async fn stacks(
    cluster: &Cluster,
    namespace: &str,
    catalog: &mut Catalog<'_>,
) -> Result<Vec<Known>, Failure> {
    let kind = Resource::namespaced(
        api::GROUP,
        api::VERSION,
        api::Stack::KIND,
        api::Stack::PLURAL,
    );
    let listed = match cluster.list(&kind, "", None).await {
        Err(Error::Forbidden(_)) => cluster.list(&kind, namespace, None).await,
        listed => listed,
    };
    let mut known = Vec::new();
    for object in listed.map_err(told)? {
        let object = complete(object, &kind);
        // One that does not read has no say in the others.
        let Ok(record) = serde_json::from_value::<api::Stack>(object.clone()) else {
            continue;
        };
        let crds = catalog
            .definitions(&record.spec.customresourcedefinitions)
            .await
            .map_err(told)?;
        let working = Working::compiled(&record, &crds);
        known.push(Known {
            object,
            record,
            working,
            crds,
        });
    }
    Ok(known)
}

/// Which of the kinds of stacks is meant by a word.
fn meant(stacks: &[Known], word: &str) -> Result<Gvk, Failure> {
    let wanted = word.to_lowercase();
    let mut found: Vec<(Gvk, String)> = Vec::new();
    let mut names: BTreeSet<String> = BTreeSet::new();
    for stack in stacks {
        for (own, crd) in stack.kinds() {
            let full = format!("{}.{}", crd.names.plural, crd.group);
            names.insert(full.clone());
            let called = [&crd.names.kind, &crd.names.plural, &crd.names.singular];
            let fits = called
                .into_iter()
                .chain(&crd.names.short_names)
                .any(|name| {
                    let name = name.to_lowercase();
                    wanted == name || wanted == format!("{name}.{}", crd.group)
                });
            if fits && !found.iter().any(|(gvk, _)| *gvk == own) {
                found.push((own, full));
            }
        }
    }
    match found.as_slice() {
        [(gvk, _)] => Ok(gvk.clone()),
        [] => {
            let failure = Failure::new(format!("no stack here has a kind {word:?}"));
            Err(
                match (
                    nearest(&wanted, names.iter().map(String::as_str)),
                    names.is_empty(),
                ) {
                    (Some(near), _) => failure.hint(format!("did you mean `{near}`?")),
                    (None, true) => failure
                        .hint("no Stack is installed, or you may not see it: `cairn list -A`"),
                    (None, false) => {
                        failure.hint(format!("there are {}", Vec::from_iter(names).join(", ")))
                    }
                },
            )
        }
        several => {
            let names: Vec<&str> = several.iter().map(|(_, full)| full.as_str()).collect();
            Err(Failure::usage(format!("{word:?} may mean several kinds"))
                .hint(format!("write one of {}", names.join(", "))))
        }
    }
}

async fn resource(catalog: &mut Catalog<'_>, gvk: &Gvk) -> Result<Resource, Failure> {
    let found = catalog.resource(gvk).await.map_err(told)?;
    found.ok_or_else(|| Failure::new(format!("the cluster does not serve {gvk}")))
}

async fn children(
    client: &Client,
    kind: &Resource,
    namespace: &str,
    stack: &str,
) -> Result<Vec<Value>, Error> {
    let Gvk {
        group,
        version,
        kind: name,
    } = &kind.gvk;
    let resource = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(group, version, name),
        &kind.plural,
    );
    let api: Api<DynamicObject> = match (kind.namespaced, namespace) {
        (false, _) | (_, "") => Api::all_with(client.clone(), &resource),
        (true, namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let list = api
        .list(&ListParams::default().labels(&engine::stack_label(stack)))
        .await?;
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

fn placed(namespace: &str) -> String {
    if namespace.is_empty() {
        String::new()
    } else {
        format!(" in namespace {namespace}")
    }
}

fn absent(kind: &Resource, namespace: &str, name: &str, others: &[Value]) -> Failure {
    let failure = Failure::new(format!(
        "there is no {} {name:?}{}",
        kind.gvk.kind,
        placed(namespace)
    ));
    let names: Vec<&str> = others
        .iter()
        .filter_map(|other| other["metadata"]["name"].as_str())
        .collect();
    match (nearest(name, names.iter().copied()), names.is_empty()) {
        (Some(near), _) => failure.hint(format!("did you mean {near:?}?")),
        (None, true) => failure.hint("there is none at all: name another namespace with -n"),
        (None, false) => failure.hint(format!("there are {}", names.join(", "))),
    }
}

fn told(error: Error) -> Failure {
    match error {
        Error::Forbidden(_) => {
            Failure::new(error.to_string()).hint("it needs to list stacks, and what they made")
        }
        Error::NotFound(_) => Failure::new("the cluster knows no stacks")
            .hint("is the stack manager running? See `cairn stack-manager --help`"),
        Error::Unavailable(why) => Failure::new(why).hint(IS_IT_RUNNING),
        error => Failure::new(error.to_string()),
    }
}

fn rows(trees: &[Node]) -> Vec<Vec<String>> {
    let mut rows = vec![
        ["OBJECT", "SYNCED", "READY", "STATUS"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut synced = Vec::new();
    trees.iter().for_each(|tree| flat(tree, &mut synced));
    for (line, synced) in trees.iter().flat_map(Node::lines).zip(synced) {
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

    use api::Crd;
    use objects::Gvk;

    use super::{Known, described, meant, rows};
    use crate::inspect::{Node, State, Working};

    #[test]
    fn a_stack_that_does_not_compile_still_has_its_kinds_and_says_what_is_wrong() {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "shops.example.org" },
            "spec": {
                "group": "example.org", "scope": "Namespaced", "names": { "kind": "Shop", "plural": "shops" },
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } },
                }],
            },
        });
        let crds = vec![Crd::read(&crd).0.unwrap()];
        let known = |text: &str| {
            let object = json!({
                "apiVersion": api::API_VERSION, "kind": "Stack", "metadata": { "namespace": "team", "name": "shop" },
                "spec": {
                    "customresourcedefinitions": [{ "kind": "Shop", "apiVersion": "example.org/v1" }],
                    "templates": { "shop.example.org/v1": { "map": text } },
                },
            });
            let record: api::Stack = serde_json::from_value(object.clone()).unwrap();
            Known {
                object,
                working: Working::compiled(&record, &crds),
                record,
                crds: crds.clone(),
            }
        };
        let gvk = Gvk::new("example.org", "v1", "Shop");
        let good = known("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
        assert_eq!((good.broken(&gvk), good.kinds().len()), (None, 1));
        let bad = known("{{ .spec.a }");
        let why = bad.broken(&gvk).unwrap();
        assert!(
            why.starts_with("the stack `shop` in namespace team does not compile"),
            "{why}"
        );
        assert!(why.contains("map.yaml:1:"), "{why}");
        assert_eq!(bad.broken(&Gvk::new("example.org", "v1", "Other")), None);
        assert!(bad.is_in("team") && !bad.is_in("other"));
        assert_eq!(meant(&[bad], "shop").ok(), Some(gvk));
    }

    #[test]
    fn a_tree_is_a_row_for_each_object_and_an_object_for_programs() {
        let child = Node {
            template: "web".to_owned(),
            object: "Deployment".to_owned(),
            id: String::new(),
            state: State::Waiting,
            note: "waits for cache.status.endpoint".to_owned(),
            wanted: None,
            synced: None,
            children: Vec::new(),
        };
        let tree = Node {
            template: String::new(),
            object: "Site/shop".to_owned(),
            id: "site.example.org/shop".to_owned(),
            state: State::Waiting,
            note: "web is not ready".to_owned(),
            wanted: None,
            synced: Some(true),
            children: vec![child],
        };
        let rows = rows(std::slice::from_ref(&tree));
        assert_eq!(rows[1], ["Site/shop", "True", "False", "web is not ready"]);
        assert_eq!(
            rows[2],
            [
                "└─ web: Deployment",
                "-",
                "False",
                "waits for cache.status.endpoint"
            ]
        );
        let value = described(&tree);
        assert_eq!(
            (&value["kind"], &value["name"], &value["synced"]),
            (&json!("Site"), &json!("shop"), &json!(true))
        );
        assert_eq!(value["children"][0]["template"], "web");
        assert_eq!(value["children"][0]["state"], "Waiting");
    }
}
