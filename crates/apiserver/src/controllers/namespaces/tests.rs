//! The end of namespaces, on a store of its own.

#![allow(clippy::unwrap_used, reason = "a test may fail anywhere")]

use super::*;
use crate::storage::{Change, Expect, Watcher, Window};

struct Bench {
    store: Arc<Store>,
    namespaces: Namespaces,
    watcher: Watcher,
}

impl Bench {
    async fn new() -> Self {
        let store = Store::in_memory(Window::default());
        let watcher = store.watch_all(store.revision()).unwrap();
        let bench = Self {
            namespaces: Namespaces::new(&store),
            store,
            watcher,
        };
        bench.put("namespaces", "", "n", fresh("n")).await;
        bench
    }

    async fn put(&self, resource: &str, namespace: &str, name: &str, object: Value) {
        let key = Key::new(&Arc::from(resource), namespace, name);
        self.store
            .commit(vec![Change {
                key,
                expect: Expect::Any,
                to: Some(object),
            }])
            .await
            .unwrap();
    }

    async fn map(&self, name: &str, finalizers: &[&str]) {
        let object = json!({"metadata": {"name": name, "namespace": "n", "uid": name, "finalizers": finalizers}});
        self.put("configmaps", "n", name, object).await;
    }

    async fn settle(&mut self) {
        loop {
            while self.namespaces.is_busy() {
                self.namespaces.work().await;
            }
            let batch = self.watcher.take().unwrap();
            if batch.events.is_empty() {
                return;
            }
            for event in &batch.events {
                self.namespaces.note(event);
            }
        }
    }

    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.store
            .get(&Key::new(&Arc::from(resource), namespace, name))
            .map(|entry| entry.value())
    }

    async fn delete(&self) {
        let namespace = self.get("namespaces", "", "n").unwrap();
        delete::mark(&self.store, &Arc::from("namespaces"), &namespace).await;
    }
}

#[tokio::test]
async fn a_namespace_goes_once_it_is_empty() {
    let mut bench = Bench::new().await;
    bench.map("free", &[]).await;
    bench.map("held", &["acme.io/hold"]).await;
    bench.map("held-too", &["acme.io/hold"]).await;
    let set = json!({"metadata": {"name": "d", "namespace": "n", "uid": "d", "finalizers": ["acme.io/other"]}});
    bench.put("deployments.apps", "n", "d", set).await;
    bench
        .put(
            "configmaps",
            "other",
            "stays",
            json!({"metadata": {"name": "stays", "namespace": "other"}}),
        )
        .await;
    bench.put("namespaces", "", "other", fresh("other")).await;
    bench.delete().await;
    bench.settle().await;
    assert!(bench.get("configmaps", "n", "free").is_none());
    let namespace = bench.get("namespaces", "", "n").unwrap();
    let conditions = namespace["status"]["conditions"].as_array().unwrap();
    let said: Vec<String> = conditions
        .iter()
        .map(|condition| {
            ["type", "status", "reason", "message"]
                .map(|field| condition[field].as_str().unwrap())
                .join(" ")
        })
        .collect();
    let expect = [
        "NamespaceDeletionDiscoveryFailure False ResourcesDiscovered All resources successfully discovered",
        "NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions All legacy kube types successfully parsed",
        "NamespaceDeletionContentFailure False ContentDeleted All content successfully deleted, may be waiting on finalization",
        "NamespaceContentRemaining True SomeResourcesRemain Some resources are remaining: configmaps. has 2 resource instances, \
         deployments.apps has 1 resource instances",
        "NamespaceFinalizersRemaining True SomeFinalizersRemain Some content in the namespace has finalizers remaining: \
         acme.io/hold in 2 resource instances, acme.io/other in 1 resource instances",
    ];
    assert_eq!(said, expect);
    for (resource, name) in [
        ("configmaps", "held"),
        ("configmaps", "held-too"),
        ("deployments.apps", "d"),
    ] {
        let key = Key::new(&Arc::from(resource), "n", name);
        writes::change(&bench.store, &key, name, |object| {
            writes::remove_finalizer(object, "acme.io/hold")
                | writes::remove_finalizer(object, "acme.io/other")
        })
        .await
        .unwrap();
        assert!(bench.get("namespaces", "", "n").is_some(), "before {name}");
    }
    bench.settle().await;
    assert!(bench.get("namespaces", "", "n").is_none());
    assert!(bench.get("configmaps", "other", "stays").is_some());
}

#[tokio::test]
async fn another_finalizer_keeps_an_empty_namespace() {
    let mut bench = Bench::new().await;
    let mut namespace = fresh("n");
    namespace["spec"]["finalizers"] = json!(["kubernetes", "acme.io/x"]);
    bench.put("namespaces", "", "n", namespace).await;
    bench.delete().await;
    bench.settle().await;
    assert_eq!(
        bench.get("namespaces", "", "n").unwrap()["spec"]["finalizers"],
        json!(["acme.io/x"])
    );
}

#[tokio::test]
async fn what_slips_in_while_a_namespace_goes_does_not_stay() {
    let mut bench = Bench::new().await;
    bench.map("held", &["acme.io/hold"]).await;
    bench.delete().await;
    bench.settle().await;
    bench.map("late", &[]).await;
    bench.settle().await;
    assert!(bench.get("configmaps", "n", "late").is_none());
    let key = Key::new(&Arc::from("configmaps"), "n", "held");
    writes::change(&bench.store, &key, "held", |object| {
        writes::remove_finalizer(object, "acme.io/hold")
    })
    .await
    .unwrap();
    bench.settle().await;
    assert!(bench.get("namespaces", "", "n").is_none());
    bench.map("later", &[]).await;
    bench.settle().await;
    assert!(
        bench.get("configmaps", "n", "later").is_none(),
        "the namespace is gone"
    );
}
