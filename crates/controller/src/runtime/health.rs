//! What a controller tells about itself over HTTP: whether it lives, whether it is ready, and its
//! numbers.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use crate::Metrics;

/// Whether a controller is ready. Clones tell of the same one.
#[derive(Debug, Clone, Default)]
pub struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// It is, from now on, or no longer.
    pub fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Relaxed);
    }

    /// Whether it is.
    pub fn is_ready(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Answers `/healthz`, `/readyz` and `/metrics` until the task is dropped; returns the address that
/// it listens on.
pub async fn serve(
    address: SocketAddr,
    metrics: Metrics,
    readiness: Readiness,
) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // No more files: others may close theirs.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let (metrics, readiness) = (metrics.clone(), readiness.clone());
            tokio::spawn(async move {
                let service = service_fn(move |request: Request<Incoming>| {
                    let answer = answer(request.uri().path(), &metrics, &readiness);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let mut builder = hyper::server::conn::http1::Builder::new();
                builder
                    .timer(TokioTimer::new())
                    .header_read_timeout(Duration::from_secs(10));
                // A client that hangs up is no concern of ours.
                let _ = builder
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Ok(address)
}

fn answer(path: &str, metrics: &Metrics, readiness: &Readiness) -> Response<Full<Bytes>> {
    let (status, text) = match path {
        "/healthz" | "/livez" => (StatusCode::OK, "ok\n".to_owned()),
        "/readyz" if readiness.is_ready() => (StatusCode::OK, "ok\n".to_owned()),
        "/readyz" => (
            StatusCode::SERVICE_UNAVAILABLE,
            "not yet: it waits for the first lists\n".to_owned(),
        ),
        "/metrics" => (StatusCode::OK, metrics.text()),
        _ => (
            StatusCode::NOT_FOUND,
            "there are /healthz, /readyz and /metrics\n".to_owned(),
        ),
    };
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    use super::{Readiness, answer};
    use crate::Metrics;

    #[test]
    fn it_is_ready_when_it_says_so() {
        let (metrics, readiness) = (Metrics::default(), Readiness::default());
        let code = |path: &str| answer(path, &metrics, &readiness).status().as_u16();
        assert_eq!(
            (
                code("/healthz"),
                code("/readyz"),
                code("/metrics"),
                code("/x")
            ),
            (200, 503, 200, 404)
        );
        readiness.set(true);
        assert_eq!(code("/readyz"), 200);
    }
}
