//! Issues tokens of service accounts: checks what is asked for, and what the token is to be bound
//! to.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    jwt::Key as SigningKey,
    token::{self, Ask, Bound, ISSUER},
};
use crate::clock;
use crate::handlers::status::{ApiError, Cause};
use crate::registry::table_name;
use crate::storage::{Key, Store};

/// How long a token is good unless it says otherwise.
const HOUR: i64 = 3600;
/// The shortest life that can be asked for.
const SHORTEST: i64 = 600;
/// The longest.
const LONGEST: i64 = 1 << 32;
const KIND: &str = "TokenRequest";
const GROUP: &str = "authentication.k8s.io";

/// Answers a `TokenRequest` for an account.
pub(crate) fn answer(
    store: &Store,
    key: &SigningKey,
    namespace: &str,
    name: &str,
    request: &Value,
    now: Timestamp,
) -> Result<Value, ApiError> {
    let find = |resource: &str, namespace: &str, name: &str| {
        store
            .get(&Key::new(&table_name("", resource), namespace, name))
            .map(|entry| entry.value())
    };
    let given = request["metadata"]["namespace"]
        .as_str()
        .unwrap_or_default();
    if !given.is_empty() && given != namespace {
        let why =
            "the namespace of the provided object does not match the namespace sent on the request";
        return Err(ApiError::bad_request(why));
    }
    let spec = &request["spec"];
    let seconds = spec["expirationSeconds"].as_i64().unwrap_or(HOUR);
    let too = if seconds < SHORTEST {
        Some("may not specify a duration less than 10 minutes")
    } else if seconds > LONGEST {
        Some("may not specify a duration larger than 2^32 seconds")
    } else {
        None
    };
    if let Some(why) = too {
        return Err(invalid("", "spec.expirationSeconds", &json!(seconds), why));
    }
    let account = find("serviceaccounts", namespace, name);
    let account = account.ok_or_else(|| ApiError::not_found("", "serviceaccounts", name))?;
    let given = request["metadata"]["name"].as_str().unwrap_or_default();
    if !given.is_empty() && given != name {
        let why = "must match the service account name if specified";
        return Err(invalid(name, "metadata.name", &json!(given), why));
    }
    let reference = &spec["boundObjectRef"];
    let bound = if reference.is_object() {
        Some(bind(reference, namespace, name, find)?)
    } else {
        None
    };
    let audiences: Vec<String> = spec["audiences"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    let audiences = if audiences.is_empty() {
        vec![ISSUER.to_owned()]
    } else {
        audiences
    };
    let uid = account["metadata"]["uid"].as_str().unwrap_or_default();
    let from = now.as_second();
    let until = from.saturating_add(seconds);
    let ask = Ask {
        namespace,
        name,
        uid,
        audiences: &audiences,
        bound: bound.as_ref(),
        from,
        until,
    };
    let token = key.sign(&token::claims(&ask)).map_err(ApiError::internal)?;
    let until = Timestamp::from_second(until).map_err(ApiError::internal)?;
    Ok(json!({
        "kind": KIND, "apiVersion": format!("{GROUP}/v1"),
        "metadata": {"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": clock::text(now)},
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": reference},
        "status": {"token": token, "expirationTimestamp": clock::text(until)},
    }))
}

fn invalid(name: &str, field: &str, value: &Value, why: &str) -> ApiError {
    ApiError::invalid(GROUP, KIND, name, vec![Cause::invalid(field, value, why)])
}

/// What the token is to be bound to, if it is there and is what was meant.
fn bind(
    reference: &Value,
    namespace: &str,
    account: &str,
    find: impl Fn(&str, &str, &str) -> Option<Arc<Value>>,
) -> Result<Bound, ApiError> {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let (version, kind, name, uid) = (text("apiVersion"), text("kind"), text("name"), text("uid"));
    let (resource, place) = match (version, kind) {
        ("v1", "Pod") => ("pods", namespace),
        ("v1", "Secret") => ("secrets", namespace),
        ("v1", "Node") => ("nodes", ""),
        _ => {
            let version = if version.contains('/') {
                version.to_owned()
            } else {
                format!("/{version}")
            };
            return Err(ApiError::bad_request(format!(
                "cannot bind token to object of type {version}, Kind={kind}"
            )));
        }
    };
    let object =
        find(resource, place, name).ok_or_else(|| ApiError::not_found("", resource, name))?;
    let mut node = None;
    if kind == "Pod" {
        let runs_as = object["spec"]["serviceAccountName"]
            .as_str()
            .filter(|name| !name.is_empty())
            .unwrap_or("default");
        if runs_as != account {
            return Err(ApiError::bad_request(format!(
                "cannot bind token for serviceaccount {account:?} to pod running with different serviceaccount name."
            )));
        }
        if let Some(name) = object["spec"]["nodeName"]
            .as_str()
            .filter(|name| !name.is_empty())
        {
            let uid = find("nodes", "", name)
                .and_then(|node| node["metadata"]["uid"].as_str().map(str::to_owned));
            node = Some((name.to_owned(), uid.unwrap_or_default()));
        }
    }
    let own = object["metadata"]["uid"].as_str().unwrap_or_default();
    if !uid.is_empty() && uid != own {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. \
             The object might have been deleted and then recreated"
        );
        return Err(ApiError::conflict("", kind, name, &why));
    }
    Ok(Bound {
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: own.to_owned(),
        node,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Change, Expect, Window};

    #[tokio::test]
    async fn a_token_request_is_answered_or_refused_as_the_real_server_does() {
        let store = Store::in_memory(Window::default());
        for (resource, name, spec) in [
            ("serviceaccounts", "robot", json!({})),
            ("secrets", "s", json!({})),
            ("pods", "p", json!({"serviceAccountName": "robot"})),
            ("pods", "other", json!({})),
        ] {
            let value =
                json!({"metadata": {"name": name, "uid": format!("uid-{name}")}, "spec": spec});
            let key = Key::new(&table_name("", resource), "n", name);
            store
                .commit(vec![Change {
                    key,
                    expect: Expect::Absent,
                    to: Some(value),
                }])
                .await
                .unwrap();
        }
        let key = SigningKey::read(&SigningKey::generate().unwrap()).unwrap();
        let now = Timestamp::from_second(1_794_786_731).unwrap();
        let ask = |name: &str, request: Value| answer(&store, &key, "n", name, &request, now);
        let bound = |kind: &str, name: &str| json!({"spec": {"boundObjectRef": {"kind": kind, "apiVersion": "v1", "name": name}}});
        let stale = json!({"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s", "uid": "zz"}}});
        let invalid = |name: &str, rest: &str| {
            format!("TokenRequest.authentication.k8s.io {name:?} is invalid: {rest}")
        };
        let table = [
            ("nope", json!({}), 404, "serviceaccounts \"nope\" not found".to_owned()),
            (
                "robot",
                json!({"spec": {"expirationSeconds": 60}}),
                422,
                invalid("", "spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes"),
            ),
            (
                "robot",
                json!({"spec": {"expirationSeconds": 8_589_934_592_i64}}),
                422,
                invalid("", "spec.expirationSeconds: Invalid value: 8589934592: may not specify a duration larger than 2^32 seconds"),
            ),
            (
                "robot",
                json!({"metadata": {"name": "other"}}),
                422,
                invalid("robot", "metadata.name: Invalid value: \"other\": must match the service account name if specified"),
            ),
            ("robot", bound("Secret", "no"), 404, "secrets \"no\" not found".to_owned()),
            ("robot", bound("ConfigMap", "no"), 400, "cannot bind token to object of type /v1, Kind=ConfigMap".to_owned()),
            (
                "robot",
                bound("Pod", "other"),
                400,
                "cannot bind token for serviceaccount \"robot\" to pod running with different serviceaccount name.".to_owned(),
            ),
            (
                "robot",
                stale,
                409,
                "Operation cannot be fulfilled on Secret \"s\": the UID in the bound object reference (zz) does not match the \
                 UID in record. The object might have been deleted and then recreated"
                    .to_owned(),
            ),
        ];
        for (name, request, code, message) in table {
            let error = ask(name, request).unwrap_err();
            assert_eq!((error.code, error.message), (code, message));
        }
        let answer = ask("robot", json!({"spec": {}})).unwrap();
        assert_eq!(
            answer["spec"],
            json!({"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": null})
        );
        assert_eq!(answer["metadata"]["uid"], "uid-robot");
        assert_eq!(
            answer["status"]["expirationTimestamp"],
            "2026-11-16T00:52:11Z"
        );
        let token = ask("robot", bound("Pod", "p")).unwrap()["status"]["token"]
            .as_str()
            .unwrap()
            .to_owned();
        let claims = key.verify(&token).unwrap();
        assert_eq!(
            claims["kubernetes.io"]["pod"],
            json!({"name": "p", "uid": "uid-p"})
        );
    }
}
