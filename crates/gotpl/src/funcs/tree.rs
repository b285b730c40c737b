//! Values as JSON: written as Go's `encoding/json` writes them, and turned to and from `serde_json`
//! values.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Map as Fields, Number, Value as Json};

use super::knots::Depths;
use super::lists::charge_elements;
use super::reflect::too_deep;
use crate::exec::{Cx, MORE_STACK, RED_ZONE};
use crate::fmt::UNKNOWN;
use crate::func::Fault;
use crate::object::Object;
use crate::value::{Element, Kind, List, Map, Text, Value, Width};
use gocompat::base::encode64;
use gocompat::json::{write_float, write_string};
use gocompat::strings::to_valid;

/// How JSON is to look.
#[derive(Clone, Copy, Default)]
pub(crate) struct Style {
    /// Whether `<`, `>` and `&` are escaped.
    pub html: bool,
    /// Whether every element has a line of its own, indented by two spaces.
    pub pretty: bool,
}

/// The units of work of one value that is written, or read.
const ELEMENT: u64 = 100;
/// Of one byte of text that is to be written as YAML.
const WRITTEN: u64 = 20;

/// A value as Go's `json.Marshal` writes it.
pub(crate) fn write<'a>(cx: &Cx<'a>, value: &Value<'a>, style: Style) -> Result<Vec<u8>, Fault> {
    let depths = Depths::of(cx, value);
    let careful = cx.watched() && cx.is_unknown(value);
    let mut writer = Writer {
        cx,
        style,
        out: Vec::new(),
        depth: 0,
        depths,
        careful,
        counted: 0,
    };
    writer.value(value)?;
    Ok(writer.out)
}

struct Writer<'w, 'a> {
    cx: &'w Cx<'a>,
    style: Style,
    out: Vec<u8>,
    depth: usize,
    depths: Depths<'w, 'a>,
    /// Whether parts of the data may be unknown, and so must be read one by one.
    careful: bool,
    /// How much of the output has been counted as work.
    counted: usize,
}

impl<'a> Writer<'_, 'a> {
    fn value(&mut self, value: &Value<'a>) -> Result<(), Fault> {
        match &value.kind {
            Kind::Missing | Kind::Nil => self.out.extend_from_slice(b"null"),
            Kind::Bool(value) => {
                self.out
                    .extend_from_slice(if *value { b"true" } else { b"false" });
            }
            Kind::Int(value, width) => self.integer(*value, *width),
            Kind::Float(value) => self.float(*value)?,
            Kind::Complex(_) => return Err("json: unsupported type: complex128".into()),
            Kind::Text(text) => write_string(&mut self.out, text, self.style.html),
            Kind::List(list) if list.is_nil() => self.out.extend_from_slice(b"null"),
            Kind::Map(map) if map.is_nil() => self.out.extend_from_slice(b"null"),
            Kind::List(_) | Kind::Map(_) if self.depth >= self.cx.limits().nesting => {
                return self.depths.reached(value);
            }
            Kind::List(List::Json(values)) if !self.careful => self.array(values)?,
            Kind::List(list) => self.nested(b"[]", list.len(), |writer, index| {
                match writer.cx.item(list, index) {
                    Some(value) => writer.value(&value),
                    None => Ok(()),
                }
            })?,
            Kind::Map(map) => match self.cx.current(map) {
                Map::Json(fields) if !self.careful => self.fields(fields)?,
                map => {
                    let entries = self.cx.entries(&map);
                    let mut entries = entries.iter();
                    self.nested(b"{}", entries.len(), |writer, _| match entries.next() {
                        Some((key, value)) => {
                            writer.key(key);
                            writer.value(value)
                        }
                        None => Ok(()),
                    })?;
                }
            },
            Kind::Object(object) => match object.json()? {
                Json::Object(fields) => {
                    let mut fields = fields.iter();
                    self.nested(b"{}", fields.len(), |writer, _| {
                        if let Some((name, value)) = fields.next() {
                            writer.key(name.as_bytes());
                            writer.scalar(value);
                        }
                        Ok(())
                    })?;
                }
                json => self.scalar(&json),
            },
            Kind::Unknown => write_string(&mut self.out, UNKNOWN.as_bytes(), self.style.html),
        }
        Ok(())
    }

    /// A string or number of an object.
    fn scalar(&mut self, json: &Json) {
        match json {
            Json::String(text) => write_string(&mut self.out, text.as_bytes(), self.style.html),
            json => self.out.extend_from_slice(json.to_string().as_bytes()),
        }
    }

    /// Data as it came, without making values of it.
    fn json(&mut self, json: &'a Json) -> Result<(), Fault> {
        match json {
            Json::Null => self.out.extend_from_slice(b"null"),
            Json::Bool(value) => {
                self.out
                    .extend_from_slice(if *value { b"true" } else { b"false" });
            }
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(value), _) => self.integer(value, Width::Int64),
                (None, Some(value)) => self.integer(value.cast_signed(), Width::Uint64),
                (None, None) => self.float(number.as_f64().unwrap_or(f64::NAN))?,
            },
            Json::String(text) => write_string(&mut self.out, text.as_bytes(), self.style.html),
            Json::Array(values) => self.array(values)?,
            Json::Object(fields) => self.value(&Value::of(Kind::Map(Map::Json(fields))))?,
        }
        Ok(())
    }

    fn array(&mut self, values: &'a [Json]) -> Result<(), Fault> {
        self.nested(b"[]", values.len(), |writer, index| {
            match values.get(index) {
                Some(value) => writer.json(value),
                None => Ok(()),
            }
        })
    }

    fn fields(&mut self, fields: &'a Fields<String, Json>) -> Result<(), Fault> {
        let mut entries = fields.iter();
        self.nested(b"{}", fields.len(), |writer, _| match entries.next() {
            Some((key, value)) => {
                writer.key(key.as_bytes());
                writer.json(value)
            }
            None => Ok(()),
        })
    }

    fn key(&mut self, key: &[u8]) {
        write_string(&mut self.out, key, self.style.html);
        self.out
            .extend_from_slice(if self.style.pretty { b": " } else { b":" });
    }

    fn nested(
        &mut self,
        brackets: &[u8; 2],
        count: usize,
        mut element: impl FnMut(&mut Self, usize) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if self.depth >= self.cx.limits().nesting {
            return Err(too_deep(self.cx));
        }
        self.out.push(brackets[0]);
        self.depth += 1;
        for index in 0..count {
            if index > 0 {
                self.out.push(b',');
            }
            self.line_break();
            let before = self.out.len();
            stacker::maybe_grow(RED_ZONE, MORE_STACK, || element(self, index))?;
            // What is inside has been counted; a scalar has not.
            let made = if self.counted > before {
                0
            } else {
                self.out.len() - before
            };
            self.counted = self.out.len();
            self.cx.work(ELEMENT + made as u64)?;
            self.cx.fits(self.out.len())?;
        }
        self.depth -= 1;
        if count > 0 {
            self.line_break();
        }
        self.out.push(brackets[1]);
        Ok(())
    }

    fn line_break(&mut self) {
        if self.style.pretty {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * self.depth, b' ');
        }
    }

    fn integer(&mut self, value: i64, width: Width) {
        let text = if width.unsigned() {
            value.cast_unsigned().to_string()
        } else {
            value.to_string()
        };
        self.out.extend_from_slice(text.as_bytes());
    }

    fn float(&mut self, value: f64) -> Result<(), Fault> {
        write_float(&mut self.out, value).map_err(|error| Fault::new(error.to_string()))
    }
}

/// A value as a tree of its own, by the same rules. Numbers keep their kind.
pub(crate) fn to_json<'a>(cx: &Cx<'a>, value: &Value<'a>) -> Result<Json, Fault> {
    let depths = Depths::of(cx, value);
    Grower {
        cx,
        plain: None,
        depths,
    }
    .tree(value, cx.limits().nesting)
}

/// Texts that stand in a tree for scalars it cannot hold, and how those are written.
pub(crate) type StandIns = Vec<(String, String)>;

/// A value as a tree as YAML's own library sees it: what is nil is empty, and objects print
/// themselves.
pub(crate) fn to_plain<'a>(cx: &Cx<'a>, value: &Value<'a>) -> Result<(Json, StandIns), Fault> {
    let depths = Depths::of(cx, value);
    let grower = Grower {
        cx,
        plain: Some(RefCell::default()),
        depths,
    };
    let json = grower.tree(value, cx.limits().nesting)?;
    Ok((
        json,
        grower.plain.map(RefCell::into_inner).unwrap_or_default(),
    ))
}

struct Grower<'g, 'a> {
    cx: &'g Cx<'a>,
    depths: Depths<'g, 'a>,
    plain: Option<RefCell<StandIns>>,
}

impl<'a> Grower<'_, 'a> {
    fn tree(&self, value: &Value<'a>, depth: usize) -> Result<Json, Fault> {
        let cx = self.cx;
        let deeper = || depth.checked_sub(1).ok_or_else(|| too_deep(cx));
        cx.work(ELEMENT)?;
        Ok(match &value.kind {
            Kind::Missing | Kind::Nil => Json::Null,
            Kind::Bool(value) => Json::Bool(*value),
            Kind::Int(value, width) if width.unsigned() => value.cast_unsigned().into(),
            Kind::Int(value, _) => (*value).into(),
            Kind::Float(value) => match Number::from_f64(*value) {
                Some(number) => Json::Number(number),
                None => match &self.plain {
                    Some(odd) if value.is_nan() => stand_in(odd, ".nan"),
                    Some(odd) => stand_in(odd, if *value > 0.0 { ".inf" } else { "-.inf" }),
                    None => {
                        write_float(&mut Vec::new(), *value)
                            .map_err(|error| Fault::new(error.to_string()))?;
                        Json::Null
                    }
                },
            },
            Kind::Complex(_) if self.plain.is_some() => {
                return Err("cannot marshal type: complex128".into());
            }
            Kind::Complex(_) => return Err("json: unsupported type: complex128".into()),
            Kind::Text(text) => match &self.plain {
                Some(odd) if std::str::from_utf8(text).is_err() => {
                    cx.charge(text.len().saturating_mul(2))?;
                    stand_in(odd, &format!("!!binary {}", encode64(text)))
                }
                _ => Json::String(valid(cx, text)?),
            },
            Kind::List(list) if list.is_nil() && self.plain.is_none() => Json::Null,
            Kind::Map(map) if map.is_nil() && self.plain.is_none() => Json::Null,
            Kind::List(_) | Kind::Map(_) if depth == 0 && self.plain.is_none() => {
                self.depths.reached(value)?;
                Json::Null
            }
            Kind::List(list) => {
                let depth = deeper()?;
                charge_elements(cx, list.len())?;
                indented(cx, list.len(), depth)?;
                let items = (0..list.len()).filter_map(|index| cx.item(list, index));
                let items: Result<Vec<_>, Fault> =
                    stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
                        items.map(|item| self.tree(&item, depth)).collect()
                    });
                Json::Array(items?)
            }
            Kind::Map(map) => {
                let depth = deeper()?;
                charge_elements(cx, cx.size(map))?;
                indented(cx, cx.size(map), depth)?;
                let fields: Result<Fields<_, _>, Fault> =
                    stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
                        let entries = cx.entries(map).into_iter();
                        entries
                            .map(|(key, value)| Ok((valid(cx, &key)?, self.tree(&value, depth)?)))
                            .collect()
                    });
                Json::Object(fields?)
            }
            Kind::Object(object) => match (&self.plain, &**object, object.json()?) {
                (Some(_), Object::Duration(_), _) => Json::from(object.string()),
                (Some(odd), Object::Time(_), Json::String(text)) => stand_in(odd, &text),
                (Some(_), _, Json::Object(fields)) => fields
                    .into_iter()
                    .map(|(name, value)| (name.to_lowercase(), value))
                    .collect(),
                (_, _, json) => json,
            },
            Kind::Unknown => Json::String(UNKNOWN.to_string()),
        })
    }
}

/// Pays for the space before so many lines, when there are `depth` levels left.
fn indented(cx: &Cx<'_>, lines: usize, depth: usize) -> Result<(), Fault> {
    let level = cx.limits().nesting.saturating_sub(depth);
    cx.charge(lines.saturating_mul(level))
}

/// A text that no author would write, for a scalar that is to stand there as it is.
fn stand_in(odd: &RefCell<StandIns>, scalar: &str) -> Json {
    let mut odd = odd.borrow_mut();
    let text = format!("x5f0c2a1e7b9d4836-{}-x", odd.len());
    odd.push((text.clone(), scalar.to_string()));
    Json::String(text)
}

fn valid(cx: &Cx<'_>, text: &[u8]) -> Result<String, Fault> {
    cx.charge(text.len())?;
    cx.work(WRITTEN * text.len() as u64)?;
    match std::str::from_utf8(text) {
        Ok(text) => Ok(text.to_string()),
        Err(_) => Ok(String::from_utf8_lossy(&to_valid(text)).into_owned()),
    }
}

/// Which Go type the numbers of a text have once read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// `float64`, all of them.
    Floats,
    /// Integers are integers.
    Typed,
}

/// A tree as a value of this run.
pub(crate) fn from_json<'a>(
    cx: &Cx<'a>,
    json: &Json,
    numbers: Numbers,
) -> Result<Value<'a>, Fault> {
    from_json_within(cx, json, numbers, cx.limits().nesting)
}

fn from_json_within<'a>(
    cx: &Cx<'a>,
    json: &Json,
    numbers: Numbers,
    depth: usize,
) -> Result<Value<'a>, Fault> {
    let deeper = || depth.checked_sub(1).ok_or_else(|| too_deep(cx));
    cx.work(ELEMENT)?;
    Ok(match json {
        Json::Null => Value::NIL,
        Json::Bool(value) => Value::bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) if numbers == Numbers::Typed => Value::int64(value),
            (None, Some(value)) if numbers == Numbers::Typed => {
                Value::of(Kind::Int(value.cast_signed(), Width::Uint64))
            }
            _ => Value::float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => {
            cx.charge(text.len())?;
            Value::text(text.as_bytes())
        }
        Json::Array(values) => {
            let depth = deeper()?;
            charge_elements(cx, values.len())?;
            let values: Result<Vec<_>, _> = stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
                values
                    .iter()
                    .map(|value| from_json_within(cx, value, numbers, depth))
                    .collect()
            });
            Value::any_list(values?)
        }
        Json::Object(fields) => {
            let depth = deeper()?;
            charge_elements(cx, fields.len())?;
            let entries: Result<BTreeMap<_, _>, Fault> =
                stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
                    let entry = |(key, value): (&String, &Json)| {
                        let key = Text::from(key.as_bytes().to_vec());
                        Ok((key, from_json_within(cx, value, numbers, depth)?))
                    };
                    fields.iter().map(entry).collect()
                });
            cx.dict(Element::Any, entries?)
        }
    })
}
