//! The paths of printer columns: fields, indices, `*`, and filters that compare a field with a
//! constant. It is not all of kubectl's JSONPath: no slices, unions or recursive descent.

use serde_json::Value;

/// What is at a path, in order; a path that cannot be read finds nothing.
pub(super) fn find<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    let Some(steps) = parse(path) else {
        return Vec::new();
    };
    let mut found = vec![object];
    for step in &steps {
        found = found
            .into_iter()
            .flat_map(|value| step.take(value))
            .collect();
    }
    found
}

enum Step {
    Field(String),
    Index(i64),
    All,
    Where {
        path: Vec<Step>,
        equal: bool,
        constant: Option<Value>,
    },
}

impl Step {
    fn take<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match (self, value) {
            (Self::Field(name), Value::Object(fields)) => fields.get(name).into_iter().collect(),
            (Self::Index(index), Value::Array(items)) => {
                let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
                let index = if *index < 0 { length + index } else { *index };
                usize::try_from(index)
                    .ok()
                    .and_then(|index| items.get(index))
                    .into_iter()
                    .collect()
            }
            (Self::All, Value::Array(items)) => items.iter().collect(),
            (Self::All, Value::Object(fields)) => fields.values().collect(),
            (
                Self::Where {
                    path,
                    equal,
                    constant,
                },
                Value::Array(items),
            ) => {
                let holds = |item: &&Value| {
                    let mut found = vec![*item];
                    for step in path {
                        found = found
                            .into_iter()
                            .flat_map(|value| step.take(value))
                            .collect();
                    }
                    match constant {
                        Some(constant) => found
                            .first()
                            .is_some_and(|found| (*found == constant) == *equal),
                        None => !found.is_empty(),
                    }
                };
                items.iter().filter(holds).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn parse(path: &str) -> Option<Vec<Step>> {
    let mut rest = path
        .trim()
        .trim_start_matches('{')
        .trim_end_matches('}')
        .trim_start_matches('$');
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let end = closing(inner)?;
            steps.push(bracket(inner.get(..end)?)?);
            rest = inner.get(end + 1..)?;
            continue;
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let mut name = String::new();
        let mut end = rest.len();
        let mut escaped = false;
        for (at, letter) in rest.char_indices() {
            match letter {
                '\\' if !escaped => escaped = true,
                '.' | '[' if !escaped => {
                    end = at;
                    break;
                }
                _ => {
                    name.push(letter);
                    escaped = false;
                }
            }
        }
        if name.is_empty() && end == rest.len() {
            break;
        }
        if name == "*" {
            steps.push(Step::All);
        } else if !name.is_empty() {
            steps.push(Step::Field(name));
        } else if rest.starts_with('.') {
            return None;
        }
        rest = rest.get(end..)?;
    }
    Some(steps)
}

/// Where the bracket ends: outside of quotes and of brackets within.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0usize, None);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(inner: &str) -> Option<Step> {
    let inner = inner.trim();
    if inner == "*" {
        return Some(Step::All);
    }
    if let Some(name) = quoted(inner) {
        return Some(Step::Field(name.to_owned()));
    }
    if let Some(condition) = inner
        .strip_prefix("?(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        let operator = ["==", "!="]
            .iter()
            .find_map(|operator| Some((*operator, condition.split_once(operator)?)));
        let Some((operator, (left, right))) = operator else {
            return Some(Step::Where {
                path: own(condition)?,
                equal: true,
                constant: None,
            });
        };
        let right = right.trim();
        let constant = match quoted(right) {
            Some(text) => Value::from(text),
            None => serde_json::from_str(right).ok()?,
        };
        return Some(Step::Where {
            path: own(left)?,
            equal: operator == "==",
            constant: Some(constant),
        });
    }
    inner.parse().ok().map(Step::Index)
}

/// The path of an item's own field; filters within filters are not read.
fn own(path: &str) -> Option<Vec<Step>> {
    let path = path.trim().strip_prefix('@')?;
    if path.contains("?(") {
        None
    } else {
        parse(path)
    }
}

fn quoted(text: &str) -> Option<&str> {
    ['\'', '"']
        .iter()
        .find_map(|&quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_of_columns_find_their_values() {
        let object = json!({
            "spec": {"size": 3, "a.b": "dotted", "list": [{"n": 1}, {"n": 2}], "map": {"k": "v"}},
            "status": {"conditions": [
                {"type": "Synced", "status": "False"},
                {"type": "Ready", "status": "True", "reason": "Fine"},
            ]},
        });
        for (path, expected) in [
            (".spec.size", json!([3])),
            ("{.spec.size}", json!([3])),
            ("$.spec.size", json!([3])),
            (".spec.missing.deeper", json!([])),
            (".spec.list[1].n", json!([2])),
            (".spec.list[-1].n", json!([2])),
            (".spec.list[*].n", json!([1, 2])),
            (".spec.map.*", json!(["v"])),
            (".spec['a.b']", json!(["dotted"])),
            (r".spec.a\.b", json!(["dotted"])),
            (
                r#".status.conditions[?(@.type=="Ready")].status"#,
                json!(["True"]),
            ),
            (
                ".status.conditions[?(@.type == 'Ready')].reason",
                json!(["Fine"]),
            ),
            (
                ".status.conditions[?(@.type!='Ready')].status",
                json!(["False"]),
            ),
            (".status.conditions[?(@.reason)].type", json!(["Ready"])),
            (".spec.list[?(@.n==2)].n", json!([2])),
            (".spec[", json!([])),
            ("..", json!([])),
            (".spec.list[999999999999999999999]", json!([])),
            (".spec.list[?(", json!([])),
            ("", json!([object])),
        ] {
            assert_eq!(json!(find(&object, path)), expected, "{path}");
        }
    }
}
