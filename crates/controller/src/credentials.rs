//! How a controller process gets its credentials from the process that started it: on its standard
//! input, one JSON line for each token. There is no file that another user could plant or read, and
//! the lines are data: an address, a certificate authority and a token, with no way to name a
//! program or a file.

use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderValue, Request, header::AUTHORIZATION};
use kube::client::ClientBuilder;
use kube::config::{
    AuthInfo, Cluster, Context as KubeContext, KubeConfigOptions, Kubeconfig, NamedAuthInfo,
    NamedCluster, NamedContext,
};
use kube::{Client, Config};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tower_layer::Layer;
use tower_service::Service;

/// The longest line: certificate authorities can be many.
const LONGEST: u64 = 4 << 20;

/// Where an API server is, and how to know that it is the right one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// Its address, such as `https://127.0.0.1:6443`.
    pub server: String,
    /// Certificates that its own is signed by, as PEM; empty for those that the system trusts.
    pub certificate_authority: String,
    /// A file with such certificates, which may change.
    pub certificate_authority_file: Option<PathBuf>,
    /// The name in its certificate, if that is not the one in the address.
    pub server_name: Option<String>,
    /// Whether any certificate will do.
    pub insecure: bool,
    /// A proxy on the way to it.
    pub proxy: Option<String>,
}

impl Endpoint {
    /// The API server of a client's configuration.
    pub fn of(config: &Config) -> Self {
        let certificates = config.root_cert.iter().flatten();
        Self {
            server: config.cluster_url.to_string(),
            certificate_authority: certificates.map(|der| pem(der)).collect(),
            certificate_authority_file: config.root_cert_file.clone(),
            server_name: config.tls_server_name.clone(),
            insecure: config.accept_invalid_certs,
            proxy: config.proxy_url.as_ref().map(ToString::to_string),
        }
    }

    /// The same with a token, and with the content of the file in place of its name.
    pub(crate) fn with(&self, token: &str) -> std::io::Result<Handover> {
        let certificate_authority = match &self.certificate_authority_file {
            Some(file) => std::fs::read_to_string(file).map_err(|error| {
                std::io::Error::new(
                    error.kind(),
                    format!("certificate authority {}: {error}", file.display()),
                )
            })?,
            None => self.certificate_authority.clone(),
        };
        Ok(Handover {
            server: self.server.clone(),
            certificate_authority,
            server_name: self.server_name.clone(),
            insecure: self.insecure,
            proxy: self.proxy.clone(),
            token: token.to_owned(),
        })
    }
}

/// One certificate as PEM.
fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut lines = String::from("-----BEGIN CERTIFICATE-----\n");
    for line in text.as_bytes().chunks(64) {
        lines.push_str(&String::from_utf8_lossy(line));
        lines.push('\n');
    }
    lines.push_str("-----END CERTIFICATE-----\n");
    lines
}

/// The credentials of a controller process, as one line. It has no field for anything else, and
/// others are rejected.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Handover {
    server: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    certificate_authority: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server_name: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    insecure: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proxy: Option<String>,
    token: String,
}

impl fmt::Debug for Handover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handover")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Handover {
    /// The line for the process, with its end.
    pub(crate) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// Reads a line. An error never quotes it: the token is in it.
    fn read(line: &str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|error| {
            let what = match error.classify() {
                serde_json::error::Category::Data => {
                    "has other fields than server, certificateAuthority and token"
                }
                _ => "is not valid JSON",
            };
            format!(
                "the line with credentials on standard input {what} (column {})",
                error.column()
            )
        })
    }

    fn same_server(&self, other: &Self) -> bool {
        Self {
            token: String::new(),
            ..self.clone()
        } == Self {
            token: String::new(),
            ..other.clone()
        }
    }

    /// A client that always sends the newest token.
    async fn client(&self, token: &Token) -> Result<Client, String> {
        let authority = &self.certificate_authority;
        let cluster = Cluster {
            server: Some(self.server.clone()),
            certificate_authority_data: (!authority.is_empty()).then(|| STANDARD.encode(authority)),
            tls_server_name: self.server_name.clone(),
            insecure_skip_tls_verify: self.insecure.then_some(true),
            proxy_url: self.proxy.clone(),
            ..Cluster::default()
        };
        let name = || "stack".to_owned();
        let context = KubeContext {
            cluster: name(),
            user: Some(name()),
            ..KubeContext::default()
        };
        let kubeconfig = Kubeconfig {
            clusters: vec![NamedCluster {
                name: name(),
                cluster: Some(cluster),
                ..NamedCluster::default()
            }],
            auth_infos: vec![NamedAuthInfo {
                name: name(),
                auth_info: Some(AuthInfo::default()),
                ..NamedAuthInfo::default()
            }],
            contexts: vec![NamedContext {
                name: name(),
                context: Some(context),
                ..NamedContext::default()
            }],
            current_context: Some(name()),
            ..Kubeconfig::default()
        };
        let config =
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let builder = config
            .map_err(|error| error.to_string())
            .and_then(|config| ClientBuilder::try_from(config).map_err(|error| error.to_string()));
        Ok(builder?.with_layer(token).build())
    }
}

/// A token that is replaced now and then, as the header of requests.
#[derive(Clone)]
struct Token(Arc<RwLock<HeaderValue>>);

impl Token {
    fn new(token: &str) -> Result<Self, String> {
        Ok(Self(Arc::new(RwLock::new(Self::header(token)?))))
    }

    fn header(token: &str) -> Result<HeaderValue, String> {
        let header = HeaderValue::try_from(format!("Bearer {token}"));
        let mut header =
            header.map_err(|_| "the token on standard input is not a valid header".to_owned())?;
        header.set_sensitive(true);
        Ok(header)
    }

    fn replace(&self, token: &str) -> Result<(), String> {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Self::header(token)?;
        Ok(())
    }
}

impl<S> Layer<S> for Token {
    type Service = Authorized<S>;

    fn layer(&self, inner: S) -> Authorized<S> {
        Authorized {
            inner,
            token: self.clone(),
        }
    }
}

/// A service whose requests carry the token.
struct Authorized<S> {
    inner: S,
    token: Token,
}

impl<S: Service<Request<B>>, B> Service<Request<B>> for Authorized<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> S::Future {
        let header = self
            .token
            .0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        request.headers_mut().insert(AUTHORIZATION, header);
        self.inner.call(request)
    }
}

/// Listens to the process that started this one: the client that it gives credentials to, those
/// that follow included, and the end of the input, which comes when that process ends, however it
/// does; an error is what was wrong with a line.
pub fn supervised(
    input: impl Read + Send + 'static,
) -> (
    impl Future<Output = Result<Client, String>>,
    impl Future<Output = Result<(), String>>,
) {
    let (tell, first) = oneshot::channel();
    let (end, ended) = oneshot::channel();
    // A thread, which nobody waits for when the program ends for another reason.
    std::thread::spawn(move || {
        let _ = end.send(follow(input, tell));
    });
    let client = async {
        let (handover, token): (Handover, Token) = first
            .await
            .map_err(|_| "no credentials came on standard input".to_owned())??;
        handover.client(&token).await
    };
    (client, async { ended.await.unwrap_or(Ok(())) })
}

/// Reads lines until there are no more, and puts each token in place.
fn follow(
    input: impl Read,
    tell: oneshot::Sender<Result<(Handover, Token), String>>,
) -> Result<(), String> {
    let mut input = BufReader::new(input);
    let mut next = move || {
        let mut line = String::new();
        let read = input.by_ref().take(LONGEST).read_line(&mut line);
        read.is_ok_and(|length| length > 0)
            .then(|| Handover::read(&line))
    };
    let Some(first) = next() else { return Ok(()) };
    let begun = first.and_then(|first| Token::new(&first.token).map(|token| (first, token)));
    let (first, token) = match begun {
        Ok(begun) => begun,
        Err(why) => {
            let _ = tell.send(Err(why.clone()));
            return Err(why);
        }
    };
    let _ = tell.send(Ok((first.clone(), token.clone())));
    while let Some(more) = next() {
        let more = more?;
        if !first.same_server(&more) {
            return Err(
                "the address or the certificate authority of the API server changed".to_owned(),
            );
        }
        token.replace(&more.token)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::task::{Context, Poll, Waker};

    use http::Request;
    use serde_json::json;
    use testkit::variants;
    use tokio::sync::oneshot;
    use tower_layer::Layer;
    use tower_service::Service;

    use super::{Endpoint, Handover, Token, follow, pem};

    fn endpoint() -> Endpoint {
        Endpoint {
            server: "https://127.0.0.1:6443".into(),
            certificate_authority: pem(&[7; 60]),
            server_name: Some("kubernetes".into()),
            ..Endpoint::default()
        }
    }

    #[test]
    fn what_is_handed_over_is_read_and_its_token_is_shown_nowhere() {
        for insecure in [false, true] {
            for proxy in [None, Some("http://proxy.example.org:3128".to_owned())] {
                let handover = Endpoint {
                    insecure,
                    proxy,
                    ..endpoint()
                }
                .with("very-secret")
                .unwrap();
                let line = String::from_utf8(handover.line()).unwrap();
                assert_eq!(line.matches('\n').count(), 1, "one line");
                assert_eq!(Handover::read(&line).unwrap(), handover);
                assert!(!format!("{handover:?}").contains("very-secret"));
                let cut = &line[..line.len() / 2];
                assert!(!Handover::read(cut).unwrap_err().contains("very-secret"));
            }
        }
    }

    #[test]
    fn the_file_of_a_certificate_authority_is_read_by_the_parent() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("ca.crt");
        let endpoint = Endpoint {
            certificate_authority_file: Some(file.clone()),
            ..endpoint()
        };
        assert!(
            endpoint
                .with("t")
                .unwrap_err()
                .to_string()
                .contains("ca.crt")
        );
        std::fs::write(&file, "PEM").unwrap();
        let line = String::from_utf8(endpoint.with("t").unwrap().line()).unwrap();
        assert!(
            line.contains(r#""certificateAuthority":"PEM""#) && !line.contains("ca.crt"),
            "{line}"
        );
    }

    /// Everything in a kubeconfig that runs a program, reads a file or makes this process somebody
    /// else.
    #[test]
    fn no_line_names_a_program_or_a_file() {
        let fields = [
            "exec",
            "auth-provider",
            "authProvider",
            "tokenFile",
            "token-file",
            "client-certificate",
            "client-key",
            "client-certificate-data",
            "client-key-data",
            "certificate-authority",
            "certificateAuthorityFile",
            "as",
            "impersonate",
            "username",
            "password",
            "clusters",
            "users",
            "contexts",
            "kind",
            "apiVersion",
            "extensions",
        ];
        for (index, mut choices) in variants() {
            let mut line = serde_json::to_value(endpoint().with("t").unwrap()).unwrap();
            let program = json!({ "command": "sh", "args": ["-c", "id"] });
            let values = [
                program,
                json!("/etc/shadow"),
                json!(null),
                json!([]),
                json!(true),
            ];
            let value = choices.pick(&values);
            let field = choices.pick(&fields);
            if choices.toss() {
                line[*field] = value.clone();
            } else {
                // In the place of what belongs there.
                let own = *choices.pick(&["server", "certificateAuthority", "token"]);
                line[own] = json!({ *field: value });
            }
            assert!(
                Handover::read(&line.to_string()).is_err(),
                "variant {index}: {line}"
            );
        }
    }

    #[test]
    fn every_request_carries_the_newest_token() {
        struct Show;
        impl Service<Request<()>> for Show {
            type Response = String;
            type Error = ();
            type Future = std::future::Ready<Result<String, ()>>;
            fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
                Poll::Ready(Ok(()))
            }
            fn call(&mut self, request: Request<()>) -> Self::Future {
                ready(Ok(request.headers()["authorization"]
                    .to_str()
                    .unwrap()
                    .to_owned()))
            }
        }
        let token = Token::new("first").unwrap();
        let mut service = token.layer(Show);
        let mut shown = || {
            let answer = std::pin::pin!(service.call(Request::new(())));
            match answer.poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Ok(shown)) => shown,
                _ => String::new(),
            }
        };
        assert_eq!(shown(), "Bearer first");
        token.replace("second").unwrap();
        assert_eq!(shown(), "Bearer second");
        assert!(token.replace("two\nlines").is_err());
        assert_eq!(shown(), "Bearer second");
    }

    #[test]
    fn lines_are_followed_to_the_end_and_another_server_is_an_end() {
        let line = |endpoint: &Endpoint, token: &str| endpoint.with(token).unwrap().line();
        let other = Endpoint {
            server: "https://example.org".into(),
            ..endpoint()
        };
        let bad = b"{\"server\":\"https://a\",\"exec\":{}}\n".to_vec();
        for (lines, first, end) in [
            (vec![], None, true),
            (vec![line(&endpoint(), "a")], Some(true), true),
            (
                vec![line(&endpoint(), "a"), line(&endpoint(), "b")],
                Some(true),
                true,
            ),
            (
                vec![line(&endpoint(), "a"), line(&other, "b")],
                Some(true),
                false,
            ),
            (vec![line(&endpoint(), "a"), bad.clone()], Some(true), false),
            (vec![bad], Some(false), false),
            (vec![vec![0xff, b'\n']], None, true),
        ] {
            let (tell, mut told) = oneshot::channel();
            let ended = follow(&*lines.concat(), tell);
            assert_eq!(ended.is_ok(), end, "{ended:?}");
            assert_eq!(told.try_recv().ok().map(|told| told.is_ok()), first);
        }
    }

    #[test]
    fn a_line_without_end_is_not_read_for_ever() {
        let (tell, _told) = oneshot::channel();
        assert!(follow(std::io::repeat(b' '), tell).is_err());
    }
}
