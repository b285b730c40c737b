//! sprig's functions over regular expressions.

use std::cell::RefCell;
use std::rc::Rc;

use Flow::{Compute, Shape};
use Param::{Int, Text};

use super::entry::{Answer, fixed};
use super::join::{part, text_list};
use super::pieces;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::{Element, Value};
use gocompat::regexp::{Pattern, Regexp, RegexpError, quote_meta};
use gocompat::strconv::{can_backquote, quote};

pub(crate) const TABLE: &[Func] = &[
    fixed("regexMatch", &[Text, Text], Compute, |call| {
        let regex = compiled(call)?;
        Ok(Value::bool(
            regex.is_ok_and(|regex| regex.is_match(call.text(1))),
        ))
    }),
    fixed("mustRegexMatch", &[Text, Text], Compute, |call| {
        let regex = must(call)?;
        Ok(Value::bool(regex.is_match(call.text(1))))
    }),
    fixed("regexFind", &[Text, Text], Compute, |call| {
        Ok(find(call, &wanted(call)?))
    }),
    fixed("mustRegexFind", &[Text, Text], Compute, |call| {
        Ok(find(call, &must(call)?))
    }),
    fixed("regexFindAll", &[Text, Text, Int], Compute, |call| {
        find_all(call, &wanted(call)?)
    }),
    fixed("mustRegexFindAll", &[Text, Text, Int], Compute, |call| {
        find_all(call, &must(call)?)
    }),
    fixed("regexReplaceAll", &[Text, Text, Text], Shape, |call| {
        replace_all(call, &wanted(call)?)
    }),
    fixed("mustRegexReplaceAll", &[Text, Text, Text], Shape, |call| {
        replace_all(call, &must(call)?)
    }),
    fixed(
        "regexReplaceAllLiteral",
        &[Text, Text, Text],
        Shape,
        |call| replace_all_literal(call, &wanted(call)?),
    ),
    fixed(
        "mustRegexReplaceAllLiteral",
        &[Text, Text, Text],
        Shape,
        |call| replace_all_literal(call, &must(call)?),
    ),
    fixed("regexSplit", &[Text, Text, Int], Compute, |call| {
        split(call, &wanted(call)?)
    }),
    fixed("mustRegexSplit", &[Text, Text, Int], Compute, |call| {
        split(call, &must(call)?)
    }),
    fixed("regexQuoteMeta", &[Text], Compute, |call| {
        Ok(Value::text(quote_meta(call.text(0))))
    }),
];

/// The units of work of one byte of an expression that is read, of one state that is compiled, and
/// of one state for each byte of the text: what it takes at worst, since nobody can tell how well
/// an expression fits a text.
const PARSED: u64 = 200;
const COMPILED: u64 = 500;
const STATE: u64 = 2;

/// How many bytes of what is left of a text count as a unit for each further match.
const LEFT: usize = 4;

/// How many expressions are kept compiled; templates that loop use few.
const KEPT: usize = 16;

/// Longer expressions than this are compiled anew each time, so that what is kept stays small.
const KEPT_LENGTH: usize = 256;

thread_local! {
    /// The expressions used last, the latest at the end. Compiling costs far more than matching a
    /// short text.
    static LAST: RefCell<Vec<(Vec<u8>, Rc<Regexp>)>> = const { RefCell::new(Vec::new()) };
}

/// The expression of a call, paid for.
fn compiled(call: &Call<'_, '_, '_>) -> Result<Result<Rc<Regexp>, RegexpError>, Fault> {
    let (expr, text) = (call.text(0), call.text(1));
    let matching =
        |size: u64| call.spend(STATE.saturating_mul(size).saturating_mul(text.len() as u64));
    let known = LAST.with_borrow_mut(|last| {
        let at = last.iter().rposition(|(known, _)| known == expr)?;
        let entry = last.remove(at);
        let regex = entry.1.clone();
        last.push(entry);
        Some(regex)
    });
    if let Some(regex) = known {
        matching(regex.size())?;
        return Ok(Ok(regex));
    }
    call.spend(PARSED.saturating_mul(expr.len() as u64))?;
    let pattern = match Pattern::new(expr) {
        Ok(pattern) => pattern,
        Err(error) => return Ok(Err(error)),
    };
    call.spend(COMPILED.saturating_mul(pattern.size()))?;
    matching(pattern.size())?;
    let regex = match pattern.compile() {
        Ok(regex) => Rc::new(regex),
        Err(error) => return Ok(Err(error)),
    };
    if expr.len() <= KEPT_LENGTH {
        LAST.with_borrow_mut(|last| {
            if last.len() >= KEPT {
                last.remove(0);
            }
            last.push((expr.to_vec(), regex.clone()));
        });
    }
    Ok(Ok(regex))
}

/// The expression for a function that passes on why it does not compile.
fn must(call: &Call<'_, '_, '_>) -> Result<Rc<Regexp>, Fault> {
    compiled(call)?.map_err(|error| Fault::new(error.to_string()))
}

/// The expression for a function that panics if it does not compile.
fn wanted(call: &Call<'_, '_, '_>) -> Result<Rc<Regexp>, Fault> {
    compiled(call)?.map_err(|error| {
        let expr = call.text(0);
        let shown = if can_backquote(expr) {
            [b"`", expr, b"`"].concat()
        } else {
            quote(expr)
        };
        Fault::new(format!(
            "regexp: Compile({}): {error}",
            String::from_utf8_lossy(&shown)
        ))
    })
}

fn find<'a>(call: &Call<'_, '_, 'a>, regex: &Rc<Regexp>) -> Value<'a> {
    pieces::cut(call, 1, regex.find(call.text(1)).unwrap_or(0..0))
}

/// What an element of a list costs beside its text.
const ELEMENT: usize = 64;

/// Counts a step towards all matches: what is left may be looked through to its end for each.
fn step(call: &Call<'_, '_, '_>, left: usize) -> Result<(), Fault> {
    call.spend(MATCH + (left / LEFT) as u64)
}

/// The units of work of one match.
const MATCH: u64 = 100;

fn find_all<'a>(call: &Call<'_, '_, 'a>, regex: &Rc<Regexp>) -> Answer<'a> {
    let text = call.shared_text(1);
    let mut pay = |left, found: usize| {
        step(call, left)?;
        call.cx().fits(found.saturating_mul(ELEMENT))
    };
    let found = regex.find_all_counted(&text, call.int(2), &mut pay)?;
    if found.is_empty() {
        return Ok(Value::nil_list(Element::Text));
    }
    call.cx().charge(found.len().saturating_mul(ELEMENT))?;
    Ok(text_list(
        call,
        found.into_iter().map(|range| part(&text, range)).collect(),
    ))
}

fn split<'a>(call: &Call<'_, '_, 'a>, regex: &Rc<Regexp>) -> Answer<'a> {
    if call.int(2) == 0 {
        return Ok(Value::nil_list(Element::Text));
    }
    let mut pay = |left, found: usize| {
        step(call, left)?;
        call.cx().fits(found.saturating_mul(ELEMENT))
    };
    let parts = regex.split_counted(call.text(1), call.int(2), &mut pay)?;
    call.cx().charge(parts.len().saturating_mul(ELEMENT))?;
    Ok(text_list(
        call,
        parts.into_iter().map(|part| part.to_vec().into()).collect(),
    ))
}

/// Refuses a replacement that would make too much at once, whatever it matches; `groups` is how
/// often it may hold a part of the text.
fn pay(call: &Call<'_, '_, '_>, groups: usize) -> Result<(), Fault> {
    call.cx().fits(
        call.text(2)
            .len()
            .saturating_add(call.text(1).len().saturating_mul(groups)),
    )
}

fn replace_all<'a>(call: &Call<'_, '_, 'a>, regex: &Rc<Regexp>) -> Answer<'a> {
    pay(call, memchr::memchr_iter(b'$', call.text(2)).count())?;
    let mut pay = |left, made| {
        step(call, left)?;
        call.cx().fits(made)
    };
    Ok(Value::text(regex.replace_all_counted(
        call.text(1),
        call.text(2),
        &mut pay,
    )?))
}

fn replace_all_literal<'a>(call: &Call<'_, '_, 'a>, regex: &Rc<Regexp>) -> Answer<'a> {
    pay(call, 0)?;
    let mut pay = |left, made| {
        step(call, left)?;
        call.cx().fits(made)
    };
    Ok(Value::text(regex.replace_all_literal_counted(
        call.text(1),
        call.text(2),
        &mut pay,
    )?))
}
