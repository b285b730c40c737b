//! A controller while it runs: its health over HTTP, its turn among several of its kind, and its
//! end.

use std::time::Duration;

use controller::{Cluster, Lease, Metrics, Readiness};
use objects::Key;
use tokio::task::JoinHandle;

use crate::cli;
use crate::terminal::error::{Code, Failure};

/// How long what is being done may take when the end has come.
const PATIENCE: Duration = Duration::from_secs(10);

/// A controller that answers over HTTP, and works while it has its Lease, if it needs one.
pub(crate) struct Serving {
    readiness: Readiness,
    lease: Option<Lease>,
}

impl Serving {
    /// Begins to answer, with these numbers. The Lease, if one is needed, has this name in the
    /// cluster.
    pub async fn start(
        args: &cli::Serving,
        cluster: &Cluster,
        lease: Key,
        metrics: Metrics,
    ) -> Result<Serving, Failure> {
        let readiness = Readiness::default();
        let address = controller::serve(args.listen, metrics, readiness.clone())
            .await
            .map_err(|error| {
                Failure::new(format!("cannot listen on {}: {error}", args.listen))
                    .hint("name another place with `--listen ADDRESS`; port 0 takes a free one")
            })?;
        tracing::info!(%address, "serving /healthz, /readyz and /metrics");
        let identity = identity()?;
        let holds = Duration::from_secs(args.lease_duration.into());
        let lease = args
            .leader_elect
            .then(|| Lease::new(cluster.clone(), lease, &identity, holds));
        Ok(Serving { readiness, lease })
    }

    /// Waits for its turn; answers false if the end comes first. One that waits is ready: it can
    /// take over at any time, and a rollout that waited for more would never end the one that
    /// works.
    pub async fn turn(&mut self) -> bool {
        let Some(lease) = &mut self.lease else {
            return true;
        };
        tracing::info!("waiting for the Lease");
        self.readiness.set(true);
        let ours = tokio::select! {
            () = lease.acquire() => true,
            () = stopped() => false,
        };
        self.readiness.set(false);
        if ours {
            tracing::info!("the Lease is ours");
        }
        ours
    }

    /// Lives until the end: somebody wants it, the Lease is lost, or the work has ended by itself.
    /// It is ready once `ready` is.
    pub async fn live(
        &mut self,
        working: &mut JoinHandle<()>,
        ready: impl Future<Output = Result<(), Failure>>,
    ) -> Result<Code, Failure> {
        let lost = async {
            match &mut self.lease {
                Some(lease) => lease.keep().await,
                None => std::future::pending().await,
            }
        };
        let failed = async {
            if let Err(failure) = ready.await {
                return failure;
            }
            self.readiness.set(true);
            std::future::pending().await
        };
        let code = tokio::select! {
            () = stopped() => Ok(Code::Ok),
            () = lost => {
                tracing::error!("the Lease is lost");
                Ok(Code::Failed)
            }
            _ = working => Ok(Code::Failed),
            failure = failed => Err(failure),
        };
        self.readiness.set(false);
        code
    }

    /// Lets the work that was told to stop come to its end, unless it hangs, and then gives its
    /// turn to another.
    pub async fn close(self, code: Code, working: JoinHandle<()>) {
        if !working.is_finished() {
            let _ = tokio::time::timeout(PATIENCE, working).await;
        }
        if let (Some(mut lease), Code::Ok) = (self.lease, code) {
            lease.release().await;
        }
    }
}

/// Ends when somebody wants the program to end.
pub(crate) async fn stopped() {
    let Ok(mut terminate) =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

/// Who this is among those that wait for a Lease. The names of machines and the ids of processes
/// may be the same in two of them: the random part may not.
fn identity() -> Result<String, Failure> {
    let random = getrandom::u64()
        .map_err(|error| Failure::new(format!("cannot read random bytes: {error}")))?;
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    Ok(format!(
        "{}-{}-{random:016x}",
        host.trim(),
        std::process::id()
    ))
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_two_controllers_are_the_same_though_host_and_process_are() {
        let all: std::collections::BTreeSet<_> =
            (0..100).map(|_| super::identity().unwrap()).collect();
        assert_eq!(all.len(), 100);
    }
}
