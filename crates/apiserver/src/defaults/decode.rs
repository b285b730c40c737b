//! What decoding into typed structs does to objects of built-in kinds: unknown fields and nulls go,
//! and quantities are written in their one way.

use objects::shape::{Scalar, Shape};
use serde_json::Value;

use super::quantity;

/// Does to an object what decoding does, and says whether a field was dropped that its type does
/// not know.
pub(crate) fn decode(shape: Shape<'_>, value: &mut Value) -> bool {
    let mut dropped = false;
    match value {
        Value::Object(fields) => {
            let Some(map) = shape.map() else { return false };
            fields.retain(|name, value| match map.find(name) {
                Some(field) => {
                    if value.is_null() {
                        return false;
                    }
                    dropped |= decode(map.at(field), value);
                    true
                }
                None => match map.element() {
                    Some(element) => {
                        if value.is_null() {
                            // A key without a value has the empty one.
                            match element.scalar() {
                                Some(Scalar::String) => *value = Value::String(String::new()),
                                Some(Scalar::Untyped) | None => {}
                                Some(_) => return false,
                            }
                        }
                        dropped |= decode(element, value);
                        true
                    }
                    None if map.fields().is_empty() => true,
                    None => {
                        dropped = true;
                        false
                    }
                },
            });
        }
        Value::Array(items) => {
            if let Some(list) = shape.list() {
                for item in items {
                    dropped |= decode(list.item(), item);
                }
            }
        }
        Value::String(text) if shape.scalar() == Some(Scalar::Quantity) => {
            if let Some(canonical) = quantity::canonical(text) {
                *text = canonical;
            }
        }
        Value::Number(number) if shape.scalar() == Some(Scalar::Quantity) => {
            let text = number.to_string();
            *value = Value::String(quantity::canonical(&text).unwrap_or(text));
        }
        _ => {}
    }
    dropped
}
