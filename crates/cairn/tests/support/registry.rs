//! A registry on this machine, in memory and without encryption: it takes images and hands them
//! out.
#![allow(
    dead_code,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests, not every test uses all"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use package::Files;
use package::image::Image;
use sha2::{Digest, Sha256};

/// What there is, by path: its type and its bytes.
type Content = Arc<Mutex<BTreeMap<String, (String, Vec<u8>)>>>;

/// The registry; it ends with the process.
pub struct Registry {
    /// Its host and port.
    pub host: String,
    content: Content,
    guarded: Guarded,
    moved: Moved,
}

/// Where each repository sends those who ask for something of it.
type Moved = Arc<Mutex<BTreeMap<String, String>>>;

/// The `Authorization` that each repository wants; those that are not named want none.
type Guarded = Arc<Mutex<BTreeMap<String, String>>>;

impl Registry {
    pub fn start() -> Registry {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let host = listener.local_addr().expect("its address").to_string();
        let (content, guarded, moved) = (Content::default(), Guarded::default(), Moved::default());
        let serving = (content.clone(), guarded.clone(), moved.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (content, guarded, moved) = serving.clone();
                // A client that hangs up is no concern of the test.
                thread::spawn(move || answer(&stream, &content, &guarded, &moved));
            }
        });
        Registry {
            host,
            content,
            guarded,
            moved,
        }
    }

    /// Sends those who ask for something of a repository elsewhere.
    pub fn redirect(&self, repository: &str, location: &str) {
        let mut moved = self.moved.lock().expect("what has moved");
        moved.insert(format!("/v2/{repository}/"), location.to_owned());
    }

    /// Lets only those have a repository who send this `Authorization`.
    pub fn guard(&self, repository: &str, authorization: &str) {
        let mut guarded = self.guarded.lock().expect("what is guarded");
        guarded.insert(format!("/v2/{repository}/"), authorization.to_owned());
    }

    /// The digest that a tag of a repository means.
    pub fn digest(&self, repository: &str, tag: &str) -> String {
        let content = self.content.lock().expect("its content");
        let (_, manifest) = content
            .get(&format!("/v2/{repository}/manifests/{tag}"))
            .expect("a manifest");
        format!(
            "sha256:{}",
            Sha256::digest(manifest)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        )
    }

    /// Puts the image of a package there.
    pub fn put(&self, repository: &str, tag: &str, files: &Files) {
        let (package, problems) = package::read(files);
        assert!(
            problems
                .iter()
                .all(|problem| problem.severity != package::Severity::Error),
            "{problems:?}"
        );
        self.put_image(repository, tag, &Image::build(files, &package));
    }

    /// Puts the image of a package there, whatever is wrong with it.
    pub fn put_anyway(&self, repository: &str, tag: &str, files: &Files) {
        self.put_image(
            repository,
            tag,
            &Image::build(files, &package::read(files).0),
        );
    }

    fn put_image(&self, repository: &str, tag: &str, image: &Image) {
        let mut content = self.content.lock().expect("its content");
        for blob in &image.blobs {
            let what = (blob.media_type.as_str().to_owned(), blob.bytes.clone());
            content.insert(format!("/v2/{repository}/blobs/{}", blob.digest), what);
        }
        let manifest = (
            image.manifest.media_type.as_str().to_owned(),
            image.manifest.bytes.clone(),
        );
        for name in [tag.to_owned(), image.manifest.digest.to_string()] {
            content.insert(
                format!("/v2/{repository}/manifests/{name}"),
                manifest.clone(),
            );
        }
    }
}

fn answer(stream: &TcpStream, content: &Content, guarded: &Guarded, moved: &Moved) -> Option<()> {
    let mut reader = BufReader::new(stream);
    // The beginning of a talk with encryption is no letter.
    if !reader.fill_buf().ok()?.first()?.is_ascii_uppercase() {
        return None;
    }
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let (mut length, mut media_type, mut login) = (0, String::new(), String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "content-type" => value.clone_into(&mut media_type),
            "authorization" => value.clone_into(&mut login),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;

    let mut content = content.lock().ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut more = String::new();
    let wanted = guarded
        .lock()
        .ok()?
        .iter()
        .find(|(guard, _)| path.starts_with(*guard))
        .map(|(_, wanted)| wanted.clone());
    let moved = moved
        .lock()
        .ok()?
        .iter()
        .find(|(from, _)| path.starts_with(*from))
        .map(|(_, place)| place.clone());
    let (status, found) = match method.as_str() {
        _ if moved.is_some() => {
            more = format!("location: {}\r\n", moved.unwrap_or_default());
            ("307 Temporary Redirect", None)
        }
        _ if wanted.is_some_and(|wanted| wanted != login) => {
            more = "www-authenticate: Basic realm=\"here\"\r\n".to_owned();
            ("401 Unauthorized", None)
        }
        "POST" => {
            more = format!("location: {path}one\r\n");
            ("202 Accepted", None)
        }
        "PUT" => {
            let digest = format!(
                "sha256:{}",
                Sha256::digest(&body)
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect::<String>()
            );
            match path.split_once("/blobs/uploads/") {
                Some((repository, _)) => {
                    assert_eq!(query.replace("%3A", ":"), format!("digest={digest}"));
                    content.insert(format!("{repository}/blobs/{digest}"), (media_type, body));
                }
                None => {
                    let (repository, _) = path.split_once("/manifests/")?;
                    content.insert(
                        format!("{repository}/manifests/{digest}"),
                        (media_type.clone(), body.clone()),
                    );
                    content.insert(path.to_owned(), (media_type, body));
                }
            }
            ("201 Created", None)
        }
        _ => match content.get(path).cloned() {
            None if path != "/v2/" => ("404 Not Found", None),
            found => ("200 OK", found),
        },
    };
    let (media_type, bytes) =
        found.unwrap_or_else(|| ("application/json".to_owned(), b"{}".to_vec()));
    let length = bytes.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{more}content-type: {media_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    let mut stream = stream;
    stream.write_all(head.as_bytes()).ok()?;
    if method != "HEAD" {
        stream.write_all(&bytes).ok()?;
    }
    Some(())
}
