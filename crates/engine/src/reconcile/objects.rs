//! From the text of a template to the objects it makes: parsed, checked against what was compiled,
//! and owned.

use std::cell::LazyCell;

use api::names::label_value;
use gotpl::{Trace, Watch};
use serde_json::{Map, Value, json};

use super::render::Renderer;
use super::text as text_of;
use crate::at::at;
use crate::compile::schema_check::{NO_QUOTE, QUOTE, Quotes, format_hint, steps};
use crate::compile::{Child, HALF, Shape, top_level_fields, yaml_error};
use crate::problem::{Place, Problem};

/// Whether a text holds no object: white space, comments and separators only.
pub(super) fn is_nothing(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.lines()
        .map(str::trim)
        .all(|line| line.is_empty() || line.starts_with('#') || line.starts_with("---"))
}

/// The objects in a text; none if it holds nothing.
pub(super) fn read(
    renderer: &Renderer<'_>,
    child: &Child,
    text: &[u8],
) -> Result<Vec<Value>, Vec<Problem>> {
    let reader = Reader { renderer, child };
    let Ok(text) = std::str::from_utf8(text) else {
        return Err(vec![
            Problem::at(reader.start(), "the rendered text is not UTF-8").hint(HALF),
        ]);
    };
    let documents = match yaml::documents(text) {
        Ok(documents) => documents,
        Err(error) => return Err(vec![reader.bad_yaml(text, 0, text, &error)]),
    };
    let mut objects = Vec::new();
    let mut problems = Vec::new();
    for document in documents
        .iter()
        .filter(|document| !is_nothing(document.text.as_bytes()))
    {
        match yaml::parse_written(&document.text) {
            Ok(Value::Null) => {}
            Ok(value) => {
                let mut refused = reader.refused(&value, text, document);
                refused.extend(reader.unquoted(&value, text, document));
                refused.extend(reader.forbidden(&value, text, document));
                match reader.owned(value) {
                    Ok(object) if refused.is_empty() => objects.push(object),
                    Ok(_) => problems.extend(refused),
                    Err(Unfit { what, field, hint }) => {
                        let spans = yaml::parse_spanned(&document.text)
                            .ok()
                            .map(|spanned| spanned.spans);
                        let steps: Vec<yaml::Step> =
                            field.iter().map(|step| yaml::Step::from(*step)).collect();
                        let nearest = (0..=steps.len())
                            .rev()
                            .find_map(|end| spans.as_ref()?.find(&steps[..end]));
                        let offset = document.start + nearest.map_or(0, |found| found.value.start);
                        let problem =
                            reader.located(Problem::at(reader.start(), what), text, offset);
                        problems.push(hint.into_iter().fold(problem, Problem::hint));
                    }
                }
            }
            Err(error) => {
                problems.push(reader.bad_yaml(text, document.start, &document.text, &error));
            }
        }
    }
    if child.shape == Shape::One && objects.len() > 1 {
        problems.push(Problem::at(
            reader.start(),
            format!(
                "the template makes {} objects, but one was expected",
                objects.len()
            ),
        ));
    }
    for (index, object) in objects.iter().enumerate() {
        let same = |other: &Value| {
            ["/metadata/namespace", "/metadata/name"]
                .iter()
                .all(|path| at(other, path) == at(object, path))
        };
        if objects[..index].iter().any(same) {
            let name = text_of(object, "/metadata/name");
            problems.push(Problem::at(
                reader.start(),
                format!("the template makes two objects called {name:?}"),
            ));
        }
    }
    if problems.is_empty() {
        Ok(objects)
    } else {
        Err(problems)
    }
}

/// Why an object cannot be applied, and which field of it is to blame.
struct Unfit {
    what: String,
    field: &'static [&'static str],
    hint: Option<&'static str>,
}

struct Reader<'r> {
    renderer: &'r Renderer<'r>,
    child: &'r Child,
}

impl Reader<'_> {
    fn start(&self) -> Place {
        Place {
            file: self.child.file.clone(),
            line: 1,
            column: None,
        }
    }

    /// YAML that does not parse: blamed on the line of the template that printed the bad line.
    /// `start` is where the document begins.
    fn bad_yaml(&self, text: &str, start: usize, document: &str, error: &yaml::Error) -> Problem {
        let what = yaml_error::told("the rendered text is not YAML", document, error);
        let problem = Problem::at(self.start(), what).hint(yaml_error::hint(document, error));
        self.located(problem, text, start + yaml_error::offset(document, error))
    }

    /// The same problem at the spot of the template that printed the byte at `offset`.
    fn located(&self, mut problem: Problem, text: &str, offset: usize) -> Problem {
        let found = self
            .trace()
            .and_then(|trace| self.renderer.kind.origins.line(&trace, text, offset));
        problem.place = found.or(problem.place);
        problem
    }

    /// What the API server would refuse: all of it for a kind whose schema this very stack has,
    /// fields at the top for others.
    fn refused(&self, object: &Value, text: &str, document: &yaml::Document<'_>) -> Vec<Problem> {
        // Places are looked for only if something is wrong, which is rare.
        let spans = LazyCell::new(|| {
            yaml::parse_spanned(&document.text)
                .ok()
                .map(|spanned| spanned.spans)
        });
        let refused = |path: &[yaml::Step], key: bool, what: String| {
            // A field that is missing is told at the nearest thing around it.
            let found = (0..=path.len())
                .rev()
                .find_map(|end| spans.as_ref()?.find(&path[..end]));
            let span = found.map(|found| found.key.filter(|_| key).unwrap_or(found.value));
            let what = format!(
                "the API server would refuse this {}: {what}",
                self.child.gvk.kind
            );
            self.located(
                Problem::at(self.start(), what),
                text,
                document.start + span.map_or(0, |span| span.start),
            )
        };
        let unknown = |path: Vec<&str>| {
            let steps: Vec<yaml::Step> = path.iter().map(|name| yaml::Step::from(*name)).collect();
            let problem = refused(
                &steps,
                true,
                format!("it has no field `{}`", path.join(".")),
            );
            if path.len() < 3 {
                problem.hint(top_level_fields::HINT)
            } else {
                problem
            }
        };
        let Some(schema) = &self.child.schema else {
            return top_level_fields::strange(&self.child.gvk, object)
                .into_iter()
                .map(unknown)
                .collect();
        };
        let mut stored = object.clone();
        let problem = |invalid: &objects::Invalid| {
            let problem = refused(&steps(invalid.path.steps()), false, invalid.to_string());
            match Quotes::of(invalid, object) {
                Some(Quotes::Missing) => problem.hint(QUOTE),
                Some(Quotes::Needless) => problem.hint(NO_QUOTE),
                None => format_hint(invalid)
                    .into_iter()
                    .fold(problem, Problem::hint),
            }
        };
        let mut problems: Vec<Problem> = schema.admit(&mut stored).iter().map(problem).collect();
        let mut lost = Vec::new();
        missing(object, &stored, &mut Vec::new(), &mut lost);
        problems.extend(lost.into_iter().map(unknown));
        problems
    }

    /// Fields that have to be texts, whatever the kind: numbers and booleans printed without quotes
    /// are refused.
    fn unquoted(&self, object: &Value, text: &str, document: &yaml::Document<'_>) -> Vec<Problem> {
        let mut fields = vec![vec!["metadata", "labels"], vec!["metadata", "annotations"]];
        match (self.child.gvk.group.as_str(), self.child.gvk.kind.as_str()) {
            ("", "ConfigMap") => fields.push(vec!["data"]),
            ("", "Secret") => fields.extend([vec!["stringData"], vec!["data"]]),
            _ => {}
        }
        // Places are looked for only if something is wrong, which is rare.
        let spans = LazyCell::new(|| {
            yaml::parse_spanned(&document.text)
                .ok()
                .map(|spanned| spanned.spans)
        });
        let mut problems = Vec::new();
        for field in fields {
            let Some(entries) = field
                .iter()
                .try_fold(object, |value, key| value.get(key))
                .and_then(Value::as_object)
            else {
                continue;
            };
            for (key, value) in entries
                .iter()
                .filter(|(_, value)| value.is_number() || value.is_boolean())
            {
                let path: Vec<&str> = field.iter().copied().chain([key.as_str()]).collect();
                let steps: Vec<yaml::Step> =
                    path.iter().map(|step| yaml::Step::from(*step)).collect();
                let found = spans.as_ref().and_then(|spans| spans.find(&steps));
                let offset = document.start + found.map_or(0, |found| found.value.start);
                let what = format!("{} has to be a text, but {value} is none", path.join("."));
                problems.push(
                    self.located(Problem::at(self.start(), what), text, offset)
                        .hint(QUOTE),
                );
            }
            let may_be_misread =
                |key: &str| key == "true" || key == "false" || key.parse::<f64>().is_ok();
            if entries.keys().any(|key| may_be_misread(key)) {
                let above: Vec<yaml::Step> =
                    field.iter().map(|step| yaml::Step::from(*step)).collect();
                let keys = spans
                    .as_ref()
                    .map(|spans| yaml::misread_keys(&document.text, spans))
                    .unwrap_or_default();
                let inside = keys
                    .iter()
                    .filter(|key| key.path.len() > above.len() && key.path.starts_with(&above));
                problems.extend(inside.filter_map(|key| self.misread(key, text, document)));
            }
        }
        problems
    }

    /// What no stack may make.
    fn forbidden(
        &self,
        object: &Value,
        text: &str,
        document: &yaml::Document<'_>,
    ) -> Option<Problem> {
        let found = crate::forbidden(object)?;
        let spans = yaml::parse_spanned(&document.text)
            .ok()
            .map(|spanned| spanned.spans);
        let steps: Vec<yaml::Step> = found
            .field
            .iter()
            .map(|step| yaml::Step::from(*step))
            .collect();
        let offset = spans
            .as_ref()
            .and_then(|spans| spans.find(&steps))
            .map_or(0, |found| found.value.start);
        let problem = Problem::at(self.start(), found.what).hint(crate::forbidden_kinds::HINT);
        Some(self.located(problem, text, document.start + offset))
    }

    /// A key that an action printed and YAML takes for something else: what was written as such is
    /// told before.
    fn misread(
        &self,
        key: &yaml::MisreadKey,
        text: &str,
        document: &yaml::Document<'_>,
    ) -> Option<Problem> {
        let offset = document.start + key.span.start;
        let trace = self.trace()?;
        let span = trace
            .spans
            .iter()
            .find(|span| span.start <= offset && offset < span.end)?;
        let printed = text.get(span.start..span.end).unwrap_or_default();
        let is_written = self
            .renderer
            .kind
            .origins
            .is_written(&Place::from(&span.site), printed);
        let problem = Problem::at(
            self.start(),
            format!("{}: it is printed without quotes", key.what()),
        )
        .hint(QUOTE);
        (!is_written).then(|| self.located(problem, text, offset))
    }

    fn trace(&self) -> Option<Trace> {
        let over = self.renderer.siblings();
        self.renderer
            .run(&self.child.file, &over, Watch::Closely, false)
            .ok()?
            .trace
    }

    /// The object as it is applied: of the compiled kind, in the right namespace, labelled and
    /// owned.
    fn owned(&self, mut object: Value) -> Result<Value, Unfit> {
        let fail = |field: &'static [&'static str], what: String| {
            Err(Unfit {
                what,
                field,
                hint: None,
            })
        };
        if !object.is_object() {
            return fail(&[], "the rendered text is not an object".to_string());
        }
        let gvk = &self.child.gvk;
        let (api_version, kind) = (text_of(&object, "/apiVersion"), text_of(&object, "/kind"));
        if api_version != gvk.api_version().to_string() || kind != gvk.kind {
            let field = if kind == gvk.kind {
                &["apiVersion"]
            } else {
                &["kind"]
            };
            return fail(
                field,
                format!(
                    "the template was compiled to make {gvk}, but made {kind} of {api_version}"
                ),
            );
        }
        const NAME: &[&str] = &["metadata", "name"];
        if let Some(name) =
            at(&object, "/metadata/name").filter(|name| name.is_number() || name.is_boolean())
        {
            let what = format!("metadata.name has to be a text, but {name} is none");
            return Err(Unfit {
                what,
                field: NAME,
                hint: Some(QUOTE),
            });
        }
        let name = text_of(&object, "/metadata/name");
        if name.is_empty() {
            return fail(NAME, "metadata.name is missing or empty".to_string());
        }
        // Names of roles and their bindings may hold colons; all others are names in DNS.
        if !objects::is_subdomain(&name) && gvk.group != "rbac.authorization.k8s.io" {
            let what = "lower case letters, digits, '-' and '.', beginning and ending with a letter or digit";
            return fail(
                NAME,
                format!("{name:?} cannot be the name of an object: it consists of {what}"),
            );
        }
        let instance = self.renderer.instance;
        let (namespace, mine) = (
            text_of(&object, "/metadata/namespace"),
            text_of(instance, "/metadata/namespace"),
        );
        if !mine.is_empty() && !namespace.is_empty() && namespace != mine {
            let what = format!(
                "metadata.namespace is {namespace:?}, but children of an instance stay in its namespace {mine:?}"
            );
            return fail(&["metadata", "namespace"], what);
        }
        let cluster_scoped = objects::builtin_kind(gvk).is_some_and(|builtin| !builtin.namespaced);
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
            return fail(&["metadata"], "metadata is not an object".to_string());
        };
        if !mine.is_empty() && !cluster_scoped {
            metadata.insert("namespace".to_string(), json!(mine));
        }
        let labels = metadata
            .entry("labels")
            .or_insert_with(|| Value::Object(Map::new()));
        if labels.is_null() {
            *labels = Value::Object(Map::new());
        }
        let Some(labels) = labels.as_object_mut() else {
            return fail(
                &["metadata", "labels"],
                "metadata.labels is not an object".to_string(),
            );
        };
        labels.insert(
            api::labels::STACK.to_string(),
            json!(label_value(self.renderer.context.stack)),
        );
        labels.insert(
            api::labels::TEMPLATE.to_string(),
            json!(label_value(&self.child.name)),
        );
        if !cluster_scoped || mine.is_empty() {
            metadata.insert("ownerReferences".to_string(), json!([controller(instance)]));
        }
        let set = &self.renderer.kind.set;
        drop_server_keys(
            metadata,
            self.renderer.observed.get(&self.child.name),
            |key| set.mentions(key),
        );
        Ok(object)
    }
}

/// The paths of fields that are in `sent` but not in `stored`. Lists keep their items.
fn missing<'o>(
    sent: &'o Value,
    stored: &Value,
    path: &mut Vec<&'o str>,
    found: &mut Vec<Vec<&'o str>>,
) {
    let Value::Object(fields) = sent else {
        return;
    };
    for (name, value) in fields {
        path.push(name);
        match stored.get(name) {
            Some(stored) => missing(value, stored, path, found),
            None if value.is_null() => {}
            None => found.push(path.clone()),
        }
        path.pop();
    }
}

/// The reference that makes the instance the controller of its child.
fn controller(instance: &Value) -> Value {
    json!({
        "apiVersion": instance.get("apiVersion").unwrap_or(&Value::Null),
        "kind": instance.get("kind").unwrap_or(&Value::Null),
        "name": text_of(instance, "/metadata/name"),
        "uid": text_of(instance, "/metadata/uid"),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// Labels and annotations of Kubernetes' own that a template copied from the object itself are not
/// its to apply; those that its author wrote are.
fn drop_server_keys(
    metadata: &mut Map<String, Value>,
    observed: Option<&Value>,
    written: impl Fn(&str) -> bool,
) {
    for field in ["labels", "annotations"] {
        let Some(live) = observed
            .and_then(|object| at(object, &format!("/metadata/{field}")))
            .and_then(Value::as_object)
        else {
            continue;
        };
        if let Some(mine) = metadata.get_mut(field).and_then(Value::as_object_mut) {
            let is_servers = |key: &str| {
                key.split('/')
                    .next()
                    .is_some_and(|prefix| prefix.ends_with("kubernetes.io"))
            };
            mine.retain(|key, value| {
                !(is_servers(key) && live.get(key) == Some(value) && !written(key))
            });
        }
    }
}
