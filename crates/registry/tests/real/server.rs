//! A `docker-registry` of Debian's, on a free port of this machine, that ends with the test.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

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
        let directory = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let host = format!("127.0.0.1:{port}");
        let path = |name: &str| directory.path().join(name).display().to_string();
        let mut config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\nhttp: {{addr: {host}}}\n",
            path("data")
        );
        if let Some(users) = users {
            std::fs::write(path("users"), users).unwrap();
            config.push_str(&format!("auth:\n  htpasswd: {{realm: test, path: {}}}\n", path("users")));
        }
        std::fs::write(path("config.yml"), config).unwrap();
        let mut command = Command::new("docker-registry");
        command.args(["serve", &path("config.yml")]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let registry = Self { child, host, _directory: directory };
        let up = async {
            while TcpStream::connect(&registry.host).await.is_err() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), up).await.unwrap();
        registry
    }
}
