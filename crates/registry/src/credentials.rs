//! Names and passwords for registries, from Docker's configuration, from pull secrets, or given.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;
use tokio::io::AsyncWriteExt;

use crate::{Error, HostPattern};

/// The longest that a helper may take.
const PATIENCE: Duration = Duration::from_secs(30);

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
    /// The only hosts that programs are asked for; none means all.
    asked_for: Option<Vec<HostPattern>>,
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
        Self {
            known: BTreeMap::from([(canonical(host), credential)]),
            ..Self::default()
        }
    }

    /// Reads Docker's `config.json`; a file that is not there holds none.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let bad = |cause: String| Error::Credentials {
            from: path.display().to_string(),
            cause,
        };
        match std::fs::read(path) {
            Ok(bytes) => Self::from_docker_config(&bytes).map_err(bad),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(bad(error.to_string())),
        }
    }

    /// Reads a Secret of the type `kubernetes.io/dockerconfigjson`. Whoever writes it does not
    /// choose programs that run here: helpers that it names are ignored.
    pub fn from_pull_secret(bytes: &[u8]) -> Result<Self, String> {
        let own = Self::from_docker_config(bytes)?;
        Ok(Self {
            known: own.known,
            ..Self::default()
        })
    }

    /// Reads the content of Docker's `config.json`, with the helpers that it names: only for a file
    /// of whoever runs this program.
    pub fn from_docker_config(bytes: &[u8]) -> Result<Self, String> {
        // What is at a place may be secret, so only the place is said.
        let config: Config = serde_json::from_slice(bytes).map_err(|error| {
            format!(
                "it is not a valid Docker configuration: line {}, column {}",
                error.line(),
                error.column()
            )
        })?;
        let mut known = BTreeMap::new();
        for (host, auth) in config.auths {
            if let Some(credential) = auth
                .read()
                .map_err(|cause| format!("auths.{host}: {cause}"))?
            {
                known.insert(canonical(&host), credential);
            }
        }
        let helpers = config
            .cred_helpers
            .into_iter()
            .map(|(host, helper)| (canonical(&host), helper))
            .collect();
        let helper = config.creds_store.filter(|helper| !helper.is_empty());
        Ok(Self {
            known,
            helpers,
            helper,
            asked_for: None,
        })
    }

    /// Only those for these hosts.
    #[must_use]
    pub fn only_for(mut self, hosts: &[HostPattern]) -> Self {
        let listed = |host: &str| names(hosts, host);
        self.known.retain(|host, _| listed(host));
        self.helpers.retain(|host, _| listed(host));
        self.asked_for = Some(hosts.to_vec());
        self
    }

    /// What tells the credential for a host from others, without asking a program for it.
    pub(crate) fn stands_for(&self, host: &str) -> Vec<u8> {
        let host = canonical(host);
        let parts: [&[u8]; 3] = match self.known.get(&host) {
            Some(Credential::Basic { user, password }) => {
                [b"basic", user.as_bytes(), password.as_bytes()]
            }
            Some(Credential::Identity(token)) => [b"identity", token.as_bytes(), b""],
            None => match self.helper_for(&host) {
                Some(helper) => [b"helper", helper.as_bytes(), b""],
                None => [b""; 3],
            },
        };
        // Lengths keep apart what would read the same.
        parts
            .iter()
            .flat_map(|part| [&(part.len() as u64).to_le_bytes()[..], part].concat())
            .collect()
    }

    fn helper_for(&self, host: &str) -> Option<&str> {
        let all = self.helper.as_deref().filter(|_| {
            self.asked_for
                .as_ref()
                .is_none_or(|hosts| names(hosts, host))
        });
        self.helpers.get(host).map(String::as_str).or(all)
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
        if self.helper.is_none() {
            (self.helper, self.asked_for) = (others.helper, others.asked_for);
        }
        self
    }

    /// What is known for a host.
    pub(crate) async fn find(&self, host: &str) -> Result<Option<Credential>, Error> {
        let host = canonical(host);
        if let Some(credential) = self.known.get(&host) {
            return Ok(Some(credential.clone()));
        }
        match self.helper_for(&host) {
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
            return Ok(Some(Credential::Basic {
                user: self.username,
                password: self.password,
            }));
        }
        if self.auth.is_empty() {
            // A helper knows it.
            return Ok(None);
        }
        let decoded = STANDARD
            .decode(self.auth.trim())
            .map_err(|_| "`auth` is not base64".to_owned())?;
        let text = String::from_utf8(decoded).map_err(|_| "`auth` is no text".to_owned())?;
        let (user, password) = text
            .split_once(':')
            .ok_or("`auth` has no colon between name and password")?;
        Ok(Some(Credential::Basic {
            user: user.to_owned(),
            password: password.to_owned(),
        }))
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
    let bad = |cause: String| Error::Credentials {
        from: program.clone(),
        cause,
    };
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
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    let output =
        output.map_err(|_| bad(format!("it did not answer within {} s", PATIENCE.as_secs())))?;
    let output = output.map_err(|error| bad(error.to_string()))?;
    if !output.status.success() {
        // That is how they say that they know none.
        return Ok(None);
    }
    let answer: Answer = serde_json::from_slice(&output.stdout)
        .map_err(|_| bad("its answer is not JSON with a user name and a secret".to_owned()))?;
    Ok(Some(match answer.username.as_str() {
        "<token>" => Credential::Identity(answer.secret),
        _ => Credential::Basic {
            user: answer.username,
            password: answer.secret,
        },
    }))
}

/// Whether one of some patterns names a host, which may have a port.
fn names(patterns: &[HostPattern], host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !host.ends_with(']') => (name, port.parse().unwrap_or_default()),
        _ => (host, 443),
    };
    patterns.iter().any(|pattern| pattern.matches(name, port))
}

/// One spelling for a host: configurations have URLs, paths, and Docker's own registry under
/// another name.
fn canonical(host: &str) -> String {
    let host = host
        .trim_start_matches("https://")
        .trim_start_matches("http://");
    let host = host.split('/').next().unwrap_or_default();
    match host {
        "docker.io" | "registry-1.docker.io" | "index.docker.io" => "docker.io".to_owned(),
        host => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Credential, Credentials, canonical};
    use crate::HostPattern;

    #[tokio::test]
    async fn every_spelling_of_docker_is_read() {
        let text = br#"{"auths": {
            "https://index.docker.io/v1/": {"auth": "dXNlcjpwYTpzcw=="},
            "registry.example.org": {"username": "u", "password": "p"},
            "token.example.org": {"identitytoken": "t"},
            "helper.example.org": {}
        }}"#;
        let credentials = Credentials::from_docker_config(text).unwrap();
        let basic = |user: &str, password: &str| Credential::Basic {
            user: user.into(),
            password: password.into(),
        };
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
            (
                r#"{"auths": {"a": {"auth": "?"}}}"#,
                "auths.a: `auth` is not base64",
            ),
            (
                r#"{"auths": {"a": {"auth": "dXNlcg=="}}}"#,
                "auths.a: `auth` has no colon between name and password",
            ),
        ] {
            assert_eq!(
                Credentials::from_docker_config(text.as_bytes()).unwrap_err(),
                expected
            );
        }
        assert!(Credentials::from_docker_config(b"x").is_err());
    }

    #[tokio::test]
    async fn a_helper_that_is_not_there_is_told() {
        let credentials =
            Credentials::from_docker_config(br#"{"credsStore": "no-such-helper-here"}"#).unwrap();
        let error = credentials.find("a.example.org").await.unwrap_err();
        assert!(
            error
                .to_string()
                .contains("docker-credential-no-such-helper-here"),
            "{error}"
        );
        let evil = Credentials::from_docker_config(br#"{"credsStore": "../../bin/sh"}"#).unwrap();
        assert!(evil.find("a.example.org").await.is_err());
    }

    #[tokio::test]
    async fn a_tenants_secret_has_passwords_and_no_programs() {
        let text = br#"{"auths": {"a.example.org": {"username": "u", "password": "p"}, "b.example.org": {}},
            "credHelpers": {"b.example.org": "no-such-helper-here"}, "credsStore": "no-such-helper-here"}"#;
        let tenant = Credentials::from_pull_secret(text).unwrap();
        assert!(tenant.find("a.example.org").await.unwrap().is_some());
        assert_eq!(tenant.find("b.example.org").await.unwrap(), None);
        assert_eq!(tenant.find("c.example.org").await.unwrap(), None);
        // Not even what is wrong with it tells what is in it.
        for bad in [
            r#"{"auths": "hunter2"}"#,
            r#"{"auths": {"a": {"password": ["hunter2"]}}}"#,
            "hunter2",
        ] {
            let error = Credentials::from_pull_secret(bad.as_bytes()).unwrap_err();
            assert!(
                error.starts_with("it is not a valid Docker configuration: line 1"),
                "{error}"
            );
        }
    }

    #[tokio::test]
    async fn the_operators_configuration_serves_only_the_hosts_that_are_named() {
        let text = br#"{"auths": {"a.example.org": {"username": "u", "password": "p"},
            "b.example.org:5000": {"username": "u", "password": "p"}},
            "credHelpers": {"c.example.org": "no-such-helper-here"}, "credsStore": "no-such-helper-here"}"#;
        let all = Credentials::from_docker_config(text).unwrap();
        let pattern = |text: &str| HostPattern::parse(text).unwrap();
        for (hosts, host, found) in [
            (vec![], "a.example.org", Ok(false)),
            (vec![], "c.example.org", Ok(false)),
            (vec![], "d.example.org", Ok(false)),
            (vec![pattern("a.example.org")], "a.example.org", Ok(true)),
            (
                vec![pattern("a.example.org")],
                "b.example.org:5000",
                Ok(false),
            ),
            (
                vec![pattern("*.example.org:5000")],
                "b.example.org:5000",
                Ok(true),
            ),
            (vec![pattern("c.example.org")], "c.example.org", Err(())),
            (vec![pattern("d.example.org")], "d.example.org", Err(())),
            (vec![pattern("d.example.org")], "e.example.org", Ok(false)),
            (vec![pattern("*")], "e.example.org", Err(())),
        ] {
            let credentials = Credentials::default().or(all.clone().only_for(&hosts));
            let outcome = credentials
                .find(host)
                .await
                .map(|found| found.is_some())
                .map_err(|_| ());
            assert_eq!(outcome, found, "{hosts:?} {host}");
        }
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
