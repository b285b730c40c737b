//! What a template function is: its name, what it takes, how values flow through it, and its body.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use crate::cost::Cost;
use crate::error::{Error, ErrorKind};
use crate::exec::{Cx, Frame};
use crate::funcs;
use crate::limits::Over;
use crate::value::{Kind, List, Map, Text, Value, Width};

/// Which functions a template may call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Library {
    /// Go's own.
    Builtin,
    /// Go's and sprig's.
    Sprig,
    /// Go's, sprig's, Helm's, and those of `gtf` whose names are free.
    #[default]
    Helm,
}

/// A template function.
#[derive(Clone, Copy)]
pub struct Func {
    /// What templates call it.
    pub name: &'static str,
    /// The parameters it always takes.
    pub params: &'static [Param],
    /// The type of any further arguments, if it takes them.
    pub rest: Option<Param>,
    /// How marks travel from the arguments to the result in a watched run.
    pub flow: Flow,
    /// What calling it costs, as far as the arguments tell.
    pub cost: Cost,
    /// Its body.
    pub body: for<'a> fn(&mut Call<'_, '_, 'a>) -> Result<Value<'a>, Fault>,
}

impl std::fmt::Debug for Func {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// How a function's result depends on its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// On all of them, through and through. The result of something unknown is unknown.
    Compute,
    /// As `Compute`, but the shape of the text survives: something unknown stands in it as a
    /// placeholder.
    Shape,
    /// The body passes values on with their marks: it selects or packs, and looks at nothing else.
    Carry,
    /// The body answers for what is not there: a missing argument is the author's own business.
    Guard,
    /// The arguments decide which way to go, like the condition of an `if`.
    Decide,
}

/// The Go type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// `interface {}`: anything, nil included.
    Any,
    /// `reflect.Value`: anything, and nothing stays nothing.
    Value,
    /// `string`.
    Text,
    /// `int`.
    Int,
    /// `int64`.
    Int64,
    /// `uint32`.
    Uint32,
    /// `float64`.
    Float,
    /// `bool`.
    Bool,
    /// `[]interface {}`.
    List,
    /// `map[string]interface {}`.
    Map,
    /// A struct or pointer type, by its Go name.
    Object(&'static str),
}

impl Param {
    /// Its Go name.
    pub fn name(self) -> &'static str {
        match self {
            Param::Any => "interface {}",
            Param::Value => "reflect.Value",
            Param::Text => "string",
            Param::Int => "int",
            Param::Int64 => "int64",
            Param::Uint32 => "uint32",
            Param::Float => "float64",
            Param::Bool => "bool",
            Param::List => "[]interface {}",
            Param::Map => "map[string]interface {}",
            Param::Object(name) => name,
        }
    }

    /// What an explicit nil becomes as this type, if it can.
    pub(crate) fn zero<'a>(self) -> Option<Value<'a>> {
        match self {
            Param::Any => Some(Value::NIL),
            Param::Value => Some(Value::MISSING),
            Param::List => Some(Value::nil_list(crate::value::Element::Any)),
            Param::Map => Some(Value::nil_map()),
            Param::Object(name) if name.starts_with('*') => Some(Value::NIL),
            _ => None,
        }
    }

    pub(crate) fn accepts(self, value: &Value<'_>) -> bool {
        match (self, &value.kind) {
            (Param::Any | Param::Value, _) | (_, Kind::Unknown) => true,
            (Param::Text, Kind::Text(_))
            | (Param::Int, Kind::Int(_, Width::Int))
            | (Param::Int64, Kind::Int(_, Width::Int64))
            | (Param::Uint32, Kind::Int(_, Width::Uint32))
            | (Param::Float, Kind::Float(_))
            | (Param::Bool, Kind::Bool(_)) => true,
            (Param::List, Kind::List(list)) => list.element() == crate::value::Element::Any,
            (Param::Map, Kind::Map(map)) => map.element() == crate::value::Element::Any,
            (Param::Object(name), Kind::Object(object)) => object.type_name() == name,
            _ => false,
        }
    }
}

/// Why a function failed.
#[derive(Clone, Debug)]
pub struct Fault {
    /// In Go's words.
    pub text: String,
    pub(crate) kind: Option<ErrorKind>,
    /// The failure of a template that the function ran.
    pub(crate) inner: Option<Box<Error>>,
    /// The budget that was spent.
    pub(crate) over: Option<Over>,
}

impl Fault {
    /// A failure with a message.
    pub fn new(text: impl Into<String>) -> Fault {
        Fault {
            text: text.into(),
            kind: None,
            inner: None,
            over: None,
        }
    }

    pub(crate) fn limit(text: impl Into<String>) -> Fault {
        Fault {
            text: text.into(),
            kind: Some(ErrorKind::Limit),
            inner: None,
            over: None,
        }
    }

    pub(crate) fn over(over: Over) -> Fault {
        Fault {
            over: Some(over),
            ..Fault::limit(over.to_string())
        }
    }

    pub(crate) fn nested(inner: Box<Error>) -> Fault {
        Fault {
            text: inner.to_string(),
            kind: Some(inner.kind()),
            over: inner.over(),
            inner: Some(inner),
        }
    }
}

impl From<String> for Fault {
    fn from(text: String) -> Fault {
        Fault::new(text)
    }
}

impl From<&str> for Fault {
    fn from(text: &str) -> Fault {
        Fault::new(text)
    }
}

/// A call in progress. Arguments have been counted and checked against the parameters.
pub struct Call<'c, 'r, 'a> {
    pub(crate) frame: &'c mut Frame<'r, 'a>,
    pub(crate) dot: &'c Value<'a>,
    pub(crate) args: &'c [Value<'a>],
    pub(crate) func: &'static Func,
}

impl<'r, 'a> Call<'_, 'r, 'a> {
    pub(crate) fn cx(&self) -> &'r Cx<'a> {
        self.frame.cx
    }

    /// What `.` is where the call stands.
    pub fn dot(&self) -> Value<'a> {
        self.dot.clone()
    }

    /// Whether a template of that name can be called from here.
    pub fn has_template(&self, name: &str) -> bool {
        self.frame.scope.find(name).is_some()
    }

    /// Runs another template, as `include` does.
    pub fn execute(&mut self, name: &str, dot: &Value<'a>) -> Result<Value<'a>, Fault> {
        let scope = self.frame.scope;
        self.frame.capture(scope, name, dot)
    }

    /// Values drawn from now on are known by this name, whatever the place of the call.
    pub fn draw_as(&self, name: &str) {
        *self.frame.cx.draw_name.borrow_mut() = Some(name.to_string());
    }

    /// Values drawn from now on are known by the place of the call again.
    pub fn draw_as_usual(&self) {
        *self.frame.cx.draw_name.borrow_mut() = None;
    }

    /// Calls another function of the set with the arguments from `from` on, as if the template had.
    pub fn delegate(&mut self, name: &str, from: usize) -> Result<Value<'a>, Fault> {
        let options = &self.frame.cx.run.set.options;
        let func =
            find(options.funcs, name).ok_or_else(|| format!("there is no function {name:?}"))?;
        let args = self.args.get(from..).unwrap_or_default();
        let fits = if func.rest.is_some() {
            args.len() >= func.params.len()
        } else {
            args.len() == func.params.len()
        };
        if !fits {
            return Err(format!("{name} does not take {} arguments", args.len()).into());
        }
        for (index, value) in args.iter().enumerate() {
            let param = func
                .params
                .get(index)
                .copied()
                .or(func.rest)
                .unwrap_or(Param::Any);
            if !param.accepts(value) {
                return Err(format!(
                    "{name}: argument {} is {}, not {}",
                    index + 1,
                    value.type_name(),
                    param.name()
                )
                .into());
            }
        }
        self.frame
            .cx
            .work(func.cost.with(args, |value| self.frame.cx.elements(value)))?;
        (func.body)(&mut Call {
            frame: self.frame,
            dot: self.dot,
            args,
            func,
        })
    }

    /// Counts units of work that the function does beyond what its [`Cost`] says.
    ///
    /// # Errors
    /// If that is more than the run may do.
    pub fn spend(&self, work: u64) -> Result<(), Fault> {
        self.frame.cx.work(work)
    }

    /// How many arguments came.
    pub fn len(&self) -> usize {
        self.args.len()
    }

    /// Whether none came.
    pub fn is_empty(&self) -> bool {
        self.args.is_empty()
    }

    /// Argument `index`; nothing if it did not come.
    pub fn value(&self, index: usize) -> Value<'a> {
        self.args.get(index).cloned().unwrap_or(Value::MISSING)
    }

    /// A `string` argument.
    pub fn text(&self, index: usize) -> &[u8] {
        match self.args.get(index).map(|value| &value.kind) {
            Some(Kind::Text(text)) => text,
            _ => b"",
        }
    }

    /// A `string` argument that shares its bytes.
    pub(crate) fn shared_text(&self, index: usize) -> Text<'a> {
        match self.args.get(index).map(|value| &value.kind) {
            Some(Kind::Text(text)) => text.clone(),
            _ => Text::Borrowed(b""),
        }
    }

    /// A `string` argument as UTF-8; bytes that are not become U+FFFD.
    pub fn utf8(&self, index: usize) -> Cow<'_, str> {
        String::from_utf8_lossy(self.text(index))
    }

    /// An integer argument of any width.
    pub fn int(&self, index: usize) -> i64 {
        match self.args.get(index).map(|value| &value.kind) {
            Some(Kind::Int(value, _)) => *value,
            _ => 0,
        }
    }

    /// A `float64` argument.
    pub fn float(&self, index: usize) -> f64 {
        match self.args.get(index).map(|value| &value.kind) {
            Some(Kind::Float(value)) => *value,
            _ => 0.0,
        }
    }

    /// A `bool` argument.
    pub fn bool(&self, index: usize) -> bool {
        matches!(
            self.args.get(index).map(|value| &value.kind),
            Some(Kind::Bool(true))
        )
    }

    /// A `map[string]interface {}` argument.
    pub(crate) fn map(&self, index: usize) -> Map<'a> {
        match self.value(index).kind {
            Kind::Map(map) => map,
            _ => match Value::nil_map().kind {
                Kind::Map(map) => map,
                _ => unreachable!("a nil map is a map"),
            },
        }
    }

    /// The values of a `[]interface {}` argument.
    pub(crate) fn list(&self, index: usize) -> Option<List<'a>> {
        match self.value(index).kind {
            Kind::List(list) => Some(list),
            _ => None,
        }
    }
}

/// The function of that name in a library.
pub(crate) fn find(library: Library, name: &str) -> Option<&'static Func> {
    static TABLES: OnceLock<[HashMap<&'static str, &'static Func>; 3]> = OnceLock::new();
    let [builtin, sprig, helm] = TABLES.get_or_init(|| {
        [Library::Builtin, Library::Sprig, Library::Helm]
            .map(|library| funcs::of(library).map(|func| (func.name, func)).collect())
    });
    let table = match library {
        Library::Builtin => builtin,
        Library::Sprig => sprig,
        Library::Helm => helm,
    };
    table.get(name).copied()
}

/// Every function of a library, by name.
pub(crate) fn names(library: Library) -> Vec<&'static str> {
    let mut names: Vec<_> = funcs::of(library).map(|func| func.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}
