//! HTTPS on a port, with certificates of the server's own authority. Slow and silent clients cost a
//! bounded amount.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
    sync::Arc,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

use super::response_body::Body;
use crate::handlers;
use crate::server::{Inner, StartError};

/// The most connections at once; every watch of an HTTP/1 client is one.
const CONNECTIONS: usize = 8192;
/// How long a client may take to shake hands.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a client may take to send its headers, rests between requests included: longer than
/// clients keep idle connections, so that they close them and none is closed under a request.
const IDLE: Duration = Duration::from_secs(120);

/// The most bytes of a request's headers; more are answered with 431.
const HEADERS: usize = 64 << 10;

/// The server's own certificate authority.
pub(crate) struct Authority {
    certificate: String,
    key: String,
    /// Whether it is nowhere but here.
    is_new: bool,
}

impl Authority {
    /// The one that is kept in a directory, or a new one, which [`Self::save`] keeps.
    pub(crate) fn open(data: Option<&Path>) -> Result<Self, StartError> {
        let read = |name: &str| std::fs::read_to_string(data?.join(name)).ok();
        if let (Some(certificate), Some(key)) = (read("ca.crt"), read("ca.key")) {
            return Ok(Self {
                certificate,
                key,
                is_new: false,
            });
        }
        Self::new().map_err(|error| StartError::Keys(error.to_string()))
    }

    /// Writes a new authority into a directory.
    pub(crate) fn save(&self, data: &Path) -> io::Result<()> {
        if self.is_new {
            write_private(&data.join("ca.key"), &self.key)?;
            write_private(&data.join("ca.crt"), &self.certificate)?;
        }
        Ok(())
    }

    fn new() -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate()?;
        let certificate = Self::parameters().self_signed(&key)?.pem();
        Ok(Self {
            certificate,
            key: key.serialize_pem(),
            is_new: true,
        })
    }

    /// What every authority of ours says of itself; together with its key this is all that signing
    /// needs.
    fn parameters() -> CertificateParams {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = named("kubernetes");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        parameters
    }

    /// The certificate, for clients.
    pub(crate) fn pem(&self) -> &str {
        &self.certificate
    }

    /// What a listener on an address shows.
    fn serving(
        &self,
        address: IpAddr,
    ) -> Result<ServerConfig, Box<dyn std::error::Error + Send + Sync>> {
        let issuer = Issuer::new(Self::parameters(), KeyPair::from_pem(&self.key)?);
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::new(
            ["localhost", "kubernetes", "kubernetes.default.svc"].map(str::to_owned),
        )?;
        let mut addresses = vec![
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ];
        if !addresses.contains(&address) {
            addresses.push(address);
        }
        parameters
            .subject_alt_names
            .extend(addresses.into_iter().map(SanType::IpAddress));
        parameters.distinguished_name = named("kube-apiserver");
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = parameters.signed_by(&key, &issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let chain = vec![CertificateDer::from(certificate.der().to_vec())];
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut named = DistinguishedName::new();
    named.push(DnType::CommonName, name);
    named
}

/// Writes a file that only its owner can read.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::{io::Write, os::unix::fs::OpenOptionsExt};
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// A port that the server is reached at. Dropping it closes the port and every connection.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    ca: String,
    close: watch::Sender<bool>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.close.send_replace(true);
    }
}

impl Listener {
    pub(crate) async fn bind(inner: &Arc<Inner>, address: SocketAddr) -> Result<Self, StartError> {
        let config = inner
            .authority
            .serving(address.ip())
            .map_err(|error| StartError::Keys(error.to_string()))?;
        let failed = |error| StartError::Listen(address, error);
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let close = watch::Sender::new(false);
        let closed = close.subscribe();
        tokio::spawn(accept(
            inner.clone(),
            socket,
            TlsAcceptor::from(Arc::new(config)),
            closed,
        ));
        Ok(Self {
            address,
            ca: inner.authority.pem().to_owned(),
            close,
        })
    }

    /// The address, with the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate that clients have to trust.
    pub fn ca_pem(&self) -> &str {
        &self.ca
    }

    pub(crate) fn kubeconfig(&self, user: &str, token: &str) -> String {
        let ca = STANDARD.encode(&self.ca);
        let value = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "cairn", "cluster": {
                "server": format!("https://{}", self.address), "certificate-authority-data": ca,
            }}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "cairn", "context": {"cluster": "cairn", "user": user}}],
            "current-context": "cairn",
        });
        yaml::emit(&value).unwrap_or_default()
    }
}

/// Takes connections until the listener or the server is gone.
async fn accept(
    inner: Arc<Inner>,
    socket: TcpListener,
    acceptor: TlsAcceptor,
    mut closed: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut ending = inner.ending.subscribe();
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            _ = closed.wait_for(|&closed| closed) => break,
            _ = ending.wait_for(|&ending| ending) => break,
            accepted = socket.accept() => accepted,
        };
        while connections.try_join_next().is_some() {}
        // Too many files are open, or the client has left already: the next one may do better.
        let Ok((stream, _)) = stream else {
            tokio::task::yield_now().await;
            continue;
        };
        let Ok(place) = room.clone().try_acquire_owned() else {
            continue;
        };
        let (inner, acceptor) = (inner.clone(), acceptor.clone());
        connections.spawn(async move {
            connection(inner, acceptor, stream).await;
            drop(place);
        });
    }
}

/// About how many bytes the line and the headers of a request had.
fn size_of_head(request: &Request<Incoming>) -> usize {
    let target = request
        .uri()
        .path_and_query()
        .map_or(0, |target| target.as_str().len());
    let headers = request
        .headers()
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    target + headers.sum::<usize>()
}

async fn connection(inner: Arc<Inner>, acceptor: TlsAcceptor, stream: TcpStream) {
    _ = stream.set_nodelay(true);
    let Ok(Ok(stream)) = timeout(PATIENCE, acceptor.accept(stream)).await else {
        return;
    };
    let service = service_fn(move |request: Request<Incoming>| {
        let inner = inner.clone();
        async move {
            // A smaller buffer would do for HTTP/1, but bodies would have to pass through it, too.
            if size_of_head(&request) > HEADERS {
                let mut answer = Response::new(Body::full(Bytes::new()));
                *answer.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
                return Ok(answer);
            }
            handlers::serve(&inner, None, request).await
        }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .keep_alive(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20))
        .max_concurrent_streams(1000)
        .max_header_list_size(HEADERS as u32);
    // A connection that breaks is the client's loss; the next one is served all the same.
    _ = builder
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
