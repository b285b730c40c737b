//! What all instances of a stack made from manifests would share, though no object of theirs says
//! so by its name.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

#[path = "support/started.rs"]
mod support;

use scaffold::Started;
use support::{started, text};

fn notes(started: &Started) -> Vec<String> {
    started.notes.iter().map(ToString::to_string).collect()
}

/// Notes that begin and go on like this, and no others.
fn assert_told(manifests: &str, expected: &[(&str, &str)]) {
    let notes = notes(&started("web", manifests));
    assert_eq!(notes.len(), expected.len(), "{manifests}: {notes:#?}");
    for (place, words) in expected {
        let told = |note: &String| note.starts_with(&format!("{place}: ")) && note.contains(words);
        assert!(notes.iter().any(told), "{place} {words}: {notes:#?}");
    }
}

/// A Deployment with something more in the spec of its pods, from line 9 on.
fn deployment(pods: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  selector: {{matchLabels: {{app: web}}}}\n  \
         template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n{pods}"
    )
}

#[test]
fn an_object_that_all_instances_use_is_told_once_where_it_is_named() {
    let container = |more: &str| {
        deployment(&format!(
            "      containers:\n      - name: a\n        image: a\n{more}"
        ))
    };
    let secret = "is `db` for every instance: there is no Secret of this name among the manifests";
    let config = "is `conf` for every instance: there is no ConfigMap of this name";
    for (manifests, expected) in [
        (
            container(
                "        env:\n        - {name: A, valueFrom: {secretKeyRef: {name: db, key: a}}}\n        - {name: B, valueFrom: {secretKeyRef: {name: db, key: b}}}\n",
            ),
            &[("m.yaml:13", secret)][..],
        ),
        (
            container("        envFrom: [{secretRef: {name: db}}, {configMapRef: {name: conf}}]\n"),
            &[("m.yaml:12", secret), ("m.yaml:12", config)],
        ),
        (
            deployment(
                "      volumes:\n      - {name: a, secret: {secretName: db}}\n      - {name: b, configMap: {name: conf}}\n",
            ),
            &[("m.yaml:10", secret), ("m.yaml:11", config)],
        ),
        (
            deployment(
                "      volumes: [{name: d, projected: {sources: [{secret: {name: db}}]}}]\n",
            ),
            &[("m.yaml:9", secret)],
        ),
        (
            deployment("      serviceAccountName: runner\n      serviceAccount: runner\n"),
            &[(
                "m.yaml:9",
                "is `runner` for every instance: there is no ServiceAccount of this name",
            )],
        ),
        (
            deployment(
                "      serviceAccountName: default\n      imagePullSecrets: [{name: pull}, {name: web-pull}]\n",
            ),
            &[],
        ),
        (
            deployment(
                "      volumes: [{name: a, projected: {sources: [{configMap: {name: kube-root-ca.crt}}]}}]\n",
            ),
            &[],
        ),
        (
            deployment(
                "      volumes:\n      - {name: a, secret: {secretName: s1}}\n      - {name: b, secret: {secretName: s2}}\n      - {name: c, secret: {secretName: web-s}}\n      - {name: d, secret: {secretName: s3}}\n      - {name: e, secret: {secretName: s4}}\n",
            ),
            &[
                (
                    "m.yaml:10",
                    "4 objects of the kind Secret are named that are not among the manifests, and every instance uses the same: s1, s2, s3, s4",
                ),
                ("m.yaml:12", "is `web-s` for every instance"),
            ],
        ),
        // Two objects that use one make it no news, nor does one that makes it.
        (
            format!(
                "{}---\n{}",
                container("        envFrom: [{secretRef: {name: db}}]\n"),
                container("        envFrom: [{secretRef: {name: db}}]\n")
                    .replace("name: web}", "name: web-b}")
            ),
            &[("m.yaml:12", secret)],
        ),
        (
            format!(
                "{}---\napiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {{name: db}}\n",
                container("        envFrom: [{secretRef: {name: db}}]\n")
            ),
            &[("m.yaml:14", "SealedSecret db keeps its name")],
        ),
    ] {
        assert_told(&manifests, expected);
    }
}

#[test]
fn a_certificate_that_cannot_fit_every_host_is_told() {
    let ingress = |annotations: &str, tls: &str| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: web{annotations}}}\nspec:\n  tls:\n  - {tls}\n  \
             rules: [{{host: a.example.org}}]\n"
        )
    };
    let issued = ", annotations: {cert-manager.io/issuer: x}";
    let hosts = "{hosts: [a.example.org], secretName: shop-tls}";
    for (manifests, expected) in [
        (
            ingress("", hosts),
            &[(
                "m.yaml:6",
                "`spec.tls[0].secretName` is `shop-tls` for every instance, while each has a host of its own, which the certificate has to fit (write `{{ .metadata.name }}-shop-tls` there and create it with each instance, unless it fits all hosts)",
            )][..],
        ),
        (
            ingress("", "{secretName: shop-tls}"),
            &[(
                "m.yaml:6",
                "`shop-tls` for every instance: there is no Secret of this name",
            )],
        ),
        (
            ingress(issued, hosts),
            &[(
                "m.yaml:6",
                "is `shop-tls` for every instance: two in a namespace would write one Secret (write `{{ .metadata.name }}-shop-tls` there",
            )],
        ),
        (
            ingress(issued, "{hosts: [a.example.org], secretName: web-tls}"),
            &[],
        ),
    ] {
        assert_told(&manifests, expected);
    }
}

#[test]
fn the_namespace_follows_the_instance_where_it_is_one_for_certain_and_is_told_elsewhere() {
    let manifests = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team-a}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: c
        image: nginx
        args: [--namespace=team-a, --leader-elect-namespace, team-a, --team=team-a-b, run -n team-a]
        env: [{name: NS, value: team-a}, {name: TEAM, value: the team-a}]
      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, labelSelector: {matchLabels: {app: web}}, namespaces: [team-a, team-b]}]}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: team-a}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress:
  - from:
    - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-a}}
    - namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [\"team-a\", kube-system]}]}
    - namespaceSelector: {matchLabels: {team: team-a}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web, namespace: team-a}
spec: {endpoints: [{port: http}], namespaceSelector: {matchNames: [team-a]}, selector: {matchLabels: {app: web}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: team-a}
spec: {parentRefs: [{name: gate, namespace: gates}, {name: web-gate, namespace: team-a}]}
";
    let made = started("web", manifests);
    let own = "{{ .metadata.namespace | quote }}";
    for (end, part) in [
        ("deployment.yaml", format!("namespaces: [{own}, team-b]")),
        (
            "networkpolicy.yaml",
            format!("{{kubernetes.io/metadata.name: {own}}}"),
        ),
        (
            "networkpolicy.yaml",
            "values: [\"{{ .metadata.namespace }}\", kube-system]".to_string(),
        ),
        ("servicemonitor.yaml", format!("matchNames: [{own}]")),
        (
            "httproute.yaml",
            format!("[{{name: gate, namespace: gates}}, {{name: web-gate, namespace: {own}}}]"),
        ),
    ] {
        assert!(
            text(&made, end).contains(&part),
            "{part}: {}",
            text(&made, end)
        );
    }
    let path = "spec.template.spec.containers[0]";
    let kept = "keep `team-a`, which is the namespace of the manifests";
    assert_told(
        manifests,
        &[
            (
                "m.yaml:12",
                &format!(
                    "Deployment web: `{path}.args[0]`, `{path}.args[2]`, `{path}.args[4]` and 1 more {kept}"
                ),
            ),
            (
                "m.yaml:25",
                "`spec.ingress[0].from[2].namespaceSelector.matchLabels.team` keeps `team-a`",
            ),
        ],
    );
}

#[test]
fn a_namespace_that_is_a_common_word_is_told_only_where_one_is_asked_for() {
    for (namespace, text, is_told) in [
        ("default", "default", false),
        ("default", "use --namespace default", true),
        ("web", "web", false),
        ("team", "team", true),
        ("team", "deploy/web-x -n team", true),
        ("team", "configmap/web --namespace team", true),
        ("team", "the team", false),
        ("team", "my-namespace: team-x", false),
    ] {
        let manifests = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web, namespace: {namespace}}}\ndata: {{a: \"{text}\"}}\n"
        );
        let expected =
            &[("m.yaml:4", "which is the namespace of the manifests")][..usize::from(is_told)];
        assert_told(&manifests, expected);
    }
    // Where the manifests have none, no text means theirs.
    assert_told(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: namespace=default}\n",
        &[],
    );
}

#[test]
fn what_stood_for_the_contents_of_an_object_is_told_with_what_follows_them() {
    let config = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-conf}\ndata: {a: b}\n";
    let secret =
        "---\napiVersion: v1\nkind: Secret\nmetadata: {name: web-key}\ndata: {password: YQ==}\n";
    let annotated = |annotation: &str, pods: &str| {
        deployment(pods).replace(
            "{labels: {app: web}}\n",
            &format!("{{labels: {{app: web}}, annotations: {{{annotation}}}}}\n"),
        )
    };
    let uses = "      volumes: [{name: a, configMap: {name: web-conf}}, {name: b, secret: {secretName: web-key}}]\n";
    let drawn = ("m.yaml:16", "password will be drawn");
    let told = "the annotation `checksum/config` of its pods is the same whatever `config` makes";
    for (manifests, expected) in [
        (
            annotated("checksum/config: 0e9c", uses) + config + secret,
            &[("m.yaml:7", told), drawn][..],
        ),
        (
            annotated("checksum/secret: 0e9c", uses) + config + secret,
            &[
                (
                    "m.yaml:7",
                    "write `{{ .secret.data | toJson | sha256sum }}` there; the cases in tests/web.yaml",
                ),
                drawn,
            ],
        ),
        (annotated("checksum/config: 0e9c", "") + config, &[]),
        (annotated("sum: 0e9c", uses) + config + secret, &[drawn]),
        (
            config.replace("web-conf", "web-conf-7h6k2m9f5b"),
            &[(
                "m.yaml:2",
                "ConfigMap web-conf-7h6k2m9f5b: kustomize named it by its contents",
            )],
        ),
        (config.replace("web-conf", "web-background"), &[]),
    ] {
        assert_told(&manifests, expected);
    }
}

#[test]
fn a_selector_behind_an_alias_tells_instances_apart_as_its_anchor_does() {
    let labelled = |app: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  labels: &l\n    app: {app}\nspec:\n  \
             selector: {{matchLabels: *l}}\n  template:\n    metadata: {{labels: *l}}\n    \
             spec: {{containers: [{{name: c, image: a}}]}}\n"
        )
    };
    assert_told(&labelled("web"), &[]);
    assert_told(
        &labelled("front"),
        &[(
            "m.yaml:1",
            "the selector of Deployment web finds the pods of every instance",
        )],
    );
}
