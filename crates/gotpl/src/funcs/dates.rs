//! sprig's functions for times and durations. There is one zone here that is local, and it is UTC.

use Flow::Compute;
use Param::{Any, Text};

use super::entry::{Answer, fixed};
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::object::Object;
use crate::value::{Kind, Value, Width};
use gocompat::duration::{Duration, SECOND};
use gocompat::strconv;
use gocompat::time::Time;
use gocompat::zone::Zone;

const TIME: Param = Param::Object("time.Time");

/// How HTML wants dates.
const HTML: &[u8] = b"2006-01-02";

pub(crate) const TABLE: &[Func] = &[
    fixed("now", &[], Compute, |call| {
        Ok(Value::object(Object::Time(now(call)?)))
    }),
    fixed("date", &[Text, Any], Compute, |call| {
        let layout = call.shared_text(0);
        shown(call, &layout, 1, b"UTC")
    }),
    fixed("dateInZone", &[Text, Any, Text], Compute, date_in_zone),
    fixed("date_in_zone", &[Text, Any, Text], Compute, date_in_zone),
    fixed("htmlDate", &[Any], Compute, |call| {
        shown(call, HTML, 0, b"UTC")
    }),
    fixed("htmlDateInZone", &[Any, Text], Compute, |call| {
        let zone = call.shared_text(1);
        shown(call, HTML, 0, &zone)
    }),
    fixed("toDate", &[Text, Text], Compute, |call| {
        Ok(Value::object(Object::Time(
            Time::parse(call.text(0), call.text(1)).unwrap_or_default(),
        )))
    }),
    fixed(
        "mustToDate",
        &[Text, Text],
        Compute,
        |call| match Time::parse(call.text(0), call.text(1)) {
            Ok(time) => Ok(Value::object(Object::Time(time))),
            Err(error) => Err(error.to_string().into()),
        },
    ),
    fixed("dateModify", &[Text, TIME], Compute, |call| {
        modified(call, false)
    }),
    fixed("date_modify", &[Text, TIME], Compute, |call| {
        modified(call, false)
    }),
    fixed("mustDateModify", &[Text, TIME], Compute, |call| {
        modified(call, true)
    }),
    fixed("must_date_modify", &[Text, TIME], Compute, |call| {
        modified(call, true)
    }),
    fixed("unixEpoch", &[TIME], Compute, |call| {
        Ok(Value::text(time(call, 0).unix_seconds().to_string()))
    }),
    fixed("ago", &[Any], Compute, ago),
    fixed("duration", &[Any], Compute, duration),
    fixed("durationRound", &[Any], Compute, duration_round),
];

/// The time of the host.
pub(super) fn now(call: &Call<'_, '_, '_>) -> Result<Time, Fault> {
    let nanos = call.cx().run.host.now().map_err(Fault::new)?;
    let (seconds, rest) = (
        nanos.div_euclid(i128::from(SECOND)),
        nanos.rem_euclid(i128::from(SECOND)),
    );
    let (Ok(seconds), Ok(rest)) = (i64::try_from(seconds), i64::try_from(rest)) else {
        return Err("the time is out of range".into());
    };
    Ok(Time::unix(seconds, rest))
}

/// A `time.Time` argument.
fn time(call: &Call<'_, '_, '_>, index: usize) -> Time {
    match call.args.get(index).map(|value| &value.kind) {
        Some(Kind::Object(object)) => match &**object {
            Object::Time(time) => time.clone(),
            _ => Time::default(),
        },
        _ => Time::default(),
    }
}

/// A time, or seconds since 1970 of those integer types; whatever else it is means now.
fn instant(call: &Call<'_, '_, '_>, index: usize, widths: &[Width]) -> Result<Time, Fault> {
    match call.args.get(index).map(|value| &value.kind) {
        Some(Kind::Object(object)) if matches!(**object, Object::Time(_)) => Ok(time(call, index)),
        Some(Kind::Int(seconds, width)) if widths.contains(width) => Ok(Time::unix(*seconds, 0)),
        _ => now(call),
    }
}

fn shown<'a>(call: &Call<'_, '_, 'a>, layout: &[u8], index: usize, zone: &[u8]) -> Answer<'a> {
    let time = instant(call, index, &[Width::Int, Width::Int64, Width::Int32])?;
    let zone = std::str::from_utf8(zone)
        .ok()
        .and_then(|name| Zone::load(name).ok())
        .unwrap_or(Zone::Utc);
    Ok(Value::text(time.in_zone(zone).format(layout)))
}

fn date_in_zone<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let (layout, zone) = (call.shared_text(0), call.shared_text(2));
    shown(call, &layout, 1, &zone)
}

fn modified<'a>(call: &Call<'_, '_, 'a>, strict: bool) -> Answer<'a> {
    let time = time(call, 1);
    match Duration::parse(call.text(0)) {
        Ok(duration) => Ok(Value::object(Object::Time(time.add(duration)))),
        Err(error) if strict => Err(error.to_string().into()),
        Err(_) => Ok(Value::object(Object::Time(time))),
    }
}

fn ago<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let since = now(call)?.sub(&instant(call, 0, &[Width::Int, Width::Int64])?);
    Ok(Value::text(since.round(Duration(SECOND)).to_string()))
}

fn duration<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let seconds = match &call.value(0).kind {
        Kind::Text(text) => {
            strconv::parse_int(text, 10, 64).unwrap_or_else(|error| error.clamped())
        }
        Kind::Int(seconds, Width::Int64) => *seconds,
        _ => 0,
    };
    Ok(Value::text(
        Duration(seconds.wrapping_mul(SECOND)).to_string(),
    ))
}

fn duration_round<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let span = match &call.value(0).kind {
        Kind::Text(text) => Duration::parse(text).unwrap_or_default(),
        Kind::Int(nanoseconds, Width::Int64) => Duration(*nanoseconds),
        Kind::Object(object) if matches!(**object, Object::Time(_)) => {
            now(call)?.sub(&time(call, 0))
        }
        _ => Duration(0),
    };
    Ok(Value::text(span.rough()))
}
