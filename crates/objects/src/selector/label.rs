//! Label selectors.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::SelectorError;
use super::lexer::{Token, tokens};
use crate::go;
use crate::name::{label_key_errors, label_value_errors};

/// What a requirement asks of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// It has one of the values: `=`, `==` and `in`.
    In,
    /// It has none of the values, or is not there: `!=` and `notin`.
    NotIn,
    /// It is there.
    Exists,
    /// It is not there.
    DoesNotExist,
    /// It is a larger number.
    GreaterThan,
    /// It is a smaller number.
    LessThan,
}

/// What is asked of one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The key of the label.
    pub key: String,
    /// What is asked.
    pub operator: Operator,
    /// The values that it is asked of.
    pub values: BTreeSet<String>,
}

/// Requirements that all have to hold; none of them is everything. `Display` writes it as requests
/// do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector(pub Vec<Requirement>);

impl LabelSelector {
    /// Reads a selector as requests write it: `app=web,tier in (a, b),!old`.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let tokens = tokens(text);
        Parser { tokens: &tokens }.selector().map_err(SelectorError)
    }

    /// Reads a selector as objects write it, with `matchLabels` and `matchExpressions`. Null
    /// selects nothing: none.
    pub fn from_value(value: &Value) -> Result<Option<Self>, SelectorError> {
        let Value::Object(fields) = value else {
            return Ok(None);
        };
        let mut requirements = Vec::new();
        for (key, value) in fields
            .get("matchLabels")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let values = BTreeSet::from([value.as_str().unwrap_or_default().to_owned()]);
            requirements.push(requirement(key, Operator::In, values)?);
        }
        for expression in fields
            .get("matchExpressions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let text = |name: &str| {
                expression
                    .get(name)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            };
            let operator = match text("operator") {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => {
                    let quoted = go::quoted(other);
                    return Err(SelectorError(format!(
                        "{quoted} is not a valid label selector operator"
                    )));
                }
            };
            let values = expression
                .get("values")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            let values = values
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            requirements.push(requirement(text("key"), operator, values)?);
        }
        Ok(Some(Self(requirements)))
    }

    /// Whether everything is selected.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object with these labels is selected.
    pub fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.0
            .iter()
            .all(|requirement| requirement.matches(label(&requirement.key)))
    }

    /// Whether an object is selected.
    pub fn matches_object(&self, object: &Value) -> bool {
        let labels = object
            .get("metadata")
            .and_then(|metadata| metadata.get("labels"));
        self.matches(|key| labels?.get(key)?.as_str())
    }
}

impl Requirement {
    /// Whether a label with this value, or none, is what is asked.
    pub fn matches(&self, value: Option<&str>) -> bool {
        let compared = |larger: bool| {
            let label: Option<i64> = value.and_then(|value| value.parse().ok());
            let bound: Option<i64> = self.values.first().and_then(|value| value.parse().ok());
            label
                .zip(bound)
                .is_some_and(|(label, bound)| if larger { label > bound } else { label < bound })
        };
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => compared(true),
            Operator::LessThan => compared(false),
        }
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (
            index,
            Requirement {
                key,
                operator,
                values,
            },
        ) in self.0.iter().enumerate()
        {
            let comma = if index > 0 { "," } else { "" };
            let first = values.first().map(String::as_str).unwrap_or_default();
            let list = || {
                values
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(",")
            };
            match operator {
                Operator::In if values.len() == 1 => write!(formatter, "{comma}{key}={first}")?,
                Operator::In => write!(formatter, "{comma}{key} in ({})", list())?,
                Operator::NotIn if values.len() == 1 => write!(formatter, "{comma}{key}!={first}")?,
                Operator::NotIn => write!(formatter, "{comma}{key} notin ({})", list())?,
                Operator::Exists => write!(formatter, "{comma}{key}")?,
                Operator::DoesNotExist => write!(formatter, "{comma}!{key}")?,
                Operator::GreaterThan => write!(formatter, "{comma}{key}>{first}")?,
                Operator::LessThan => write!(formatter, "{comma}{key}<{first}")?,
            }
        }
        Ok(())
    }
}

fn requirement(
    key: &str,
    operator: Operator,
    values: BTreeSet<String>,
) -> Result<Requirement, SelectorError> {
    let mut errors = Vec::new();
    let invalid = |field: &str, value: &str, why: &str| {
        format!("{field}: Invalid value: {}: {why}", go::quoted(value))
    };
    let key_errors = label_key_errors(key);
    if !key_errors.is_empty() {
        errors.push(invalid("key", key, &key_errors.join("; ")));
    }
    match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            errors.push(
                "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"
                    .to_owned(),
            );
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            let list: Vec<String> = values.iter().map(|value| go::json_string(value)).collect();
            let list = list.join(",");
            errors.push(format!(
                "values: Invalid value: [{list}]: values set must be empty for exists and does not exist"
            ));
        }
        Operator::GreaterThan | Operator::LessThan => {
            for (index, value) in values
                .iter()
                .enumerate()
                .filter(|(_, value)| value.parse::<i64>().is_err())
            {
                let why = "for 'Gt', 'Lt' operators, the value must be an integer";
                errors.push(invalid(&format!("values[{index}]"), value, why));
            }
        }
        _ => {}
    }
    for (index, value) in values.iter().enumerate() {
        let value_errors = label_value_errors(value);
        if !value_errors.is_empty() {
            errors.push(invalid(
                &format!("values[{index}][{key}]"),
                value,
                &value_errors.join("; "),
            ));
        }
    }
    match &*errors {
        [] => Ok(Requirement {
            key: key.to_owned(),
            operator,
            values,
        }),
        [one] => Err(SelectorError(one.clone())),
        many => Err(SelectorError(format!("[{}]", many.join(", ")))),
    }
}

/// What is left to read; the end is always there.
struct Parser<'p, 't> {
    tokens: &'p [Token<'t>],
}

impl<'t> Parser<'_, 't> {
    fn peek(&self) -> Token<'t> {
        self.tokens.first().copied().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token<'t> {
        let token = self.peek();
        self.tokens = self.tokens.get(1..).unwrap_or_default();
        token
    }

    fn selector(mut self) -> Result<LabelSelector, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::Word(_) | Token::Symbol("!") => {}
                Token::End => return Ok(LabelSelector(requirements)),
                other => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.shown()
                    ));
                }
            }
            let one = self
                .requirement()
                .map_err(|error| format!("unable to parse requirement: {error}"))?;
            requirements.push(one);
            match self.next() {
                Token::End => return Ok(LabelSelector(requirements)),
                Token::Symbol(",") => match self.peek() {
                    Token::Word(_) | Token::Symbol("!") => {}
                    other => {
                        return Err(format!(
                            "found '{}', expected: identifier after ','",
                            other.shown()
                        ));
                    }
                },
                other => {
                    return Err(format!(
                        "found '{}', expected: ',' or 'end of string'",
                        other.shown()
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.next();
        let negated = token == Token::Symbol("!");
        if negated {
            token = self.next();
        }
        let Token::Word(key) = token else {
            return Err(format!("found '{}', expected: identifier", token.shown()));
        };
        let errors = label_key_errors(key);
        if !errors.is_empty() {
            return Err(format!(
                "<nil>: Invalid value: {}: {}",
                go::quoted(key),
                errors.join("; ")
            ));
        }
        let made = |operator, values| requirement(key, operator, values).map_err(|error| error.0);
        if negated {
            return made(Operator::DoesNotExist, BTreeSet::new());
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return made(Operator::Exists, BTreeSet::new());
        }
        let (operator, set) = match self.next() {
            Token::Word("in") => (Operator::In, true),
            Token::Word("notin") => (Operator::NotIn, true),
            Token::Symbol("=" | "==") => (Operator::In, false),
            Token::Symbol("!=") => (Operator::NotIn, false),
            Token::Symbol(">") => (Operator::GreaterThan, false),
            Token::Symbol("<") => (Operator::LessThan, false),
            other => {
                return Err(format!(
                    "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                    other.shown()
                ));
            }
        };
        let values = if set { self.values()? } else { self.value()? };
        made(operator, values)
    }

    fn value(&mut self) -> Result<BTreeSet<String>, String> {
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(BTreeSet::from([String::new()]));
        }
        match self.next() {
            Token::Word(value) => Ok(BTreeSet::from([value.to_owned()])),
            other => Err(format!("found '{}', expected: identifier", other.shown())),
        }
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        let open = self.next();
        if open != Token::Symbol("(") {
            return Err(format!("found '{}' expected: '('", open.shown()));
        }
        match self.peek() {
            Token::Word(_) | Token::Symbol(",") => {}
            Token::Symbol(")") => {
                self.next();
                return Ok(BTreeSet::from([String::new()]));
            }
            other => {
                return Err(format!(
                    "found '{}', expected: ',', ')' or identifier",
                    other.shown()
                ));
            }
        }
        let mut values = BTreeSet::new();
        loop {
            match self.next() {
                Token::Word(value) => {
                    values.insert(value.to_owned());
                    match self.peek() {
                        Token::Symbol(",") => {}
                        Token::Symbol(")") => break,
                        other => {
                            return Err(format!("found '{}', expected: ',' or ')'", other.shown()));
                        }
                    }
                }
                Token::Symbol(",") => {
                    if values.is_empty() || matches!(self.peek(), Token::Symbol("," | ")")) {
                        values.insert(String::new());
                    }
                    if self.peek() == Token::Symbol(")") {
                        break;
                    }
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: ',', or identifier",
                        other.shown()
                    ));
                }
            }
        }
        self.next();
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::LabelSelector;

    #[test]
    fn selectors_are_read_and_select() {
        let labels = |key: &str| match key {
            "app" => Some("web"),
            "n" => Some("5"),
            "empty" => Some(""),
            _ => None,
        };
        for (text, selects, written) in [
            ("", true, ""),
            ("app=web", true, "app=web"),
            ("app==web,n", true, "app=web,n"),
            ("app != web", false, "app!=web"),
            ("x!=web", true, "x!=web"),
            ("app in (api, web)", true, "app in (api,web)"),
            ("app notin (api)", true, "app!=api"),
            ("!x", true, "!x"),
            ("!app", false, "!app"),
            ("n>4,n<6", true, "n>4,n<6"),
            ("app>1", false, "app>1"),
            ("empty=", true, "empty="),
            ("empty in ()", true, "empty="),
            ("empty in (,a)", true, "empty in (,a)"),
            ("in in (in)", false, "in=in"),
        ] {
            let selector = LabelSelector::parse(text).unwrap();
            assert_eq!(selector.matches(labels), selects, "{text}");
            assert_eq!(selector.to_string(), written);
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_in_the_words_of_the_server() {
        for (text, expected) in [
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            (
                "a===b",
                "unable to parse requirement: found '=', expected: identifier",
            ),
            (
                "a in (b",
                "unable to parse requirement: found '', expected: ',' or ')'",
            ),
            (
                "=a",
                "found '=', expected: !, identifier, or 'end of string'",
            ),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
            (
                "a>b",
                "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
            ),
            ("!a=b", "found '=', expected: ',' or 'end of string'"),
            (
                ",a",
                "found ',', expected: !, identifier, or 'end of string'",
            ),
            ("a,,b", "found ',', expected: identifier after ','"),
            (
                "a notin b",
                "unable to parse requirement: found 'b' expected: '('",
            ),
            (
                "-a=b",
                "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            ),
            (
                "a=-b",
                "unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            ),
        ] {
            assert_eq!(
                LabelSelector::parse(text).unwrap_err().to_string(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn objects_write_selectors_in_their_own_way() {
        let selector = json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["a", "b"]}, {"key": "x", "operator": "Exists"}],
        });
        let selector = LabelSelector::from_value(&selector).unwrap().unwrap();
        assert_eq!(selector.to_string(), "app=web,tier notin (a,b),x");
        assert!(selector.matches_object(&json!({"metadata": {"labels": {"app": "web", "x": ""}}})));
        assert!(!selector.matches_object(&json!({"metadata": {}})));
        assert!(
            LabelSelector::from_value(&json!({}))
                .unwrap()
                .unwrap()
                .is_everything()
        );
        assert!(LabelSelector::from_value(&json!(null)).unwrap().is_none());
        let wrong = json!({"matchExpressions": [{"key": "a", "operator": "Is"}]});
        assert_eq!(
            LabelSelector::from_value(&wrong).unwrap_err().to_string(),
            "\"Is\" is not a valid label selector operator"
        );
        let empty = json!({"matchExpressions": [{"key": "a", "operator": "In"}]});
        assert_eq!(
            LabelSelector::from_value(&empty).unwrap_err().to_string(),
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"
        );
    }
}
