//! Which line of a template made a field of an object, and from which inputs.

use gotpl::{Presence, Trace, Watch};
use serde_json::Value;

use crate::budget::Meter;
use crate::compile::CompiledKind;
use crate::problem::Place;
use crate::reconcile::render::Renderer;
use crate::reconcile::{Context, Observed};

/// Where a field comes from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The value as text.
    pub value: String,
    /// What printed it.
    pub made_by: Vec<Maker>,
    /// The paths that decided whether it is there.
    pub because_of: Vec<String>,
    /// What it still waits for.
    pub waits_for: Vec<String>,
}

/// A spot of a template that printed a field or a part of it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Maker {
    /// The spot.
    pub place: Place,
    /// The paths it printed; none for text as written.
    pub from: Vec<String>,
}

/// The name by which the status template is asked for.
const STATUS: &str = "status";

/// Explains a field of the object that a template makes, or of the status; `path` as in
/// `spec.ports[0].port`.
pub fn explain(
    kind: &CompiledKind,
    instance: &Value,
    observed: &Observed,
    context: &Context<'_>,
    template: &str,
    path: &[yaml::Step],
) -> Result<Explanation, String> {
    let own = Meter::new(context.limits.clone());
    let renderer = Renderer::new(kind, instance, observed, context, &own);
    let file = match kind.child(template) {
        Some(child) => &child.file,
        None => kind
            .status
            .as_ref()
            .filter(|_| template == STATUS)
            .ok_or_else(|| format!("there is no template {template:?}"))?,
    };
    let errors = Value::Object(serde_json::Map::new());
    let mut over = renderer.siblings();
    if template == STATUS {
        over.push(("errors", &errors));
    }
    let output = renderer
        .run(file, &over, Watch::Closely, true)
        .map_err(|(error, _)| error.to_string())?;
    let trace = output.trace.unwrap_or_default();
    let text =
        String::from_utf8(output.text).map_err(|_| "the rendered text is not UTF-8".to_string())?;
    let mut nearest = None;
    for document in yaml::documents(&text).map_err(|error| error.to_string())? {
        let Ok(spanned) = yaml::parse_spanned(&document.text) else {
            continue;
        };
        if let Some(found) = spanned.spans.find(path) {
            let (start, mut end) = (
                document.start + found.value.start,
                document.start + found.value.end,
            );
            if start == end {
                // Nothing was printed there: what was meant to be is somewhere up to the end of the
                // line.
                end += text[end..]
                    .find('\n')
                    .map_or(text.len() - end, |line| line + 1);
            }
            return Ok(told(&text, &trace, start, end));
        }
        nearest = nearest.or_else(|| lost(&spanned.value, path));
    }
    Err(nearest.unwrap_or_else(|| format!("template {template:?} makes nothing as things are")))
}

/// Where a path leaves what there is, and what there is instead.
fn lost(value: &Value, path: &[yaml::Step]) -> Option<String> {
    let mut here = value;
    let mut way = String::new();
    for step in path {
        let next = match step {
            yaml::Step::Key(key) => here.get(&**key),
            yaml::Step::Index(index) => here.get(index),
        };
        let shown = match step {
            yaml::Step::Key(key) if way.is_empty() => key.to_string(),
            yaml::Step::Key(key) => format!(".{key}"),
            yaml::Step::Index(index) => format!("[{index}]"),
        };
        let Some(next) = next else {
            let place = if way.is_empty() {
                "the object".to_string()
            } else {
                format!("`{way}`")
            };
            let there = match here {
                Value::Object(fields) => fields
                    .keys()
                    .map(|key| format!("`{key}`"))
                    .collect::<Vec<_>>()
                    .join(", "),
                Value::Array(items) => format!("{} items", items.len()),
                _ => "no parts".to_string(),
            };
            return Some(format!("there is no `{way}{shown}`: {place} has {there}"));
        };
        (here, way) = (next, way + &shown);
    }
    None
}

fn told(text: &str, trace: &Trace, start: usize, end: usize) -> Explanation {
    let sorted = |mut paths: Vec<String>| {
        paths.sort();
        paths.dedup();
        paths
    };
    let path = |read: &gotpl::Read| match read.presence {
        Presence::Drawn => "a generated value".to_string(),
        _ => format!(".{}", read.path),
    };
    let paths = |reads: &[usize]| sorted(trace.reads_of(reads).map(path).collect());
    let value = text[start..end].trim().to_string();
    let mut explanation = Explanation {
        value,
        made_by: Vec::new(),
        because_of: Vec::new(),
        waits_for: Vec::new(),
    };
    let touches = |from: usize, to: usize| from < end.max(start + 1) && start < to.max(from + 1);
    for span in trace
        .spans
        .iter()
        .filter(|span| touches(span.start, span.end))
    {
        let mut place = Place::from(&span.site);
        if span.reads.is_empty() {
            // Static text is one span from action to action: count on to the line of the field.
            let before = text
                .get(span.start..start.max(span.start))
                .unwrap_or_default();
            place.line += before.matches('\n').count();
            place.column = None;
        }
        let missing = trace
            .reads_of(&span.reads)
            .filter(|read| read.presence == Presence::Missing);
        explanation
            .waits_for
            .extend(missing.map(|read| format!(".{}", read.path)));
        explanation.because_of.extend(paths(&span.under));
        // The text around an action that printed nothing touches the field, but did not make it.
        if !(span.reads.is_empty() && explanation.value.is_empty()) {
            explanation.made_by.push(Maker {
                place,
                from: paths(&span.reads),
            });
        }
    }
    explanation.because_of = sorted(explanation.because_of);
    explanation.waits_for = sorted(explanation.waits_for);
    explanation
}
