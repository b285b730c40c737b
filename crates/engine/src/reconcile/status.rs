//! The status of an instance: its template's fields, as far as they are known, and the conditions
//! that say how it goes.

use gotpl::{Presence, Span, Step, Trace, Watch};
use objects::Schema;
use serde_json::{Map, Value, json};

use super::render::Renderer;
use super::{Plan, TemplateProblem, Unready, text, value_structure};
use crate::at::at;
use crate::children::desired::Failure;
use crate::compile::schema_check::steps;
use crate::compile::{Shape, yaml_error};
use crate::problem::{Place, Problem};
use crate::readiness::{Readiness, readiness, readiness_of_told};

/// The API server stores no object that is much larger, and says so in words that nobody
/// understands.
const LARGEST: usize = 1 << 20;

/// Adds to a plan what the status should be, given what of it could not be carried out.
pub(super) fn add(renderer: &Renderer<'_>, plan: &mut Plan, failures: &[Failure]) {
    let mut status = match rendered(renderer, plan, failures) {
        Ok(fields) => fields,
        Err(problems) => {
            let source = renderer.kind.status.as_deref().unwrap_or_default();
            let problems = renderer.hidden(source, problems);
            let named = |problem| TemplateProblem {
                template: "status".to_string(),
                problem,
            };
            plan.problems.extend(problems.into_iter().map(named));
            // As with children, what cannot be made leaves everything as it is.
            kept(renderer)
        }
    };
    let ready = ready(renderer, plan);
    plan.unready = (!ready.1).then(|| Unready {
        reason: ready.2,
        message: ready.3.clone(),
    });
    conditions(renderer, [synced(plan), ready], &mut status);
    let mut status = Value::Object(status);
    if let Some(schema) = described(renderer) {
        schema.prune_part(&mut status);
    }
    plan.status =
        Some(status).filter(|status| status.as_object().is_some_and(|fields| !fields.is_empty()));
}

/// The status of an instance that is not served.
pub(super) fn halted(renderer: &Renderer<'_>, failure: &Failure) -> Value {
    let mut status = kept(renderer);
    let both =
        ["Synced", "Ready"].map(|kind| (kind, false, failure.reason, failure.message.clone()));
    conditions(renderer, both, &mut status);
    Value::Object(status)
}

/// The status as it is, without the conditions that are to be said again.
fn kept(renderer: &Renderer<'_>) -> Map<String, Value> {
    let mut kept = renderer
        .instance
        .get("status")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    if has_conditions(renderer) {
        kept.remove("conditions");
    }
    kept
}

fn has_conditions(renderer: &Renderer<'_>) -> bool {
    described(renderer).is_some_and(|status| status.properties.contains_key("conditions"))
}

fn described<'r>(renderer: &Renderer<'r>) -> Option<&'r Schema> {
    renderer.kind.schema.as_ref()?.properties.get("status")
}

/// The fields of the status template. A field whose text comes from something missing is left out;
/// if the API server would refuse one, it would refuse all.
fn rendered(
    renderer: &Renderer<'_>,
    plan: &Plan,
    failures: &[Failure],
) -> Result<Map<String, Value>, Vec<Problem>> {
    let Some(source) = &renderer.kind.status else {
        return Ok(Map::new());
    };
    let mut errors = Map::new();
    for TemplateProblem { template, problem } in &plan.problems {
        errors
            .entry(template.clone())
            .or_insert_with(|| json!(problem.short().to_string()));
    }
    for failure in failures {
        errors
            .entry(failure.template.clone())
            .or_insert_with(|| json!(failure.message));
    }
    let errors = Value::Object(errors);
    let mut over = renderer.siblings();
    over.push(("errors", &errors));
    // Mostly nothing is missing and nothing wrong, and then nobody asks where a text comes from.
    if let Some(fields) = plainly(renderer, source, &over) {
        return Ok(fields);
    }
    let output = renderer
        .run(source, &over, Watch::Closely, true)
        .map_err(|(error, _)| vec![renderer.problem(&error)])?;
    let trace = output.trace.unwrap_or_default();
    let fail = |what: String, place: Option<Place>| {
        let start = Place {
            file: source.clone(),
            line: 1,
            column: None,
        };
        Problem::at(place.unwrap_or(start), what)
    };
    let mut text = output.text;
    if text.len() > LARGEST {
        let what = format!(
            "the rendered status has {} bytes, and no object may have more than {LARGEST}",
            text.len()
        );
        return Err(vec![fail(what, None).hint(
            "let the status hold less, or stop it from growing with each look",
        )]);
    }
    for span in trace.spans.iter().filter(|span| !span.nils.is_empty()) {
        // `%!s(<nil>)` is left out below, but is no YAML as it stands.
        let printed = text.get_mut(span.start..span.end).unwrap_or_default();
        printed
            .iter_mut()
            .filter(|byte| **byte != b'\n')
            .for_each(|byte| *byte = b'x');
    }
    let text = String::from_utf8(text)
        .map_err(|_| vec![fail("the rendered status is not UTF-8".into(), None)])?;
    let at = |offset: usize| renderer.kind.origins.line(&trace, &text, offset);
    let spanned = yaml::parse_spanned(&text).map_err(|error| {
        let what = yaml_error::told("the rendered status is not YAML", &text, &error);
        vec![
            fail(what, at(yaml_error::offset(&text, &error))).hint(yaml_error::hint(&text, &error)),
        ]
    })?;
    let breaches = value_structure::breaches(&text, &trace);
    if !breaches.is_empty() {
        return Err(breaches);
    }
    let mut value = spanned.value;
    let mut pending = Vec::new();
    for span in trace.spans.iter().filter(|span| is_missing(&trace, span)) {
        if let Some(path) = leaf(&spanned.spans, &text, span) {
            remove(&mut value, &path);
            if is_pending(renderer, plan, &trace, span) {
                pending.push(path);
            }
        }
    }
    pending
        .iter()
        .for_each(|path| keep(&mut value, &renderer.instance["status"], path));
    match value {
        Value::Object(_) => {}
        Value::Null => return Ok(Map::new()),
        _ => {
            return Err(vec![fail(
                "the rendered status is no mapping, but a status has fields".into(),
                at(0),
            )]);
        }
    }
    let mut refused = Vec::new();
    if let (Some(schema), Some(whole)) = (described(renderer), &renderer.kind.schema) {
        schema.prune_part(&mut value);
        drop_nulls(&mut value, schema);
        for invalid in whole
            .validate(&json!({"status": value}))
            .iter()
            .filter(|invalid| !is_elsewhere(invalid))
        {
            let path = steps(invalid.path.steps());
            let inner = path.get(1..).unwrap_or_default();
            let nearest = (0..=inner.len())
                .rev()
                .find_map(|end| spanned.spans.find(&inner[..end]));
            let what = format!("the API server would refuse this status: {invalid}");
            refused.push(fail(what, nearest.and_then(|found| at(found.value.start))));
        }
    }
    match value {
        Value::Object(fields) if refused.is_empty() => Ok(fields),
        _ => Err(refused),
    }
}

/// The fields, if there is nothing to tell of them.
fn plainly(
    renderer: &Renderer<'_>,
    source: &str,
    over: &[(&str, &Value)],
) -> Option<Map<String, Value>> {
    let output = renderer.run(source, over, Watch::Lightly, false).ok()?;
    if output.missing || output.nil_text || output.risky || output.text.len() > LARGEST {
        return None;
    }
    let mut value = yaml::parse(std::str::from_utf8(&output.text).ok()?).ok()?;
    if let (Some(schema), Some(whole)) = (described(renderer), &renderer.kind.schema) {
        schema.prune_part(&mut value);
        drop_nulls(&mut value, schema);
        if !whole
            .validate(&json!({"status": value}))
            .iter()
            .all(is_elsewhere)
        {
            return None;
        }
    }
    match value {
        Value::Object(fields) => Some(fields),
        Value::Null => Some(Map::new()),
        _ => None,
    }
}

/// Whether what is wrong is not the status, or will not be so when it is written.
fn is_elsewhere(invalid: &objects::Invalid) -> bool {
    invalid.path.steps().first() != Some(&objects::Step::from("status")) || is_added_later(invalid)
}

/// Who carries plans out knows when a condition changed; the plan does not.
fn is_added_later(invalid: &objects::Invalid) -> bool {
    let steps = invalid.path.steps();
    let field = |index: usize, name: &str| steps.get(index) == Some(&objects::Step::from(name));
    field(1, "conditions") && field(3, "lastTransitionTime") && invalid.what.starts_with("Required")
}

/// A null where none is allowed would be refused; a template that printed nothing there meant
/// nothing.
fn drop_nulls(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(fields) => {
            let described = |key: &str| {
                schema
                    .properties
                    .get(key)
                    .or_else(|| schema.additional.values())
            };
            fields.retain(|key, field| {
                !field.is_null() || described(key).is_none_or(|schema| schema.nullable)
            });
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

/// Whether text comes from something missing. The instance's own status is no such thing: it fills
/// as it goes; but Go's word for nothing is never meant.
fn is_missing(trace: &Trace, span: &Span) -> bool {
    let own_status =
        |step: Option<&Step>| matches!(step, Some(Step::Key(key)) if &**key == "status");
    !span.nils.is_empty()
        || trace
            .reads_of(&span.reads)
            .any(|read| read.presence == Presence::Missing && !own_status(read.path.0.first()))
}

/// Whether what is missing may still come: it is of a child that is there or is to be there.
fn is_pending(renderer: &Renderer<'_>, plan: &Plan, trace: &Trace, span: &Span) -> bool {
    let nils = span
        .nils
        .iter()
        .filter_map(|nil| trace.reads.get(trace.nils.get(*nil)?.read));
    let missing = trace
        .reads_of(&span.reads)
        .filter(|read| read.presence == Presence::Missing);
    missing.chain(nils).any(|read| match read.path.0.first() {
        Some(Step::Key(root)) if renderer.kind.child(root).is_some() => {
            plan.applies.iter().any(|apply| *apply.template == **root)
                || plan.holds.iter().any(|hold| *hold.template == **root)
                || plan
                    .problems
                    .iter()
                    .any(|problem| *problem.template == **root)
        }
        _ => false,
    })
}

/// Leaves a field what it is, until what it is made of has come. A list is left as a whole.
fn keep(value: &mut Value, live: &Value, path: &[yaml::Step]) {
    let whole = path
        .iter()
        .position(|step| matches!(step, yaml::Step::Index(_)))
        .unwrap_or(path.len());
    let keys = path[..whole].iter().filter_map(|step| match step {
        yaml::Step::Key(key) => Some(&**key),
        yaml::Step::Index(_) => None,
    });
    let keys: Vec<&str> = keys.collect();
    let Some(said) = keys
        .iter()
        .try_fold(live, |value, key| value.get(key))
        .filter(|said| !said.is_null())
    else {
        return;
    };
    let Some((last, parents)) = keys.split_last() else {
        return;
    };
    let holder = parents
        .iter()
        .try_fold(value, |value, key| value.get_mut(key));
    if let Some(Value::Object(fields)) = holder {
        fields.insert((*last).to_owned(), said.clone());
    }
}

/// The path of the field that a span of text belongs to: the last key or item that begins before
/// it, on its line.
fn leaf(spans: &yaml::Spans, text: &str, span: &Span) -> Option<Vec<yaml::Step>> {
    if let Some(scalar) = (span.start..span.end).find_map(|offset| spans.at(offset)) {
        return Some(scalar.path);
    }
    // Nothing was printed: the field is the one whose key stands before the spot.
    let scalars = spans.scalars();
    let before = scalars
        .iter()
        .rev()
        .find(|scalar| scalar.span.start <= span.start)?;
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
        (Some(Value::Array(items)), yaml::Step::Index(index)) if *index < items.len() => {
            items[*index] = Value::Null;
        }
        _ => {}
    }
}

/// `Synced` and `Ready`, where the schema has a place for them and the author's template says
/// nothing of its own.
fn conditions(renderer: &Renderer<'_>, own: [Condition; 2], status: &mut Map<String, Value>) {
    if !has_conditions(renderer) {
        return;
    }
    let mut found = match status.remove("conditions") {
        Some(Value::Array(conditions)) => conditions,
        _ => Vec::new(),
    };
    for (kind, truth, reason, message) in own {
        if found.iter().any(|condition| condition["type"] == kind) {
            continue;
        }
        let mut condition = json!({"type": kind, "status": if truth { "True" } else { "False" }, "reason": reason, "message": message});
        if let Some(generation) = at(renderer.instance, "/metadata/generation") {
            condition["observedGeneration"] = generation.clone();
        }
        found.push(condition);
    }
    status.insert("conditions".to_string(), Value::Array(found));
}

type Condition = (&'static str, bool, &'static str, String);

fn synced(plan: &Plan) -> Condition {
    match plan.problems.first() {
        None => ("Synced", true, "Rendered", left(&plan.leftovers)),
        Some(first) => (
            "Synced",
            false,
            "RenderFailed",
            format!("{}: {}", first.template, first.problem.short()),
        ),
    }
}

/// How many leftovers are named: a status has to stay small, whoever labels how much.
const NAMED: usize = 5;

/// What is said of objects that only claim to be children.
fn left(objects: &[String]) -> String {
    if objects.is_empty() {
        return String::new();
    }
    let named = objects
        .iter()
        .take(NAMED)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    let more = match objects.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "labelled as children of this instance but not owned by it, and so left alone: {named}{more}; delete them, or \
         remove their label {}",
        api::labels::PARENT_NAME
    )
}

fn ready(renderer: &Renderer<'_>, plan: &Plan) -> Condition {
    if let Some(first) = plan.problems.first() {
        return (
            "Ready",
            false,
            "RenderFailed",
            format!("{} failed", first.template),
        );
    }
    if let Some(hold) = plan.holds.first() {
        let waits = hold
            .waits
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ");
        return (
            "Ready",
            false,
            "Waiting",
            format!("{} waits for {waits}", hold.template),
        );
    }
    for apply in &plan.applies {
        let child = renderer.kind.child(&apply.template);
        let name = format!(
            "{}/{}",
            text(&apply.object, "/kind"),
            text(&apply.object, "/metadata/name")
        );
        let Some(object) = observed(renderer, apply) else {
            return (
                "Ready",
                false,
                "Creating",
                format!("{}: {name} is not there yet", apply.template),
            );
        };
        let told = child.is_some_and(|child| child.tells_ready);
        if let Readiness::NotReady { why, .. } = if told {
            readiness_of_told(object)
        } else {
            readiness(object)
        } {
            // One of several is named; where there is one, its template says which.
            let several = child.is_some_and(|child| child.shape == Shape::Collection);
            let which = if several {
                format!(" {name}:")
            } else {
                String::new()
            };
            return (
                "Ready",
                false,
                "ChildNotReady",
                format!("{}:{which} {why}", apply.template),
            );
        }
    }
    ("Ready", true, "Available", String::new())
}

fn observed<'r>(renderer: &Renderer<'r>, apply: &super::Apply) -> Option<&'r Value> {
    match renderer.observed.get(&apply.template)? {
        Value::Array(objects) => objects
            .iter()
            .find(|object| at(object, "/metadata/name") == at(&apply.object, "/metadata/name")),
        object => Some(object),
    }
}
