//! Which line of a template made a field of an object, and from which inputs.

use gotpl::Watch;
use serde_json::Value;

use crate::compile::CompiledKind;
use crate::plan::render::Renderer;
use crate::plan::{Context, Observed};
use crate::problem::Place;

/// Where a field comes from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Explanation {
    /// The value as text.
    pub value: String,
    /// The spots of templates that printed it, each with the paths it was printed from.
    pub made_by: Vec<(Place, Vec<String>)>,
    /// The paths that decided whether it is there.
    pub because_of: Vec<String>,
}

/// Explains a field of the object that a template makes; `path` as in `spec.replicas` or `spec.ports[0].port`.
pub fn explain(
    kind: &CompiledKind,
    instance: &Value,
    observed: &Observed,
    context: &Context<'_>,
    template: &str,
    path: &[yaml::Step],
) -> Result<Explanation, String> {
    let renderer = Renderer::new(kind, instance, observed, context);
    let child = kind.child(template).ok_or_else(|| format!("there is no template {template:?}"))?;
    let over = renderer.siblings();
    let output = renderer.run(&child.file, &over, Watch::Closely, true).map_err(|(error, _)| error.to_string())?;
    let trace = output.trace.unwrap_or_default();
    let text = String::from_utf8(output.text).map_err(|_| "the rendered text is not UTF-8".to_string())?;
    for document in yaml::documents(&text).map_err(|error| error.to_string())? {
        let Ok(spanned) = yaml::parse_spanned(&document.text) else {
            continue;
        };
        let Some(found) = spanned.spans.find(path) else {
            continue;
        };
        let (start, end) = (document.start + found.value.start, document.start + found.value.end);
        let mut explanation =
            Explanation { value: text[start..end].to_string(), made_by: Vec::new(), because_of: Vec::new() };
        let touches = |from: usize, to: usize| from < end.max(start + 1) && start < to.max(from + 1);
        for span in trace.spans.iter().filter(|span| touches(span.start, span.end)) {
            let paths = |reads: &[usize]| {
                let mut paths: Vec<String> = trace.reads_of(reads).map(|read| format!(".{}", read.path)).collect();
                paths.sort();
                paths.dedup();
                paths
            };
            let mut place = Place::from(&span.site);
            if span.reads.is_empty() {
                // Static text is one span from action to action: count on to the line of the field.
                place.line += text[span.start..start.max(span.start)].matches('\n').count();
                place.column = None;
            }
            explanation.made_by.push((place, paths(&span.reads)));
            explanation.because_of.extend(paths(&span.under));
        }
        explanation.because_of.sort();
        explanation.because_of.dedup();
        return Ok(explanation);
    }
    Err(format!("the object that {} makes has no such field", child.file))
}
