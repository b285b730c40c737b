//! What a stack that was made from manifests does for a second instance: nothing of the first is in
//! it without a word, and nothing that all instances share is taken for its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may panic"
)]

use engine::{Context, Observed, Seed, Severity, Stack};
use package::Files;
use scaffold::{Manifest, Names, Started, blank, from_manifests};
use serde_json::{Value, json};

fn names(name: &str) -> Names {
    Names::new(name, "example.org").expect("a good name")
}

fn started(name: &str, text: &str) -> Started {
    let manifests = [Manifest {
        file: "m.yaml".to_string(),
        text: text.to_string(),
    }];
    from_manifests(&names(name), &manifests)
        .unwrap_or_else(|problems| panic!("{text}: {problems:#?}"))
}

/// What an instance of a name makes, by template, with the children that are there.
fn rendered(files: &Files, stack: &str, name: &str, children: &Observed) -> Vec<(String, Value)> {
    let (package, problems) = package::read(files);
    assert!(problems.is_empty(), "{problems:?}");
    let (compiled, problems) = engine::compile(&Stack::of(&package, "new", "default"));
    assert!(
        problems
            .iter()
            .all(|problem| problem.severity == Severity::Warning),
        "{problems:?}"
    );
    let compiled = compiled.expect("it compiles");
    let text = std::str::from_utf8(&files[&format!("{stack}.yaml")]).expect("a text");
    let mut instance = yaml::parse(text).expect("an instance");
    instance["metadata"]["uid"] = json!("1");
    instance["metadata"]["name"] = json!(name);
    let kind = &compiled.kinds[0];
    assert_eq!(
        kind.schema.as_ref().expect("a schema").admit(&mut instance),
        []
    );
    let seed = Seed::new(b"test");
    let context = Context::new("new", &seed);
    let plan = engine::plan(kind, &instance, children, &context);
    assert!(plan.problems.is_empty(), "{name}: {:?}", plan.problems);
    plan.applies
        .into_iter()
        .map(|apply| (apply.template, apply.object))
        .collect()
}

fn notes(started: &Started) -> String {
    started
        .notes
        .iter()
        .map(|note| format!("{note}\n"))
        .collect()
}

/// A Service, a workload and its settings, some of which are asked for.
fn application(settings: &[&str]) -> String {
    let data: String = settings
        .iter()
        .enumerate()
        .map(|(at, text)| format!("  v{at}: {}\n", json!(text)))
        .collect();
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: shop-db}}\nspec: {{selector: {{app: shop}}}}\n---\n\
         apiVersion: v1\nkind: Service\nmetadata: {{name: shop}}\nspec: {{selector: {{app: shop}}}}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: shop-conf}}\ndata:\n{data}"
    )
}

#[test]
fn a_second_instance_speaks_to_its_own_services_or_there_is_a_word() {
    for (text, expected) in [
        ("db.host=shop-db", Some("db.host=two-db")),
        ("--db2=shop-db", Some("--db2=two-db")),
        ("nc -z shop-db 5432", Some("nc -z two-db 5432")),
        (
            "shop-db.default.svc.cluster.local",
            Some("two-db.default.svc.cluster.local"),
        ),
        ("shop-db.default", Some("two-db.default")),
        ("shop-db-0.shop-db", Some("two-db-0.two-db")),
        ("shop-db,other", Some("two-db,other")),
        ("http://shop:80/", Some("http://two:80/")),
        ("/etc/shop-conf", None),
        ("shop-db.prod", None),
        ("shop-db.prod.svc", None),
        ("mode=shop", None),
        ("shop.prod.svc", None),
    ] {
        let started = started("shop", &application(&[text]));
        let made = rendered(&started.files, "shop", "two", &Observed::new());
        let (_, config) = made
            .iter()
            .find(|(template, _)| template == "config")
            .expect("a ConfigMap");
        assert_eq!(config["data"]["v0"], *expected.unwrap_or(text), "{text}");
        let told = notes(&started).contains("ConfigMap shop-conf: `data.v0` keeps `shop");
        assert_eq!(told, expected.is_none(), "{text}: {}", notes(&started));
    }
    // What is a word of its own, or only like a name, needs no other.
    let started = started(
        "shop",
        &application(&["the shop itself", "shopping", "shop-db-old", "my-shop"]),
    );
    assert_eq!(notes(&started), "");
}

#[test]
fn an_instance_may_be_called_like_a_number_or_a_boolean() {
    let manifests = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, labels: {app: web}}
spec:
  serviceName: web
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: 'web', \"of\": \"web\"}}
    spec:
      containers:
      - name: web
        image: nginx
        env: [{name: HOST, value: web}, {name: NS, value: web.default}, {name: POD, value: web-0.web}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}}
";
    let made = started("web", manifests);
    let config = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {}, "data": {"index.html": "x"}});
    for name in ["123", "1e5", "true", "on", "0x1f", "null", "12.5"] {
        for (template, object) in rendered(&made.files, "web", name, &Observed::new()) {
            let text = object.to_string();
            assert_eq!(object["metadata"]["name"], name, "{template}");
            assert_eq!(
                object["spec"]["selector"]
                    .to_string()
                    .matches(&format!("\"{name}\""))
                    .count(),
                1,
                "{text}"
            );
            if template == "statefulset" {
                let env = &object["spec"]["template"]["spec"]["containers"][0]["env"];
                let expected = [
                    name.to_string(),
                    format!("{name}.default"),
                    format!("{name}-0.{name}"),
                ];
                for (at, expected) in expected.iter().enumerate() {
                    assert_eq!(env[at]["value"], **expected, "{text}");
                }
            }
        }
        let blank = blank(&names("shop"));
        let mut children = Observed::new();
        let mut config = config.clone();
        config["metadata"]["name"] = json!(name);
        children.insert("config".into(), config);
        let made = rendered(&blank, "shop", name, &children);
        assert_eq!(made.len(), 3, "{name}");
        for (template, object) in made {
            assert_eq!(object["metadata"]["name"], name, "{template}");
        }
    }
}

/// Cases of manifests, with what is in the files that are made of them (by the end of a file's
/// name), and what is told.
type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], &'c [&'c str]);

fn check(name: &str, cases: &[Case<'_>], untold: &[&str]) {
    for (manifests, parts, told) in cases {
        let started = started(name, manifests);
        for (end, part) in *parts {
            let found = started.files.iter().find(|(path, _)| path.ends_with(end));
            let (_, bytes) = found.unwrap_or_else(|| panic!("{manifests}: no {end}"));
            let text = std::str::from_utf8(bytes).expect("a text");
            let (part, expected) = part
                .strip_prefix('!')
                .map_or((*part, true), |part| (part, false));
            assert_eq!(text.contains(part), expected, "{end}: {part:?}:\n{text}");
        }
        let notes = notes(&started);
        assert!(
            told.iter().all(|told| notes.contains(told)),
            "{told:#?}: {notes}"
        );
        assert!(
            untold.iter().all(|untold| !notes.contains(untold)),
            "{untold:#?}: {notes}"
        );
    }
}

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: nginx, image: nginx, volumeMounts: [{name: nginx, mountPath: /etc/nginx}]}]
";

fn with(more: &str) -> String {
    format!("{DEPLOYMENT}{more}")
}

#[test]
fn what_is_scaled_by_another_object_has_no_number_of_its_own() {
    let scaler = "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\n\
                  spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: NAME}, minReplicas: 2, maxReplicas: 5}\n";
    check(
        "web",
        &[
            (
                &with(&scaler.replace("NAME", "web")),
                &[
                    ("deployment.yaml", "!replicas"),
                    ("crd.yaml", "!              replicas:"),
                    ("crd.yaml", "minReplicas:"),
                ],
                &[
                    "Deployment web: `spec.replicas` is left out: HorizontalPodAutoscaler web sets it",
                ],
            ),
            (
                &with(&scaler.replace("NAME", "else")),
                &[("deployment.yaml", "replicas: {{ .spec.replicas }}")],
                &[],
            ),
        ],
        &[],
    );
}

#[test]
fn what_the_stack_does_not_make_keeps_the_name_that_all_instances_share() {
    let account = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web}\n";
    let claim =
        "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: web-data}\nspec: {}\n";
    let pulls = "---\napiVersion: v1\nkind: Secret\ntype: kubernetes.io/dockerconfigjson\nmetadata: {name: web-pull}\ndata: {.dockerconfigjson: e30=}\n";
    let record = "---\napiVersion: v1\nkind: Secret\ntype: helm.sh/release.v1\nmetadata: {name: sh.helm.release.v1.web.v1}\ndata: {release: e30=}\n";
    let empty = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: web-empty}\n";
    let uses = "      serviceAccountName: web
      priorityClassName: web
      nodeSelector: {pool: web}
      imagePullSecrets: [{name: web-pull}]
      volumes: [{name: a, configMap: {name: web-shared}}, {name: b, persistentVolumeClaim: {claimName: web-data}}]
";
    check(
        "web",
        &[
            (
                &with(&format!("{uses}{account}{pulls}{record}{empty}")),
                &[
                    ("deployment.yaml", "serviceAccountName: web\n"),
                    ("deployment.yaml", "priorityClassName: web\n"),
                    ("deployment.yaml", "nodeSelector: {pool: web}"),
                    ("deployment.yaml", "imagePullSecrets: [{name: web-pull}]"),
                    ("deployment.yaml", "configMap: {name: web-shared}"),
                    ("deployment.yaml", "claimName: web-data}"),
                ],
                &[
                    "ServiceAccount web is left out",
                    "all instances use the one of this name",
                    "configMap.name` is `web-shared` for every instance: there is no ConfigMap of this name",
                    "claimName` is `web-data` for every instance",
                    "(keep it beside the stack: all instances use the Secret web-pull",
                    "Secret sh.helm.release.v1.web.v1 is left out: Helm keeps its record of a release in it",
                ],
            ),
            (
                &with(&format!("{uses}{account}{claim}")),
                &[("deployment.yaml", "claimName: {{ .metadata.name }}-data}")],
                &[],
            ),
            (
                &with(
                    "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\n\
                     metadata: {name: web, annotations: {cert-manager.io/issuer: x}}\n\
                     spec: {tls: [{secretName: web-tls}]}\n",
                ),
                &[("ingress.yaml", "secretName: {{ .metadata.name }}-tls")],
                &[],
            ),
        ],
        &[": `spec.template.spec.serviceAccountName`", "web-empty"],
    );
}

#[test]
fn what_names_an_object_by_its_place_follows_it() {
    let set = "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web-all
  selector: {matchExpressions: [{key: app, operator: In, values: [web]}]}
  template:
    metadata: {labels: {app: web, kind: web}}
    spec:
      subdomain: web-all
      affinity:
        podAntiAffinity: {x: {labelSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}}}
        nodeAffinity: {x: {matchExpressions: [{key: pool, operator: In, values: [web]}]}}
      containers:
      - name: web-all
        image: a:1
        ports: [{name: web-all, containerPort: 80}]
        args: [$(POD).web-all, statefulset/web]
        readinessProbe: {httpGet: {port: web-all}}
        command: [web]
      volumes: [{name: b, persistentVolumeClaim: {claimName: data-web-0}}, {name: data, persistentVolumeClaim: {claimName: data}}]
  volumeClaimTemplates: [{metadata: {name: data}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: None, selector: {app: web}}
---
apiVersion: v1
kind: Service
metadata: {name: web-all}
spec: {ports: [{port: 80, targetPort: web-all}], selector: {statefulset.kubernetes.io/pod-name: web-0}}
";
    check(
        "web",
        &[(
            set,
            &[
                (
                    "statefulset.yaml",
                    "serviceName: {{ .metadata.name }}-all\n",
                ),
                (
                    "statefulset.yaml",
                    "selector: {matchExpressions: [{key: app, operator: In, values: [{{ .metadata.name | quote }}]}]}",
                ),
                (
                    "statefulset.yaml",
                    "labels: {app: {{ .metadata.name | quote }}, kind: {{ .metadata.name | quote }}}",
                ),
                ("statefulset.yaml", "subdomain: {{ .metadata.name }}-all"),
                (
                    "statefulset.yaml",
                    "labelSelector: {matchExpressions: [{key: app, operator: In, values: [{{ .metadata.name | quote }}]}]}",
                ),
                (
                    "statefulset.yaml",
                    "nodeAffinity: {x: {matchExpressions: [{key: pool, operator: In, values: [web]}]}}",
                ),
                ("statefulset.yaml", "- name: web-all\n"),
                ("statefulset.yaml", "ports: [{name: web-all,"),
                (
                    "statefulset.yaml",
                    "args: [$(POD).{{ .metadata.name }}-all, statefulset/{{ .metadata.name }}]",
                ),
                ("statefulset.yaml", "httpGet: {port: web-all}"),
                ("statefulset.yaml", "claimName: data-{{ .metadata.name }}-0"),
                ("allService.yaml", "targetPort: web-all"),
                ("allService.yaml", "pod-name: \"{{ .metadata.name }}-0\""),
            ],
            &[],
        )],
        &["m.yaml"],
    );
}

#[test]
fn a_host_that_is_everywhere_and_an_image_that_is_a_word_are_no_news() {
    let host = "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\n\
                spec: {ingressClassName: nginx, rules: [{host: \"HOST\"}]}\n---\n\
                apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-conf}\ndata: {a: \"redis://HOST:6379 nginx\"}\n";
    let of = |name: &str| with(&host.replace("HOST", name));
    check(
        "web",
        &[
            (
                &of("localhost"),
                &[("config.yaml", "redis://localhost:6379")],
                &[],
            ),
            (
                &of("10.0.0.1"),
                &[("config.yaml", "redis://10.0.0.1:6379")],
                &[],
            ),
            (
                &of("a.example.org"),
                &[
                    ("config.yaml", "redis://{{ .spec.host }}:6379"),
                    ("crd.yaml", "!\\*"),
                ],
                &[],
            ),
            (
                &of("apps"),
                &[("deployment.yaml", "apiVersion: apps/v1")],
                &[],
            ),
            (
                &of("*.acme.io"),
                &[
                    ("tests/web.yaml", "host: \"*.other.acme.io\""),
                    ("crd.yaml", "pattern: '^(\\*\\.)?"),
                ],
                &[],
            ),
        ],
        &["keeps `localhost`", "keeps `nginx`", "keeps `apps`"],
    );
}

#[test]
fn what_only_one_instance_can_have_is_told() {
    check(
        "web",
        &[(
            &format!(
                "{}---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {{name: web}}\n\
                 spec: {{podSelector: {{matchLabels: {{app: front}}}}}}\n---\n\
                 apiVersion: v1\nkind: Service\nmetadata: {{name: web, namespace: team}}\n\
                 spec: {{loadBalancerIP: 10.1.2.3, selector: {{app: web}}, ports: [{{port: 80, nodePort: 30080}}]}}\n---\n\
                 apiVersion: acme.io/v1\nkind: Zone\nmetadata: {{name: web}}\n",
                DEPLOYMENT.replace("image: nginx,", "image: nginx, ports: [{hostPort: 8080}],")
            ),
            &[],
            &[
                "the selector of NetworkPolicy web finds the pods of every instance",
                "Service web: `spec.ports[0].nodePort` is 30080 for every instance, and only one can have it",
                "`spec.loadBalancerIP` is 10.1.2.3",
                "ports[0].hostPort` is 8080",
                "Zone web has no namespace, unlike the others: its kind may be one without",
            ],
        )],
        &["Deployment web has no namespace"],
    );
}

#[test]
fn what_became_a_field_is_up_to_the_instance_and_needs_no_word() {
    let manifests = "apiVersion: v1\nkind: Service\nmetadata: {name: report-api}\nspec: {selector: {app: report-api}}\n---\n\
                     apiVersion: v1\nkind: Service\nmetadata: {name: report}\nspec: {selector: {app: report}}\n---\n\
                     apiVersion: v1\nkind: Pod\nmetadata: {name: report-api, labels: {app: report-api}}\n\
                     spec: {containers: [{name: api, image: \"ghcr.io/acme/report-api:1.0\", args: [\"/bin/report-api\"]}]}\n";
    check(
        "report",
        &[(
            manifests,
            &[("pod.yaml", "image: {{ .spec.image | quote }}")],
            &["`spec.containers[0].args[0]` keeps"],
        )],
        &["containers[0].image"],
    );
}

#[test]
fn a_name_of_its_own_is_not_all_that_an_object_with_a_selector_needs() {
    let config = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n";
    let service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: front}\nspec: {selector: {app: front}}\n";
    let tests = "the cases in tests/web.yaml expect the old name";
    check(
        "web",
        &[
            (
                &with(service),
                &[],
                &[&format!(
                    "`{{{{ .metadata.name }}}}-front` gives each instance its own once its selector and its pods have \
                     `app.kubernetes.io/instance: {{{{ .metadata.name | quote }}}}`; {tests}"
                )],
            ),
            (
                &with(config),
                &[],
                &[&format!(
                    "`{{{{ .metadata.name }}}}-settings` gives each instance its own; {tests}"
                )],
            ),
        ],
        &[],
    );
}

#[test]
fn a_key_that_yaml_takes_for_a_truth_is_told_where_it_is_written() {
    let config = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  yes: \"1\"\n  \"on\": \"2\"\n";
    let keys = "m.yaml:16:3: YAML reads the key `yes` as `true`";
    check(
        "web",
        &[(
            &with(config),
            &[],
            &[keys, "write it in quotes: `\"yes\":`"],
        )],
        &["`on`"],
    );
    check(
        "web",
        &[(&with(&config.replace("yes", "\"yes\"")), &[], &[])],
        &["YAML reads"],
    );
}
