//! sprig's functions that draw random values. The bytes come from the host, so that a run can be
//! repeated; what is made of them has the shapes sprig's have.

use Flow::Compute;
use Param::Int;

use super::entry::{Answer, fixed};
use crate::fmt;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::Value;
use gocompat::base::encode64;
use gocompat::unicode::{push_rune, runes};

pub(crate) const TABLE: &[Func] = &[
    fixed("randAlphaNum", &[Int], Compute, |call| {
        letters(call, |byte| byte.is_ascii_alphanumeric())
    }),
    fixed("randAlpha", &[Int], Compute, |call| {
        letters(call, |byte| byte.is_ascii_alphabetic())
    }),
    fixed("randNumeric", &[Int], Compute, |call| {
        letters(call, |byte| byte.is_ascii_digit())
    }),
    fixed("randAscii", &[Int], Compute, |call| {
        letters(call, |byte| matches!(byte, b' '..=b'~'))
    }),
    fixed("randBytes", &[Int], Compute, bytes),
    fixed("randInt", &[Int, Int], Compute, int),
    fixed("shuffle", &[Param::Text], Compute, shuffle),
    fixed("uuidv4", &[], Compute, uuid),
];

/// Random bytes for this call.
pub(super) fn draw(call: &Call<'_, '_, '_>, size: usize) -> Result<Vec<u8>, Fault> {
    call.cx().charge(size)?;
    let arguments: Result<Vec<_>, _> = call
        .args
        .iter()
        .map(|value| fmt::display(call.cx(), value))
        .collect();
    let mut bytes = vec![0; size];
    call.cx().draw(
        &call.frame.tree.name,
        call.func.name,
        arguments?,
        &mut bytes,
    )?;
    Ok(bytes)
}

/// How many bytes one choice takes: enough that no choice is measurably likelier than another.
const CHOICE: usize = 8;

/// Random numbers for this call.
pub(super) fn numbers(call: &Call<'_, '_, '_>, count: usize) -> Result<Vec<u64>, Fault> {
    let bytes = draw(call, count.saturating_mul(CHOICE))?;
    let number = |chunk: &[u8; CHOICE]| u64::from_le_bytes(*chunk);
    Ok(bytes.as_chunks().0.iter().map(number).collect())
}

fn letters<'a>(call: &mut Call<'_, '_, 'a>, wanted: fn(u8) -> bool) -> Answer<'a> {
    let Ok(count @ 1..) = usize::try_from(call.int(0)) else {
        return Ok(Value::borrowed(b""));
    };
    let alphabet: Vec<u8> = (0..=127).filter(|byte| wanted(*byte)).collect();
    let chosen = |number: u64| alphabet[(number % alphabet.len() as u64) as usize];
    Ok(Value::text(
        numbers(call, count)?
            .into_iter()
            .map(chosen)
            .collect::<Vec<u8>>(),
    ))
}

fn bytes<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let Ok(count) = usize::try_from(call.int(0)) else {
        return Err("runtime error: makeslice: len out of range".into());
    };
    Ok(Value::text(encode64(&draw(call, count)?)))
}

fn int<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let (least, end) = (call.int(0), call.int(1));
    let span = end.wrapping_sub(least);
    if span <= 0 {
        return Err("invalid argument to Intn".into());
    }
    let number = numbers(call, 1)?
        .first()
        .map_or(0, |number| number % span.cast_unsigned());
    Ok(Value::int(least.wrapping_add(number.cast_signed())))
}

fn shuffle<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let mut letters: Vec<char> = runes(call.text(0)).map(|item| item.rune).collect();
    if letters.is_empty() {
        return Ok(Value::borrowed(b""));
    }
    for (last, number) in numbers(call, letters.len())?
        .into_iter()
        .enumerate()
        .skip(1)
    {
        letters.swap(last, (number % (last as u64 + 1)) as usize);
    }
    let mut out = Vec::with_capacity(call.text(0).len());
    letters
        .into_iter()
        .for_each(|letter| push_rune(&mut out, letter));
    Ok(Value::text(out))
}

fn uuid<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let mut bytes = draw(call, 16)?;
    // Version 4 and the variant of RFC 9562; all else is random.
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut out = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if let 4 | 6 | 8 | 10 = index {
            out.push('-');
        }
        out.push_str(&format!("{byte:02x}"));
    }
    Ok(Value::text(out))
}
