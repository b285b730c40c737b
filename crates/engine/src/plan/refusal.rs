//! Which spot of a template printed what the API server refuses.

use gotpl::Watch;
use serde_json::Value;

use crate::budget::Meter;
use crate::compile::CompiledKind;
use crate::plan::render::Renderer;
use crate::plan::{Context, Observed, text as text_of};
use crate::problem::Place;

/// The spot of a template that printed the first field that a refusal names, or the nearest thing around it. `name` is
/// that of the object, of which a template may make several.
pub fn refused_at(
    kind: &CompiledKind,
    instance: &Value,
    observed: &Observed,
    context: &Context<'_>,
    (template, name): (&str, &str),
    message: &str,
) -> Option<Place> {
    let path = field(message)?;
    let own = Meter::new(context.limits.clone());
    let renderer = Renderer::new(kind, instance, observed, context, &own);
    let file = &kind.child(template)?.file;
    let output = renderer.run(file, &renderer.siblings(), Watch::Closely, false).ok()?;
    let text = String::from_utf8(output.text).ok()?;
    let mut spots = yaml::documents(&text).ok()?.into_iter().filter_map(|document| {
        let spanned = yaml::parse_spanned(&document.text).ok()?;
        let found = (1..=path.len()).rev().find_map(|end| spanned.spans.find(&path[..end]))?;
        (text_of(&spanned.value, "/metadata/name") == name).then_some(document.start + found.value.start)
    });
    let spot = spots.next()?;
    kind.origins.line(&output.trace?, &text, spot)
}

/// A message about an object that a template makes, such as a refusal, without generated values, values of Secrets and
/// anything that was made of them.
pub fn hidden(
    kind: &CompiledKind,
    instance: &Value,
    observed: &Observed,
    context: &Context<'_>,
    (template, object): (&str, &Value),
    message: &str,
) -> String {
    let own = Meter::new(context.limits.clone());
    let renderer = Renderer::new(kind, instance, observed, context, &own);
    let Some(child) = kind.child(template) else {
        return message.to_owned();
    };
    renderer.keep_object(child, object);
    let run = renderer.run(&child.file, &renderer.siblings(), Watch::Closely, true);
    if let Ok((Ok(text), Some(trace))) = run.map(|output| (String::from_utf8(output.text), output.trace)) {
        renderer.keep_scalars(&text, &trace);
    }
    renderer.told(message)
}

/// The first field in the words of the API server: `Service "a" is invalid: spec.ports[0].port: Invalid value: ...`, or
/// several such in brackets.
fn field(message: &str) -> Option<Vec<yaml::Step>> {
    let (_, rest) = message.split_once(" is invalid: ")?;
    let (path, _) = rest.strip_prefix('[').unwrap_or(rest).split_once(": ")?;
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (word, after) = inner.split_once(']')?;
            steps.push(word.parse::<usize>().map_or_else(|_| yaml::Step::from(word), yaml::Step::from));
            rest = after;
        } else {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if rest[..end].contains(' ') {
                // These are words of somebody else, and no path.
                return None;
            }
            steps.push(yaml::Step::from(&rest[..end]));
            rest = &rest[end..];
        }
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn the_first_field_of_a_refusal_is_found() {
        let steps = |steps: &[&str]| -> Option<Vec<yaml::Step>> {
            let step = |step: &&str| step.parse::<usize>().map_or_else(|_| yaml::Step::from(*step), yaml::Step::from);
            Some(steps.iter().map(step).collect())
        };
        for (message, expected) in [
            (
                "Service \"a\" is invalid: spec.ports[0].port: Invalid value: 99999: must be between 1 and 65535",
                steps(&["spec", "ports", "0", "port"]),
            ),
            ("X \"a\" is invalid: [spec.a: Required value, spec.b: Required value]", steps(&["spec", "a"])),
            ("ConfigMap \"a\" is invalid: data[a b/c]: Invalid value: \"a b/c\"", steps(&["data", "a b/c"])),
            ("X \"a\" is invalid: <nil>: Invalid value", steps(&["<nil>"])),
            ("X \"a\" is invalid: it is not good: really", None),
            ("admission webhook denied the request", None),
        ] {
            assert_eq!(field(message), expected, "{message}");
        }
    }
}
