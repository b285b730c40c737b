//! HTTP to registries: encrypted unless the registry is on this machine or somebody said otherwise, with bounded
//! answers, and without taking credentials along to another host.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::{self, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use url::Url;

/// The longest that an answer may take to begin.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most bytes of an answer that is kept in memory, such as a manifest.
pub(crate) const ANSWER: usize = 4 << 20;
/// The most redirections that are followed.
const REDIRECTIONS: usize = 5;

pub(crate) struct Http {
    client: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// What to ask.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Ask {
    pub(crate) fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: Bytes::new() }
    }

    #[must_use]
    pub(crate) fn header(mut self, name: header::HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.append(name, value);
        }
        self
    }
}

/// What was answered; the body is still to come.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Incoming,
    /// Where it came from in the end.
    pub(crate) url: Url,
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
            Ok(Err(error)) => Err(format!("it broke off: {error}")),
            Err(_) => Err(format!("it did not end within {} s", PATIENCE.as_secs())),
        }
    }
}

impl Http {
    pub(crate) fn new() -> Self {
        let mut roots = rustls::RootCertStore::empty();
        // A machine without certificates can still reach registries on itself.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider);
        // Only an empty list of versions could fail.
        let tls = match builder.with_safe_default_protocol_versions() {
            Ok(builder) => builder.with_root_certificates(roots).with_no_client_auth(),
            Err(_) => rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth(),
        };
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(Duration::from_secs(10)));
        let https = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        Self { client: legacy::Client::builder(TokioExecutor::new()).build(https) }
    }

    /// Asks, and follows where it is sent for what it wants to read.
    pub(crate) async fn send(&self, mut ask: Ask) -> Result<Answer, String> {
        for _ in 0..=REDIRECTIONS {
            let answer = self.once(&ask).await?;
            let elsewhere = answer.status.is_redirection() && (ask.method == Method::GET || ask.method == Method::HEAD);
            let Some(location) = answer.header(header::LOCATION).filter(|_| elsewhere) else { return Ok(answer) };
            let next = ask.url.join(location).map_err(|_| "it sent us to a place that is no address".to_owned())?;
            if next.scheme() != "https" && !is_loopback(&next) {
                return Err(format!("it sent us to {}, which is not encrypted", place(&next)));
            }
            if next.origin() != ask.url.origin() {
                ask.headers.remove(header::AUTHORIZATION);
            }
            ask.url = next;
        }
        Err(format!("it sent us on more than {REDIRECTIONS} times"))
    }

    async fn once(&self, ask: &Ask) -> Result<Answer, String> {
        let mut request = Request::builder().method(&ask.method).uri(ask.url.as_str());
        if let Some(headers) = request.headers_mut() {
            headers.extend(ask.headers.clone());
            headers.insert(header::USER_AGENT, HeaderValue::from_static(concat!("cairn/", env!("CARGO_PKG_VERSION"))));
        }
        let request = request.body(Full::new(ask.body.clone())).map_err(|error| error.to_string())?;
        let answer = match tokio::time::timeout(PATIENCE, self.client.request(request)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(root(&error)),
            Err(_) => return Err(format!("no answer within {} s", PATIENCE.as_secs())),
        };
        let (parts, body) = answer.into_parts();
        Ok(Answer { status: parts.status, headers: parts.headers, body, url: ask.url.clone() })
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
    format!("{}://{}{}", url.scheme(), url.authority(), url.path())
}

/// The innermost cause, which is the one that says something.
fn root(error: &legacy::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
