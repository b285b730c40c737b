//! `cairn init`: what it writes passes its own tests, whatever it was made from, and nothing is
//! ever overwritten.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::{cairn, root, told};

/// Runs the program, which has to succeed; what it printed.
fn succeeds(dir: &Path, args: &[&str]) -> String {
    let output = cairn(dir, args);
    let told = told(args, &output);
    assert!(output.status.success(), "{told}");
    told
}

fn passes(dir: &Path, name: &str) {
    let told = succeeds(dir, &["validate", name]);
    assert!(told.contains(&format!("{name}: ok (")), "{told}");
    succeeds(dir, &["test", name]);
}

#[test]
fn a_new_stack_is_valid_and_passes_its_tests_and_the_next_commands_work() {
    for (args, name) in [
        (&["init", "shop"][..], "shop"),
        (
            &[
                "init",
                "web-shop",
                "--group",
                "platform.example.org",
                "--dir",
                "stacks/web",
            ],
            "stacks/web",
        ),
    ] {
        let place = tempfile::tempdir().expect("a directory");
        let told = succeeds(place.path(), args);
        passes(place.path(), name);
        let next = told.split("Next:\n").nth(1).expect("next commands");
        let commands: Vec<&str> = next.lines().map(str::trim).collect();
        assert_eq!(commands.len(), 3, "{told}");
        for command in commands
            .iter()
            .filter(|command| !command.starts_with("cairn up"))
        {
            let words: Vec<&str> = command.split(' ').skip(1).collect();
            succeeds(place.path(), &words);
        }
    }
}

#[test]
fn manifests_become_a_stack_that_passes_its_tests() {
    let folder = root().join("crates/scaffold/tests/manifests");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("manifests") {
        let file = entry.expect("a file").path();
        let place = tempfile::tempdir().expect("a directory");
        succeeds(
            place.path(),
            &["init", "made", "--from", file.to_str().expect("a path")],
        );
        passes(place.path(), "made");
        count += 1;
    }
    assert!(count >= 5);
}

#[test]
fn what_the_examples_render_to_becomes_a_stack_again() {
    let mut count = 0;
    for entry in fs::read_dir(root().join("examples")).expect("examples") {
        let dir = entry.expect("an example").path();
        let Ok(files) = fs::read_dir(&dir) else {
            continue;
        };
        for file in files.filter_map(|entry| Some(entry.ok()?.path())) {
            let (package, instance) = (
                dir.to_str().expect("a path"),
                file.to_str().expect("a path"),
            );
            let is_instance =
                fs::read_to_string(&file).is_ok_and(|text| text.starts_with("apiVersion:"));
            if !is_instance {
                continue;
            }
            let rendered = cairn(&dir, &["render", package, "-f", instance, "-o", "json"]);
            let plan: Value = serde_json::from_slice(&rendered.stdout).expect("a plan");
            let applies = plan["passes"][0]["applies"].as_array().expect("a list");
            let objects: Vec<Value> = applies
                .iter()
                .map(|apply| {
                    let mut object = apply["object"].clone();
                    object["metadata"]
                        .as_object_mut()
                        .expect("metadata")
                        .remove("ownerReferences");
                    object
                })
                .collect();
            if objects.is_empty() {
                continue;
            }
            let place = tempfile::tempdir().expect("a directory");
            let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": objects});
            fs::write(place.path().join("all.json"), list.to_string()).expect("a file");
            let told = succeeds(place.path(), &["init", "again", "--from", "all.json"]);
            assert!(!told.contains("stays as it is"), "{told}");
            passes(place.path(), "again");
            count += 1;
        }
    }
    assert!(count >= 8, "only {count}");
}

#[test]
fn what_is_a_field_elsewhere_and_stays_in_a_text_is_told() {
    let manifests = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: blog}
data:
  BLOG_URL: https://blog.acme.io
  MAIL: admin@blog.acme.io
  built-from: based on ghost:5.9
---
apiVersion: v1
kind: Pod
metadata: {name: blog}
spec:
  containers: [{name: ghost, image: 'ghost:5.9'}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: blog}
spec:
  rules: [{host: blog.acme.io}]
";
    let place = tempfile::tempdir().expect("a directory");
    fs::write(place.path().join("all.yaml"), manifests).expect("a file");
    let told = succeeds(place.path(), &["init", "blog", "--from", "all.yaml"]);
    for (words, expected) in [
        (
            "all.yaml:1: ConfigMap blog: `data.MAIL` keeps `blog.acme.io`, which is a field elsewhere",
            true,
        ),
        (
            "hint: write `{{ .spec.host }}` there if it is the same",
            true,
        ),
        ("`data.built-from` keeps `ghost:5.9`", true),
        ("BLOG_URL", false),
    ] {
        assert_eq!(told.contains(words), expected, "{words}: {told}");
    }
    passes(place.path(), "blog");
    let told = succeeds(
        &place.path().join("blog"),
        &["explain", "config:data.BLOG_URL", "-f", "blog.yaml"],
    );
    assert!(told.contains("from .spec.host"), "{told}");
}

#[test]
fn the_tests_of_a_new_stack_still_pass_when_it_grows() {
    let place = tempfile::tempdir().expect("a directory");
    succeeds(place.path(), &["init", "shop"]);
    let stack = place.path().join("shop");
    let change = |file: &str, change: &dyn Fn(&str) -> String| {
        let text = fs::read_to_string(stack.join(file)).expect("a file");
        fs::write(stack.join(file), change(&text)).expect("a file");
    };
    change("shop.yaml", &|text| {
        text.replace("Hello from shop", "Hi")
            .replace("replicas: 1", "replicas: 3")
    });
    change(".registry/app.yaml", &|text| {
        format!("{text}- crd: ingress.networking.k8s.io/v1\n")
    });
    let ingress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: {{ .metadata.name | quote }}\nspec:\n  \
                   defaultBackend: {service: {name: {{ .service.metadata.name | quote }}, port: {number: 80}}}\n";
    fs::write(
        stack.join(".registry/templates/shop.example.org/v1alpha1/ingress.yaml"),
        ingress,
    )
    .expect("a file");
    passes(place.path(), "shop");
}

#[test]
fn the_manifests_of_a_directory_are_read_in_order_and_programs_are_told_what_was_left_out() {
    let place = tempfile::tempdir().expect("a directory");
    let manifest = |kind: &str, name: &str| {
        format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n")
    };
    fs::create_dir_all(place.path().join("all/deeper")).expect("a directory");
    for (file, text) in [
        ("all/b.yml", manifest("ConfigMap", "blog-b")),
        ("all/a.yaml", manifest("ConfigMap", "blog-a")),
        (
            "all/c.json",
            "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"blog-c\"}}"
                .into(),
        ),
        ("all/d.yaml", manifest("ServiceAccount", "blog")),
        ("all/kustomization.yaml", "resources: [a.yaml]\n".into()),
        ("all/notes.txt", "no manifest".into()),
        ("all/deeper/e.yaml", manifest("ConfigMap", "blog-e")),
    ] {
        fs::write(place.path().join(file), text).expect("a file");
    }
    let output = cairn(
        place.path(),
        &["init", "blog", "--from", "all", "-o", "json"],
    );
    assert!(output.status.success(), "{output:?}");
    let made: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let files = made["files"].to_string();
    for (part, expected) in [
        ("aConfigMap", true),
        ("bConfigMap", true),
        ("cConfigMap", true),
        ("eConfigMap", false),
    ] {
        assert_eq!(files.contains(part), expected, "{part}: {files}");
    }
    let warnings = made["warnings"].as_array().expect("warnings");
    let told = |at: usize, file: &str, words: &str| {
        let what = warnings[at]["what"].as_str().expect("a text");
        assert!(
            warnings[at]["file"] == file && what.contains(words),
            "{warnings:?}"
        );
    };
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    told(
        0,
        "all",
        "directories inside of it were not looked into: all/deeper",
    );
    told(1, "all/d.yaml", "ServiceAccount blog is left out");
    told(2, "all/kustomization.yaml", "a kustomization is left out");
    passes(place.path(), "blog");
}

#[test]
fn directories_with_manifests_that_were_not_looked_into_are_named() {
    let place = tempfile::tempdir().expect("a directory");
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n";
    for (file, name) in [
        ("out/a.yaml", "web-a"),
        ("out/chart/templates/b.yml", "web-b"),
        ("out/chart/charts/db/templates/c.json", "web-c"),
        ("out/.git/d.yaml", "web-d"),
        ("out/notes/e.txt", "web-e"),
        ("nest/f/g.yaml", "web-f"),
    ] {
        let file = place.path().join(file);
        fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        fs::write(file, manifest.replace("NAME", name)).expect("a file");
    }
    let deeper = ["out/chart/charts/db/templates", "out/chart/templates"];
    for (from, code, expected) in [
        (
            &["out"][..],
            0,
            format!(
                "out: directories inside of it were not looked into: {}\n",
                deeper.join(", ")
            ),
        ),
        (
            &["out"],
            0,
            format!(
                "hint: if they belong to it, name them too: `--from out {}`\n",
                deeper.join(" ")
            ),
        ),
        (
            &["out", deeper[0]],
            0,
            format!("were not looked into: {}\n", deeper[1]),
        ),
        (&["out/a.yaml"], 0, String::new()),
        (&["out", deeper[0], deeper[1]], 0, String::new()),
        (
            &["nest"],
            1,
            "hint: name the directories inside of it: `--from nest/f`".to_string(),
        ),
    ] {
        let args = [&["init", "web", "--from"][..], from].concat();
        let output = cairn(place.path(), &args);
        let told = told(&args, &output);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(
            told.contains(&expected)
                && told.contains("not looked into") == expected.contains("out"),
            "{told}"
        );
        let _ = fs::remove_dir_all(place.path().join("web"));
    }
}

#[test]
fn the_next_commands_are_for_the_namespace_of_the_manifests() {
    for (namespace, expected) in [
        ("team-x", "cairn up web -n team-x\n"),
        ("default", "cairn up web\n"),
    ] {
        let place = tempfile::tempdir().expect("a directory");
        let manifest = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web, namespace: {namespace}}}\n"
        );
        fs::write(place.path().join("all.yaml"), manifest).expect("a file");
        let told = succeeds(place.path(), &["init", "web", "--from", "all.yaml"]);
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn nothing_stays_behind_of_a_stack_that_cannot_be_written() {
    let place = tempfile::tempdir().expect("a directory");
    fs::create_dir(place.path().join("shop")).expect("a directory");
    fs::write(
        place.path().join("shop/tests"),
        "a file where a directory has to be",
    )
    .expect("a file");
    let output = cairn(place.path(), &["init", "shop"]);
    let told = told(&["init", "shop"], &output);
    assert!(
        !output.status.success() && told.contains("cannot write shop/tests"),
        "{told}"
    );
    let left: Vec<_> = fs::read_dir(place.path().join("shop"))
        .expect("a directory")
        .filter_map(Result::ok)
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn nothing_is_overwritten_and_nothing_written_in_vain() {
    let place = tempfile::tempdir().expect("a directory");
    fs::write(place.path().join("shop.yaml"), "mine").expect("a file");
    fs::write(place.path().join("bad.yaml"), "a: [").expect("a file");
    fs::create_dir(place.path().join("empty")).expect("a directory");
    let typo = "# a comment\napiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {Type: NodePort, ports: [{port: 80}]}\n";
    fs::write(place.path().join("typo.yaml"), typo).expect("a file");
    let old = "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\n";
    fs::write(place.path().join("old.yaml"), old).expect("a file");
    for (args, code, words) in [
        (
            &["init", "shop", "--dir", "."][..],
            1,
            "./shop.yaml is there already",
        ),
        (&["init", "Shop"], 2, "hint: for example `shop`"),
        (
            &["init", "shop", "--group", "example"],
            2,
            "--group platform.example.org",
        ),
        (
            &["init", "shop", "--group", "k8s.io"],
            2,
            "the group `k8s.io` is reserved for Kubernetes",
        ),
        (
            &[
                "init",
                "shop",
                "--group",
                "a.kubernetes.io",
                "--from",
                "typo.yaml",
            ],
            2,
            "hint: use a domain of your own",
        ),
        (
            &["init", "shop", "--from", "old.yaml"],
            1,
            "old.yaml:1: CronJob a: Kubernetes has no CronJob of `batch/v1beta1`",
        ),
        (
            &["init", "shop", "--from", "none.yaml"],
            1,
            "cannot read none.yaml",
        ),
        (
            &["init", "shop", "--from", "bad.yaml"],
            1,
            "bad.yaml:2:1: this is not YAML",
        ),
        (
            &["init", "shop", "--from", "-", "--from", "-"],
            2,
            "standard input can be read only once",
        ),
        (
            &["init", "shop", "--from", "-"],
            1,
            "there is no object in the manifests",
        ),
        (
            &["init", "shop", "--from", "typo.yaml"],
            1,
            "typo.yaml:2: Service a: `spec` has no field `Type`",
        ),
        (
            &["init", "shop", "--from", "empty"],
            1,
            "empty holds no .yaml, .yml or .json file",
        ),
    ] {
        let output = cairn(place.path(), args);
        let told = told(args, &output);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(words), "{told}");
    }
    let mut left: Vec<_> = fs::read_dir(place.path())
        .expect("a directory")
        .filter_map(Result::ok)
        .collect();
    left.sort_by_key(fs::DirEntry::file_name);
    assert_eq!(left.len(), 5, "{left:?}");
    assert_eq!(
        fs::read_to_string(place.path().join("shop.yaml")).expect("a file"),
        "mine"
    );
}
