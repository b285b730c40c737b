//! What may be told of an object that the API server refuses: at which spot of a template it comes
//! from, and the message without generated values, values of Secrets and anything made of them.
//! What is secret in it only a watched run of the template says; without one that ends by itself,
//! nothing is told but which field it is and what kind of fault.

use std::collections::BTreeMap;

use gotpl::{Trace, Watch};
use serde_json::Value;

use super::redaction::HIDDEN;
use super::render::Renderer;
use super::{Context, Observed, immutable, text as text_of};
use crate::budget::Meter;
use crate::compile::{Child, CompiledKind};
use crate::problem::Place;

/// A message about an object that a template makes, such as a refusal of the API server.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The template.
    pub template: String,
    /// The object that it makes.
    pub object: Value,
    /// The message as it came.
    pub message: String,
}

/// For each message the spot of a template that printed the first field it names, or the nearest
/// thing around it, and the message for people, without anything secret. All of it has one budget
/// together.
pub fn refused(
    kind: &CompiledKind,
    instance: &Value,
    observed: &Observed,
    context: &Context<'_>,
    refusals: &[Refusal],
) -> Vec<(Option<Place>, String)> {
    let own = Meter::new(context.limits.clone());
    let renderer = Renderer::new(kind, instance, observed, context, &own);
    // A template may make many objects, and is run once.
    let mut runs: BTreeMap<&str, Option<(String, Trace)>> = BTreeMap::new();
    let tell = |refusal: &'_ Refusal, run: Option<&(String, Trace)>| {
        let (Some(child), Some((text, trace))) = (kind.child(&refusal.template), run) else {
            return (None, withheld(kind, &refusal.template, &refusal.message));
        };
        renderer.keep_object(child, &refusal.object);
        let name = text_of(&refusal.object, "/metadata/name");
        let spot = field(&refusal.message).and_then(|path| spot(text, &name, &path));
        let place = spot.and_then(|spot| kind.origins.line(trace, text, spot));
        // What is added on how to go on has the object's name, which may be made of anything.
        let why = immutable::refusal(&renderer.told(&refusal.message), &refusal.object);
        (place, renderer.told(&why))
    };
    let mut told = Vec::with_capacity(refusals.len());
    for refusal in refusals {
        let run = runs.entry(&refusal.template).or_insert_with(|| {
            let run = watched(&renderer, kind.child(&refusal.template)?)?;
            renderer.keep_scalars(&run.0, &run.1);
            Some(run)
        });
        told.push(tell(refusal, run.as_ref()));
    }
    told
}

/// A message about an object that a template makes, for people and without anything secret.
pub fn hidden(
    kind: &CompiledKind,
    instance: &Value,
    observed: &Observed,
    context: &Context<'_>,
    (template, object): (&str, &Value),
    message: &str,
) -> String {
    let refusal = Refusal {
        template: template.to_owned(),
        object: object.clone(),
        message: message.to_owned(),
    };
    let told = refused(
        kind,
        instance,
        observed,
        context,
        std::slice::from_ref(&refusal),
    )
    .pop();
    told.map_or_else(|| withheld(kind, template, message), |(_, message)| message)
}

/// What a template prints, and from what, if a run of it ends within the budget.
fn watched(renderer: &Renderer<'_>, child: &Child) -> Option<(String, Trace)> {
    let output = renderer
        .run(&child.file, &renderer.siblings(), Watch::Closely, true)
        .ok()?;
    Some((String::from_utf8(output.text).ok()?, output.trace?))
}

/// Where in a text the object of this name has a field, or the nearest thing around it.
fn spot(text: &str, name: &str, path: &[yaml::Step]) -> Option<usize> {
    yaml::documents(text)
        .ok()?
        .into_iter()
        .find_map(|document| {
            let spanned = yaml::parse_spanned(&document.text).ok()?;
            let found = (1..=path.len())
                .rev()
                .find_map(|end| spanned.spans.find(&path[..end]))?;
            (text_of(&spanned.value, "/metadata/name") == name)
                .then_some(document.start + found.value.start)
        })
}

/// The faults of fields, in the words of the API server.
const FAULTS: [&str; 11] = [
    "Invalid value",
    "Required value",
    "Unsupported value",
    "Duplicate value",
    "Forbidden",
    "Not found",
    "Too long",
    "Too many",
    "Too few",
    "Internal error",
    "field is immutable",
];

/// What may be said of a message where nobody knows what in it is secret: the kind, the first field
/// and its fault. A part of the field's path is shown if it is written in the template: another may
/// be a key that was made of something secret.
pub fn withheld(kind: &CompiledKind, template: &str, message: &str) -> String {
    let child = kind.child(template);
    let written = child
        .and_then(|child| kind.origins.text(&child.file))
        .unwrap_or_default();
    let is_written = |word: &str| {
        written
            .split(|letter: char| !is_part(letter))
            .any(|own| own == word)
    };
    let what = child.map_or("the object", |child| child.gvk.kind.as_str());
    let mut told = format!("{what} was not applied");
    if let Some(path) = field(message) {
        let mut shown = String::new();
        for step in &path {
            match step {
                yaml::Step::Index(index) if *index < 1_000 => shown.push_str(&format!("[{index}]")),
                yaml::Step::Index(_) => shown.push_str(&format!(".{HIDDEN}")),
                yaml::Step::Key(key) => {
                    let key = if is_written(key) { key } else { HIDDEN };
                    let dot = if shown.is_empty() { "" } else { "." };
                    shown.push_str(&format!("{dot}{key}"));
                }
            }
        }
        let fault = |fault: &&&str| message.contains(&format!(": {fault}"));
        let faults: Vec<&str> = FAULTS.iter().filter(fault).copied().collect();
        told.push_str(&format!(": {shown}: {}", faults.join(", ")));
    }
    format!(
        "{told}; the message is withheld, because finding the secret values in it went over budget"
    )
}

/// Whether a letter can be a part of a word that names a field.
fn is_part(letter: char) -> bool {
    letter.is_alphanumeric() || "-_".contains(letter)
}

/// The first field in the words of the API server: `Service "a" is invalid: spec.ports[0].port:
/// Invalid value: ...`, or several such in brackets.
fn field(message: &str) -> Option<Vec<yaml::Step>> {
    let (_, rest) = message.split_once(" is invalid: ")?;
    let (path, _) = rest.strip_prefix('[').unwrap_or(rest).split_once(": ")?;
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (word, after) = inner.split_once(']')?;
            steps.push(
                word.parse::<usize>()
                    .map_or_else(|_| yaml::Step::from(word), yaml::Step::from),
            );
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
            let step = |step: &&str| {
                step.parse::<usize>()
                    .map_or_else(|_| yaml::Step::from(*step), yaml::Step::from)
            };
            Some(steps.iter().map(step).collect())
        };
        for (message, expected) in [
            (
                "Service \"a\" is invalid: spec.ports[0].port: Invalid value: 99999: must be between 1 and 65535",
                steps(&["spec", "ports", "0", "port"]),
            ),
            (
                "X \"a\" is invalid: [spec.a: Required value, spec.b: Required value]",
                steps(&["spec", "a"]),
            ),
            (
                "ConfigMap \"a\" is invalid: data[a b/c]: Invalid value: \"a b/c\"",
                steps(&["data", "a b/c"]),
            ),
            (
                "X \"a\" is invalid: <nil>: Invalid value",
                steps(&["<nil>"]),
            ),
            ("X \"a\" is invalid: it is not good: really", None),
            ("admission webhook denied the request", None),
        ] {
            assert_eq!(field(message), expected, "{message}");
        }
    }
}
