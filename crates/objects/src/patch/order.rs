//! The order of the items of a list that a strategic merge patch has changed: that of the patch
//! where it says one, else that of the live list.

use std::cmp::Ordering;

use serde_json::Value;

use crate::go;

/// What an item is known by: its key, or itself.
pub fn identity<'v>(item: &'v Value, key: Option<&str>) -> &'v Value {
    match (item, key) {
        (Value::Object(fields), Some(key)) => fields.get(key).unwrap_or(&Value::Null),
        _ => item,
    }
}

/// Places that items have in a list, to be looked up.
struct Places<'v> {
    sorted: Vec<(&'v Value, usize)>,
}

impl<'v> Places<'v> {
    fn of(list: &'v [Value], key: Option<&str>) -> Self {
        let mut sorted: Vec<_> = list
            .iter()
            .enumerate()
            .map(|(index, item)| (identity(item, key), index))
            .collect();
        sorted.sort_by(|one, other| go::compare(one.0, other.0).then(one.1.cmp(&other.1)));
        Self { sorted }
    }

    /// The first place of an item.
    fn find(&self, identity: &Value) -> Option<usize> {
        let at = self
            .sorted
            .partition_point(|(other, _)| go::compare(other, identity) == Ordering::Less);
        self.sorted
            .get(at)
            .filter(|(other, _)| same(other, identity))
            .map(|(_, index)| *index)
    }
}

/// Keys are the same only if they are of one type, too.
pub fn same(one: &Value, other: &Value) -> bool {
    one == other
}

/// Puts merged items in order: those that `wanted` names as it names them, the others as they were
/// in `live`, both woven together by their places in `live`.
pub fn arrange(
    merged: Vec<Value>,
    wanted: &[Value],
    live: &[Value],
    key: Option<&str>,
) -> Vec<Value> {
    let (wanted, live) = (Places::of(wanted, key), Places::of(live, key));
    let (mut named, mut others): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|item| wanted.find(identity(item, key)).is_some());
    named.sort_by_key(|item| wanted.find(identity(item, key)));
    others.sort_by_key(|item| live.find(identity(item, key)));
    let mut arranged = Vec::with_capacity(named.len() + others.len());
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    loop {
        let other_first = match (others.peek(), named.peek()) {
            (Some(other), Some(name)) => {
                let places = live
                    .find(identity(other, key))
                    .zip(live.find(identity(name, key)));
                places.is_some_and(|(other, name)| other < name)
            }
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return arranged,
        };
        arranged.extend(if other_first {
            others.next()
        } else {
            named.next()
        });
    }
}
