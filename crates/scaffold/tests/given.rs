//! What a stack is made of: all that the manifests hold, but nothing that a cluster makes or wrote
//! by itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may panic"
)]

#[path = "support/started.rs"]
mod support;

use scaffold::{Manifest, Names, Started, from_manifests};
use support::{started, text};

fn notes(started: &Started) -> String {
    started
        .notes
        .iter()
        .map(|note| format!("{note}\n"))
        .collect()
}

fn titles(started: &Started) -> Vec<&str> {
    started
        .templates
        .iter()
        .map(|became| became.title.as_str())
        .collect()
}

#[test]
fn every_object_of_a_stream_or_a_list_is_taken_and_what_is_foreign_is_left_out() {
    let map = |name: &str| {
        format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"{name}\"}}}}"
        )
    };
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    for (manifests, expected, told) in [
        (
            format!("{}\n{}{}", map("a"), map("a-b"), map("a-c")),
            &["ConfigMap a", "ConfigMap a-b", "ConfigMap a-c"][..],
            "",
        ),
        (
            format!("{}\n---\n{}\n", map("a"), map("a-b")),
            &["ConfigMap a", "ConfigMap a-b"],
            "",
        ),
        (format!("\u{feff}{yaml}"), &["ConfigMap a"], ""),
        (format!("---\n{yaml}...\n# the end\n"), &["ConfigMap a"], ""),
        (
            "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n  data: {x: z}\n"
                .into(),
            &["ConfigMap a"],
            "",
        ),
        (
            format!(
                "{yaml}---\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [x.yaml]\n"
            ),
            &["ConfigMap a"],
            "m.yaml:5: Kustomization is left out: it is for kustomize",
        ),
        (
            format!(
                "apiVersion: batch/v1\nkind: Job\nmetadata: {{generateName: a-job-}}\n---\n{yaml}"
            ),
            &["ConfigMap a"],
            "m.yaml:1: Job is left out: it has no metadata.name",
        ),
    ] {
        let started = started("a", &manifests);
        assert_eq!(titles(&started), expected, "{manifests}");
        assert!(
            notes(&started).contains(told) && notes(&started).is_empty() == told.is_empty(),
            "{}",
            notes(&started)
        );
    }
}

#[test]
fn what_a_cluster_makes_or_wrote_by_itself_is_left_out() {
    let manifests = include_str!("manifests/bound.yaml");
    let started = started("web", manifests);
    assert_eq!(
        titles(&started),
        [
            "PersistentVolumeClaim web-data",
            "Service web",
            "Job web-migrate",
            "Pod web-debug",
            "StatefulSet web"
        ]
    );
    for (file, gone) in [
        ("job.yaml", &["controller-uid", "job-name", "selector"][..]),
        (
            "claim.yaml",
            &["selected-node", "volumeName", "bind-completed"],
        ),
        ("set.yaml", &["status", "creationTimestamp"]),
        ("pod.yaml", &["kube-api-access", "nodeName"]),
        ("service.yaml", &["10.96.0.7", "31234"]),
    ] {
        let text = text(&started, file);
        assert!(
            gone.iter().all(|gone| !text.contains(gone)),
            "{file}: {text}"
        );
    }
    let notes = notes(&started);
    for told in [
        "Event web.17 is left out: it tells what happened, once",
        "ConfigMap kube-root-ca.crt is left out: it is in every namespace",
        "EndpointSlice web-x2b4c is left out: Service web makes it",
        "Endpoints web is left out: Service web makes it",
        "Secret default-token-abcde is left out: it is the token of a ServiceAccount",
        "ServiceAccount default is left out: it is in every namespace",
        "spec.volumeClaimTemplates.status",
    ] {
        assert!(notes.contains(told), "{told}: {notes}");
    }
    assert!(!notes.contains("the selector of"), "{notes}");
}

#[test]
fn the_status_speaks_of_what_the_application_is_known_by() {
    let service = |name: &str, more: &str| {
        format!(
            "---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{{more}}}\n"
        )
    };
    let workload = |name: &str| {
        format!(
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  \
             template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: [{{name: a, image: 'a:1'}}]}}}}\n"
        )
    };
    let ingress = "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: shop-in}\n\
                   spec: {defaultBackend: {service: {name: shop-api, port: {number: 80}}}}\n";
    for (manifests, base, parts) in [
        (
            [
                workload("shop-db"),
                service("shop-db", ""),
                workload("shop"),
                service("shop", ""),
            ]
            .concat(),
            "shop",
            &[".deployment.status", ".service.metadata.name"][..],
        ),
        (
            [
                workload("shop-db"),
                service("shop-db", ""),
                workload("shop-api"),
                service("shop-api", "selector: {app: shop-api}"),
            ]
            .concat()
                + ingress,
            "shop",
            &[".apiDeployment.status", ".apiService.metadata.name"],
        ),
        // An Ingress says where people come in, whatever the Service is called, and so does a port
        // of the nodes.
        (
            [service("shop", ""), service("shop-api", "")].concat() + ingress,
            "shop",
            &[".apiService.metadata.name"],
        ),
        (
            [
                service("shop-db", "ports: [{port: 3306}]"),
                service("shop-web", "type: LoadBalancer"),
            ]
            .concat(),
            "shop",
            &[".webService.metadata.name"],
        ),
        (
            [
                service("shop-db", "ports: [{port: 3306}]"),
                service("shop-all", "clusterIP: None, ports: [{port: 80}]"),
                service("shop-web", "ports: [{name: http-web, port: 3000}]"),
            ]
            .concat(),
            "shop",
            &[".webService.metadata.name"],
        ),
        (
            [
                service("shop", "type: ExternalName, externalName: a.example.org"),
                service("shop-b", ""),
            ]
            .concat(),
            "shop",
            &[".bService.metadata.name"],
        ),
        // The name that was given, if there is an object of it, is the one that is shared.
        (
            [
                workload("shop"),
                service("redis-a", ""),
                service("redis-b", ""),
                workload("redis-a"),
            ]
            .concat(),
            "shop",
            &[".deployment.status", ".redisAService.metadata.name"],
        ),
        // A release of a chart is called by its instance, whatever the chart is called.
        (
            ["", "-a"]
                .map(|end| {
                    service(
                        &format!("rel-chart{end}, labels: {{app.kubernetes.io/instance: rel}}"),
                        "",
                    )
                })
                .concat(),
            "rel",
            &[".chartService.metadata.name"],
        ),
    ] {
        let started = started("shop", &manifests);
        assert_eq!(started.instance, base);
        let status = text(&started, "status.yaml");
        assert!(
            parts.iter().all(|part| status.contains(part)),
            "{manifests}: {status}"
        );
    }
}

#[test]
fn names_as_long_as_they_may_be_make_files_that_can_be_written() {
    let long = |end: &str| format!("odd-{}{end}", "a".repeat(248));
    let map =
        |name: &str| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
    let started = started("odd", &(map(&long("a")) + &map(&long("b"))));
    assert_eq!(started.templates.len(), 2);
    for path in started.files.keys() {
        assert!(path.split('/').all(|name| name.len() <= 100), "{path}");
    }
}

#[test]
fn a_kind_that_kubernetes_does_not_have_is_refused_with_the_one_that_was_meant() {
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n---\n";
    let refused = |api_version: &str, kind: &str| {
        let names = Names::new("web", "example.org").expect("a good name");
        let text = format!(
            "{service}apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: web}}\nspec: {{}}\n"
        );
        let problems = from_manifests(
            &names,
            &[Manifest {
                file: "m.yaml".to_string(),
                text,
            }],
        )
        .err()
        .unwrap_or_default();
        problems.iter().map(ToString::to_string).collect::<String>()
    };
    for (api_version, kind, told) in [
        (
            "apps/v1",
            "Deploymnt",
            "m.yaml:7: Deploymnt web: Kubernetes has no Deploymnt of `apps/v1` (did you mean `Deployment` of `apps/v1`?)",
        ),
        (
            "apps/v1",
            "deployment",
            "did you mean `Deployment` of `apps/v1`?",
        ),
        ("v1", "Deploymnt", "did you mean `Deployment` of `apps/v1`?"),
        (
            "v1",
            "Deployment",
            "m.yaml:6: Deployment web: Kubernetes has no Deployment of `v1` (write `apiVersion: apps/v1`)",
        ),
        (
            "networking.k8s.io/v1beta1",
            "Ingress",
            "write `apiVersion: networking.k8s.io/v1`",
        ),
        (
            "extensions/v1beta1",
            "Ingress",
            "write `apiVersion: networking.k8s.io/v1`",
        ),
        ("apps/v1beta2", "StatefulSet", "write `apiVersion: apps/v1`"),
        (
            "policy/v1beta1",
            "PodDisruptionBudget",
            "write `apiVersion: policy/v1`",
        ),
        ("batch/v1beta1", "CronJob", "write `apiVersion: batch/v1`"),
        (
            "autoscaling/v2beta2",
            "HorizontalPodAutoscaler",
            "write `apiVersion: autoscaling/v2`",
        ),
        ("apps/v1", "ConfigMap", "write `apiVersion: v1`"),
        (
            "a.example.org/v1",
            "S.h",
            "m.yaml:7: \"S.h\" cannot be a kind",
        ),
        (
            "a..example.org/v1",
            "Sh",
            "m.yaml:6: `a..example.org/v1` cannot be an apiVersion",
        ),
        (
            "a.example.org/v1 x",
            "Sh",
            "m.yaml:6: `a.example.org/v1 x` cannot be an apiVersion",
        ),
    ] {
        let refused = refused(api_version, kind);
        assert!(refused.contains(told), "{api_version} {kind}: {refused}");
    }
    for (api_version, kind) in [
        ("serving.knative.dev/v1", "Service"),
        ("v1", "PersistentVolumes"),
        ("networking.k8s.io/v1", "ServiceCIDR"),
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy"),
        (
            "admissionregistration.k8s.io/v1beta1",
            "ValidatingAdmissionPolicy",
        ),
        ("policy/v1beta1", "PodSecurityPolicy"),
        ("resource.k8s.io/v1", "ResourceClaim"),
    ] {
        assert_eq!(refused(api_version, kind), "", "{api_version} {kind}");
    }
}
