//! A client of registries: finds out how to talk to each, and proves who asks when it is asked to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Method, StatusCode, header};
use package::image::Reference;
use serde_json::Value;
use url::Url;

use crate::auth::{self, Challenge};
use crate::http::{Answer, Ask, Http, is_loopback};
use crate::reach::Peer;
use crate::store::Part;
use crate::{Credentials, Error, Proxies, Reach, Store};

/// The most compressed bytes of a layer, unless somebody says otherwise.
pub const LAYER_BYTES: u64 = 64 << 20;
/// The longest that a pull may take in all, unless somebody says otherwise.
pub const PULL_TIMEOUT: Duration = Duration::from_secs(120);
/// The most hosts whose way of talking is remembered.
const HOSTS: usize = 1000;

/// How to talk to registries.
#[derive(Debug, Clone)]
pub struct Options {
    /// Who asks.
    pub credentials: Credentials,
    /// Hosts, with their ports, that may be talked to without encryption. Those on this machine
    /// always may.
    pub plain_http: Vec<String>,
    /// Where to keep what was pulled.
    pub store: Store,
    /// Where to go.
    pub reach: Reach,
    /// The proxies of this machine.
    pub proxies: Proxies,
    /// The most compressed bytes of a layer; all layers of an image may have four times as many.
    pub layer_bytes: u64,
    /// The longest that a pull may take in all.
    pub timeout: Duration,
}

impl Options {
    /// The usual ones with this store: for registries that tenants name, without credentials.
    pub fn new(store: Store) -> Self {
        Self {
            credentials: Credentials::default(),
            plain_http: Vec::new(),
            store,
            reach: Reach::default(),
            proxies: Proxies::default(),
            layer_bytes: LAYER_BYTES,
            timeout: PULL_TIMEOUT,
        }
    }
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
    bases: Arc<Mutex<BTreeMap<String, Base>>>,
    /// By host and scope, what proved who asks.
    proofs: Mutex<BTreeMap<(String, String), String>>,
}

/// Where the API of a host begins, and who answers there.
#[derive(Clone)]
struct Base {
    url: Url,
    peer: Peer,
}

impl Client {
    /// A client.
    pub fn new(options: Options) -> Self {
        let reach = options.reach.clone().naming(&options.plain_http);
        let http = Http::new(reach, options.proxies.clone());
        Self {
            http,
            options,
            bases: Arc::default(),
            proofs: Mutex::default(),
        }
    }

    /// A client that is somebody else where they have credentials.
    #[must_use]
    pub fn with(&self, credentials: Credentials) -> Self {
        let credentials = credentials.or(self.options.credentials.clone());
        let options = Options {
            credentials,
            ..self.options.clone()
        };
        Self {
            http: self.http.clone(),
            options,
            bases: self.bases.clone(),
            proofs: Mutex::default(),
        }
    }

    /// The part of the store for what a reference names, as whoever asks.
    pub(crate) fn part(&self, reference: &Reference) -> Part {
        let credential = self.options.credentials.stands_for(&reference.registry);
        self.options
            .store
            .part(&reference.registry, &reference.repository, &credential)
    }

    /// Asks something about a repository. `path` is below the repository; `actions` are `pull` or
    /// `pull,push`.
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
            Err(_) if path.starts_with('/') => self.join(&base.url, path, reference)?,
            Err(_) => self.join(
                &base.url,
                &format!("/v2/{}/{path}", reference.repository),
                reference,
            )?,
        };
        let scope = format!("repository:{}:{actions}", reference.repository);
        let key = (reference.registry.clone(), scope.clone());
        let own = url.origin() == base.url.origin();
        let from = (!own).then(|| base.peer.clone());
        let mut proof = if own { self.proof(&key) } else { None };
        for last in [false, true] {
            let mut ask = prepare(Ask::new(method.clone(), url.clone())).sent_by(from.clone());
            if let Some(proof) = &proof {
                ask = ask.header(header::AUTHORIZATION, proof);
            }
            let answer = self
                .http
                .send(ask)
                .await
                .map_err(|cause| self.unreachable(reference, cause))?;
            if answer.status != StatusCode::UNAUTHORIZED || last || !own {
                return Ok(answer);
            }
            let challenges = answer.headers.get_all(header::WWW_AUTHENTICATE).iter();
            let challenge = challenges
                .filter_map(|value| Challenge::read(value.to_str().ok()?))
                .next();
            let Some(challenge) = challenge else {
                return Ok(answer);
            };
            let credential = self.options.credentials.find(&reference.registry).await?;
            let new = auth::answer(
                &self.http,
                &answer.peer,
                &challenge,
                credential.as_ref(),
                &scope,
            )
            .await;
            let new = new.map_err(|cause| self.denied(reference, cause))?;
            self.proofs
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(key.clone(), new.clone());
            proof = Some(new);
        }
        Err(self.denied(reference, "it keeps asking for credentials".to_owned()))
    }

    fn proof(&self, key: &(String, String)) -> Option<String> {
        self.proofs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)
            .cloned()
    }

    fn join(&self, base: &Url, path: &str, reference: &Reference) -> Result<Url, Error> {
        base.join(path).map_err(|_| Error::Wrong {
            host: reference.registry.clone(),
            what: reference.to_string(),
            cause: "it sent us to a place that is no address".to_owned(),
        })
    }

    /// Where the API of a host begins. Encryption is tried first even where it may be absent.
    async fn base(&self, host: &str) -> Result<Base, Error> {
        if let Some(base) = self
            .bases
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(host)
        {
            return Ok(base.clone());
        }
        let name = if host == "docker.io" {
            "registry-1.docker.io"
        } else {
            host
        };
        let unreachable = |cause: String| Error::Unreachable {
            host: host.to_owned(),
            cause,
        };
        let secure = Url::parse(&format!("https://{name}/v2/"))
            .map_err(|error| unreachable(error.to_string()))?;
        let plain = Url::parse(&format!("http://{name}/v2/"))
            .map_err(|error| unreachable(error.to_string()))?;
        let named = secure.host_str().unwrap_or_default();
        self.http
            .reach()
            .registry(named, secure.port_or_known_default().unwrap_or_default())
            .map_err(|cause| Error::NotAllowed {
                host: host.to_owned(),
                cause,
            })?;
        let may_be_plain = is_loopback(&plain)
            || self
                .options
                .plain_http
                .iter()
                .any(|allowed| allowed == host);
        let (url, answer) = if may_be_plain {
            match self
                .http
                .try_once(Ask::new(Method::GET, secure.clone()))
                .await
            {
                Ok(answer) => (secure, answer),
                Err(_) => {
                    let answer = self.http.send(Ask::new(Method::GET, plain.clone())).await;
                    (plain, answer.map_err(unreachable)?)
                }
            }
        } else {
            let answer = self.http.send(Ask::new(Method::GET, secure.clone())).await;
            (secure, answer.map_err(unreachable)?)
        };
        let found = Base {
            url,
            peer: answer.peer,
        };
        let mut bases = self.bases.lock().unwrap_or_else(PoisonError::into_inner);
        if bases.len() >= HOSTS {
            bases.clear();
        }
        bases.insert(host.to_owned(), found.clone());
        Ok(found)
    }

    pub(crate) fn unreachable(&self, reference: &Reference, cause: String) -> Error {
        Error::Unreachable {
            host: reference.registry.clone(),
            cause,
        }
    }

    fn denied(&self, reference: &Reference, cause: String) -> Error {
        let (host, repository) = (reference.registry.clone(), reference.repository.clone());
        Error::Denied {
            host,
            repository,
            cause,
        }
    }

    pub(crate) fn wrong(
        &self,
        reference: &Reference,
        what: impl Into<String>,
        cause: impl Into<String>,
    ) -> Error {
        Error::Wrong {
            host: reference.registry.clone(),
            what: what.into(),
            cause: cause.into(),
        }
    }

    /// The error of an answer that is none of those that were hoped for. What it says is not
    /// repeated: whoever made the client ask may not be who may read it.
    pub(crate) async fn refusal(&self, reference: &Reference, what: &str, answer: Answer) -> Error {
        let status = answer.status;
        let bytes = answer.bytes().await.unwrap_or_default();
        let cause = match code(&bytes) {
            Some(code) => format!("{status} ({code})"),
            None => status.to_string(),
        };
        let host = reference.registry.clone();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => self.denied(reference, cause),
            StatusCode::NOT_FOUND => Error::NotFound {
                reference: reference.to_string(),
            },
            _ => Error::Failed {
                host,
                what: what.to_owned(),
                status: status.as_u16(),
                cause,
            },
        }
    }

    /// Lets something take only as long as a pull may.
    pub(crate) async fn in_time<T>(
        &self,
        reference: &Reference,
        pull: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let timeout = self.options.timeout;
        match tokio::time::timeout(timeout, pull).await {
            Ok(outcome) => outcome,
            Err(_) => Err(self.unreachable(
                reference,
                format!("the pull did not finish within {} s", timeout.as_secs_f32()),
            )),
        }
    }
}

/// The codes that the distribution specification has for errors, and what all registries add.
const CODES: [&str; 16] = [
    "BLOB_UNKNOWN",
    "BLOB_UPLOAD_INVALID",
    "BLOB_UPLOAD_UNKNOWN",
    "DENIED",
    "DIGEST_INVALID",
    "MANIFEST_BLOB_UNKNOWN",
    "MANIFEST_INVALID",
    "MANIFEST_UNKNOWN",
    "NAME_INVALID",
    "NAME_UNKNOWN",
    "SIZE_INVALID",
    "TAG_INVALID",
    "TOOMANYREQUESTS",
    "UNAUTHORIZED",
    "UNKNOWN",
    "UNSUPPORTED",
];

/// The code of the first error in an answer, if it is a known one.
fn code(bytes: &[u8]) -> Option<&'static str> {
    let value = serde_json::from_slice::<Value>(bytes).ok()?;
    let said = value["errors"][0]["code"].as_str()?;
    CODES.into_iter().find(|code| *code == said)
}
