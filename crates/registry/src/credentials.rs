//! Names and passwords for registries, from Docker's configuration, from pull secrets, or given.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;
use tokio::io::AsyncWriteExt;

use crate::Error;

/// What proves who asks.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// A name and a password.
    Basic {
        /// The name.
        user: String,
        /// The password.
        password: String,
    },
    /// A token that stands for a login.
    Identity(String),
}

// Passwords do not belong into logs.
impl std::fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Basic { .. } => "Basic(..)",
            Self::Identity(_) => "Identity(..)",
        })
    }
}

/// Credentials for any number of registries.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    known: BTreeMap<String, Credential>,
    /// Programs that know more, by host.
    helpers: BTreeMap<String, String>,
    /// The program that knows all others.
    helper: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Config {
    auths: BTreeMap<String, Auth>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Auth {
    auth: String,
    username: String,
    password: String,
    identitytoken: String,
}

impl Credentials {
    /// Credentials of one registry.
    pub fn of(host: &str, credential: Credential) -> Self {
        Self { known: BTreeMap::from([(canonical(host), credential)]), ..Self::default() }
    }

    /// Reads Docker's `config.json`; a file that is not there holds none.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let bad = |cause: String| Error::Credentials { from: path.display().to_string(), cause };
        match std::fs::read(path) {
            Ok(bytes) => Self::from_docker_config(&bytes).map_err(bad),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(bad(error.to_string())),
        }
    }

    /// Reads the content of Docker's `config.json`, which is also that of a Secret of the type
    /// `kubernetes.io/dockerconfigjson`.
    pub fn from_docker_config(bytes: &[u8]) -> Result<Self, String> {
        let config: Config = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let mut known = BTreeMap::new();
        for (host, auth) in config.auths {
            if let Some(credential) = auth.read().map_err(|cause| format!("auths.{host}: {cause}"))? {
                known.insert(canonical(&host), credential);
            }
        }
        let helpers = config.cred_helpers.into_iter().map(|(host, helper)| (canonical(&host), helper)).collect();
        Ok(Self { known, helpers, helper: config.creds_store.filter(|helper| !helper.is_empty()) })
    }

    /// These, and where they have none, those.
    #[must_use]
    pub fn or(mut self, others: Self) -> Self {
        for (host, credential) in others.known {
            self.known.entry(host).or_insert(credential);
        }
        for (host, helper) in others.helpers {
            self.helpers.entry(host).or_insert(helper);
        }
        self.helper = self.helper.or(others.helper);
        self
    }

    /// What is known for a host.
    pub(crate) async fn find(&self, host: &str) -> Result<Option<Credential>, Error> {
        let host = canonical(host);
        if let Some(credential) = self.known.get(&host) {
            return Ok(Some(credential.clone()));
        }
        match self.helpers.get(&host).or(self.helper.as_ref()) {
            Some(helper) => ask(helper, &host).await,
            None => Ok(None),
        }
    }
}

impl Auth {
    fn read(self) -> Result<Option<Credential>, String> {
        if !self.identitytoken.is_empty() {
            return Ok(Some(Credential::Identity(self.identitytoken)));
        }
        if !self.username.is_empty() {
            return Ok(Some(Credential::Basic { user: self.username, password: self.password }));
        }
        if self.auth.is_empty() {
            // A helper knows it.
            return Ok(None);
        }
        let decoded = STANDARD.decode(self.auth.trim()).map_err(|_| "`auth` is not base64".to_owned())?;
        let text = String::from_utf8(decoded).map_err(|_| "`auth` is no text".to_owned())?;
        let (user, password) = text.split_once(':').ok_or("`auth` has no colon between name and password")?;
        Ok(Some(Credential::Basic { user: user.to_owned(), password: password.to_owned() }))
    }
}

/// Asks one of Docker's credential helpers.
async fn ask(helper: &str, host: &str) -> Result<Option<Credential>, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Answer {
        username: String,
        secret: String,
    }
    let program = format!("docker-credential-{helper}");
    let bad = |cause: String| Error::Credentials { from: program.clone(), cause };
    // The name is part of a file name, and nothing else.
    if helper.contains(['/', '\\']) {
        return Err(bad("the name of a helper has no slashes".to_owned()));
    }
    let mut child = tokio::process::Command::new(&program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| bad(error.to_string()))?;
    if let Some(mut input) = child.stdin.take() {
        // A helper that does not read its input has made up its mind.
        let _ = input.write_all(host.as_bytes()).await;
    }
    let output = child.wait_with_output().await.map_err(|error| bad(error.to_string()))?;
    if !output.status.success() {
        // That is how they say that they know none.
        return Ok(None);
    }
    let answer: Answer = serde_json::from_slice(&output.stdout).map_err(|error| bad(error.to_string()))?;
    Ok(Some(match answer.username.as_str() {
        "<token>" => Credential::Identity(answer.secret),
        _ => Credential::Basic { user: answer.username, password: answer.secret },
    }))
}

/// One spelling for a host: configurations have URLs, paths, and Docker's own registry under another name.
fn canonical(host: &str) -> String {
    let host = host.trim_start_matches("https://").trim_start_matches("http://");
    let host = host.split('/').next().unwrap_or_default();
    match host {
        "docker.io" | "registry-1.docker.io" | "index.docker.io" => "docker.io".to_owned(),
        host => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Credential, Credentials, canonical};

    #[tokio::test]
    async fn every_spelling_of_docker_is_read() {
        let text = br#"{"auths": {
            "https://index.docker.io/v1/": {"auth": "dXNlcjpwYTpzcw=="},
            "registry.example.org": {"username": "u", "password": "p"},
            "token.example.org": {"identitytoken": "t"},
            "helper.example.org": {}
        }}"#;
        let credentials = Credentials::from_docker_config(text).unwrap();
        let basic = |user: &str, password: &str| Credential::Basic { user: user.into(), password: password.into() };
        for (host, expected) in [
            ("docker.io", Some(basic("user", "pa:ss"))),
            ("registry.example.org", Some(basic("u", "p"))),
            ("token.example.org", Some(Credential::Identity("t".into()))),
            ("helper.example.org", None),
            ("other.example.org", None),
        ] {
            assert_eq!(credentials.find(host).await.unwrap(), expected, "{host}");
        }
        assert_eq!(format!("{:?}", basic("u", "secret")), "Basic(..)");
    }

    #[test]
    fn what_is_wrong_is_said_without_the_secret() {
        for (text, expected) in [
            (r#"{"auths": {"a": {"auth": "?"}}}"#, "auths.a: `auth` is not base64"),
            (r#"{"auths": {"a": {"auth": "dXNlcg=="}}}"#, "auths.a: `auth` has no colon between name and password"),
        ] {
            assert_eq!(Credentials::from_docker_config(text.as_bytes()).unwrap_err(), expected);
        }
        assert!(Credentials::from_docker_config(b"x").is_err());
    }

    #[tokio::test]
    async fn a_helper_that_is_not_there_is_told() {
        let credentials = Credentials::from_docker_config(br#"{"credsStore": "no-such-helper-here"}"#).unwrap();
        let error = credentials.find("a.example.org").await.unwrap_err();
        assert!(error.to_string().contains("docker-credential-no-such-helper-here"), "{error}");
        let evil = Credentials::from_docker_config(br#"{"credsStore": "../../bin/sh"}"#).unwrap();
        assert!(evil.find("a.example.org").await.is_err());
    }

    #[test]
    fn a_host_has_one_spelling() {
        for (text, expected) in [
            ("https://index.docker.io/v1/", "docker.io"),
            ("localhost:5000", "localhost:5000"),
            ("http://localhost:5000/v2/", "localhost:5000"),
        ] {
            assert_eq!(canonical(text), expected);
        }
    }
}
