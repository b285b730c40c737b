//! sprig's numbers: conversions, integer and decimal arithmetic, rounding and ranges.

use super::cast::{to_float, to_int};
use super::entry::{Answer, Body, fixed, open};
use crate::fmt;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::{Element, Value};
use gocompat::decimal::{Operation, calculate, round};
use gocompat::strconv::{atoi, parse_int};

pub(crate) const TABLE: &[Func] = &[
    counting("int", &[Param::Any], |call| {
        Ok(Value::int(to_int(&call.args[0])))
    }),
    counting("int64", &[Param::Any], |call| {
        Ok(Value::int64(to_int(&call.args[0])))
    }),
    counting("float64", &[Param::Any], |call| {
        Ok(Value::float(to_float(&call.args[0])))
    }),
    counting("atoi", &[Param::Text], |call| {
        Ok(Value::int(
            atoi(call.text(0)).unwrap_or_else(|error| error.clamped()),
        ))
    }),
    counting("toDecimal", &[Param::Any], to_decimal),
    counting("add1", &[Param::Any], |call| {
        Ok(Value::int64(to_int(&call.args[0]).wrapping_add(1)))
    }),
    folding("add", &[], |call| folded(call, 0, i64::wrapping_add)),
    counting("sub", &[Param::Any, Param::Any], |call| {
        Ok(Value::int64(
            to_int(&call.args[0]).wrapping_sub(to_int(&call.args[1])),
        ))
    }),
    folding("mul", &[Param::Any], |call| {
        folded(call, 1, i64::wrapping_mul)
    }),
    counting("div", &[Param::Any, Param::Any], |call| {
        divided(call, i64::wrapping_div)
    }),
    counting("mod", &[Param::Any, Param::Any], |call| {
        divided(call, i64::wrapping_rem)
    }),
    folding("max", &[Param::Any], |call| {
        folded(call, i64::MIN, i64::max)
    }),
    folding("biggest", &[Param::Any], |call| {
        folded(call, i64::MIN, i64::max)
    }),
    folding("min", &[Param::Any], |call| {
        folded(call, i64::MAX, i64::min)
    }),
    folding("maxf", &[Param::Any], |call| extreme(call, max_float)),
    folding("minf", &[Param::Any], |call| {
        extreme(call, |one, other| -max_float(-one, -other))
    }),
    counting("add1f", &[Param::Any], |call| {
        let first = to_float(&call.args[0]);
        decimal(Operation::Add, first, &[1.0])
    }),
    folding("addf", &[], |call| {
        let all: Vec<f64> = call.args.iter().map(to_float).collect();
        decimal(Operation::Add, 0.0, &all)
    }),
    folding("subf", &[Param::Any], |call| in_turn(call, Operation::Sub)),
    folding("mulf", &[Param::Any], |call| in_turn(call, Operation::Mul)),
    folding("divf", &[Param::Any], |call| in_turn(call, Operation::Div)),
    open(
        "round",
        &[Param::Any, Param::Int],
        Param::Float,
        Flow::Compute,
        |call| {
            let round_on = if call.len() > 2 { call.float(2) } else { 0.5 };
            Ok(Value::float(round(
                to_float(&call.args[0]),
                call.int(1),
                round_on,
            )))
        },
    ),
    counting("ceil", &[Param::Any], |call| {
        Ok(Value::float(to_float(&call.args[0]).ceil()))
    }),
    counting("floor", &[Param::Any], |call| {
        Ok(Value::float(to_float(&call.args[0]).floor()))
    }),
    counting("until", &[Param::Int], |call| {
        let count = call.int(0);
        int_list(call, 0, count, if count < 0 { -1 } else { 1 })
    }),
    counting("untilStep", &[Param::Int, Param::Int, Param::Int], |call| {
        int_list(call, call.int(0), call.int(1), call.int(2))
    }),
    open("seq", &[], Param::Int, Flow::Compute, seq),
];

const fn counting(name: &'static str, params: &'static [Param], body: Body) -> Func {
    fixed(name, params, Flow::Compute, body)
}

const fn folding(name: &'static str, params: &'static [Param], body: Body) -> Func {
    open(name, params, Param::Any, Flow::Compute, body)
}

/// Reads what prints as an octal number, such as the mode of a file.
fn to_decimal<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let mut text = Vec::new();
    fmt::print(call.cx(), &call.args[0], &mut text)?;
    Ok(Value::int64(parse_int(&text, 8, 64).unwrap_or(0)))
}

fn folded<'a>(call: &Call<'_, '_, 'a>, start: i64, combine: fn(i64, i64) -> i64) -> Answer<'a> {
    Ok(Value::int64(
        call.args.iter().map(to_int).fold(start, combine),
    ))
}

fn divided<'a>(call: &Call<'_, '_, 'a>, divide: fn(i64, i64) -> i64) -> Answer<'a> {
    match to_int(&call.args[1]) {
        0 => Err("runtime error: integer divide by zero".into()),
        divisor => Ok(Value::int64(divide(to_int(&call.args[0]), divisor))),
    }
}

fn extreme<'a>(call: &Call<'_, '_, 'a>, choose: fn(f64, f64) -> f64) -> Answer<'a> {
    let chosen = call.args.iter().map(to_float).reduce(choose);
    Ok(Value::float(chosen.unwrap_or(0.0)))
}

/// Go's `math.Max`: infinity beats NaN, NaN beats the rest, and zero beats minus zero.
fn max_float(one: f64, other: f64) -> f64 {
    if one == f64::INFINITY || other == f64::INFINITY {
        f64::INFINITY
    } else if one.is_nan() || other.is_nan() {
        f64::NAN
    } else if one == 0.0 && other == 0.0 {
        if one.is_sign_negative() { other } else { one }
    } else if one > other {
        one
    } else {
        other
    }
}

fn decimal<'a>(operation: Operation, first: f64, rest: &[f64]) -> Answer<'a> {
    calculate(operation, first, rest)
        .map(Value::float)
        .map_err(|error| error.to_string().into())
}

fn in_turn<'a>(call: &Call<'_, '_, 'a>, operation: Operation) -> Answer<'a> {
    let rest: Vec<f64> = call.args.iter().skip(1).map(to_float).collect();
    decimal(operation, to_float(&call.args[0]), &rest)
}

/// How many numbers there are from `start` until before `stop`; none if the step leads away.
fn range_len(start: i64, stop: i64, step: i64) -> u128 {
    let (distance, step) = (i128::from(stop) - i128::from(start), i128::from(step));
    if step == 0 || distance == 0 || (distance < 0) != (step < 0) {
        return 0;
    }
    distance.unsigned_abs().div_ceil(step.unsigned_abs())
}

fn int_range(start: i64, stop: i64, step: i64) -> impl Iterator<Item = i64> {
    let count = u64::try_from(range_len(start, stop, step)).unwrap_or(u64::MAX);
    (0..count).map(move |index| start.wrapping_add(step.wrapping_mul(index.cast_signed())))
}

/// What one number of a range is charged as: about what it takes.
const NUMBER_COST: u128 = 32;

fn charge_range(call: &Call<'_, '_, '_>, start: i64, stop: i64, step: i64) -> Result<(), Fault> {
    let bytes = range_len(start, stop, step).saturating_mul(NUMBER_COST);
    call.cx()
        .charge(usize::try_from(bytes).unwrap_or(usize::MAX))
}

fn int_list<'a>(call: &Call<'_, '_, 'a>, start: i64, stop: i64, step: i64) -> Answer<'a> {
    charge_range(call, start, stop, step)?;
    Ok(Value::list(
        Element::Int,
        int_range(start, stop, step).map(Value::int).collect(),
    ))
}

fn seq<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let (start, step, end) = match call.len() {
        1 => (1, None, call.int(0)),
        2 => (call.int(0), None, call.int(1)),
        3 => (call.int(0), Some(call.int(1)), call.int(2)),
        _ => return Ok(Value::borrowed(b"")),
    };
    let towards = if end < start { -1 } else { 1 };
    let step = step.unwrap_or(towards);
    // The end itself is part of it.
    let stop = end.wrapping_add(towards);
    if end < start && step > 0 {
        return Ok(Value::borrowed(b""));
    }
    charge_range(call, start, stop, step)?;
    let numbers: Vec<String> = int_range(start, stop, step)
        .map(|number| number.to_string())
        .collect();
    Ok(Value::text(numbers.join(" ")))
}
