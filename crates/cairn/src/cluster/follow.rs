//! Follows all objects of some kinds, and tells when something about them has changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use controller::{Cache, Scope};
use kube::Client;
use objects::Resource;
use serde_json::Value;
use tokio::sync::watch;

/// What is followed; it ends when this is dropped.
pub(crate) struct Follower {
    caches: Vec<Arc<Cache<Arc<Value>>>>,
    changes: watch::Receiver<u64>,
}

impl Follower {
    /// Follows these kinds, and returns when all of their objects have been seen once.
    pub async fn start(client: &Client, kinds: BTreeSet<Resource>) -> Follower {
        let (sender, changes) = watch::channel(0);
        let sender = Arc::new(sender);
        let watch = |resource: Resource| {
            let sender = sender.clone();
            Cache::watch(client.clone(), &Scope::all(resource), Arc::new, move |_| {
                sender.send_modify(|count| *count += 1);
            })
        };
        let caches: Vec<_> = kinds.into_iter().map(watch).collect();
        for cache in &caches {
            cache.synced().await;
        }
        Follower { caches, changes }
    }

    /// All objects, as far as they have been seen.
    pub fn objects(&self) -> Vec<Arc<Value>> {
        self.caches
            .iter()
            .flat_map(|cache| cache.all())
            .map(|(_, object)| object)
            .collect()
    }

    /// Waits until something has changed since the last call.
    pub async fn changed(&mut self) {
        // The sender lives in the watches, which end after this.
        let _ = self.changes.changed().await;
    }
}
