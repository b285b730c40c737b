//! A `docker-registry` of Debian's, on a free port of this machine, that ends with the test.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// `user` and `pass`, as `htpasswd -B` writes them.
pub const USER: &str = "user:$2a$10$7XMlmoTa15z8fBuU63P7kO4intM6cG2hGUnB7WkWUjHa0j2tphI6W\n";

/// The registry.
pub struct Registry {
    child: Child,
    pub host: String,
    _directory: tempfile::TempDir,
}

impl Drop for Registry {
    fn drop(&mut self) {
        // It is ours, and has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Registry {
    /// Starts one, which takes only these users if there are any, and waits until it answers.
    pub async fn start(users: Option<&str>) -> Self {
        let up = async {
            loop {
                // Between our finding a free port and its taking it, somebody else may.
                if let Some(registry) = Self::try_start(users).await {
                    return registry;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), up)
            .await
            .unwrap()
    }

    /// The same; none if it ended before it answered.
    async fn try_start(users: Option<&str>) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .await
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let host = format!("127.0.0.1:{port}");
        let path = |name: &str| directory.path().join(name).display().to_string();
        let mut config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\nhttp: {{addr: {host}}}\n",
            path("data")
        );
        if let Some(users) = users {
            std::fs::write(path("users"), users).unwrap();
            config.push_str(&format!(
                "auth:\n  htpasswd: {{realm: test, path: {}}}\n",
                path("users")
            ));
        }
        std::fs::write(path("config.yml"), config).unwrap();
        let mut command = Command::new("docker-registry");
        command
            .args(["serve", &path("config.yml")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let mut registry = Self {
            child,
            host,
            _directory: directory,
        };
        while !registry.answers().await {
            if registry.child.try_wait().unwrap().is_some() {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Some(registry)
    }

    /// Whether it speaks as a registry. That a connection is made is not enough: one to a port that
    /// nobody listens on can be given the very same port to come from, and then it is connected to
    /// itself.
    async fn answers(&self) -> bool {
        let ask = async {
            let mut stream = TcpStream::connect(&self.host).await.ok()?;
            stream.write_all(b"GET /v2/ HTTP/1.0\r\n\r\n").await.ok()?;
            let mut answer = [0; 5];
            stream.read_exact(&mut answer).await.ok()?;
            Some(&answer == b"HTTP/")
        };
        ask.await.unwrap_or_default()
    }
}
