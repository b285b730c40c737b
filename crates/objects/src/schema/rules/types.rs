//! The types of a rule, as far as the schema tells them: which fields and names it uses that are
//! not there. What is not known for certain is let pass.

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use crate::schema::{Additional, Schema, Type};
use crate::suggest::nearest;

/// What a rule uses that is not there.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Slip {
    /// A field; `asked` if the rule asks whether it is there.
    Field {
        name: String,
        near: Option<String>,
        asked: bool,
    },
    /// A field of what has none.
    Fieldless { name: String, of: Type },
    /// A variable; the field of that name, if there is one, was meant.
    Name { name: String, is_field: bool },
}

/// Names that are no variables: types, and what functions are called by.
const NAMES: [&str; 28] = [
    "base64",
    "bool",
    "bytes",
    "cidr",
    "double",
    "duration",
    "dyn",
    "format",
    "google",
    "int",
    "ip",
    "jsonpatch",
    "lists",
    "list",
    "map",
    "math",
    "null_type",
    "optional",
    "optional_type",
    "quantity",
    "regex",
    "semver",
    "sets",
    "string",
    "strings",
    "timestamp",
    "type",
    "uint",
];

/// Functions whose arguments are not values: macros that bind names, of which not all are known to
/// the parser.
const MACROS: [&str; 14] = [
    "all",
    "bind",
    "block",
    "exists",
    "existsOne",
    "exists_one",
    "filter",
    "map",
    "optFlatMap",
    "optMap",
    "sortBy",
    "transformList",
    "transformMap",
    "transformMapEntry",
];

/// Everything that a rule at a schema uses and that is not there. `whole` says whether it is that
/// of a whole object, `optional_old` whether `oldSelf` may be nothing.
pub(super) fn check(
    rule: &IdedExpr,
    schema: &Schema,
    whole: bool,
    optional_old: bool,
) -> Vec<Slip> {
    let own = Kind::Of(schema, whole);
    let old = if optional_old { Kind::Open } else { own };
    let bound = vec![("self", own), ("oldSelf", old)];
    let mut checker = Checker {
        schema,
        bound,
        found: Vec::new(),
    };
    checker.kind(rule);
    checker.found
}

/// What is known of a value.
#[derive(Clone, Copy)]
enum Kind<'s> {
    /// It is described by a schema, as a whole object or not.
    Of(&'s Schema, bool),
    /// It is the metadata of a whole object.
    Metadata,
    /// Nothing.
    Open,
}

struct Checker<'c> {
    schema: &'c Schema,
    bound: Vec<(&'c str, Kind<'c>)>,
    found: Vec<Slip>,
}

impl<'c> Checker<'c> {
    fn kind(&mut self, expression: &'c IdedExpr) -> Kind<'c> {
        match &expression.expr {
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => {
                let kind = self.kind(&select.operand);
                self.field(kind, &select.field, select.test)
            }
            Expr::Call(call) => {
                if MACROS.contains(&&*call.func_name) {
                    return Kind::Open;
                }
                if let Some(target) = &call.target {
                    // What a function belongs to may be the name of a library.
                    if !matches!(target.expr, Expr::Ident(_)) {
                        self.kind(target);
                    }
                }
                let kinds: Vec<Kind<'c>> = call
                    .args
                    .iter()
                    .map(|argument| self.kind(argument))
                    .collect();
                match (
                    &*call.func_name,
                    kinds.first(),
                    call.args.get(1).map(|argument| &argument.expr),
                ) {
                    (operators::INDEX, Some(kind), _) => inner(*kind),
                    (
                        operators::OPT_SELECT,
                        Some(kind),
                        Some(Expr::Literal(LiteralValue::String(name))),
                    ) => {
                        self.field(*kind, name.inner(), true);
                        Kind::Open
                    }
                    _ => Kind::Open,
                }
            }
            Expr::Comprehension(each) => {
                let range = self.kind(&each.iter_range);
                self.kind(&each.accu_init);
                let depth = self.bound.len();
                // The items of a list go by; of a map it is the keys.
                let item = match range {
                    Kind::Of(schema, _) if schema.kind == Some(Type::Array) => inner(range),
                    _ => Kind::Open,
                };
                self.bound.push((&each.accu_var, Kind::Open));
                match &each.iter_var2 {
                    None => self.bound.push((&each.iter_var, item)),
                    Some(second) => self
                        .bound
                        .extend([(&*each.iter_var, Kind::Open), (&**second, inner(range))]),
                }
                for part in [&each.loop_cond, &each.loop_step, &each.result] {
                    self.kind(part);
                }
                self.bound.truncate(depth);
                Kind::Open
            }
            Expr::List(list) => {
                for element in &list.elements {
                    self.kind(element);
                }
                Kind::Open
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.kind(&entry.key);
                        self.kind(&entry.value);
                    }
                }
                Kind::Open
            }
            Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => Kind::Open,
        }
    }

    fn name(&mut self, name: &str) -> Kind<'c> {
        if let Some((_, kind)) = self.bound.iter().rev().find(|(bound, _)| *bound == name) {
            return *kind;
        }
        if !NAMES.contains(&name) && !name.starts_with(['.', '@']) {
            let is_field = self.schema.properties.contains_key(name);
            self.found.push(Slip::Name {
                name: name.to_owned(),
                is_field,
            });
        }
        Kind::Open
    }

    fn field(&mut self, kind: Kind<'c>, name: &str, asked: bool) -> Kind<'c> {
        // Such names stand for others: `a__dash__b` is `a-b`.
        if name.contains("__") || name.starts_with('`') {
            return Kind::Open;
        }
        let unknown = |near: Option<&str>| Slip::Field {
            name: name.to_owned(),
            near: near.map(str::to_owned),
            asked,
        };
        let slip = match kind {
            Kind::Open => return Kind::Open,
            Kind::Metadata if ["name", "generateName"].contains(&name) => return Kind::Open,
            Kind::Metadata => unknown(nearest(name, ["name", "generateName"])),
            Kind::Of(_, true) if ["apiVersion", "kind"].contains(&name) => return Kind::Open,
            Kind::Of(_, true) if name == "metadata" => return Kind::Metadata,
            Kind::Of(schema, _) if schema.int_or_string => return Kind::Open,
            Kind::Of(schema, _) => match schema.kind {
                None => return Kind::Open,
                Some(Type::Object) => match (schema.properties.get(name), &schema.additional) {
                    (Some(field), _) => return Kind::Of(field, field.embedded),
                    (None, Additional::Values(values)) => return Kind::Of(values, values.embedded),
                    (None, Additional::Anything) => return Kind::Open,
                    (None, _) if schema.preserve_unknown => return Kind::Open,
                    (None, _) => {
                        unknown(nearest(name, schema.properties.keys().map(String::as_str)))
                    }
                },
                Some(of) => Slip::Fieldless {
                    name: name.to_owned(),
                    of,
                },
            },
        };
        self.found.push(slip);
        Kind::Open
    }
}

/// What is in a list or a map.
fn inner(kind: Kind<'_>) -> Kind<'_> {
    let Kind::Of(schema, _) = kind else {
        return Kind::Open;
    };
    match (schema.kind, &schema.items, &schema.additional) {
        (Some(Type::Array), Some(items), _) => Kind::Of(items, items.embedded),
        (Some(Type::Object), _, Additional::Values(values)) => Kind::Of(values, values.embedded),
        _ => Kind::Open,
    }
}

impl Slip {
    /// What is wrong, in a sentence.
    pub(super) fn what(&self) -> String {
        match self {
            Self::Field { name, .. } => format!("there is no field `{name}`"),
            Self::Fieldless {
                name,
                of: Type::Array,
            } => format!("a list has no fields, and so no `{name}`"),
            Self::Fieldless { name, of } => format!("a {of} has no fields, and so no `{name}`"),
            Self::Name { name, .. } => format!("there is nothing called `{name}`"),
        }
    }

    /// What to do about it.
    pub(super) fn hint(&self) -> Option<String> {
        match self {
            Self::Field { near, .. } => near.as_ref().map(|near| format!("did you mean `{near}`?")),
            Self::Name {
                name,
                is_field: true,
            } => Some(format!("write `self.{name}`")),
            Self::Name { .. } | Self::Fieldless { .. } => None,
        }
    }

    /// The compiler's words, with the line that it shows.
    pub(super) fn compiler(&self, text: &str) -> String {
        let (words, at) = match self {
            Self::Field { name, asked, .. } => {
                let at = find(text, &format!(".{name}"));
                let has = at
                    .and_then(|at| text[..at].rfind("has("))
                    .filter(|_| *asked)
                    .map(|at| at + "has".len());
                (format!("undefined field '{name}'"), has.or(at))
            }
            Self::Fieldless { name, of } => {
                let of = match of {
                    Type::Array => "list",
                    Type::Integer => "int",
                    Type::Boolean => "bool",
                    Type::Number => "double",
                    other => other.as_str(),
                };
                (
                    format!("type '{of}' does not support field selection"),
                    find(text, &format!(".{name}")),
                )
            }
            Self::Name { name, .. } => (
                format!("undeclared reference to '{name}' (in container '')"),
                find(text, name),
            ),
        };
        let before = &text[..at.unwrap_or(0)];
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let (line, column) = (
            before.matches('\n').count() + 1,
            before[start..].chars().count(),
        );
        let shown = text[start..].lines().next().unwrap_or_default();
        format!(
            "ERROR: <input>:{line}:{}: {words}\n | {shown}\n | {}^",
            column + 1,
            ".".repeat(column)
        )
    }
}

/// Where a name stands that is not a part of another.
fn find(text: &str, name: &str) -> Option<usize> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = text.match_indices(name).map(|(at, _)| at);
    found.find(|at| {
        let before = text[..*at]
            .chars()
            .next_back()
            .is_some_and(|c| part(c) || c == '.');
        !text[at + name.len()..].starts_with(part) && (name.starts_with('.') || !before)
    })
}
