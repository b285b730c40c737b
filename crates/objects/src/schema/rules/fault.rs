//! What is wrong with the rules themselves: those that do not compile, each at its place in the
//! schema.

use std::rc::Rc;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::parser::Parser;
use serde_json::Value;

use super::limit::{Costs, Occurs};
use super::size::Size;
use super::{depth, types};
use crate::path::Path;
use crate::schema::{Additional, Flaw, Schema};

/// A rule that the API server would not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFault {
    /// Where it is in the schema: `properties.spec.x-kubernetes-validations[0]`.
    pub path: Path,
    /// Which field of it: `rule` or `messageExpression`.
    pub field: &'static str,
    /// The rule as it was written.
    pub rule: Value,
    /// The words of the compiler, with the lines that it shows.
    pub compiler: String,
    /// What is wrong, in a sentence; none if it is only not understood here.
    pub what: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Whether the rule compiles, and costs too much; then [`Self::compiler`] says by how much.
    pub costly: bool,
}

impl RuleFault {
    fn costly(path: Path, field: &'static str, rule: Value, what: String) -> Self {
        let hint =
            Some("simplify the rule, or set `maxItems`, `maxProperties` and `maxLength` on what it reads".to_owned());
        Self {
            path,
            field,
            rule,
            compiler: what.clone(),
            what: Some(what),
            hint,
            costly: true,
        }
    }

    /// As a flaw of the schema, if it is one for certain.
    pub(in crate::schema) fn flaw(self) -> Option<Flaw> {
        let what = match self.what? {
            what if self.costly => what,
            what => format!("the rule does not compile: {what}"),
        };
        let path = if self.field.is_empty() {
            self.path
        } else {
            self.path.child(self.field)
        };
        Some(Flaw {
            path,
            what,
            hint: self.hint,
        })
    }
}

impl Schema {
    /// The rules of this schema and all below it that do not compile, or that cost too much.
    pub fn rule_faults(&self) -> Vec<RuleFault> {
        let mut found = Found {
            faults: Vec::new(),
            costs: Costs::default(),
            read: 0,
        };
        depth::on_a_large_stack(|| {
            walk(self, &mut Path::root(), &Occurs::once(), &mut found);
        });
        let Found {
            mut faults, costs, ..
        } = found;
        faults.extend(
            costs
                .over()
                .map(|what| RuleFault::costly(Path::root(), "", Value::Null, what)),
        );
        faults
    }
}

struct Found {
    faults: Vec<RuleFault>,
    costs: Costs,
    /// The bytes of all rules so far.
    read: usize,
}

fn walk(schema: &Schema, path: &mut Path, occurs: &Occurs, found: &mut Found) {
    let size = (!schema.rules.is_empty()).then(|| Rc::new(Size::allowed(schema)));
    for (index, rule) in schema.rules.iter().enumerate() {
        for field in ["rule", "messageExpression"] {
            let Some(text) = rule.get(field).and_then(Value::as_str) else {
                continue;
            };
            let whole = path.is_root() || schema.embedded;
            let optional_old = rule.get("optionalOldSelf") == Some(&Value::Bool(true));
            let place = || path.child("x-kubernetes-validations").child(index);
            found.read = found.read.saturating_add(text.len());
            if found.read > depth::ALL {
                let what = format!(
                    "the rules of this schema have more than {} characters together",
                    depth::ALL
                );
                found
                    .faults
                    .push(RuleFault::costly(place(), field, rule.clone(), what));
                return;
            }
            let expression = match fault(text, schema, whole, optional_old) {
                Ok(expression) => expression,
                Err(Slip {
                    compiler,
                    what,
                    hint,
                }) => {
                    let rule = rule.clone();
                    found.faults.push(RuleFault {
                        path: place(),
                        field,
                        rule,
                        compiler,
                        what,
                        hint,
                        costly: false,
                    });
                    break;
                }
            };
            let Some(size) = &size else { continue };
            let times = if field == "rule" {
                occurs.times(schema)
            } else {
                1
            };
            if let Some(what) = found.costs.spend(&expression, size, times, field) {
                found
                    .faults
                    .push(RuleFault::costly(place(), field, rule.clone(), what));
            }
        }
    }
    let mut inside = |steps: &[&str], inner: &Schema, occurs: &Occurs| {
        steps.iter().for_each(|step| path.push(*step));
        walk(inner, path, occurs, found);
        steps.iter().for_each(|_| drop(path.pop()));
    };
    for (name, inner) in &schema.properties {
        inside(&["properties", name], inner, occurs);
    }
    if let Some(inner) = &schema.items {
        inside(&["items"], inner, &occurs.each(schema.bounds.max_items));
    }
    if let Additional::Values(inner) = &schema.additional {
        inside(
            &["additionalProperties"],
            inner,
            &occurs.each(schema.bounds.max_properties),
        );
    }
}

struct Slip {
    compiler: String,
    what: Option<String>,
    hint: Option<String>,
}

fn fault(text: &str, schema: &Schema, whole: bool, optional_old: bool) -> Result<IdedExpr, Slip> {
    if text.len() > depth::LONGEST {
        let what = format!(
            "expression code point size exceeds limit: size: {}, limit {}",
            text.len(),
            depth::LONGEST
        );
        return Err(Slip {
            compiler: format!("ERROR: <input>:-1:0: {what}"),
            what: Some(what),
            hint: None,
        });
    }
    if !depth::is_parsable(text) {
        return Err(Slip {
            compiler: "ERROR: <input>: the rule is nested too deeply".to_owned(),
            what: None,
            hint: None,
        });
    }
    let expression = match Parser::new().enable_optional_syntax(true).parse(text) {
        Ok(expression) => expression,
        Err(errors) => {
            let compiler = errors.to_string();
            // Names in backticks are not read here; what is said of anything but the syntax may be
            // this parser's own.
            let certain = compiler.contains("Syntax error") && !text.contains('`');
            let what = certain.then(|| in_a_sentence(&compiler));
            return Err(Slip {
                compiler: compiler.replace("\n|", "\n |"),
                what,
                hint: None,
            });
        }
    };
    let slips = types::check(&expression, schema, whole, optional_old);
    let Some(first) = slips.first() else {
        return Ok(expression);
    };
    let compiler: Vec<String> = slips.iter().map(|slip| slip.compiler(text)).collect();
    Err(Slip {
        compiler: compiler.join("\n"),
        what: Some(first.what()),
        hint: first.hint(),
    })
}

/// The first of a parser's errors, without the list of all that it would have taken.
fn in_a_sentence(errors: &str) -> String {
    let first = errors.lines().next().unwrap_or_default();
    let Some((place, what)) = first.split_once(": Syntax error: ") else {
        return first.to_owned();
    };
    let what = what.split(" expecting {").next().unwrap_or(what);
    let column = place.rsplit(':').next().unwrap_or_default();
    format!("{what} at character {column}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::schema::Schema;

    fn schema(at: &str, rule: &str) -> Schema {
        let rules = json!([{ "rule": rule }]);
        let mut schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "greeting": {"type": "string"},
            "size": {"type": "integer"},
            "port": {"x-kubernetes-int-or-string": true},
            "nothing": {"type": "object"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "list": {"type": "array", "maxItems": 100, "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "pod": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}},
            "a-b": {"type": "string"},
        }}}});
        schema.pointer_mut(at).unwrap()["x-kubernetes-validations"] = rules;
        Schema::read(&schema).0
    }

    #[test]
    fn rules_that_do_not_compile_are_told_with_what_was_probably_meant() {
        for (rule, expected) in [
            (
                "self.greting == 'x'",
                "there is no field `greting` (did you mean `greeting`?)",
            ),
            (
                "has(self.greting)",
                "there is no field `greting` (did you mean `greeting`?)",
            ),
            (
                "self.?greting.orValue('') == ''",
                "there is no field `greting` (did you mean `greeting`?)",
            ),
            (
                "oldSelf.greting == self.greeting",
                "there is no field `greting` (did you mean `greeting`?)",
            ),
            (
                "self.list.all(item, item.nme != '')",
                "there is no field `nme` (did you mean `name`?)",
            ),
            (
                "self.list[0].nme == 'x'",
                "there is no field `nme` (did you mean `name`?)",
            ),
            (
                "self.size > 1 ? self.nothing.a == 1 : true",
                "there is no field `a` ()",
            ),
            (
                "self.pod.metadata.labels.size() == 0",
                "there is no field `labels` ()",
            ),
            (
                "self.greeting.a == 'x'",
                "a string has no fields, and so no `a` ()",
            ),
            (
                "self.list.a == 'x'",
                "a list has no fields, and so no `a` ()",
            ),
            (
                "greeting == 'x'",
                "there is nothing called `greeting` (write `self.greeting`)",
            ),
            (
                "self.list.all(item, itm.name == 'x')",
                "there is nothing called `itm` ()",
            ),
            (
                "self.size > ",
                "mismatched input '<EOF>' at character 13 ()",
            ),
        ] {
            let faults = schema("/properties/spec", rule).rule_faults();
            let told: Vec<String> = faults
                .iter()
                .map(|it| {
                    format!(
                        "{} ({})",
                        it.what.as_deref().unwrap_or("?"),
                        it.hint.as_deref().unwrap_or_default()
                    )
                })
                .collect();
            assert_eq!(told, [expected], "{rule}");
            assert_eq!(
                faults[0].path.to_string(),
                "properties.spec.x-kubernetes-validations[0]"
            );
        }
    }

    #[test]
    fn rules_that_the_api_server_takes_are_sound() {
        for (at, rules) in [
            (
                "/properties/spec",
                &[
                    "self.greeting == 'x'",
                    "has(self.greeting) && self.size > 1",
                    "self.list.all(item, item.name != '')",
                    "self.list.exists(self, self.name == 'x')",
                    "self.list.all(i, v, i < 3 && v.name != '')",
                    "self.list.map(item, item.name).size() > 0",
                    "self.list.filter(i, i.name == 'x').all(j, j.name != 'y')",
                    "self.list.sortBy(e, e.name).size() > 0",
                    "self.labels.foo == 'x' && !has(self.labels.bar) && self.labels.all(key, self.labels[key] != key)",
                    "self.free.anything.at.all == 1",
                    "self.?greeting.orValue('') == 'x' && self.list[?0].hasValue()",
                    "self.a__dash__b == 'x'",
                    "self.pod.metadata.name == 'x' && self.pod.kind == 'Pod'",
                    "type(self.size) == int && type(self.port) == string",
                    "sets.contains(['a'], ['a']) && [{'a': 1}].all(x, x.a == 1)",
                    "{'a': 1}.a == 1 && quantity('1Gi').isGreaterThan(quantity('1Mi'))",
                    "self == oldSelf || self.size == optional.of(1).value()",
                ][..],
            ),
            (
                "",
                &[
                    "self.metadata.name != 'x' && self.metadata.generateName == ''",
                    "self.kind == 'Thing' && self.apiVersion != '' && has(self.spec) && self.spec.size > 1",
                ],
            ),
            (
                "/properties/spec/properties/list/items",
                &["self.name != 'x'"],
            ),
            (
                "/properties/spec/properties/labels",
                &["self.all(k, k != '') && self.size() < 3"],
            ),
        ] {
            for rule in rules {
                assert_eq!(schema(at, rule).rule_faults(), [], "{rule}");
            }
        }
    }

    #[test]
    fn the_words_of_the_compiler_are_those_of_the_api_server() {
        let faults = schema(
            "/properties/spec",
            "self.size > 1 && self.list.all(item, item.nme != '')",
        )
        .rule_faults();
        let words = "ERROR: <input>:1:42: undefined field 'nme'\n | self.size > 1 && self.list.all(item, item.nme != '')\n | .........................................^";
        assert_eq!(faults[0].compiler, words);
        let faults = schema("/properties/spec", "true &&\nhas(self.greting)").rule_faults();
        let words = "ERROR: <input>:2:4: undefined field 'greting'\n | has(self.greting)\n | ...^";
        assert_eq!(faults[0].compiler, words);
    }

    #[test]
    fn a_rule_without_end_ends() {
        for (start, end) in [
            ("(", ")"),
            ("[", "]"),
            ("{1:", "}"),
            ("f(", ")"),
            ("!", ""),
            ("-", ""),
            ("1+", ""),
            ("1-1*", ""),
            ("true&&", ""),
            ("true?true:", ""),
            ("true?", ":true"),
            ("self.list.all(x,", ")"),
        ] {
            for count in [10, 20, 30, 60, 5_000] {
                schema(
                    "/properties/spec",
                    &format!("{}1{}", start.repeat(count), end.repeat(count)),
                );
            }
        }
        for piece in [".a", "[0]", ".f()"] {
            for count in [10, 30, 60, 5_000] {
                schema(
                    "/properties/spec",
                    &format!("self.free{}", piece.repeat(count)),
                );
            }
        }
    }
}
