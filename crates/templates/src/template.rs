//! A template as it was written: what it declares, and everything that is wrong with that before
//! any value is known.

use std::collections::BTreeMap;

use objects::Path;
use serde_json::{Map, Value};

use crate::dialect::{self, Dialect};
use crate::fields;
use crate::parameter::{Kind, Parameter};
use crate::problem::{Problem, Severity};
use crate::reference::is_name;

/// What a template says of itself and of its parameters. The objects stay in the value it was read
/// from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its name, if it has one.
    pub name: String,
    /// The `apiVersion` it was written with.
    pub api_version: String,
    /// Its parameters, in their order.
    pub parameters: Vec<Parameter>,
    /// How many objects it has.
    pub objects: usize,
    /// What its annotations say of it, one line.
    pub description: String,
    /// The dialect that its annotation asks for.
    pub(crate) dialect: Option<Dialect>,
    /// Whether its annotation keeps template labels out of selectors.
    pub(crate) keep_selectors: bool,
    index: BTreeMap<String, usize>,
}

/// Whether a value calls itself a template.
pub fn is_template(value: &Value) -> bool {
    let version = value["apiVersion"].as_str().unwrap_or_default();
    value["kind"] == api::template::KIND && api::template::API_VERSIONS.contains(&version)
}

impl Template {
    /// Reads a template; the second part are warnings.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, at once.
    pub fn read(value: &Value) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let mut reader = Reader {
            problems: Vec::new(),
        };
        let template = reader.template(value);
        let (errors, warnings): (Vec<_>, Vec<_>) = reader
            .problems
            .into_iter()
            .partition(|problem| problem.severity == Severity::Error);
        match template {
            Some(template) if errors.is_empty() => Ok((template, warnings)),
            _ => Err(errors),
        }
    }

    /// The parameter of a name.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.get(*self.index.get(name)?)
    }

    /// Where a parameter is in the template.
    pub(crate) fn path_of(&self, name: &str) -> Path {
        let index = self.index.get(name).copied().unwrap_or_default();
        Path::fields(&["parameters"]).child(index)
    }

    /// Which dialect its references are in.
    ///
    /// # Errors
    ///
    /// If it has references in both.
    pub fn dialect(&self, value: &Value) -> Result<Dialect, Problem> {
        dialect::decide(self, value)
    }
}

struct Reader {
    problems: Vec<Problem>,
}

impl Reader {
    fn template(&mut self, value: &Value) -> Option<Template> {
        let Value::Object(fields) = value else {
            self.refuse(
                Path::root(),
                format!("a template is a mapping, and this is {}", what(value)),
                "",
            );
            return None;
        };
        self.identity(fields)?;
        self.problems.extend(fields::unknown(fields));
        let metadata = fields.get("metadata").and_then(Value::as_object);
        let annotation = |name: &str| metadata?.get("annotations")?.get(name)?.as_str();
        let objects = self.objects(fields);
        self.texts(fields);
        let parameters = self.parameters(fields);
        let mut index = BTreeMap::new();
        for (at, parameter) in parameters.iter().enumerate() {
            if let Some(first) = index.get(&parameter.name) {
                let path = Path::fields(&["parameters"]).child(at).child("name");
                let what = format!(
                    "the parameter {} is declared twice, first as parameters[{first}]",
                    parameter.name
                );
                self.problems.push(
                    Problem::at(path, what)
                        .of(&parameter.name)
                        .hint("keep one of them"),
                );
            } else {
                index.insert(parameter.name.clone(), at);
            }
        }
        let dialect = annotation(api::template::DIALECT).and_then(|name| {
            let dialect = Dialect::named(name);
            if dialect.is_none() {
                let path = Path::fields(&["metadata", "annotations", api::template::DIALECT]);
                self.refuse(
                    path,
                    format!("`{name}` is no dialect"),
                    "it is `parentheses` or `braces`",
                );
            }
            dialect
        });
        let description =
            annotation("description").or_else(|| annotation("openshift.io/display-name"));
        Some(Template {
            name: metadata
                .and_then(|metadata| metadata.get("name")?.as_str())
                .unwrap_or_default()
                .to_owned(),
            api_version: fields
                .get("apiVersion")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            parameters,
            objects,
            description: description
                .unwrap_or_default()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned(),
            dialect,
            keep_selectors: annotation(api::template::SELECTORS) == Some("keep"),
            index,
        })
    }

    fn identity(&mut self, fields: &Map<String, Value>) -> Option<()> {
        let versions = api::template::API_VERSIONS.join(", ");
        match (
            fields.get("kind").and_then(Value::as_str),
            fields.get("apiVersion").and_then(Value::as_str),
        ) {
            (Some(api::template::KIND), Some(version))
                if api::template::API_VERSIONS.contains(&version) =>
            {
                Some(())
            }
            (Some(api::template::KIND), None) if fields.contains_key("apiversion") => {
                self.refuse(
                    Path::fields(&["apiversion"]),
                    "`apiversion` is misspelt".to_owned(),
                    "write `apiVersion`",
                );
                None
            }
            (Some(api::template::KIND), version) => {
                let what = match version {
                    Some(version) => {
                        format!("the apiVersion `{version}` has no templates that are known here")
                    }
                    None => "a template needs an apiVersion".to_owned(),
                };
                self.refuse(
                    Path::fields(&["apiVersion"]),
                    what,
                    &format!("it is one of {versions}"),
                );
                None
            }
            (kind, _) => {
                let what = match kind {
                    Some(kind) => format!("this is a {kind}, not a Template"),
                    None => "this is no template: it has no kind".to_owned(),
                };
                self.refuse(
                    Path::fields(&["kind"]),
                    what,
                    "a template has `kind: Template`",
                );
                None
            }
        }
    }

    fn objects(&mut self, fields: &Map<String, Value>) -> usize {
        let path = Path::fields(&["objects"]);
        let items = match fields.get("objects") {
            Some(Value::Array(items)) => items,
            Some(Value::Null) => return 0,
            None => {
                self.problems.push(
                    Problem::at(path, "a template has `objects`, the list of what it makes")
                        .missing()
                        .hint("an empty list is fine: `objects: []`"),
                );
                return 0;
            }
            Some(other) => {
                self.refuse(
                    path,
                    format!("`objects` is a list, and this is {}", what(other)),
                    "",
                );
                return 0;
            }
        };
        for (index, item) in items.iter().enumerate() {
            let path = path.child(index);
            let Value::Object(object) = item else {
                self.refuse(
                    path,
                    format!("an object is a mapping, and this is {}", what(item)),
                    "",
                );
                continue;
            };
            match object.get("kind") {
                Some(Value::String(kind))
                    if kind.ends_with("List")
                        && object.get("items").is_some_and(Value::is_array) =>
                {
                    let what =
                        format!("a {kind} inside of a template cannot be labelled as one object");
                    self.refuse(
                        path.child("kind"),
                        what,
                        "put its items into `objects` themselves",
                    );
                }
                Some(Value::String(kind)) if !kind.is_empty() => {}
                Some(other) => {
                    let what = format!(
                        "a kind is a text that is not empty, and this is {}",
                        what(other)
                    );
                    self.refuse(path.child("kind"), what, "");
                }
                None => self
                    .problems
                    .push(Problem::at(path, "the object has no kind").missing()),
            }
        }
        items.len()
    }

    /// The message and the labels.
    fn texts(&mut self, fields: &Map<String, Value>) {
        if let Some(message) = fields
            .get("message")
            .filter(|message| !message.is_string() && !message.is_null())
        {
            self.refuse(
                Path::fields(&["message"]),
                format!("a message is a text, and this is {}", what(message)),
                QUOTE,
            );
        }
        let names = [api::template::LABELS, api::template::OBJECT_LABELS];
        if names.iter().all(|name| fields.contains_key(*name)) {
            let problem = Problem::at(
                Path::fields(&[names[1]]),
                "`objectLabels` and `labels` are the same field",
            )
            .key();
            self.problems
                .push(problem.hint("put all labels into `labels`"));
        }
        for name in names {
            match fields.get(name) {
                None | Some(Value::Null) => {}
                Some(Value::Object(labels)) => {
                    for (key, value) in labels.iter().filter(|(_, value)| !value.is_string()) {
                        let path = Path::fields(&[name, key]);
                        let what = format!(
                            "the value of a label is a text, and this is {}",
                            what(value)
                        );
                        self.refuse(path, what, QUOTE);
                    }
                }
                Some(other) => {
                    let what = format!(
                        "`{name}` is a mapping of texts, and this is {}",
                        what(other)
                    );
                    self.refuse(Path::fields(&[name]), what, "");
                }
            }
        }
    }

    fn parameters(&mut self, fields: &Map<String, Value>) -> Vec<Parameter> {
        let path = Path::fields(&["parameters"]);
        match fields.get("parameters") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => {
                let items = items.iter().enumerate();
                items
                    .filter_map(|(index, item)| self.parameter(item, &path.child(index)))
                    .collect()
            }
            Some(other) => {
                self.refuse(
                    path,
                    format!("`parameters` is a list, and this is {}", what(other)),
                    "",
                );
                Vec::new()
            }
        }
    }

    fn parameter(&mut self, item: &Value, path: &Path) -> Option<Parameter> {
        let Value::Object(fields) = item else {
            self.refuse(
                path.clone(),
                format!("a parameter is a mapping, and this is {}", what(item)),
                "",
            );
            return None;
        };
        self.problems
            .extend(fields::unknown_of_parameter(fields, path));
        let name = self.text(fields, "name", path, "");
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            self.problems
                .push(Problem::at(path.child("name"), "a parameter needs a name").missing());
            return None;
        };
        if !is_name(&name) {
            let what = format!("`{name}` cannot be the name of a parameter");
            let problem = Problem::at(path.child("name"), what).of(&name);
            self.problems
                .push(problem.hint("it consists of letters A-Z, a-z, digits and _"));
        }
        let required = match fields.get("required") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(required)) => *required,
            Some(other) => {
                let what = format!("`required` is true or false, and this is {}", what(other));
                self.problems.push(
                    Problem::at(path.child("required"), what)
                        .of(&name)
                        .hint("write it without quotes"),
                );
                false
            }
        };
        let kind = self
            .text(fields, "type", path, &name)
            .filter(|kind| !kind.is_empty());
        let known = kind.as_deref().map_or(Some(Kind::String), Kind::named);
        if known.is_none() {
            let what = format!("`{}` is no type of a parameter", kind.unwrap_or_default());
            let problem = Problem::at(path.child("type"), what).of(&name);
            self.problems
                .push(problem.hint(format!("it is {}", Kind::NAMES)));
        }
        Some(Parameter {
            display_name: self
                .text(fields, "displayName", path, &name)
                .unwrap_or_default(),
            description: self
                .text(fields, "description", path, &name)
                .unwrap_or_default(),
            value: self.text(fields, "value", path, &name),
            required,
            kind: known.unwrap_or_default(),
            generate: self
                .text(fields, "generate", path, &name)
                .filter(|generate| !generate.is_empty()),
            from: self.text(fields, "from", path, &name),
            name,
        })
    }

    /// A field that holds a text, if it is there.
    fn text(
        &mut self,
        fields: &Map<String, Value>,
        field: &str,
        path: &Path,
        name: &str,
    ) -> Option<String> {
        match fields.get(field) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => {
                let whose = if name.is_empty() {
                    String::new()
                } else {
                    format!(" of the parameter {name}")
                };
                let problem = Problem::at(
                    path.child(field),
                    format!("`{field}`{whose} is a text, and this is {}", what(other)),
                );
                let problem = if name.is_empty() {
                    problem
                } else {
                    problem.of(name)
                };
                self.problems.push(problem.hint(QUOTE));
                None
            }
        }
    }

    fn refuse(&mut self, path: Path, what: String, hint: &str) {
        let problem = Problem::at(path, what);
        self.problems.push(if hint.is_empty() {
            problem
        } else {
            problem.hint(hint)
        });
    }
}

const QUOTE: &str = "write it in quotes, so that it is taken as it stands";

/// What a value is, in a sentence.
pub(crate) fn what(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(truth) => format!("the truth value {truth}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.is_empty() => "an empty text".to_owned(),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
    }
}
