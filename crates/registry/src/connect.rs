//! Connections to registries: the addresses of a host are looked up once and checked, and one of
//! those that were checked is connected to, so that no second answer of a name server is believed.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Url;

use crate::proxy::{Proxies, Proxy};

/// The longest that a connection may take to be made.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most connections that are kept for later.
const IDLE: usize = 16;
/// The most bytes of a proxy's answer.
const HEAD: usize = 8 << 10;

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It may not be made.
    Refused(String),
    /// It cannot be made, for now.
    Failed(String),
}

/// A connection over which one request can be sent at a time.
pub(crate) struct Connection {
    pub(crate) sender: SendRequest<Full<Bytes>>,
    /// Who answers; none behind a proxy.
    pub(crate) address: Option<IpAddr>,
    /// Whether requests name the whole URL, since a proxy reads them.
    pub(crate) absolute: bool,
    pub(crate) authorization: Option<String>,
    route: Route,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Route {
    scheme: String,
    host: String,
    port: u16,
}

/// Makes connections, and keeps some.
pub(crate) struct Connector {
    tls: TlsConnector,
    proxies: Proxies,
    idle: Mutex<Vec<Connection>>,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Connector {
    pub(crate) fn new(proxies: Proxies) -> Self {
        let mut roots = rustls::RootCertStore::empty();
        // A machine without certificates can still reach registries on itself.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider);
        // Only an empty list of versions could fail.
        let tls = match builder.with_safe_default_protocol_versions() {
            Ok(builder) => builder.with_root_certificates(roots).with_no_client_auth(),
            Err(_) => rustls::ClientConfig::builder()
                .with_root_certificates(roots)
                .with_no_client_auth(),
        };
        Self {
            tls: TlsConnector::from(Arc::new(tls)),
            proxies,
            idle: Mutex::default(),
        }
    }

    /// A connection to the host of a URL, at an address that `check` allows.
    pub(crate) async fn connect(
        &self,
        url: &Url,
        check: &(dyn Fn(IpAddr) -> Result<(), String> + Sync),
    ) -> Result<Connection, Fault> {
        let route =
            route(url).ok_or_else(|| Fault::Refused("its address names no host".to_owned()))?;
        if let Some(kept) = self.kept(&route, check) {
            return Ok(kept);
        }
        let made = async {
            let proxy = self.proxies.before(url);
            let (stream, address) = match proxy {
                Some(proxy) => (
                    self.through(proxy, &route, url.scheme() == "https", check)
                        .await?,
                    None,
                ),
                None => {
                    let (stream, address) = straight(&route, check).await?;
                    (stream, Some(address))
                }
            };
            let stream: Box<dyn Stream> = match url.scheme() {
                "https" => {
                    let name = ServerName::try_from(route.host.clone()).map_err(|_| {
                        Fault::Refused("its name is not one that certificates have".to_owned())
                    })?;
                    Box::new(
                        self.tls
                            .connect(name, stream)
                            .await
                            .map_err(|error| Fault::Failed(root(&error)))?,
                    )
                }
                _ => Box::new(stream),
            };
            let absolute = proxy.is_some() && url.scheme() != "https";
            let authorization = proxy
                .filter(|_| absolute)
                .and_then(|proxy| proxy.authorization.clone());
            Ok((stream, address, absolute, authorization))
        };
        let made = tokio::time::timeout(PATIENCE, made).await;
        let late = || Fault::Failed(format!("no connection within {} s", PATIENCE.as_secs()));
        let (stream, address, absolute, authorization) = made.map_err(|_| late())??;
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| Fault::Failed(root(&error)))?;
        // What goes wrong with it is said to whoever sends a request.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(Connection {
            sender,
            address,
            absolute,
            authorization,
            route,
        })
    }

    /// Keeps a connection for another request, which may be sent once the answer was read.
    pub(crate) fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|kept| !kept.sender.is_closed());
        if idle.len() >= IDLE {
            idle.remove(0);
        }
        idle.push(connection);
    }

    fn kept(
        &self,
        route: &Route,
        check: &dyn Fn(IpAddr) -> Result<(), String>,
    ) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |kept: &Connection| {
            let allowed = kept.address.is_none_or(|address| check(address).is_ok());
            kept.route == *route && kept.sender.is_ready() && allowed
        };
        let at = idle.iter().position(fits)?;
        Some(idle.remove(at))
    }

    /// A connection through a proxy. The proxy alone knows where a name leads; an address is
    /// checked here.
    async fn through(
        &self,
        proxy: &Proxy,
        route: &Route,
        tunnel: bool,
        check: &(dyn Fn(IpAddr) -> Result<(), String> + Sync),
    ) -> Result<TcpStream, Fault> {
        if let Ok(address) = route.host.parse::<IpAddr>() {
            check(address).map_err(Fault::Refused)?;
        }
        let failed =
            |error: std::io::Error| Fault::Failed(format!("the proxy {}: {error}", proxy.host));
        let mut stream = TcpStream::connect((proxy.host.as_str(), proxy.port))
            .await
            .map_err(failed)?;
        if !tunnel {
            return Ok(stream);
        }
        let host = if route.host.contains(':') {
            format!("[{}]", route.host)
        } else {
            route.host.clone()
        };
        let target = format!("{host}:{}", route.port);
        let login = proxy
            .authorization
            .iter()
            .map(|value| format!("Proxy-Authorization: {value}\r\n"));
        let login: String = login.collect();
        let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{login}\r\n");
        stream.write_all(request.as_bytes()).await.map_err(failed)?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() >= HEAD {
                return Err(Fault::Failed(format!(
                    "the proxy {} answered too much",
                    proxy.host
                )));
            }
            head.push(stream.read_u8().await.map_err(failed)?);
        }
        let status = String::from_utf8_lossy(&head)
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse::<u16>().ok());
        match status {
            Some(200..=299) => Ok(stream),
            Some(code) => Err(Fault::Failed(format!(
                "the proxy {} answered {code}",
                proxy.host
            ))),
            None => Err(Fault::Failed(format!(
                "the proxy {} did not answer in HTTP",
                proxy.host
            ))),
        }
    }
}

fn route(url: &Url) -> Option<Route> {
    let host = match url.host()? {
        url::Host::Domain(name) => name.to_owned(),
        url::Host::Ipv4(address) => address.to_string(),
        url::Host::Ipv6(address) => address.to_string(),
    };
    Some(Route {
        scheme: url.scheme().to_owned(),
        host,
        port: url.port_or_known_default()?,
    })
}

/// Connects to the first address of a host that is allowed and answers.
async fn straight(
    route: &Route,
    check: &(dyn Fn(IpAddr) -> Result<(), String> + Sync),
) -> Result<(TcpStream, IpAddr), Fault> {
    let found: Vec<SocketAddr> = match route.host.parse::<IpAddr>() {
        Ok(address) => vec![(address, route.port).into()],
        Err(_) => {
            let found = tokio::net::lookup_host((route.host.as_str(), route.port)).await;
            found
                .map_err(|error| Fault::Failed(error.to_string()))?
                .collect()
        }
    };
    let mut fault = Fault::Failed("it has no address".to_owned());
    for address in found {
        if let Err(why) = check(address.ip()) {
            fault = Fault::Refused(why);
            continue;
        }
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // Small requests should not wait for larger ones.
                let _ = stream.set_nodelay(true);
                return Ok((stream, address.ip()));
            }
            Err(error) => fault = Fault::Failed(error.to_string()),
        }
    }
    Err(fault)
}

/// The innermost cause, which is the one that says something.
pub(crate) fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
