//! Tokens and what makes them good or bad, against a store with an account and what tokens are
//! bound to.

#![allow(clippy::unwrap_used, reason = "a test may fail anywhere")]

use super::*;
use crate::storage::{Change, Expect, Window};

async fn put(store: &Store, resource: &str, name: &str, value: Option<Value>) {
    let key = Key::new(
        &table_name("", resource),
        if resource == "nodes" { "" } else { "n" },
        name,
    );
    store
        .commit(vec![Change {
            key,
            expect: Expect::Any,
            to: value,
        }])
        .await
        .unwrap();
}

fn object(name: &str, uid: &str) -> Option<Value> {
    Some(json!({"metadata": {"name": name, "namespace": "n", "uid": uid}}))
}

struct Bench {
    store: Arc<Store>,
    key: SigningKey,
    verifier: Verifier,
}

impl Bench {
    async fn new() -> Self {
        let store = Store::in_memory(Window::default());
        put(&store, "serviceaccounts", "robot", object("robot", "u1")).await;
        put(&store, "pods", "p", object("p", "u2")).await;
        put(&store, "secrets", "s", object("s", "u3")).await;
        let key = SigningKey::read(&SigningKey::generate().unwrap()).unwrap();
        Self {
            verifier: Verifier::new(&store),
            store,
            key,
        }
    }

    fn token(&self, audiences: &[&str], bound: Option<(&str, &str, &str)>) -> String {
        let audiences: Vec<String> = audiences
            .iter()
            .map(|&audience| audience.to_owned())
            .collect();
        let bound = bound.map(|(kind, name, uid)| Bound {
            kind: kind.to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            node: (kind == "Pod").then(|| ("host".to_owned(), "u9".to_owned())),
        });
        let ask = Ask {
            namespace: "n",
            name: "robot",
            uid: "u1",
            audiences: &audiences,
            bound: bound.as_ref(),
            from: 1_000,
            until: 2_000,
        };
        self.key.sign(&claims(&ask)).unwrap()
    }

    fn check(&self, token: &str, audience: &str, now: i64) -> Result<User, Option<String>> {
        self.verifier
            .check(&self.key, token, &[audience.to_owned()], now)
            .map(|verified| verified.user)
    }
}

#[tokio::test]
async fn a_token_is_good_in_its_time_and_for_its_audience() {
    let bench = Bench::new().await;
    let token = bench.token(&[ISSUER, "vault"], None);
    let expired = "service account token has expired";
    let early = "service account token is not valid yet";
    let foreign = r#"token audiences ["https://kubernetes.default.svc.cluster.local" "vault"] is invalid for the target audiences ["other"]"#;
    for (audience, now, expect) in [
        (ISSUER, 1_000, None),
        ("vault", 1_500, None),
        (ISSUER, 2_060, None),
        (ISSUER, 2_061, Some(expired)),
        (ISSUER, 940, None),
        (ISSUER, 939, Some(early)),
        ("other", 1_500, Some(foreign)),
    ] {
        let found = bench.check(&token, audience, now).err().flatten();
        assert_eq!(found.as_deref(), expect, "{audience} {now}");
    }
    let user = bench.check(&token, ISSUER, 1_000).unwrap();
    assert_eq!(
        (&*user.name, &*user.uid),
        ("system:serviceaccount:n:robot", "u1")
    );
    assert_eq!(
        user.groups,
        [
            "system:serviceaccounts",
            "system:serviceaccounts:n",
            "system:authenticated"
        ]
    );
    let id = &user.extra["authentication.kubernetes.io/credential-id"];
    assert!(matches!(&**id, [id] if id.starts_with("JTI=")), "{id:?}");
}

#[tokio::test]
async fn a_token_ends_with_its_account_and_with_what_it_is_bound_to() {
    let bench = Bench::new().await;
    let free = bench.token(&[ISSUER], None);
    let pod = bench.token(&[ISSUER], Some(("Pod", "p", "u2")));
    let secret = bench.token(&[ISSUER], Some(("Secret", "s", "u3")));
    let node = bench.token(&[ISSUER], Some(("Node", "host", "u9")));
    let invalid = Some(Some(
        "service account token has been invalidated".to_owned(),
    ));
    assert_eq!(
        bench.check(&node, ISSUER, 1_000).err(),
        invalid,
        "there is no such node"
    );
    let user = bench.check(&pod, ISSUER, 1_000).unwrap();
    let told = |key: &str| user.extra[&format!("authentication.kubernetes.io/{key}")].join(",");
    assert_eq!(
        [
            told("pod-name"),
            told("pod-uid"),
            told("node-name"),
            told("node-uid")
        ],
        ["p", "u2", "host", "u9"]
    );
    assert!(bench.check(&secret, ISSUER, 1_000).is_ok());
    put(&bench.store, "pods", "p", object("p", "another")).await;
    put(&bench.store, "secrets", "s", None).await;
    assert_eq!(bench.check(&pod, ISSUER, 1_000).err(), invalid);
    assert_eq!(bench.check(&secret, ISSUER, 1_000).err(), invalid);
    assert!(bench.check(&free, ISSUER, 1_000).is_ok());
    put(
        &bench.store,
        "serviceaccounts",
        "robot",
        object("robot", "new"),
    )
    .await;
    let other = "service account UID (new) does not match claim (u1)";
    assert_eq!(
        bench.check(&free, ISSUER, 1_000),
        Err(Some(other.to_owned()))
    );
    put(&bench.store, "serviceaccounts", "robot", None).await;
    assert_eq!(
        bench.check(&free, ISSUER, 1_000),
        Err(Some("serviceaccounts \"robot\" not found".to_owned()))
    );
}

#[tokio::test]
async fn a_token_of_a_secret_is_good_while_the_secret_has_it() {
    let bench = Bench::new().await;
    let token = bench
        .key
        .sign(&legacy_claims("n", "robot", "u1", "s"))
        .unwrap();
    let gone = Some(Some("Token has been invalidated".to_owned()));
    assert_eq!(
        bench.check(&token, ISSUER, 0).err(),
        gone,
        "the secret does not have it"
    );
    let data = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &token);
    put(
        &bench.store,
        "secrets",
        "s",
        Some(json!({"metadata": {"name": "s"}, "data": {"token": data}})),
    )
    .await;
    assert_eq!(
        bench.check(&token, ISSUER, 0).unwrap().name,
        "system:serviceaccount:n:robot"
    );
    put(&bench.store, "secrets", "s", None).await;
    assert_eq!(bench.check(&token, ISSUER, 0).err(), gone);
}

#[tokio::test]
async fn what_is_not_ours_is_no_token() {
    let bench = Bench::new().await;
    let other = bench
        .key
        .sign(&json!({"iss": "somebody", "sub": "x"}))
        .unwrap();
    for token in ["nonsense", "a.b.c", &other] {
        assert_eq!(bench.check(token, ISSUER, 0), Err(None), "{token}");
    }
}
