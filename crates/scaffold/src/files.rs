//! The files around the templates of a stack that was made from manifests: metadata, CRD, status,
//! an instance, tests.

use objects::Gvk;
use serde_json::{Value, json};

use crate::kinds::{main_workload, secret};
use crate::manifests::split::Piece;
use crate::names::Names;
use crate::rewrite::fields::Field;

/// A template with what it makes, for whoever writes about it.
pub(super) struct Made<'m> {
    pub template: String,
    pub piece: &'m Piece,
    /// Whether its name follows the instance's.
    pub named: bool,
}

pub(super) fn app(names: &Names, made: &[Made<'_>]) -> String {
    let mut kinds: Vec<String> = made.iter().map(|made| reference(&made.piece.gvk)).collect();
    kinds.sort();
    kinds.dedup();
    let kinds: String = kinds
        .iter()
        .map(|kind| format!("- crd: {kind}\n"))
        .collect();
    format!(
        "# What the package says of itself. A catalogue shows it.\ntitle: {}\noverviewShort: Made from manifests, one \
         instance for each\nversion: 0.1.0\n\n# Where it may act once it is installed: in its namespace, or in all of them \
         (Cluster).\npermissionScope: Namespaced\n\n# The kinds that the templates make: with its own \
         kinds, what the stack may touch.\ndependsOn:\n{kinds}",
        names.title()
    )
}

/// A kind as `dependsOn` names it.
fn reference(gvk: &Gvk) -> String {
    let kind = gvk.kind.to_ascii_lowercase();
    if gvk.group.is_empty() {
        format!("{kind}/{}", gvk.version)
    } else {
        format!("{kind}.{}/{}", gvk.group, gvk.version)
    }
}

pub(super) fn crd(names: &Names, fields: &[Field], status: &[(String, &str, &str)]) -> String {
    let Names {
        group,
        kind,
        singular,
        plural,
        ..
    } = names;
    let mut text = format!(
        "# The API of this stack: what its users write (spec), and what they are told (status).\n\
         apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: {plural}.{group}\nspec:\n  \
         group: {group}\n  scope: Namespaced\n  names:\n    kind: {kind}\n    plural: {plural}\n    singular: {singular}\n    \
         categories: [all]\n  versions:\n  - name: {}\n    served: true\n    storage: true\n    subresources:\n      status: {{}}\n    \
         # The columns of `kubectl get {plural}`.\n    additionalPrinterColumns:\n    \
         - {{name: Ready, type: string, jsonPath: '.status.conditions[?(@.type==\"Ready\")].status'}}\n",
        Names::VERSION
    );
    for (name, kind, _) in status {
        let column = super::names::pascal(name.strip_prefix("ready").unwrap_or(name));
        text.push_str(&format!(
            "    - {{name: {column}, type: {kind}, jsonPath: .status.{name}}}\n"
        ));
    }
    text.push_str(
        "    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}\n    schema:\n      openAPIV3Schema:\n        \
         type: object\n        properties:\n          spec:\n            type: object\n            \
         # So that an object without a spec gets the defaults below.\n            default: {}\n",
    );
    if fields.is_empty() {
        text.push_str("            properties: {}\n");
    } else {
        text.push_str("            properties:\n");
    }
    for field in fields {
        let mut rules = field.rules.clone();
        rules["description"] = json!(field.description);
        rules["default"] = field.default.clone();
        text.push_str(&format!("              {}:\n", field.name));
        // The description comes first, as people read it.
        for key in [
            "description",
            "type",
            "minimum",
            "minLength",
            "maxLength",
            "pattern",
            "default",
        ] {
            if let Some(value) = rules.get(key) {
                let value = match value {
                    Value::String(text) if key == "pattern" => format!("'{text}'"),
                    Value::String(text) if key != "default" => text.clone(),
                    value => value.to_string(),
                };
                text.push_str(&format!("                {key}: {value}\n"));
            }
        }
    }
    text.push_str("          status:\n            type: object\n            properties:\n");
    for (name, kind, description) in status {
        text.push_str(&format!(
            "              {name}:\n                description: {description}\n                type: {kind}\n"
        ));
    }
    text + &super::conditions(14)
}

/// The fields of the status, with types and words, and the template that fills them.
pub(super) fn status(
    made: &[Made<'_>],
    base: &str,
) -> (Vec<(String, &'static str, &'static str)>, String) {
    let mut fields = Vec::new();
    let mut text = "{{- /* A field is left out as long as what it is made of is not there. The conditions Synced and Ready\n       \
                    come by themselves. */}}\n"
        .to_string();
    if let Some(workload) = main_workload::workload(made, base) {
        fields.push((
            "readyReplicas".to_string(),
            "integer",
            "How many pods are ready.",
        ));
        text.push_str(&format!(
            "readyReplicas: {{{{ .{}.status.readyReplicas | default 0 }}}}\n",
            workload.template
        ));
    }
    if let Some(service) = main_workload::service(made, base) {
        fields.push((
            "address".to_string(),
            "string",
            "Where it answers inside the cluster.",
        ));
        let name = &service.template;
        text.push_str(&format!(
            "address: {{{{ .{name}.metadata.name }}}}.{{{{ .metadata.namespace }}}}.svc\n"
        ));
    }
    if fields.is_empty() {
        fields.push((
            "objects".to_string(),
            "integer",
            "How many objects there are.",
        ));
        text.push_str(&format!("objects: {}\n", made.len()));
    }
    (fields, text)
}

/// The instance that renders to the manifests.
pub(super) fn instance(names: &Names, base: &str, namespace: &str, fields: &[Field]) -> String {
    let words = "# What the manifests were. Every field of the spec has this default, so all of it may go.\n";
    words.to_string() + &object(names, base, namespace, fields)
}

fn object(names: &Names, base: &str, namespace: &str, fields: &[Field]) -> String {
    let mut text = format!(
        "apiVersion: {}\nkind: {}\nmetadata:\n  name: {}\n  namespace: {}\n",
        names.api_version(),
        names.kind,
        plain(base),
        plain(namespace)
    );
    text.push_str(if fields.is_empty() {
        "spec: {}\n"
    } else {
        "spec:\n"
    });
    for field in fields {
        text.push_str(&format!("  {}: {}\n", field.name, field.default));
    }
    text
}

/// A text as YAML, with quotes only if it would be read as something else.
fn plain(text: &str) -> String {
    let is_plain = yaml::parse(text).is_ok_and(|value| value == text);
    if is_plain {
        text.to_string()
    } else {
        Value::from(text).to_string()
    }
}

/// A name for another instance, which no name of the manifests has, and which makes none of them
/// too long.
pub(super) fn other(made: &[Made<'_>], base: &str) -> &'static str {
    let fits = |other: &&str| {
        let is_free = |name: &str| !crate::rewrite::common_name::holds(name, other);
        let is_short =
            |name: &str| other.len() <= base.len() || replaced(name, base, other).len() <= 52;
        made.iter()
            .all(|made| is_free(made.piece.name()) && is_short(made.piece.name()))
    };
    ["other", "second", "b", "c"]
        .into_iter()
        .find(fits)
        .unwrap_or("d")
}

pub(super) fn tests(
    names: &Names,
    base: &str,
    namespace: &str,
    fields: &[Field],
    made: &[Made<'_>],
) -> String {
    let indented = |text: &str, indent: &str| -> String {
        text.lines()
            .map(|line| {
                if line.is_empty() {
                    "\n".to_string()
                } else {
                    format!("{indent}{line}\n")
                }
            })
            .collect()
    };
    let mut text = format!(
        "# Run by `cairn test`, without a cluster. What is not mentioned is not looked at.\n- name: an instance can be what \
         the manifests were\n  instance:\n{}  expect:\n    objects:\n",
        indented(&object(names, base, namespace, fields), "    ")
    );
    for made in made {
        let mut value = made.piece.value.clone();
        if let Some(fields) = value
            .as_object_mut()
            .filter(|_| secret::is_secret(made.piece))
        {
            fields.remove("data");
        }
        text.push_str(&format!(
            "      {}:\n{}",
            made.template,
            indented(&Piece::emitted(&value), "        ")
        ));
    }
    let other = other(made, base);
    let spec: Vec<String> = fields
        .iter()
        .map(|field| format!("{}: {}", field.name, field.other()))
        .collect();
    text.push_str(&format!(
        "\n- name: another instance has names and values of its own\n  instance:\n    apiVersion: {}\n    kind: {}\n    \
         metadata: {{name: {other}}}\n    spec: {{{}}}\n  expect:\n    objects:\n",
        names.api_version(),
        names.kind,
        spec.join(", ")
    ));
    for made in made {
        let name = if made.named {
            replaced(made.piece.name(), base, other)
        } else {
            made.piece.name().to_string()
        };
        text.push_str(&format!(
            "      {}: {{metadata: {{name: {}}}}}\n",
            made.template,
            plain(&name)
        ));
    }
    text
}

fn replaced(name: &str, base: &str, other: &str) -> String {
    let mut text = name.to_string();
    for at in crate::rewrite::common_name::places(name, base)
        .into_iter()
        .rev()
    {
        text.replace_range(at..at + base.len(), other);
    }
    text
}
