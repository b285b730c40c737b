//! Who asks: tokens and impersonation. The submodules decide; this is what the rest of the server
//! calls, for whether they may (`authz`) as well.

pub(crate) mod impersonation;
pub(crate) mod issue;
pub(crate) mod jwt;
pub(crate) mod keys;
pub(crate) mod token;
pub(crate) mod user;

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use http::{header::AUTHORIZATION, request::Parts};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::authz::attributes::{Question, Resource};
use crate::authz::rbac_cache::Policy;
use crate::authz::rbac_index::Kind;
use impersonation::Mode;
use keys::Secrets;
use token::{ISSUER, Verified, Verifier};

use crate::handlers::status::ApiError;
use crate::request::info::{Asked, Attributes, Verb};
use crate::server::{Inner, StartError};
use crate::storage::Store;
use crate::{clock, controllers};
use user::User;

/// How many users' ways of acting as others are remembered.
const REMEMBERED: usize = 1024;

/// Whether a request is let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It is.
    Allow,
    /// It is not; the reason as it is said after the user, verb and resource, often empty.
    Deny(String),
}

/// Everything that is needed to know who asks and whether they may.
pub(crate) struct Auth {
    policy: Policy,
    secrets: Secrets,
    verifier: Verifier,
    /// In which way a user last acted as somebody else.
    modes: Mutex<HashMap<String, Mode>>,
}

impl Auth {
    /// Reads or makes keys; called once, before anything is served.
    pub(crate) fn open(store: &Arc<Store>, data: Option<&Path>) -> Result<Self, StartError> {
        let secrets = Secrets::open(data).map_err(StartError::Keys)?;
        let (policy, verifier) = (Policy::new(store), Verifier::new(store));
        Ok(Self {
            policy,
            secrets,
            verifier,
            modes: Mutex::default(),
        })
    }

    /// Writes keys that are new into the server's directory.
    pub(crate) fn save_new(&self) -> Result<(), StartError> {
        self.secrets.save_new().map_err(StartError::Keys)
    }

    /// A bearer token of a user, for as long as the server, or as its directory. Without one, which
    /// is when the directory cannot be written, the user will be refused.
    pub(crate) fn token_for(&self, who: &User) -> String {
        self.secrets.token_of(who).unwrap_or_default()
    }

    /// Signs the token of a Secret for an account.
    pub(crate) fn sign_for_secret(
        &self,
        namespace: &str,
        account: &str,
        uid: &str,
        secret: &str,
    ) -> Result<String, String> {
        self.secrets
            .key
            .sign(&token::legacy_claims(namespace, account, uid, secret))
    }

    /// Who a request is from, by its headers. Impersonation is applied by [`Self::impersonated`].
    pub(crate) fn authenticate(&self, parts: &Parts) -> Result<User, ApiError> {
        let Some(header) = parts.headers.get(AUTHORIZATION) else {
            return Ok(crate::authz::subject::anonymous());
        };
        // A header that is not a text holds a token that is not valid, not none.
        let header = String::from_utf8_lossy(header.as_bytes());
        let mut parts = header.trim().splitn(3, ' ');
        let is_bearer = parts
            .next()
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"));
        match parts.next().filter(|_| is_bearer) {
            // As in the original, other schemes are ignored, and so is a token behind two spaces.
            None | Some("") => Ok(crate::authz::subject::anonymous()),
            Some(token) => {
                let audiences = [ISSUER.to_owned()];
                self.verify(token, &audiences)
                    .map(|verified| verified.user)
                    .map_err(|_| ApiError::unauthorized())
            }
        }
    }

    /// Whose token this is, if it is good for one of the audiences now.
    fn verify(&self, token: &str, audiences: &[String]) -> Result<Verified, Option<String>> {
        if let Some(user) = self.secrets.user_of(token) {
            return Ok(Verified {
                user,
                audiences: audiences.to_vec(),
            });
        }
        self.verifier.check(
            &self.secrets.key,
            token,
            audiences,
            Timestamp::now().as_second(),
        )
    }

    /// Whom the user acts as, if the headers say so and they may.
    pub(crate) fn impersonated(&self, user: User, parts: &Parts) -> Result<User, ApiError> {
        let Some(wanted) = impersonation::wanted(&parts.headers)? else {
            return Ok(user);
        };
        let attributes = Asked::read(parts)?.attributes;
        let modes = || self.modes.lock().unwrap_or_else(PoisonError::into_inner);
        let last = modes().get(&user.name).copied();
        let decide =
            |user: &User, question: &Question<'_>| self.policy.now().decide(user, question);
        let (found, mode) =
            impersonation::allowed(&wanted, &user, &Question::from(&attributes), last, &decide)?;
        let mut modes = modes();
        if modes.len() >= REMEMBERED {
            modes.clear();
        }
        modes.insert(user.name, mode);
        Ok(found)
    }

    /// Whether the user may.
    pub(crate) fn authorize(&self, user: &User, attributes: &Attributes) -> Decision {
        if user.is_in(crate::authz::subject::MASTERS) {
            return Decision::Allow;
        }
        match self.policy.now().decide(user, &Question::from(attributes)) {
            crate::authz::rbac_index::Decision { allowed: true, .. } => Decision::Allow,
            crate::authz::rbac_index::Decision { reason, .. } => Decision::Deny(reason),
        }
    }

    /// The keys that others can verify tokens with, and how they find them.
    pub(crate) fn discovery(&self, path: &str) -> Option<Value> {
        match path {
            "/openid/v1/jwks" => Some(self.secrets.key.public()),
            "/.well-known/openid-configuration" => Some(json!({
                "issuer": ISSUER, "jwks_uri": format!("{ISSUER}/openid/v1/jwks"), "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["ES256"],
            })),
            _ => None,
        }
    }

    /// Answers whose token somebody shows.
    fn review_token(&self, object: &Value) -> Result<Value, ApiError> {
        let token = object["spec"]["token"].as_str().unwrap_or_default();
        if token.is_empty() {
            return Err(ApiError::bad_request(
                "token is required for TokenReview in authentication",
            ));
        }
        let wanted = object["spec"]["audiences"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let mut wanted: Vec<String> = wanted.map(str::to_owned).collect();
        if wanted.is_empty() {
            wanted.push(ISSUER.to_owned());
        }
        let status = match self.verify(token, &wanted) {
            Ok(Verified { user, audiences }) => {
                json!({"authenticated": true, "user": crate::authz::subject::shown(&user), "audiences": audiences})
            }
            Err(None) => json!({"user": {}, "error": "invalid bearer token"}),
            Err(Some(why)) => {
                json!({"user": {}, "error": format!("[invalid bearer token, {why}]")})
            }
        };
        let metadata = if object["metadata"].is_object() {
            object["metadata"].clone()
        } else {
            json!({})
        };
        Ok(json!({
            "kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "metadata": metadata,
            "spec": object["spec"], "status": status,
        }))
    }
}

/// Checks of a write that depend on who writes, such as that nobody grants more than they have.
/// `old` is none for a creation, `new` is none for a deletion.
pub(crate) fn admit(
    inner: &Inner,
    user: &User,
    attributes: &Attributes,
    old: Option<&Value>,
    new: Option<&mut Value>,
) -> Result<(), ApiError> {
    let Some(kind) = Kind::of(&attributes.group, &attributes.resource) else {
        return Ok(());
    };
    let Some(new) = new else { return Ok(()) };
    if !attributes.subresource.is_empty() {
        return Ok(());
    }
    crate::authz::validation::fill_in(kind, new);
    crate::admission::rbac_escalation::check(
        &inner.auth.policy.now(),
        user,
        attributes,
        kind,
        old,
        new,
    )?;
    let causes = crate::authz::validation::problems(kind, old, new);
    if causes.is_empty() {
        return Ok(());
    }
    let name = new["metadata"]["name"].as_str().unwrap_or_default();
    Err(ApiError::invalid(
        crate::authz::rbac_index::GROUP,
        kind.name(),
        name,
        causes,
    ))
}

/// Answers a creation that stores nothing, such as a review or a token request; none if this is not
/// one.
pub(crate) async fn answer(
    inner: &Arc<Inner>,
    user: &User,
    attributes: &Attributes,
    object: &Value,
) -> Option<Result<Value, ApiError>> {
    let Inner { auth, store, .. } = &**inner;
    if attributes.verb != Verb::Create {
        return None;
    }
    match (
        &*attributes.group,
        &*attributes.resource,
        &*attributes.subresource,
    ) {
        ("", "serviceaccounts", "token") => {
            let (namespace, name) = (&attributes.namespace, &attributes.name);
            let open = controllers::is_open(store, attributes, name);
            Some(open.and_then(|()| {
                issue::answer(
                    store,
                    &auth.secrets.key,
                    namespace,
                    name,
                    object,
                    Timestamp::now(),
                )
            }))
        }
        ("authentication.k8s.io", "tokenreviews", "") => Some(auth.review_token(object)),
        ("authentication.k8s.io", "selfsubjectreviews", "") => {
            Some(Ok(crate::authz::review::about_self(user, &clock::now())))
        }
        _ => crate::authz::review::about_rights(&auth.policy.now(), user, attributes, object),
    }
}
