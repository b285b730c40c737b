//! Tokens of service accounts: what they claim, and whether the account and what they are bound to
//! are still there.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Map, Value, json};

use super::jwt::{Key as SigningKey, Refused};
use super::user::User;
use crate::authz::rbac_rule::quoted;
use crate::authz::subject;
use crate::registry::table_name;
use crate::storage::{Entry, Key, Store};

/// Who issues tokens, and whom they are for unless they say otherwise.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
/// Who issues the tokens in Secrets, which do not expire.
const LEGACY: &str = "kubernetes/serviceaccount";
/// The clocks of two machines may differ by this many seconds.
const LEEWAY: i64 = 60;
/// How many verified tokens are remembered, so that a signature is checked once.
const REMEMBERED: usize = 1024;

/// What a token is bound to: it is good as long as this is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// `Pod`, `Node` or `Secret`.
    pub(crate) kind: String,
    /// Its name.
    pub(crate) name: String,
    /// Its uid.
    pub(crate) uid: String,
    /// For a pod, the node that it is on: name and uid.
    pub(crate) node: Option<(String, String)>,
}

/// What a token is to say.
pub(crate) struct Ask<'a> {
    /// The account's namespace.
    pub(crate) namespace: &'a str,
    /// The account's name.
    pub(crate) name: &'a str,
    /// The account's uid.
    pub(crate) uid: &'a str,
    /// Whom it is for.
    pub(crate) audiences: &'a [String],
    /// What it is bound to.
    pub(crate) bound: Option<&'a Bound>,
    /// From when on, in seconds.
    pub(crate) from: i64,
    /// Until when, in seconds.
    pub(crate) until: i64,
}

/// The claims of a token that expires.
pub(crate) fn claims(ask: &Ask<'_>) -> Value {
    let mut private =
        json!({"namespace": ask.namespace, "serviceaccount": {"name": ask.name, "uid": ask.uid}});
    if let Some(bound) = ask.bound {
        private[bound.kind.to_lowercase()] = json!({"name": bound.name, "uid": bound.uid});
        if let Some((name, uid)) = &bound.node {
            private["node"] = json!({"name": name, "uid": uid});
        }
    }
    json!({
        "aud": ask.audiences, "exp": ask.until, "iat": ask.from, "iss": ISSUER, "jti": crate::random::uuid(),
        "kubernetes.io": private, "nbf": ask.from, "sub": subject::account_name(ask.namespace, ask.name),
    })
}

/// The claims of a token in a Secret.
pub(crate) fn legacy_claims(namespace: &str, name: &str, uid: &str, secret: &str) -> Value {
    json!({
        "iss": LEGACY,
        "kubernetes.io/serviceaccount/namespace": namespace,
        "kubernetes.io/serviceaccount/secret.name": secret,
        "kubernetes.io/serviceaccount/service-account.name": name,
        "kubernetes.io/serviceaccount/service-account.uid": uid,
        "sub": subject::account_name(namespace, name),
    })
}

/// Verifies tokens.
pub(crate) struct Verifier {
    store: Arc<Store>,
    verified: Mutex<HashMap<String, Arc<Map<String, Value>>>>,
}

/// Who a token is of, and for which of the wanted audiences it is good.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verified {
    /// The account.
    pub(crate) user: User,
    /// The audiences.
    pub(crate) audiences: Vec<String>,
}

impl Verifier {
    /// Verifies by what is in a store.
    pub(crate) fn new(store: &Arc<Store>) -> Self {
        Self {
            store: store.clone(),
            verified: Mutex::default(),
        }
    }

    /// Whom a token is of, if it is good for one of the audiences now. An error without a text
    /// means that it is no token of ours.
    pub(crate) fn check(
        &self,
        key: &SigningKey,
        token: &str,
        audiences: &[String],
        now: i64,
    ) -> Result<Verified, Option<String>> {
        let claims = self.signed(key, token)?;
        match claims.get("iss").and_then(Value::as_str) {
            Some(ISSUER) => self.current(&claims, audiences, now).map_err(Some),
            Some(LEGACY) => self.legacy(&claims, token, audiences).map_err(Some),
            _ => Err(None),
        }
    }

    fn signed(
        &self,
        key: &SigningKey,
        token: &str,
    ) -> Result<Arc<Map<String, Value>>, Option<String>> {
        let verified = || self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(claims) = verified().get(token) {
            return Ok(claims.clone());
        }
        let claims = key.verify(token).map_err(|refused| match refused {
            Refused::Foreign => None,
            Refused::Forged => Some("go-jose/go-jose: error in cryptographic primitive".to_owned()),
        })?;
        let claims = Arc::new(claims);
        let mut verified = verified();
        if verified.len() >= REMEMBERED {
            verified.clear();
        }
        verified.insert(token.to_owned(), claims.clone());
        Ok(claims)
    }

    fn current(
        &self,
        claims: &Map<String, Value>,
        audiences: &[String],
        now: i64,
    ) -> Result<Verified, String> {
        let own: Vec<String> = match claims.get("aud") {
            Some(Value::Array(items)) => items
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            Some(Value::String(one)) => vec![one.clone()],
            _ => Vec::new(),
        };
        let shared: Vec<String> = audiences
            .iter()
            .filter(|wanted| own.contains(wanted))
            .cloned()
            .collect();
        if shared.is_empty() {
            let (own, wanted) = (quoted(&own), quoted(audiences));
            return Err(format!(
                "token audiences {own} is invalid for the target audiences {wanted}"
            ));
        }
        let number = |name: &str| claims.get(name).and_then(Value::as_i64);
        if number("exp").is_none_or(|until| now > until.saturating_add(LEEWAY)) {
            return Err("service account token has expired".to_owned());
        }
        if number("nbf").is_some_and(|from| now < from.saturating_sub(LEEWAY)) {
            return Err("service account token is not valid yet".to_owned());
        }
        let private = claims.get("kubernetes.io").unwrap_or(&Value::Null);
        let text =
            |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let namespace = text(private, "namespace");
        let (name, uid) = (
            text(&private["serviceaccount"], "name"),
            text(&private["serviceaccount"], "uid"),
        );
        self.account(&namespace, &name, &uid)?;
        let mut user = subject::account(&namespace, &name, &uid);
        let mut say = |key: &str, value: String| {
            drop(
                user.extra
                    .insert(format!("authentication.kubernetes.io/{key}"), vec![value]),
            );
        };
        say(
            "credential-id",
            format!(
                "JTI={}",
                claims
                    .get("jti")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            ),
        );
        for (kind, resource) in [("secret", "secrets"), ("pod", "pods"), ("node", "nodes")] {
            let Some(reference) = private.get(kind) else {
                continue;
            };
            // A node that a pod is on may go before the pod: it is only told, not checked.
            let told = kind == "node" && private.get("pod").is_some();
            let place = if kind == "node" { "" } else { &*namespace };
            let (name, uid) = (text(reference, "name"), text(reference, "uid"));
            if !told && !self.is_there(resource, place, &name, &uid) {
                return Err("service account token has been invalidated".to_owned());
            }
            if kind != "secret" {
                say(&format!("{kind}-name"), name);
                say(&format!("{kind}-uid"), uid);
            }
        }
        Ok(Verified {
            user,
            audiences: shared,
        })
    }

    fn legacy(
        &self,
        claims: &Map<String, Value>,
        token: &str,
        audiences: &[String],
    ) -> Result<Verified, String> {
        let text = |name: &str| {
            let claim = claims.get(&format!("kubernetes.io/serviceaccount/{name}"));
            claim.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let (namespace, secret) = (text("namespace"), text("secret.name"));
        let (name, uid) = (text("service-account.name"), text("service-account.uid"));
        let shared: Vec<String> = audiences
            .iter()
            .filter(|wanted| *wanted == ISSUER)
            .cloned()
            .collect();
        if shared.is_empty() {
            let (own, wanted) = (quoted(&[ISSUER.to_owned()]), quoted(audiences));
            return Err(format!(
                "token audiences {own} is invalid for the target audiences {wanted}"
            ));
        }
        let kept = self
            .find("secrets", &namespace, &secret)
            .is_some_and(|entry| {
                let secret = entry.value();
                let data = secret["data"]["token"].as_str().unwrap_or_default();
                let decoded =
                    base64::Engine::decode(&base64::engine::general_purpose::STANDARD, data);
                decoded.is_ok_and(|decoded| decoded == token.as_bytes())
                    && secret["metadata"]["deletionTimestamp"].is_null()
            });
        if !kept {
            return Err("Token has been invalidated".to_owned());
        }
        self.account(&namespace, &name, &uid)?;
        Ok(Verified {
            user: subject::account(&namespace, &name, &uid),
            audiences: shared,
        })
    }

    fn find(&self, resource: &str, namespace: &str, name: &str) -> Option<Entry> {
        self.store
            .get(&Key::new(&table_name("", resource), namespace, name))
    }

    fn is_there(&self, resource: &str, namespace: &str, name: &str, uid: &str) -> bool {
        self.find(resource, namespace, name)
            .is_some_and(|entry| entry.value()["metadata"]["uid"] == uid)
    }

    fn account(&self, namespace: &str, name: &str, uid: &str) -> Result<(), String> {
        let entry = self.find("serviceaccounts", namespace, name);
        let entry = entry.ok_or_else(|| format!("serviceaccounts {name:?} not found"))?;
        match entry.value()["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
        {
            own if own == uid => Ok(()),
            own => Err(format!(
                "service account UID ({own}) does not match claim ({uid})"
            )),
        }
    }
}

#[cfg(test)]
mod tests;
