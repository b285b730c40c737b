//! A bounded fuzz run on stable: URLs, patches and objects, cut up and put together again from a
//! seed.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

#[path = "../../../fuzz/bodies/request.rs"]
mod body;

/// Pieces of URLs, whole and broken.
const URLS: &[&str] = &[
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/apps/v1/namespaces/default/deployments/a",
    "/apis/apps/v1/namespaces/default/deployments/a/scale",
    "/apis/apps/v1/namespaces/default/deployments/a/status",
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/default",
    "/api/v1/namespaces",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis",
    "/openapi/v3/apis/apps/v1",
    "/api/v1/watch/pods",
    "/%",
    "/%ff",
    "/..//",
    "?",
    "&",
    "fieldManager=m",
    "&force=true",
    "dryRun=All",
    "labelSelector=a%20in%20(b,c)",
    "labelSelector=!l,l%3Dv",
    "fieldSelector=metadata.name%3Da",
    "watch=1",
    "limit=1&continue=eyJ",
    "resourceVersion=18446744073709551616",
    "resourceVersionMatch=Exact",
    "sendInitialEvents=true",
    "timeoutSeconds=-1",
    "fieldValidation=Strict",
    "propagationPolicy=Foreground",
];

/// Pieces of bodies, whole and broken.
const BODIES: &[&str] = &[
    r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"}"#,
    r#","spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"c","image":"x"}]}}}"#,
    r#","spec":{"template":{"spec":{"containers":[{"$patch":"delete","name":"c"}]}}}"#,
    r#","spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"c"}]}}}"#,
    r#","metadata":{"managedFields":[{"manager":"m","operation":"Apply","fieldsV1":{"f:spec":{"k:{\"name\":1}":{}}}}]}"#,
    "}",
    "{",
    "[",
    "]",
    ",",
    r#"[{"op":"add","path":"/metadata/labels/x","value":"1"}]"#,
    r#"{"op":"remove","path":"/spec/template/spec/containers/0"}"#,
    r#"{"op":"move","from":"/spec","path":"/spec/a"}"#,
    r#"{"op":"copy","from":"","path":"/metadata/annotations"}"#,
    r#"{"op":"test","path":"/spec/~2","value":null}"#,
    r#"{"spec":null}"#,
    r#"{"spec":{"replicas":-9223372036854775808}}"#,
    r#"{"metadata":{"finalizers":["x/y"],"name":7}}"#,
    r#"{"metadata":{"generateName":"é","labels":{"":""}}}"#,
    "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n",
    "metadata: &a [*a]\n",
    "k8s\u{0}\n\u{f}\n\u{2}v1",
    "\u{0}",
    "1e999",
    "\"\\ud800\"",
];

#[test]
fn no_request_made_from_pieces_panics_or_spoils_what_is_there() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    // A run here is a whole server, which takes as long as dozens of the other bodies' runs.
    let runs = number("CAIRN_FUZZ_RUNS").map_or(150, |runs: u64| runs.div_ceil(40));
    let seed = number("CAIRN_FUZZ_SEED").unwrap_or(0x2545_f491_4f6c_dd1d_u64);
    let mut state = seed;
    let mut next = |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % end as u64).unwrap_or(0)
    };
    for _ in 0..runs {
        let mut bytes = vec![
            u8::try_from(next(6)).unwrap_or(0),
            u8::try_from(next(7)).unwrap_or(0),
        ];
        // Mostly whole paths, or nothing would be found.
        let end = if next(4) == 0 { URLS.len() } else { 8 };
        bytes.extend_from_slice(URLS[next(end)].as_bytes());
        for _ in 0..next(4) {
            bytes.extend_from_slice(if next(2) == 0 { b"?" } else { b"&" });
            bytes.extend_from_slice(URLS[next(URLS.len())].as_bytes());
        }
        bytes.push(0);
        for _ in 0..next(6) {
            bytes.extend_from_slice(BODIES[next(BODIES.len())].as_bytes());
        }
        if std::panic::catch_unwind(|| body::request(&bytes)).is_err() {
            panic!(
                "this request broke it (seed {seed}): {:?}",
                String::from_utf8_lossy(&bytes)
            );
        }
    }
}
