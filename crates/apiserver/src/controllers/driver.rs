//! How what runs inside is driven: by everything that is written, from now on, for as long as the
//! server runs.

use std::sync::Arc;

use crate::storage::{Event, Store};

/// Something that reacts to what is written.
pub(crate) trait Follower: Send {
    /// Takes note of a change.
    fn note(&mut self, event: &Event);
    /// Does everything that there is to do for now.
    fn work(&mut self) -> impl Future<Output = ()> + Send;
}

/// Runs a follower. It is made anew, from what is there, whenever more has happened than is
/// remembered.
pub(crate) async fn follow<F: Follower>(store: Arc<Store>, make: impl Fn() -> F + Send) {
    loop {
        // The place in the history comes first: what happens while the follower looks around is
        // told to it as well.
        let Ok(mut watcher) = store.watch_all(store.revision()) else {
            tokio::task::yield_now().await;
            continue;
        };
        let mut follower = make();
        follower.work().await;
        while let Ok(batch) = watcher.next().await {
            for event in &batch.events {
                follower.note(event);
            }
            follower.work().await;
        }
    }
}
