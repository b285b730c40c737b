//! What a rule costs at most, by its text and the sizes of what it works on; nothing is evaluated.
//!
//! The evaluator has no limits of its own, and a rule of a few hundred bytes can take more steps
//! than there is time, or make a text that no memory holds. Loops therefore cost what is in them
//! times what they go over, and functions what they make of their arguments.

use std::rc::Rc;

use kube_cel::cel::common::ast::{
    ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators,
};

use super::size::Size;
use crate::schema::pattern;

/// What is charged for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prices {
    /// What the API server charges for when it reads a CRD, or less: a CRD that it takes has to
    /// pass.
    Kubernetes,
    /// What our evaluator really does: it copies fields and items, and compiles regular expressions
    /// at each use.
    Evaluator,
}

/// Functions that answer about as much as they are called with.
const KEEPING: [&str; 11] = [
    "dyn",
    "lowerAscii",
    "or",
    "orValue",
    "reverse",
    "slice",
    "string",
    "substring",
    "trim",
    "upperAscii",
    "value",
];

/// What an expression costs at most with these variables.
pub(super) fn cost(expression: &IdedExpr, variables: Vec<(&str, Rc<Size>)>, prices: Prices) -> u64 {
    let mut estimate = Estimate {
        prices,
        bound: variables,
        merged: 0,
    };
    let (cost, _) = estimate.of(expression);
    cost.saturating_add(estimate.merged)
}

struct Estimate<'e> {
    prices: Prices,
    bound: Vec<(&'e str, Rc<Size>)>,
    /// The work of this estimate itself, beyond one step for each part of the expression.
    merged: u64,
}

impl<'e> Estimate<'e> {
    fn is_ours(&self) -> bool {
        self.prices == Prices::Evaluator
    }

    /// One price for what the API server charges for, another for what is really done.
    fn price(&self, kubernetes: u64, evaluator: u64) -> u64 {
        if self.is_ours() {
            evaluator
        } else {
            kubernetes
        }
    }

    fn or(&mut self, one: &Rc<Size>, other: &Rc<Size>) -> Rc<Size> {
        let plain = |size: &Size| size.each.is_none() && size.fields.is_empty();
        if !plain(one) && !plain(other) && self.is_ours() {
            self.merged = self
                .merged
                .saturating_add(one.weight.saturating_add(other.weight));
        }
        Rc::new(one.or(other))
    }

    fn of(&mut self, expression: &'e IdedExpr) -> (u64, Rc<Size>) {
        let scalar = || Rc::new(Size::scalar());
        match &expression.expr {
            Expr::Literal(literal) => (self.price(0, 1), Rc::new(of_literal(literal))),
            Expr::Ident(name) => {
                let bound = self
                    .bound
                    .iter()
                    .rev()
                    .find(|(bound, _)| *bound == name.as_str());
                (1, bound.map_or_else(scalar, |(_, size)| size.clone()))
            }
            Expr::Select(select) => {
                let (cost, size) = self.of(&select.operand);
                if select.test {
                    return (cost.saturating_add(self.price(0, 1)), scalar());
                }
                let field = self.field(&size, &select.field);
                (
                    cost.saturating_add(1)
                        .saturating_add(self.price(0, field.weight)),
                    field,
                )
            }
            Expr::Call(call) => {
                // Operators that only choose are free on the API server.
                let free = [
                    operators::LOGICAL_AND,
                    operators::LOGICAL_OR,
                    operators::CONDITIONAL,
                ];
                let mut cost = self.price(u64::from(!free.contains(&&*call.func_name)), 1);
                let mut sizes = Vec::with_capacity(call.args.len());
                let target = call.target.as_ref().map(|target| {
                    let (own, size) = self.of(target);
                    cost = cost.saturating_add(own);
                    size
                });
                let mut costs = Vec::with_capacity(call.args.len());
                for argument in &call.args {
                    let (own, size) = self.of(argument);
                    costs.push(own);
                    sizes.push(size);
                }
                let arguments = match costs.as_slice() {
                    // One of the two is evaluated.
                    [question, yes, no] if call.func_name == operators::CONDITIONAL => {
                        question.saturating_add(*yes.max(no))
                    }
                    costs => costs
                        .iter()
                        .fold(0, |sum: u64, cost| sum.saturating_add(*cost)),
                };
                let name = match call.target.as_ref().map(|target| &target.expr) {
                    Some(Expr::Ident(prefix)) if prefix == "lists" || prefix == "sets" => {
                        format!("{prefix}.{}", call.func_name)
                    }
                    _ => call.func_name.clone(),
                };
                let (own, size) = self.call(&name, target.as_ref(), &sizes);
                (cost.saturating_add(arguments).saturating_add(own), size)
            }
            Expr::Comprehension(each) => self.comprehension(each),
            Expr::List(list) => {
                let (mut cost, mut all) = (1_u64, Rc::new(Size::default()));
                for element in &list.elements {
                    let (own, size) = self.of(element);
                    cost = cost
                        .saturating_add(own)
                        .saturating_add(self.price(0, size.weight));
                    all = self.or(&all, &size);
                }
                (cost, Rc::new(Size::list(list.elements.len() as u64, all)))
            }
            Expr::Map(map) => {
                let (mut cost, mut all) = (1_u64, Rc::new(Size::default()));
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else {
                        continue;
                    };
                    for part in [&entry.key, &entry.value] {
                        let (own, size) = self.of(part);
                        cost = cost
                            .saturating_add(own)
                            .saturating_add(self.price(0, size.weight));
                        all = self.or(&all, &size);
                    }
                }
                (cost, Rc::new(Size::list(map.entries.len() as u64, all)))
            }
            Expr::Struct(_) | Expr::Unspecified => (1, scalar()),
        }
    }

    fn field(&mut self, size: &Rc<Size>, name: &str) -> Rc<Size> {
        match size.field(name) {
            Some(field) => field.clone(),
            None if size.each.is_some() || (self.is_ours() && name.contains("__")) => {
                self.inner(size)
            }
            None => Rc::new(Size::scalar()),
        }
    }

    fn inner(&mut self, size: &Rc<Size>) -> Rc<Size> {
        if !size.fields.is_empty() && self.is_ours() {
            self.merged = self.merged.saturating_add(size.weight);
        }
        size.inner()
    }

    /// What is in a loop costs as often as there are items.
    fn comprehension(&mut self, each: &'e ComprehensionExpr) -> (u64, Rc<Size>) {
        let (range_cost, range) = self.of(&each.iter_range);
        let (init_cost, init) = self.of(&each.accu_init);
        // The items of a list go by, or the keys of a map.
        let inner = self.inner(&range);
        let item = range
            .key
            .map_or_else(|| inner.clone(), |longest| Rc::new(Size::text(longest)));
        let depth = self.bound.len();
        self.bound.push((&each.accu_var, init.clone()));
        self.bound.push((&each.iter_var, item.clone()));
        if let Some(second) = &each.iter_var2 {
            self.bound.push((second, inner));
        }
        let (condition, _) = self.of(&each.loop_cond);
        let (step, after) = self.of(&each.loop_step);
        // Macros only ever add to a list, so that each round adds what the first does.
        let grown = |first: u64, then: u64| {
            first.saturating_add(then.saturating_sub(first).saturating_mul(range.len))
        };
        let last = Rc::new(Size {
            len: grown(init.len, after.len),
            weight: grown(init.weight, after.weight),
            each: after.each.clone(),
            ..Size::default()
        });
        self.bound.truncate(depth);
        self.bound.push((&each.accu_var, last.clone()));
        let (result, size) = self.of(&each.result);
        self.bound.truncate(depth);
        // The list so far is copied in each round.
        let copied = self.price(0, last.weight.saturating_add(2 * item.weight.min(1 << 40)));
        let round = condition.saturating_add(step).saturating_add(copied);
        let rounds = range.len.saturating_mul(round);
        (
            range_cost
                .saturating_add(init_cost)
                .saturating_add(rounds)
                .saturating_add(result),
            size,
        )
    }

    /// What a function costs beyond its arguments, and what it makes of them.
    fn call(
        &mut self,
        name: &str,
        target: Option<&Rc<Size>>,
        arguments: &[Rc<Size>],
    ) -> (u64, Rc<Size>) {
        let nothing = Rc::new(Size::scalar());
        let argument = |index: usize| arguments.get(index).unwrap_or(&nothing);
        // What is worked on: a function may be called with it before the dot or in brackets.
        let (first, second) = match target {
            Some(target) => (target, argument(0)),
            None => (argument(0), argument(1)),
        };
        let all = target
            .into_iter()
            .chain(arguments)
            .fold(0_u64, |sum, size| sum.saturating_add(size.weight));
        // Arguments are copied when functions are called, and so is what they answer.
        let copied = |size: &Size| all.saturating_add(size.weight).saturating_mul(2);
        let made = |size: Size| Rc::new(size);
        let numbers = |act: fn(u64, u64) -> u64| match (first.number, second.number) {
            (Some(one), Some(two)) => Some(act(one, two)),
            _ => None,
        };
        let (kubernetes, evaluator, size) = match name {
            operators::CONDITIONAL => {
                let size = self.or(second, argument(2));
                (0, 0, size)
            }
            operators::INDEX | operators::OPT_INDEX | operators::OPT_SELECT => {
                let known = second
                    .text
                    .clone()
                    .and_then(|name| first.field(&name).cloned());
                let size = known.unwrap_or_else(|| self.inner(first));
                (
                    0,
                    if name == operators::INDEX {
                        0
                    } else {
                        size.weight
                    },
                    size,
                )
            }
            operators::EQUALS | operators::NOT_EQUALS => (
                tenth(first.len.min(second.len)),
                first.weight.min(second.weight),
                nothing.clone(),
            ),
            operators::IN => (second.len, second.weight, nothing.clone()),
            operators::ADD => {
                let mut sum = Size {
                    len: first.len.saturating_add(second.len),
                    weight: first.weight.saturating_add(second.weight),
                    each: match (&first.each, &second.each) {
                        (Some(one), Some(two)) => Some(self.or(one, two)),
                        (one, two) => one.clone().or_else(|| two.clone()),
                    },
                    ..Size::default()
                };
                sum.number = numbers(u64::saturating_add);
                let text = if sum.each.is_none() {
                    tenth(sum.len)
                } else {
                    0
                };
                (text, sum.weight.saturating_mul(2), made(sum))
            }
            operators::SUBSTRACT => (
                0,
                0,
                made(Size {
                    number: numbers(u64::saturating_add),
                    ..Size::scalar()
                }),
            ),
            operators::MULTIPLY => (
                0,
                0,
                made(Size {
                    number: numbers(u64::saturating_mul),
                    ..Size::scalar()
                }),
            ),
            operators::DIVIDE | operators::MODULO | operators::NEGATE => (
                0,
                0,
                made(Size {
                    number: first.number,
                    ..Size::scalar()
                }),
            ),
            operators::LESS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::GREATER_EQUALS => (
                tenth(first.len.min(second.len)),
                first.weight.min(second.weight),
                nothing.clone(),
            ),
            operators::LOGICAL_AND
            | operators::LOGICAL_OR
            | operators::LOGICAL_NOT
            | operators::NOT_STRICTLY_FALSE => (0, 0, nothing.clone()),
            "size" => (0, copied(&nothing), made(Size::number(first.len))),
            "matches" | "find" | "findAll" => {
                let search = match self.prices {
                    Prices::Kubernetes => 0,
                    Prices::Evaluator => pattern::search_cost(second.text.as_deref(), first.len),
                };
                let own = (first.len / 10).saturating_mul((second.len / 4).max(1));
                let size = match name {
                    "matches" => nothing.clone(),
                    "find" => made(Size::text(first.len)),
                    _ => made(Size::list(
                        first.len.saturating_add(1),
                        made(self.part(first)),
                    )),
                };
                (own, copied(&size).saturating_add(search), size)
            }
            "contains" | "startsWith" | "endsWith" | "indexOf" | "lastIndexOf" => {
                let compared = first.weight.saturating_mul(1 + second.len / 32);
                let own = if name == "contains" {
                    (first.len / 10).saturating_mul(second.len / 10)
                } else {
                    0
                };
                (
                    own,
                    copied(&nothing).saturating_add(compared),
                    nothing.clone(),
                )
            }
            "replace" => {
                let with = argument(
                    arguments
                        .len()
                        .min(if target.is_some() { 2 } else { 3 })
                        .saturating_sub(1),
                );
                let len = first
                    .len
                    .saturating_add(1)
                    .saturating_mul(with.len.saturating_add(1));
                let size = Size::text(len);
                (tenth(first.len), copied(&size), made(size))
            }
            "split" => {
                let size = Size::list(first.len.saturating_add(1), made(self.part(first)));
                (tenth(first.len), copied(&size), made(size))
            }
            "join" => {
                let part = first.inner().len.saturating_add(second.len);
                let size = Size::text(first.len.saturating_mul(part));
                (0, copied(&size), made(size))
            }
            "format" => {
                let wide = first.text.as_deref().map_or(1 << 40, widest);
                let weight = second
                    .weight
                    .saturating_mul(64)
                    .saturating_add(wide.saturating_mul(second.len.max(1)));
                let size = Size::text(first.len.saturating_add(weight));
                let price = self.price(0, copied(&size));
                let size = if self.is_ours() {
                    size
                } else {
                    Size::text(first.len)
                };
                (0, price, made(size))
            }
            "lists.range" => {
                let len = arguments
                    .first()
                    .and_then(|size| size.number)
                    .unwrap_or(1 << 40);
                let size = Size::list(len, made(Size::number(len)));
                (0, copied(&size), made(size))
            }
            "distinct" => (
                0,
                copied(first).saturating_add(first.len.saturating_mul(first.weight)),
                first.clone(),
            ),
            "sets.contains" | "sets.equivalent" | "sets.intersects" => {
                let (one, two) = (argument(0), argument(1));
                let compared = one
                    .len
                    .saturating_mul(two.weight)
                    .saturating_add(two.len.saturating_mul(one.weight));
                (
                    one.len.saturating_mul(two.len),
                    copied(&nothing).saturating_add(compared),
                    nothing.clone(),
                )
            }
            "sort" | "isSorted" => (0, copied(first).saturating_mul(20), first.clone()),
            "flatten" => {
                let inner = first.inner();
                let len = first.len.saturating_mul(inner.len.max(1));
                let size = Size {
                    len,
                    weight: first.weight,
                    each: Some(inner.inner()),
                    ..Size::default()
                };
                (0, copied(&size), made(size))
            }
            "min" | "max" | "first" | "last" if first.each.is_some() => {
                let size = self.inner(first);
                (0, copied(&size), size)
            }
            _ if !self.is_ours() => (
                0,
                0,
                if KEEPING.contains(&name) {
                    first.clone()
                } else {
                    nothing.clone()
                },
            ),
            // What is not known may make twice of all that it is given.
            _ => {
                let mut size = Size::default();
                let mut len = 0_u64;
                for own in target.into_iter().chain(arguments) {
                    size = size.or(own);
                    len = len.saturating_add(own.len);
                }
                self.merged = self.merged.saturating_add(all);
                let size = Size {
                    len: len.saturating_mul(2),
                    weight: all.saturating_mul(2),
                    number: None,
                    ..size
                };
                (0, copied(&size), made(size))
            }
        };
        (self.price(kubernetes, evaluator), size)
    }

    /// A part of a text. The API server knows no size of it.
    fn part(&self, whole: &Size) -> Size {
        if self.is_ours() {
            Size {
                weight: 2,
                ..Size::text(whole.len)
            }
        } else {
            Size::text(0)
        }
    }
}

/// What the API server charges for going through a text, beyond the step of the call itself.
fn tenth(len: u64) -> u64 {
    (len / 10).saturating_sub(1)
}

fn of_literal(literal: &LiteralValue) -> Size {
    match literal {
        LiteralValue::String(text) => {
            let text = text.inner();
            Size {
                text: Some(text.into()),
                ..Size::text(text.len() as u64)
            }
        }
        LiteralValue::Bytes(bytes) => Size::text(bytes.inner().len() as u64),
        LiteralValue::Int(number) => Size::number(number.inner().unsigned_abs()),
        LiteralValue::UInt(number) => Size::number(*number.inner()),
        _ => Size::scalar(),
    }
}

/// The most digits that a format such as `%.3f` asks for.
fn widest(format: &str) -> u64 {
    let digits = |part: &str| {
        part.chars()
            .take_while(char::is_ascii_digit)
            .collect::<String>()
    };
    let numbers = format
        .split("%.")
        .skip(1)
        .map(digits)
        .filter(|digits| !digits.is_empty());
    numbers
        .map(|digits| digits.parse().unwrap_or(u64::MAX))
        .max()
        .unwrap_or(0)
}
