//! Tells how instances get on: a line when one becomes ready, begins to wait for something else, or
//! fails.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api::{Crd, Stack};
use kube::Client;
use objects::{Gvk, Resource};
use serde_json::Value;

use crate::inspect::{Follower, Node, OTHER, State, Working, grow, resource, roots, unserved};
use crate::terminal::error::Failure;
use crate::terminal::printer::{Paint, Printer};

/// What changes shortly one after the other is told once.
const QUIET: Duration = Duration::from_millis(200);

/// Tells of all instances of all stacks, for as long as it is polled.
pub(crate) async fn tell(client: &Client, printer: &Printer) -> Result<(), Failure> {
    let stacks = Resource::namespaced(api::GROUP, api::VERSION, Stack::KIND, Stack::PLURAL);
    let crds = Resource::cluster(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    );
    let mut records = Follower::start(client, BTreeSet::from([stacks, crds])).await;
    let mut told = BTreeMap::new();
    let mut installed = Installed::read(&records);
    let mut instances = Follower::start(client, installed.kinds.clone()).await;
    loop {
        let objects = instances.objects();
        // What a Stack says of its instances is part of what they are.
        let stacks = records.objects();
        let stacks = stacks.iter().filter(|object| object["kind"] == Stack::KIND);
        let live: Vec<&Value> = objects
            .iter()
            .chain(stacks)
            .map(|object| &**object)
            .collect();
        for stack in &installed.stacks {
            for root in roots(&stack.compiled, &live) {
                let name = named(root);
                let news = match installed.unserved(root) {
                    Some(why) => (State::Failing, why),
                    None if !stack.serves(namespace_of(root)) => continue,
                    None => gist(&grow(&stack.compiled, root, &live)),
                };
                if told.insert(name.clone(), news.clone()).as_ref() != Some(&news) {
                    let paint = match news.0 {
                        State::Ready => Paint::Good,
                        State::Coming => Paint::Coming,
                        State::Waiting => Paint::Waiting,
                        State::Failing => Paint::Bad,
                    };
                    printer.line(&format!("{name}: {}", printer.painted(paint, &news.1)))?;
                }
            }
        }
        told.retain(|name, _| {
            instances
                .objects()
                .iter()
                .any(|object| named(object) == *name)
        });
        tokio::select! {
            () = records.changed() => {}
            () = instances.changed() => {}
        }
        tokio::time::sleep(QUIET).await;
        let now = Installed::read(&records);
        if now.kinds != installed.kinds {
            instances = Follower::start(client, now.kinds.clone()).await;
        }
        installed = now;
    }
}

/// The stacks that are installed, and the kinds that they are about.
struct Installed {
    stacks: Vec<Working>,
    kinds: BTreeSet<Resource>,
}

impl Installed {
    fn read(records: &Follower) -> Installed {
        let objects = records.objects();
        let crds: Vec<Crd> = objects
            .iter()
            .filter(|object| object["kind"] == "CustomResourceDefinition")
            .filter_map(|object| Crd::read(object).0)
            .collect();
        let stacks = objects
            .iter()
            .filter(|object| object["kind"] == Stack::KIND);
        let stacks: Vec<Working> = stacks
            .filter_map(|object| serde_json::from_value::<Stack>(Value::clone(object)).ok())
            .filter_map(|record| Working::of(&record, &crds))
            .collect();
        let own = stacks
            .iter()
            .flat_map(|stack| stack.compiled.kinds.iter().map(|kind| &kind.gvk));
        let kinds: BTreeSet<&Gvk> = own
            .chain(stacks.iter().flat_map(|stack| stack.compiled.rendered()))
            .collect();
        let kinds = kinds
            .into_iter()
            .filter_map(|gvk| resource(gvk, &crds))
            .collect();
        Installed { stacks, kinds }
    }

    /// Why nothing becomes of an instance where it is.
    fn unserved(&self, instance: &Value) -> Option<String> {
        let gvk = Gvk::of(instance)?;
        let stacks = self
            .stacks
            .iter()
            .filter(|stack| stack.compiled.kind(&gvk).is_some());
        unserved(&gvk.kind, namespace_of(instance), stacks)
    }
}

fn namespace_of(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

fn named(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let place = metadata["namespace"]
        .as_str()
        .map(|namespace| format!("{namespace}/"))
        .unwrap_or_default();
    format!(
        "{} {place}{}",
        text(&object["kind"]),
        text(&metadata["name"])
    )
}

/// How an instance is, by what matters most of it.
fn gist(tree: &Node) -> (State, String) {
    let lines = tree.lines();
    let leaf = |state: State| {
        let mut fitting = lines.iter().rev().filter(|line| line.state == state);
        // One that says why is worth more than one that only says that.
        fitting
            .clone()
            .find(|line| line.note != OTHER)
            .or_else(|| fitting.next())
    };
    match [State::Failing, State::Waiting, State::Coming]
        .into_iter()
        .find_map(|state| Some((state, leaf(state)?)))
    {
        Some((state, line)) if line.path.trim_matches('/').is_empty() => (state, line.note.clone()),
        Some((state, line)) => (state, format!("{} {}", line.what, line.note)),
        None => (State::Ready, tree.note.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::gist;
    use crate::inspect::{Node, OTHER, State};

    #[test]
    fn of_two_that_fail_the_one_that_says_why_is_told() {
        let node = |template: &str, note: &str, children: Vec<Node>| Node {
            template: template.to_owned(),
            object: "ConfigMap/it".to_owned(),
            id: String::new(),
            state: State::Failing,
            note: note.to_owned(),
            wanted: None,
            synced: None,
            children,
        };
        let tree = node(
            "",
            "a",
            vec![
                node("a", "belongs to another", Vec::new()),
                node("b", OTHER, Vec::new()),
            ],
        );
        assert_eq!(
            gist(&tree),
            (
                State::Failing,
                "a: ConfigMap/it belongs to another".to_owned()
            )
        );
    }
}
