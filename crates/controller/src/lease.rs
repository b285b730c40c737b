//! One of several: a Lease says who works, the others wait until it is given up or runs out.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::resource::{Key, Resource};
use crate::{Cluster, Error};

/// How long a Lease holds without being renewed.
const HOLDS: Duration = Duration::from_secs(15);
/// How often it is renewed, and how often others look.
const RENEWED: Duration = Duration::from_secs(5);

/// A Lease that somebody wants.
pub struct Lease {
    cluster: Cluster,
    key: Key,
    identity: String,
    /// What was seen last, and when: clocks of machines differ, so only our own counts.
    seen: Option<(String, Instant)>,
}

/// What to do about a Lease.
#[derive(Debug, PartialEq, Eq)]
enum Move {
    /// There is none: make it.
    Make,
    /// It is ours, or nobody's any more: write our name into it.
    Take { transitions: i64 },
    /// Somebody else has it.
    Wait,
}

fn decide(live: Option<&Value>, identity: &str, unchanged: Duration) -> Move {
    let Some(live) = live else { return Move::Make };
    let spec = &live["spec"];
    let holder = spec["holderIdentity"].as_str().unwrap_or_default();
    let transitions = spec["leaseTransitions"].as_i64().unwrap_or_default();
    let holds = spec["leaseDurationSeconds"].as_u64().map_or(HOLDS, Duration::from_secs);
    if holder == identity {
        Move::Take { transitions }
    } else if holder.is_empty() || unchanged > holds {
        Move::Take { transitions: transitions + 1 }
    } else {
        Move::Wait
    }
}

impl Lease {
    /// A Lease, for whoever `identity` is.
    pub fn new(cluster: Cluster, namespace: &str, name: &str, identity: &str) -> Self {
        Self { cluster, key: Key::new(namespace, name), identity: identity.to_owned(), seen: None }
    }

    /// Waits until the Lease is ours.
    pub async fn acquire(&mut self) {
        loop {
            match self.attempt().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => tracing::warn!(lease = %self.key, %error, "the Lease could not be taken"),
            }
            tokio::time::sleep(RENEWED).await;
        }
    }

    /// Keeps the Lease; returns when it is lost, after which nothing may be written any more.
    pub async fn keep(&mut self) {
        let mut last = Instant::now();
        loop {
            tokio::time::sleep(RENEWED).await;
            match self.attempt().await {
                Ok(true) => last = Instant::now(),
                Ok(false) => return,
                // Others take it once it ran out; we have to be gone before.
                Err(_) if last.elapsed() > HOLDS - RENEWED => return,
                Err(error) => tracing::warn!(lease = %self.key, %error, "the Lease could not be renewed"),
            }
        }
    }

    /// Gives the Lease up, so that others need not wait until it runs out.
    pub async fn release(&mut self) {
        let patch = json!({ "spec": { "holderIdentity": "" } });
        if let Err(error) = self.cluster.merge(&resource(), &self.key, "", &patch).await {
            tracing::debug!(lease = %self.key, %error, "the Lease was not given up");
        }
    }

    async fn attempt(&mut self) -> Result<bool, Error> {
        let live = self.cluster.get(&resource(), &self.key).await?;
        let version = live.as_ref().and_then(|live| live["metadata"]["resourceVersion"].as_str()).unwrap_or_default();
        let since = match &self.seen {
            Some((seen, since)) if seen == version => *since,
            _ => Instant::now(),
        };
        self.seen = Some((version.to_owned(), since));
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
        let mut spec = json!({
            "holderIdentity": self.identity, "leaseDurationSeconds": HOLDS.as_secs(), "renewTime": now,
        });
        let outcome = match decide(live.as_ref(), &self.identity, since.elapsed()) {
            Move::Wait => return Ok(false),
            Move::Make => {
                spec["acquireTime"] = json!(now);
                spec["leaseTransitions"] = json!(0);
                let lease = json!({
                    "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec,
                    "metadata": { "name": self.key.name, "namespace": self.key.namespace },
                });
                self.cluster.create(&resource(), &lease).await
            }
            Move::Take { transitions } => {
                if live.as_ref().is_some_and(|live| live["spec"]["holderIdentity"] != self.identity.as_str()) {
                    spec["acquireTime"] = json!(now);
                    spec["leaseTransitions"] = json!(transitions);
                }
                // Of two who try at once, one has seen an older version.
                let patch = json!({ "metadata": { "resourceVersion": version }, "spec": spec });
                self.cluster.merge(&resource(), &self.key, "", &patch).await
            }
        };
        match outcome {
            Ok(_) => Ok(true),
            Err(Error::Conflict(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn resource() -> Resource {
    Resource::namespaced("coordination.k8s.io", "v1", "Lease", "leases")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::{Move, decide};

    #[test]
    fn a_lease_is_taken_when_it_is_ours_nobodys_or_has_run_out() {
        let held = |holder: &str| {
            json!({ "spec": {
            "holderIdentity": holder, "leaseTransitions": 3, "leaseDurationSeconds": 15,
        } })
        };
        for (live, unchanged, expected) in [
            (None, 0, Move::Make),
            (Some(held("me")), 100, Move::Take { transitions: 3 }),
            (Some(held("")), 0, Move::Take { transitions: 4 }),
            (Some(held("other")), 15, Move::Wait),
            (Some(held("other")), 16, Move::Take { transitions: 4 }),
            (Some(json!({})), 0, Move::Take { transitions: 1 }),
        ] {
            assert_eq!(decide(live.as_ref(), "me", Duration::from_secs(unchanged)), expected, "{live:?}");
        }
    }
}
