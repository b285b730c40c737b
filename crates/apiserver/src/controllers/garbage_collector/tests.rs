//! The garbage collector on a store of its own, with the built-in kinds.

#![allow(clippy::unwrap_used, reason = "a test may fail anywhere")]

use super::*;
use crate::storage::{Change, Expect, Watcher, Window};

struct Bench {
    store: Arc<Store>,
    collector: Collector,
    watcher: Watcher,
}

impl Bench {
    fn new() -> Self {
        let store = Store::in_memory(Window::default());
        let watcher = store.watch_all(store.revision()).unwrap();
        let collector = Collector::new(&store, &Arc::new(Registry::new()));
        Self {
            store,
            collector,
            watcher,
        }
    }

    /// A config map in a namespace, its name also its uid, with owners that are config maps,
    /// blocking if marked by `!`.
    async fn map(&self, namespace: &str, name: &str, owners: &[&str]) {
        let reference = |owner: &&str| {
            let name = owner.trim_end_matches('!');
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name, "blockOwnerDeletion": owner.ends_with('!')})
        };
        self.put(
            "configmaps",
            namespace,
            name,
            owners.iter().map(reference).collect(),
        )
        .await;
    }

    async fn put(&self, resource: &str, namespace: &str, name: &str, references: Vec<Value>) {
        let kind = if resource == "nodes" {
            "Node"
        } else {
            "ConfigMap"
        };
        let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace, "uid": name}});
        if !references.is_empty() {
            object["metadata"]["ownerReferences"] = references.into();
        }
        let key = Key::new(&Arc::from(resource), namespace, name);
        self.store
            .commit(vec![Change {
                key,
                expect: Expect::Absent,
                to: Some(object),
            }])
            .await
            .unwrap();
    }

    async fn delete(&self, namespace: &str, name: &str, finalizer: Option<&str>) {
        let key = Key::new(&Arc::from("configmaps"), namespace, name);
        let entry = self.store.get(&key).unwrap();
        let to = finalizer.map(|finalizer| {
            let mut object = (*entry.value()).clone();
            object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            object["metadata"]["finalizers"] = json!([finalizer]);
            object
        });
        self.store
            .commit(vec![Change {
                key,
                expect: Expect::Any,
                to,
            }])
            .await
            .unwrap();
    }

    /// Lets the collector work until nothing happens any more; what is left, with what it says of
    /// owners.
    async fn settle(&mut self) -> Vec<String> {
        loop {
            self.collector.work().await;
            let batch = self.watcher.take().unwrap();
            if batch.events.is_empty() {
                break;
            }
            for event in &batch.events {
                self.collector.note(event);
            }
        }
        let mut left = Vec::new();
        for table in self
            .store
            .resources()
            .iter()
            .filter(|table| &***table != "events")
        {
            for entry in self
                .store
                .list(
                    &Query {
                        resource: table,
                        ..Query::default()
                    },
                    |_| true,
                )
                .unwrap()
                .entries
            {
                let owners: Vec<String> = Owner::all_of(&entry.value())
                    .iter()
                    .map(|owner| owner.uid.to_string())
                    .collect();
                let going = if entry.value()["metadata"]["deletionTimestamp"].is_string() {
                    "-"
                } else {
                    ""
                };
                left.push(format!(
                    "{going}{}:{}",
                    uid_of(&entry.value()),
                    owners.join(",")
                ));
            }
        }
        left.sort();
        left
    }
}

#[tokio::test]
async fn an_owner_goes_only_once_all_that_it_owns_is_known() {
    for (finalizer, expect) in [
        (ORPHAN, vec!["child:", "root:"]),
        (FOREGROUND, vec!["root:"]),
    ] {
        let mut bench = Bench::new();
        bench.map("n", "root", &[]).await;
        bench.map("n", "owner", &["root"]).await;
        bench.map("n", "child", &["owner!"]).await;
        bench.delete("n", "owner", Some(finalizer)).await;
        // The store is ahead of what the collector has heard.
        let batch = bench.watcher.take().unwrap();
        let (heard, news) = batch.events.split_at(2);
        heard.iter().for_each(|event| bench.collector.note(event));
        bench.collector.work().await;
        let owner = bench
            .store
            .get(&Key::new(&Arc::from("configmaps"), "n", "owner"))
            .unwrap();
        assert!(has_finalizer(&owner.value(), finalizer), "{finalizer}");
        news.iter().for_each(|event| bench.collector.note(event));
        assert_eq!(bench.settle().await, expect, "{finalizer}");
    }
}

#[tokio::test]
async fn what_is_owned_goes_with_its_last_owner() {
    let mut bench = Bench::new();
    for (name, owners) in [
        ("a", &[][..]),
        ("b", &[]),
        ("child", &["a"]),
        ("shared", &["a", "b"]),
        ("grandchild", &["child"]),
        ("free", &[]),
    ] {
        bench.map("n", name, owners).await;
    }
    assert_eq!(
        bench.settle().await.len(),
        6,
        "all have owners that are there"
    );
    bench.delete("n", "a", None).await;
    assert_eq!(bench.settle().await, ["b:", "free:", "shared:b"]);
    bench.delete("n", "b", None).await;
    assert_eq!(bench.settle().await, ["free:"]);
}

#[tokio::test]
async fn an_owner_that_was_never_there_owns_nothing() {
    let mut bench = Bench::new();
    bench.map("n", "child", &["nobody"]).await;
    bench.map("n", "owner", &[]).await;
    bench.map("n", "mixed", &["nobody", "owner"]).await;
    assert_eq!(bench.settle().await, ["mixed:owner", "owner:"]);
}

#[tokio::test]
async fn in_the_foreground_the_owner_goes_last() {
    let mut bench = Bench::new();
    bench.map("n", "owner", &[]).await;
    bench.map("n", "blocking", &["owner!"]).await;
    bench.map("n", "other", &["owner"]).await;
    bench.map("n", "below", &["blocking!"]).await;
    let key = Key::new(&Arc::from("configmaps"), "n", "below");
    let hold = |object: &mut Value| {
        object["metadata"]["finalizers"] = json!(["acme.io/hold"]);
        true
    };
    writes::change(&bench.store, &key, "below", hold)
        .await
        .unwrap();
    bench.delete("n", "owner", Some(FOREGROUND)).await;
    assert_eq!(
        bench.settle().await,
        ["-below:blocking", "-blocking:owner", "-owner:"],
        "held from below"
    );
    writes::change(&bench.store, &key, "below", |object| {
        writes::remove_finalizer(object, "acme.io/hold")
    })
    .await
    .unwrap();
    assert_eq!(bench.settle().await, Vec::<String>::new());
}

#[tokio::test]
async fn those_who_own_each_other_can_still_go() {
    let mut bench = Bench::new();
    bench.map("n", "a", &["b!"]).await;
    bench.map("n", "b", &["a!"]).await;
    bench.delete("n", "a", Some(FOREGROUND)).await;
    assert_eq!(bench.settle().await, Vec::<String>::new());
}

#[tokio::test]
async fn orphans_stay_and_forget_their_owner() {
    let mut bench = Bench::new();
    bench.map("n", "owner", &[]).await;
    bench.map("n", "one", &["owner!"]).await;
    bench.map("n", "two", &["owner"]).await;
    bench.delete("n", "owner", Some(ORPHAN)).await;
    assert_eq!(bench.settle().await, ["one:", "two:"]);
}

#[tokio::test]
async fn scopes_decide_who_can_own_whom() {
    let mut bench = Bench::new();
    let node = json!({"apiVersion": "v1", "kind": "Node", "name": "node", "uid": "node"});
    bench.put("nodes", "", "node", Vec::new()).await;
    bench.put("configmaps", "n", "on-node", vec![node]).await;
    bench.map("n", "owner", &[]).await;
    bench.map("elsewhere", "stranger", &["owner"]).await;
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "owner"});
    bench.put("nodes", "", "above", vec![owner]).await;
    let unknown = json!({"apiVersion": "acme.io/v1", "kind": "Widget", "name": "w", "uid": "w"});
    bench.put("configmaps", "n", "unknown", vec![unknown]).await;
    let left = bench.settle().await;
    assert_eq!(
        left,
        [
            "above:owner",
            "node:",
            "on-node:node",
            "owner:",
            "unknown:w"
        ],
        "only the stranger went"
    );
    let events = || {
        bench
            .store
            .list(
                &Query {
                    resource: "events",
                    ..Query::default()
                },
                |_| true,
            )
            .unwrap()
            .entries
    };
    while events().is_empty() {
        tokio::task::yield_now().await;
    }
    let message = "ownerRef [v1/ConfigMap, namespace: elsewhere, name: owner, uid: owner] does not exist in namespace \"elsewhere\"";
    assert_eq!(events()[0].value()["message"], message);
    bench.delete("n", "owner", None).await;
    let left = bench.settle().await;
    assert_eq!(
        left,
        ["above:owner", "node:", "on-node:node", "unknown:w"],
        "nothing above a namespace is owned from within"
    );
}
