//! Reads an `openAPIV3Schema` and says everything that is wrong with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::pattern::{Patterns, Refused};
use super::{Additional, Flaw, Pattern, RuleFault, Rules, Schema, Type};
use crate::path::{Path, Step};
use crate::suggest::nearest;

/// Schemas inside schemas; real ones have less than half of it.
const DEPTH: usize = 100;

/// Keywords that are read, or that say nothing about values.
const KEYWORDS: [&str; 33] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "description",
    "enum",
    "example",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "externalDocs",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
    "uniqueItems",
    "id",
    "$schema",
    "$ref",
];

/// What types are called in other languages.
const ELSEWHERE: [(&str, &str); 11] = [
    ("bool", "boolean"),
    ("dict", "object"),
    ("double", "number"),
    ("float", "number"),
    ("int", "integer"),
    ("int32", "integer"),
    ("int64", "integer"),
    ("list", "array"),
    ("map", "object"),
    ("str", "string"),
    ("text", "string"),
];

/// Keywords that the API server refuses in a structural schema.
const FORBIDDEN: [(&str, &str); 8] = [
    ("$ref", "write the schema out where it is used"),
    ("id", "leave it out"),
    ("$schema", "leave it out"),
    ("definitions", "write the schemas out where they are used"),
    ("dependencies", "use `x-kubernetes-validations`"),
    ("deprecated", "say it in the description"),
    ("additionalItems", "leave it out"),
    (
        "patternProperties",
        "use `additionalProperties`, and `x-kubernetes-validations` for the names",
    ),
];

pub(super) fn read(schema: &Value) -> (Schema, Vec<Flaw>) {
    let mut reader = Reader {
        path: Path::root(),
        flaws: Vec::new(),
        depth: 0,
        patterns: Patterns::default(),
    };
    let mut read = reader.schema(schema, true);
    read.compiled = Rules::read(schema).map(Arc::new);
    if let Some(kind) = read.kind
        && kind != Type::Object
        && schema.get("properties").is_some()
    {
        reader.flaw(
            format!("has properties, but is of type {kind}"),
            Some("write `type: object`"),
        );
    }
    if read.compiled.is_some() {
        reader
            .flaws
            .extend(read.rule_faults().into_iter().filter_map(RuleFault::flaw));
    }
    (read, reader.flaws)
}

struct Reader {
    path: Path,
    flaws: Vec<Flaw>,
    depth: usize,
    patterns: Patterns,
}

impl Reader {
    fn flaw(&mut self, what: impl Into<String>, hint: Option<&str>) {
        let path = self.path.clone();
        self.flaws.push(Flaw {
            path,
            what: what.into(),
            hint: hint.map(str::to_owned),
        });
    }

    /// Goes one step into the schema and does something there.
    fn inside<T>(&mut self, step: impl Into<Step>, act: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let result = act(self);
        self.path.pop();
        result
    }

    /// `structural` is false inside `allOf`, `anyOf`, `oneOf` and `not`, which restrict and
    /// describe nothing.
    fn schema(&mut self, schema: &Value, structural: bool) -> Schema {
        let Value::Object(fields) = schema else {
            self.flaw("must be an object", None);
            return Schema::default();
        };
        if self.depth == DEPTH {
            self.flaw(format!("is nested more than {DEPTH} levels deep"), None);
            return Schema::default();
        }
        self.depth += 1;
        let read = self.fields(fields, structural);
        self.depth -= 1;
        read
    }

    fn fields(&mut self, fields: &Map<String, Value>, structural: bool) -> Schema {
        self.keywords(fields);
        let mut schema = Schema {
            kind: self.kind(fields),
            title: self.text(fields, "title"),
            description: self.text(fields, "description"),
            format: self.text(fields, "format"),
            nullable: self.flag(fields, "nullable"),
            properties: self.properties(fields, structural),
            additional: self.additional(fields, structural),
            items: fields
                .get("items")
                .map(|items| self.inside("items", |own| Box::new(own.schema(items, structural)))),
            required: self.names(fields, "required"),
            default: fields
                .get("default")
                .filter(|default| !default.is_null())
                .cloned(),
            one_of_values: self.list(fields, "enum").map(<[Value]>::to_vec),
            pattern: self.pattern(fields),
            all_of: self.schemas(fields, "allOf"),
            any_of: self.schemas(fields, "anyOf"),
            one_of: self.schemas(fields, "oneOf"),
            not: fields
                .get("not")
                .map(|not| self.inside("not", |own| Box::new(own.schema(not, false)))),
            preserve_unknown: self.flag(fields, "x-kubernetes-preserve-unknown-fields"),
            int_or_string: self.flag(fields, "x-kubernetes-int-or-string"),
            embedded: self.flag(fields, "x-kubernetes-embedded-resource"),
            list_type: self.choice(fields, "x-kubernetes-list-type", &["atomic", "map", "set"]),
            list_map_keys: self.names(fields, "x-kubernetes-list-map-keys"),
            map_type: self.choice(fields, "x-kubernetes-map-type", &["atomic", "granular"]),
            rules: self
                .list(fields, "x-kubernetes-validations")
                .unwrap_or_default()
                .to_vec(),
            ..Schema::default()
        };
        self.bounds(fields, &mut schema);
        if structural {
            self.structure(fields, &schema);
        }
        schema
    }

    fn keywords(&mut self, fields: &Map<String, Value>) {
        for name in fields.keys() {
            if let Some((_, hint)) = FORBIDDEN.iter().find(|(keyword, _)| keyword == name) {
                self.inside(name.as_str(), |own| {
                    own.flaw(
                        format!("`{name}` is not allowed in the schema of a CRD"),
                        Some(hint),
                    );
                });
            } else if !KEYWORDS.contains(&name.as_str()) && !name.starts_with("x-") {
                // What has a type of its own is a field, whatever its name looks like.
                let is_field = fields[name].get("type").is_some_and(Value::is_string);
                let hint = match nearest(name, KEYWORDS) {
                    _ if is_field => {
                        Some("fields belong below `properties`: check the indentation".to_owned())
                    }
                    near => near.map(|near| format!("did you mean `{near}`?")),
                };
                self.inside(name.as_str(), |own| {
                    own.flaw(format!("there is no keyword `{name}`"), hint.as_deref());
                });
            }
        }
    }

    /// What makes a schema structural: every part has a type, and the parts fit it.
    fn structure(&mut self, fields: &Map<String, Value>, schema: &Schema) {
        let root = self.path.is_root();
        match schema.kind {
            None if schema.int_or_string
                || (schema.preserve_unknown && !root)
                || fields.contains_key("type") => {}
            None => {
                let hint = if fields.contains_key("items") {
                    "write `type: array`"
                } else {
                    "write `type: object`"
                };
                let hint = (root || schema.items.is_some() || !schema.properties.is_empty())
                    .then_some(hint);
                self.flaw("has no `type`", hint);
            }
            Some(kind) if root && kind != Type::Object => {
                self.inside("type", |own| {
                    own.flaw(format!("must be object at the root, not {kind}"), None);
                });
            }
            Some(_) if schema.int_or_string => {
                self.inside("type", |own| {
                    own.flaw("must be absent beside `x-kubernetes-int-or-string`", None);
                });
            }
            Some(Type::Array) if schema.items.is_none() => {
                self.flaw("is an array without `items`", None);
            }
            Some(_) => {}
        }
        if !schema.properties.is_empty() && !matches!(schema.additional, Additional::Unsaid) {
            self.inside("additionalProperties", |own| {
                own.flaw(
                    "cannot be combined with `properties`",
                    Some("use `x-kubernetes-preserve-unknown-fields: true`"),
                );
            });
        }
        if fields.get("uniqueItems") == Some(&Value::Bool(true)) {
            self.inside("uniqueItems", |own| {
                own.flaw(
                    "is too slow to check",
                    Some("use `x-kubernetes-list-type: set`"),
                );
            });
        }
        if schema.list_type.as_deref() == Some("map") && schema.list_map_keys.is_empty() {
            self.flaw(
                "is a list of type map without `x-kubernetes-list-map-keys`",
                None,
            );
        }
        if schema.embedded && !matches!(schema.additional, Additional::Unsaid) {
            self.inside("additionalProperties", |own| {
                own.flaw("has no meaning in a whole object", None);
            });
        }
        if schema.embedded && schema.properties.is_empty() && !schema.preserve_unknown {
            let hint = "describe its fields, or write `x-kubernetes-preserve-unknown-fields: true`";
            self.flaw(
                "is a whole object of which nothing is described",
                Some(hint),
            );
        }
        if let Some(default) = &schema.default {
            let wrong = schema.validate(default);
            self.inside("default", |own| {
                for problem in wrong {
                    // The default itself has no name; the API server's words have a hole there.
                    let said = if problem.path.is_root() {
                        problem.what.replace(":  in body must", ": must")
                    } else {
                        problem.to_string()
                    };
                    own.flaw(format!("does not fit the schema: {said}"), None);
                }
            });
        }
    }

    fn kind(&mut self, fields: &Map<String, Value>) -> Option<Type> {
        let word = self.text(fields, "type")?;
        let kind = Type::parse(&word);
        if kind.is_none() {
            let meant = ELSEWHERE
                .iter()
                .find(|(other, _)| other.eq_ignore_ascii_case(&word))
                .map(|(_, kind)| *kind);
            let meant = meant.or_else(|| nearest(&word, Type::ALL.map(Type::as_str)));
            let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
            self.inside("type", |own| {
                own.flaw(format!("there is no type `{word}`"), hint.as_deref());
            });
        }
        kind
    }

    fn properties(
        &mut self,
        fields: &Map<String, Value>,
        structural: bool,
    ) -> BTreeMap<String, Schema> {
        match fields.get("properties") {
            None => BTreeMap::new(),
            Some(Value::Object(properties)) => self.inside("properties", |own| {
                let read = |(name, schema): (&String, &Value)| {
                    (
                        name.clone(),
                        own.inside(name.as_str(), |own| own.schema(schema, structural)),
                    )
                };
                properties.iter().map(read).collect()
            }),
            Some(_) => {
                self.inside("properties", |own| own.flaw("must be an object", None));
                BTreeMap::new()
            }
        }
    }

    fn additional(&mut self, fields: &Map<String, Value>, structural: bool) -> Additional {
        match fields.get("additionalProperties") {
            None => Additional::Unsaid,
            Some(Value::Bool(true)) => Additional::Anything,
            Some(Value::Bool(false)) => Additional::Nothing,
            Some(schema) => self.inside("additionalProperties", |own| {
                Additional::Values(Box::new(own.schema(schema, structural)))
            }),
        }
    }

    fn pattern(&mut self, fields: &Map<String, Value>) -> Option<Pattern> {
        let text = self.text(fields, "pattern")?;
        let shown: String = text.chars().take(100).collect();
        let (what, hint) = match self.patterns.read(text) {
            Ok(pattern) => return Some(pattern),
            Err(Refused::Syntax) => (format!("`{shown}` is not a regular expression"), None),
            Err(Refused::Large) => {
                let what = format!(
                    "the regular expression `{shown}` takes too much memory when it is compiled"
                );
                (
                    what,
                    Some("repeat classes such as `\\pL` less often, or name the characters"),
                )
            }
            Err(Refused::Many) => {
                let what = "the regular expressions of this schema together take too much memory when they are compiled";
                (
                    what.to_owned(),
                    Some("use fewer different patterns, or simpler ones"),
                )
            }
        };
        self.inside("pattern", |own| own.flaw(what, hint));
        None
    }

    fn bounds(&mut self, fields: &Map<String, Value>, schema: &mut Schema) {
        let bounds = &mut schema.bounds;
        bounds.maximum = self.number(fields, "maximum");
        bounds.exclusive_maximum = self.flag(fields, "exclusiveMaximum");
        bounds.minimum = self.number(fields, "minimum");
        bounds.exclusive_minimum = self.flag(fields, "exclusiveMinimum");
        bounds.multiple_of = self.number(fields, "multipleOf");
        bounds.max_length = self.count(fields, "maxLength");
        bounds.min_length = self.count(fields, "minLength");
        bounds.max_items = self.count(fields, "maxItems");
        bounds.min_items = self.count(fields, "minItems");
        bounds.max_properties = self.count(fields, "maxProperties");
        bounds.min_properties = self.count(fields, "minProperties");
    }

    fn schemas(&mut self, fields: &Map<String, Value>, name: &str) -> Vec<Schema> {
        let Some(list) = self.list(fields, name) else {
            return Vec::new();
        };
        self.inside(name, |own| {
            list.iter()
                .enumerate()
                .map(|(index, schema)| own.inside(index, |own| own.schema(schema, false)))
                .collect()
        })
    }

    fn expected<T>(&mut self, name: &str, what: &str) -> Option<T> {
        self.inside(name, |own| own.flaw(format!("must be {what}"), None));
        None
    }

    fn text(&mut self, fields: &Map<String, Value>, name: &str) -> Option<Box<str>> {
        match fields.get(name) {
            None => None,
            Some(Value::String(text)) => Some(text.as_str())
                .filter(|text| !text.is_empty())
                .map(Box::from),
            Some(_) => self.expected(name, "a string"),
        }
    }

    fn choice(
        &mut self,
        fields: &Map<String, Value>,
        name: &str,
        allowed: &[&str],
    ) -> Option<Box<str>> {
        let text = self.text(fields, name)?;
        if allowed.contains(&&*text) {
            Some(text)
        } else {
            self.expected(name, &format!("one of {}", allowed.join(", ")))
        }
    }

    fn flag(&mut self, fields: &Map<String, Value>, name: &str) -> bool {
        match fields.get(name) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => self.expected(name, "true or false").unwrap_or(false),
        }
    }

    fn number(&mut self, fields: &Map<String, Value>, name: &str) -> Option<f64> {
        let value = fields.get(name)?;
        value.as_f64().or_else(|| self.expected(name, "a number"))
    }

    fn count(&mut self, fields: &Map<String, Value>, name: &str) -> Option<u64> {
        let value = fields.get(name)?;
        value
            .as_u64()
            .or_else(|| self.expected(name, "a whole number, zero or more"))
    }

    fn list<'v>(&mut self, fields: &'v Map<String, Value>, name: &str) -> Option<&'v [Value]> {
        match fields.get(name)? {
            Value::Array(list) => Some(list),
            _ => self.expected(name, "a list"),
        }
    }

    fn names(&mut self, fields: &Map<String, Value>, name: &str) -> Vec<String> {
        let list = self.list(fields, name).unwrap_or_default();
        let names: Vec<String> = list
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        if names.len() == list.len() {
            names
        } else {
            self.expected(name, "a list of strings").unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{DEPTH, Schema};

    #[test]
    fn everything_wrong_with_a_schema_is_said_with_its_place() {
        let of = |spec: Value| json!({ "type": "object", "properties": { "spec": spec } });
        for (schema, expected) in [
            (json!({ "type": "object" }), vec![]),
            (json!([]), vec![": must be an object ()"]),
            (json!({}), vec![": has no `type` (write `type: object`)"]),
            (
                json!({ "type": "string" }),
                vec!["type: must be object at the root, not string ()"],
            ),
            (
                json!({ "type": "objekt" }),
                vec!["type: there is no type `objekt` (did you mean `object`?)"],
            ),
            (
                of(json!({ "type": "int" })),
                vec!["properties.spec.type: there is no type `int` (did you mean `integer`?)"],
            ),
            (
                json!({ "type": "object", "propertes": {} }),
                vec!["propertes: there is no keyword `propertes` (did you mean `properties`?)"],
            ),
            (
                of(json!({ "properties": {} })),
                vec!["properties.spec: has no `type` ()"],
            ),
            (
                of(json!({ "items": { "type": "string" } })),
                vec!["properties.spec: has no `type` (write `type: array`)"],
            ),
            (
                of(json!({ "type": "array" })),
                vec!["properties.spec: is an array without `items` ()"],
            ),
            (of(json!({ "x-kubernetes-int-or-string": true })), vec![]),
            (
                of(
                    json!({ "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
                ),
                vec![],
            ),
            (
                of(json!({ "x-kubernetes-preserve-unknown-fields": true })),
                vec![],
            ),
            (
                of(json!({ "type": "string", "pattern": "(" })),
                vec!["properties.spec.pattern: `(` is not a regular expression ()"],
            ),
            (
                of(json!({ "type": "integer", "default": "x" })),
                vec![
                    "properties.spec.default: does not fit the schema: Invalid value: \"string\": must be of type integer: \"string\" ()",
                ],
            ),
            (
                of(
                    json!({ "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": true }),
                ),
                vec![
                    "properties.spec.additionalProperties: cannot be combined with `properties` (use `x-kubernetes-preserve-unknown-fields: true`)",
                ],
            ),
            (
                of(
                    json!({ "$ref": "#/x", "maxLength": -1, "nullable": "yes", "required": [1], "enum": 3, "type": 4 }),
                ),
                vec![
                    "properties.spec.$ref: `$ref` is not allowed in the schema of a CRD (write the schema out where it is used)",
                    "properties.spec.type: must be a string ()",
                    "properties.spec.nullable: must be true or false ()",
                    "properties.spec.required: must be a list of strings ()",
                    "properties.spec.enum: must be a list ()",
                    "properties.spec.maxLength: must be a whole number, zero or more ()",
                ],
            ),
            (
                of(
                    json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "bag" }),
                ),
                vec!["properties.spec.x-kubernetes-list-type: must be one of atomic, map, set ()"],
            ),
            (
                of(
                    json!({ "type": "object", "properties": { "a": { "type": "string" } }, "x-kubernetes-validations": [
                    { "rule": "self.a == 'x'" }, { "rule": "self.wrong == 'x'" },
                ] }),
                ),
                vec![
                    "properties.spec.x-kubernetes-validations[1].rule: the rule does not compile: there is no field `wrong` ()",
                ],
            ),
        ] {
            let (_, flaws) = Schema::read(&schema);
            let found: Vec<String> = flaws
                .iter()
                .map(|flaw| format!("{flaw} ({})", flaw.hint.as_deref().unwrap_or_default()))
                .collect();
            assert_eq!(found, expected, "{schema}");
        }
    }

    #[test]
    fn a_schema_without_end_ends() {
        let mut schema = json!({ "type": "object" });
        for _ in 0..3 * DEPTH {
            schema = json!({ "type": "object", "properties": { "a": schema } });
        }
        let (_, flaws) = Schema::read(&schema);
        assert_eq!(flaws.len(), 1);
        assert_eq!(
            flaws[0].what,
            format!("is nested more than {DEPTH} levels deep")
        );
    }
}
