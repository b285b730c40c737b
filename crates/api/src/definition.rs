//! The CRDs of our own kinds, made from the types and what is said of their fields, for clusters
//! and `kubectl explain`.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::{
    ClusterStackInstall, GROUP, InstallSpec, InstallStatus, Stack, StackInstall, StackSpec,
    StackStatus, VERSION, template,
};

/// The CRDs, in the order of their names.
pub fn definitions() -> Vec<Value> {
    let ready = column(
        "Ready",
        "string",
        ".status.conditions[?(@.type=='Ready')].status",
        0,
    );
    let age = column("Age", "date", ".metadata.creationTimestamp", 0);
    let install = || {
        let columns = json!([
            ready,
            column("Package", "string", ".spec.package", 0),
            column("CRD", "string", ".spec.crd", 1),
            column("Source", "string", ".spec.source", 1),
            column("Version", "string", ".status.version", 0),
            column(
                "Reason",
                "string",
                ".status.conditions[?(@.type=='Ready')].reason",
                0
            ),
            column(
                "Up-To-Date",
                "string",
                ".status.conditions[?(@.type=='UpToDate')].status",
                1
            ),
            age,
        ]);
        (schema::<InstallSpec>(), schema::<InstallStatus>(), columns)
    };
    let (mut spec, mut status, columns) = install();
    one_of_package_and_crd(&mut spec);
    let wish = "The wish to have a package installed";
    let in_cluster = definition(
        ClusterStackInstall::KIND,
        ClusterStackInstall::PLURAL,
        "Cluster",
        &format!("{wish} for the whole cluster."),
        (spec.clone(), status.clone(), columns.clone()),
    );
    // A StackInstall acts in its own namespace.
    for (part, field) in [(&mut spec, "namespaces"), (&mut status, "namespace")] {
        part["properties"]
            .as_object_mut()
            .map(|fields| fields.remove(field));
    }
    let in_namespace = definition(
        StackInstall::KIND,
        StackInstall::PLURAL,
        "Namespaced",
        &format!("{wish} in a namespace."),
        (spec, status, columns),
    );
    let mut spec = schema::<StackSpec>();
    both_spellings(&mut spec);
    let columns = json!([
        ready,
        column("Version", "string", ".spec.version", 0),
        column(
            "Reason",
            "string",
            ".status.conditions[?(@.type=='Ready')].reason",
            0
        ),
        column("Title", "string", ".spec.title", 1),
        age,
    ]);
    let about = "The record of an installed stack: its kinds, its controller or templates, and how they are.";
    let stack = definition(
        Stack::KIND,
        Stack::PLURAL,
        "Namespaced",
        about,
        (spec, schema::<StackStatus>(), columns),
    );
    vec![in_cluster, in_namespace, stack, template_definition()]
}

/// The CRD of stored templates, whose fields are not below a `spec`: they are those of the design
/// and of OpenShift.
fn template_definition() -> Value {
    let mut fields = schema::<template::TemplateFields>();
    fields["description"] =
        json!("Objects with parameters: a library that users fill in and make their own.");
    fields["required"] = json!(["objects"]);
    let own = [
        ("apiVersion", "string"),
        ("kind", "string"),
        ("metadata", "object"),
    ];
    for (field, kind) in own {
        fields["properties"][field] = json!({ "type": kind });
    }
    let parameter = &mut fields["properties"]["parameters"]["items"];
    parameter["required"] = json!(["name"]);
    parameter["properties"]["name"]["pattern"] = json!("^[a-zA-Z0-9_]+$");
    parameter["properties"]["type"]["enum"] =
        json!(["string", "int", "integer", "bool", "boolean", "base64"]);
    let parameters = &mut fields["properties"]["parameters"];
    parameters["x-kubernetes-list-type"] = json!("map");
    parameters["x-kubernetes-list-map-keys"] = json!(["name"]);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{}.{}", template::PLURAL, template::GROUP) },
        "spec": {
            "group": template::GROUP,
            "names": {
                "kind": template::KIND, "listKind": "TemplateList", "plural": template::PLURAL,
                "singular": "template", "categories": ["crossplane"],
            },
            "scope": "Namespaced",
            "versions": [{
                "name": VERSION, "served": true, "storage": true,
                "additionalPrinterColumns": [
                    column("Description", "string", ".metadata.annotations.description", 0),
                    column("Age", "date", ".metadata.creationTimestamp", 0),
                ],
                "schema": { "openAPIV3Schema": fields },
            }],
        },
    })
}

fn definition(
    kind: &str,
    plural: &str,
    scope: &str,
    description: &str,
    (spec, status, columns): (Value, Value, Value),
) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{GROUP}") },
        "spec": {
            "group": GROUP,
            "names": {
                "kind": kind, "listKind": format!("{kind}List"), "plural": plural,
                "singular": kind.to_lowercase(), "categories": ["crossplane"],
            },
            "scope": scope,
            "versions": [{
                "name": VERSION, "served": true, "storage": true,
                "subresources": { "status": {} },
                "additionalPrinterColumns": columns,
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "description": description,
                    "required": ["spec"],
                    "properties": {
                        "apiVersion": { "type": "string" },
                        "kind": { "type": "string" },
                        "metadata": { "type": "object" },
                        "spec": spec,
                        "status": status,
                    },
                } },
            }],
        },
    })
}

fn column(name: &str, kind: &str, path: &str, priority: u8) -> Value {
    let mut column = json!({ "name": name, "type": kind, "jsonPath": path });
    if priority > 0 {
        column["priority"] = json!(priority);
    }
    column
}

/// The schema of a type, as CRDs write it.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut value = SchemaGenerator::new(settings)
        .into_root_schema_for::<T>()
        .to_value();
    structural(&mut value);
    value
}

/// Leaves only what a structural schema may have.
fn structural(schema: &mut Value) {
    let Value::Object(fields) = schema else {
        // `true`: whatever was written there is kept.
        *schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        return;
    };
    for gone in [
        "title",
        "default",
        "format",
        "$schema",
        "minimum",
        "additionalProperties",
    ] {
        let keep = gone == "additionalProperties" && fields.get(gone).is_some_and(Value::is_object);
        let number = gone == "minimum" && fields.get("type") == Some(&json!("integer"));
        if !keep && !number {
            fields.remove(gone);
        }
    }
    if let Some(description) = fields.get("description").and_then(Value::as_str) {
        // Lines of a doc comment are no lines of a text.
        let text = description.replace('\n', " ");
        fields.insert("description".to_owned(), json!(text));
    }
    flatten(fields);
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(structural);
        if properties.contains_key("lastTransitionTime") && properties.contains_key("type") {
            fields.insert("required".to_owned(), json!(["type", "status", "reason"]));
        }
    }
    for part in ["items", "additionalProperties"] {
        if let Some(part) = fields.get_mut(part) {
            structural(part);
        }
    }
    let conditions = fields
        .get("items")
        .is_some_and(|items| items["properties"]["lastTransitionTime"].is_object());
    if conditions {
        fields.insert("x-kubernetes-list-type".to_owned(), json!("map"));
        fields.insert("x-kubernetes-list-map-keys".to_owned(), json!(["type"]));
    }
    if !fields.contains_key("type") {
        fields.insert("type".to_owned(), json!("object"));
        fields.insert(
            "x-kubernetes-preserve-unknown-fields".to_owned(),
            json!(true),
        );
        fields.remove("nullable");
    }
}

/// Puts into one what is said in parts: a type that may be absent, and words that each have a
/// description.
fn flatten(fields: &mut Map<String, Value>) {
    for part in ["allOf", "anyOf", "oneOf"] {
        let Some(Value::Array(parts)) = fields.remove(part) else {
            continue;
        };
        let words: Vec<Value> = parts
            .iter()
            .filter_map(|part| part["enum"].as_array())
            .flatten()
            .cloned()
            .collect();
        for part in parts {
            let Value::Object(part) = part else { continue };
            if words.is_empty() {
                part.into_iter().for_each(|(key, value)| {
                    fields.entry(key).or_insert(value);
                });
            }
        }
        if !words.is_empty() {
            fields.insert("type".to_owned(), json!("string"));
            fields.insert("enum".to_owned(), json!(words));
        }
    }
    // Absent and null are the same to whoever reads it.
    fields.remove("nullable");
}

fn one_of_package_and_crd(spec: &mut Value) {
    let given = |field: &str| format!("(has(self.{field}) && self.{field} != '')");
    spec["x-kubernetes-validations"] = json!([{
        // A word that the language of rules keeps for itself is written so.
        "rule": format!("{} != {}", given("__package__"), given("crd")),
        "message": "exactly one of package and crd must be set",
    }]);
    spec["properties"]["imagePullPolicy"]["enum"] = json!(["", "Always", "IfNotPresent", "Never"]);
}

/// Other spellings of fields, which would be dropped on the way in if the schema did not know them.
fn both_spellings(spec: &mut Value) {
    let mut template = spec["properties"]["templates"].clone();
    template["description"] = json!("Another spelling of templates.");
    spec["properties"]["template"] = template;
    spec["x-kubernetes-validations"] = json!([{
        "rule": "!(has(self.template) && has(self.templates))",
        "message": "template is another spelling of templates: only one of them may be set",
    }]);
    let icon = &mut spec["properties"]["icons"]["items"]["properties"];
    let mut other = icon["base64Data"].clone();
    other["description"] = json!("Another spelling of base64Data.");
    icon["base64data"] = other;
    let mut short = spec["properties"]["overviewShort"].clone();
    short["description"] = json!("Another spelling of overviewShort.");
    spec["properties"]["shortOverview"] = short;
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::definitions;
    use crate::{Crd, Severity, Stack};

    #[test]
    fn the_definitions_are_sound() {
        for definition in definitions() {
            let (crd, problems) = Crd::read(&definition);
            let errors: Vec<_> = problems
                .iter()
                .filter(|problem| problem.severity == Severity::Error)
                .collect();
            assert!(errors.is_empty(), "{errors:?}");
            assert!(crd.is_some());
        }
    }

    #[test]
    fn the_written_definitions_are_those_of_the_types() {
        for definition in definitions() {
            let name = format!(
                "{}/crds/{}.yaml",
                env!("CARGO_MANIFEST_DIR"),
                definition["spec"]["names"]["plural"].as_str().unwrap()
            );
            let written = std::fs::read_to_string(&name).unwrap_or_default();
            assert_eq!(
                written,
                yaml::emit(&definition).unwrap(),
                "{name} is stale: run `cargo run -p api --example crds`"
            );
        }
    }

    #[test]
    fn every_field_says_what_it_is_for() {
        fn check(path: &str, schema: &Value) {
            if let Some(properties) = schema["properties"].as_object() {
                for (name, field) in properties {
                    let standard = ["apiVersion", "kind", "metadata"].contains(&name.as_str())
                        && path.is_empty();
                    assert!(
                        standard || field["description"].is_string(),
                        "{path}.{name}"
                    );
                    let text = field["description"].as_str().unwrap_or_default();
                    assert!(!text.contains("[`"), "{path}.{name}: {text}");
                    check(&format!("{path}.{name}"), field);
                }
            }
            for part in ["items", "additionalProperties"] {
                if let Some(part) = schema.get(part) {
                    check(&format!("{path}[]"), part);
                }
            }
        }
        for definition in definitions() {
            check(
                "",
                &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
            );
        }
    }

    #[test]
    fn nothing_that_a_stack_can_say_is_dropped_on_the_way_in() {
        let (crd, _) = Crd::read(&definitions()[2]);
        let crd = crd.unwrap();
        let stack = json!({
            "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "Stack", "metadata": {"name": "a"},
            "spec": {
                "title": "T", "overviewShort": "o", "overview": "O", "readme": "R", "version": "1",
                "icons": [{"base64data": "aa==", "mediatype": "image/png"}],
                "maintainers": [{"name": "n", "email": "e"}], "owners": [{"name": "n", "email": "e"}],
                "company": "c", "category": "c", "keywords": ["k"], "website": "w", "source": "s", "license": "l",
                "permissionScope": "Cluster", "dependsOn": [{"crd": "a.b/v1"}],
                "customresourcedefinitions": [{"kind": "K", "apiVersion": "g/v1"}],
                "controller": {
                    "deployment": {"name": "d", "spec": {"replicas": 1}},
                    "serviceAccount": {"annotations": {"a": "b"}},
                },
                "permissions": {"rules": [{"apiGroups": [""]}]},
                "templates": {"k": {"n": "t"}}, "templateStatus": {"k": "t"},
            },
            "status": {
                "conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": "",
                    "lastTransitionTime": "2020-01-01T00:00:00Z", "observedGeneration": 1}],
                "controllerRef": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "n", "name": "d", "uid": "u"},
                "serviceAccount": "s", "rules": [{"verbs": ["*"]}],
                "renderedKinds": [{"kind": "K", "apiVersion": "v1"}],
                "instances": {"k.g": {"total": 1, "ready": 1, "waiting": 0, "failing": 0}},
                "digest": "d", "version": "v",
                "diagnostics": [{"key": "k", "template": "t", "line": 1, "column": 2, "message": "m", "hint": "h"}],
            },
        });
        let mut admitted = stack.clone();
        assert_eq!(crd.versions[0].schema.admit(&mut admitted), []);
        assert_eq!(admitted, stack);
        let read: Stack = serde_json::from_value(stack).unwrap();
        let written = serde_json::to_value(read).unwrap();
        let mut admitted = written.clone();
        assert_eq!(crd.versions[0].schema.admit(&mut admitted), []);
        assert_eq!(admitted, written);
    }
}
