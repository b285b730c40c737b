//! The end of `cairn up`: within two seconds of the signal, whatever the process is busy with. What
//! ends by itself ends in order; a thread that is stuck in work, or a client that does not let go,
//! is not waited for.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use super::state_dir::Traces;
use crate::terminal::error::Code;

/// How long an orderly end may take after the signal.
const GRACE: Duration = Duration::from_millis(1500);
/// How long it may take to print that the end was not an orderly one: nobody may be reading.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Watches for the signal on a thread and a runtime of its own, so that it is noticed even if every
/// other thread is busy. Dropping it means that the end came in order.
pub(crate) struct Ending {
    traces: Arc<Mutex<Traces>>,
    _in_order: Sender<()>,
}

impl Ending {
    /// Watches from now on.
    pub fn watch(traces: Traces) -> std::io::Result<Ending> {
        let (in_order, ended) = channel();
        let traces = Arc::new(Mutex::new(traces));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let left = traces.clone();
        std::thread::Builder::new()
            .name("ending".to_owned())
            .spawn(move || {
                let told = runtime.block_on(async {
                    let mut signals = (
                        signal(SignalKind::terminate()).ok()?,
                        signal(SignalKind::interrupt()).ok()?,
                    );
                    tokio::select! {
                        told = signals.0.recv() => told,
                        told = signals.1.recv() => told,
                    }
                });
                if told.is_some() {
                    end(&ended, &left);
                }
            })?;
        Ok(Ending {
            traces,
            _in_order: in_order,
        })
    }

    /// What is to be taken away if the end does not come in order.
    pub fn clean_up(&self, traces: Traces) {
        *self.traces.lock().unwrap_or_else(PoisonError::into_inner) = traces;
    }
}

/// Ends the process unless it ends in order in time. What was acknowledged is in the journal, so
/// that not to wait any longer loses no more than a kill does.
fn end(ended: &Receiver<()>, traces: &Mutex<Traces>) {
    if ended.recv_timeout(GRACE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    traces
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove();
    std::thread::spawn(|| {
        tracing::warn!(
            "stopped without waiting for work that was still running; everything acknowledged is kept"
        );
    });
    std::thread::sleep(LAST_WORDS);
    std::process::exit(Code::Ok.number().into());
}
