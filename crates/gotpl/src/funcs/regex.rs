//! sprig's functions over regular expressions.

use std::cell::RefCell;
use std::rc::Rc;

use Flow::{Compute, Shape};
use Param::{Int, Text};

use super::entry::{Answer, fixed};
use super::join::{part, text_list};
use super::pieces;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::go::regexp::{Regexp, RegexpError, quote_meta};
use crate::go::strconv::{can_backquote, quote};
use crate::value::{Element, Value};

pub(crate) const TABLE: &[Func] = &[
    fixed("regexMatch", &[Text, Text], Compute, |call| {
        let regex = compiled(call)?;
        Ok(Value::bool(regex.is_ok_and(|regex| regex.is_match(call.text(1)))))
    }),
    fixed("mustRegexMatch", &[Text, Text], Compute, |call| {
        let regex = must(call)?;
        Ok(Value::bool(regex.is_match(call.text(1))))
    }),
    fixed("regexFind", &[Text, Text], Compute, |call| Ok(find(call, &wanted(call)?))),
    fixed("mustRegexFind", &[Text, Text], Compute, |call| Ok(find(call, &must(call)?))),
    fixed("regexFindAll", &[Text, Text, Int], Compute, |call| find_all(call, &wanted(call)?)),
    fixed("mustRegexFindAll", &[Text, Text, Int], Compute, |call| find_all(call, &must(call)?)),
    fixed("regexReplaceAll", &[Text, Text, Text], Shape, |call| replace_all(call, &wanted(call)?)),
    fixed("mustRegexReplaceAll", &[Text, Text, Text], Shape, |call| replace_all(call, &must(call)?)),
    fixed("regexReplaceAllLiteral", &[Text, Text, Text], Shape, |call| replace_all_literal(call, &wanted(call)?)),
    fixed("mustRegexReplaceAllLiteral", &[Text, Text, Text], Shape, |call| replace_all_literal(call, &must(call)?)),
    fixed("regexSplit", &[Text, Text, Int], Compute, |call| split(call, &wanted(call)?)),
    fixed("mustRegexSplit", &[Text, Text, Int], Compute, |call| split(call, &must(call)?)),
    fixed("regexQuoteMeta", &[Text], Compute, |call| Ok(Value::text(quote_meta(call.text(0))))),
];

/// How many expressions are kept compiled; templates that loop use few.
const KEPT: usize = 16;

/// Longer expressions than this are compiled anew each time, so that what is kept stays small.
const KEPT_LENGTH: usize = 256;

thread_local! {
    /// The expressions used last, the latest at the end. Compiling costs far more than matching a short text.
    static LAST: RefCell<Vec<(Vec<u8>, Rc<Regexp>)>> = const { RefCell::new(Vec::new()) };
}

/// The expression of a call, paid for.
fn compiled(call: &Call<'_, '_, '_>) -> Result<Result<Rc<Regexp>, RegexpError>, Fault> {
    let (expr, text) = (call.text(0), call.text(1));
    // Matching takes time even where it makes no text.
    call.cx().charge(expr.len().saturating_add(text.len()))?;
    let known = LAST.with_borrow_mut(|last| {
        let at = last.iter().rposition(|(known, _)| known == expr)?;
        let entry = last.remove(at);
        let regex = entry.1.clone();
        last.push(entry);
        Some(regex)
    });
    if let Some(regex) = known {
        return Ok(Ok(regex));
    }
    let regex = match Regexp::new(expr) {
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
        let shown = if can_backquote(expr) { [b"`", expr, b"`"].concat() } else { quote(expr) };
        Fault::new(format!("regexp: Compile({}): {error}", String::from_utf8_lossy(&shown)))
    })
}

fn find<'a>(call: &Call<'_, '_, 'a>, regex: &Rc<Regexp>) -> Value<'a> {
    pieces::cut(call, 1, regex.find(call.text(1)).unwrap_or(0..0))
}

/// What an element of a list costs beside its text.
const ELEMENT: usize = 64;

fn find_all<'a>(call: &Call<'_, '_, 'a>, regex: &Rc<Regexp>) -> Answer<'a> {
    let text = call.shared_text(1);
    let found = regex.find_all(&text, call.int(2));
    if found.is_empty() {
        return Ok(Value::nil_list(Element::Text));
    }
    call.cx().charge(found.len().saturating_mul(ELEMENT))?;
    Ok(text_list(call, found.into_iter().map(|range| part(&text, range)).collect()))
}

fn split<'a>(call: &Call<'_, '_, 'a>, regex: &Rc<Regexp>) -> Answer<'a> {
    if call.int(2) == 0 {
        return Ok(Value::nil_list(Element::Text));
    }
    let parts = regex.split(call.text(1), call.int(2));
    call.cx().charge(parts.len().saturating_mul(ELEMENT))?;
    Ok(text_list(call, parts.into_iter().map(|part| part.to_vec().into()).collect()))
}

/// Pays for a replacement before it is made. `groups` is how often it may hold a part of the text.
fn pay(call: &Call<'_, '_, '_>, regex: &Rc<Regexp>, groups: usize) -> Result<(), Fault> {
    /// What need not be counted more closely.
    const SMALL: usize = 64 << 10;
    let (text, new) = (call.text(1).len(), call.text(2).len());
    let copies = text.saturating_mul(groups);
    if (text + 1).saturating_mul(new).saturating_add(copies) > SMALL {
        let matches = regex.find_all(call.text(1), -1).len();
        call.cx().charge(matches.saturating_mul(new).saturating_add(copies))?;
    }
    Ok(())
}

fn replace_all<'a>(call: &Call<'_, '_, 'a>, regex: &Rc<Regexp>) -> Answer<'a> {
    pay(call, regex, memchr::memchr_iter(b'$', call.text(2)).count())?;
    Ok(Value::text(regex.replace_all(call.text(1), call.text(2))))
}

fn replace_all_literal<'a>(call: &Call<'_, '_, 'a>, regex: &Rc<Regexp>) -> Answer<'a> {
    pay(call, regex, 0)?;
    Ok(Value::text(regex.replace_all_literal(call.text(1), call.text(2))))
}
