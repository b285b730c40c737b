//! URLs and what they ask for.

use http::Request;

use super::{Asked, QueryPairs};

fn asked(method: &str, uri: &str) -> Asked {
    let (parts, ()) = Request::builder()
        .method(method)
        .uri(uri)
        .body(())
        .unwrap()
        .into_parts();
    Asked::read(&parts).unwrap()
}

#[test]
fn a_url_says_verb_resource_namespace_and_name() {
    for (method, uri, expected) in [
        ("GET", "/api/v1/pods", "list  v1 pods   "),
        ("GET", "/api/v1/namespaces", "list  v1 namespaces   "),
        ("GET", "/api/v1/namespaces/a", "get  v1 namespaces  a a"),
        (
            "PUT",
            "/api/v1/namespaces/a/finalize",
            "update  v1 namespaces finalize a a",
        ),
        ("GET", "/api/v1/namespaces/a/pods", "list  v1 pods  a "),
        (
            "GET",
            "/api/v1/namespaces/a/pods?watch=true",
            "watch  v1 pods  a ",
        ),
        (
            "GET",
            "/api/v1/namespaces/a/pods?watch=0",
            "list  v1 pods  a ",
        ),
        (
            "GET",
            "/api/v1/watch/namespaces/a/pods",
            "watch  v1 pods  a ",
        ),
        (
            "DELETE",
            "/api/v1/namespaces/a/pods",
            "deletecollection  v1 pods  a ",
        ),
        (
            "DELETE",
            "/apis/apps/v1/namespaces/a/deployments/d",
            "delete apps v1 deployments  a d",
        ),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/a/deployments/d/status",
            "patch apps v1 deployments status a d",
        ),
        (
            "POST",
            "/apis/x.example.org/v1/things",
            "create x.example.org v1 things   ",
        ),
        (
            "GET",
            "/api/v1/pods?fieldSelector=metadata.name%3Dp",
            "list  v1 pods   p",
        ),
        (
            "GET",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Aa",
            "get rbac.authorization.k8s.io v1 clusterroles   system:a",
        ),
    ] {
        let Asked { attributes: a, .. } = asked(method, uri);
        let told = [
            a.verb.as_str(),
            &a.group,
            &a.version,
            &a.resource,
            &a.subresource,
            &a.namespace,
            &a.name,
        ];
        assert!(a.is_resource, "{uri}");
        assert_eq!(told.join(" "), expected, "{method} {uri}");
    }
    for uri in [
        "/",
        "/api",
        "/apis",
        "/api/v1",
        "/apis/apps",
        "/apis/apps/v1",
        "/healthz",
        "/openapi/v3/apis/apps/v1",
    ] {
        assert!(!asked("GET", uri).attributes.is_resource, "{uri}");
    }
}

#[test]
fn a_query_is_decoded_and_its_switches_read() {
    let query = QueryPairs::parse("a=1&b=x%20y+z&watch&c=&dryRun=All&no=false");
    assert_eq!(
        (query.get("a"), query.get("b"), query.get("c")),
        (Some("1"), Some("x y z"), None)
    );
    assert!(
        query.flag("watch")
            && query.flag("dryRun")
            && query.has("c")
            && !query.flag("no")
            && !query.flag("z")
    );
}
