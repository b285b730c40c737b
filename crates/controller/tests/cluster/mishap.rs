//! What goes wrong in a sweep, where, and how a life goes on after it. What the life is, the sweeps
//! say.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::FutureExt;
use futures::future::try_join_all;
use testkit::faults::{ApiError, Fault, FaultPlan, Filter, Gate, Trouble};
use testkit::{Cluster, Embedded};
use tokio::task::JoinHandle;

/// What happens to one request.
#[derive(Debug, Clone, Copy)]
pub enum Mishap {
    /// It fails.
    Fail,
    /// It is done, and the answer is lost.
    LoseAnswer,
    /// It is the last thing that its manager asks; another takes over.
    Die,
    /// It is answered only after everything that its manager does without the answer: of a watch,
    /// what is seen is old.
    #[allow(dead_code, reason = "not every sweep has it")]
    Late,
    /// It is answered as of this revision of the store.
    Stale(u64),
}

/// A mishap at the n-th request of a verb by a user. The verb may have a resource behind it.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub user: &'static str,
    pub verb: &'static str,
    pub at: usize,
    pub mishap: Mishap,
}

impl Place {
    /// Lets it happen on a server; the gate is where a manager dies.
    pub fn plan(self, faults: &FaultPlan) -> Gate {
        let gate = Gate::new();
        let trouble = match self.mishap {
            Mishap::Fail => Trouble::Fail(ApiError::internal("a mishap")),
            Mishap::LoseAnswer => Trouble::LoseAnswer,
            Mishap::Die | Mishap::Late => Trouble::Wait(gate.clone()),
            Mishap::Stale(revision) => Trouble::Stale(revision),
        };
        let filter = Filter {
            verb: Some(self.verb().0.to_owned()),
            resource: self.verb().1.map(str::to_owned),
            user: Some(self.user.to_owned()),
            ..Filter::default()
        };
        faults.add(Fault {
            filter,
            at: self.at,
            trouble,
        });
        gate
    }

    fn verb(self) -> (&'static str, Option<&'static str>) {
        self.verb
            .split_once(' ')
            .map_or((self.verb, None), |(verb, resource)| (verb, Some(resource)))
    }

    /// Opens the gate when the manager does nothing more without what waits there.
    async fn release_late(self, cluster: &Cluster, gate: &Gate) -> Result<()> {
        gate.reached(1).await;
        // The story asks too, as long as it waits.
        let asked = || -> Result<usize> {
            let requests = cluster.backend().requests(0)?;
            Ok(requests
                .iter()
                .filter(|request| request.user == self.user)
                .count())
        };
        let mut before = asked()?;
        loop {
            tokio::time::sleep(Duration::from_millis(150)).await;
            let now = asked()?;
            if now == before {
                gate.release();
                return Ok(());
            }
            before = now;
        }
    }

    /// Lives a story while managers work, one after another; answers whether the mishap came to
    /// pass.
    pub async fn lived<F: Future<Output = Result<JoinHandle<()>>> + Send>(
        self,
        cluster: &Cluster,
        gate: &Gate,
        manager: impl Fn() -> F,
        story: impl Future<Output = Result<()>> + Send,
    ) -> Result<bool> {
        let mut task = manager().await?;
        let death = async {
            match self.mishap {
                Mishap::Die => gate.reached(1).await,
                Mishap::Late => {
                    let _ = self.release_late(cluster, gate).await;
                    std::future::pending::<()>().await;
                }
                Mishap::Fail | Mishap::LoseAnswer | Mishap::Stale(_) => {
                    std::future::pending::<()>().await;
                }
            }
        };
        tokio::pin!(story);
        let outcome = tokio::select! {
            outcome = &mut story => outcome,
            () = death => {
                task.abort();
                let _ = (&mut task).await;
                gate.release();
                task = manager().await?;
                story.await
            }
        };
        task.abort();
        outcome.with_context(|| self.again())?;
        let requests = cluster.backend().requests(0)?;
        let (verb, resource) = self.verb();
        let is_such = |request: &&testkit::Request| {
            let kind = resource.is_none_or(|resource| request.resource == resource);
            request.user == self.user && request.verb == verb && kind
        };
        let asked = requests.iter().filter(is_such).count();
        Ok(asked >= self.at)
    }
}

impl Place {
    /// What happened, and how to let it happen again, alone.
    fn again(self) -> String {
        let Self {
            verb, at, mishap, ..
        } = self;
        format!(
            "{mishap:?} at the {at}. {verb}; to see it again: {AGAIN}={verb}:{at} and the name of this test"
        )
    }
}

/// The one place that a sweep is about, as `VERB:NUMBER`; all of them if it is not set.
const AGAIN: &str = "CAIRN_SWEEP";

fn only() -> Option<(String, usize)> {
    let text = std::env::var(AGAIN).ok()?;
    let (verb, at) = text.split_once(':')?;
    Some((verb.to_owned(), at.parse().ok()?))
}

/// A cluster of its own for one life, and the faults of its server.
pub async fn fresh() -> Result<(Cluster, FaultPlan)> {
    let embedded = Embedded::start(testkit::faults::Options::default()).await?;
    let faults = embedded.server().faults().clone();
    Ok((Cluster::of(embedded), faults))
}

/// Lets each request of a verb in turn go wrong, a few side by side. The first that is never
/// reached ends the sweep.
pub async fn sweep<F: Future<Output = Result<bool>> + Send + 'static>(
    user: &'static str,
    verb: &'static str,
    mishap: Mishap,
    life: impl Fn(Place) -> F,
) -> Result<()> {
    const SIDE_BY_SIDE: usize = 8;
    if let Some((only, at)) = only() {
        if only == verb {
            life(Place {
                user,
                verb,
                at,
                mishap,
            })
            .await?;
        }
        return Ok(());
    }
    let mut next = 1;
    loop {
        let places = (next..next + SIDE_BY_SIDE).map(|at| {
            life(Place {
                user,
                verb,
                at,
                mishap,
            })
            .boxed()
        });
        let reached: Vec<bool> = try_join_all(places.collect::<Vec<_>>()).await?;
        ensure!(reached[0] || next > 1, "there is no {verb} to go wrong");
        if !reached.iter().all(|reached| *reached) {
            return Ok(());
        }
        next += SIDE_BY_SIDE;
    }
}
