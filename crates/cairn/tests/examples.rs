//! Every package in `examples/`, checked and tested by the program itself, and the order in which
//! the larger ones settle. What the examples show is said in their own tests.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use support::{cairn, example, root, told};

fn examples() -> Vec<String> {
    let entries = fs::read_dir(root().join("examples")).expect("there are examples");
    let entries = entries.map(|entry| entry.expect("an entry"));
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| format!("examples/{}", entry.file_name().to_string_lossy()))
        .collect();
    names.sort();
    assert!(names.len() > 10, "{names:?}");
    names
}

/// What failed of a command that is run on every example.
fn failures(verb: &[&str]) -> Vec<String> {
    let mut failures = Vec::new();
    for name in examples() {
        let args: Vec<&str> = verb.iter().copied().chain([name.as_str()]).collect();
        let output = cairn(&root(), &args);
        let warned = String::from_utf8_lossy(&output.stderr).contains("warning");
        if !output.status.success() || warned {
            failures.push(told(&args, &output));
        }
    }
    failures
}

#[test]
fn every_example_is_valid_without_a_warning() {
    let failures = failures(&["validate"]);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_example_passes_its_own_tests() {
    let failures = failures(&["test"]);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The files beside a package, not below it, with their kinds.
fn instances(example: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(example).expect("an example");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.retain(|file| {
        file.is_file() && fs::read_to_string(file).is_ok_and(|text| text.contains("\nkind: "))
    });
    files.sort();
    files
}

#[test]
fn every_instance_beside_a_package_renders() {
    for name in examples() {
        let files = instances(&root().join(&name));
        assert!(!files.is_empty(), "{name} has no instance to try it with");
        for file in files {
            let args = ["render", &name, "-f", &file.to_string_lossy()];
            let output = cairn(&root(), &args);
            assert!(output.status.success(), "{}", told(&args, &output));
        }
    }
}

/// The templates whose objects are new or changed in each pass of a simulation, without the quiet
/// passes.
fn steps(example: &str, instance: &str) -> Vec<Vec<String>> {
    let (file, controllers) = (
        format!("{example}/{instance}"),
        format!("{example}/controllers.yaml"),
    );
    let args = [
        "render",
        example,
        "-f",
        &file,
        "--simulate",
        &controllers,
        "-o",
        "json",
    ];
    let output = cairn(&root(), &args);
    assert!(output.status.success(), "{}", told(&args, &output));
    let story: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(story["settled"], true, "{}", told(&args, &output));
    let passes = story["passes"].as_array().expect("passes");
    let last = passes.last().expect("a pass");
    assert_eq!(
        (&last["holds"], &last["problems"]),
        (&Value::from(Vec::<Value>::new()), &last["holds"]),
        "{last}"
    );
    let changed = passes.iter().map(|pass| {
        let names = pass["changed"].as_array().expect("names");
        names
            .iter()
            .map(|name| name.as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    });
    changed.filter(|names| !names.is_empty()).collect()
}

#[test]
fn what_others_need_is_made_first() {
    for (example, instance, expected) in [
        (
            "examples/web-application",
            "shop.yaml",
            &[
                &["config", "service"][..],
                &["deployment", "ingress"],
                &["autoscaler"],
            ][..],
        ),
        (
            "examples/web-application",
            "minimal.yaml",
            &[&["deployment", "service"]],
        ),
        (
            "examples/postgres-app",
            "todo.yaml",
            &[&["database", "service"], &["app"]],
        ),
        (
            "examples/caching-web-service",
            "cacheme.yaml",
            &[&["cache"], &["web"]],
        ),
        (
            "examples/horizontal",
            "foo.yaml",
            &[&["controller"], &["other"]],
        ),
    ] {
        assert_eq!(steps(example, instance), expected, "{example} {instance}");
    }
}

#[test]
fn the_name_of_the_package_around_is_left_out_and_that_of_one_beside_goes_before_a_template() {
    let place = example("redis");
    let folder = place
        .path()
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    for verb in ["validate", "test"] {
        let output = cairn(place.path(), &[verb, &folder]);
        let told = told(&[verb], &output);
        assert!(
            told.contains(&format!(
                "you are in the package {folder}: leave the name out"
            )),
            "{told}"
        );
    }
    let above = place.path().parent().expect("a directory above");
    let output = cairn(above, &["explain", &format!("{folder}/deployment:kind")]);
    assert!(output.status.success(), "{}", told(&["explain"], &output));
}
