//! Jobs of a stack made from manifests: their pods cannot be changed, so that other values need
//! another Job.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

use engine::{Context, Observed, Seed, Stack};
use package::Files;
use scaffold::{Manifest, Names, Started, from_manifests};
use serde_json::{Value, json};

const INGRESS: &str = "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\n\
                       spec: {rules: [{host: a.example.org}]}\n";

fn started(text: &str) -> Started {
    let names = Names::new("web", "example.org").expect("a good name");
    let manifests = [Manifest {
        file: "m.yaml".to_string(),
        text: text.to_string(),
    }];
    from_manifests(&names, &manifests).unwrap_or_else(|problems| panic!("{text}: {problems:#?}"))
}

/// Something that makes Jobs or is one, with a container.
fn job(kind: &str, container: &str) -> String {
    let pods = format!(
        "template: {{spec: {{restartPolicy: Never, containers: [{{name: a, {container}}}]}}}}"
    );
    let spec = match kind {
        "CronJob" => format!("schedule: 0 0 * * *\n  jobTemplate: {{spec: {{{pods}}}}}"),
        _ => pods,
    };
    format!("apiVersion: batch/v1\nkind: {kind}\nmetadata:\n  name: web-migrate\nspec:\n  {spec}\n")
}

/// The name of the Job that an instance with an image makes.
fn name_of_job(files: &Files, image: &str) -> String {
    let (package, problems) = package::read(files);
    assert!(problems.is_empty(), "{problems:?}");
    let (compiled, problems) = engine::compile(&Stack::of(&package, "new", "default"));
    let compiled = compiled.unwrap_or_else(|| panic!("{problems:?}"));
    let mut instance =
        yaml::parse(std::str::from_utf8(&files["web.yaml"]).expect("a text")).expect("an instance");
    instance["metadata"]["uid"] = json!("1");
    instance["spec"]["image"] = json!(image);
    let seed = Seed::new(b"test");
    let context = Context::new("new", &seed);
    let plan = engine::plan(&compiled.kinds[0], &instance, &Observed::new(), &context);
    assert!(plan.problems.is_empty(), "{:?}", plan.problems);
    let job = plan
        .applies
        .into_iter()
        .map(|apply| apply.object)
        .find(|object| object["kind"] == "Job");
    job.as_ref()
        .and_then(|job: &Value| job["metadata"]["name"].as_str())
        .expect("a Job")
        .to_string()
}

#[test]
fn a_job_that_an_instance_could_not_change_is_told_with_a_name_that_makes_a_new_one() {
    let host = "image: b, env: [{name: A, value: \"https://a.example.org/\"}]";
    for (manifests, told, digest) in [
        (
            job("Job", "image: b") + INGRESS,
            "`.spec.image` is in its pods",
            "{{ .spec.image | sha256sum | trunc 8 }}",
        ),
        (
            job("Job", host) + INGRESS,
            "`.spec.host`, `.spec.image` are in its pods",
            "{{ list .spec.host .spec.image | join \",\" | sha256sum | trunc 8 }}",
        ),
    ] {
        let made = started(&manifests);
        let name = format!("name: {{{{ .metadata.name }}}}-migrate-{digest}");
        let notes: Vec<String> = made.notes.iter().map(ToString::to_string).collect();
        let begins = format!("m.yaml:1: Job web-migrate: {told}, which a Job cannot change");
        let is_told =
            |note: &String| note.starts_with(&begins) && note.contains(&format!("`{name}`"));
        assert!(notes.iter().any(is_told), "{notes:#?}");

        let mut files = made.files.clone();
        let path = files
            .keys()
            .find(|path| path.ends_with("/job.yaml"))
            .expect("a Job")
            .clone();
        let text = String::from_utf8(files[&path].clone()).expect("a text");
        let changed = text.replace("name: {{ .metadata.name }}-migrate\n", &format!("{name}\n"));
        assert_ne!(text, changed);
        files.insert(path, changed.into_bytes());
        let [first, second] = ["1", "2"].map(|image| name_of_job(&files, image));
        assert!(
            first != second && first.starts_with("web-migrate-"),
            "{first} {second}"
        );
    }
}

#[test]
fn what_can_change_or_has_no_field_is_no_news() {
    for manifests in [job("CronJob", "image: b"), job("Job", "command: [a]")] {
        let made = started(&manifests);
        assert!(made.notes.is_empty(), "{:?}", made.notes);
    }
}
