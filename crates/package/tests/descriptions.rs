//! What packages say of their kinds: the example of the design document field by field, whose word
//! counts where several files speak of one kind, and what is said of files that speak of none.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use package::Files;
use serde_json::{Value, json};

fn files(entries: &[(&str, &str)]) -> Files {
    entries
        .iter()
        .map(|(path, text)| (format!(".registry/{path}"), text.as_bytes().to_vec()))
        .collect()
}

fn crd(kind: &str, more: &str) -> String {
    let plural = format!("{}s", kind.to_lowercase());
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {plural}.samples.crossplane.io
{more}spec:
  group: samples.crossplane.io
  names: {{kind: {kind}, plural: {plural}}}
  scope: Namespaced
  versions: [{{name: v1alpha1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]
"
    )
}

fn metadata(files: &Files, kind: &str) -> Value {
    package::read(files)
        .0
        .crd("samples.crossplane.io", kind)
        .unwrap()
        .object["metadata"]
        .clone()
}

fn said(files: &Files) -> String {
    let line = |problem: package::Problem| {
        format!(
            "{problem}; {}\n",
            problem.hint.as_deref().unwrap_or_default()
        )
    };
    package::read(files).1.into_iter().map(line).collect()
}

const UI: &str = "version: 0.4\nconfigSections:\n- title: Configuration\n";
const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n";

#[test]
fn every_annotation_and_label_of_the_design_document_comes_out() {
    let files = files(&[
        ("app.yaml", "title: Crossplane Sample Stack\n"),
        (
            "install.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: c}\nspec: {replicas: 1}\n",
        ),
        ("icon.svg", SVG),
        ("ui-schema.yaml", UI),
        (
            "resources/samples/group.yaml",
            "group: samples.crossplane.io\ntitle: Title of the Group\noverview: Overview of the Group\n\
             overviewShort: Short overview of the Group\nreadme: Readme of the Group\n",
        ),
        (
            "resources/samples/mytype/v1alpha1/mytype.v1alpha1.crd.yaml",
            &crd("Mytype", "  labels: {controller-tools.k8s.io: \"1.0\"}\n"),
        ),
        (
            "resources/samples/mytype/v1alpha1/resource.yaml",
            "id: mytype\ntitle: Example Resource\ntitlePlural: Example Resources\ncategory: Databases\n\
             overview: Overview of the Resource\nshortOverview: Short overview of the Resource\n\
             readme: Readme of the Resource\n",
        ),
        (
            "resources/samples/mytype/v1alpha1/ui-schema.yaml",
            "additionalSpec: example\nstillYaml: true\nusesSameSpecConvention: \"not necessary\"\n",
        ),
    ]);
    assert_eq!(said(&files), "");
    assert_eq!(
        metadata(&files, "Mytype"),
        json!({
            "name": "mytypes.samples.crossplane.io",
            "labels": {
                "controller-tools.k8s.io": "1.0",
                "app.kubernetes.io/managed-by": "stack-manager",
                "crossplane.io/scope": "namespace",
            },
            "annotations": {
                "stacks.crossplane.io/stack-title": "Crossplane Sample Stack",
                "stacks.crossplane.io/group-title": "Title of the Group",
                "stacks.crossplane.io/group-overview": "Overview of the Group",
                "stacks.crossplane.io/group-overview-short": "Short overview of the Group",
                "stacks.crossplane.io/group-readme": "Readme of the Group",
                "stacks.crossplane.io/resource-category": "Databases",
                "stacks.crossplane.io/resource-title": "Example Resource",
                "stacks.crossplane.io/resource-title-plural": "Example Resources",
                "stacks.crossplane.io/resource-overview": "Overview of the Resource",
                "stacks.crossplane.io/resource-overview-short": "Short overview of the Resource",
                "stacks.crossplane.io/resource-readme": "Readme of the Resource",
                "stacks.crossplane.io/icon-data-uri":
                    "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4K",
                "stacks.crossplane.io/ui-schema":
                    "version: 0.4\nconfigSections:\n- title: Configuration\n---\nadditionalSpec: example\n\
                     stillYaml: true\nusesSameSpecConvention: \"not necessary\"\n",
            },
        })
    );
}

#[test]
fn the_nearest_word_counts_and_in_one_directory_the_one_that_names_the_kind() {
    let icon = |fill: &str| format!("<svg fill=\"{fill}\"/>");
    let title =
        |metadata: &Value| metadata["annotations"]["stacks.crossplane.io/resource-title"].clone();
    let one = crd("One", "");
    let two = crd("Two", "");
    let bucket = crd("Bucket", "");
    let files = files(&[
        ("app.yaml", "title: T\npermissionScope: Cluster\n"),
        ("icon.svg", &icon("root")),
        ("resources/a/crd.yaml", &format!("{one}---\n{two}")),
        ("resources/a/resource.yaml", "title: Whoever\n"),
        ("resources/a/two.resource.yaml", "title: By name\n"),
        ("resources/a/other.resource.yaml", "id: ONE\ntitle: By id\n"),
        ("resources/a/icon.png", "\u{1}"),
        ("resources/a/icon.svg", &icon("near")),
        ("resources/a/two.icon.svg", &icon("two")),
        ("resources/ab/bucket/crd.yaml", &bucket),
        ("resources/ab/icon.svg", &icon("far")),
        ("resources/ab/bucket/icon.svg", &icon("nearest")),
    ]);
    assert_eq!(said(&files), "");
    assert_eq!(title(&metadata(&files, "One")), "By id");
    assert_eq!(title(&metadata(&files, "Two")), "By name");
    // `resources/a` is no directory above `resources/ab`, though its name begins like it.
    assert_eq!(title(&metadata(&files, "Bucket")), Value::Null);
    for (kind, fill) in [("One", "near"), ("Two", "two"), ("Bucket", "nearest")] {
        let uri =
            metadata(&files, kind)["annotations"]["stacks.crossplane.io/icon-data-uri"].clone();
        let base64 = {
            use base64::Engine;
            base64::engine::general_purpose::STANDARD.encode(icon(fill))
        };
        assert_eq!(uri, format!("data:image/svg+xml;base64,{base64}"), "{kind}");
        assert_eq!(
            metadata(&files, kind)["labels"]["crossplane.io/scope"],
            "environment"
        );
    }
}

#[test]
fn what_a_crd_already_carries_wins_and_forms_are_added() {
    let own = "  annotations:\n    stacks.crossplane.io/resource-title: Mine\n    stacks.crossplane.io/ui-schema: |\n      mine: 1\n";
    let files = files(&[
        ("app.yaml", "title: T\n"),
        ("resources/crd.yaml", &crd("One", own)),
        ("resources/resource.yaml", "title: Theirs\ncategory: C\n"),
        ("resources/ui-schema.yaml", "general: 1\n"),
        ("resources/one.ui-schema.yaml", "special: 1\n---\nmore: 1\n"),
    ]);
    assert_eq!(said(&files), "");
    let annotations = metadata(&files, "One")["annotations"].clone();
    assert_eq!(annotations["stacks.crossplane.io/resource-title"], "Mine");
    assert_eq!(annotations["stacks.crossplane.io/resource-category"], "C");
    let forms = "mine: 1\n---\ngeneral: 1\n---\nspecial: 1\n---\nmore: 1\n";
    assert_eq!(annotations["stacks.crossplane.io/ui-schema"], forms);
}

#[test]
fn files_that_speak_of_no_kind_or_too_much_are_said() {
    let large = "x".repeat(200 << 10);
    let files = files(&[
        ("app.yaml", "title: T\n"),
        ("resources/a/crd.yaml", &crd("Redis", "")),
        (
            "resources/a/group.yaml",
            &format!("group: samples.crossplane.io\nreadme: {large}\n"),
        ),
        (
            "resources/a/resource.yaml",
            &format!("id: redis\nreadme: {large}\ntilte: T\n"),
        ),
        ("resources/a/more.resource.yaml", "# why\nid: Reids\n"),
        ("resources/b/icon.svg", "<svg/>"),
        ("resources/b/group.yaml", "group: other\n"),
        ("resources/ui-schema.yaml", "- a\n"),
    ]);
    let expected = "\
.registry/resources/a/crd.yaml:1:1: error: with what the package says of it, `rediss.samples.crossplane.io` would have 409736 bytes of annotations, more than the 262144 that a cluster takes; the largest is `stacks.crossplane.io/resource-readme`
.registry/resources/a/more.resource.yaml:2:1: warning: this is about no CRD of the package; it is for a kind `Reids`: did you mean `Redis`?
.registry/resources/a/resource.yaml:3:1: warning: `resource.yaml` has no field `tilte`; did you mean `title`?
.registry/resources/b/group.yaml:1:1: warning: this is about no CRD of the package; it is for the group `other`, which no CRD beside or below it has
.registry/resources/b/icon.svg: warning: this is about no CRD of the package; put it beside the CRD, or into a directory above
.registry/resources/ui-schema.yaml:1:1: error: a document of a ui-schema holds fields; 
";
    assert_eq!(said(&files), expected);
}

#[test]
fn the_manifests_are_the_crds_by_name_and_then_the_stack() {
    let files = files(&[
        ("app.yaml", "title: T\n"),
        (
            "resources/crd.yaml",
            &format!("{}---\n{}", crd("Two", ""), crd("One", "")),
        ),
    ]);
    let (package, _) = package::read(&files);
    let manifests = package.manifests();
    let names: Vec<_> = manifests
        .iter()
        .map(|object| (&object["kind"], &object["metadata"]["name"]))
        .collect();
    let crd = json!("CustomResourceDefinition");
    let expected = [
        (crd.clone(), json!("ones.samples.crossplane.io")),
        (crd, json!("twos.samples.crossplane.io")),
    ];
    assert_eq!(
        names[..2],
        expected
            .iter()
            .map(|(kind, name)| (kind, name))
            .collect::<Vec<_>>()
    );
    assert_eq!(names[2].0, "Stack");
    let text = package::stream(&manifests).unwrap();
    assert_eq!(yaml::documents(&text).unwrap().len(), 3);
}

#[test]
fn the_version_is_the_tag_or_must_be_the_same() {
    let of = |app: &str| {
        package::read(&files(&[
            ("app.yaml", app),
            ("resources/crd.yaml", &crd("One", "")),
        ]))
        .0
    };
    let mut without = of("title: T\n");
    without.set_tag("v1.2.3").unwrap();
    assert_eq!(without.stack.spec.app.version, "v1.2.3");
    let mut with = of("title: T\nversion: 0.1.0\n");
    with.set_tag("0.1.0").unwrap();
    let problem = with.set_tag("v0.2.0").unwrap_err();
    let what = "app.yaml: error: the package says that its version is `0.1.0`, and its image has the tag `v0.2.0`";
    assert_eq!(problem.to_string(), what);
    assert_eq!(with.stack.spec.app.version, "0.1.0");
}

#[test]
fn every_field_of_the_design_documents_app_and_install_is_in_the_stack() {
    let app = "title: Sample Crossplane Stack\noverviewShort: One line\noverview: |\n  Several\n  lines.\nreadme: |\n  *Markdown*\n\
               version: 0.0.1\nmaintainers: [{name: Jared Watts, email: jared@upbound.io}]\n\
               owners: [{name: Bassam Tabbara, email: bassam@upbound.io}]\ncompany: Upbound\ncategory: Database\n\
               keywords: [samples, examples, tutorials]\nwebsite: https://crossplane.io\n\
               source: https://github.com/crossplaneio/sample-stack\nlicense: Apache-2.0\npermissionScope: Cluster\n\
               dependsOn: [{crd: mytype.mygroup.example.org/v1alpha1}, {crd: '*.yourstack.example.org/v1alpha1'}]\n";
    let install = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: crossplane-sample-stack, labels: {core.crossplane.io/name: s}}\n\
                   spec:\n  selector: {matchLabels: {core.crossplane.io/name: s}}\n  replicas: 1\n  template:\n    \
                   metadata: {name: sample-stack-controller, labels: {core.crossplane.io/name: s}}\n    spec:\n      \
                   containers:\n      - name: sample-stack-controller\n        image: crossplane/sample-stack:latest\n        \
                   env: [{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]\n";
    let given = files(&[
        ("app.yaml", app),
        ("install.yaml", install),
        ("icon.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>"),
        ("resources/crd.yaml", &crd("Mytype", "")),
    ]);
    let (package, _) = package::read(&given);
    let spec = serde_json::to_value(&package.stack.spec).unwrap();
    let deployment: Value = yaml::parse(install).unwrap();
    assert_eq!(
        spec,
        json!({
            "title": "Sample Crossplane Stack",
            "overviewShort": "One line",
            "overview": "Several\nlines.\n",
            "readme": "*Markdown*\n",
            "version": "0.0.1",
            "maintainers": [{ "name": "Jared Watts", "email": "jared@upbound.io" }],
            "owners": [{ "name": "Bassam Tabbara", "email": "bassam@upbound.io" }],
            "company": "Upbound",
            "category": "Database",
            "keywords": ["samples", "examples", "tutorials"],
            "website": "https://crossplane.io",
            "source": "https://github.com/crossplaneio/sample-stack",
            "license": "Apache-2.0",
            "permissionScope": "Cluster",
            "dependsOn": [{ "crd": "mytype.mygroup.example.org/v1alpha1" }, { "crd": "*.yourstack.example.org/v1alpha1" }],
            "icons": [{
                "base64Data": "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=", "mediatype": "image/svg+xml",
            }],
            "customresourcedefinitions": [{ "kind": "Mytype", "apiVersion": "samples.crossplane.io/v1alpha1" }],
            "controller": { "deployment": { "name": "crossplane-sample-stack", "spec": deployment["spec"] } },
        })
    );
}
