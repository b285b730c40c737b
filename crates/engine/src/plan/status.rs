//! The status of an instance: its template's fields, as far as they are known, and the conditions that say how it goes.

use gotpl::{Presence, Span, Step, Trace, Watch};
use objects::Schema;
use serde_json::{Map, Value, json};

use crate::plan::render::Renderer;
use crate::plan::{Plan, TemplateProblem, text};
use crate::problem::{Place, Problem};

/// Adds to a plan what the status should be.
pub(super) fn add(renderer: &Renderer<'_>, plan: &mut Plan) {
    let mut status = Map::new();
    match rendered(renderer, plan) {
        Ok(Some(fields)) => status = fields,
        Ok(None) => {}
        Err(problem) => plan.problems.push(TemplateProblem { template: "status".to_string(), problem }),
    }
    conditions(renderer, plan, &mut status);
    if status.is_empty() {
        return;
    }
    let mut status = Value::Object(status);
    if let Some(schema) = renderer.kind.schema.as_ref().and_then(|schema| schema.properties.get("status")) {
        schema.prune_part(&mut status);
        drop_nulls(&mut status, schema);
        for invalid in schema.validate(&status) {
            let problem = Problem::general(format!("the API server would refuse this status: {invalid}"));
            let file = renderer.kind.status.clone().unwrap_or_default();
            let place = (!file.is_empty()).then_some(Place { file, line: 1, column: None });
            plan.problems
                .push(TemplateProblem { template: "status".to_string(), problem: Problem { place, ..problem } });
        }
    }
    plan.status = Some(status);
}

/// The fields of the status template. A field whose text comes from something missing is left out.
fn rendered(renderer: &Renderer<'_>, plan: &Plan) -> Result<Option<Map<String, Value>>, Problem> {
    let Some(source) = &renderer.kind.status else {
        return Ok(None);
    };
    let mut errors = Map::new();
    for TemplateProblem { template, problem } in &plan.problems {
        errors.entry(template.clone()).or_insert_with(|| json!(problem.to_string()));
    }
    let errors = Value::Object(errors);
    let mut over = renderer.siblings();
    over.push(("errors", &errors));
    let output = renderer.run(source, &over, Watch::Closely, true).map_err(|(error, _)| Problem::of(&error))?;
    let trace = output.trace.unwrap_or_default();
    let text = String::from_utf8(output.text).map_err(|_| {
        Problem::at(Place { file: source.clone(), line: 1, column: None }, "the rendered status is not UTF-8")
    })?;
    let spanned = yaml::parse_spanned(&text).map_err(|error| {
        let place = Place { file: source.clone(), line: error.line().max(1), column: None };
        Problem::at(place, format!("the rendered status is not YAML: {}", error.message()))
    })?;
    let mut value = spanned.value;
    for span in trace.spans.iter().filter(|span| is_missing(&trace, span)) {
        if let Some(path) = leaf(&spanned.spans, &text, span) {
            remove(&mut value, &path);
        }
    }
    match value {
        Value::Object(fields) => Ok(Some(fields)),
        Value::Null => Ok(None),
        _ => Err(Problem::at(
            Place { file: source.clone(), line: 1, column: None },
            "the rendered status is not an object",
        )),
    }
}

/// A null where none is allowed would be refused; a template that printed nothing there meant nothing.
fn drop_nulls(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(fields) => {
            let described = |key: &str| schema.properties.get(key).or_else(|| schema.additional.values());
            fields.retain(|key, field| !field.is_null() || described(key).is_none_or(|schema| schema.nullable));
            for (key, field) in fields.iter_mut() {
                if let Some(schema) = described(key) {
                    drop_nulls(field, schema);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                items.retain(|item| !item.is_null() || schema.nullable);
                items.iter_mut().for_each(|item| drop_nulls(item, schema));
            }
        }
        _ => {}
    }
}

/// Whether text comes from something missing. The instance's own status is no such thing: it fills as it goes.
fn is_missing(trace: &Trace, span: &Span) -> bool {
    let own_status = |step: Option<&Step>| matches!(step, Some(Step::Key(key)) if &**key == "status");
    trace.reads_of(&span.reads).any(|read| read.presence == Presence::Missing && !own_status(read.path.0.first()))
}

/// The path of the field that a span of text belongs to: the last key or item that begins before it, on its line.
fn leaf(spans: &yaml::Spans, text: &str, span: &Span) -> Option<Vec<yaml::Step>> {
    if let Some(scalar) = (span.start..span.end).find_map(|offset| spans.at(offset)) {
        return Some(scalar.path);
    }
    // Nothing was printed: the field is the one whose key stands before the spot.
    let scalars = spans.scalars();
    let before = scalars.iter().rev().find(|scalar| scalar.span.start <= span.start)?;
    let between = text.get(before.span.end.min(span.start)..span.start)?;
    (!between.contains('\n')).then(|| before.path.clone())
}

fn remove(value: &mut Value, path: &[yaml::Step]) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let holder = parents.iter().try_fold(value, |value, step| match step {
        yaml::Step::Key(key) => value.get_mut(&**key),
        yaml::Step::Index(index) => value.get_mut(*index),
    });
    match (holder, last) {
        (Some(Value::Object(fields)), yaml::Step::Key(key)) => {
            fields.remove(&**key);
        }
        // Taking an item out would move the others under paths that are still to be removed.
        (Some(Value::Array(items)), yaml::Step::Index(index)) if *index < items.len() => items[*index] = Value::Null,
        _ => {}
    }
}

/// `Synced` and `Ready`, where the schema has a place for them and the author's template says nothing of its own.
fn conditions(renderer: &Renderer<'_>, plan: &Plan, status: &mut Map<String, Value>) {
    let described = renderer
        .kind
        .schema
        .as_ref()
        .and_then(|schema| schema.properties.get("status"))
        .is_some_and(|status| status.properties.contains_key("conditions"));
    if !described {
        return;
    }
    let mut found = match status.remove("conditions") {
        Some(Value::Array(conditions)) => conditions,
        _ => Vec::new(),
    };
    for (kind, truth, reason, message) in [synced(plan), ready(renderer, plan)] {
        if found.iter().any(|condition| condition["type"] == kind) {
            continue;
        }
        let mut condition =
            json!({"type": kind, "status": if truth { "True" } else { "False" }, "reason": reason, "message": message});
        if let Some(generation) = renderer.instance.pointer("/metadata/generation") {
            condition["observedGeneration"] = generation.clone();
        }
        found.push(condition);
    }
    status.insert("conditions".to_string(), Value::Array(found));
}

type Condition = (&'static str, bool, &'static str, String);

fn synced(plan: &Plan) -> Condition {
    match plan.problems.first() {
        None => ("Synced", true, "Rendered", String::new()),
        Some(first) => ("Synced", false, "RenderFailed", format!("{}: {}", first.template, first.problem)),
    }
}

fn ready(renderer: &Renderer<'_>, plan: &Plan) -> Condition {
    if let Some(first) = plan.problems.first() {
        return ("Ready", false, "RenderFailed", format!("{} failed", first.template));
    }
    if let Some(hold) = plan.holds.first() {
        let waits = hold.waits.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        return ("Ready", false, "Waiting", format!("{} waits for {waits}", hold.template));
    }
    for apply in &plan.applies {
        let name = format!("{}/{}", text(&apply.object, "/kind"), text(&apply.object, "/metadata/name"));
        match observed(renderer, apply) {
            None => return ("Ready", false, "Creating", format!("{name} is not there yet")),
            Some(object) if !is_ready(object) => {
                return ("Ready", false, "ChildNotReady", format!("{name} is not ready"));
            }
            Some(_) => {}
        }
    }
    ("Ready", true, "Available", String::new())
}

fn observed<'r>(renderer: &Renderer<'r>, apply: &crate::plan::Apply) -> Option<&'r Value> {
    match renderer.observed.get(&apply.template)? {
        Value::Array(objects) => {
            objects.iter().find(|object| object.pointer("/metadata/name") == apply.object.pointer("/metadata/name"))
        }
        object => Some(object),
    }
}

/// Whether a child says of itself that it is ready; one that says nothing is.
fn is_ready(object: &Value) -> bool {
    let Some(conditions) = object.pointer("/status/conditions").and_then(Value::as_array) else {
        return true;
    };
    let said = |kind: &str| {
        conditions.iter().find(|condition| condition["type"] == kind).map(|condition| condition["status"] == "True")
    };
    said("Ready").or_else(|| said("Available")).unwrap_or(true)
}
