//! A client of registries: finds out how to talk to each, and proves who asks when it is asked to.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use engine::manage::Reference;
use http::{Method, StatusCode, header};
use serde_json::Value;
use url::Url;

use crate::auth::{self, Challenge};
use crate::http::{Answer, Ask, Http, is_loopback};
use crate::{Credentials, Error, Store};

/// How to talk to registries.
#[derive(Debug, Clone)]
pub struct Options {
    /// Who asks.
    pub credentials: Credentials,
    /// Hosts, with their ports, that may be talked to without encryption. Those on this machine always may.
    pub plain_http: Vec<String>,
    /// Where to keep what was pulled.
    pub store: Store,
}

/// How far a transfer has come, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// So many are there.
    pub done: u64,
    /// Of so many.
    pub total: u64,
}

/// A client of registries.
pub struct Client {
    http: Http,
    pub(crate) options: Options,
    /// By host, where its API begins.
    bases: Mutex<BTreeMap<String, Url>>,
    /// By host and scope, what proved who asks.
    proofs: Mutex<BTreeMap<(String, String), String>>,
}

impl Client {
    /// A client.
    pub fn new(options: Options) -> Self {
        Self { http: Http::new(), options, bases: Mutex::default(), proofs: Mutex::default() }
    }

    /// A client that is somebody else where they have credentials.
    #[must_use]
    pub fn with(&self, credentials: Credentials) -> Self {
        let credentials = credentials.or(self.options.credentials.clone());
        Self::new(Options { credentials, ..self.options.clone() })
    }

    /// Asks something about a repository. `path` is below the repository; `actions` are `pull` or `pull,push`.
    pub(crate) async fn ask(
        &self,
        reference: &Reference,
        method: Method,
        path: &str,
        actions: &str,
        prepare: impl Fn(Ask) -> Ask,
    ) -> Result<Answer, Error> {
        let base = self.base(&reference.registry).await?;
        let url = match Url::parse(path) {
            // Where to send an upload is said by the registry, and may be elsewhere.
            Ok(url) => url,
            Err(_) if path.starts_with('/') => self.join(&base, path, reference)?,
            Err(_) => self.join(&base, &format!("/v2/{}/{path}", reference.repository), reference)?,
        };
        let scope = format!("repository:{}:{actions}", reference.repository);
        let key = (reference.registry.clone(), scope.clone());
        let own = url.origin() == base.origin();
        let mut proof = if own { self.proof(&key) } else { None };
        for last in [false, true] {
            let mut ask = prepare(Ask::new(method.clone(), url.clone()));
            if let Some(proof) = &proof {
                ask = ask.header(header::AUTHORIZATION, proof);
            }
            let answer = self.http.send(ask).await.map_err(|cause| self.unreachable(reference, cause))?;
            if answer.status != StatusCode::UNAUTHORIZED || last || !own {
                return Ok(answer);
            }
            let challenges = answer.headers.get_all(header::WWW_AUTHENTICATE).iter();
            let challenge = challenges.filter_map(|value| Challenge::read(value.to_str().ok()?)).next();
            let Some(challenge) = challenge else { return Ok(answer) };
            let credential = self.options.credentials.find(&reference.registry).await?;
            let new = auth::answer(&self.http, &challenge, credential.as_ref(), &scope).await;
            let new = new.map_err(|cause| self.denied(reference, cause))?;
            self.proofs.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), new.clone());
            proof = Some(new);
        }
        Err(self.denied(reference, "it asks again and again who we are".to_owned()))
    }

    fn proof(&self, key: &(String, String)) -> Option<String> {
        self.proofs.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn join(&self, base: &Url, path: &str, reference: &Reference) -> Result<Url, Error> {
        base.join(path).map_err(|_| Error::Wrong {
            host: reference.registry.clone(),
            what: reference.to_string(),
            cause: "it sent us to a place that is no address".to_owned(),
        })
    }

    /// Where the API of a host begins. Encryption is tried first even where it may be absent.
    async fn base(&self, host: &str) -> Result<Url, Error> {
        if let Some(base) = self.bases.lock().unwrap_or_else(PoisonError::into_inner).get(host) {
            return Ok(base.clone());
        }
        let name = if host == "docker.io" { "registry-1.docker.io" } else { host };
        let unreachable = |cause: String| Error::Unreachable { host: host.to_owned(), cause };
        let secure = Url::parse(&format!("https://{name}/v2/")).map_err(|error| unreachable(error.to_string()))?;
        let plain = Url::parse(&format!("http://{name}/v2/")).map_err(|error| unreachable(error.to_string()))?;
        let may_be_plain = is_loopback(&plain) || self.options.plain_http.iter().any(|allowed| allowed == host);
        let found = match self.http.send(Ask::new(Method::GET, secure.clone())).await {
            Ok(_) => secure,
            Err(_) if may_be_plain => match self.http.send(Ask::new(Method::GET, plain.clone())).await {
                Ok(_) => plain,
                Err(cause) => return Err(unreachable(cause)),
            },
            Err(cause) => return Err(unreachable(cause)),
        };
        self.bases.lock().unwrap_or_else(PoisonError::into_inner).insert(host.to_owned(), found.clone());
        Ok(found)
    }

    pub(crate) fn unreachable(&self, reference: &Reference, cause: String) -> Error {
        Error::Unreachable { host: reference.registry.clone(), cause }
    }

    fn denied(&self, reference: &Reference, cause: String) -> Error {
        let (host, repository) = (reference.registry.clone(), reference.repository.clone());
        Error::Denied { host, repository, cause }
    }

    pub(crate) fn wrong(&self, reference: &Reference, what: impl Into<String>, cause: impl Into<String>) -> Error {
        Error::Wrong { host: reference.registry.clone(), what: what.into(), cause: cause.into() }
    }

    /// The error of an answer that is none of those that were hoped for.
    pub(crate) async fn refusal(&self, reference: &Reference, what: &str, answer: Answer) -> Error {
        let status = answer.status;
        let bytes = answer.bytes().await.unwrap_or_default();
        let said = said(&bytes);
        let host = reference.registry.clone();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let cause = if said.is_empty() { status.to_string() } else { said };
                self.denied(reference, cause)
            }
            StatusCode::NOT_FOUND => Error::NotFound { reference: reference.to_string() },
            _ => Error::Failed { host, what: what.to_owned(), status: status.as_u16(), cause: said },
        }
    }
}

/// What a registry says of an error, if it says it as registries do.
fn said(bytes: &[u8]) -> String {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        let text = String::from_utf8_lossy(bytes);
        let line = text.lines().next().unwrap_or_default();
        return line.chars().take(120).collect::<String>().escape_debug().to_string();
    };
    let errors = value["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = errors.iter().filter_map(|error| error["message"].as_str().or(error["code"].as_str()));
    texts.map(|text| text.chars().take(200).collect()).collect::<Vec<String>>().join("; ")
}
