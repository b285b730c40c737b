//! What rules may cost: when a CRD is read, by the sizes that its schema allows, as in the API
//! server; and before they are evaluated, by the sizes of the object that is written.

use std::rc::Rc;

use kube_cel::CompiledSchema;
use kube_cel::cel::IdedExpr;
use serde_json::Value;

use super::BrokenRule;
use super::cost::{Prices, cost};
use super::size::{Size, most_in_a_request};
use crate::path::Path;
use crate::schema::Schema;

/// The most that one expression may cost, as the API server has it (`StaticEstimatedCostLimit`).
const EXPRESSION: u64 = 10_000_000;
/// The most that all expressions of a schema may cost together (`StaticEstimatedCRDCostLimit`).
const SCHEMA: u64 = 100_000_000;
/// The most that the rules of one object may cost when they are evaluated here, in steps of our
/// evaluator: about a second.
const OBJECT: u64 = 20_000_000;
/// What is evaluated within milliseconds.
pub(super) const SHORT: u64 = 100_000;

/// How often the place of a schema can occur in an object.
pub(super) struct Occurs(Option<u64>);

impl Occurs {
    pub(super) fn once() -> Self {
        Self(Some(1))
    }

    /// Inside a list or map with that limit.
    pub(super) fn each(&self, most: Option<u64>) -> Self {
        Self(
            self.0
                .zip(most)
                .map(|(times, most)| times.saturating_mul(most)),
        )
    }

    /// Where a list or map around it has no limit, as often as it fits into a request.
    pub(super) fn times(&self, schema: &Schema) -> u64 {
        self.0.unwrap_or_else(|| most_in_a_request(schema))
    }
}

/// What the expressions of a schema cost.
#[derive(Default)]
pub(super) struct Costs(u64);

impl Costs {
    /// Counts an expression, and answers what is wrong if it costs too much.
    pub(super) fn spend(
        &mut self,
        expression: &IdedExpr,
        size: &Rc<Size>,
        times: u64,
        field: &str,
    ) -> Option<String> {
        let variables = vec![("self", size.clone()), ("oldSelf", size.clone())];
        let all = cost(expression, variables, Prices::Kubernetes).saturating_mul(times);
        self.0 = self.0.saturating_add(all);
        (all > EXPRESSION).then(|| exceeds(&format!("estimated {field} cost"), all, EXPRESSION))
    }

    /// What is wrong if all together cost too much.
    pub(super) fn over(&self) -> Option<String> {
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        (self.0 > SCHEMA).then(|| exceeds(what, self.0, SCHEMA))
    }
}

/// In the words of the API server.
#[allow(clippy::cast_precision_loss, reason = "it is shown with one digit")]
fn exceeds(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = match factor {
        factor if factor > 100.0 => "more than 100x".to_owned(),
        factor if factor < 1.5 => format!("{factor:.6}x"),
        factor => format!("{factor:.1}x"),
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}

/// What it costs at most to evaluate the rules of a schema for an object, or that it is too much.
pub(super) fn spent(
    rules: &CompiledSchema,
    object: &Value,
    old: Option<&Value>,
) -> Result<u64, BrokenRule> {
    let mut walk = Walk {
        path: Path::root(),
        spent: 0,
    };
    walk.node(rules, object, old, &Known::default())?;
    Ok(walk.spent)
}

struct Walk {
    path: Path,
    spent: u64,
}

impl Walk {
    fn charge(&mut self, cost: u64, rule: &str) -> Result<(), BrokenRule> {
        self.spent = self.spent.saturating_add(cost);
        if self.spent <= OBJECT {
            return Ok(());
        }
        let shown: String = rule.chars().take(200).collect();
        let why = match shown.as_str() {
            "" => {
                "evaluating the validation rules of this object exceeds the cost limit".to_owned()
            }
            rule => format!("validation rule `{rule}` exceeds the cost limit"),
        };
        Err(BrokenRule {
            field: self.path.to_string(),
            reason: "FieldValueInvalid".to_owned(),
            what: format!("Invalid value: {why}; no validation rule was evaluated"),
            certain: false,
        })
    }

    /// The same steps as those of the evaluator.
    fn node(
        &mut self,
        rules: &CompiledSchema,
        value: &Value,
        old: Option<&Value>,
        known: &Known,
    ) -> Result<(), BrokenRule> {
        // Each value is converted where a schema describes it, and again wherever one around it is
        // described.
        let own = known
            .value
            .as_ref()
            .map_or_else(|| weight(value), |size| size.weight);
        let before = known
            .old
            .as_ref()
            .map_or_else(|| old.map_or(0, weight), |size| size.weight);
        self.charge(2 * (own + before), "")?;
        let mut known = known.clone();
        if !rules.validations.is_empty() {
            let size = known
                .value
                .get_or_insert_with(|| Rc::new(Size::of(value)))
                .clone();
            let before = known
                .old
                .get_or_insert_with(|| Rc::new(old.map_or_else(Size::scalar, Size::of)))
                .clone();
            for result in rules.validations.iter().flatten() {
                let text = &result.rule.rule;
                // Each object that breaks a rule gets a copy of it, and of what it says.
                let told = result.rule.message.as_deref().unwrap_or_default().len() + text.len();
                let mut all = 2 + told as u64 / 32;
                for program in std::iter::once(&result.program).chain(&result.message_program) {
                    let variables = vec![("self", size.clone()), ("oldSelf", before.clone())];
                    all = all.saturating_add(cost(
                        program.expression(),
                        variables,
                        Prices::Evaluator,
                    ));
                }
                self.charge(all, text)?;
            }
        }
        if let Value::Object(fields) = value {
            for (name, value) in fields {
                let additional = rules
                    .additional_properties
                    .as_deref()
                    .filter(|_| !rules.preserve_unknown_fields);
                if let Some(inner) = rules.properties.get(name).or(additional) {
                    self.path.push(name.as_str());
                    self.node(
                        inner,
                        value,
                        old.and_then(|old| old.get(name)),
                        &known.field(name),
                    )?;
                    self.path.pop();
                }
            }
        }
        if let (Value::Array(items), Some(inner)) = (value, &rules.items) {
            for (index, item) in items.iter().enumerate() {
                self.path.push(index);
                // Of the items only the largest is known, which most of them are not.
                self.node(
                    inner,
                    item,
                    old.and_then(|old| old.get(index)),
                    &Known::default(),
                )?;
                self.path.pop();
            }
        }
        for inner in rules
            .all_of
            .iter()
            .chain(&rules.one_of)
            .chain(&rules.any_of)
        {
            self.node(inner, value, old, &known)?;
        }
        Ok(())
    }
}

/// The sizes of a value and of what it was, if they were found out for what is around it: to do it
/// again at each level would cost the square of the depth.
#[derive(Clone, Default)]
struct Known {
    value: Option<Rc<Size>>,
    old: Option<Rc<Size>>,
}

impl Known {
    fn field(&self, name: &str) -> Self {
        let of = |size: &Option<Rc<Size>>| {
            size.as_ref()
                .and_then(|size| size.fields.get(name).cloned())
        };
        Self {
            value: of(&self.value),
            old: of(&self.old),
        }
    }
}

/// About how many steps it takes to convert a value.
fn weight(value: &Value) -> u64 {
    match value {
        Value::String(text) => 1 + text.len() as u64 / 32,
        Value::Array(items) => 1 + items.iter().map(weight).sum::<u64>(),
        Value::Object(fields) => {
            1 + fields
                .iter()
                .map(|(name, value)| 1 + name.len() as u64 / 32 + weight(value))
                .sum::<u64>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}
