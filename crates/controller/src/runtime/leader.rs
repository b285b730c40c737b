//! One of several: a Lease says who works, the others wait until it is given up or runs out.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{Cluster, Error};
use objects::{Key, Resource};

/// How long a Lease holds that does not say it.
const HOLDS: Duration = Duration::from_secs(15);

/// A Lease that somebody wants.
pub struct Lease {
    cluster: Cluster,
    key: Key,
    identity: String,
    /// How long it holds without being renewed.
    holds: Duration,
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
    let holds = spec["leaseDurationSeconds"]
        .as_u64()
        .map_or(HOLDS, Duration::from_secs);
    if holder == identity {
        Move::Take { transitions }
    } else if holder.is_empty() || unchanged > holds {
        Move::Take {
            transitions: transitions + 1,
        }
    } else {
        Move::Wait
    }
}

impl Lease {
    /// A Lease that holds for so long without being renewed, in whole seconds, for whoever
    /// `identity` is.
    pub fn new(cluster: Cluster, key: Key, identity: &str, holds: Duration) -> Self {
        Self {
            cluster,
            key,
            identity: identity.to_owned(),
            holds,
            seen: None,
        }
    }

    /// How often it is renewed, and how often others look: often enough to fail a few times.
    fn pause(&self) -> Duration {
        self.holds / 5
    }

    /// Waits until the Lease is ours.
    pub async fn acquire(&mut self) {
        loop {
            match self.attempt().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(lease = %self.key, %error, "the Lease could not be taken");
                }
            }
            tokio::time::sleep(self.pause()).await;
        }
    }

    /// Keeps the Lease; returns when it is lost, after which nothing may be written any more.
    pub async fn keep(&mut self) {
        let mut renewed = Instant::now();
        // Others take it once it ran out; we have to be gone before, also if the API server does
        // not answer at all.
        while let Ok(Some(since)) =
            tokio::time::timeout_at(renewed + self.holds * 2 / 3, self.renew()).await
        {
            renewed = since;
        }
    }

    /// Renews the Lease, as often as it fails; answers when, unless somebody else has it.
    async fn renew(&mut self) -> Option<Instant> {
        loop {
            tokio::time::sleep(self.pause()).await;
            let begin = Instant::now();
            match self.attempt().await {
                Ok(held) => return held.then_some(begin),
                Err(error) => {
                    tracing::warn!(lease = %self.key, %error, "the Lease could not be renewed");
                }
            }
        }
    }

    /// Gives the Lease up if it is ours, so that others need not wait until it runs out.
    pub async fn release(&mut self) {
        if let Err(error) = self.give_up().await {
            tracing::debug!(lease = %self.key, %error, "the Lease was not given up");
        }
    }

    async fn give_up(&self) -> Result<(), Error> {
        let Some(live) = self.cluster.get(&resource(), &self.key).await? else {
            return Ok(());
        };
        if live["spec"]["holderIdentity"] == self.identity.as_str() {
            let version = &live["metadata"]["resourceVersion"];
            let patch = json!({ "metadata": { "resourceVersion": version }, "spec": { "holderIdentity": "" } });
            self.cluster
                .merge(&resource(), &self.key, "", &patch)
                .await?;
        }
        Ok(())
    }

    /// Makes, takes or renews the Lease; answers whether it is ours.
    async fn attempt(&mut self) -> Result<bool, Error> {
        match self.try_once().await {
            // Somebody wrote in between: who has it now? If that goes on, it is asked again after a
            // pause.
            Err(Error::Conflict(_)) => self.try_once().await,
            outcome => outcome,
        }
    }

    async fn try_once(&mut self) -> Result<bool, Error> {
        let live = self.cluster.get(&resource(), &self.key).await?;
        let version = live
            .as_ref()
            .and_then(|live| live["metadata"]["resourceVersion"].as_str())
            .unwrap_or_default();
        let since = match &self.seen {
            Some((seen, since)) if seen == version => *since,
            _ => Instant::now(),
        };
        self.seen = Some((version.to_owned(), since));
        let now = jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%S.%6fZ")
            .to_string();
        let mut spec = json!({
            "holderIdentity": self.identity, "leaseDurationSeconds": self.holds.as_secs(), "renewTime": now,
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
                if live
                    .as_ref()
                    .is_some_and(|live| live["spec"]["holderIdentity"] != self.identity.as_str())
                {
                    spec["acquireTime"] = json!(now);
                    spec["leaseTransitions"] = json!(transitions);
                }
                // Of two who try at once, one has seen an older version.
                let patch = json!({ "metadata": { "resourceVersion": version }, "spec": spec });
                self.cluster.merge(&resource(), &self.key, "", &patch).await
            }
        };
        outcome.map(|_| true)
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
            assert_eq!(
                decide(live.as_ref(), "me", Duration::from_secs(unchanged)),
                expected,
                "{live:?}"
            );
        }
    }
}
