//! Helm's durations: from texts and numbers of seconds, in any unit, rounded and cut.

use super::entry::{Answer, Body, fixed};
use crate::fmt::display;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::object::Object;
use crate::value::{Kind, Value};
use gocompat::duration::{Duration, SECOND};
use gocompat::strconv::{parse_float, quote};
use gocompat::strings::trim_space;

pub(crate) const TABLE: &[Func] = &[
    of_one("mustToDuration", |call| {
        Ok(Value::object(Object::Duration(duration(call, 0)?.0)))
    }),
    of_one("durationSeconds", |call| floats(call, Duration::seconds)),
    of_one("durationMilliseconds", |call| {
        integers(call, Duration::milliseconds)
    }),
    of_one("durationMicroseconds", |call| {
        integers(call, Duration::microseconds)
    }),
    of_one("durationNanoseconds", |call| {
        integers(call, |duration| duration.0)
    }),
    of_one("durationMinutes", |call| floats(call, Duration::minutes)),
    of_one("durationHours", |call| floats(call, Duration::hours)),
    of_one("durationDays", |call| {
        floats(call, |duration| duration.hours() / 24.0)
    }),
    of_one("durationWeeks", |call| {
        floats(call, |duration| duration.hours() / 24.0 / 7.0)
    }),
    fixed(
        "durationRoundTo",
        &[Param::Any, Param::Any],
        Flow::Compute,
        |call| multiple(call, Duration::round),
    ),
    fixed(
        "durationTruncateTo",
        &[Param::Any, Param::Any],
        Flow::Compute,
        |call| multiple(call, Duration::truncate),
    ),
];

const fn of_one(name: &'static str, body: Body) -> Func {
    fixed(name, &[Param::Any], Flow::Compute, body)
}

/// What no duration is counts as none.
fn lenient(call: &Call<'_, '_, '_>) -> Duration {
    duration(call, 0).unwrap_or_default()
}

fn floats<'a>(call: &Call<'_, '_, 'a>, unit: fn(Duration) -> f64) -> Answer<'a> {
    Ok(Value::float(unit(lenient(call))))
}

fn integers<'a>(call: &Call<'_, '_, 'a>, unit: fn(Duration) -> i64) -> Answer<'a> {
    Ok(Value::int64(unit(lenient(call))))
}

/// A multiple of the second argument near the first; the first itself if the second is no duration.
fn multiple<'a>(call: &Call<'_, '_, 'a>, near: fn(Duration, Duration) -> Duration) -> Answer<'a> {
    let value = duration(call, 0).map(|value| match duration(call, 1) {
        Ok(unit) => near(value, unit),
        Err(_) => value,
    });
    Ok(Value::object(Object::Duration(value.unwrap_or_default().0)))
}

fn duration(call: &Call<'_, '_, '_>, index: usize) -> Result<Duration, Fault> {
    let value = &call.args[index];
    match &value.kind {
        Kind::Object(object) => match (&**object, object.integer()) {
            (Object::Duration(nanoseconds), _) => Ok(Duration(*nanoseconds)),
            (_, Some(number)) => whole_seconds(i128::from(number)),
            _ => Err(unsupported(value)),
        },
        Kind::Text(text) => {
            let trimmed = trim_space(text);
            if trimmed.is_empty() {
                return Err("empty duration".into());
            }
            if let Ok(duration) = Duration::parse(trimmed) {
                return Ok(duration);
            }
            match parse_float(trimmed, 64) {
                Ok(seconds) => fractional_seconds(call, seconds),
                Err(_) => Err(format!(
                    "could not parse duration {}",
                    String::from_utf8_lossy(&quote(text))
                )
                .into()),
            }
        }
        Kind::Missing | Kind::Nil => Err("invalid duration".into()),
        Kind::Int(seconds, width) if width.unsigned() => {
            whole_seconds(i128::from(seconds.cast_unsigned()))
        }
        Kind::Int(seconds, _) => whole_seconds(i128::from(*seconds)),
        Kind::Float(seconds) => fractional_seconds(call, *seconds),
        _ => Err(unsupported(value)),
    }
}

fn unsupported(value: &Value<'_>) -> Fault {
    format!("unsupported duration type {}", value.type_name()).into()
}

fn whole_seconds(seconds: i128) -> Result<Duration, Fault> {
    let nanoseconds = seconds * i128::from(SECOND);
    i64::try_from(nanoseconds)
        .map(Duration)
        .map_err(|_| format!("duration seconds overflow: {seconds}").into())
}

fn fractional_seconds(call: &Call<'_, '_, '_>, seconds: f64) -> Result<Duration, Fault> {
    const RANGE: f64 = 9_223_372_036_854_775_808.0;
    let shown = || display(call.cx(), &Value::float(seconds));
    if !seconds.is_finite() {
        return Err(format!("invalid duration seconds: {}", shown()?).into());
    }
    if seconds.abs() > RANGE / SECOND as f64 {
        return Err(format!("duration seconds overflow: {}", shown()?).into());
    }
    let nanoseconds = seconds * SECOND as f64;
    // The greatest double allowed is one more than an `int64` holds, and wraps to the least.
    Ok(Duration(if nanoseconds >= RANGE {
        i64::MIN
    } else {
        nanoseconds as i64
    }))
}
