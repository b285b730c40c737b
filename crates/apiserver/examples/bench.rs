//! Measures the server over HTTPS with clients in the same process: how soon it is ready, how much it holds at rest,
//! creations per second, reads per second, and how long an event takes to a watch. It compares nothing.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for the terminal that may panic")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use apiserver::{Listener, Options, Server, User};
use rustls::{
    ClientConfig, RootCertStore, pki_types::CertificateDer, pki_types::ServerName, pki_types::pem::PemObject,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// One HTTP/1.1 connection.
struct Client {
    stream: TlsStream<TcpStream>,
    token: String,
    buffer: Vec<u8>,
}

impl Client {
    async fn connect(listener: &Listener, token: &str) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(listener.ca_pem().as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let stream = TcpStream::connect(listener.address()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        Self { stream, token: token.to_owned(), buffer: Vec::new() }
    }

    async fn send(&mut self, method: &str, path: &str, body: &str) {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        self.stream.write_all(head.as_bytes()).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    async fn more(&mut self) {
        let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
        assert!(read > 0, "the connection is closed");
    }

    /// The head of an answer is read and dropped; how long the body is, if it says so.
    async fn head(&mut self) -> (u16, Option<usize>) {
        loop {
            if let Some(end) = self.buffer.windows(4).position(|part| part == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.buffer[..end]).to_lowercase();
                let length =
                    head.split("content-length: ").nth(1).map(|rest| rest.lines().next().unwrap().parse().unwrap());
                let code = head.split(' ').nth(1).unwrap().parse().unwrap();
                self.buffer.drain(..end + 4);
                return (code, length);
            }
            self.more().await;
        }
    }

    async fn call(&mut self, method: &str, path: &str, body: &str) -> u16 {
        self.send(method, path, body).await;
        let (code, length) = self.head().await;
        let length = length.unwrap();
        while self.buffer.len() < length {
            self.more().await;
        }
        self.buffer.drain(..length);
        code
    }
}

fn config_map(name: &str) -> String {
    let data: String = (0..8).map(|number| format!("\"key-{number}\":\"{}\",", "x".repeat(40))).collect();
    let data = data.trim_end_matches(',');
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","labels":{{"app":"bench"}}}},"data":{{{data}}}}}"#
    )
}

fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

async fn creations(listener: &Listener, token: &str, clients: usize, total: usize, prefix: &str) -> (f64, Duration) {
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    let mut connections = Vec::new();
    for _ in 0..clients {
        connections.push(Client::connect(listener, token).await);
    }
    let begin = Instant::now();
    for mut client in connections {
        let (next, prefix) = (next.clone(), prefix.to_owned());
        tasks.push(tokio::spawn(async move {
            let mut times = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= total {
                    return times;
                }
                let start = Instant::now();
                let body = config_map(&format!("{prefix}-{number}"));
                assert_eq!(client.call("POST", "/api/v1/namespaces/default/configmaps", &body).await, 201);
                times.push(start.elapsed());
            }
        }));
    }
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    let rate = total as f64 / begin.elapsed().as_secs_f64();
    times.sort_unstable();
    (rate, times[times.len() / 2])
}

#[tokio::main]
async fn main() {
    let directory = std::env::args().nth(1);
    let begin = Instant::now();
    let options = Options { data: directory.map(Into::into), ..Options::default() };
    let server = Server::start(options).await.unwrap();
    let listener = server.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    println!("ready in {:.1} ms", begin.elapsed().as_secs_f64() * 1000.0);
    let token = server.token(&User::admin());
    let mut client = Client::connect(&listener, &token).await;
    assert_eq!(client.call("GET", "/readyz", "").await, 200);
    println!("at rest {:.1} MiB", resident());
    for (clients, total) in [(1, 4000), (16, 40_000)] {
        let (rate, median) = creations(&listener, &token, clients, total, &format!("c{clients}")).await;
        println!("create, {clients} clients: {rate:.0}/s, median {:.3} ms", median.as_secs_f64() * 1000.0);
    }
    let begin = Instant::now();
    for number in 0..5000 {
        let path = format!("/api/v1/namespaces/default/configmaps/c16-{number}");
        assert_eq!(client.call("GET", &path, "").await, 200);
    }
    println!("get, 1 client: {:.0}/s", 5000.0 / begin.elapsed().as_secs_f64());
    let mut watcher = Client::connect(&listener, &token).await;
    watcher
        .send("GET", &format!("/api/v1/namespaces/default/secrets?watch=1&resourceVersion={}", server.revision()), "")
        .await;
    watcher.head().await;
    let mut times = Vec::new();
    for number in 0..1000 {
        let body = format!(r#"{{"metadata":{{"name":"s{number}"}}}}"#);
        let start = Instant::now();
        client.send("POST", "/api/v1/namespaces/default/secrets", &body).await;
        while !watcher.buffer.windows(2).any(|part| part == b"}\n") {
            watcher.more().await;
        }
        times.push(start.elapsed());
        watcher.buffer.clear();
        let (_, length) = client.head().await;
        while client.buffer.len() < length.unwrap() {
            client.more().await;
        }
        client.buffer.clear();
    }
    times.sort_unstable();
    println!(
        "create to event: median {:.3} ms, 99th {:.3} ms",
        times[500].as_secs_f64() * 1000.0,
        times[990].as_secs_f64() * 1000.0
    );
    println!("after all of it {:.1} MiB", resident());
    server.shutdown().await;
}
