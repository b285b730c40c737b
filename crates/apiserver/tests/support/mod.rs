//! What the tests of the whole server share: a client without a socket, and raw connections.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "shared by several test programs, which may panic"
)]

use std::sync::Arc;

use apiserver::{InProcessService, Listener, Lost, Server, User};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tower_service::Service;

/// A client of the admin, in the process.
pub struct Client(InProcessService);

impl Client {
    pub fn admin(server: &Server) -> Self {
        Self(server.in_process_service(Some(User::admin())))
    }

    pub fn of(server: &Server, user: User) -> Self {
        Self(server.in_process_service(Some(user)))
    }

    /// Sends a request and reads the whole answer.
    pub async fn try_call(
        &self,
        method: &str,
        uri: &str,
        kind: &str,
        body: impl Into<Bytes>,
    ) -> Result<(u16, Value), Lost> {
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("content-type", kind);
        let response = self
            .0
            .clone()
            .call(request.body(Full::new(body.into())).unwrap())
            .await?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        Ok((
            code,
            serde_json::from_slice(&bytes)
                .unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into()),
        ))
    }

    pub async fn call(&self, method: &str, uri: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.try_call(method, uri, "application/json", body)
            .await
            .unwrap()
    }

    pub async fn patch(&self, kind: &str, uri: &str, body: &Value) -> (u16, Value) {
        self.try_call("PATCH", uri, kind, body.to_string())
            .await
            .unwrap()
    }
}

/// A TLS connection to a listener.
pub async fn connect(listener: &Listener) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(listener.ca_pem().as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(listener.address()).await.unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(ServerName::try_from("localhost").unwrap(), stream)
        .await
        .unwrap()
}

/// Sends bytes, as far as they are taken, and reads until the server closes or has answered with a
/// whole head.
pub async fn exchange(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), bytes: &[u8]) -> String {
    let (mut reading, mut writing) = tokio::io::split(stream);
    let mut seen = Vec::new();
    let read = async {
        let mut piece = [0; 4096];
        // The head, and with it what came in the same piece.
        while !seen.windows(4).any(|part| part == b"\r\n\r\n") {
            match reading.read(&mut piece).await {
                Ok(read) if read > 0 => seen.extend_from_slice(&piece[..read]),
                _ => break,
            }
        }
    };
    let write = async {
        // A server that has heard enough closes, and that is its right.
        if writing.write_all(bytes).await.is_ok() {
            _ = writing.flush().await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! { () = read => {}, () = write => {} }
    String::from_utf8_lossy(&seen).into_owned()
}

/// Whether a request of the admin on a new connection is answered well.
pub async fn still_serves(listener: &Listener, token: &str) {
    let mut stream = connect(listener).await;
    let request =
        format!("GET /readyz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n");
    let answer = exchange(&mut stream, request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
