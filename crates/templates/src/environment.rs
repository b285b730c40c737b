//! Names that are a parameter to the template and a variable to the kubelet: `$(X)` is written the
//! same for both. Only where the kubelet would expand it, and only with a variable that it could
//! see there, is that a question.

use serde_json::Value;

use crate::dialect::Dialect;
use crate::pods::{Expanded, Shape, expanded};
use crate::problem::Problem;
use crate::reference::{Form, references};
use crate::template::Template;
use crate::trail::{Leg, Trail, texts};

/// Looks through an object for references that can be read in two ways, and in strict mode for
/// those that mean nothing.
pub(crate) fn check(
    object: &Value,
    trail: &Trail<'_>,
    shape: Option<&Shape>,
    template: &Template,
    dialect: Dialect,
    strict: bool,
    problems: &mut Vec<Problem>,
) {
    if dialect == Dialect::Braces && !strict
        || dialect == Dialect::Parentheses && !strict && shape.is_none()
    {
        return;
    }
    texts(object, trail, &mut |trail, text, is_key| {
        if memchr::memchr(b'$', text.as_bytes()).is_none() {
            return;
        }
        let legs = trail.legs();
        // The first two steps are to the list of objects and to the object.
        let place = if is_key {
            None
        } else {
            expanded(shape, legs.get(2..).unwrap_or_default())
        };
        for found in references(dialect, text).filter(|found| !found.escaped) {
            let variable = place.and_then(|place| variable(object, shape, &place, found.name));
            let declared = template.parameter(found.name).is_some();
            let written = &text[found.range.clone()];
            let asks_both = declared && found.form == Form::Text && dialect == Dialect::Parentheses;
            match variable {
                // A variable that only passes the parameter on has its value: both readings are the
                // same.
                Some(variable) if asks_both && variable["value"] != *written => {
                    problems.push(clash(trail, found.name));
                }
                None if strict && !declared => {
                    problems.push(unknown(trail, is_key, written, template, found.name));
                }
                _ => {}
            }
        }
    });
}

fn clash(trail: &Trail<'_>, name: &str) -> Problem {
    let what = format!(
        "`$({name})` is both a parameter and a variable of this container, with values of their own"
    );
    Problem::at(trail.path(), what).of(name).hint(format!(
        "give one of them another name, or write `$$({name})` to leave it as it stands"
    ))
}

fn unknown(
    trail: &Trail<'_>,
    is_key: bool,
    written: &str,
    template: &Template,
    name: &str,
) -> Problem {
    let what = format!("`{written}` is neither a parameter nor a variable that could be seen here");
    let near = objects::nearest(
        name,
        template
            .parameters
            .iter()
            .map(|parameter| parameter.name.as_str()),
    );
    let problem = Problem {
        at_key: is_key,
        ..Problem::at(trail.path(), what)
    };
    match near {
        Some(near) => problem.hint(format!("is `{near}` meant?")),
        None => problem.hint("declare it, or leave strict mode if it is meant for somebody else"),
    }
}

/// The variable of this name that a place of a container sees, the last of several.
fn variable<'v>(
    object: &'v Value,
    shape: Option<&Shape>,
    place: &Expanded<'_>,
    name: &str,
) -> Option<&'v Value> {
    let pod = shape?
        .pod?
        .iter()
        .fold(object, |value, field| &value[*field]);
    let variables = pod[place.list][place.container]["env"].as_array()?;
    let visible = place.before.unwrap_or(variables.len()).min(variables.len());
    variables[..visible]
        .iter()
        .rev()
        .find(|variable| variable["name"] == name)
}

/// Whether the kubelet expands the text at this place of an object in the list of objects.
pub(crate) fn is_expanded(shape: Option<&Shape>, trail: &Trail<'_>) -> bool {
    let legs: Vec<Leg<'_>> = trail.legs();
    expanded(shape, legs.get(2..).unwrap_or_default()).is_some()
}
