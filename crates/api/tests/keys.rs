//! Every spelling of a key in the design documents, and what it means.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use api::key::{Owned, Reference, Resolution, owned, resolve};
use api::{Crd, KindRef};
use objects::Gvk;
use serde_json::json;

fn crd(kind: &str, plural: &str, group: &str, versions: &[&str]) -> Crd {
    let versions: Vec<_> = versions
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let schema = json!({ "openAPIV3Schema": { "type": "object" } });
            json!({ "name": name, "served": true, "storage": index == 0, "schema": schema })
        })
        .collect();
    let (crd, problems) = Crd::read(&json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": { "group": group, "scope": "Namespaced", "names": { "kind": kind, "plural": plural }, "versions": versions },
    }));
    assert_eq!(problems, []);
    crd.unwrap()
}

fn entry(kind: &str, api_version: &str) -> KindRef {
    KindRef {
        kind: kind.into(),
        api_version: api_version.into(),
    }
}

fn told(key: &str, owned: &[Owned], included: bool) -> String {
    match resolve(key, owned, included) {
        Resolution::Match { index, version } => format!("{} {version}", owned[index].kind),
        Resolution::Partial => "partial".into(),
        Resolution::Ambiguous(candidates) => format!("ambiguous: {}", candidates.join(", ")),
        Resolution::None { nearest } => {
            format!("none, {}", nearest.as_deref().unwrap_or("nothing near"))
        }
    }
}

#[test]
fn every_spelling_of_the_documents_means_its_kind() {
    let crds = [
        crd("Redis", "redises", "example.org", &["v1", "v1beta1"]),
        crd(
            "CachingWebService",
            "cachingwebservices",
            "example.org",
            &["v1"],
        ),
        crd("Example", "examples", "example.org", &["v1"]),
        crd(
            "RedisCluster",
            "redisclusters",
            "crossplane.redislabs.com",
            &["v1alpha1"],
        ),
        crd(
            "HelloWorld",
            "helloworlds",
            "crossplane.example.com",
            &["v1"],
        ),
        crd("PlusOne", "plusones", "crossplane.example.com", &["v1"]),
        crd("Foo", "foos", "group.io", &["version"]),
        crd(
            "Breakfast",
            "breakfasts",
            "example.crossplane.io",
            &["v1alpha1"],
        ),
    ];
    let entries = [
        entry("Redis", "redis.example.org/v1"),
        entry("Redis", "redis.example.org/v1beta1"),
        entry("CachingWebService", "cachingwebservice.example.org/v1"),
        entry("Example", "example.org/v1"),
        entry("RedisCluster", "crossplane.redislabs.com/v1alpha1"),
        entry("HelloWorld", "helloworld.crossplane.example.com/v1"),
        entry("PlusOne", "plusses.crossplane.example.com/v1"),
        entry("Foo", "group.io/version"),
        entry("Breakfast", "example.crossplane.io/v1alpha1"),
    ];
    let (owned, lost) = owned(&entries, &crds);
    assert_eq!(lost, [0_usize; 0]);
    assert_eq!(owned.len(), crds.len());
    for (key, expected) in [
        ("redis.example.org/v1", "Redis v1"),
        ("Redis.example.org/v1", "Redis v1"),
        ("redises.example.org/v1", "Redis v1"),
        ("redis.example.org/v1beta1", "Redis v1beta1"),
        ("redis.example.org/v2", "none, redis.example.org/v1"),
        ("cachingwebservice.example.org/v1", "CachingWebService v1"),
        ("CachingWebService.example.org/v1", "CachingWebService v1"),
        ("cachingwebservices.example.org/v1", "CachingWebService v1"),
        ("example.example.org/v1", "Example v1"),
        // The text of an entry means that entry, though three kinds have this version.
        ("example.org/v1", "Example v1"),
        ("crossplane.redislabs.com/v1alpha1", "RedisCluster v1alpha1"),
        (
            "rediscluster.crossplane.redislabs.com/v1alpha1",
            "RedisCluster v1alpha1",
        ),
        ("helloworld.crossplane.example.com/v1", "HelloWorld v1"),
        ("plusses.crossplane.example.com/v1", "PlusOne v1"),
        ("plusone.crossplane.example.com/v1", "PlusOne v1"),
        (
            "crossplane.example.com/v1",
            "ambiguous: helloworld.crossplane.example.com/v1, plusone.crossplane.example.com/v1",
        ),
        ("foo.group.io/version", "Foo version"),
        ("group.io/version", "Foo version"),
        (
            "breakfast.example.crossplane.io/v1alpha1",
            "Breakfast v1alpha1",
        ),
        (
            "brekfast.example.crossplane.io/v1alpha1",
            "none, breakfast.example.crossplane.io/v1alpha1",
        ),
        ("this/name/can/be/anything", "none, nothing near"),
        ("", "none, nothing near"),
        ("/", "none, nothing near"),
    ] {
        assert_eq!(told(key, &owned, false), expected, "{key}");
    }
    assert_eq!(told("this/name/can/be/anything", &owned, true), "partial");
    assert_eq!(
        told("redis.example.org/v1", &owned, true),
        "Redis v1",
        "an include does not make a kind a partial"
    );
}

#[test]
fn a_key_that_could_be_a_group_or_a_kind_is_ambiguous() {
    let crds = [
        crd("Redis", "redises", "example.org", &["v1"]),
        crd("Cache", "caches", "redis.example.org", &["v1"]),
    ];
    let both: Vec<Owned> = crds.iter().map(Owned::of).collect();
    assert_eq!(
        told("redis.example.org/v1", &both, false),
        "ambiguous: redis.example.org/v1, cache.redis.example.org/v1"
    );
    let (said, _) = owned(
        &[
            entry("Redis", "example.org/v1"),
            entry("Cache", "redis.example.org/v1"),
        ],
        &crds,
    );
    assert_eq!(
        told("redis.example.org/v1", &said, false),
        "Cache v1",
        "unless the stack says which"
    );
}

#[test]
fn an_entry_that_means_no_crd_or_two_is_told() {
    let crds = [
        crd("Redis", "redises", "example.org", &["v1"]),
        crd("Redis", "redises", "cache.example.org", &["v1"]),
    ];
    let entries = [
        entry("Redis", "v1"),
        entry("Redis", "example.org/v2"),
        entry("Cache", "example.org/v1"),
        entry("Redis", "my.cache.example.org/v1"),
        entry("Redis", "cache.example.org/v1"),
    ];
    let (found, lost) = owned(&entries, &crds);
    assert_eq!(lost, [0, 1, 2, 3]);
    assert_eq!(found[0].group, "cache.example.org");
}

#[test]
fn a_dependency_names_a_kind_a_group_or_a_kind_of_every_cluster() {
    for (text, expected) in [
        (
            "mytype.mygroup.example.org/v1alpha1",
            Some((Some("mytype"), "mygroup.example.org", None)),
        ),
        (
            "*.yourstack.example.org/v1alpha1",
            Some((None, "yourstack.example.org", None)),
        ),
        (
            "gitlabcluster.gitlab.com/v1alpha1",
            Some((Some("gitlabcluster"), "gitlab.com", None)),
        ),
        (
            "deployment.apps/v1",
            Some((Some("deployment"), "apps", Some("Deployment"))),
        ),
        (
            "deployments.apps/v1",
            Some((Some("deployments"), "apps", Some("Deployment"))),
        ),
        (
            "configmap/v1",
            Some((Some("configmap"), "", Some("ConfigMap"))),
        ),
        ("Secret/v1", Some((Some("Secret"), "", Some("Secret")))),
        ("configmap", None),
        ("*/v1", None),
        ("*.", None),
        ("a./v1", None),
        (".a/v1", None),
        ("a.b/", None),
        ("a.b/v1/x", None),
        ("ä.b/v1", None),
        ("", None),
    ] {
        let read = Reference::parse(text);
        let parts = read.as_ref().map(|read| {
            (
                read.name.as_deref(),
                &*read.group,
                read.builtin().map(|kind| kind.kind),
            )
        });
        assert_eq!(parts, expected, "{text}");
        assert!(read.is_none_or(|read| read.to_string() == text), "{text}");
    }
}

#[test]
fn a_dependency_means_kinds_by_name_by_group_and_by_plain_version() {
    let redis = Gvk::new("example.org", "v1", "Redis");
    for (text, expected) in [
        ("redis.example.org/v1", true),
        ("redises.example.org/v1", true),
        ("*.example.org/v1", true),
        ("example.org/v1", true),
        ("redis.example.org/v2", false),
        ("*.org/v1", false),
        ("cache.example.org/v1", false),
    ] {
        assert_eq!(
            Reference::parse(text).unwrap().means(&redis, "redises"),
            expected,
            "{text}"
        );
    }
}
