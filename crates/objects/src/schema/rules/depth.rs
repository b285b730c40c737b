//! How deep a rule is nested, so that none is parsed that would need more stack than there is.

use serde_json::Value;

/// The deepest that is parsed; rules that people write have less than half of it.
const DEEPEST: usize = 64;

/// The longest rule in bytes; the API server's parser takes 100,000 characters. Ours cannot say
/// what is wrong so far to the right in a line.
pub(super) const LONGEST: usize = 60_000;
/// The most bytes of rules in a schema: parsing is the slowest part of reading one.
pub(super) const ALL: usize = 256 << 10;

/// What parsing needs for that, with much to spare: a level takes up to 150 KiB where nothing is
/// optimized.
const STACK: usize = 32 << 20;
/// What evaluating needs.
const ENOUGH: usize = 1 << 20;

/// Parses, however little stack the caller has left.
pub(super) fn on_a_large_stack<T>(parse: impl FnOnce() -> T) -> T {
    stacker::grow(STACK, parse)
}

/// Evaluates, however little stack the caller has left.
pub(super) fn on_enough_stack<T>(evaluate: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(ENOUGH, STACK, evaluate)
}

/// What is open inside one pair of brackets.
#[derive(Default)]
struct Level {
    /// Fields and calls of the value that is read.
    members: usize,
    /// Operators of the term, and those before a value.
    operators: usize,
    /// Alternatives, each inside the one before.
    choices: usize,
}

/// Whether a rule may be parsed. Texts in it are counted as if they were none, which only makes it
/// deeper.
pub(super) fn is_parsable(text: &str) -> bool {
    if text.len() > LONGEST {
        return false;
    }
    let mut levels = vec![Level::default()];
    for byte in text.bytes() {
        let nested = levels.len() > 1;
        let Some(level) = levels.last_mut() else {
            break;
        };
        match byte {
            b'(' | b'[' | b'{' => {
                level.members += usize::from(byte != b'{');
                levels.push(Level::default());
            }
            b')' | b']' | b'}' if nested => drop(levels.pop()),
            b'.' => level.members += 1,
            b'+' | b'-' | b'*' | b'/' | b'%' | b'!' => {
                *level = Level {
                    members: 0,
                    operators: level.operators + 1,
                    ..*level
                }
            }
            b'?' => level.choices += 1,
            b'&' | b'|' | b'=' | b'<' | b'>' => {
                *level = Level {
                    choices: level.choices,
                    ..Level::default()
                }
            }
            b',' => *level = Level::default(),
            _ => {}
        }
        let depth = |level: &Level| 1 + level.members + level.operators + level.choices;
        if levels.iter().map(depth).sum::<usize>() > DEEPEST {
            return false;
        }
    }
    true
}

/// A schema without the rules that may not be parsed.
pub(super) fn parsable(schema: &Value) -> Value {
    without(schema, &mut 0)
}

fn without(schema: &Value, read: &mut usize) -> Value {
    match schema {
        Value::Object(fields) => {
            let keep = |(name, value): (&String, &Value)| match value {
                Value::Array(rules) if name == "x-kubernetes-validations" => {
                    let rules = rules
                        .iter()
                        .filter(|rule| is_rule_parsable(rule, read))
                        .cloned();
                    (name.clone(), rules.collect())
                }
                value => (name.clone(), without(value, read)),
            };
            Value::Object(fields.iter().map(keep).collect())
        }
        Value::Array(items) => items.iter().map(|item| without(item, read)).collect(),
        other => other.clone(),
    }
}

fn is_rule_parsable(rule: &Value, read: &mut usize) -> bool {
    let mut texts = ["rule", "messageExpression"]
        .iter()
        .filter_map(|field| rule.get(*field).and_then(Value::as_str));
    texts.all(|text| {
        *read = read.saturating_add(text.len());
        *read <= ALL && is_parsable(text)
    })
}

#[cfg(test)]
mod tests {
    use super::is_parsable;

    #[test]
    fn long_rules_are_parsed_and_deep_ones_are_not() {
        let part = "(has(self.spec.list) && self.spec.list.all(x, x.name != 'a.b.c' && x.size() < 10 + 2 - 1))";
        for (rule, expected) in [
            ("self.a.b.c == 1".to_owned(), true),
            ([part; 100].join(" || "), true),
            ("(".repeat(10), true),
            ("(".repeat(100), false),
            ("!".repeat(100), false),
            ("1+".repeat(100), false),
            ("a.b".repeat(100), false),
            ("a[0]".repeat(100), false),
            ("a?b&&c:".repeat(100), false),
        ] {
            assert_eq!(is_parsable(&rule), expected, "{rule}");
        }
    }
}
