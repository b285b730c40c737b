//! A registry in this process that keeps to the protocol until it is told to lie.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use package::image::Digest;
use tokio::net::TcpListener;

type Answer = Response<Full<Bytes>>;
/// Changes an answer on its way out; it is given the method and path that were asked.
type Lie = Box<dyn Fn(&Method, &str, Answer) -> Answer + Send + Sync>;

#[derive(Default)]
struct State {
    blobs: BTreeMap<String, Bytes>,
    manifests: BTreeMap<String, (String, Bytes)>,
    requests: Vec<String>,
    lie: Option<Lie>,
    /// The `Authorization` that is wanted; anything else is answered with the challenge.
    wanted: Option<(String, String)>,
}

/// The registry. It ends with the test's runtime.
#[derive(Clone)]
pub struct Server {
    state: Arc<Mutex<State>>,
    pub host: String,
}

impl Server {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let server = Self {
            state: Arc::default(),
            host,
        };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = serving.clone();
                tokio::spawn(async move {
                    let service = service_fn(|request| {
                        let server = server.clone();
                        async move { Ok::<_, Infallible>(server.serve(request).await) }
                    });
                    // A client that hangs up is no concern of the test.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        server
    }

    pub fn lie(&self, lie: impl Fn(&Method, &str, Answer) -> Answer + Send + Sync + 'static) {
        self.state.lock().unwrap().lie = Some(Box::new(lie));
    }

    pub fn want(&self, authorization: &str, challenge: &str) {
        self.state.lock().unwrap().wanted = Some((authorization.to_owned(), challenge.to_owned()));
    }

    /// Puts a manifest there that nobody pushed.
    pub fn serve_manifest(&self, name: &str, media_type: &str, bytes: &[u8]) {
        let entry = (media_type.to_owned(), Bytes::copy_from_slice(bytes));
        self.state
            .lock()
            .unwrap()
            .manifests
            .insert(name.to_owned(), entry);
    }

    /// What was asked since the last time.
    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().requests)
    }

    async fn serve(&self, request: Request<Incoming>) -> Answer {
        let (parts, body) = request.into_parts();
        let body = body
            .collect()
            .await
            .map(http_body_util::Collected::to_bytes)
            .unwrap_or_default();
        let path = parts.uri.path().to_owned();
        let mut state = self.state.lock().unwrap();
        if path != "/v2/" {
            state.requests.push(format!("{} {path}", parts.method));
        }
        if path == "/token" {
            let basic = parts
                .headers
                .get(header::AUTHORIZATION)
                .is_some_and(|value| value == "Basic dXNlcjpwYXNz");
            let text = if basic {
                r#"{"token":"secret"}"#
            } else {
                r#"{"errors":[]}"#
            };
            let status = if basic {
                StatusCode::OK
            } else {
                StatusCode::UNAUTHORIZED
            };
            return answer(status, text.as_bytes());
        }
        if let Some((wanted, challenge)) = &state.wanted
            && path != "/v2/"
            && parts
                .headers
                .get(header::AUTHORIZATION)
                .is_none_or(|value| value != wanted)
        {
            let mut refused = answer(
                StatusCode::UNAUTHORIZED,
                br#"{"errors":[{"message":"who are you?"}]}"#,
            );
            refused
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, challenge.parse().unwrap());
            return refused;
        }
        let said = state.speak(
            &parts.method,
            &path,
            parts.uri.query().unwrap_or_default(),
            &parts.headers,
            body,
        );
        match &state.lie {
            Some(lie) => lie(&parts.method, &path, said),
            None => said,
        }
    }
}

impl State {
    fn speak(
        &mut self,
        method: &Method,
        path: &str,
        query: &str,
        headers: &http::HeaderMap,
        body: Bytes,
    ) -> Answer {
        let rest = path.strip_prefix("/v2/team/redis/").unwrap_or_default();
        let (kind, name) = rest.split_once('/').unwrap_or_default();
        match (method, kind) {
            _ if path == "/v2/" => answer(StatusCode::OK, b"{}"),
            (&Method::POST, "blobs") => {
                let mut accepted = answer(StatusCode::ACCEPTED, b"");
                accepted.headers_mut().insert(
                    header::LOCATION,
                    "/v2/team/redis/upload/1?state=x".parse().unwrap(),
                );
                accepted
            }
            (&Method::PUT, "upload") => {
                let digest = query
                    .rsplit("digest=")
                    .next()
                    .unwrap_or_default()
                    .replace("%3A", ":");
                assert_eq!(digest, Digest::of(&body).to_string());
                self.blobs.insert(digest, body);
                answer(StatusCode::CREATED, b"")
            }
            (&Method::PUT, "manifests") => {
                let media_type = headers[header::CONTENT_TYPE].to_str().unwrap().to_owned();
                let digest = Digest::of(&body).to_string();
                self.manifests
                    .insert(digest, (media_type.clone(), body.clone()));
                self.manifests.insert(name.to_owned(), (media_type, body));
                answer(StatusCode::CREATED, b"")
            }
            (_, "manifests") => match self.manifests.get(name) {
                Some((media_type, bytes)) => {
                    let mut found = answer(StatusCode::OK, bytes);
                    found
                        .headers_mut()
                        .insert(header::CONTENT_TYPE, media_type.parse().unwrap());
                    found
                }
                None => unknown(),
            },
            (_, "blobs") => match self.blobs.get(name) {
                Some(bytes) => answer(StatusCode::OK, bytes),
                None => unknown(),
            },
            _ => unknown(),
        }
    }
}

fn unknown() -> Answer {
    answer(
        StatusCode::NOT_FOUND,
        br#"{"errors":[{"code":"UNKNOWN","message":"there is no such thing"}]}"#,
    )
}

pub fn answer(status: StatusCode, bytes: &[u8]) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::copy_from_slice(bytes)));
    *answer.status_mut() = status;
    answer
}
