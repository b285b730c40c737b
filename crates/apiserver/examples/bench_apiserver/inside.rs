//! The same creations without a socket and on one thread, so that a profiler counts nothing but the
//! server.

use apiserver::{Options, Server, User};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tower_service::Service;

use crate::load::config_map;

/// Creates so many objects and ends.
pub fn run(count: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let server = Server::start(Options::default()).await.unwrap();
        let mut in_process_service = server.in_process_service(Some(User::admin()));
        for turn in 0..count {
            let body = Full::new(Bytes::from(config_map(&format!("object-{turn}"), turn)));
            let request = Request::post("/api/v1/namespaces/default/configmaps")
                .header("Content-Type", "application/json")
                .header("Accept", "application/json")
                .body(body);
            assert_eq!(
                in_process_service
                    .call(request.unwrap())
                    .await
                    .unwrap()
                    .status(),
                201
            );
            // Whoever follows what is written has its turn as well.
            tokio::task::yield_now().await;
        }
    });
}
