//! What a test expects of a plan, and how the two differ.

use std::collections::BTreeMap;

use engine::{CompiledKind, Pass, Plan};
use objects::Path;
use serde_json::{Value, json};

use super::error_match::ErrorMatcher;
use super::{controllers, error_match, field_names};
use crate::files::fields;
use crate::files::located_yaml::Part;
use crate::terminal::finding::Finding;

const FIELDS: [&str; 9] = [
    "objects", "absent", "waits", "deletes", "errors", "status", "order", "settles", "refused",
];

/// What must be so.
#[derive(Debug)]
pub(crate) struct Expect {
    whole: Part,
    /// Templates that make nothing.
    absent: Vec<(String, Part)>,
    /// What templates wait for.
    waits: Option<BTreeMap<String, Vec<String>>>,
    /// Templates whose objects are deleted.
    deletes: Option<Vec<(String, Part)>>,
    /// What the errors of templates say.
    errors: BTreeMap<String, (Part, Vec<ErrorMatcher>)>,
    /// Templates in the order in which their objects are made, pass by pass if a list is among
    /// them.
    order: Option<(Part, Vec<Vec<String>>, bool)>,
    /// Whether a simulation comes to rest.
    pub settles: Option<bool>,
    /// Why the API server does not take the instance.
    pub refused: Option<(Part, Vec<ErrorMatcher>)>,
}

impl Expect {
    pub fn read(whole: &Part, faults: &mut Vec<Finding>) -> Option<Expect> {
        fields::mapping(whole, &FIELDS, faults)?;
        let names = |part: &Part, faults: &mut Vec<Finding>| -> Vec<(String, Part)> {
            let items = fields::list(part, faults);
            items
                .into_iter()
                .filter_map(|item| Some((fields::text(&item, faults)?, item)))
                .collect()
        };
        let absent = whole
            .field("absent")
            .map(|part| names(&part, faults))
            .unwrap_or_default();
        let deletes = whole.field("deletes").map(|part| names(&part, faults));
        let waits = whole.field("waits").map(|part| {
            let paths = |part: &Part, faults: &mut Vec<Finding>| {
                names(part, faults).into_iter().map(|(path, _)| path)
            };
            part.entries()
                .into_iter()
                .map(|(name, part)| (name, paths(&part, faults).collect()))
                .collect()
        });
        let errors = whole
            .field("errors")
            .map(|part| part.entries())
            .unwrap_or_default();
        let errors = errors.into_iter().map(|(name, part)| {
            let words = ErrorMatcher::read(&part, faults);
            (name, (part, words))
        });
        let errors = errors.collect();
        for (field, wanted) in [
            ("objects", "by template"),
            ("waits", "by template"),
            ("errors", "by template"),
            ("status", "of fields"),
        ] {
            if let Some(part) = whole.field(field).filter(|part| !part.value().is_object()) {
                faults.push(part.error(format!("`{field}` is a mapping, {wanted}")));
            }
        }
        let order = whole.field("order").map(|part| {
            let items = fields::list(&part, faults);
            let by_pass = items.iter().any(|item| item.value().is_array());
            let group = |item: &Part, faults: &mut Vec<Finding>| match item.value() {
                Value::Array(_) => names(item, faults)
                    .into_iter()
                    .map(|(name, _)| name)
                    .collect(),
                _ => fields::text(item, faults).into_iter().collect(),
            };
            let groups = items.iter().map(|item| group(item, faults)).collect();
            (part, groups, by_pass)
        });
        let settles = whole.field("settles").and_then(|part| {
            let told = part.value().as_bool();
            if told.is_none() {
                faults.push(part.error("`settles` is true or false"));
            }
            told
        });
        let refused = whole.field("refused").map(|part| {
            let words = ErrorMatcher::read(&part, faults);
            (part, words)
        });
        if let Some((part, _)) = &refused
            && whole.entries().len() > 1
        {
            let what = "an instance that is refused makes nothing: `refused` stands alone";
            faults.push(part.key_error(what));
        }
        if whole.entries().is_empty() {
            faults.push(
                whole
                    .error("this expects nothing")
                    .hint(format!("its fields are {}", FIELDS.join(", "))),
            );
        }
        Some(Expect {
            whole: whole.clone(),
            absent,
            waits,
            deletes,
            errors,
            order,
            settles,
            refused,
        })
    }

    /// Names of no template: a test that speaks of them could never fail.
    pub fn unknown(&self, kind: &CompiledKind) -> Vec<Finding> {
        let by_name = |field: &str| {
            self.whole
                .field(field)
                .map(|part| part.entries())
                .unwrap_or_default()
        };
        let mut named: Vec<(String, Part)> = by_name("objects");
        named.extend(by_name("waits"));
        named.extend(
            by_name("errors")
                .into_iter()
                .filter(|(name, _)| name != "status"),
        );
        named.extend(self.absent.iter().cloned());
        if let Some((part, groups, _)) = &self.order {
            named.extend(
                groups
                    .iter()
                    .flatten()
                    .map(|name| (name.clone(), part.clone())),
            );
        }
        let templates = named
            .iter()
            .filter_map(|(name, part)| controllers::unknown(name, part, kind));
        templates.chain(self.unknown_fields(kind)).collect()
    }

    /// Fields that nothing of the kinds has.
    fn unknown_fields(&self, kind: &CompiledKind) -> Vec<Finding> {
        let mut unknown = Vec::new();
        for (template, part) in self
            .whole
            .field("objects")
            .map(|part| part.entries())
            .unwrap_or_default()
        {
            let Some((child, schema)) = kind
                .child(&template)
                .and_then(|child| Some((child, child.schema()?)))
            else {
                continue;
            };
            let objects = if part.value().is_array() {
                part.items()
            } else {
                vec![part]
            };
            let root = Path::default();
            unknown.extend(
                objects
                    .iter()
                    .flat_map(|one| field_names::unknown(one, schema, &child.gvk.kind, &root)),
            );
        }
        if let (Some(part), Some(schema)) = (self.whole.field("status"), &kind.schema) {
            unknown.extend(field_names::unknown_in_status(
                &part,
                schema,
                &kind.gvk.kind,
            ));
        }
        unknown
    }

    /// Whether the objects of a template are expected to be deleted; it may have left the stack.
    pub fn is_deleted(&self, template: &str) -> bool {
        self.deletes
            .as_ref()
            .is_some_and(|deletes| deletes.iter().any(|(name, _)| name == template))
    }

    /// How the last of the passes, and the way there, differ from what is expected.
    pub fn compare(&self, passes: &[Pass], differences: &mut Vec<Finding>) {
        let empty = Plan::default();
        let plan = passes.last().map_or(&empty, |pass| &pass.plan);
        self.objects(plan, differences);
        if let Some(waits) = &self.waits {
            let found: BTreeMap<String, Vec<String>> = plan
                .holds
                .iter()
                .map(|hold| {
                    (
                        hold.template.clone(),
                        hold.waits.iter().map(|wait| wait.path.clone()).collect(),
                    )
                })
                .collect();
            if *waits != found {
                let what = format!("waits: expected {}, found {}", json!(waits), json!(found));
                differences.push(self.whole.child("waits").key_error(what));
            }
        }
        if let Some(deletes) = &self.deletes {
            let found: Vec<&String> = plan.deletes.iter().map(|delete| &delete.template).collect();
            let expected: Vec<&String> = deletes.iter().map(|(name, _)| name).collect();
            if expected != found {
                let what = format!(
                    "deletes: expected {}, found {}",
                    json!(expected),
                    json!(found)
                );
                differences.push(self.whole.child("deletes").key_error(what));
            }
        }
        self.errors(plan, differences);
        if let Some(status) = self.whole.field("status") {
            subset(
                &status,
                plan.status.as_ref().unwrap_or(&json!({})),
                "status",
                differences,
            );
        }
        self.order(passes, differences);
    }

    fn objects(&self, plan: &Plan, differences: &mut Vec<Finding>) {
        for (template, fields) in self
            .whole
            .field("objects")
            .map(|part| part.entries())
            .unwrap_or_default()
        {
            let made: Vec<&Value> = plan
                .applies
                .iter()
                .filter(|apply| apply.template == template)
                .map(|apply| &apply.object)
                .collect();
            match (fields.value(), made.as_slice()) {
                (_, []) => {
                    differences.push(fields.key_error(format!(
                        "{template}: nothing is made{}",
                        why_not(plan, &template)
                    )));
                }
                (Value::Array(list), made) => {
                    if list.len() != made.len() {
                        let what = format!(
                            "{template}: {} objects are made, not {}",
                            made.len(),
                            list.len()
                        );
                        differences.push(fields.key_error(what));
                    }
                    for (index, (fields, object)) in fields.items().iter().zip(made).enumerate() {
                        subset(fields, object, &format!("{template}[{index}]"), differences);
                    }
                }
                (_, [object, ..]) => subset(&fields, object, &template, differences),
            }
        }
        for (template, part) in &self.absent {
            if plan.applies.iter().any(|apply| apply.template == *template) {
                differences.push(part.error(format!(
                    "{template}: something is made, but nothing was expected"
                )));
            }
        }
    }

    fn errors(&self, plan: &Plan, differences: &mut Vec<Finding>) {
        let told = |template: &str| -> Vec<(Vec<String>, String)> {
            let problems = plan
                .problems
                .iter()
                .filter(|problem| problem.template == template);
            let place = |problem: &engine::Problem| {
                problem
                    .place
                    .iter()
                    .map(|place| place.short().to_string())
                    .collect()
            };
            problems
                .map(|problem| (place(&problem.problem), problem.problem.to_string()))
                .collect()
        };
        for (template, (part, expected)) in &self.errors {
            error_match::differ(expected, &told(template), differences, part);
        }
        for problem in plan
            .problems
            .iter()
            .filter(|problem| !self.errors.contains_key(&problem.template))
        {
            differences.push(
                self.whole
                    .key_error(format!("{}: {}", problem.template, problem.problem)),
            );
        }
    }

    fn order(&self, passes: &[Pass], differences: &mut Vec<Finding>) {
        let Some((part, expected, by_pass)) = &self.order else {
            return;
        };
        let mut found: Vec<Vec<&String>> = Vec::new();
        for pass in passes {
            let made = pass.changed.iter().filter(|name| {
                pass.plan
                    .applies
                    .iter()
                    .any(|apply| apply.template == **name)
            });
            found.push(made.collect());
        }
        found.retain(|made| !made.is_empty());
        let (expected, found) = if *by_pass {
            (json!(expected), json!(found))
        } else {
            let mut first: Vec<&String> = Vec::new();
            for name in found.into_iter().flatten() {
                if !first.contains(&name) {
                    first.push(name);
                }
            }
            (
                json!(expected.iter().flatten().collect::<Vec<_>>()),
                json!(first),
            )
        };
        if expected != found {
            differences.push(part.key_error(format!("order: expected {expected}, found {found}")));
        }
    }
}

fn why_not(plan: &Plan, template: &str) -> String {
    let hold = plan.holds.iter().find(|hold| hold.template == template);
    hold.map_or_else(String::new, |hold| {
        let waits: Vec<_> = hold.waits.iter().map(ToString::to_string).collect();
        format!(": it waits for {}", waits.join(", "))
    })
}

/// Whether every expected field is there, with its value.
fn subset(expected: &Part, found: &Value, path: &str, differences: &mut Vec<Finding>) {
    match (expected.value(), found) {
        (Value::Object(_), Value::Object(_)) => {
            for (key, expected) in expected.entries() {
                match found.get(&key) {
                    Some(found) => subset(&expected, found, &format!("{path}.{key}"), differences),
                    None if expected.value().is_null() => {}
                    None => {
                        let what =
                            format!("{path}.{key}: expected {}, found nothing", expected.value());
                        differences.push(expected.key_error(what));
                    }
                }
            }
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            for (index, (item, other)) in expected.items().iter().zip(others).enumerate() {
                subset(item, other, &format!("{path}[{index}]"), differences);
            }
        }
        (value, found) if value == found => {}
        (value, found) => {
            differences.push(expected.error(format!("{path}: expected {value}, found {found}")));
        }
    }
}
