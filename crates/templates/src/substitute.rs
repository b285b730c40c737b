//! Puts values in place of references, on the tree. A text stays a text, unless all of its
//! references ask for more.

use std::collections::{BTreeMap, BTreeSet};

use objects::Path;
use serde_json::{Map, Value};

use crate::dialect::Dialect;
use crate::environment;
use crate::pods::Shape;
use crate::problem::Problem;
use crate::reference::{Form, Reference, references};
use crate::trail::{DEEPEST, Trail};

/// A run over the objects of one template.
pub(crate) struct Substitution<'s> {
    pub dialect: Dialect,
    pub values: BTreeMap<&'s str, &'s str>,
    /// The parameters whose values are whole numbers.
    pub numbers: BTreeSet<&'s str>,
    /// How many bytes may still be put in place of references.
    pub budget: usize,
    /// What the kind of the present object has of pods.
    pub shape: Option<Shape>,
    pub problems: Vec<Problem>,
}

/// What becomes of a text.
enum Outcome {
    Text(String),
    /// All references asked for more than text.
    Typed(String),
}

impl Substitution<'_> {
    pub fn value(&mut self, value: &mut Value, trail: &Trail<'_>) {
        if trail.depth > DEEPEST {
            self.problems.push(Problem::at(
                Path::fields(&["objects"]),
                "the objects are nested too deeply",
            ));
            return;
        }
        match value {
            Value::String(text) => {
                if memchr::memchr(b'$', text.as_bytes()).is_some() {
                    let kubelet = |trail: &Trail<'_>, shape: Option<&Shape>| {
                        environment::is_expanded(shape, trail)
                    };
                    let outcome = self.outcome(text, trail, false, kubelet);
                    match outcome {
                        Some(Outcome::Text(text)) => *value = Value::String(text),
                        Some(Outcome::Typed(replaced)) => {
                            let typed = self.typed(replaced);
                            let doubt = self.no_number(text, &typed, trail);
                            self.problems.extend(doubt);
                            *value = typed;
                        }
                        None => {}
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(item, &trail.index(index));
                }
            }
            Value::Object(fields) => {
                if fields
                    .keys()
                    .any(|key| memchr::memchr(b'$', key.as_bytes()).is_some())
                {
                    self.keys(fields, trail);
                }
                for (key, field) in fields.iter_mut() {
                    self.value(field, &trail.key(key));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// A text outside of the objects, which is text whatever its references ask for.
    pub fn text(&mut self, text: &str, trail: &Trail<'_>, is_key: bool) -> Option<String> {
        match self.outcome(text, trail, is_key, |_, _| false)? {
            Outcome::Text(text) | Outcome::Typed(text) => Some(text),
        }
    }

    /// Replaces references in keys; two keys that become one are a mistake.
    pub fn keys(&mut self, fields: &mut Map<String, Value>, trail: &Trail<'_>) {
        let mut sources: BTreeMap<String, String> = BTreeMap::new();
        for (key, field) in std::mem::take(fields) {
            let replaced = self
                .text(&key, &trail.key(&key), true)
                .unwrap_or_else(|| key.clone());
            if let Some(other) = sources.insert(replaced.clone(), key.clone()) {
                let what = format!("the keys `{other}` and `{key}` both become `{replaced}`");
                let problem = Problem::at(trail.key(&key).path(), what).key();
                self.problems
                    .push(problem.hint("give other values, or write other keys"));
            }
            fields.insert(replaced, field);
        }
    }

    fn outcome(
        &mut self,
        text: &str,
        trail: &Trail<'_>,
        is_key: bool,
        kubelet: impl Fn(&Trail<'_>, Option<&Shape>) -> bool,
    ) -> Option<Outcome> {
        let mut replaced: Option<String> = None;
        let mut copied = 0;
        let mut quoted = false;
        for found in references(self.dialect, text) {
            let Some(value) = self.values.get(found.name) else {
                continue;
            };
            if self.dialect == Dialect::Braces
                && found.form == Form::Typed
                && found.range != (0..text.len())
            {
                continue;
            }
            let replaced =
                replaced.get_or_insert_with(|| String::with_capacity(text.len() + value.len()));
            quoted |= found.form == Form::Text || found.escaped;
            if found.escaped {
                // The kubelet takes one of the two away itself, and nobody else does.
                let keep = usize::from(kubelet(trail, self.shape.as_ref()));
                replaced.push_str(&text[copied..found.range.start - 1 + keep]);
                replaced.push_str(&text[found.range.clone()]);
            } else {
                replaced.push_str(&text[copied..found.range.start]);
                replaced.push_str(value);
            }
            copied = found.range.end;
            if replaced.len() > self.budget {
                let problem = Problem::at(
                    trail.path(),
                    "the values take too much room, here at the latest",
                )
                .of(found.name);
                self.problems.push(Problem {
                    at_key: is_key,
                    ..problem
                });
                // Nothing of it is used, and one word is enough.
                self.values.clear();
                return None;
            }
        }
        let mut replaced = replaced?;
        replaced.push_str(&text[copied..]);
        self.budget = self.budget.saturating_sub(replaced.len());
        Some(if quoted {
            Outcome::Text(replaced)
        } else {
            Outcome::Typed(replaced)
        })
    }

    /// What is wrong if a text that is nothing but a reference to a whole number has become another
    /// text. Nothing at all stays nothing: an optional parameter need not have a value.
    fn no_number(&self, written: &str, became: &Value, trail: &Trail<'_>) -> Option<Problem> {
        let Value::String(text) = became else {
            return None;
        };
        let whole = |found: &Reference<'_>| found.range == (0..written.len());
        let name = references(self.dialect, written).next().filter(whole)?.name;
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !is_integer(digits) || !self.numbers.contains(name) {
            return None;
        }
        let why = if digits.starts_with('0') {
            "begins with a zero"
        } else {
            "is beyond the numbers of 64 bits"
        };
        let what = format!("the parameter {name} is to be a number here, and its value {why}");
        let quoted = match self.dialect {
            Dialect::Parentheses => format!("$({name})"),
            Dialect::Braces => format!("${{{name}}}"),
        };
        let problem = Problem::at(trail.path(), what)
            .of(name)
            .hint(format!("write `{quoted}` where text is meant"));
        // OpenShift knows no types, and what runs there should run here.
        Some(if self.dialect == Dialect::Braces {
            problem.warning()
        } else {
            problem
        })
    }

    /// What a text means where it need not be one: JSON, or the text.
    fn typed(&self, text: String) -> Value {
        match serde_json::from_str(&text) {
            // Digits that no number here can hold would come back as others.
            Ok(Value::Number(number))
                if is_integer(text.trim()) && !(number.is_i64() || number.is_u64()) =>
            {
                if text.trim() == "-0" {
                    Value::from(0)
                } else {
                    Value::String(text)
                }
            }
            Ok(Value::Array(_) | Value::Object(_)) if self.dialect == Dialect::Parentheses => {
                Value::String(text)
            }
            Ok(value) => value,
            Err(_) => Value::String(text),
        }
    }
}

fn is_integer(text: &str) -> bool {
    text.strip_prefix('-')
        .unwrap_or(text)
        .bytes()
        .all(|byte| byte.is_ascii_digit())
}
