//! A stack made from manifests renders to what it was made from, and a small one to begin with has
//! no fault.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may panic"
)]

use engine::{Context, Observed, Plan, Seed, Severity, Stack};
use package::Files;
use scaffold::{Manifest, Names, Started, blank, from_manifests};
use serde_json::{Value, json};

const FIXTURES: [(&str, &str, &str); 5] = [
    ("shop", "web.yaml", include_str!("manifests/web.yaml")),
    (
        "postgres",
        "database.yaml",
        include_str!("manifests/database.yaml"),
    ),
    (
        "guestbook",
        "several.yaml",
        include_str!("manifests/several.yaml"),
    ),
    ("api", "live.yaml", include_str!("manifests/live.yaml")),
    ("monitoring", "odd.yaml", include_str!("manifests/odd.yaml")),
];

fn names(name: &str) -> Names {
    Names::new(name, "example.org").expect("a good name")
}

fn started(name: &str, file: &str, text: &str) -> Started {
    let manifests = [Manifest {
        file: file.to_string(),
        text: text.to_string(),
    }];
    from_manifests(&names(name), &manifests)
        .unwrap_or_else(|problems| panic!("{file}: {problems:#?}"))
}

fn text<'f>(files: &'f Files, end: &str) -> &'f str {
    let (_, bytes) = files
        .iter()
        .find(|(path, _)| path.ends_with(end))
        .unwrap_or_else(|| panic!("no {end}"));
    std::str::from_utf8(bytes).expect("a text")
}

/// What an instance of a stack in these files becomes.
fn rendered(files: &Files, instance: &Value) -> Plan {
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
    let kind = &compiled.kinds[0];
    let mut instance = instance.clone();
    assert_eq!(
        kind.schema.as_ref().expect("a schema").admit(&mut instance),
        []
    );
    let seed = Seed::new(b"test");
    let context = Context::new("new", &seed);
    engine::plan(kind, &instance, &Observed::new(), &context)
}

fn instance(files: &Files, name: &str) -> Value {
    let mut value =
        yaml::parse(std::str::from_utf8(&files[&format!("{name}.yaml")]).expect("a text"))
            .expect("an instance");
    value["metadata"]["uid"] = json!("1");
    value
}

/// An object as its author wrote it: without what a cluster, a namespace or the engine adds.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    object.as_object_mut().expect("an object").remove("status");
    let metadata = object["metadata"].as_object_mut().expect("metadata");
    let added = [
        "creationTimestamp",
        "generation",
        "managedFields",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "uid",
    ];
    metadata.retain(|key, _| !added.contains(&key.as_str()));
    for field in ["labels", "annotations"] {
        if let Some(fields) = metadata.get_mut(field).and_then(Value::as_object_mut) {
            let noise = [
                "stacks.crossplane.io/",
                "deployment.kubernetes.io/",
                "kubectl.kubernetes.io/",
            ];
            fields.retain(|key, _| !noise.iter().any(|noise| key.starts_with(noise)));
        }
    }
    metadata.retain(|_, value| value.as_object().is_none_or(|fields| !fields.is_empty()));
    if let Some(template) = object
        .pointer_mut("/spec/template/metadata")
        .and_then(Value::as_object_mut)
    {
        template.remove("creationTimestamp");
    }
    if object["kind"] == "Secret" {
        object["data"] = Value::Null;
        object
            .as_object_mut()
            .expect("an object")
            .remove("stringData");
    }
    if object["kind"] == "Deployment" && object["metadata"]["name"] == "shop" {
        object["spec"]
            .as_object_mut()
            .expect("a spec")
            .remove("replicas");
    }
    if object["kind"] == "Service" && object["metadata"]["name"] == "api" {
        let spec = object["spec"].as_object_mut().expect("a spec");
        spec.retain(|key, _| !key.starts_with("clusterIP") && !key.starts_with("ipFamil"));
        spec["ports"][0]
            .as_object_mut()
            .expect("a port")
            .remove("nodePort");
    }
    object
}

fn originals(text: &str) -> Vec<Value> {
    let documents = yaml::documents(text).expect("YAML");
    let values = documents
        .iter()
        .map(|document| yaml::parse(&document.text).expect("YAML"));
    values
        .flat_map(|value| match value["items"].as_array() {
            Some(items) => items.clone(),
            None => vec![value],
        })
        .collect()
}

#[test]
fn the_instance_renders_to_the_objects_that_were_given() {
    for (name, file, manifest) in FIXTURES {
        let started = started(name, file, manifest);
        let plan = rendered(&started.files, &instance(&started.files, name));
        assert!(
            plan.problems.is_empty() && plan.holds.is_empty(),
            "{file}: {:?} {:?}",
            plan.problems,
            plan.holds
        );
        let given: Vec<Value> = originals(manifest).iter().map(bare).collect();
        for apply in &plan.applies {
            let made = bare(&apply.object);
            let title =
                |object: &Value| (object["kind"].clone(), object["metadata"]["name"].clone());
            let original = given
                .iter()
                .find(|object| title(object) == title(&made))
                .expect("one of the given");
            assert_eq!(made, *original, "{file}: {}", apply.template);
        }
        let stays: Vec<_> = started
            .notes
            .iter()
            .filter(|note| note.what.contains("stays as it is"))
            .collect();
        assert!(stays.is_empty(), "{file}: {stays:?}");
    }
}

#[test]
fn another_instance_shares_nothing_but_what_the_notes_say() {
    for (name, file, manifest) in FIXTURES {
        let started = started(name, file, manifest);
        let mut other = instance(&started.files, name);
        other["metadata"]["name"] = json!("other");
        let plan = rendered(&started.files, &other);
        for apply in &plan.applies {
            let own = apply.object["metadata"]["name"]
                .as_str()
                .expect("a name")
                .starts_with("other");
            let title = format!("{} ", apply.object["kind"].as_str().expect("a kind"));
            let told = started
                .notes
                .iter()
                .any(|note| note.what.contains("keeps its name") && note.what.starts_with(&title));
            assert!(own || told, "{file}: {}", apply.template);
        }
    }
}

#[test]
fn what_becomes_of_each_part_is_as_an_author_would_write_it() {
    for (fixture, end, parts) in [
        (
            0,
            "alpha1/deployment.yaml",
            &[
                "# The shop, as it was applied by hand",
                "  name: {{ .metadata.name | quote }}\n  labels:\n    app: {{ .metadata.name | quote }}          # selected by the Service\n",
                "spec:\n  selector:\n",
                "matchLabels: {app: {{ .metadata.name | quote }}}",
                "image: {{ .spec.image | quote }}   # bumped by hand",
                "image: {{ .spec.metricsImage | quote }}",
                "\"{{ .metadata.name }}-db:5432\"",
                "value: {{ .metadata.name }}-db\n",
                "http://{{ .metadata.name }}.{{ .metadata.namespace }}.svc",
                "value: shop\n",
                "- name: shop\n          containerPort",
                "port: shop",
                "serviceAccountName: shop\n",
                "secretRef: {name: shop-credentials}",
                "configMapKeyRef: {name: {{ .metadata.name }}-config, key: cache}",
            ][..],
        ),
        (
            0,
            "config.yaml",
            &[
                "# the shop itself",
                "http://{{ .metadata.name }}-db:5432",
                "\"Hello ${shop}\"",
                "public: {{ .spec.host | quote }}\n",
                "help: \"see {{ .spec.host }}.\"\n",
                "origin = https://{{ .spec.host }}/cart\n",
            ],
        ),
        (
            0,
            "ingress.yaml",
            &[
                "hosts: [{{ .spec.host | quote }}]",
                "secretName: shop-tls",
                "- host: {{ .spec.host | quote }}",
            ],
        ),
        (
            0,
            "scaler.yaml",
            &[
                "metadata: {name: {{ .metadata.name | quote }}}\n",
                "minReplicas: {{ .spec.minReplicas }}",
                "kind: Deployment, name: {{ .metadata.name | quote }}}",
            ],
        ),
        (
            0,
            "crd.yaml",
            &[
                "default: \"registry.example.org/shop:1.4.2\"",
                "default: 10",
                "description: The image of the container metrics.",
            ],
        ),
        (0, "shop.yaml", &["name: shop\n  namespace: team\n"]),
        (
            1,
            "statefulset.yaml",
            &[
                "serviceName: {{ .metadata.name }}-headless",
                "- name: orders-db-data\n",
                "claimName: {{ .metadata.name }}-backup",
            ],
        ),
        (
            1,
            "secret.yaml",
            &["password: {{ generated \"secret.password\" \"randAlphaNum\" 32 | b64enc }}"],
        ),
        (
            1,
            "cronjob.yaml",
            &[
                "-h {{ .metadata.name }}-headless.{{ .metadata.namespace }}.svc",
                ".spec.image",
            ],
        ),
        (
            1,
            "app.yaml",
            &["- crd: statefulset.apps/v1", "- crd: secret/v1"],
        ),
        (
            2,
            "crd.yaml",
            &[
                "frontendReplicas:",
                "leaderReplicas:",
                "followerReplicas:",
                "phpImage:",
                "redisImage:",
            ],
        ),
        (2, "followerDeployment.yaml", &[".spec.followerRedisImage"]),
        (
            3,
            "deployment.yaml",
            &[
                "name: {{ .metadata.name | quote }}\nspec:",
                "apiVersion: apps/v1\nkind: Deployment",
            ],
        ),
        (
            4,
            "config.yaml",
            &[
                "{{ \"{{\" }} $labels.instance }}",
                "for {{ .metadata.name }}:9093",
            ],
        ),
    ] {
        let (name, file, manifest) = FIXTURES[fixture];
        let started = started(name, file, manifest);
        let found = text(&started.files, end);
        for part in parts {
            assert!(
                found.contains(part),
                "{file}: {end} lacks {part:?}:\n{found}"
            );
        }
    }
}

#[test]
fn what_is_left_out_is_told_with_its_place_and_what_to_do() {
    for (fixture, expected) in [
        (
            0,
            &[
                (
                    "web.yaml:2",
                    "`spec.replicas` is left out: HorizontalPodAutoscaler shop sets it",
                ),
                (
                    "web.yaml:19",
                    "serviceAccountName` is `shop` for every instance",
                ),
                (
                    "web.yaml:39",
                    "secretRef.name` is `shop-credentials` for every instance",
                ),
                (
                    "web.yaml:2",
                    "env[2].value` keeps `shop`, which is the name of Service shop",
                ),
                (
                    "web.yaml:97",
                    "`spec.tls[0].secretName` is `shop-tls` for every instance, while each has a host of its own",
                ),
            ][..],
        ),
        (
            1,
            &[
                ("database.yaml:1", "Namespace data is left out"),
                ("database.yaml:6", "ServiceAccount orders-db is left out"),
                (
                    "database.yaml:10",
                    "Secret orders-db: password will be drawn",
                ),
                ("database.yaml:19", "Secret orders-db-tls is left out"),
            ],
        ),
        (
            2,
            &[
                ("several.yaml:", "Service redis-leader keeps its name"),
                (
                    "several.yaml:",
                    "the selector of Deployment guestbook-follower",
                ),
                (
                    "several.yaml:",
                    "`spec.ports[0].nodePort` is 30080 for every instance, and only one can have it",
                ),
            ],
        ),
        (
            3,
            &[
                (
                    "live.yaml:",
                    "ReplicaSet api-6d4cf56db6 is left out: it belongs to Deployment api",
                ),
                ("", "live.yaml: what a cluster wrote into 2 objects"),
            ],
        ),
        (4, &[]),
    ] {
        let (name, file, manifest) = FIXTURES[fixture];
        let started = started(name, file, manifest);
        let told: Vec<(String, &str)> = started
            .notes
            .iter()
            .map(|note| {
                (
                    note.place
                        .as_ref()
                        .map(ToString::to_string)
                        .unwrap_or_default(),
                    note.what.as_str(),
                )
            })
            .collect();
        assert_eq!(told.len(), expected.len(), "{told:#?}");
        for (place, what) in expected {
            assert!(
                told.iter()
                    .any(|(at, note)| at.starts_with(place) && note.contains(what)),
                "{what}: {told:#?}"
            );
        }
    }
}

#[test]
fn no_value_of_a_secret_is_in_any_file() {
    let (name, file, manifest) = FIXTURES[1];
    for (path, bytes) in started(name, file, manifest).files {
        let text = String::from_utf8(bytes).expect("a text");
        for value in ["hunter2", "aHVudGVyMi", "bmV2ZXItY29waWVk", "never-copied"] {
            assert!(!text.contains(value), "{path} has {value}");
        }
    }
}

#[test]
fn what_no_stack_can_be_made_of_is_refused() {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: one}\n";
    for (text, told) in [
        ("", "there is no object"),
        ("a: [", "m.yaml:2:1: this is not YAML"),
        ("kind: ConfigMap\n", "m.yaml:1: this is no object"),
        (
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
            "nothing is left",
        ),
        (
            &format!("{map}---\n{map}"),
            "m.yaml:5: ConfigMap a is there twice, first at m.yaml:1",
        ),
        (
            &format!(
                "{map}---\n{}",
                map.replace("one", "two").replace(": a", ": b")
            ),
            "ConfigMap b is in the namespace two",
        ),
        (&format!("{map}a: 1\na: 2\n"), "already set in map"),
        (
            &format!("{map}data: {{x: y}}\n"),
            "m.yaml:4:11: ConfigMap a: `data.x` is a boolean",
        ),
        (
            &format!("{map}...\nmore: [\n"),
            "m.yaml:5: this stands behind the end of an object",
        ),
        (
            "{\"apiVersion\": \"v1\"}\n}}}garbage",
            "m.yaml:2:1: what follows a JSON object here",
        ),
        (
            "{kind: A}\nmore\n",
            "m.yaml:2: this stands behind the end of an object",
        ),
    ] {
        let manifests = [Manifest {
            file: "m.yaml".into(),
            text: text.to_string(),
        }];
        let problems = from_manifests(&names("x"), &manifests).expect_err(text);
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(shown.join("\n").contains(told), "{text}: {shown:?}");
    }
}

#[test]
fn manifests_with_a_line_missing_make_a_stack_or_a_problem() {
    for (name, file, manifest) in FIXTURES {
        let lines: Vec<&str> = manifest.lines().collect();
        for left in (0..lines.len()).step_by(3) {
            let kept: Vec<&str> = lines
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != left)
                .map(|(_, line)| *line)
                .collect();
            let manifests = [Manifest {
                file: file.to_string(),
                text: kept.join("\n"),
            }];
            if let Err(problems) = from_manifests(&names(name), &manifests) {
                assert!(
                    !problems.is_empty()
                        && problems
                            .iter()
                            .all(|problem| !problem.what.contains("no template could")
                                || problem.what.contains("refuse")),
                    "{file} without line {}: {problems:?}",
                    left + 1
                );
            }
        }
    }
}

#[test]
fn the_small_stack_has_no_fault_whatever_it_is_called() {
    for name in ["shop", "web-shop", "redis", "y2k", "a-b-c-d"] {
        let files = blank(&names(name));
        let plan = rendered(&files, &instance(&files, name));
        assert!(plan.problems.is_empty(), "{name}: {:?}", plan.problems);
        assert_eq!(plan.applies.len(), 2, "{name}");
        assert_eq!(plan.holds.len(), 1, "{name}");
    }
}
