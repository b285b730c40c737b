//! Everything that is wrong with a template, found without values: with its own, and for the rest
//! with ones that fit.

use std::collections::BTreeSet;

use objects::Path;
use serde_json::Value;

use crate::parameter::{Kind, Parameter};
use crate::problem::{Problem, Severity};
use crate::process::{Given, process};
use crate::reference::references;
use crate::template::Template;
use crate::trail::{Trail, texts};

/// All problems and doubts of a template, the worst first.
pub fn check(value: &Value) -> Vec<Problem> {
    let (template, mut found) = match Template::read(value) {
        Ok(read) => read,
        Err(problems) => return problems,
    };
    let given = Given {
        values: stand_ins(&template),
        ..Given::default()
    };
    // The same bits every time: what is drawn is thrown away.
    let mut random = || Ok(0);
    match process(value.clone(), &given, &mut random) {
        Ok(processed) => found = processed.warnings,
        Err(problems) => found.extend(problems),
    }
    if found
        .iter()
        .all(|problem| problem.severity != Severity::Error)
    {
        let strict = Given {
            strict: true,
            ..given
        };
        let doubts = process(value.clone(), &strict, &mut random)
            .err()
            .unwrap_or_default();
        found.extend(doubts.into_iter().map(Problem::warning));
        found.extend(unused(&template, value));
    }
    found.sort_by_key(|problem| problem.severity);
    found
}

/// A value for each parameter that has none of its own.
fn stand_ins(template: &Template) -> Vec<(String, String)> {
    let open = template
        .parameters
        .iter()
        .filter(|parameter| parameter.is_blank() && parameter.required);
    open.map(|parameter| (parameter.name.clone(), stand_in(parameter).to_owned()))
        .collect()
}

fn stand_in(parameter: &Parameter) -> &'static str {
    match parameter.kind {
        Kind::String => "value",
        Kind::Int => "1",
        Kind::Bool => "true",
        Kind::Base64 => "dmFsdWU=",
    }
}

/// Parameters that nothing refers to.
fn unused(template: &Template, value: &Value) -> Vec<Problem> {
    let Ok(dialect) = template.dialect(value) else {
        return Vec::new();
    };
    let mut used = BTreeSet::new();
    for part in [
        "objects",
        api::template::LABELS,
        api::template::OBJECT_LABELS,
        "message",
    ] {
        let Some(part_value) = value.get(part) else {
            continue;
        };
        texts(part_value, &Trail::start(part), &mut |_, text, _| {
            used.extend(references(dialect, text).map(|found| found.name.to_owned()));
        });
    }
    let unused = template
        .parameters
        .iter()
        .enumerate()
        .filter(|(_, parameter)| !used.contains(&parameter.name));
    let problem = |(index, parameter): (usize, &Parameter)| {
        let path = Path::fields(&["parameters"]).child(index).child("name");
        let what = format!("nothing refers to the parameter {}", parameter.name);
        let hint = format!(
            "write `{}` where its value belongs, or remove it",
            dialect.example(&parameter.name)
        );
        Problem::at(path, what)
            .of(&parameter.name)
            .warning()
            .hint(hint)
    };
    unused.map(problem).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;

    fn told(template: &Value) -> Vec<String> {
        check(template)
            .iter()
            .map(|problem| format!("{:?} {problem}", problem.severity))
            .collect()
    }

    fn template(more: &Value) -> Value {
        let mut template = json!({
            "apiVersion": "v1", "kind": "Template",
            "objects": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "$(NAME)"}}],
            "parameters": [{"name": "NAME", "required": true}],
        });
        if let (Value::Object(fields), Value::Object(more)) = (&mut template, more) {
            fields.extend(more.clone());
        }
        template
    }

    #[test]
    fn a_template_is_checked_without_values() {
        assert_eq!(told(&template(&json!({}))), [""; 0]);
        assert_eq!(
            told(&template(
                &json!({"parameters": [{"name": "NAME"}, {"name": "COUNT", "value": "x", "type": "int"}]})
            )),
            [
                "Error parameters[1].value: the parameter COUNT is of type int, and `x` is no whole number"
            ]
        );
        assert_eq!(
            told(&template(
                &json!({"parameters": [{"name": "NAME"}, {"name": "COUNT", "type": "int", "required": true}]})
            )),
            [
                "Warning parameters[1].name: nothing refers to the parameter COUNT (write `$(COUNT)` where its value belongs, \
              or remove it)"
            ]
        );
    }

    #[test]
    fn all_fields_that_are_misspelt_are_told_with_what_was_meant() {
        assert_eq!(
            told(&template(&json!({
                "paramters": [], "colour": 1, "metadata": {"anotations": {}},
                "parameters": [{"name": "NAME", "default": "x", "requird": true}],
            }))),
            [
                "Error colour: a template has no field `colour` (it has apiVersion, kind, metadata, message, objects, \
                 parameters, labels, objectLabels)",
                "Error paramters: a template has no field `paramters` (did you mean `parameters`?)",
                "Error metadata.anotations: metadata has no field `anotations` (did you mean `annotations`?)",
                "Error parameters[0].default: a parameter has no field `default` (did you mean `value`?)",
                "Error parameters[0].requird: a parameter has no field `requird` (did you mean `required`?)",
            ]
        );
    }

    #[test]
    fn the_proposals_name_for_labels_is_theirs() {
        let labels = json!({"app": "$(NAME)", "bad": "no label!"});
        let aliased = told(&template(&json!({ "objectLabels": labels })));
        assert_eq!(aliased.len(), 1);
        assert!(
            aliased[0].starts_with("Error objectLabels.bad: "),
            "{aliased:?}"
        );
        assert!(told(&template(&json!({ "labels": labels })))[0].starts_with("Error labels.bad: "));
        let both = told(&template(&json!({ "objectLabels": {}, "labels": {} })));
        assert_eq!(
            both,
            [
                "Error objectLabels: `objectLabels` and `labels` are the same field (put all labels into `labels`)"
            ]
        );
        assert!(
            told(&template(&json!({ "objectLabels": {"app": 1} })))[0]
                .starts_with("Error objectLabels.app: ")
        );
    }
}
