//! Helm's YAML out of values and into them. Reading answers errors as values, and numbers as
//! `float64`, since it goes through JSON.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::entry::{Answer, Body, fixed};
use super::json::{as_dict, as_list, is_limit, or_empty, or_error_entry, or_error_item};
use super::tree;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::{Element, Kind, Value};

pub(crate) const TABLE: &[Func] = &[
    writing("toYaml", |call| or_empty(written(call))),
    writing("mustToYaml", |call| written(call)),
    writing("toYamlPretty", pretty),
    reading("fromYaml", |call| {
        let answer = parse(call).and_then(|json| match json {
            Json::Null => Ok(call.cx().dict(Element::Any, BTreeMap::new())),
            json => as_dict(call.cx(), &json).map_err(while_decoding),
        });
        or_error_entry(call.cx(), answer)
    }),
    reading("fromYamlArray", |call| {
        let answer = parse(call).and_then(|json| match json {
            Json::Null => Ok(Value::any_list(Vec::new())),
            json => as_list(call.cx(), &json).map_err(while_decoding),
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

/// The text without its last line break.
fn text<'a>(mut text: String) -> Value<'a> {
    if text.ends_with('\n') {
        text.pop();
    }
    Value::of(Kind::Text(text.into_bytes().into()))
}

fn written<'a>(call: &Call<'_, '_, 'a>) -> Answer<'a> {
    let json = tree::to_json(call.cx(), &call.args[0])
        .map_err(|fault| about("error marshaling into JSON", fault))?;
    yaml::emit(&json)
        .map(text)
        .map_err(|error| error.to_string().into())
}

/// Written from the values themselves, so that some scalars look as JSON could not have them: they
/// are written as stand-ins, and then put in their place.
fn pretty<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let (json, odd) = tree::to_plain(call.cx(), &call.args[0])?;
    let mut out = yaml::emit_pretty(&json);
    call.spend((odd.len() as u64).saturating_mul(out.len() as u64))?;
    for (stand_in, scalar) in odd {
        out = out.replacen(&stand_in, &scalar, 1);
    }
    Ok(text(out))
}

fn parse(call: &Call<'_, '_, '_>) -> Result<Json, Fault> {
    let limits = yaml::Limits {
        depth: call.cx().limits().nesting,
        ..yaml::Limits::default()
    };
    let failed = |text: String| Fault::new(format!("error converting YAML to JSON: {text}"));
    match std::str::from_utf8(call.text(0)) {
        Ok(text) => yaml::parse_with(text, &limits).map_err(|error| failed(error.to_string())),
        Err(error) if error.error_len().is_none() => {
            Err(failed("yaml: incomplete UTF-8 octet sequence".to_string()))
        }
        Err(error) => {
            let lead = call
                .text(0)
                .get(error.valid_up_to())
                .copied()
                .unwrap_or_default();
            let part = if (0xc2..0xf5).contains(&lead) {
                "trailing"
            } else {
                "leading"
            };
            Err(failed(format!("yaml: invalid {part} UTF-8 octet")))
        }
    }
}

fn while_decoding(fault: Fault) -> Fault {
    about("error unmarshaling JSON: while decoding JSON", fault)
}

/// The fault, introduced; a limit speaks for itself.
fn about(begin: &str, mut fault: Fault) -> Fault {
    if !is_limit(&fault) {
        fault.text = format!("{begin}: {}", fault.text);
    }
    fault
}
