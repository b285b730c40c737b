//! Values that have to be texts and were read as something else, because nobody quoted them.

use serde_json::Value;
use yaml::Step;

use engine::object_path;
use engine::{Place, Problem};

/// A value that is no text where only a text can be.
pub(crate) struct Misread {
    pub path: Vec<Step>,
    kind: &'static str,
}

impl Misread {
    /// What is wrong with it; `raw` is how it was written.
    pub fn problem(&self, object: &Value, place: Place, raw: &str) -> Problem {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let title = format!(
            "{} {}",
            text(&object["kind"]),
            text(&object["metadata"]["name"])
        );
        let what = format!(
            "{title}: `{}` is {}, and only a text can stand there",
            object_path(&self.path),
            self.kind
        );
        let problem = Problem::at(place, what);
        if raw.contains('\n') || raw.is_empty() {
            problem
        } else {
            problem.hint(format!("quote it: `\"{raw}\"`"))
        }
    }
}

/// The values of an object that Kubernetes takes as texts alone and that are none.
pub(crate) fn misread(object: &Value) -> Vec<Misread> {
    let mut found = Vec::new();
    if object["kind"] == "ConfigMap" && object["apiVersion"] == "v1" {
        fields(&object["data"], &[Step::from("data")], &mut found);
    }
    for field in ["labels", "annotations"] {
        fields(
            &object["metadata"][field],
            &[Step::from("metadata"), Step::from(field)],
            &mut found,
        );
    }
    found
}

fn fields(value: &Value, above: &[Step], found: &mut Vec<Misread>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let kind = match value {
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Array(_) => "a list",
            Value::Object(_) => "a mapping",
            Value::Null | Value::String(_) => continue,
        };
        found.push(Misread {
            path: [above, &[Step::from(key.as_str())]].concat(),
            kind,
        });
    }
}
