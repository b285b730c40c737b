//! One HTTP/1.1 connection over TLS, as thin as can be, so that the client takes little of the
//! machine.

use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::target::Target;

/// A connection, with what has been read and not been used.
pub struct Connection {
    stream: TlsStream<TcpStream>,
    credentials: String,
    buffer: Vec<u8>,
}

/// How the end of a body is known.
enum Length {
    Known(usize),
    Chunked,
}

impl Connection {
    pub async fn open(target: &Target) -> Self {
        let stream = TcpStream::connect(target.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let name = ServerName::from(target.address.ip());
        let stream = TlsConnector::from(target.tls.clone())
            .connect(name, stream)
            .await
            .unwrap();
        let credentials = target
            .token
            .as_ref()
            .map(|token| format!("Authorization: Bearer {token}\r\n"))
            .unwrap_or_default();
        Self {
            stream,
            credentials,
            buffer: Vec::new(),
        }
    }

    /// Sends a request with a body of JSON, or a patch that is applied.
    pub async fn send(&mut self, method: &str, path: &str, body: &str) {
        let kind = if method == "PATCH" {
            "application/apply-patch+yaml"
        } else {
            "application/json"
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n{}Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            self.credentials,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// Reads a whole answer; returns its code and how many bytes its body has.
    pub async fn answer(&mut self) -> (u16, usize) {
        let (code, length) = self.head().await;
        let mut size = 0;
        match length {
            Length::Known(length) => {
                while self.buffer.len() < length {
                    self.more().await;
                }
                self.buffer.drain(..length);
                size = length;
            }
            Length::Chunked => loop {
                let chunk = self.chunk().await;
                if chunk.is_empty() {
                    break;
                }
                size += chunk.len();
            },
        }
        (code, size)
    }

    /// Sends a request and reads the whole answer.
    pub async fn call(&mut self, method: &str, path: &str, body: &str) -> u16 {
        self.send(method, path, body).await;
        self.answer().await.0
    }

    /// Begins a watch.
    pub async fn watch(&mut self, path: &str) {
        self.send("GET", path, "").await;
        assert_eq!(self.head().await.0, 200, "{path}");
    }

    /// The next piece of a watch or of a list that comes in pieces; nothing at the end.
    pub async fn chunk(&mut self) -> Vec<u8> {
        loop {
            if let Some(line) = self.buffer.windows(2).position(|part| part == b"\r\n") {
                let length =
                    usize::from_str_radix(std::str::from_utf8(&self.buffer[..line]).unwrap(), 16)
                        .unwrap();
                if self.buffer.len() >= line + 2 + length + 2 {
                    let rest = self.buffer.split_off(line + 2 + length + 2);
                    let mut whole = std::mem::replace(&mut self.buffer, rest);
                    whole.truncate(line + 2 + length);
                    return whole.split_off(line + 2);
                }
            }
            self.more().await;
        }
    }

    async fn head(&mut self) -> (u16, Length) {
        loop {
            if let Some(end) = self.buffer.windows(4).position(|part| part == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.buffer[..end]).to_lowercase();
                let length = head
                    .split("content-length: ")
                    .nth(1)
                    .and_then(|rest| rest.lines().next());
                let length = length.map_or(Length::Chunked, |length| {
                    Length::Known(length.parse().unwrap())
                });
                let code = head.split(' ').nth(1).unwrap().parse().unwrap();
                self.buffer.drain(..end + 4);
                return (code, length);
            }
            self.more().await;
        }
    }

    async fn more(&mut self) {
        let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
        assert!(read > 0, "the connection is closed");
    }
}
