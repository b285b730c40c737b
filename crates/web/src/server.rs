//! The group on a port, for an API server to pass requests on to: who asks and whether they may is
//! asked of that server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use kube::Client;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::Answer;
use crate::authority::{Authority, AuthorityError};
use crate::caller::{Caller, FrontProxy, by_token, name_in};
use crate::discovery;
use crate::permission::{self, Wanted};
use crate::processing::{Question, answer, healthy, unknown_method, unknown_path};
use crate::status::failure;

/// The largest body that is read; no stored template can be larger.
const LARGEST: usize = 3 << 20;
/// The most connections at once; the API server keeps few.
const CONNECTIONS: usize = 512;
/// How long a handshake or a body may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a server is started with.
pub struct Options {
    /// Where to listen.
    pub listen: SocketAddr,
    /// What it shows of itself.
    pub authority: Authority,
    /// The API server that is asked, as somebody with the rights for it.
    pub client: Client,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The API server did not say by whom it can be spoken for.
    #[error("cannot read who speaks for the API server: {0}")]
    FrontProxy(Box<kube::Error>),
    /// Keys or certificates cannot be used.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// No port could be listened on.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
}

/// A server that listens. It serves while [`Self::run`] is awaited.
pub struct Server {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    desk: Arc<Desk>,
}

/// What every request needs.
struct Desk {
    client: Client,
    proxy: FrontProxy,
}

impl Server {
    /// Reads who speaks for the API server, and listens.
    ///
    /// # Errors
    ///
    /// If that cannot be read, or no port is free.
    pub async fn bind(options: Options) -> Result<Self, StartError> {
        let proxy = FrontProxy::read(&options.client)
            .await
            .map_err(|error| StartError::FrontProxy(Box::new(error)))?;
        let config = options.authority.config(&proxy.ca)?;
        let failed = |error| StartError::Listen(options.listen, error);
        let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(Self {
            listener,
            acceptor,
            desk: Arc::new(Desk {
                client: options.client,
                proxy,
            }),
        })
    }

    /// The address, with the port that was chosen.
    ///
    /// # Errors
    ///
    /// If the socket is gone.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until it is dropped.
    pub async fn run(self) {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            // Too many files are open, or the client has left already: the next one may do better.
            let Ok((stream, _)) = self.listener.accept().await else {
                tokio::task::yield_now().await;
                continue;
            };
            let Ok(place) = room.clone().try_acquire_owned() else {
                continue;
            };
            let (acceptor, desk) = (self.acceptor.clone(), self.desk.clone());
            connections.spawn(async move {
                connection(acceptor, desk, stream).await;
                drop(place);
            });
        }
    }
}

async fn connection(acceptor: TlsAcceptor, desk: Arc<Desk>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let Ok(Ok(stream)) = timeout(PATIENCE, acceptor.accept(stream)).await else {
        return;
    };
    let shown = stream
        .get_ref()
        .1
        .peer_certificates()
        .and_then(|chain| name_in(chain.first()?));
    let service = service_fn(move |request| {
        let (desk, shown) = (desk.clone(), shown.clone());
        async move { Ok::<_, std::convert::Infallible>(desk.serve(shown.as_deref(), request).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(120));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(250)
        .max_header_list_size(64 << 10);
    // A connection that breaks is the client's loss.
    let _ = builder
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

impl Desk {
    async fn serve(
        &self,
        shown: Option<&str>,
        request: Request<Incoming>,
    ) -> Response<Full<Bytes>> {
        let (code, value) = match self.answer(shown, request).await {
            Ok(answer) | Err(answer) => answer,
        };
        let text = serde_json::to_vec(&value).unwrap_or_default();
        let mut response = Response::new(Full::from(text));
        *response.status_mut() =
            StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }

    async fn answer(
        &self,
        shown: Option<&str>,
        request: Request<Incoming>,
    ) -> Result<Answer, Answer> {
        let path = request.uri().path().to_owned();
        let words: Vec<&str> = path.split('/').filter(|word| !word.is_empty()).collect();
        if let ["healthz" | "livez" | "readyz", ..] = words.as_slice() {
            return Ok(healthy());
        }
        let caller = match self.proxy.speaks_for(shown, request.headers()) {
            Some(caller) => caller,
            None => by_token(&self.client, request.headers()).await?,
        };
        if let Some(document) = document(&words) {
            return if request.method() == Method::GET {
                Ok((200, document))
            } else {
                Err(unknown_method())
            };
        }
        self.process(&caller, &words, request).await
    }

    async fn process(
        &self,
        caller: &Caller,
        words: &[&str],
        request: Request<Incoming>,
    ) -> Result<Answer, Answer> {
        let [
            "apis",
            api::template::PROCESSING_GROUP,
            api::VERSION,
            "namespaces",
            namespace,
            rest @ ..,
        ] = words
        else {
            return Err(unknown_path());
        };
        let decoded = |word: &str| {
            percent_encoding::percent_decode_str(word)
                .decode_utf8_lossy()
                .into_owned()
        };
        let stored = match rest {
            [api::template::PROCESSED] => None,
            [api::template::PLURAL, name, "processed"] => Some(decoded(name)),
            _ => return Err(unknown_path()),
        };
        if request.method() != Method::POST {
            return Err(unknown_method());
        }
        let namespace = decoded(namespace);
        let wanted = match &stored {
            None => Wanted {
                namespace: &namespace,
                resource: api::template::PROCESSED,
                subresource: "",
                name: "",
            },
            Some(name) => Wanted {
                namespace: &namespace,
                resource: api::template::PLURAL,
                subresource: "processed",
                name,
            },
        };
        permission::check(&self.client, caller, &wanted).await?;
        let query = request.uri().query().unwrap_or_default().to_owned();
        let body = read(request.into_body()).await?;
        Ok(answer(
            &self.client,
            Question {
                namespace,
                stored,
                query,
                body,
            },
        )
        .await)
    }
}

/// What is told about the group to whoever is known.
fn document(words: &[&str]) -> Option<serde_json::Value> {
    match words {
        ["apis"] => Some(discovery::groups()),
        ["apis", api::template::PROCESSING_GROUP] => Some(discovery::group()),
        ["apis", api::template::PROCESSING_GROUP, api::VERSION] => Some(discovery::resources()),
        ["openapi", "v2"] => Some(discovery::openapi_v2()),
        ["openapi", "v3"] => Some(discovery::openapi_index()),
        [
            "openapi",
            "v3",
            "apis",
            api::template::PROCESSING_GROUP,
            api::VERSION,
        ] => Some(discovery::openapi()),
        _ => None,
    }
}

/// The whole body, unless it is too large or too slow.
async fn read(body: Incoming) -> Result<Bytes, Answer> {
    match timeout(PATIENCE, Limited::new(body, LARGEST).collect()).await {
        Err(_) => Err(failure(
            408,
            "Timeout",
            "the body of the request did not come in time",
        )),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(failure(
            413,
            "RequestEntityTooLarge",
            &format!("Request entity too large: limit is {LARGEST}"),
        )),
        Ok(Err(error)) => Err(failure(
            400,
            "BadRequest",
            &format!("cannot read the body: {error}"),
        )),
    }
}
