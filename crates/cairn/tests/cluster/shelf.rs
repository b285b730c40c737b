//! A registry that only hands out: images by name and digest, over HTTP without encryption, on this machine.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use package::Files;
use package::image::Image;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Content = Arc<Mutex<BTreeMap<String, (String, Vec<u8>)>>>;

/// The registry; it ends with the runtime.
pub struct Shelf {
    /// Its host and port.
    pub host: String,
    content: Content,
}

impl Shelf {
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let host = listener.local_addr()?.to_string();
        let content = Content::default();
        let serving = content.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, serving.clone()));
            }
        });
        Ok(Self { host, content })
    }

    /// Puts the image of a package there.
    pub fn put(&self, repository: &str, tag: &str, files: &Files) {
        let (package, problems) = package::read(files);
        let image = Image::build(files, &package);
        let mut content = self.content.lock().unwrap();
        for blob in &image.blobs {
            let what = (blob.media_type.as_str().to_owned(), blob.bytes.clone());
            content.insert(format!("/v2/{repository}/blobs/{}", blob.digest), what);
        }
        let manifest = (image.manifest.media_type.as_str().to_owned(), image.manifest.bytes.clone());
        for name in [tag.to_owned(), image.manifest.digest.to_string()] {
            content.insert(format!("/v2/{repository}/manifests/{name}"), manifest.clone());
        }
        assert!(problems.iter().all(|problem| problem.severity != package::Severity::Error), "{problems:?}");
    }
}

async fn serve(mut stream: TcpStream, content: Content) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            // The beginning of a talk with encryption is no letter.
            Ok(byte) if head.is_empty() && !byte.is_ascii_uppercase() => return,
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let found = content.lock().unwrap().get(path).cloned();
    let (status, media_type, bytes) = match found {
        Some((media_type, bytes)) => ("200 OK", media_type, bytes),
        None if path == "/v2/" => ("200 OK", "application/json".to_owned(), b"{}".to_vec()),
        None => ("404 Not Found", "application/json".to_owned(), b"{\"errors\":[]}".to_vec()),
    };
    let length = bytes.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    // A client that hangs up is no concern of the test.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.write_all(&bytes).await;
}
