//! `cairn test` from outside: what tests of a package can expect, how they fail, and that one bad
//! file stops no other.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

mod support;

use std::{fs, process::Output};

use serde_json::Value;
use support::{cairn, example, told};

/// Runs these files as the tests of a copy of an example.
fn tested(name: &str, files: &[(&str, &str)], args: &[&str]) -> Output {
    let place = example(name);
    let folder = place.path().join("tests");
    fs::remove_dir_all(&folder).expect("its own tests go");
    fs::create_dir(&folder).expect("a directory");
    for (file, text) in files {
        fs::write(folder.join(file), text).expect("the file is written");
    }
    cairn(place.path(), &[&["test", "."], args].concat())
}

const GIVEN: &str = "name: x\ninstance: ../cacheme.yaml\n";
const SETTLING: &str = "simulate:\n- {child: cache, status: {endpoint: a}}\n- {child: web, status: {readyReplicas: 2}}\n";

#[test]
fn a_test_can_expect_an_order_pass_by_pass_or_flat() {
    for (given, expected, found) in [
        (SETTLING, "order: [cache, web]", ""),
        (SETTLING, "order: [[cache], [web]]", ""),
        (SETTLING, "order: [cache, [web]]", ""),
        (
            SETTLING,
            "order: [web, cache]",
            "tests/a.yaml:7:3: order: expected [\"web\",\"cache\"], found [\"cache\",\"web\"]",
        ),
        (
            SETTLING,
            "order: [[cache, web]]",
            "order: expected [[\"cache\",\"web\"]], found [[\"cache\"],[\"web\"]]",
        ),
        ("", "order: [cache]", ""),
        (
            "",
            "order: [web]",
            "order: expected [\"web\"], found [\"cache\"]",
        ),
        ("", "order: [wen]", "\"wen\" (did you mean \"web\"?)"),
    ] {
        let output = tested(
            "caching-web-service",
            &[("a.yaml", &format!("{GIVEN}{given}expect:\n  {expected}\n"))],
            &[],
        );
        let told = told(&[given, expected], &output);
        assert_eq!(output.status.success(), found.is_empty(), "{told}");
        assert!(told.contains(found), "{told}");
    }
}

#[test]
fn a_test_can_expect_that_an_instance_is_refused() {
    let given = |spec: &str| {
        let metadata =
            "apiVersion: example.org/v1\n  kind: CachingWebService\n  metadata: {name: x}";
        format!("name: x\ninstance:\n  {metadata}\n  spec: {spec}\n")
    };
    let two = "{replicas: two}";
    for (spec, expected, found) in [
        (two, "refused: [spec.replicas, nginxVersion]", ""),
        (
            two,
            "refused: [{at: spec.replicas, says: integer}, {at: spec.nginxVersion}]",
            "",
        ),
        (
            two,
            "refused: spec.replicas",
            "tests/a.yaml:8:3: an error that is not expected: tests/a.yaml:6:3: ",
        ),
        (
            two,
            "refused: [{at: spec.replica}, Invalid, Required]",
            "tests/a.yaml:8:13: no error says one at spec.replica",
        ),
        (
            two,
            "refused: [spec.replicas, nginxVersion]\n  waits: {}",
            "`refused` stands alone",
        ),
        (
            two,
            "waits: {}",
            "tests/a.yaml:6:20: the API server would refuse this CachingWebService: spec.replicas",
        ),
        (
            "{nginxVersion: a}",
            "refused: x",
            "tests/a.yaml:8:3: the instance was expected to be refused, and is not",
        ),
    ] {
        let text = format!("{}expect:\n  {expected}\n", given(spec));
        let output = tested("caching-web-service", &[("a.yaml", &text)], &[]);
        let told = told(&[spec, expected], &output);
        assert_eq!(output.status.success(), found.is_empty(), "{told}");
        assert!(told.contains(found), "{told}");
    }
}

#[test]
fn a_test_can_expect_that_nothing_ever_comes_to_rest() {
    let given = "name: x\ninstance: ../plusses.yaml\n";
    for (name, text, found) in [
        (
            "plus-one",
            format!("{given}simulate: []\nexpect: {{settles: false}}\n"),
            "",
        ),
        (
            "plus-one",
            format!("{given}simulate: []\nexpect: {{settles: true}}\n"),
            "tests/a.yaml:3:1: it does not settle",
        ),
        (
            "plus-one",
            format!("{given}simulate: []\nexpect: {{status: {{}}}}\n"),
            "it does not settle",
        ),
        (
            "plus-one",
            format!("{given}expect: {{settles: false}}\n"),
            "tests/a.yaml:3:10: only a simulation settles",
        ),
        (
            "caching-web-service",
            format!("{GIVEN}{SETTLING}expect: {{settles: false}}\n"),
            "it settles, after 4 passes",
        ),
    ] {
        let output = tested(name, &[("a.yaml", &text)], &[]);
        let told = told(&[&text], &output);
        assert_eq!(output.status.success(), found.is_empty(), "{told}");
        assert!(told.contains(found), "{told}");
    }
}

#[test]
fn a_test_can_expect_an_error_by_its_words_and_its_place() {
    // An odd name for the cache: the template prints it, and no object can be called so.
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .metadata.name }}_x\n";
    for (expected, found) in [
        ("errors: {greeting: lower case}", ""),
        ("errors: {greeting: {at: \"greeting.yaml:4\"}}", ""),
        (
            "errors: {greeting: [{at: \"greeting.yaml:4\", says: lower case}]}",
            "",
        ),
        (
            "errors: {greeting: {at: \"greeting.yaml:5\"}}",
            "no error says one at greeting.yaml:5",
        ),
        ("errors: {greeting: {}}", "this fits every error"),
        ("absent: [greeting]", "greeting: .registry/templates/"),
    ] {
        let place = example("hello-world");
        let folder = ".registry/templates/helloworld.crossplane.example.com/v1";
        fs::write(place.path().join(folder).join("greeting.yaml"), template).expect("a template");
        let app = place.path().join(".registry/app.yaml");
        let text = fs::read_to_string(&app).expect("an app");
        fs::write(&app, format!("{text}dependsOn:\n- crd: configmap/v1\n")).expect("an app");
        let test = format!("name: x\ninstance: ../world.yaml\nexpect:\n  {expected}\n");
        fs::write(place.path().join("tests/greeting.yaml"), test).expect("a test");
        let output = cairn(place.path(), &["test", "."]);
        let told = told(&[expected], &output);
        assert_eq!(output.status.success(), found.is_empty(), "{told}");
        assert!(told.contains(found), "{told}");
    }
}

#[test]
fn one_bad_file_stops_no_other() {
    let good = format!("{GIVEN}expect: {{absent: [web]}}\n");
    let files = [
        ("a.yaml", "name: [\n"),
        ("b.yaml", ""),
        ("c.yaml", "just words\n"),
        ("d.yaml", "name: 7\ninstance: x.yaml\nexpect: {}\n"),
        ("e.yaml", good.as_str()),
        (
            "f.yaml",
            "name: x\ninstance: ../nowhere.yaml\nexpect: {absent: [web]}\n",
        ),
    ];
    let output = tested("caching-web-service", &files, &["-o", "json"]);
    let outcomes: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let outcomes = outcomes.as_array().expect("a list");
    let passed: Vec<_> = outcomes
        .iter()
        .map(|outcome| outcome["passed"].as_bool())
        .collect();
    assert_eq!(
        passed,
        [
            Some(false),
            Some(false),
            Some(false),
            Some(false),
            Some(true),
            Some(false)
        ],
        "{outcomes:?}"
    );
    for (index, words) in [
        (0, "tests/a.yaml:2:1: this is not YAML"),
        (1, "tests/b.yaml: there is no test in this file"),
        (
            2,
            "tests/c.yaml:1:1: a text stands where a mapping is wanted",
        ),
        (
            3,
            "tests/d.yaml:1:7: `7` stands where a text is wanted (write it in quotes)",
        ),
        (3, "tests/d.yaml:3:9: this expects nothing"),
        (5, "cannot read tests/../nowhere.yaml"),
    ] {
        let told = outcomes[index]["differences"].to_string();
        assert!(told.contains(words), "{words} in {told}");
    }
}

#[test]
fn a_field_that_the_instance_of_a_test_has_and_its_kind_has_not_is_warned_of() {
    let instance = "{apiVersion: example.org/v1, kind: CachingWebService, metadata: {name: a}, spec: {nginxVersion: a, replcas: 2}}";
    let test = format!("name: x\ninstance: {instance}\nexpect: {{absent: [web]}}\n");
    let output = tested("caching-web-service", &[("a.yaml", &test)], &[]);
    let told = told(&["test"], &output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(
        told.contains("warning: ./tests/a.yaml:2:") || told.contains("warning: tests/a.yaml:2:"),
        "{told}"
    );
    assert!(told.contains("did you mean `replicas`?"), "{told}");
}

#[test]
fn a_field_that_no_object_has_makes_a_test_fail_whatever_it_says_of_it() {
    let given = "name: x\ninstance: ../cacheme.yaml\nobserved: {cache: {status: {endpoint: a}}}\n";
    for (rest, found) in [
        (
            "expect: {objects: {web: {spec: {replcas: null}}}}\n",
            "tests/a.yaml:4:33: `spec.replcas` is no field of Deployment (did you mean `replicas`?)",
        ),
        (
            "expect: {objects: {web: {spec: {template: {spec: {containers: [{imag: a}]}}}}}}\n",
            "`spec.template.spec.containers[0].imag` is no field of Deployment (did you mean `image`?)",
        ),
        (
            "expect: {objects: {web: {metdata: null}}}\n",
            "tests/a.yaml:4:26: `metdata` is no field of Deployment (did you mean `metadata`?)",
        ),
        (
            "expect: {objects: {cache: {spec: {redisVerson: null}}}}\n",
            "`spec.redisVerson` is no field of Redis (did you mean `redisVersion`?)",
        ),
        (
            "simulate: [{child: web, status: {redyReplicas: 1}}]\nexpect: {waits: {}}\n",
            "tests/a.yaml:4:34: `status.redyReplicas` is no field of Deployment (did you mean `readyReplicas`?)",
        ),
        (
            "expect: {status: {nonesuch: null}}\n",
            "`status.nonesuch` is no field of CachingWebService",
        ),
        (
            "expect: {objects: {web: {metadata: {labels: {any: null}, annotations: null}, status: null}}}\n",
            "",
        ),
    ] {
        let output = tested(
            "caching-web-service",
            &[("a.yaml", &format!("{given}{rest}"))],
            &[],
        );
        let told = told(&[rest], &output);
        assert_eq!(output.status.success(), found.is_empty(), "{told}");
        assert!(told.contains(found), "{told}");
    }
}
