//! What is certain of the fields that a template prints, held against the schema they are for:
//! names that the API server would drop, and values that it would refuse, before there is an
//! instance.

use std::collections::BTreeSet;
use std::ops::Range;

use objects::{Gvk, Invalid, Lookup, Path, Schema, Type};
use serde_json::{Value, json};
use yaml::Spanned;

use super::dry_run::Sketch;
use super::top_level_fields;
use crate::compile::Known;
use crate::problem::Problem;
use crate::stack::Kind;

/// Keys that YAML takes for something else, and keys that stand twice, whatever the kind.
fn keys(sketch: &Sketch<'_>, document: &Range<usize>, problems: &mut Vec<Problem>) {
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
        if let (Some(yaml::Step::Key(name)), false) =
            (key.path.last(), seen.insert(key.path.clone()))
        {
            let what = format!("the key `{name}` stands twice in the same mapping");
            problems.push(Problem::at(
                sketch.place(document.start + key.span.start),
                what,
            ));
        }
    }
}

/// What is certain to be an object that no stack may make.
pub(super) fn forbidden(
    sketch: &Sketch<'_>,
    documents: &[Range<usize>],
    problems: &mut Vec<Problem>,
) {
    for document in documents {
        let Ok(spanned) = yaml::parse_spanned(&sketch.blanked(document)) else {
            continue;
        };
        let Some(found) = crate::forbidden(&spanned.value) else {
            continue;
        };
        let steps: Vec<yaml::Step> = found
            .field
            .iter()
            .map(|step| yaml::Step::from(*step))
            .collect();
        let Some(place) = spanned.spans.find(&steps) else {
            continue;
        };
        // An annotation is one whatever its value is.
        let place = if found.field.len() == 1 {
            place.value
        } else {
            place.key.unwrap_or(place.value)
        };
        let range = document.start + place.start..document.start + place.end;
        if sketch.is_certain(&range, false) {
            problems.push(
                Problem::at(sketch.place(range.start), found.what)
                    .hint(crate::forbidden_kinds::HINT),
            );
        }
    }
}

/// What a template makes, and what is known of it.
pub(super) struct Made<'m> {
    pub gvk: &'m Gvk,
    pub schema: &'m Schema,
    /// Whether its schema is the stack's own to change.
    pub owned: bool,
    pub known: Known<'m>,
    /// What the instance looks like that it is made for.
    pub instance: Option<&'m Schema>,
}

/// The keys and fields of a child: all fields if its kind is known, those at the top if not.
pub(super) fn child(
    sketch: &Sketch<'_>,
    documents: &[Range<usize>],
    made: Option<&Made<'_>>,
    problems: &mut Vec<Problem>,
) {
    for document in documents {
        keys(sketch, document, problems);
        let (Some(made), Ok(spanned)) = (made, yaml::parse_spanned(&sketch.blanked(document)))
        else {
            continue;
        };
        let Made {
            gvk,
            schema,
            owned,
            known,
            instance,
        } = *made;
        let check = Check {
            sketch,
            document,
            schema,
            below: Path::root(),
            what: &gvk.kind,
            owned,
            gvk,
            known,
        };
        check.names(&spanned, problems);
        check.values(&spanned, &spanned.value, problems);
        if let Some(instance) = instance {
            check.unquoted(&spanned, instance, problems);
        }
    }
}

/// The fields of a status; answers whether it may be YAML.
pub(super) fn status(sketch: &Sketch<'_>, kind: &Kind, problems: &mut Vec<Problem>) -> bool {
    let document = 0..sketch.text.len();
    let may_be = sketch.is_yaml(&document, problems).is_some();
    if may_be {
        fields_of_status(sketch, &document, kind, problems);
    }
    may_be
}

fn fields_of_status(
    sketch: &Sketch<'_>,
    document: &Range<usize>,
    kind: &Kind,
    problems: &mut Vec<Problem>,
) {
    keys(sketch, document, problems);
    let Ok(spanned) = yaml::parse_spanned(&sketch.blanked(document)) else {
        return;
    };
    let whole = spanned
        .spans
        .find(&[])
        .map_or(0..0, |found| found.value.start..found.value.end);
    if !spanned.value.is_object() {
        if !spanned.value.is_null() && sketch.is_certain(&whole, true) {
            let what = "the status is no mapping, but a status has fields";
            problems.push(
                Problem::at(sketch.place(whole.start), what).hint("write `field: value` lines"),
            );
        }
        return;
    }
    let Some(schema) = &kind.schema else {
        return;
    };
    if let Lookup::Missing(_) = schema.lookup(&Path::fields(&["status"])) {
        let what = format!(
            "the schema of {} has no status: the API server drops all of this",
            kind.gvk.kind
        );
        let hint = "describe `status` beside `spec` in the CRD";
        problems.push(
            Problem::at(sketch.place(whole.start), what)
                .hint(hint)
                .warning(),
        );
        return;
    }
    let check = Check {
        sketch,
        document,
        schema,
        below: Path::fields(&["status"]),
        what: "status",
        owned: true,
        gvk: &kind.gvk,
        known: &|_| None,
    };
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
    gvk: &'c Gvk,
    known: Known<'c>,
}

impl Check<'_> {
    fn names(&self, spanned: &Spanned, problems: &mut Vec<Problem>) {
        // A merge key is no field of the object.
        let merge = yaml::Step::from("<<");
        for key in spanned
            .spans
            .scalars()
            .into_iter()
            .filter(|scalar| scalar.is_key && !scalar.path.contains(&merge))
        {
            let range = self.document.start + key.span.start..self.document.start + key.span.end;
            if !self.sketch.is_certain(&range, false) {
                continue;
            }
            let path = self.below.join(&path(&key.path));
            let parent: Path = path.steps()[..path.steps().len() - 1]
                .iter()
                .cloned()
                .collect();
            // Fields of what is no object are a wrong type, not a wrong name.
            if !matches!(self.schema.lookup(&parent), Lookup::Known(schema) if schema.kind == Some(Type::Object))
            {
                continue;
            }
            if let Lookup::Missing(missing) = self.schema.lookup(&path) {
                // A status is cut down to its schema before it is sent; anything else is sent as it
                // is.
                let whole = self.below.is_root();
                let does = if whole { "would refuse" } else { "drops" };
                let problem = Problem::at(
                    self.sketch.place(range.start),
                    format!("{missing}: the API server {does} it"),
                );
                let inside = key
                    .path
                    .last()
                    .filter(|_| key.path.len() == 1)
                    .and_then(|name| self.holder(name));
                let problem = match missing.suggestion {
                    _ if inside.is_some() => problem.hint(format!(
                        "it is a field of `{}`: indent it further",
                        inside.unwrap_or_default()
                    )),
                    Some(near) => problem.hint(format!("did you mean `{near}`?")),
                    None if self.elsewhere(&path).is_some() => problem.hint(format!(
                        "`apiVersion: {}` has it",
                        self.elsewhere(&path).unwrap_or_default()
                    )),
                    None if whole && self.sketch.included(range.start).is_some() => {
                        let included = self.sketch.included(range.start);
                        let partial = self.sketch.place(range.start);
                        Problem {
                            what: format!("{} (it is printed by {partial})", problem.what),
                            place: included.or(problem.place),
                            ..problem
                        }
                        .hint("check the number of this `nindent`: what is included stands too far in or out")
                    }
                    None if whole && path.steps().len() < 3 => problem.hint(top_level_fields::HINT),
                    None if self.owned => problem.hint("add the field to the CRD's schema"),
                    None => problem,
                };
                problems.push(if whole { problem } else { problem.warning() });
            }
        }
    }

    /// Whether quotes make something a text that must be none, whatever is between them.
    fn is_quoted(&self, range: &Range<usize>, invalid: &Invalid) -> bool {
        let wanted = ["integer", "number", "boolean"]
            .map(|wanted| format!("must be of type {wanted}: \"string\""));
        wanted.iter().any(|wanted| invalid.what.ends_with(wanted))
            && self.sketch.text[range.clone()].starts_with(['"', '\''])
            && self.sketch.is_in_one_branch(range)
    }

    /// Values of the instance that are printed without quotes where a text is wanted: numbers and
    /// truths are refused, and texts may look like one.
    fn unquoted(&self, spanned: &Spanned, own: &Schema, problems: &mut Vec<Problem>) {
        for scalar in spanned
            .spans
            .scalars()
            .into_iter()
            .filter(|scalar| !scalar.is_key)
        {
            let range =
                self.document.start + scalar.span.start..self.document.start + scalar.span.end;
            let Some(printed) = self.sketch.printed(&range) else {
                continue;
            };
            let (printed, target) = (super::reads::path(&printed.0), path(&scalar.path));
            let type_of = |schema: &Schema| schema.kind.filter(|_| !schema.int_or_string);
            let (Lookup::Known(from), Lookup::Known(to)) =
                (own.lookup(&printed), self.schema.lookup(&target))
            else {
                continue;
            };
            if let (
                Some(from @ (Type::Integer | Type::Number | Type::Boolean)),
                Some(Type::String),
            ) = (type_of(from), type_of(to))
            {
                let what = format!(
                    "the API server would refuse this {}: {target} must be of type string, but `.{printed}` is of type {from}",
                    self.what
                );
                problems.push(Problem::at(self.sketch.place(range.start), what).hint(QUOTE));
            }
            if let (Some(Type::String), Some(Type::String)) = (type_of(from), type_of(to))
                && is_any_text(from)
            {
                let what = format!(
                    "`.{printed}` is any text, and printed without quotes: `null`, `1.10` and `a: b` would not arrive as they are"
                );
                problems.push(
                    Problem::at(self.sketch.place(range.start), what)
                        .hint(QUOTE)
                        .warning(),
                );
            }
        }
    }

    /// Another version of one of Kubernetes' own kinds that has a field.
    fn elsewhere(&self, path: &Path) -> Option<String> {
        let own = |known: &&objects::Builtin| {
            known.group == self.gvk.group
                && known.kind == self.gvk.kind
                && known.version != self.gvk.version
        };
        let mut others = objects::builtins()
            .iter()
            .filter(own)
            .map(objects::Builtin::gvk);
        let has = |gvk: &Gvk| {
            (self.known)(gvk).is_some_and(|schema| matches!(schema.lookup(path), Lookup::Known(_)))
        };
        others
            .find(|gvk| !self.owned && has(gvk))
            .map(|gvk| gvk.api_version().to_string())
    }

    /// The field at the top that has a field of this name.
    fn holder(&self, name: &yaml::Step) -> Option<&str> {
        let yaml::Step::Key(name) = name else {
            return None;
        };
        let mut fields = self
            .schema
            .properties
            .iter()
            .filter(|_| self.below.is_root());
        fields
            .find(|(_, schema)| schema.properties.contains_key(&**name))
            .map(|(holder, _)| holder.as_str())
    }

    fn values(&self, spanned: &Spanned, value: &Value, problems: &mut Vec<Problem>) {
        // As the API server sees it, which takes null for nothing.
        let mut filled = value.clone();
        self.schema.fill(&mut filled);
        for invalid in self.schema.validate(&filled) {
            let Some(inner) = invalid.path.steps().strip_prefix(self.below.steps()) else {
                continue;
            };
            // What is required may come from a part that is not known yet.
            let Some(found) = spanned
                .spans
                .find(&steps(inner))
                .filter(|_| !invalid.what.starts_with("Required"))
            else {
                continue;
            };
            // Where nothing seems to stand there may be lines of any shape.
            let range =
                self.document.start + found.value.start..self.document.start + found.value.end;
            if range.is_empty() {
                continue;
            }
            let what = format!("the API server would refuse this {}: {invalid}", self.what);
            let problem = Problem::at(self.sketch.place(range.start), what);
            if self
                .sketch
                .is_certain(&range, !is_scalar(value, &invalid.path))
            {
                problems.push(match Quotes::of(&invalid, value) {
                    Some(quotes) => problem.hint(quotes.hint()),
                    None => format_hint(&invalid)
                        .into_iter()
                        .fold(problem, Problem::hint),
                });
            } else if self.is_quoted(&range, &invalid) {
                problems.push(problem.hint(NO_QUOTE));
            }
        }
    }
}

/// What to do about a number or a truth where a text is wanted, and the other way round, in a
/// template.
pub(crate) const QUOTE: &str = "add `| quote` to the action, or quotes around it";
pub(crate) const NO_QUOTE: &str = "leave `| quote`, or the quotes around it, out";
/// What to do about a value of a Secret that is not in base64.
const BYTES: &str = "values below `data` are in base64: add `| b64enc | quote`, or put it below `stringData` with `| quote`";

/// What to do about a quantity that is none.
const QUANTITY: &str = "write a number, with a unit if need be: `500m`, `2`, `1.5Gi`";

/// What to do about a value of the right type that cannot be read.
pub(crate) fn format_hint(invalid: &Invalid) -> Option<&'static str> {
    let says = |words: &str| invalid.what.contains(words);
    if says("must be of type byte") || says("illegal base64 data") {
        Some(BYTES)
    } else if says("quantities must match")
        || says("parse quantity's suffix")
        || says("part of quantity")
    {
        Some(QUANTITY)
    } else {
        None
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
    path.steps()
        .iter()
        .try_fold(value, |value, step| match step {
            objects::Step::Field(name) => value.get(&**name),
            objects::Step::Index(index) => value.get(index),
            objects::Step::Each => None,
        })
}

/// Whether a schema of a text says nothing of what may be in it.
fn is_any_text(schema: &Schema) -> bool {
    schema.pattern.is_none() && schema.one_of_values.is_none() && schema.rules.is_empty()
}

fn is_scalar(value: &Value, path: &Path) -> bool {
    at(value, path).is_some_and(|value| !value.is_object() && !value.is_array())
}

/// A path into a text as a path into the object that is read from it.
pub fn path(steps: &[yaml::Step]) -> Path {
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
