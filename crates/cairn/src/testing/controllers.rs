//! What outside controllers do once a child is there, as a file or a test says.

use std::path::Path;

use engine::{CompiledKind, Rule};
use serde_json::Value;

use super::field_names;
use crate::files::fields;
use crate::files::located_yaml::Part;
use crate::terminal::error::Failure;
use crate::terminal::finding::Finding;

/// A list of children and the statuses they get, with where each stands.
pub(crate) fn read(part: &Part, faults: &mut Vec<Finding>) -> Vec<(Rule, Part)> {
    let mut rules = Vec::new();
    for item in fields::list(part, faults) {
        let before = faults.len();
        fields::mapping(&item, &["child", "status"], faults);
        // What is missing may well be what was misspelt.
        if faults.len() > before {
            continue;
        }
        let Some(child) = item.field("child") else {
            faults.push(
                item.error("`child` is missing")
                    .hint("name the template whose object gets the status"),
            );
            continue;
        };
        let status = item
            .field("status")
            .map_or(Value::Null, |status| status.value().clone());
        if !status.is_object() {
            let place = item.field("status").unwrap_or_else(|| item.clone());
            faults.push(
                place
                    .error("`status` has to be a mapping")
                    .hint("such as `status: {endpoint: db.example.org}`"),
            );
            continue;
        }
        if let Some(name) = fields::text(&child, faults) {
            rules.push((
                Rule {
                    child: name,
                    status,
                },
                item,
            ));
        }
    }
    rules
}

/// The rules in a file, for a kind that has such children.
pub(crate) fn of_file(file: &Path, kind: &CompiledKind) -> Result<Vec<Rule>, Failure> {
    let part = Part::one(file)?;
    let mut faults = Vec::new();
    let rules = read(&part, &mut faults);
    for (rule, item) in &rules {
        faults.extend(senseless(rule, item, kind));
    }
    match Failure::all(faults.iter().map(|fault| part.failure(fault))) {
        Some(failure) => Err(failure),
        None => Ok(rules.into_iter().map(|(rule, _)| rule).collect()),
    }
}

/// What a rule names that is not there: a template, or fields of what it makes.
pub(crate) fn senseless(rule: &Rule, item: &Part, kind: &CompiledKind) -> Vec<Finding> {
    let Some(child) = kind.child(&rule.child) else {
        return unknown(&rule.child, &item.child("child"), kind)
            .into_iter()
            .collect();
    };
    let fields =
        |schema| field_names::unknown_in_status(&item.child("status"), schema, &child.gvk.kind);
    child.schema().map(fields).unwrap_or_default()
}

/// A template that the kind does not have.
pub(crate) fn unknown(name: &str, named: &Part, kind: &CompiledKind) -> Option<Finding> {
    if kind.child(name).is_some() {
        return None;
    }
    let known: Vec<&str> = kind
        .children
        .iter()
        .map(|child| child.name.as_str())
        .collect();
    let fault = named.key_error(format!("{} has no template {name:?}", kind.gvk.kind));
    Some(match objects::nearest(name, known.iter().copied()) {
        Some(near) => fault.hint(format!("did you mean {near:?}?")),
        None => fault.hint(format!("it has {}", known.join(", "))),
    })
}
