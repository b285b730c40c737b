//! Answers to a registry that wants to know who asks: a name and password, or a token from where it
//! sends us.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{Method, header};
use serde::Deserialize;
use url::Url;

use crate::Credential;
use crate::http::{Ask, Http, is_loopback, place};
use crate::reach::Peer;

/// What a registry wants to see.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    Basic,
    Bearer {
        realm: String,
        service: Option<String>,
        scope: Option<String>,
    },
}

impl Challenge {
    /// Reads a `WWW-Authenticate` header.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (scheme, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service, mut scope) = (None, None, None);
        for (key, value) in parameters(rest) {
            match key.to_ascii_lowercase().as_str() {
                "realm" => realm = Some(value),
                "service" => service = Some(value),
                "scope" => scope = Some(value),
                _ => {}
            }
        }
        Some(Self::Bearer {
            realm: realm?,
            service,
            scope,
        })
    }
}

/// `key="value"` pairs with commas between, which may also be inside quotes.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((key, after)) = rest.split_once('=') {
        let key = key.trim_matches([' ', ',']).to_owned();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        found.push((key, value.trim().to_owned()));
        rest = next;
    }
    found
}

/// The value of an `Authorization` header that satisfies a challenge, or why there is none.
pub(crate) async fn answer(
    http: &Http,
    from: &Peer,
    challenge: &Challenge,
    credential: Option<&Credential>,
    wanted: &str,
) -> Result<String, String> {
    let basic = match credential {
        Some(Credential::Basic { user, password }) => Some(format!(
            "Basic {}",
            STANDARD.encode(format!("{user}:{password}"))
        )),
        _ => None,
    };
    let Challenge::Bearer {
        realm,
        service,
        scope,
    } = challenge
    else {
        return basic.ok_or_else(|| "it wants a name and a password".to_owned());
    };
    let mut url = Url::parse(realm)
        .map_err(|_| "it sends us for a token to a place that is no address".to_owned())?;
    if url.scheme() != "https" && !is_loopback(&url) {
        return Err(format!(
            "it sends us for a token to {}, which is not encrypted",
            place(&url)
        ));
    }
    let (host, port) = (
        url.host_str().unwrap_or_default(),
        url.port_or_known_default().unwrap_or_default(),
    );
    if credential.is_some() && !http.reach().trusts_realm(from, host, port) {
        let place = place(&url);
        return Err(format!(
            "it sends us for a token to {place}, which does not belong to it: no credentials are sent there unless \
             --allow-registries names that host"
        ));
    }
    let scope = scope.as_deref().unwrap_or(wanted);
    let ask = match credential {
        Some(Credential::Identity(token)) => {
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            form.append_pair("grant_type", "refresh_token")
                .append_pair("refresh_token", token)
                .append_pair("client_id", "cairn")
                .append_pair("scope", scope);
            if let Some(service) = service {
                form.append_pair("service", service);
            }
            let mut ask = Ask::new(Method::POST, url)
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
            ask.body = form.finish().into();
            ask
        }
        _ => {
            url.query_pairs_mut().append_pair("scope", scope);
            if let Some(service) = service {
                url.query_pairs_mut().append_pair("service", service);
            }
            let ask = Ask::new(Method::GET, url);
            match &basic {
                Some(basic) => ask.header(header::AUTHORIZATION, basic),
                None => ask,
            }
        }
    };
    let sender = from.clone();
    let from = place(&ask.url);
    let answer = http
        .send(ask.sent_by(Some(sender)))
        .await
        .map_err(|cause| format!("no token from {from}: {cause}"))?;
    let status = answer.status;
    let bytes = answer
        .bytes()
        .await
        .map_err(|cause| format!("no token from {from}: {cause}"))?;
    if !status.is_success() {
        return Err(format!("no token from {from}: {status}"));
    }
    #[derive(Deserialize)]
    struct Token {
        #[serde(default)]
        token: String,
        #[serde(default)]
        access_token: String,
    }
    let token: Token = serde_json::from_slice(&bytes)
        .map_err(|_| format!("no token from {from}: it is no JSON with a token"))?;
    let token = if token.token.is_empty() {
        token.access_token
    } else {
        token.token
    };
    if token.is_empty() || token.contains(char::is_whitespace) {
        return Err(format!("no token from {from}: there is none in the answer"));
    }
    Ok(format!("Bearer {token}"))
}

#[cfg(test)]
mod tests {
    use super::Challenge;

    #[test]
    fn challenges_are_read() {
        let bearer = |realm: &str, service: Option<&str>, scope: Option<&str>| {
            Some(Challenge::Bearer {
                realm: realm.into(),
                service: service.map(str::to_owned),
                scope: scope.map(str::to_owned),
            })
        };
        for (text, expected) in [
            ("Basic realm=\"x\"", Some(Challenge::Basic)),
            ("basic", Some(Challenge::Basic)),
            (
                "Bearer realm=\"https://a/token\",service=\"b\",scope=\"repository:c/d:pull,push\"",
                bearer(
                    "https://a/token",
                    Some("b"),
                    Some("repository:c/d:pull,push"),
                ),
            ),
            (
                "Bearer realm=https://a , service=b",
                bearer("https://a", Some("b"), None),
            ),
            ("Bearer service=\"b\"", None),
            ("Negotiate", None),
            ("", None),
            ("Bearer realm=\"unclosed", bearer("unclosed", None, None)),
        ] {
            assert_eq!(Challenge::read(text), expected, "{text}");
        }
    }
}
