//! What a template computes with: Go's values, borrowed from the JSON data as long as nobody
//! changes them.

use std::borrow::{Borrow, Cow};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::Rc;

use serde_json::Value as Json;

use crate::object::Object;

/// A value and where it came from.
#[derive(Clone)]
pub struct Value<'a> {
    pub(crate) kind: Kind<'a>,
    /// The reads it depends on; see [`crate::trace`]. Zero outside a watched run.
    pub(crate) mark: u32,
    /// Whether it sits in an `interface {}` slot: Go's messages name that type and not the one
    /// inside.
    pub(crate) boxed: bool,
}

/// The kinds of value.
#[derive(Clone)]
pub(crate) enum Kind<'a> {
    /// Nothing: a key that is not there. Prints as `<no value>`.
    Missing,
    /// A null that is there.
    Nil,
    Bool(bool),
    Int(i64, Width),
    Float(f64),
    Complex(Rc<(f64, f64)>),
    Text(Text<'a>),
    List(List<'a>),
    Map(Map<'a>),
    Object(Rc<Object>),
    /// Something of the data that this run is not told.
    Unknown,
}

/// Which of Go's integer types. Unsigned ones keep their bits in the `i64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// `int`: literals, and what most functions answer.
    Int,
    /// `int64`: integers of the data, and sprig's arithmetic.
    Int64,
    /// `int32`, the type of a rune.
    Int32,
    /// `uint8`, a byte of a string.
    Uint8,
    /// `uint64`: integers of the data beyond `int64`.
    Uint64,
    /// `uint32`, a checksum.
    Uint32,
}

impl Width {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Width::Int => "int",
            Width::Int64 => "int64",
            Width::Int32 => "int32",
            Width::Uint8 => "uint8",
            Width::Uint64 => "uint64",
            Width::Uint32 => "uint32",
        }
    }

    pub(crate) fn unsigned(self) -> bool {
        matches!(self, Width::Uint8 | Width::Uint64 | Width::Uint32)
    }
}

/// A string, which in Go is any bytes.
#[derive(Clone)]
pub(crate) enum Text<'a> {
    Borrowed(&'a [u8]),
    Shared(Rc<[u8]>),
}

impl Text<'_> {
    pub fn lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self)
    }
}

impl Deref for Text<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Text::Borrowed(bytes) => bytes,
            Text::Shared(bytes) => bytes,
        }
    }
}

impl Borrow<[u8]> for Text<'_> {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text<'_> {}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl From<Vec<u8>> for Text<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Text::Shared(bytes.into())
    }
}

/// What a list's or dict's elements are declared as: Go's type names and checks depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// `interface {}`.
    Any,
    /// `string`.
    Text,
    /// `int`.
    Int,
    /// `uint8`.
    Byte,
    /// `[]interface {}`.
    List,
}

impl Element {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Element::Any => "interface {}",
            Element::Text => "string",
            Element::Int => "int",
            Element::Byte => "uint8",
            Element::List => "[]interface {}",
        }
    }
}

/// A list. No function changes one in place.
#[derive(Clone)]
pub(crate) enum List<'a> {
    Json(&'a Vec<Json>),
    Own(Rc<Items<'a>>),
}

pub(crate) struct Items<'a> {
    pub element: Element,
    /// Go tells a nil slice from an empty one: it is `null` in JSON.
    pub nil: bool,
    pub values: Vec<Value<'a>>,
    /// How deep lists nest below this one, so that no loop can build one too deep to drop.
    pub depth: usize,
}

/// A dict. `set` and its kin change it for everyone who holds it.
#[derive(Clone)]
pub(crate) enum Map<'a> {
    Json(&'a serde_json::Map<String, Json>),
    Own(Rc<Dict<'a>>),
}

pub(crate) struct Dict<'a> {
    pub element: Element,
    pub nil: bool,
    pub entries: RefCell<BTreeMap<Text<'a>, Value<'a>>>,
}

impl<'a> Value<'a> {
    pub(crate) const fn of(kind: Kind<'a>) -> Self {
        Value {
            kind,
            mark: 0,
            boxed: false,
        }
    }

    pub(crate) const MISSING: Self = Value::of(Kind::Missing);
    pub(crate) const NIL: Self = Value::of(Kind::Nil);

    /// A `bool`.
    pub fn bool(value: bool) -> Self {
        Value::of(Kind::Bool(value))
    }

    /// An `int`.
    pub fn int(value: i64) -> Self {
        Value::of(Kind::Int(value, Width::Int))
    }

    /// An `int64`.
    pub fn int64(value: i64) -> Self {
        Value::of(Kind::Int(value, Width::Int64))
    }

    /// A `float64`.
    pub fn float(value: f64) -> Self {
        Value::of(Kind::Float(value))
    }

    /// A `string`.
    pub fn text(bytes: impl Into<Vec<u8>>) -> Self {
        Value::of(Kind::Text(Text::Shared(bytes.into().into())))
    }

    /// A `string` that lives as long as the run.
    pub fn borrowed(bytes: &'a [u8]) -> Self {
        Value::of(Kind::Text(Text::Borrowed(bytes)))
    }

    pub(crate) fn object(object: Object) -> Self {
        Value::of(Kind::Object(Rc::new(object)))
    }

    pub(crate) fn list(element: Element, values: Vec<Value<'a>>) -> Self {
        let depth = 1 + values.iter().map(Value::list_depth).max().unwrap_or(0);
        Value::of(Kind::List(List::Own(Rc::new(Items {
            element,
            nil: false,
            values,
            depth,
        }))))
    }

    /// A `[]interface {}`.
    pub(crate) fn any_list(values: Vec<Value<'a>>) -> Self {
        Value::list(Element::Any, values)
    }

    pub(crate) fn nil_list(element: Element) -> Self {
        Value::of(Kind::List(List::Own(Rc::new(Items {
            element,
            nil: true,
            values: Vec::new(),
            depth: 1,
        }))))
    }

    pub(crate) fn nil_map() -> Self {
        let dict = Dict {
            element: Element::Any,
            nil: true,
            entries: RefCell::default(),
        };
        Value::of(Kind::Map(Map::Own(Rc::new(dict))))
    }

    fn list_depth(&self) -> usize {
        match &self.kind {
            Kind::List(List::Own(items)) => items.depth,
            _ => 0,
        }
    }

    /// A view of JSON data. Integers are integers, as in Kubernetes.
    pub(crate) fn json(json: &'a Json) -> Self {
        let kind = match json {
            Json::Null => Kind::Nil,
            Json::Bool(value) => Kind::Bool(*value),
            Json::Number(number) => {
                if let Some(int) = number.as_i64() {
                    Kind::Int(int, Width::Int64)
                } else if let Some(uint) = number.as_u64() {
                    Kind::Int(uint.cast_signed(), Width::Uint64)
                } else {
                    Kind::Float(number.as_f64().unwrap_or(f64::NAN))
                }
            }
            Json::String(text) => Kind::Text(Text::Borrowed(text.as_bytes())),
            Json::Array(values) => Kind::List(List::Json(values)),
            Json::Object(entries) => Kind::Map(Map::Json(entries)),
        };
        Value {
            kind,
            mark: 0,
            boxed: true,
        }
    }

    /// The value taken out of its `interface {}` slot: a null becomes nothing.
    pub(crate) fn unboxed(mut self) -> Self {
        self.boxed = false;
        if let Kind::Nil = self.kind {
            self.kind = Kind::Missing;
        }
        self
    }

    pub(crate) fn marked(mut self, mark: u32) -> Self {
        self.mark = mark;
        self
    }

    pub(crate) fn is_nil(&self) -> bool {
        matches!(self.kind, Kind::Nil | Kind::Missing)
    }

    /// The name of its Go type, as `%T` prints it.
    pub fn type_name(&self) -> Cow<'static, str> {
        match &self.kind {
            Kind::Missing | Kind::Nil => Cow::Borrowed("<nil>"),
            Kind::Bool(_) => Cow::Borrowed("bool"),
            Kind::Int(_, width) => Cow::Borrowed(width.name()),
            Kind::Float(_) => Cow::Borrowed("float64"),
            Kind::Complex(_) => Cow::Borrowed("complex128"),
            Kind::Text(_) => Cow::Borrowed("string"),
            Kind::List(list) => match list.element() {
                Element::Any => Cow::Borrowed("[]interface {}"),
                element => Cow::Owned(format!("[]{}", element.name())),
            },
            Kind::Map(map) => match map.element() {
                Element::Any => Cow::Borrowed("map[string]interface {}"),
                element => Cow::Owned(format!("map[string]{}", element.name())),
            },
            Kind::Object(object) => Cow::Borrowed(object.type_name()),
            Kind::Unknown => Cow::Borrowed("unknown"),
        }
    }

    /// The name of its Go kind, as sprig's `kindOf` answers it.
    pub(crate) fn kind_name(&self) -> &'static str {
        match &self.kind {
            Kind::Missing | Kind::Nil => "invalid",
            Kind::Bool(_) => "bool",
            Kind::Int(_, width) => width.name(),
            Kind::Float(_) => "float64",
            Kind::Complex(_) => "complex128",
            Kind::Text(_) => "string",
            Kind::List(_) => "slice",
            Kind::Map(_) => "map",
            Kind::Object(object) => object.kind_name(),
            Kind::Unknown => "unknown",
        }
    }
}

impl List<'_> {
    pub fn len(&self) -> usize {
        match self {
            List::Json(values) => values.len(),
            List::Own(items) => items.values.len(),
        }
    }

    pub fn element(&self) -> Element {
        match self {
            List::Json(_) => Element::Any,
            List::Own(items) => items.element,
        }
    }

    pub fn is_nil(&self) -> bool {
        matches!(self, List::Own(items) if items.nil)
    }
}

impl Map<'_> {
    pub fn element(&self) -> Element {
        match self {
            Map::Json(_) => Element::Any,
            Map::Own(dict) => dict.element,
        }
    }

    pub fn is_nil(&self) -> bool {
        matches!(self, Map::Own(dict) if dict.nil)
    }

    /// The address that names this dict in the run's tables.
    pub fn address(&self) -> usize {
        match self {
            Map::Json(entries) => std::ptr::from_ref(*entries).addr(),
            Map::Own(dict) => Rc::as_ptr(dict).addr(),
        }
    }
}
