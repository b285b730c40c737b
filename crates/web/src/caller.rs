//! Who asks: whoever the API server speaks for, if it shows that it is the API server, or the owner
//! of a token.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, Client};

use crate::Answer;
use crate::status::{failure, passed_on};

/// Where the API server says by whom it can be spoken for.
const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";

/// Somebody who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Caller {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

/// How the API server speaks for others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrontProxy {
    /// Who signs the certificate it shows, as PEM.
    pub ca: String,
    /// The names it may have; any if there are none.
    names: Vec<String>,
    user_headers: Vec<String>,
    group_headers: Vec<String>,
    extra_prefixes: Vec<String>,
}

impl FrontProxy {
    /// As the cluster has it written down.
    pub async fn read(client: &Client) -> Result<Self, kube::Error> {
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
        Ok(Self::of(&api.get(NAME).await?.data.unwrap_or_default()))
    }

    fn of(data: &BTreeMap<String, String>) -> Self {
        let list = |key: &str| -> Vec<String> {
            data.get(key)
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default()
        };
        Self {
            ca: data
                .get("requestheader-client-ca-file")
                .cloned()
                .unwrap_or_default(),
            names: list("requestheader-allowed-names"),
            user_headers: list("requestheader-username-headers"),
            group_headers: list("requestheader-group-headers"),
            extra_prefixes: list("requestheader-extra-headers-prefix"),
        }
    }

    /// Whoever the headers name, if the one who shows this name may say so.
    pub fn speaks_for(&self, shown: Option<&str>, headers: &HeaderMap) -> Option<Caller> {
        let shown = shown?;
        if !self.names.is_empty() && !self.names.iter().any(|name| name == shown) {
            return None;
        }
        let all = |name: &str| {
            headers
                .get_all(name)
                .iter()
                .filter_map(|value| value.to_str().ok())
                .map(str::to_owned)
        };
        let name = self
            .user_headers
            .iter()
            .find_map(|header| all(header).next())
            .filter(|name| !name.is_empty())?;
        let mut caller = Caller {
            name,
            ..Caller::default()
        };
        caller.uid = all("X-Remote-Uid").next().unwrap_or_default();
        caller.groups = self
            .group_headers
            .iter()
            .flat_map(|header| all(header).collect::<Vec<_>>())
            .collect();
        for header in headers.keys() {
            let prefixes = self
                .extra_prefixes
                .iter()
                .map(|prefix| prefix.to_ascii_lowercase());
            if let Some(prefix) = prefixes
                .into_iter()
                .find(|prefix| header.as_str().starts_with(prefix))
            {
                let key = &header.as_str()[prefix.len()..];
                let key = percent_encoding::percent_decode_str(key)
                    .decode_utf8_lossy()
                    .into_owned();
                caller
                    .extra
                    .entry(key)
                    .or_default()
                    .extend(all(header.as_str()));
            }
        }
        Some(caller)
    }
}

/// The owner of the token that a request carries, by asking the API server.
pub(crate) async fn by_token(client: &Client, headers: &HeaderMap) -> Result<Caller, Answer> {
    let nobody = || failure(401, "Unauthorized", "Unauthorized");
    let header = headers
        .get(AUTHORIZATION)
        .and_then(|header| header.to_str().ok())
        .ok_or_else(nobody)?;
    let (scheme, token) = header.split_once(' ').ok_or_else(nobody)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(nobody());
    }
    let spec = TokenReviewSpec {
        token: Some(token.trim().to_owned()),
        audiences: None,
    };
    let review = TokenReview {
        spec,
        ..TokenReview::default()
    };
    let api: Api<TokenReview> = Api::all(client.clone());
    let answer = api
        .create(&PostParams::default(), &review)
        .await
        .map_err(|error| passed_on(&error))?;
    let status = answer.status.unwrap_or_default();
    let user = status
        .user
        .filter(|_| status.authenticated == Some(true))
        .ok_or_else(nobody)?;
    Ok(Caller {
        name: user.username.unwrap_or_default(),
        uid: user.uid.unwrap_or_default(),
        groups: user.groups.unwrap_or_default(),
        extra: user.extra.unwrap_or_default(),
    })
}

/// The name in a certificate that was checked already.
pub(crate) fn name_in(certificate: &[u8]) -> Option<String> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    parsed
        .subject()
        .iter_common_name()
        .next()?
        .as_str()
        .ok()
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue};

    use super::FrontProxy;

    fn proxy(names: &str) -> FrontProxy {
        let data = [
            ("requestheader-client-ca-file", "PEM"),
            ("requestheader-allowed-names", names),
            ("requestheader-username-headers", r#"["X-Remote-User"]"#),
            ("requestheader-group-headers", r#"["X-Remote-Group"]"#),
            (
                "requestheader-extra-headers-prefix",
                r#"["X-Remote-Extra-"]"#,
            ),
        ];
        FrontProxy::of(
            &data
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
        )
    }

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        all.iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[test]
    fn only_the_api_server_speaks_for_others() {
        let headers = headers(&[
            ("x-remote-user", "jane"),
            ("x-remote-group", "team"),
            ("x-remote-group", "system:authenticated"),
            ("x-remote-extra-scopes%2fa", "b"),
        ]);
        for (names, shown, expected) in [
            (r#"["front"]"#, Some("front"), true),
            (r#"["front"]"#, Some("other"), false),
            (r#"["front"]"#, None, false),
            ("[]", Some("any"), true),
            ("[]", None, false),
        ] {
            let caller = proxy(names).speaks_for(shown, &headers);
            assert_eq!(caller.is_some(), expected, "{names} {shown:?}");
            if let Some(caller) = caller {
                assert_eq!((caller.name.as_str(), caller.groups.len()), ("jane", 2));
                assert_eq!(caller.extra["scopes/a"], ["b"]);
            }
        }
        assert_eq!(proxy("[]").speaks_for(Some("any"), &HeaderMap::new()), None);
    }
}
