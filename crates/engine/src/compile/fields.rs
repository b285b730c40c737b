//! What is certain of the fields that a template prints, held against the schema they are for: names that the API server
//! would drop, and values that it would refuse, before there is an instance.

use std::collections::BTreeSet;
use std::ops::Range;

use objects::{Gvk, Invalid, Lookup, Path, Schema, Type};
use serde_json::{Value, json};
use yaml::Spanned;

use crate::compile::sketch::Sketch;
use crate::problem::Problem;
use crate::stack::Kind;
use crate::surface;

/// Keys that YAML takes for something else, and keys that stand twice, whatever the kind.
pub(super) fn keys(sketch: &Sketch<'_>, document: &Range<usize>, problems: &mut Vec<Problem>) {
    let text = sketch.blanked(document);
    let Ok(spanned) = yaml::parse_spanned(&text) else {
        return;
    };
    for key in yaml::misread_keys(&text, &spanned.spans) {
        let place = sketch.place(document.start + key.span.start);
        problems.push(Problem::at(place, key.what()).hint(key.hint()).warning());
    }
    // The two sides of a branch may well have the same keys.
    let certain = |key: &yaml::Scalar| {
        let range = document.start + key.span.start..document.start + key.span.end;
        key.is_key && sketch.is_certain(&range, true)
    };
    let mut seen = BTreeSet::new();
    for key in spanned.spans.scalars().into_iter().filter(certain) {
        if let (Some(yaml::Step::Key(name)), false) = (key.path.last(), seen.insert(key.path.clone())) {
            let what = format!("the key `{name}` stands twice in the same mapping");
            problems.push(Problem::at(sketch.place(document.start + key.span.start), what));
        }
    }
}

/// The fields of a child: all of them if its kind is known, those at the top if not.
pub(super) fn child(
    sketch: &Sketch<'_>,
    document: &Range<usize>,
    gvk: &Gvk,
    schema: &Schema,
    owned: bool,
    problems: &mut Vec<Problem>,
) {
    let Ok(spanned) = yaml::parse_spanned(&sketch.blanked(document)) else {
        return;
    };
    let check = Check { sketch, document, schema, below: Path::root(), what: &gvk.kind, owned };
    check.names(&spanned, problems);
    check.values(&spanned, &spanned.value, problems);
}

/// The fields of a status.
pub(super) fn status(sketch: &Sketch<'_>, kind: &Kind, problems: &mut Vec<Problem>) {
    let document = 0..sketch.text.len();
    if sketch.is_yaml(&document, problems).is_none() {
        return;
    }
    keys(sketch, &document, problems);
    let Ok(spanned) = yaml::parse_spanned(&sketch.blanked(&document)) else {
        return;
    };
    let whole = spanned.spans.find(&[]).map_or(0..0, |found| found.value.start..found.value.end);
    if !spanned.value.is_object() {
        if !spanned.value.is_null() && sketch.is_certain(&whole, true) {
            let what = "the status is no mapping, but a status has fields";
            problems.push(Problem::at(sketch.place(whole.start), what).hint("write `field: value` lines"));
        }
        return;
    }
    let Some(schema) = &kind.schema else {
        return;
    };
    if let Lookup::Missing(_) = schema.lookup(&Path::fields(&["status"])) {
        let what = format!("the schema of {} has no status: the API server drops all of this", kind.gvk.kind);
        let hint = "describe `status` beside `spec` in the CRD";
        problems.push(Problem::at(sketch.place(whole.start), what).hint(hint).warning());
        return;
    }
    let check =
        Check { sketch, document: &document, schema, below: Path::fields(&["status"]), what: "status", owned: true };
    check.names(&spanned, problems);
    check.values(&spanned, &json!({"status": spanned.value}), problems);
}

struct Check<'c> {
    sketch: &'c Sketch<'c>,
    document: &'c Range<usize>,
    schema: &'c Schema,
    /// Where in the object the text belongs.
    below: Path,
    /// What people call it.
    what: &'c str,
    /// Whether its schema is the stack's own to change.
    owned: bool,
}

impl Check<'_> {
    fn names(&self, spanned: &Spanned, problems: &mut Vec<Problem>) {
        // A merge key is no field of the object.
        let merge = yaml::Step::from("<<");
        for key in spanned.spans.scalars().into_iter().filter(|scalar| scalar.is_key && !scalar.path.contains(&merge)) {
            let range = self.document.start + key.span.start..self.document.start + key.span.end;
            if !self.sketch.is_certain(&range, false) {
                continue;
            }
            let path = self.below.join(&path(&key.path));
            let parent: Path = path.steps()[..path.steps().len() - 1].iter().cloned().collect();
            // Fields of what is no object are a wrong type, not a wrong name.
            if !matches!(self.schema.lookup(&parent), Lookup::Known(schema) if schema.kind == Some(Type::Object)) {
                continue;
            }
            if let Lookup::Missing(missing) = self.schema.lookup(&path) {
                // A status is cut down to its schema before it is sent; anything else is sent as it is.
                let whole = self.below.is_root();
                let does = if whole { "would refuse" } else { "drops" };
                let problem =
                    Problem::at(self.sketch.place(range.start), format!("{missing}: the API server {does} it"));
                let inside = key.path.last().filter(|_| key.path.len() == 1).and_then(|name| self.holder(name));
                let problem = match missing.suggestion {
                    _ if inside.is_some() => {
                        problem.hint(format!("it is a field of `{}`: indent it further", inside.unwrap_or_default()))
                    }
                    Some(near) => problem.hint(format!("did you mean `{near}`?")),
                    None if whole && path.steps().len() < 3 => problem.hint(surface::HINT),
                    None if self.owned => problem.hint("add the field to the CRD's schema"),
                    None => problem,
                };
                problems.push(if whole { problem } else { problem.warning() });
            }
        }
    }

    /// The field at the top that has a field of this name.
    fn holder(&self, name: &yaml::Step) -> Option<&str> {
        let yaml::Step::Key(name) = name else {
            return None;
        };
        let mut fields = self.schema.properties.iter().filter(|_| self.below.is_root());
        fields.find(|(_, schema)| schema.properties.contains_key(&**name)).map(|(holder, _)| holder.as_str())
    }

    fn values(&self, spanned: &Spanned, value: &Value, problems: &mut Vec<Problem>) {
        for invalid in self.schema.validate(value) {
            let Some(inner) = invalid.path.steps().strip_prefix(self.below.steps()) else {
                continue;
            };
            // What is required may come from a part that is not known yet.
            let Some(found) = spanned.spans.find(&steps(inner)).filter(|_| !invalid.what.starts_with("Required"))
            else {
                continue;
            };
            // Where nothing seems to stand there may be lines of any shape.
            let range = self.document.start + found.value.start..self.document.start + found.value.end;
            if !range.is_empty() && self.sketch.is_certain(&range, !is_scalar(value, &invalid.path)) {
                let what = format!("the API server would refuse this {}: {invalid}", self.what);
                let problem = Problem::at(self.sketch.place(range.start), what);
                problems.push(match Quotes::of(&invalid, value) {
                    Some(quotes) => problem.hint(quotes.hint()),
                    None => problem,
                });
            }
        }
    }
}

/// What is wrong with the quotes of a value that is refused for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quotes {
    /// A number or a truth stands where a text is wanted.
    Missing,
    /// A text stands where the number or the truth that it says is wanted.
    Needless,
}

impl Quotes {
    /// Whether the quotes are why something of a value is refused.
    pub fn of(invalid: &Invalid, value: &Value) -> Option<Quotes> {
        let (_, types) = invalid.what.rsplit_once("must be of type ")?;
        let (wanted, found) = types.split_once(": ")?;
        match (wanted, found) {
            ("string", "\"integer\"" | "\"number\"" | "\"boolean\"") => Some(Quotes::Missing),
            (_, "\"string\"") => {
                let said = yaml::parse(at(value, &invalid.path)?.as_str()?).ok()?;
                let fits = match wanted {
                    "integer" => said.is_i64() || said.is_u64(),
                    "number" => said.is_number(),
                    "boolean" => said.is_boolean(),
                    _ => false,
                };
                fits.then_some(Quotes::Needless)
            }
            _ => None,
        }
    }

    /// What to do about it, for who wrote the value.
    pub fn hint(self) -> &'static str {
        match self {
            Quotes::Missing => "write it in quotes",
            Quotes::Needless => "write it without quotes",
        }
    }
}

fn at<'v>(value: &'v Value, path: &Path) -> Option<&'v Value> {
    path.steps().iter().try_fold(value, |value, step| match step {
        objects::Step::Field(name) => value.get(&**name),
        objects::Step::Index(index) => value.get(index),
        objects::Step::Each => None,
    })
}

fn is_scalar(value: &Value, path: &Path) -> bool {
    at(value, path).is_some_and(|value| !value.is_object() && !value.is_array())
}

/// A path into a text as a path into the object that is read from it.
pub(crate) fn path(steps: &[yaml::Step]) -> Path {
    let step = |step: &yaml::Step| match step {
        yaml::Step::Key(key) => objects::Step::from(&**key),
        yaml::Step::Index(index) => objects::Step::from(*index),
    };
    steps.iter().map(step).collect()
}

/// A path into an object as a path into the text that it was read from.
pub(crate) fn steps(path: &[objects::Step]) -> Vec<yaml::Step> {
    let step = |step: &objects::Step| match step {
        objects::Step::Field(name) => Some(yaml::Step::from(&**name)),
        objects::Step::Index(index) => Some(yaml::Step::from(*index)),
        objects::Step::Each => None,
    };
    path.iter().map_while(step).collect()
}
