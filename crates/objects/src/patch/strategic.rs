//! Strategic merge patches: merge patches that know lists by their keys, and take directives.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::PatchError;
use super::merge::without_nulls;
use super::order::{arrange, identity, same};
use crate::go;
use crate::shape::{Field, Shape};

const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";

const BAD_ORDER: &str = "invalid patch format of setElementOrder list";
const BAD_RETAIN: &str = "invalid patch format of retainKeys";
const BAD_PRIMITIVES: &str = "invalid patch format of primitive list";

type Fields = Map<String, Value>;

/// The object after the patch, by the type of the object.
pub fn strategic_merge_patch(
    object: &Value,
    patch: &Value,
    shape: Shape<'_>,
) -> Result<Value, PatchError> {
    let Value::Object(patch) = patch else {
        return Err(PatchError::BadRequest(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            super::kind(patch)
        )));
    };
    let object = object.as_object().cloned().unwrap_or_default();
    merge(object, patch.clone(), shape).map(Value::Object)
}

fn merge(mut object: Fields, mut patch: Fields, shape: Shape<'_>) -> Result<Fields, PatchError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Fields::new()),
            _ => Err(unknown_directive(directive, &patch)),
        };
    }
    retain(&mut object, &mut patch)?;
    reorder(&mut object, &mut patch, shape)?;
    for (key, value) in patch {
        let (name, deletes) = match key.strip_prefix(DELETE_FROM) {
            Some(rest) => (
                rest.strip_prefix('/')
                    .ok_or_else(|| bad(BAD_PRIMITIVES))?
                    .to_owned(),
                true,
            ),
            None => (key, false),
        };
        if value.is_null() {
            object.remove(&name);
            continue;
        }
        if deletes {
            if let (Some(Value::Array(current)), Value::Array(gone)) =
                (object.get_mut(&name), &value)
            {
                lookup(shape, &name)?;
                let gone = identities(gone.iter());
                current.retain(|item| !gone.contains(&item.to_string()));
            }
            continue;
        }
        let merged = match (object.remove(&name), value) {
            (Some(Value::Object(current)), Value::Object(fields)) => {
                let (field, inner) = lookup(shape, &name)?;
                if field.strategy().replace {
                    Some(Value::Object(fields))
                } else {
                    Some(Value::Object(merge(current, fields, inner)?))
                }
            }
            (Some(Value::Array(current)), Value::Array(items)) => {
                let (field, inner) = lookup(shape, &name)?;
                Some(Value::Array(merge_list(current, items, field, inner)?))
            }
            (_, value) => without_directives(without_nulls(&value)),
        };
        if let Some(merged) = merged {
            object.insert(name, merged);
        }
    }
    Ok(object)
}

/// The field of a struct, and its type.
fn lookup<'s>(shape: Shape<'s>, name: &str) -> Result<(&'s Field, Shape<'s>), PatchError> {
    let map = shape.map();
    let found = map.and_then(|map| map.find(name).map(|field| (field, map.at(field))));
    found.ok_or_else(|| {
        PatchError::Internal(match map {
            Some(map) if map.fields().is_empty() => {
                "merging an object in json but data type is not struct, instead is: map".to_owned()
            }
            map => {
                let of = map
                    .and_then(crate::shape::MapShape::type_name)
                    .unwrap_or_default();
                format!(
                    "unable to find api field in struct {of} for the json field {}",
                    go::quoted(name)
                )
            }
        })
    })
}

/// Drops what `$retainKeys` does not name.
fn retain(object: &mut Fields, patch: &mut Fields) -> Result<(), PatchError> {
    let Some(kept) = patch.remove(RETAIN) else {
        return Ok(());
    };
    let Value::Array(kept) = kept else {
        return Err(bad(BAD_RETAIN));
    };
    let kept: HashSet<&str> = kept.iter().filter_map(Value::as_str).collect();
    let is_kept = |name: &str| kept.contains(name);
    for (name, value) in &*patch {
        let directive = name.starts_with(DELETE_FROM) || name.starts_with(ORDER);
        if !value.is_null() && !directive && !is_kept(name) {
            return Err(bad(BAD_RETAIN));
        }
    }
    object.retain(|name, _| is_kept(name));
    Ok(())
}

/// Merges the lists whose order the patch says.
fn reorder(object: &mut Fields, patch: &mut Fields, shape: Shape<'_>) -> Result<(), PatchError> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|key| key.starts_with(ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let order = match patch.remove(&directive) {
            Some(Value::Array(order)) => order,
            other => return Err(wrong_type("[]interface {}", &other.unwrap_or_default())),
        };
        let Some(name) = directive
            .strip_prefix(ORDER)
            .and_then(|rest| rest.strip_prefix('/'))
        else {
            return Err(bad(BAD_ORDER));
        };
        let live = list(object.get(name))?;
        let items = list(patch.get(name))?;
        let (field, inner) = lookup(shape, name)?;
        let key = field.merge_key().map(AsRef::as_ref);
        check_order(items.as_deref().unwrap_or_default(), &order, key)?;
        let merged = match (live.clone(), items.clone()) {
            (Some(live), None) => live,
            (None, Some(items)) => match without_directives(Value::Array(items)) {
                Some(Value::Array(items)) => items,
                _ => continue,
            },
            (Some(live), Some(items)) => merge_list(live, items, field, inner)?,
            (None, None) => continue,
        };
        let (live, items) = (live.unwrap_or_default(), items.unwrap_or_default());
        if let Some(key) = key {
            check_keys(&merged, key)?;
        }
        let maps = item_type(&live, &items)?;
        if maps && let Some(key) = key {
            check_keys(&order, key)?;
            check_keys(&live, key)?;
        }
        object.insert(
            name.to_owned(),
            Value::Array(arrange(merged, &order, &live, key)),
        );
        patch.remove(name);
    }
    Ok(())
}

fn list(value: Option<&Value>) -> Result<Option<Vec<Value>>, PatchError> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.clone())),
        Some(other) => Err(wrong_type("[]interface {}", other)),
    }
}

/// The items of the patch have to come in the order that it says.
fn check_order(items: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if items.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut kept = Vec::new();
    for item in items {
        match (item, key) {
            (Value::Object(fields), Some(_))
                if fields.get(DIRECTIVE) == Some(&Value::from("delete")) => {}
            (Value::Object(_), _) | (_, None) => kept.push(item),
            (other, Some(_)) => return Err(wrong_type("map[string]interface {}", other)),
        }
    }
    let mut expected = order.iter();
    for item in kept {
        if item.get(DIRECTIVE).is_some() {
            continue;
        }
        loop {
            let Some(next) = expected.next() else {
                return Err(PatchError::Internal(format!(
                    "The order in patch list:\n{}\n doesn't match {ORDER} list:\n{}\n",
                    go::plain(&Value::Array(items.to_vec())),
                    go::plain(&Value::Array(order.to_vec()))
                )));
            };
            if let Some(key) = key {
                check_keys(&[item.clone(), next.clone()], key)?;
            }
            if same(identity(item, key), identity(next, key)) {
                break;
            }
        }
    }
    Ok(())
}

/// Merges two lists as the strategy of their field says.
fn merge_list(
    live: Vec<Value>,
    items: Vec<Value>,
    field: &Field,
    shape: Shape<'_>,
) -> Result<Vec<Value>, PatchError> {
    if !field.strategy().merge {
        return Ok(items);
    }
    if live.is_empty() && items.is_empty() {
        return Ok(live);
    }
    let key = field.merge_key().map(AsRef::as_ref);
    if !item_type(&live, &items)? {
        let mut seen = HashSet::new();
        let merged = live
            .iter()
            .chain(&items)
            .filter(|item| seen.insert(item.to_string()))
            .cloned()
            .collect();
        return Ok(arrange(merged, &items, &live, None));
    }
    let Some(key) = key else {
        let of = shape
            .item()
            .and_then(Shape::map)
            .and_then(crate::shape::MapShape::type_name)
            .unwrap_or_default();
        return Err(PatchError::Internal(format!(
            "cannot merge lists without merge key for {of}"
        )));
    };
    let (live, items) = special_items(live, items, key)?;
    let inner = shape.item().unwrap_or(shape);
    let mut merged = live.clone();
    // The first item with a key is the one that is merged with.
    let mut places: HashMap<String, usize> = HashMap::with_capacity(live.len());
    for (index, item) in live.iter().enumerate() {
        if let Some(value) = item.get(key) {
            places.entry(value.to_string()).or_insert(index);
        }
    }
    for item in &items {
        let Value::Object(fields) = item else {
            continue;
        };
        let Some(value) = fields.get(key) else {
            return Err(no_key(fields, key));
        };
        match places
            .get(&value.to_string())
            .and_then(|index| merged.get_mut(*index))
        {
            Some(Value::Object(current)) => {
                *current = merge(std::mem::take(current), fields.clone(), inner)?;
            }
            _ => {
                places.insert(value.to_string(), merged.len());
                merged.push(item.clone());
            }
        }
    }
    check_keys(&merged, key)?;
    check_keys(&live, key)?;
    Ok(arrange(merged, &items, &live, Some(key)))
}

/// Does what items with a directive say, and leaves the others.
fn special_items(
    mut live: Vec<Value>,
    items: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut others = Vec::with_capacity(items.len());
    let mut deleted = HashSet::new();
    let mut replaces = false;
    for item in items {
        let Value::Object(fields) = &item else {
            continue;
        };
        match fields.get(DIRECTIVE) {
            None => others.push(item),
            Some(Value::String(word)) if word == "delete" => {
                let Some(value) = fields.get(key) else {
                    return Err(no_key(fields, key));
                };
                deleted.insert(value.to_string());
            }
            Some(Value::String(word)) if word == "replace" => replaces = true,
            Some(Value::String(word)) if word == "merge" => {
                return Err(PatchError::Internal(
                    "merging lists cannot yet be specified in the patch".to_owned(),
                ));
            }
            Some(other) => return Err(unknown_directive(other, fields)),
        }
    }
    live.retain(|item| {
        item.get(key)
            .is_none_or(|value| !deleted.contains(&value.to_string()))
    });
    Ok(if replaces {
        (others, Vec::new())
    } else {
        (live, others)
    })
}

/// Whether the items of both lists are maps; they have to be of one type.
fn item_type(live: &[Value], items: &[Value]) -> Result<bool, PatchError> {
    let mut types = live.iter().chain(items).map(go::type_name);
    let Some(first) = types.next() else {
        return Err(PatchError::Internal(
            "no elements in any of the given slices".to_owned(),
        ));
    };
    if first == "[]interface {}" {
        return Err(PatchError::Unprocessable(
            "lists of lists are not supported".to_owned(),
        ));
    }
    if types.any(|other| other != first) {
        let both = [live, items].map(|list| go::plain(&Value::Array(list.to_vec())));
        return Err(PatchError::Internal(format!(
            "list element types are not identical: [{}]",
            both.join(" ")
        )));
    }
    Ok(first == "map[string]interface {}")
}

fn check_keys(items: &[Value], key: &str) -> Result<(), PatchError> {
    for item in items {
        let Value::Object(fields) = item else {
            return Err(wrong_type("map[string]interface {}", item));
        };
        if !fields.contains_key(key) {
            return Err(no_key(fields, key));
        }
    }
    Ok(())
}

/// What is new has nothing to merge with: its directives go, and what they are in.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => Some(
            fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, without_directives(value)?)))
                .collect(),
        ),
        Value::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        other => Some(other),
    }
}

/// Values to be looked up: the same only if they are of one type, too.
fn identities<'v>(values: impl Iterator<Item = &'v Value>) -> HashSet<String> {
    values.map(ToString::to_string).collect()
}

fn bad(what: &str) -> PatchError {
    PatchError::BadRequest(what.to_owned())
}

fn no_key(fields: &Fields, key: &str) -> PatchError {
    let shown = go::plain(&Value::Object(fields.clone()));
    PatchError::Internal(format!(
        "map: {shown} does not contain declared merge key: {key}"
    ))
}

fn wrong_type(expected: &str, value: &Value) -> PatchError {
    let received = if value.is_null() {
        "%!s(<nil>)"
    } else {
        go::type_name(value)
    };
    PatchError::Internal(format!("expected a {expected}, but received a {received}"))
}

fn unknown_directive(directive: &Value, fields: &Fields) -> PatchError {
    let shown = go::plain(&Value::Object(fields.clone()));
    PatchError::Internal(format!(
        "unknown patch type: {} in map: {shown}",
        go::plain(directive)
    ))
}
