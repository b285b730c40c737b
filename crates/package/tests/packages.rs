//! Whole packages, written as one text each: what they become, and everything that is said of them.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write;
use std::path::Path;

use insta::assert_snapshot;
use package::{Files, Severity};
use serde_json::json;

/// The files of a text in which `== path` begins a file.
fn files(text: &str) -> Files {
    let mut files = Files::new();
    for part in text.split("== ").skip(1) {
        let (path, content) = part.split_once('\n').unwrap();
        files.insert(path.to_owned(), content.as_bytes().to_vec());
    }
    files
}

/// What is said of a package, a line each for what is wrong and for the hint.
fn said(files: &Files) -> String {
    let mut said = String::new();
    for problem in package::read(files).1 {
        writeln!(said, "{problem}").unwrap();
        if let Some(hint) = problem.hint {
            writeln!(said, "  hint: {hint}").unwrap();
        }
    }
    said
}

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: redises.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Redis, plural: redises}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object}}
";

fn good() -> String {
    format!(
        "== Dockerfile
FROM scratch
== .registry/app.yaml
# Human readable title of application.
title: Sample Crossplane Stack
overviewShort: A one line plain text explanation of this stack
readme: |
 *Markdown* describing the sample
version: 0.0.1
maintainers:
- name: Jared Watts
  email: jared@upbound.io
keywords:
- \"samples\"
license: Apache-2.0
permissionScope: Namespaced
dependsOn:
- crd: \"mytype.mygroup.example.org/v1alpha1\"
- crd: '*.yourstack.example.org/v1alpha1'
- crd: deployment.apps/v1
== .registry/icon.svg
<svg/>
== .registry/install.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: crossplane-sample-stack
spec:
  replicas: 1
== .registry/resources/example.org/group.yaml
title: Group
== .registry/resources/example.org/crd.yaml
---
# The first.
{CRD}
---
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {{name: caches.example.org}}
spec:
  group: example.org
  names: {{kind: Cache, plural: caches}}
  version: v1
  validation: {{openAPIV3Schema: {{properties: {{spec: {{type: object}}}}}}}}
== .registry/templates/redis.example.org/v1/deployment.yaml
kind: Deployment
metadata:
  labels: {{{{ include \"lib/labels\" \"common\" | indent 4 }}}}
== .registry/templates/redis.example.org/v1/status.yaml
ready: true
== .registry/templates/lib/labels/common.tpl
app: redis
"
    )
}

#[test]
fn a_package_becomes_the_stack_that_installing_would_create() {
    let (package, problems) = package::read(&files(&good()));
    assert_eq!(problems, []);
    assert_eq!(
        serde_json::to_value(&package.stack).unwrap(),
        json!({
            "apiVersion": "stacks.crossplane.io/v1alpha1",
            "kind": "Stack",
            "metadata": {},
            "spec": {
                "title": "Sample Crossplane Stack",
                "overviewShort": "A one line plain text explanation of this stack",
                "readme": "*Markdown* describing the sample\n",
                "version": "0.0.1",
                "icons": [{ "base64Data": "PHN2Zy8+Cg==", "mediatype": "image/svg+xml" }],
                "maintainers": [{ "name": "Jared Watts", "email": "jared@upbound.io" }],
                "keywords": ["samples"],
                "license": "Apache-2.0",
                "permissionScope": "Namespaced",
                "dependsOn": [
                    { "crd": "mytype.mygroup.example.org/v1alpha1" },
                    { "crd": "*.yourstack.example.org/v1alpha1" },
                    { "crd": "deployment.apps/v1" },
                ],
                "customresourcedefinitions": [
                    { "kind": "Redis", "apiVersion": "example.org/v1" },
                    { "kind": "Cache", "apiVersion": "example.org/v1" },
                ],
                "controller": { "deployment": { "name": "crossplane-sample-stack", "spec": { "replicas": 1 } } },
                "templates": {
                    "lib/labels": { "common": "app: redis\n" },
                    "redis.example.org/v1": {
                        "deployment": "kind: Deployment\nmetadata:\n  labels: {{ include \"lib/labels\" \"common\" | indent 4 }}\n",
                    },
                },
                "templateStatus": { "redis.example.org/v1": "ready: true\n" },
            },
        })
    );
    let places: Vec<_> = package
        .crds
        .iter()
        .map(|own| (own.crd.name.as_str(), own.line))
        .collect();
    assert_eq!(
        places,
        [("redises.example.org", 3), ("caches.example.org", 21)]
    );
    assert_eq!(
        package.crd("example.org", "Cache").unwrap().object["apiVersion"],
        "apiextensions.k8s.io/v1"
    );
    let template = &package.templates["redis.example.org/v1"]["deployment"];
    assert_eq!(
        template.file,
        ".registry/templates/redis.example.org/v1/deployment.yaml"
    );
    assert!(package.partials["lib/labels"].contains_key("common"));
}

#[test]
fn the_registry_directory_itself_is_a_package_too() {
    let inside: Files = files(&good())
        .into_iter()
        .filter_map(|(path, bytes)| Some((path.strip_prefix(".registry/")?.to_owned(), bytes)))
        .collect();
    let (package, problems) = package::read(&inside);
    assert_eq!(problems, []);
    assert_eq!(package.stack, package::read(&files(&good())).0.stack);
}

#[test]
fn what_is_no_package_is_said_to_be_none() {
    for text in ["", "== main.go\npackage main\n"] {
        assert_eq!(
            said(&files(text)),
            "error: this is no package: there is no `.registry` directory\n  hint: put `app.yaml` into it\n"
        );
    }
}

#[test]
fn everything_wrong_with_app_yaml_has_its_line() {
    let text = "== .registry/app.yaml
titel: Redis
title: [a]
version: 0.10
maintainers: Jared
owners:
- Bassam
- nme: x
keywords:
- 1
permissionScope: Clusterwide
dependsOn:
- deployment.apps/v1
- crd: configmap
- kind: x
license: MIT
license: MIT
";
    assert_snapshot!(said(&files(text)), @r#"
    .registry/: warning: the package has no CRD
      hint: put its CRDs into files below `resources` that end in `crd.yaml`
    .registry/app.yaml:1:1: warning: `app.yaml` has no field `titel`
      hint: did you mean `title`?
    .registry/app.yaml:2:1: error: `title` must be a text, and this is a list
    .registry/app.yaml:3:1: error: `version` must be a text, and this is a number
      hint: write it in quotes: `version: "0.10"`
    .registry/app.yaml:4:1: error: `maintainers` must be a list
      hint: write each item after a dash
    .registry/app.yaml:6:3: error: `owners[0]` must have the fields name, email
      hint: write `- name: Bassam`
    .registry/app.yaml:7:3: warning: there is no field `nme` here
      hint: did you mean `name`?
    .registry/app.yaml:9:3: error: `keywords[0]` must be a text, and this is a number
    .registry/app.yaml:10:1: error: there is no permission scope "Clusterwide"
      hint: write `Namespaced` or `Cluster`
    .registry/app.yaml:12:3: error: `dependsOn[0]` must have the fields crd
      hint: write `- crd: deployment.apps/v1`
    .registry/app.yaml:13:3: error: `configmap` names no kind
      hint: write `<kind>.<group>/<version>`, `*.<group>/<version>`, or `<kind>/v1` for the core group
    .registry/app.yaml:14:3: warning: there is no field `kind` here
    .registry/app.yaml:14:3: error: `dependsOn[2]` names no kind
      hint: write `crd: ...`
    .registry/app.yaml:16:1: error: key "license" already set in map
    "#);
}

#[test]
fn broken_yaml_is_said_where_an_editor_shows_it() {
    let text = format!(
        "== .registry/app.yaml
title: Redis
overview: a: b
== .registry/install.yaml
kind: Deployment
spec:
\treplicas: 1
== .registry/resources/a.crd.yaml
{CRD}---
# A second one.
kind: CustomResourceDefinition
metadata:
   name: x
  labels: y
---
== .registry/resources/b.crd.yaml
a: b
--- oops
c: d
"
    );
    assert_snapshot!(said(&files(&text)), @r#"
    .registry/app.yaml:2:12: error: this is not YAML: mapping values are not allowed in this context
    .registry/install.yaml:3:1: error: this is not YAML: found character that cannot start any token
      hint: indent with spaces, not with tabs
    .registry/resources/a.crd.yaml:22:3: error: this is not YAML: did not find expected key
    .registry/resources/b.crd.yaml:2:1: error: this is not YAML: invalid Yaml document separator: oops
    "#);
}

#[test]
fn what_follows_from_a_crd_that_cannot_be_read_is_not_told() {
    for (crd, expected) in [
        (
            "kind CustomResourceDefinition\nspec: {}\n",
            "2:5: error: this is not YAML: mapping values are not allowed",
        ),
        ("kind: [\n", "error: this is not YAML: "),
        ("apiVersion: v1\nkind: ConfigMap\n", "error: "),
    ] {
        let text = format!(
            "== .registry/app.yaml
title: Redis
== .registry/resources/redis.crd.yaml
{crd}== .registry/resources/redis.resource.yaml
id: redis
title: A cache
== .registry/templates/redis.example.org/v1/web.yaml
a: b
== .registry/templates/redis.example.org/v1/status.yaml
a: b
"
        );
        let (_, problems) = package::read(&files(&text));
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let aside: Vec<&String> = told
            .iter()
            .filter(|line| !line.contains("resources/redis.crd.yaml"))
            .collect();
        assert!(
            aside.is_empty() && told.iter().any(|line| line.contains(expected)),
            "{told:#?}"
        );
    }
}

#[test]
fn what_no_install_would_take_is_told_by_the_package_already() {
    for (field, expected) in [
        (
            "dependsOn: [{crd: serviceaccount/v1}]",
            "no stack may have `serviceaccount/v1`",
        ),
        ("dependsOn: [{crd: node/v1}]", "no stack may have `node/v1`"),
        (
            "dependsOn: [{crd: clusterrole.rbac.authorization.k8s.io/v1}]",
            "no stack may have `clusterrole.rbac",
        ),
        (
            "dependsOn: [{crd: '*.rbac.authorization.k8s.io/v1'}]",
            "no stack may have `*.rbac",
        ),
        ("dependsOn: [{crd: secret/v1}, {crd: limitrange/v1}]", ""),
        ("version: one two", "\"one two\" is no version"),
        ("version: 1.0.0+b1", "\"1.0.0+b1\" is no version"),
        ("version: -a", "\"-a\" is no version"),
        ("version: v1.0.0-rc.1_b1", ""),
        ("version: ''", ""),
    ] {
        let text = format!(
            "== .registry/app.yaml\ntitle: Redis\n{field}\n== .registry/resources/a.crd.yaml\n{CRD}"
        );
        let (_, problems) = package::read(&files(&text));
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let told: Vec<&String> = told
            .iter()
            .filter(|line| line.contains("app.yaml:2:"))
            .collect();
        assert_eq!(told.is_empty(), expected.is_empty(), "{field}: {told:?}");
        assert!(
            told.iter()
                .all(|line| line.contains("error: ") && line.contains(expected)),
            "{field}: {told:?}"
        );
    }
}

/// A CRD of `Mysql` with one version, as a file for each version has it.
fn mysql(version: &str, storage: bool, more: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: mysqls.example.org
  labels: {{from: {version}, {version}: 'yes'}}
spec:
  group: example.org
  names: {{kind: Mysql, plural: mysqls, singular: mysql}}
  scope: Namespaced
{more}  versions:
  - name: {version}
    served: true
    storage: {storage}
    schema: {{openAPIV3Schema: {{type: object, description: {version}}}}}
"
    )
}

#[test]
fn a_crd_may_have_a_file_for_each_of_its_versions() {
    for (storage, expected) in [
        ([true, true, true], Some("v1")),
        ([true, false, false], Some("v1alpha1")),
        ([false, true, false], Some("v1beta1")),
        ([true, true, false], Some("v1beta1")),
        ([false, false, false], None),
    ] {
        let mut text = String::from("== .registry/app.yaml\ntitle: Mysql\n");
        for (version, storage) in ["v1alpha1", "v1beta1", "v1"].into_iter().zip(storage) {
            let dir = format!(".registry/resources/example.org/mysql/{version}");
            text.push_str(&format!(
                "== {dir}/mysql.{version}.crd.yaml\n{}",
                mysql(version, storage, "")
            ));
            text.push_str(&format!(
                "== {dir}/resource.yaml\nid: Mysql\ntitle: Mysql {version}\n"
            ));
        }
        let (package, problems) = package::read(&files(&text));
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let Some(stored) = expected else {
            assert!(
                told.iter()
                    .any(|line| line.contains("no version is stored")),
                "{told:#?}"
            );
            continue;
        };
        assert!(told.is_empty(), "{storage:?}: {told:#?}");
        let [file] = package.crds.as_slice() else {
            panic!("{} CRDs", package.crds.len())
        };
        let names: Vec<_> = file
            .crd
            .versions
            .iter()
            .map(|version| version.name.as_str())
            .collect();
        assert_eq!(names, ["v1", "v1alpha1", "v1beta1"]);
        assert_eq!(file.crd.storage().unwrap().name, stored, "{storage:?}");
        let versions = file.crd.object["spec"]["versions"].as_array().unwrap();
        assert_eq!(
            versions
                .iter()
                .filter(|version| version["storage"] == true)
                .count(),
            1
        );
        assert!(
            versions.iter().all(
                |version| version["schema"]["openAPIV3Schema"]["description"] == version["name"]
            )
        );
        let metadata = &file.crd.object["metadata"];
        assert_eq!(
            metadata["annotations"]["stacks.crossplane.io/resource-title"],
            format!("Mysql {stored}")
        );
        assert_eq!(
            (&metadata["labels"]["v1"], &metadata["labels"]["v1beta1"]),
            (&json!("yes"), &json!("yes"))
        );
        assert_eq!(package.stack.spec.customresourcedefinitions.len(), 1);
    }
}

#[test]
fn files_of_one_crd_that_contradict_each_other_are_told() {
    let text = |second: &str| {
        let first = mysql("v1alpha1", false, "");
        format!(
            "== .registry/app.yaml\ntitle: Mysql\n== .registry/resources/a.crd.yaml\n{first}== .registry/resources/b.crd.yaml\n{second}"
        )
    };
    let good = mysql("v1", true, "");
    for (change, expected) in [
        (
            ("kind: Mysql,", "kind: MySQL,"),
            "b.crd.yaml:8:3: error: the CRD `mysqls.example.org` has other names in",
        ),
        (
            ("Namespaced", "Cluster"),
            "b.crd.yaml:9:3: error: the CRD `mysqls.example.org` is Cluster here and Namespaced",
        ),
        (
            ("name: v1\n", "name: v1alpha1\n"),
            "b.crd.yaml:11:5: error: the version `v1alpha1` of the CRD",
        ),
        (
            ("storage: true", "storage: false"),
            "b.crd.yaml:10:3: error: no version is stored",
        ),
    ] {
        let (_, problems) = package::read(&files(&text(&good.replace(change.0, change.1))));
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(
            told.iter().any(|line| line.contains(expected)),
            "{expected}: {told:#?}"
        );
    }
    assert_eq!(said(&files(&text(&good))), "");
}

#[test]
fn no_package_brings_a_conversion() {
    for (conversion, expected) in [
        ("{strategy: None}", ""),
        ("null", ""),
        ("{}", ""),
        (
            "{strategy: Webhook}",
            ":10:16: error: a CRD of a package has no conversion, but this one has the strategy `Webhook`",
        ),
        (
            "{strategy: webhook}",
            ":10:16: error: a CRD of a package has no conversion",
        ),
        (
            "{\"strategy\": \"\\x57ebhook\"}",
            ":10:16: error: a CRD of a package has no conversion, but this one has the strategy `Webhook`",
        ),
        (
            "{strategy: ~}",
            ":10:16: error: a CRD of a package has no conversion",
        ),
        (
            "{strategy: None, webhook: {clientConfig: {url: 'https://a.b'}}}",
            ":10:3: error: a CRD of a package has no conversion",
        ),
        (
            "{webhookClientConfig: {url: 'https://a.b'}}",
            ":10:3: error: a CRD of a package has no conversion",
        ),
        (
            "[Webhook]",
            ":10:3: error: a CRD of a package has no conversion",
        ),
        (
            "Webhook",
            ":10:3: error: a CRD of a package has no conversion",
        ),
    ] {
        for api in ["v1", "v1beta1"] {
            let crd = mysql("v1", true, &format!("  conversion: {conversion}\n"));
            let crd = crd.replace(
                "apiextensions.k8s.io/v1",
                &format!("apiextensions.k8s.io/{api}"),
            );
            let text = format!(
                "== .registry/app.yaml\ntitle: Mysql\n== .registry/resources/a.crd.yaml\n{crd}"
            );
            let (_, problems) = package::read(&files(&text));
            let errors = problems
                .iter()
                .filter(|problem| problem.severity == Severity::Error);
            let told: Vec<String> = errors.map(ToString::to_string).collect();
            assert_eq!(
                told.is_empty(),
                expected.is_empty(),
                "{conversion}: {told:#?}"
            );
            assert!(
                expected.is_empty() || told.iter().any(|line| line.contains(expected)),
                "{conversion}: {told:#?}"
            );
        }
    }
}

#[test]
fn everything_wrong_with_crds_has_its_line() {
    let text = format!(
        "== .registry/app.yaml
title: Redis
== .registry/resources/a.crd.yaml
{CRD}---
# The same again.
{CRD}---
apiVersion: v1
kind: ConfigMap
== .registry/resources/b.crd.yaml
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: cache.example.org
spec:
  group: example.org
  names:
    kind: Cache
    plural: Caches
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            propertes: {{}}
            properties:
              size: {{type: int}}
  - name: v2
    served: true
    storage: true
"
    );
    assert_snapshot!(said(&files(&text)), @r#"
    .registry/resources/a.crd.yaml:27:5: error: the version `v1` of the CRD `redises.example.org` is defined twice, first in .registry/resources/a.crd.yaml:1
      hint: define each version in one place
    .registry/resources/a.crd.yaml:31:5: error: the version `v1beta1` of the CRD `redises.example.org` is defined twice, first in .registry/resources/a.crd.yaml:1
      hint: define each version in one place
    .registry/resources/a.crd.yaml:37:1: error: this is a ConfigMap
      hint: only CustomResourceDefinitions belong here
    .registry/resources/b.crd.yaml:1:1: error: `Cache` is cluster-scoped, but the package is only for a namespace
      hint: write `permissionScope: Cluster` in `app.yaml`, or `scope: Namespaced` here
    .registry/resources/b.crd.yaml:4:3: error: the CRD is called `cache.example.org`, but its name has to be `<plural>.<group>`
      hint: write `name: caches.example.org`
    .registry/resources/b.crd.yaml:9:5: error: `Caches` cannot be a plural: letters, digits and dashes, a letter first
      hint: write `plural: caches`
    .registry/resources/b.crd.yaml:11:3: error: more than one version is stored: v1, v2
      hint: set `storage: true` on exactly one
    .registry/resources/b.crd.yaml:21:13: error: schema `properties.spec.propertes`: there is no keyword `propertes`
      hint: did you mean `properties`?
    .registry/resources/b.crd.yaml:23:22: error: schema `properties.spec.properties.size.type`: there is no type `int`
      hint: did you mean `integer`?
    .registry/resources/b.crd.yaml:24:5: error: version `v2` has no schema
      hint: describe the fields under `schema.openAPIV3Schema`
    "#);
}

#[test]
fn everything_wrong_with_the_tree_of_templates_is_said() {
    let text = format!(
        "== .registry/app.yaml
title: Redis
== .registry/resources/crd.yaml
{CRD}
== .registry/templates/redis.example.org/v1/web.yaml
a: {{{{ include \"used/dir\" \"x\" }}}}
== .registry/templates/redis.example.org/v1/helpers.tpl
x
== .registry/templates/redis.example.org/v1beta1/web.yaml
a: b
== .registry/templates/redises.example.org/v1/status.yaml
a: b
== .registry/templates/rediss.example.org/v1/web.yaml
a: b
== .registry/templates/mysql.foo.io/v1/status.yaml
a: b
== .registry/templates/used/dir/x.tpl
x
== .registry/templates/used/dir/x.yaml
x
== .registry/templates/unused/y.tpl
x
== .registry/templates/web.yaml
a: b
== .registry/templates/redis.example.org/v1/web.yml
a: b
== .registry/rbac.yaml
a: b
"
    );
    assert_snapshot!(said(&files(&text)), @r#"
    .registry/rbac.yaml: warning: nothing reads this file
      hint: if it holds a CRD, call it `rbac.crd.yaml`
    .registry/templates/mysql.foo.io/v1/status.yaml: error: `mysql.foo.io/v1` is no kind of this package, and no template includes from it
      hint: the package has `redis.example.org/v1`, `redis.example.org/v1beta1`
    .registry/templates/redis.example.org/v1/helpers.tpl: error: what templates include cannot be among the templates of a kind
      hint: put it into a directory of its own, such as `templates/lib`
    .registry/templates/redis.example.org/v1/web.yml: warning: nothing reads this file
      hint: call it `web.yaml`
    .registry/templates/redis.example.org/v1beta1/web.yaml: error: there are templates for two versions of `Redis`, v1 and v1beta1
      hint: template one version: the API server shows all instances in it
    .registry/templates/redises.example.org/v1/status.yaml: error: there are templates for `Redis` under two keys, `redis.example.org/v1` and `redises.example.org/v1`
      hint: put them all into `templates/redis.example.org/v1`
    .registry/templates/rediss.example.org/v1/web.yaml: error: `rediss.example.org/v1` is no kind of this package, and no template includes from it
      hint: did you mean `templates/redis.example.org/v1`?
    .registry/templates/unused/y.tpl: warning: no template includes this
    .registry/templates/used/dir/x.yaml: error: there are two files for `include "used/dir" "x"`
      hint: call one of them something else
    .registry/templates/web.yaml: error: it cannot be told which kind this template is for
      hint: put it into a directory for its kind: `templates/<kind>.<group>/<version>/web.yaml`
    "#);
}

#[test]
fn bytes_that_are_no_text_and_stacks_that_are_too_large_are_said() {
    let mut all = files(&good());
    all.insert(
        ".registry/templates/redis.example.org/v1/bad.yaml".into(),
        b"a: b\n\xc3\xa4\xff".to_vec(),
    );
    all.insert(
        ".registry/templates/redis.example.org/v1/big.yaml".into(),
        vec![b'x'; 2 << 20],
    );
    all.insert(
        ".registry/templates/redis.example.org/v1/huge.yaml".into(),
        vec![b'x'; 5 << 20],
    );
    assert_snapshot!(said(&all), @r#"
    .registry/templates/redis.example.org/v1/bad.yaml:2:2: error: this is not UTF-8 text
    .registry/templates/redis.example.org/v1/big.yaml: error: the Stack would have 2098204 bytes, more than the 1048576 that a cluster takes
      hint: this is the largest of its parts
    .registry/templates/redis.example.org/v1/huge.yaml: error: the file has 5242880 bytes, more than the 4194304 that are read
    "#);
}

#[test]
fn a_package_cut_or_bent_anywhere_is_read_without_a_panic() {
    let whole = files(&good());
    for (path, bytes) in &whole {
        for at in (0..bytes.len()).step_by(2) {
            for change in [&b""[..], b"\xff", b"{", b"\n- ", b": "] {
                let mut bent = whole.clone();
                let mut new = bytes[..at].to_vec();
                if !change.is_empty() {
                    new.extend_from_slice(change);
                    new.extend_from_slice(&bytes[at + 1..]);
                }
                bent.insert(path.clone(), new);
                let (_, problems) = package::read(&bent);
                for problem in problems {
                    assert!(
                        !problem.what.is_empty() && (problem.line == 0) == (problem.column == 0),
                        "{problem:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_packages_among_the_examples_are_read() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let directory = entry.unwrap().path();
        if !directory.is_dir() {
            continue;
        }
        let mut files = Files::new();
        collect(&directory, &directory, &mut files);
        let (package, problems) = package::read(&files);
        if files
            .keys()
            .any(|path| path.starts_with(".registry/templates/"))
        {
            seen += 1;
            // An example without a CRD is still being written, and its keys mean nothing yet.
            let complete = !package.crds.is_empty();
            let errors: Vec<_> = problems
                .iter()
                .filter(|problem| problem.severity == Severity::Error)
                .collect();
            assert!(
                !complete || errors.is_empty(),
                "{}: {errors:#?}",
                directory.display()
            );
            assert!(
                !complete || !package.templates.is_empty() || !package.template_status.is_empty()
            );
        }
    }
    assert!(seen > 0);
}

fn collect(root: &Path, directory: &Path, files: &mut Files) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else if path.is_file() {
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/");
            files.insert(name, std::fs::read(&path).unwrap());
        }
    }
}

#[test]
fn one_bad_dependency_takes_no_other_with_it() {
    for (depends_on, kept, all) in [
        (
            "- crd: deployment.apps/v1\n- service/v1\n- crd: configmap/v1\n",
            2,
            false,
        ),
        ("- crd: deployment.apps/v1\n- crd: service/v1\n", 2, true),
        ("", 0, true),
    ] {
        let app = format!("== .registry/app.yaml\ntitle: T\ndependsOn:\n{depends_on}");
        let (package, _) = package::read(&files(&app));
        assert_eq!(
            (package.app.depends_on.len(), package.all_dependencies),
            (kept, all),
            "{depends_on}"
        );
    }
    for app in [
        "title: T\ndependson:\n- crd: service/v1\n",
        "title: T\n  dependsOn: []\n",
        "title: T: T\n",
    ] {
        let (package, problems) = package::read(&files(&format!("== .registry/app.yaml\n{app}")));
        assert!(!package.all_dependencies, "{app}");
        assert!(
            problems
                .iter()
                .any(|problem| problem.severity == Severity::Error),
            "{app}"
        );
    }
}

#[test]
fn a_dependency_that_kubernetes_does_not_have_is_told_with_what_was_meant() {
    for (crd, hint) in [
        (
            "ingresss.networking.k8s.io/v1",
            Some("did you mean `ingress.networking.k8s.io/v1`?"),
        ),
        (
            "ingress.networking.k8s.io/v1beta1",
            Some("write `ingress.networking.k8s.io/v1`"),
        ),
        ("ingress/v1", Some("write `ingress.networking.k8s.io/v1`")),
        ("apps/v1", Some("write `<kind>.apps/v1`")),
        ("'*.apps/v2'", Some("write `*.apps/v1`")),
        ("Ingresses.networking.k8s.io/v1", None),
        ("'*.apps/v1'", None),
        ("networking.k8s.io/v1", None),
        ("widget.example.org/v7", None),
    ] {
        let text = format!("== .registry/app.yaml\ntitle: T\ndependsOn:\n- crd: {crd}\n");
        let (_, problems) = package::read(&files(&text));
        let found = problems
            .iter()
            .find(|problem| problem.line == 3)
            .and_then(|problem| problem.hint.as_deref());
        assert_eq!(found, hint, "{crd}");
    }
}

#[test]
fn a_crd_with_a_key_that_stands_twice_is_read() {
    let text = format!(
        "== .registry/app.yaml\ntitle: T\n== .registry/resources/a.crd.yaml\n{CRD}kind: CustomResourceDefinition\n"
    );
    let (package, problems) = package::read(&files(&text));
    assert!(package.all_crds && package.crds.len() == 1, "{problems:?}");
    assert!(
        problems
            .iter()
            .any(|problem| problem.what.contains("already set")),
        "{problems:?}"
    );
}
