//! JSON out of values and into them: sprig's functions, and below them Helm's, which answer errors
//! as values.

use serde_json::Value as Json;

use super::entry::{Answer, Body, fixed};
use super::tree::{self, Numbers, Style};
use crate::error::ErrorKind;
use crate::exec::Cx;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::{Element, Kind, Map, Text, Value};

const HTML: Style = Style {
    html: true,
    pretty: false,
};
const PRETTY: Style = Style {
    html: true,
    pretty: true,
};
const RAW: Style = Style {
    html: false,
    pretty: false,
};

pub(crate) const TABLE: &[Func] = &[
    writing("toJson", |call| or_empty(written(call, HTML))),
    writing("mustToJson", |call| written(call, HTML)),
    writing("toPrettyJson", |call| or_empty(written(call, PRETTY))),
    writing("mustToPrettyJson", |call| written(call, PRETTY)),
    writing("toRawJson", |call| written(call, RAW)),
    writing("mustToRawJson", |call| written(call, RAW)),
    reading("fromJson", |call| match parse(call) {
        Ok((json, _)) => tree::from_json(call.cx(), &json, Numbers::Floats),
        Err(fault) if !is_limit(&fault) => Ok(Value::NIL),
        Err(fault) => Err(fault),
    }),
    reading("mustFromJson", |call| match parse(call)? {
        (_, Some(fault)) => Err(fault),
        (json, None) => tree::from_json(call.cx(), &json, Numbers::Floats),
    }),
];

/// Helm's, which replace sprig's of the same name.
pub(crate) const HELM: &[Func] = &[
    reading("fromJson", from_json),
    reading("fromJsonArray", |call| {
        let answer =
            parse(call).and_then(|(json, fault)| match (as_list(call.cx(), &json), fault) {
                (Ok(_), Some(fault)) => Err(fault),
                (answer, _) => answer,
            });
        or_error_item(call.cx(), answer)
    }),
];

const fn writing(name: &'static str, body: Body) -> Func {
    fixed(name, &[Param::Any], Flow::Shape, body)
}

const fn reading(name: &'static str, body: Body) -> Func {
    fixed(name, &[Param::Text], Flow::Compute, body)
}

pub(super) fn is_limit(fault: &Fault) -> bool {
    fault.kind == Some(ErrorKind::Limit)
}

/// The answer; nothing at all if it failed for any reason but a limit.
pub(super) fn or_empty(answer: Answer<'_>) -> Answer<'_> {
    match answer {
        Err(fault) if !is_limit(&fault) => Ok(Value::borrowed(b"")),
        answer => answer,
    }
}

/// The answer; a dict with the failure under `Error` if it failed.
pub(super) fn or_error_entry<'a>(cx: &Cx<'a>, answer: Answer<'a>) -> Answer<'a> {
    match answer {
        Err(fault) if !is_limit(&fault) => {
            let entry = (Text::Borrowed(b"Error"), Value::text(fault.text));
            Ok(cx.dict(Element::Any, [entry].into()))
        }
        answer => answer,
    }
}

/// The answer; a list of nothing but the failure if it failed.
pub(super) fn or_error_item<'a>(cx: &Cx<'a>, answer: Answer<'a>) -> Answer<'a> {
    match answer {
        Err(fault) if !is_limit(&fault) => {
            super::lists::pack(cx, Element::Any, vec![Value::text(fault.text)])
        }
        answer => answer,
    }
}

/// A tree as the dict it has to be; null is a nil one.
pub(super) fn as_dict<'a>(cx: &Cx<'a>, json: &Json) -> Answer<'a> {
    match json {
        Json::Null => Ok(Value::nil_map()),
        Json::Object(_) => tree::from_json(cx, json, Numbers::Floats),
        _ => Err(mismatch(json, Param::Map)),
    }
}

/// A tree as the list it has to be; null is a nil one.
pub(super) fn as_list<'a>(cx: &Cx<'a>, json: &Json) -> Answer<'a> {
    match json {
        Json::Null => Ok(Value::nil_list(Element::Any)),
        Json::Array(_) => tree::from_json(cx, json, Numbers::Floats),
        _ => Err(mismatch(json, Param::List)),
    }
}

fn mismatch(json: &Json, wanted: Param) -> Fault {
    let found = match json {
        Json::Null => "null",
        Json::Bool(_) => "bool",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    format!(
        "json: cannot unmarshal {found} into Go value of type {}",
        wanted.name()
    )
    .into()
}

fn written<'a>(call: &Call<'_, '_, 'a>, style: Style) -> Answer<'a> {
    Ok(Value::of(Kind::Text(
        tree::write(call.cx(), &call.args[0], style)?.into(),
    )))
}

/// The text read, and what was wrong with a number in it.
fn parse(call: &Call<'_, '_, '_>) -> Result<(Json, Option<Fault>), Fault> {
    let cx = call.cx();
    match gocompat::json::decode_leniently(call.text(0), cx.limits().nesting) {
        Ok((json, error)) => Ok((json, error.map(|error| error.to_string().into()))),
        Err(error) => match error.to_string() {
            text if text == "exceeded max depth" => Err(super::reflect::too_deep(cx)),
            text => Err(text.into()),
        },
    }
}

fn from_json<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let cx = call.cx();
    let answer = parse(call).and_then(|(json, fault)| {
        let value = as_dict(cx, &json)?;
        if let (Kind::Map(Map::Own(dict)), Some(fault)) = (&value.kind, fault) {
            dict.entries
                .borrow_mut()
                .insert(Text::Borrowed(b"Error"), Value::text(fault.text));
        }
        Ok(value)
    });
    or_error_entry(cx, answer)
}
