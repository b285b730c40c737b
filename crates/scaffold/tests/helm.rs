//! What becomes of what Helm's annotations promise, when a stack is made of what a chart renders
//! to.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

#[path = "support/started.rs"]
mod support;

use scaffold::Started;
use support::{started, text};

fn notes(started: &Started) -> String {
    started
        .notes
        .iter()
        .map(|note| format!("{note}\n"))
        .collect()
}

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n";

#[test]
fn a_hook_is_made_with_the_instance_only_if_helm_makes_it_with_a_release() {
    let job = |hook: &str| {
        format!(
            "{MAP}---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: web-job\n  annotations:\n    \"helm.sh/hook\": {hook}\n\
             spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: a}}]}}}}}}\n"
        )
    };
    for (hook, stays, told) in [
        (
            "pre-delete",
            false,
            "Helm runs it when a release goes (`helm.sh/hook: pre-delete`), an instance would right away",
        ),
        ("post-delete", false, "when a release goes"),
        (
            "pre-rollback, post-rollback",
            false,
            "when a release goes back (`helm.sh/hook: pre-rollback,post-rollback`)",
        ),
        ("test", false, "to test a release"),
        ("test-success", false, "to test a release"),
        ("test-failure", false, "to test a release"),
        ("pre-delete,test", false, "at a time of its own"),
        (
            "pre-install",
            true,
            "Job web-job is a hook of Helm (`helm.sh/hook: pre-install`)",
        ),
        (
            "post-install,post-upgrade",
            true,
            "it is made once, with its instance, in no order of Helm's",
        ),
        ("pre-upgrade", true, "is a hook of Helm"),
        ("post-install, pre-delete", true, "is a hook of Helm"),
        ("\"\"", true, ""),
    ] {
        let started = started("web", &job(hook));
        let made = started
            .templates
            .iter()
            .any(|made| made.title == "Job web-job");
        assert_eq!(made, stays, "{hook}");
        let notes = notes(&started);
        assert!(notes.contains(told), "{hook}: {notes}");
        assert_eq!(
            notes.contains("m.yaml:6: Job web-job is left out"),
            !stays,
            "{hook}: {notes}"
        );
        assert_eq!(
            notes.contains("hook of Helm"),
            stays && !told.is_empty(),
            "{hook}: {notes}"
        );
    }
}

#[test]
fn what_helm_would_keep_stays_when_its_instance_goes() {
    let claim = |metadata: &str| {
        format!(
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:{metadata}\nspec: {{accessModes: [ReadWriteOnce], \
             resources: {{requests: {{storage: 1Gi}}}}}}\n"
        )
    };
    let orphan = "stacks.crossplane.io/deletion-policy: Orphan";
    for (metadata, expected, is_told) in [
        (
            "\n  name: web\n  annotations: {helm.sh/resource-policy: keep}",
            "annotations: {helm.sh/resource-policy: keep, stacks.crossplane.io/deletion-policy: Orphan}\n",
            true,
        ),
        (
            "\n  annotations:\n    \"helm.sh/resource-policy\": \"keep\"   # the data\n  name: web",
            "\"keep\"   # the data\n    stacks.crossplane.io/deletion-policy: Orphan\n  name:",
            true,
        ),
        (
            " {name: web, annotations: {helm.sh/resource-policy: Keep, a: b}}",
            "Keep, stacks.crossplane",
            true,
        ),
        (
            " &m {name: web, annotations: &a {x: &k helm.sh/resource-policy, *k : keep}}",
            orphan,
            true,
        ),
        (
            " {name: web, annotations: {helm.sh/resource-policy: delete}}",
            "",
            false,
        ),
        (
            " {name: web, annotations: {helm.sh/resource-policy: keep, stacks.crossplane.io/deletion-policy: Orphan}}",
            orphan,
            false,
        ),
    ] {
        let started = started("web", &claim(metadata));
        let template = text(&started, "claim.yaml");
        assert!(template.contains(expected), "{metadata}: {template}");
        assert_eq!(
            template.matches(orphan).count(),
            usize::from(!expected.is_empty()),
            "{template}"
        );
        assert_eq!(
            text(&started, "tests/web.yaml").contains(orphan),
            !expected.is_empty()
        );
        let told = "stays when its instance goes: `helm.sh/resource-policy: keep` became";
        assert_eq!(
            notes(&started).contains(told),
            is_told,
            "{}",
            notes(&started)
        );
    }
}
