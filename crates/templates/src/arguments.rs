//! Values that say which template they are for: an object of kind `TemplateParameters`, in a file
//! or in a request.

use objects::Path;
use serde_json::Value;

use crate::problem::Problem;
use crate::template::what;

/// The template that arguments are for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A stored one, by its name.
    Name(String),
    /// One in a file, by its path from where the arguments are.
    File(String),
}

/// Values for a template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The template they are for, if they say so.
    pub template: Option<Source>,
    /// Values by names of parameters.
    pub values: Vec<(String, String)>,
}

impl Arguments {
    /// Whether a value calls itself so.
    pub fn is(value: &Value) -> bool {
        value["kind"] == api::template::PARAMETERS_KIND
    }

    /// Reads arguments. Kind and version may be absent, as in a request whose path says what it is
    /// about.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them.
    pub fn read(value: &Value) -> Result<Self, Vec<Problem>> {
        let Value::Object(fields) = value else {
            return Err(vec![Problem::at(
                Path::root(),
                format!("values are a mapping, and this is {}", what(value)),
            )]);
        };
        let mut problems = Vec::new();
        let mut read = Self::default();
        for (field, value) in fields {
            let path = Path::fields(&[field]);
            match (field.as_str(), value) {
                ("metadata", _) | ("name" | "file" | "parameters", Value::Null) => {}
                ("kind", Value::String(kind)) if kind == api::template::PARAMETERS_KIND => {}
                ("kind", _) => {
                    let wanted = format!("it is {}", api::template::PARAMETERS_KIND);
                    problems.push(
                        Problem::at(path, "this kind holds no values for a template").hint(wanted),
                    );
                }
                ("apiVersion", Value::String(version))
                    if api::template::PARAMETERS_VERSIONS.contains(&&**version) => {}
                ("apiVersion", _) => {
                    let versions = format!(
                        "it is one of {}",
                        api::template::PARAMETERS_VERSIONS.join(", ")
                    );
                    problems.push(Problem::at(path, "this version is not known").hint(versions));
                }
                ("name" | "file", Value::String(_)) if read.template.is_some() => {
                    problems.push(Problem::at(
                        path,
                        "the template is named by `name` or by `file`, not by both",
                    ));
                }
                ("name", Value::String(name)) => read.template = Some(Source::Name(name.clone())),
                ("file", Value::String(file)) => read.template = Some(Source::File(file.clone())),
                ("name" | "file", other) => {
                    problems.push(Problem::at(
                        path,
                        format!("`{field}` is a text, and this is {}", what(other)),
                    ));
                }
                ("parameters", Value::Object(values)) => read.values(values, &mut problems),
                ("parameters", other) => {
                    let what = format!(
                        "`parameters` is a mapping from names to texts, and this is {}",
                        what(other)
                    );
                    problems.push(
                        Problem::at(path, what).hint("write `parameters: {NAME: \"value\"}`"),
                    );
                }
                _ => {
                    let problem =
                        Problem::at(path, format!("there is no field `{field}` here")).key();
                    problems.push(problem.hint("values go below `parameters`"));
                }
            }
        }
        if problems.is_empty() {
            Ok(read)
        } else {
            Err(problems)
        }
    }

    fn values(&mut self, values: &serde_json::Map<String, Value>, problems: &mut Vec<Problem>) {
        for (name, value) in values {
            if let Value::String(text) = value {
                self.values.push((name.clone(), text.clone()));
            } else {
                let said = format!("the value of {name} is a text, and this is {}", what(value));
                let problem = Problem::at(Path::fields(&["parameters", name]), said).of(name);
                problems.push(problem.hint("write it in quotes, so that it is taken as it stands"));
            }
        }
    }
}
