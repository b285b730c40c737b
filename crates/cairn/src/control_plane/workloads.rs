//! Plays the controllers of a cluster with nodes: what a Deployment and the like ask for is
//! reported as running, though nothing runs. What is reported is decided by
//! `engine::simulate::workloads`.

use std::sync::Arc;
use std::time::Duration;

use controller::{Cache, Cluster, Queue, Requeue, Scope};
use kube::Client;
use objects::{Key, Resource};
use serde_json::json;

/// The field manager of played statuses.
const PLAYER: &str = "cairn-player";

/// Players at work; they end when this is dropped.
pub(crate) struct WorkloadSimulator {
    queue: Arc<Queue<(usize, Key)>>,
}

impl Drop for WorkloadSimulator {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl WorkloadSimulator {
    /// Begins to play, each part after a while: as long as things seem to take to start.
    pub fn start(client: &Client, after: Duration) -> WorkloadSimulator {
        let queue: Arc<Queue<(usize, Key)>> = Arc::default();
        let kinds = engine::SIMULATED
            .iter()
            .filter_map(|(group, version, kind)| {
                let api_version = if group.is_empty() {
                    (*version).to_owned()
                } else {
                    format!("{group}/{version}")
                };
                Resource::builtin(&json!({ "apiVersion": api_version, "kind": kind }))
            });
        let watch = |(index, resource): (usize, Resource)| {
            let queue = queue.clone();
            let scope = Scope::all(resource.clone());
            let cache = Cache::watch(client.clone(), &scope, Arc::new, move |change| {
                if change.new.is_some() {
                    queue.add((index, change.key.clone()));
                }
            });
            (resource, cache)
        };
        let caches: Arc<Vec<_>> = Arc::new(kinds.enumerate().map(watch).collect());
        let cluster = Cluster::new(client.clone(), PLAYER);
        let work = queue.clone();
        tokio::spawn(async move {
            while let Some((index, key)) = work.next().await {
                let (work, caches, cluster) = (work.clone(), caches.clone(), cluster.clone());
                tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    let (resource, cache) = &caches[index];
                    let now = jiff::Timestamp::now()
                        .strftime("%Y-%m-%dT%H:%M:%SZ")
                        .to_string();
                    let patch = cache
                        .get(&key)
                        .and_then(|object| engine::play(&object, &now));
                    let outcome = match patch {
                        Some(status) => {
                            let patch = json!({ "status": status });
                            cluster
                                .merge(resource, &key, "status", &patch)
                                .await
                                .map(|_| ())
                        }
                        None => Ok(()),
                    };
                    let again = match outcome {
                        Ok(()) | Err(controller::Error::NotFound(_)) => Requeue::AwaitChange,
                        Err(error) => {
                            tracing::debug!(%resource, %key, %error, "its status was not played");
                            Requeue::Backoff
                        }
                    };
                    work.done((index, key), again);
                });
            }
        });
        WorkloadSimulator { queue }
    }
}
