//! Reads a CRD and says what the API server would refuse it for, as far as names, versions and
//! schemas go.

use std::collections::BTreeSet;

use objects::{Path, Schema};
use serde_json::Value;

use super::convert::convert;
use super::names;
use super::{Column, Crd, CrdProblem, CrdVersion, Names, Scale, Scope, Severity};

const V1: &str = "apiextensions.k8s.io/v1";
const V1BETA1: &str = "apiextensions.k8s.io/v1beta1";

/// Reads a CRD; a part of one may say nothing of the version that is stored, or say it of several.
pub(super) fn read(document: &Value, is_part: bool) -> (Option<Crd>, Vec<CrdProblem>) {
    let mut reader = Reader {
        problems: Vec::new(),
        is_part,
    };
    let crd = reader.crd(document);
    (crd, reader.problems)
}

struct Reader {
    problems: Vec<CrdProblem>,
    is_part: bool,
}

impl Reader {
    fn error(&mut self, path: Path, what: impl Into<String>, hint: Option<String>) {
        self.problems.push(CrdProblem {
            severity: Severity::Error,
            path,
            what: what.into(),
            hint,
        });
    }

    fn crd(&mut self, document: &Value) -> Option<Crd> {
        let kind = document
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if kind != "CustomResourceDefinition" {
            let what = if kind.is_empty() {
                "this is no Kubernetes object".into()
            } else {
                format!("this is a {kind}")
            };
            let hint = Some("only CustomResourceDefinitions belong here".to_owned());
            self.error(Path::fields(&["kind"]), what, hint);
            return None;
        }
        let beta = match document.get("apiVersion").and_then(Value::as_str) {
            Some(V1) => false,
            Some(V1BETA1) => true,
            other => {
                let what = format!(
                    "`{}` has no CustomResourceDefinition",
                    other.unwrap_or_default()
                );
                self.error(
                    Path::fields(&["apiVersion"]),
                    what,
                    Some(format!("write `apiVersion: {V1}`")),
                );
                return None;
            }
        };
        names::check(document, beta, &mut self.problems);
        let converted = convert(document, beta);
        let spec = &converted.object["spec"];
        let group = self.required(spec, &["group"])?;
        let names = self.names(spec);
        let scope = self.scope(spec);
        let versions = self.versions(document, spec, &converted.schemas, beta);
        let names = names?;
        self.check_group(&group, &converted.object);
        let name = converted
            .object
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        // A plural in capitals is a fault of its own, and no reason to ask for a name with
        // capitals.
        let right = format!("{}.{group}", names.plural.to_lowercase());
        if name != right {
            let what = match name.as_str() {
                "" => "the CRD has no name".to_owned(),
                _ => {
                    format!("the CRD is called `{name}`, but its name has to be `<plural>.<group>`")
                }
            };
            self.error(
                Path::fields(&["metadata", "name"]),
                what,
                Some(format!("write `name: {right}`")),
            );
        }
        Some(Crd {
            object: converted.object,
            name: right,
            group,
            names,
            scope,
            versions,
        })
    }

    /// A text of the spec that has to be there.
    fn required(&mut self, spec: &Value, fields: &[&str]) -> Option<String> {
        let value = fields
            .iter()
            .try_fold(spec, |value, field| value.get(field));
        let text = value
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
            .map(str::to_owned);
        if text.is_none() {
            let path = Path::fields(&["spec"]).join(&Path::fields(fields));
            let what = if value.is_some_and(|value| !value.is_string()) {
                "must be a string"
            } else {
                "is missing"
            };
            self.error(path.clone(), format!("`{path}` {what}"), None);
        }
        text
    }

    fn names(&mut self, spec: &Value) -> Option<Names> {
        let kind = self.required(spec, &["names", "kind"]);
        let plural = self.required(spec, &["names", "plural"]);
        let (kind, plural) = (kind?, plural?);
        let names = &spec["names"];
        let texts = |field: &str| {
            let list = names
                .get(field)
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let singular = names["singular"].as_str().unwrap_or_default().to_owned();
        for (field, name) in [
            ("plural", plural.as_str()),
            ("singular", &singular),
            ("kind", &kind.to_lowercase()),
        ] {
            if !is_label(name) {
                let hint =
                    (field != "kind").then(|| format!("write `{field}: {}`", name.to_lowercase()));
                let hint = hint.filter(|_| is_label(&name.to_lowercase()));
                let what = format!(
                    "`{name}` cannot be a {field}: letters, digits and dashes, a letter first"
                );
                self.error(Path::fields(&["spec", "names", field]), what, hint);
            }
        }
        Some(Names {
            kind,
            plural,
            singular,
            short_names: texts("shortNames"),
            categories: texts("categories"),
        })
    }

    fn scope(&mut self, spec: &Value) -> Scope {
        match spec.get("scope").and_then(Value::as_str) {
            Some("Namespaced") => Scope::Namespaced,
            Some("Cluster") => Scope::Cluster,
            other => {
                let what = other.map_or("`spec.scope` is missing".to_owned(), |other| {
                    format!("there is no scope `{other}`")
                });
                self.error(
                    Path::fields(&["spec", "scope"]),
                    what,
                    Some("write `Namespaced` or `Cluster`".into()),
                );
                Scope::Namespaced
            }
        }
    }

    fn check_group(&mut self, group: &str, object: &Value) {
        let path = Path::fields(&["spec", "group"]);
        if !group.contains('.') || !group.split('.').all(is_part) {
            self.error(
                path,
                format!("`{group}` is no domain name with at least one dot"),
                None,
            );
            return;
        }
        let reserved = ["k8s.io", "kubernetes.io"].iter().any(|end| {
            group
                .strip_suffix(end)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        });
        let approved = object
            .pointer("/metadata/annotations/api-approved.kubernetes.io")
            .is_some();
        if reserved && !approved {
            self.error(
                path,
                format!("the group `{group}` is reserved for Kubernetes"),
                Some("use a domain of your own".into()),
            );
        }
    }

    fn versions(
        &mut self,
        document: &Value,
        spec: &Value,
        schemas: &[Option<Path>],
        beta: bool,
    ) -> Vec<CrdVersion> {
        let path = Path::fields(&["spec", "versions"]);
        let list = spec
            .get("versions")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        if list.is_empty() {
            self.error(path, "the CRD has no versions", None);
            return Vec::new();
        }
        if let (true, Some(single)) = (
            beta,
            document.pointer("/spec/version").and_then(Value::as_str),
        ) && list[0].get("name").and_then(Value::as_str) != Some(single)
        {
            let what = format!(
                "`spec.version` is `{single}`, but the first of `spec.versions` is another"
            );
            self.error(
                Path::fields(&["spec", "version"]),
                what,
                Some("leave `spec.version` out".into()),
            );
        }
        let mut versions: Vec<CrdVersion> = Vec::new();
        let (mut names, mut read) = (BTreeSet::new(), BTreeSet::new());
        for (index, version) in list.iter().enumerate() {
            let here = path.child(index);
            let Some(name) = version
                .get("name")
                .and_then(Value::as_str)
                .filter(|name| is_label(name))
            else {
                self.error(
                    here.child("name"),
                    "the version has no name of letters, digits and dashes",
                    None,
                );
                continue;
            };
            if !names.insert(name) {
                self.error(
                    here.child("name"),
                    format!("the version `{name}` is there twice"),
                    None,
                );
                continue;
            }
            let (schema, flaws) = Schema::read(
                version
                    .pointer("/schema/openAPIV3Schema")
                    .unwrap_or(&Value::Null),
            );
            match schemas.get(index).and_then(Option::as_ref) {
                None => self.no_schema(here.child("schema"), name, beta),
                // Versions of v1beta1 share a schema, whose flaws are said once.
                Some(origin) if !read.insert(origin) => {}
                Some(origin) => {
                    for flaw in flaws {
                        let what = match flaw.path.is_root() {
                            true => format!("schema: {}", flaw.what),
                            false => format!("schema `{}`: {}", flaw.path, flaw.what),
                        };
                        self.error(origin.join(&flaw.path), what, flaw.hint);
                    }
                }
            }
            super::extras::check(version, &here, &mut self.problems);
            versions.push(view(version, name, schema));
        }
        let stored: Vec<&str> = versions
            .iter()
            .filter(|own| own.storage)
            .map(|own| own.name.as_str())
            .collect();
        if stored.len() != 1 && !versions.is_empty() && !self.is_part {
            let what = match stored.as_slice() {
                [] => "no version is stored".to_owned(),
                several => format!("more than one version is stored: {}", several.join(", ")),
            };
            self.error(
                path,
                what,
                Some("set `storage: true` on exactly one".into()),
            );
        }
        versions
    }

    fn no_schema(&mut self, path: Path, version: &str, beta: bool) {
        let severity = if beta {
            Severity::Warning
        } else {
            Severity::Error
        };
        let what = format!(
            "version `{version}` has no schema{}",
            if beta {
                ", so that any field is taken"
            } else {
                ""
            }
        );
        let path = if beta { Path::fields(&["spec"]) } else { path };
        let hint = Some("describe the fields under `schema.openAPIV3Schema`".to_owned());
        self.problems.push(CrdProblem {
            severity,
            path,
            what,
            hint,
        });
    }
}

fn view(version: &Value, name: &str, schema: Schema) -> CrdVersion {
    let flag = |field: &str| version.get(field).and_then(Value::as_bool).unwrap_or(false);
    let text = |value: &Value, field: &str| {
        value
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let columns = version
        .get("additionalPrinterColumns")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let columns = columns.map(|column| Column {
        name: text(column, "name"),
        r#type: text(column, "type"),
        json_path: text(column, "jsonPath"),
    });
    CrdVersion {
        name: name.to_owned(),
        served: flag("served"),
        storage: flag("storage"),
        schema,
        status: version
            .pointer("/subresources/status")
            .is_some_and(Value::is_object),
        scale: version
            .pointer("/subresources/scale")
            .filter(|scale| scale.is_object())
            .map(|scale| Scale {
                spec_replicas: text(scale, "specReplicasPath"),
                status_replicas: text(scale, "statusReplicasPath"),
                selector: text(scale, "labelSelectorPath"),
            }),
        columns: columns.collect(),
    }
}

/// A part of a domain name.
fn is_part(text: &str) -> bool {
    let sound = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(sound)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// A part of a domain name that begins with a letter.
fn is_label(text: &str) -> bool {
    is_part(text) && text.starts_with(|first: char| first.is_ascii_lowercase())
}
