//! HTTP to registries: encrypted unless the registry is on this machine or somebody said otherwise,
//! with bounded answers, and only where [`Reach`] allows.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::uri::Uri;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use url::Url;

use crate::connect::{Connector, Fault, root};
use crate::proxy::Proxies;
use crate::reach::{Peer, Reach};
use crate::retry::{Outcome, pause, retry_after};

/// The longest that an answer may take to begin.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most bytes of an answer that is kept in memory, such as a manifest.
pub(crate) const ANSWER: usize = 4 << 20;
/// The most redirections that are followed.
const REDIRECTIONS: usize = 5;

/// Clones share their connections.
#[derive(Clone)]
pub(crate) struct Http {
    connector: Arc<Connector>,
    reach: Arc<Reach>,
    chance: Arc<AtomicU64>,
}

/// What to ask.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The registry that sent us there; none if this is it.
    pub(crate) from: Option<Peer>,
}

impl Ask {
    pub(crate) fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            from: None,
        }
    }

    #[must_use]
    pub(crate) fn header(mut self, name: header::HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.append(name, value);
        }
        self
    }

    /// The same where another registry sends us.
    #[must_use]
    pub(crate) fn sent_by(self, from: Option<Peer>) -> Self {
        Self { from, ..self }
    }

    fn only_reads(&self) -> bool {
        self.method == Method::GET || self.method == Method::HEAD
    }
}

/// What was answered; the body is still to come.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Incoming,
    /// Where it came from in the end.
    pub(crate) url: Url,
    /// The registry that answered, or sent us to who did.
    pub(crate) peer: Peer,
}

impl Answer {
    pub(crate) fn header(&self, name: impl header::AsHeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The whole body, if it is not too large.
    pub(crate) async fn bytes(self) -> Result<Bytes, String> {
        let limited = http_body_util::Limited::new(self.body, ANSWER);
        let collected = tokio::time::timeout(PATIENCE, limited.collect()).await;
        match collected {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                Err(format!("it has more than {ANSWER} bytes"))
            }
            Ok(Err(_)) => Err("it broke off".to_owned()),
            Err(_) => Err(format!("it did not end within {} s", PATIENCE.as_secs())),
        }
    }
}

impl Http {
    pub(crate) fn new(reach: Reach, proxies: Proxies) -> Self {
        // Only to spread out those that ask again; anything but the same for all will do.
        let mut seed = [0; 8];
        let _ = getrandom::fill(&mut seed);
        let chance = Arc::new(AtomicU64::new(u64::from_ne_bytes(seed)));
        Self {
            connector: Arc::new(Connector::new(proxies)),
            reach: Arc::new(reach),
            chance,
        }
    }

    pub(crate) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Asks, again where that may help, and follows where it is sent for what it wants to read.
    pub(crate) async fn send(&self, ask: Ask) -> Result<Answer, String> {
        for attempt in 1.. {
            let outcome = self.follow(ask.clone()).await;
            let seen = match &outcome {
                _ if !ask.only_reads() => None,
                Ok(answer) => {
                    let asked = answer.header(header::RETRY_AFTER).and_then(retry_after);
                    Some(Outcome::Answer(answer.status.as_u16(), asked))
                }
                Err(Fault::Failed(_)) => Some(Outcome::NoAnswer),
                Err(Fault::Refused(_)) => None,
            };
            let chance = self.chance.fetch_add(0x9e37_79b9, Ordering::Relaxed);
            match seen.and_then(|seen| pause(attempt, seen, chance)) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return outcome.map_err(|(Fault::Refused(why) | Fault::Failed(why))| why),
            }
        }
        Err("it was asked too often".to_owned())
    }

    /// The same, once.
    pub(crate) async fn try_once(&self, ask: Ask) -> Result<Answer, String> {
        self.follow(ask)
            .await
            .map_err(|(Fault::Refused(why) | Fault::Failed(why))| why)
    }

    async fn follow(&self, mut ask: Ask) -> Result<Answer, Fault> {
        for _ in 0..=REDIRECTIONS {
            let answer = self.once(&ask).await?;
            let elsewhere = answer.status.is_redirection() && ask.only_reads();
            let Some(location) = answer.header(header::LOCATION).filter(|_| elsewhere) else {
                return Ok(answer);
            };
            let bad = || Fault::Refused("it sent us to a place that is no address".to_owned());
            let next = ask.url.join(location).map_err(|_| bad())?;
            let same = next.origin() == ask.url.origin();
            if next.scheme() != "https"
                && !(next.scheme() == "http" && (same || is_loopback(&next)))
            {
                return Err(Fault::Refused(format!(
                    "it sent us to {}, which is not encrypted",
                    place(&next)
                )));
            }
            if !same {
                ask.headers.remove(header::AUTHORIZATION);
            }
            ask.from = Some(answer.peer);
            ask.url = next;
        }
        Err(Fault::Refused(format!(
            "it sent us on more than {REDIRECTIONS} times"
        )))
    }

    async fn once(&self, ask: &Ask) -> Result<Answer, Fault> {
        let url = &ask.url;
        let host = url.host_str().unwrap_or_default().to_owned();
        let port = url.port_or_known_default().unwrap_or_default();
        let (reach, from) = (&self.reach, ask.from.as_ref());
        from.map_or_else(
            || reach.registry(&host, port),
            |from| reach.next(from, &host, port),
        )
        .map_err(Fault::Refused)?;
        let check = |address: IpAddr| match from {
            Some(from) => reach.next_at(from, &host, port, address),
            None => reach.registry_at(&host, port, address),
        };
        let mut connection = self.connector.connect(url, &check).await?;
        let target = if connection.absolute {
            &url[..url::Position::AfterQuery]
        } else {
            &url[url::Position::BeforePath..url::Position::AfterQuery]
        };
        let bad = |error: &dyn std::fmt::Display| Fault::Refused(error.to_string());
        let target: Uri = target
            .parse()
            .map_err(|error: http::uri::InvalidUri| bad(&error))?;
        let mut request = Request::builder().method(&ask.method).uri(target);
        if let Some(headers) = request.headers_mut() {
            headers.extend(ask.headers.clone());
            headers.insert(
                header::USER_AGENT,
                HeaderValue::from_static(concat!("cairn/", env!("CARGO_PKG_VERSION"))),
            );
            let named = &url[url::Position::BeforeHost..url::Position::AfterPort];
            headers.insert(
                header::HOST,
                HeaderValue::from_str(named).map_err(|error| bad(&error))?,
            );
            if let Some(login) = connection
                .authorization
                .as_deref()
                .and_then(|text| HeaderValue::from_str(text).ok())
            {
                headers.insert(header::PROXY_AUTHORIZATION, login);
            }
        }
        let request = request
            .body(Full::new(ask.body.clone()))
            .map_err(|error| bad(&error))?;
        let answer =
            match tokio::time::timeout(PATIENCE, connection.sender.send_request(request)).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) => return Err(Fault::Failed(root(&error))),
                Err(_) => {
                    return Err(Fault::Failed(format!(
                        "no answer within {} s",
                        PATIENCE.as_secs()
                    )));
                }
            };
        let peer = from.cloned().unwrap_or(Peer {
            host,
            port,
            address: connection.address,
        });
        self.connector.keep(connection);
        let (parts, body) = answer.into_parts();
        Ok(Answer {
            status: parts.status,
            headers: parts.headers,
            body,
            url: url.clone(),
            peer,
        })
    }
}

/// Whether a place is on this machine, where nobody listens in.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// A place without what could be secret in it.
pub(crate) fn place(url: &Url) -> String {
    let whole = format!(
        "{}://{}{}",
        url.scheme(),
        &url[url::Position::BeforeHost..url::Position::AfterPort],
        url.path()
    );
    whole.chars().take(200).collect()
}
