//! What a child process needs to be somebody: a kubeconfig that names the API server and a file with a token, both for
//! the eyes of this user alone.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Where an API server is, and how to know that it is the right one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// Its address, such as `https://127.0.0.1:6443`.
    pub server: String,
    /// Certificates that its own is signed by, as PEM; empty for those that the system trusts.
    pub certificate_authority: String,
    /// A file with such certificates, which may change.
    pub certificate_authority_file: Option<PathBuf>,
    /// The name in its certificate, if that is not the one in the address.
    pub server_name: Option<String>,
    /// Whether any certificate will do.
    pub insecure: bool,
    /// A proxy on the way to it.
    pub proxy: Option<String>,
}

impl Endpoint {
    /// The API server of a client's configuration.
    pub fn of(config: &kube::Config) -> Self {
        let certificates = config.root_cert.iter().flatten();
        Self {
            server: config.cluster_url.to_string(),
            certificate_authority: certificates.map(|der| pem(der)).collect(),
            certificate_authority_file: config.root_cert_file.clone(),
            server_name: config.tls_server_name.clone(),
            insecure: config.accept_invalid_certs,
            proxy: config.proxy_url.as_ref().map(ToString::to_string),
        }
    }

    fn kubeconfig(&self, namespace: &str, token: &Path) -> Value {
        let mut cluster = json!({ "server": self.server });
        if let Some(file) = &self.certificate_authority_file {
            cluster["certificate-authority"] = json!(file);
        } else if !self.certificate_authority.is_empty() {
            cluster["certificate-authority-data"] = json!(STANDARD.encode(&self.certificate_authority));
        }
        if let Some(name) = &self.server_name {
            cluster["tls-server-name"] = json!(name);
        }
        if self.insecure {
            cluster["insecure-skip-tls-verify"] = json!(true);
        }
        if let Some(proxy) = &self.proxy {
            cluster["proxy-url"] = json!(proxy);
        }
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "cluster", "cluster": cluster }],
            "users": [{ "name": "stack", "user": { "tokenFile": token } }],
            "contexts": [{
                "name": "stack", "context": { "cluster": "cluster", "user": "stack", "namespace": namespace },
            }],
            "current-context": "stack",
        })
    }
}

/// One certificate as PEM.
fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut lines = String::from("-----BEGIN CERTIFICATE-----\n");
    for line in text.as_bytes().chunks(64) {
        lines.push_str(&String::from_utf8_lossy(line));
        lines.push('\n');
    }
    lines.push_str("-----END CERTIFICATE-----\n");
    lines
}

/// A directory that only this user can look into, made now or made so.
pub(super) fn private_directory(path: &Path) -> Result<()> {
    match DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(named(path, &error)),
    }
    std::fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(|error| named(path, &error))
}

/// Holds a directory as long as the answer lives, so that nobody takes it for one that was left behind.
pub(super) fn held(directory: &Path) -> Option<File> {
    let file = File::open(directory).ok()?;
    file.try_lock().is_ok().then_some(file)
}

/// Deletes the directories that processes like this one left behind when they were killed: they hold tokens. One that is
/// somebody else's, is held or has the number of a process that runs is none of them.
pub(super) fn sweep(own: &Path) {
    let name = own.file_name().and_then(|name| name.to_str()).and_then(|name| name.rsplit_once('-'));
    let (Some(parent), Some((prefix, _)), Ok(mine)) = (own.parent(), name, own.symlink_metadata()) else { return };
    for entry in parent.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        let found = entry.file_name();
        let number = found.to_str().and_then(|name| name.strip_prefix(prefix)?.strip_prefix('-')?.parse::<u32>().ok());
        let Some(number) = number.filter(|_| path != own) else { continue };
        let ours = path.symlink_metadata().is_ok_and(|other| other.is_dir() && other.uid() == mine.uid());
        let runs = Path::new("/proc").join(number.to_string()).exists();
        let free = (ours && !runs).then(|| held(&path)).flatten();
        if free.is_some() && std::fs::remove_dir_all(&path).is_ok() {
            tracing::info!(directory = %path.display(), "deleted what a process that was killed had left");
        }
    }
}

/// The files of one child; they go when this does.
#[derive(Debug)]
pub(super) struct Papers {
    directory: PathBuf,
}

impl Papers {
    /// Papers for a stack's child in a private directory.
    pub(super) fn new(all: &Path, stack: &crate::resource::Key) -> Result<Self> {
        // Neither name can hold what separates files, so that no two stacks share a directory.
        let directory = all.join(format!("{}.{}", stack.namespace, stack.name));
        private_directory(&directory)?;
        Ok(Self { directory })
    }

    /// Where the kubeconfig is.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.directory.join("kubeconfig")
    }

    fn token(&self) -> PathBuf {
        self.directory.join("token")
    }

    /// Writes the kubeconfig.
    pub(super) fn introduce(&self, endpoint: &Endpoint, namespace: &str) -> Result<()> {
        let text = endpoint.kubeconfig(namespace, &self.token()).to_string();
        write(&self.kubeconfig(), text.as_bytes())
    }

    /// Puts a token in place of the one before, as a whole: the child reads it at any time.
    pub(super) fn renew(&self, token: &str) -> Result<()> {
        write(&self.token(), token.as_bytes())
    }
}

impl Drop for Papers {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.directory) {
            tracing::warn!(directory = %self.directory.display(), %error, "the files of a process are left");
        }
    }
}

/// Writes a file that only this user can read, and that is never seen in part.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let new = path.with_extension("new");
    let write = || {
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(bytes)?;
        std::fs::rename(&new, path)
    };
    write().map_err(|error| named(path, &error))
}

fn named(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// When to ask for the next token: after three quarters of the time that this one is good, which leaves the rest to
/// whatever keeps the API server from answering.
pub(super) fn renewal(expires: &str, now: Timestamp, asked: Duration) -> Duration {
    let left = expires.parse::<Timestamp>().ok().and_then(|end| Duration::try_from(end.duration_since(now)).ok());
    // A clock that is far off does not make us ask all the time, nor never.
    left.unwrap_or(asked).min(asked.saturating_mul(2)).max(Duration::from_secs(20)) * 3 / 4
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use jiff::Timestamp;

    use super::{Endpoint, Papers, held, private_directory, renewal, sweep};
    use crate::resource::Key;

    #[test]
    fn papers_are_for_one_pair_of_eyes_and_go_with_their_owner() {
        let root = tempfile::tempdir().unwrap();
        let all = root.path().join("stacks");
        std::fs::create_dir(&all).unwrap();
        private_directory(&all).unwrap();
        let papers = Papers::new(&all, &Key::new("team", "redis")).unwrap();
        let endpoint = Endpoint {
            server: "https://example.org".into(),
            certificate_authority: super::pem(&[7; 60]),
            server_name: Some("kubernetes".into()),
            ..Endpoint::default()
        };
        papers.introduce(&endpoint, "team").unwrap();
        papers.renew("first").unwrap();
        papers.renew("second").unwrap();
        let directory = all.join("team.redis");
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&all), 0o700);
        assert_eq!(mode(&directory), 0o700);
        assert_eq!(mode(&directory.join("token")), 0o600);
        assert_eq!(mode(&papers.kubeconfig()), 0o600);
        assert_eq!(std::fs::read_to_string(directory.join("token")).unwrap(), "second");
        let text = std::fs::read_to_string(papers.kubeconfig()).unwrap();
        let kubeconfig: kube::config::Kubeconfig = serde_json::from_str(&text).unwrap();
        let cluster = kubeconfig.clusters[0].cluster.clone().unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://example.org"));
        assert_eq!(cluster.tls_server_name.as_deref(), Some("kubernetes"));
        assert!(cluster.certificate_authority_data.is_some());
        let user = kubeconfig.auth_infos[0].auth_info.clone().unwrap();
        assert_eq!(user.token_file, Some(directory.join("token").display().to_string()));
        drop(papers);
        assert!(!directory.exists());
    }

    #[test]
    fn only_what_a_process_that_is_gone_left_behind_is_deleted() {
        let root = tempfile::tempdir().unwrap();
        // No process has so high a number; this one runs.
        let gone = u32::MAX;
        let names = [
            (format!("manager-{gone}"), false),
            (format!("manager-{}", gone - 1), true),
            (format!("manager-{}", std::process::id()), true),
            (format!("other-{gone}"), true),
            ("manager-x".to_owned(), true),
            ("manager-1-2".to_owned(), true),
        ];
        for (name, _) in &names {
            let papers = Papers::new(&root.path().join(name), &Key::new("team", "redis")).unwrap();
            papers.renew("token").unwrap();
            std::mem::forget(papers);
        }
        let busy = held(&root.path().join(&names[1].0)).unwrap();
        let own = root.path().join("manager-1");
        private_directory(&own).unwrap();
        sweep(&own);
        for (name, stays) in &names {
            assert_eq!(root.path().join(name).exists(), *stays, "{name}");
        }
        assert!(own.exists());
        drop(busy);
        sweep(&own);
        assert!(!root.path().join(&names[1].0).exists(), "it is no longer held");
    }

    #[test]
    fn a_token_is_renewed_well_before_it_ends() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let hour = Duration::from_secs(3600);
        for (expires, expected) in [
            ("2026-01-01T01:00:00Z", 2700),
            ("2026-01-01T00:10:00Z", 450),
            ("2026-01-01T00:00:01Z", 15),
            ("2025-01-01T00:00:00Z", 2700),
            ("2030-01-01T00:00:00Z", 5400),
            ("soon", 2700),
        ] {
            assert_eq!(renewal(expires, now, hour), Duration::from_secs(expected), "{expires}");
        }
    }
}
