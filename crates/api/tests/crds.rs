//! CRDs of both versions, converted and viewed, and everything that can be wrong with them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use api::{Crd, Scope, Severity};
use objects::Lookup;
use objects::Path;
use serde_json::{Value, json};

fn read(text: &str) -> (Option<Crd>, Vec<String>) {
    let (crd, problems) = Crd::read(&yaml::parse_strict(text).unwrap());
    let told = problems.iter().map(|problem| {
        let hint = problem
            .hint
            .as_deref()
            .map(|hint| format!(" ({hint})"))
            .unwrap_or_default();
        format!(
            "{} {}: {}{hint}",
            problem.severity, problem.path, problem.what
        )
    });
    (crd, told.collect())
}

#[test]
fn the_seeds_crd_without_a_schema_takes_anything() {
    let (crd, problems) = read(
        "apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata:
  creationTimestamp: null
  labels:
    controller-tools.k8s.io: '1.0'
  name: mytypes.samples.crossplane.io
spec:
  group: samples.crossplane.io
  names:
    kind: Mytype
    plural: mytypes
  scope: Namespaced
  version: v1alpha1
status:
  acceptedNames: {kind: '', plural: ''}
  conditions: []
  storedVersions: []
",
    );
    assert_eq!(
        problems,
        [
            "warning spec: version `v1alpha1` has no schema, so that any field is taken (describe the fields under `schema.openAPIV3Schema`)"
        ]
    );
    assert_eq!(
        crd.unwrap().object,
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "labels": { "controller-tools.k8s.io": "1.0" }, "name": "mytypes.samples.crossplane.io" },
            "spec": {
                "group": "samples.crossplane.io",
                "names": { "kind": "Mytype", "listKind": "MytypeList", "plural": "mytypes", "singular": "mytype" },
                "scope": "Namespaced",
                "versions": [{
                    "name": "v1alpha1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
                }],
            },
        })
    );
}

#[test]
fn what_v1beta1_says_once_is_said_of_each_version() {
    let (crd, problems) = read(
        "apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: breakfasts.example.crossplane.io}
spec:
  group: example.crossplane.io
  names: {kind: Breakfast, plural: breakfasts, shortNames: [bf], categories: [food]}
  version: v1
  versions:
  - {name: v1, served: true, storage: true}
  - name: v1alpha1
    served: true
    storage: false
    additionalPrinterColumns:
    - {name: Own, type: string, JSONPath: .spec.own}
  subresources:
    status: {}
    scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
  additionalPrinterColumns:
  - {name: Creamer, type: string, JSONPath: .spec.coffeeCreamer}
  conversion:
    strategy: Webhook
    webhookClientConfig: {url: 'https://example.org'}
    conversionReviewVersions: [v1]
  validation:
    openAPIV3Schema:
      required: [spec]
      properties:
        spec:
          required: [coffeeCreamer]
          properties:
            coffeeCreamer: {type: string, default: none}
            toppings: {items: {type: string}}
",
    );
    assert_eq!(problems, [""; 0]);
    let crd = crd.unwrap();
    assert_eq!(
        (crd.scope, crd.names.singular.as_str()),
        (Scope::Namespaced, "breakfast")
    );
    assert_eq!(
        (crd.names.short_names.len(), crd.names.categories.len()),
        (1, 1)
    );
    assert_eq!(crd.storage().unwrap().name, "v1");
    for version in &crd.versions {
        assert!(version.served && version.status);
        assert_eq!(
            version.scale.as_ref().unwrap().spec_replicas,
            ".spec.replicas"
        );
        let mut breakfast = json!({ "spec": { "toppings": ["ham"], "tea": true } });
        assert_eq!(version.schema.admit(&mut breakfast), []);
        assert_eq!(
            breakfast,
            json!({ "spec": { "toppings": ["ham"], "coffeeCreamer": "none" } })
        );
    }
    let columns: Vec<_> = crd
        .versions
        .iter()
        .map(|version| version.columns[0].json_path.as_str())
        .collect();
    assert_eq!(columns, [".spec.coffeeCreamer", ".spec.own"]);
    let spec = &crd.object["spec"];
    for gone in [
        "version",
        "validation",
        "subresources",
        "additionalPrinterColumns",
        "preserveUnknownFields",
    ] {
        assert_eq!(spec.get(gone), None, "{gone}");
    }
    assert_eq!(
        spec["conversion"],
        json!({ "strategy": "Webhook", "webhook": { "clientConfig": { "url": "https://example.org" }, "conversionReviewVersions": ["v1"] } })
    );
    let again = Crd::read(&crd.object);
    assert_eq!(again.1, []);
    assert_eq!(
        again.0.unwrap().object,
        crd.object,
        "what was converted is v1 already"
    );
}

#[test]
fn preserve_unknown_fields_of_v1beta1_is_said_in_the_schema() {
    let crd = |preserve: &str| {
        let text = format!(
            "apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {{name: as.example.org}}
spec:
  group: example.org
  names: {{kind: A, plural: as}}
  version: v1
{preserve}
  validation: {{openAPIV3Schema: {{properties: {{spec: {{type: object}}}}}}}}
"
        );
        read(&text).0.unwrap()
    };
    let path = Path::fields(&["spec", "anything"]);
    for (preserve, open) in [
        ("", false),
        ("  preserveUnknownFields: false", false),
        ("  preserveUnknownFields: true", true),
    ] {
        let crd = crd(preserve);
        assert_eq!(
            matches!(crd.versions[0].schema.lookup(&path), Lookup::Open),
            open,
            "{preserve}"
        );
        assert_eq!(crd.object["spec"].get("preserveUnknownFields"), None);
    }
}

#[test]
fn everything_wrong_with_a_crd_is_said_with_its_place() {
    let good = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "foos.example.org" },
        "spec": {
            "group": "example.org",
            "scope": "Namespaced",
            "names": { "kind": "Foo", "plural": "foos" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }],
        },
    });
    assert_eq!(Crd::read(&good).1, []);
    for (at, value, expected) in [
        ("/kind", json!("Pod"), "kind: this is a Pod"),
        ("/kind", json!(3), "kind: this is no Kubernetes object"),
        (
            "/apiVersion",
            json!("v1"),
            "apiVersion: `v1` has no CustomResourceDefinition",
        ),
        (
            "/metadata/name",
            json!("foo.example.org"),
            "metadata.name: the CRD is called `foo.example.org`, but its name has to be `<plural>.<group>`",
        ),
        (
            "/metadata",
            json!(null),
            "metadata.name: the CRD has no name",
        ),
        ("/spec", json!([]), "spec.group: `spec.group` is missing"),
        (
            "/spec/group",
            json!(1),
            "spec.group: `spec.group` must be a string",
        ),
        (
            "/spec/group",
            json!("example"),
            "spec.group: `example` is no domain name with at least one dot",
        ),
        (
            "/spec/group",
            json!("x.k8s.io"),
            "spec.group: the group `x.k8s.io` is reserved for Kubernetes",
        ),
        (
            "/spec/scope",
            json!("Cluser"),
            "spec.scope: there is no scope `Cluser`",
        ),
        (
            "/spec/names/plural",
            json!("Foos"),
            "spec.names.plural: `Foos` cannot be a plural: letters, digits and dashes, a letter first",
        ),
        (
            "/spec/names/kind",
            json!(""),
            "spec.names.kind: `spec.names.kind` is missing",
        ),
        (
            "/spec/versions",
            json!([]),
            "spec.versions: the CRD has no versions",
        ),
        (
            "/spec/versions",
            json!({}),
            "spec.versions: the CRD has no versions",
        ),
        (
            "/spec/versions/0",
            json!("v1"),
            "spec.versions[0].name: the version has no name of letters, digits and dashes",
        ),
        (
            "/spec/versions/0/storage",
            json!(false),
            "spec.versions: no version is stored",
        ),
        (
            "/spec/versions/0/schema",
            json!(null),
            "spec.versions[0].schema: version `v1` has no schema",
        ),
        (
            "/spec/versions/0/schema/openAPIV3Schema",
            json!({ "type": "object", "properties": { "spec": { "type": "objekt" } } }),
            "spec.versions[0].schema.openAPIV3Schema.properties.spec.type: schema `properties.spec.type`: there is no type `objekt`",
        ),
        (
            "/spec/versions/0/schema/openAPIV3Schema",
            json!({}),
            "spec.versions[0].schema.openAPIV3Schema: schema: has no `type`",
        ),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(at).unwrap() = value;
        let problems = Crd::read(&bad).1;
        let told: Vec<String> = problems
            .iter()
            .map(|problem| format!("{}: {}", problem.path, problem.what))
            .collect();
        assert!(
            told.iter().any(|told| told == expected),
            "{at} {expected} {told:#?}"
        );
        assert!(
            problems
                .iter()
                .all(|problem| problem.severity == Severity::Error)
        );
    }
    for value in [Value::Null, json!([]), json!("x"), json!({})] {
        assert!(Crd::read(&value).0.is_none());
    }
}
