//! sprig's functions that know words: cases, initials, abbreviations and wrapping.

use Flow::{Compute, Shape};
use Param::{Int, Text};

use super::entry::{Answer, fixed};
use super::pieces;
use crate::func::{Call, Flow, Func, Param};
use crate::value::Value;
use gocompat::{strings, words};

pub(crate) const TABLE: &[Func] = &[
    fixed("title", &[Text], Shape, |call| {
        Ok(pieces::rewritten(call, 0, strings::title(call.text(0))))
    }),
    fixed("untitle", &[Text], Shape, |call| {
        Ok(pieces::rewritten(
            call,
            0,
            words::uncapitalize(call.text(0)),
        ))
    }),
    fixed("swapcase", &[Text], Shape, |call| {
        Ok(pieces::rewritten(call, 0, words::swap_case(call.text(0))))
    }),
    fixed("snakecase", &[Text], Shape, |call| {
        Ok(Value::text(words::snake_case(call.text(0))))
    }),
    fixed("kebabcase", &[Text], Shape, |call| {
        Ok(Value::text(words::kebab_case(call.text(0))))
    }),
    fixed("camelcase", &[Text], Shape, |call| {
        Ok(Value::text(words::pascal_case(call.text(0))))
    }),
    fixed("nospace", &[Text], Shape, |call| {
        Ok(Value::text(words::delete_white_space(call.text(0))))
    }),
    fixed("initials", &[Text], Compute, |call| {
        Ok(Value::text(words::initials(call.text(0))))
    }),
    fixed("abbrev", &[Int, Text], Compute, abbrev),
    fixed("abbrevboth", &[Int, Int, Text], Compute, abbrev_both),
    fixed("wrap", &[Int, Text], Shape, |call| {
        wrap(call, 1, b"\n", false)
    }),
    fixed("wrapWith", &[Int, Text, Text], Shape, |call| {
        let newline = call.shared_text(1);
        wrap(call, 2, &newline, true)
    }),
];

fn abbrev<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let (width, text) = (call.int(0), call.text(1));
    Ok(Value::text(
        words::abbreviate(text, width).unwrap_or_else(|_| text.to_vec()),
    ))
}

fn abbrev_both<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let (left, right, text) = (call.int(0), call.int(1), call.text(2));
    if right < 4 || left > 0 && right < 7 {
        return Ok(pieces::cut(call, 2, 0..text.len()));
    }
    // Whatever is wrong beyond that, sprig ignores, and with it the text.
    Ok(Value::text(
        words::abbreviate_full(text, left, right).unwrap_or_default(),
    ))
}

fn wrap<'a>(
    call: &Call<'_, '_, 'a>,
    index: usize,
    newline: &[u8],
    break_words: bool,
) -> Answer<'a> {
    let (width, text) = (call.int(0), call.text(index));
    // Two lines in a row always take more than the width together, or they would be one.
    let span = usize::try_from(width).unwrap_or(0).max(1);
    let breaks = (text.len() / span).saturating_mul(2).saturating_add(2);
    call.cx()
        .charge(breaks.min(text.len()).saturating_mul(newline.len()))?;
    Ok(Value::text(words::wrap(text, width, newline, break_words)))
}
