//! Values that hold themselves, which `set` can make: telling them from values that are only deep,
//! as Go's JSON does.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::rc::Rc;

use super::reflect::too_deep;
use crate::exec::Cx;
use crate::func::Fault;
use crate::value::{Kind, List, Map, Value};

/// What to do where a value is too deep to be written.
///
/// Go looks for values inside themselves only this far down, so that its error names the type of
/// the first such value that happens to be there; whatever else is there it passes by.
pub(super) struct Depths<'d, 'a> {
    cx: &'d Cx<'a>,
    root: &'d Value<'a>,
    /// Whether there is a knot anywhere, once that was asked.
    knotted: OnceCell<bool>,
}

impl<'d, 'a> Depths<'d, 'a> {
    pub(super) fn of(cx: &'d Cx<'a>, root: &'d Value<'a>) -> Self {
        Depths {
            cx,
            root,
            knotted: OnceCell::new(),
        }
    }

    /// Fails, or says that the value does not matter, since the error is still to come.
    pub(super) fn reached(&self, value: &Value<'a>) -> Result<(), Fault> {
        if holds_itself(self.cx, value)? {
            return Err(format!(
                "json: unsupported value: encountered a cycle via {}",
                value.type_name()
            )
            .into());
        }
        let knotted = match self.knotted.get() {
            Some(knotted) => *knotted,
            None => {
                let found = has_knot(self.cx, self.root)?;
                *self.knotted.get_or_init(|| found)
            }
        };
        if knotted {
            Ok(())
        } else {
            Err(too_deep(self.cx))
        }
    }
}

/// What tells one list or dict from another, if it could be part of a knot: data that was not
/// changed cannot.
fn address<'a>(cx: &Cx<'a>, value: &Value<'a>) -> Option<usize> {
    match &value.kind {
        Kind::List(List::Own(items)) => Some(Rc::as_ptr(items).addr()),
        Kind::Map(map) => match cx.current(map) {
            Map::Own(dict) => Some(Rc::as_ptr(&dict).addr()),
            Map::Json(_) => None,
        },
        _ => None,
    }
}

fn inside<'a>(cx: &Cx<'a>, value: &Value<'a>) -> Vec<Value<'a>> {
    match &value.kind {
        Kind::List(list) => cx.items(list),
        Kind::Map(map) => cx
            .entries(map)
            .into_iter()
            .map(|(_, value)| value)
            .collect(),
        _ => Vec::new(),
    }
}

/// Whether a list or dict is somewhere inside itself.
fn holds_itself<'a>(cx: &Cx<'a>, whole: &Value<'a>) -> Result<bool, Fault> {
    let itself = address(cx, whole);
    let mut seen = HashSet::new();
    let mut left = vec![whole.clone()];
    while let Some(value) = left.pop() {
        for value in inside(cx, &value) {
            cx.step()?;
            let known = address(cx, &value);
            if known.is_some() && known == itself {
                return Ok(true);
            }
            if known.is_none_or(|known| seen.insert(known)) {
                left.push(value);
            }
        }
    }
    Ok(false)
}

/// Whether anything in a value is somewhere inside itself.
fn has_knot<'a>(cx: &Cx<'a>, root: &Value<'a>) -> Result<bool, Fault> {
    let mut done = HashSet::new();
    let mut open: HashSet<usize> = address(cx, root).into_iter().collect();
    let mut path = vec![(address(cx, root), inside(cx, root))];
    while let Some((known, left)) = path.last_mut() {
        let Some(value) = left.pop() else {
            if let Some(known) = known {
                open.remove(known);
                done.insert(*known);
            }
            path.pop();
            continue;
        };
        cx.step()?;
        let known = address(cx, &value);
        if known.is_some_and(|known| open.contains(&known)) {
            return Ok(true);
        }
        if known.is_none_or(|known| !done.contains(&known)) {
            open.extend(known);
            path.push((known, inside(cx, &value)));
        }
    }
    Ok(false)
}
