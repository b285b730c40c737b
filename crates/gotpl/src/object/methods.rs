//! The methods and fields of objects that templates can ask for. Those of `time.Time` that only
//! make bytes for the wire are left out.

use Param::{Int, Text};

use super::{Method, Object, Unfit};
use crate::func::Param;
use crate::value::{Kind, Value, Width};
use gocompat::duration::Duration;
use gocompat::semver::Version;
use gocompat::time::Time;
use gocompat::zone::Zone;

type Body = for<'a> fn(&Object, &[Value<'a>]) -> Result<Value<'a>, String>;

/// What a method of a nil pointer gives in Go.
const NIL_POINTER: &str = "runtime error: invalid memory address or nil pointer dereference";

const TIME: Param = Param::Object("time.Time");
const DURATION: Param = Param::Object("time.Duration");
const LOCATION: Param = Param::Object("*time.Location");
const VERSION: Param = Param::Object("*semver.Version");

/// The methods of a version that take it by pointer.
const POINTER_METHODS: [&str; 7] = [
    "Original",
    "Compare",
    "Equal",
    "LessThan",
    "LessThanEqual",
    "GreaterThan",
    "GreaterThanEqual",
];

const fn field(body: Body) -> Method {
    Method {
        is_field: true,
        params: &[],
        unfit: None,
        body,
    }
}

const fn taking(params: &'static [Param], body: Body) -> Method {
    Method {
        is_field: false,
        params,
        unfit: None,
        body,
    }
}

const fn plain(body: Body) -> Method {
    taking(&[], body)
}

const fn unfit(unfit: Unfit) -> Method {
    Method {
        is_field: false,
        params: &[],
        unfit: Some(unfit),
        body: |_, _| Ok(Value::MISSING),
    }
}

pub(super) fn find(object: &Object, name: &str) -> Option<Method> {
    match object {
        Object::Time(_) => of_time(name),
        Object::Duration(_) => of_duration(name),
        // What a method answered is no variable: those that need a pointer to it are out of reach.
        Object::Version { value: true, .. } if POINTER_METHODS.contains(&name) => None,
        Object::Version { .. } => of_version(name),
        Object::Month(_) | Object::Weekday(_) | Object::Location(_) => {
            (name == "String").then_some(STRING)
        }
        Object::Certificate { .. } => of_certificate(name),
    }
}

const STRING: Method = plain(|object, _| Ok(Value::text(object.string().unwrap_or_default())));

fn of_certificate(name: &str) -> Option<Method> {
    match name {
        "Cert" => Some(field(|object, _| match object {
            Object::Certificate { cert, .. } => Ok(Value::text(cert.as_bytes())),
            _ => Ok(Value::MISSING),
        })),
        "Key" => Some(field(|object, _| match object {
            Object::Certificate { key, .. } => Ok(Value::text(key.as_bytes())),
            _ => Ok(Value::MISSING),
        })),
        _ => None,
    }
}

fn of_time(name: &str) -> Option<Method> {
    Some(match name {
        "Year" => plain(|object, _| Ok(Value::int(time(object).year()))),
        "Month" => plain(|object, _| Ok(Value::object(Object::Month(time(object).month())))),
        "Day" => plain(|object, _| Ok(small(time(object).day()))),
        "Hour" => plain(|object, _| Ok(small(time(object).clock().0))),
        "Minute" => plain(|object, _| Ok(small(time(object).clock().1))),
        "Second" => plain(|object, _| Ok(small(time(object).clock().2))),
        "Nanosecond" => plain(|object, _| Ok(small(time(object).nanosecond()))),
        "YearDay" => plain(|object, _| Ok(small(time(object).year_day()))),
        "Weekday" => plain(|object, _| Ok(Value::object(Object::Weekday(time(object).weekday())))),
        "Unix" => plain(|object, _| Ok(Value::int64(time(object).unix_seconds()))),
        "UnixMilli" => plain(|object, _| Ok(Value::int64(time(object).unix_milli()))),
        "UnixMicro" => plain(|object, _| Ok(Value::int64(time(object).unix_micro()))),
        "UnixNano" => plain(|object, _| Ok(Value::int64(time(object).unix_nano()))),
        "IsZero" => plain(|object, _| Ok(Value::bool(time(object).is_zero()))),
        "UTC" | "Local" => {
            plain(|object, _| Ok(Value::object(Object::Time(time(object).in_zone(Zone::Utc)))))
        }
        "String" => STRING,
        "GoString" => plain(|object, _| Ok(Value::text(time(object).go_syntax()))),
        "Location" => {
            plain(|object, _| Ok(Value::object(Object::Location(time(object).zone().clone()))))
        }
        "Format" => taking(&[Text], |object, arguments| {
            Ok(Value::text(time(object).format(text(arguments))))
        }),
        "In" => taking(&[LOCATION], |object, arguments| match argument(arguments) {
            Some(Object::Location(zone)) => Ok(Value::object(Object::Time(
                time(object).in_zone(zone.clone()),
            ))),
            _ => Err("time: missing Location in call to Time.In".to_string()),
        }),
        "Add" => taking(&[DURATION], |object, arguments| {
            Ok(Value::object(Object::Time(
                time(object).add(duration_argument(arguments)),
            )))
        }),
        "AddDate" => taking(&[Int, Int, Int], |object, arguments| {
            let [years, months, days] = [0, 1, 2].map(|index| int(arguments, index));
            Ok(Value::object(Object::Time(
                time(object).add_date(years, months, days),
            )))
        }),
        "Sub" => taking(&[TIME], |object, arguments| {
            Ok(Value::object(Object::Duration(
                time(object).sub(&time_argument(arguments)).0,
            )))
        }),
        "Before" => taking(&[TIME], |object, arguments| {
            Ok(Value::bool(
                time(object).compare(&time_argument(arguments)).is_lt(),
            ))
        }),
        "After" => taking(&[TIME], |object, arguments| {
            Ok(Value::bool(
                time(object).compare(&time_argument(arguments)).is_gt(),
            ))
        }),
        "Equal" => taking(&[TIME], |object, arguments| {
            Ok(Value::bool(
                time(object).compare(&time_argument(arguments)).is_eq(),
            ))
        }),
        "Compare" => taking(&[TIME], |object, arguments| {
            Ok(Value::int(
                time(object).compare(&time_argument(arguments)) as i64
            ))
        }),
        "Date" | "Clock" => unfit(Unfit::Count(3)),
        "ISOWeek" | "Zone" => unfit(Unfit::Second("int")),
        "ZoneBounds" => unfit(Unfit::Second("time.Time")),
        _ => return None,
    })
}

fn of_duration(name: &str) -> Option<Method> {
    Some(match name {
        "Hours" => plain(|object, _| Ok(Value::float(duration(object).hours()))),
        "Minutes" => plain(|object, _| Ok(Value::float(duration(object).minutes()))),
        "Seconds" => plain(|object, _| Ok(Value::float(duration(object).seconds()))),
        "Milliseconds" => plain(|object, _| Ok(Value::int64(duration(object).milliseconds()))),
        "Microseconds" => plain(|object, _| Ok(Value::int64(duration(object).microseconds()))),
        "Nanoseconds" => plain(|object, _| Ok(Value::int64(duration(object).0))),
        "Abs" => plain(|object, _| Ok(Value::object(Object::Duration(duration(object).abs().0)))),
        "Round" => taking(&[DURATION], |object, arguments| {
            Ok(Value::object(Object::Duration(
                duration(object).round(duration_argument(arguments)).0,
            )))
        }),
        "Truncate" => taking(&[DURATION], |object, arguments| {
            Ok(Value::object(Object::Duration(
                duration(object).truncate(duration_argument(arguments)).0,
            )))
        }),
        "String" => STRING,
        _ => return None,
    })
}

fn of_version(name: &str) -> Option<Method> {
    Some(match name {
        "Major" => plain(|object, _| version(object, |version| unsigned(version.major()))),
        "Minor" => plain(|object, _| version(object, |version| unsigned(version.minor()))),
        "Patch" => plain(|object, _| version(object, |version| unsigned(version.patch()))),
        "Prerelease" => {
            plain(|object, _| version(object, |version| Value::text(version.prerelease())))
        }
        "Metadata" => plain(|object, _| version(object, |version| Value::text(version.metadata()))),
        "Original" => plain(|object, _| version(object, |version| Value::text(version.original()))),
        "String" => STRING,
        "IncMajor" => {
            plain(|object, _| increased(object, "major", Version::major, Version::inc_major))
        }
        "IncMinor" => {
            plain(|object, _| increased(object, "minor", Version::minor, Version::inc_minor))
        }
        "IncPatch" => {
            plain(|object, _| increased(object, "patch", Version::patch, Version::inc_patch))
        }
        "Compare" => taking(&[VERSION], |object, arguments| {
            Ok(Value::int(
                ordering(object, arguments)?.map_or(0, |ordering| ordering as i64),
            ))
        }),
        "Equal" => taking(&[VERSION], |object, arguments| match argument(arguments) {
            Some(_) => Ok(Value::bool(
                ordering(object, arguments)?.is_some_and(std::cmp::Ordering::is_eq),
            )),
            None => Ok(Value::bool(false)),
        }),
        "LessThan" => taking(&[VERSION], |object, arguments| {
            Ok(Value::bool(
                ordering(object, arguments)?.is_some_and(std::cmp::Ordering::is_lt),
            ))
        }),
        "LessThanEqual" => taking(&[VERSION], |object, arguments| {
            Ok(Value::bool(
                ordering(object, arguments)?.is_some_and(std::cmp::Ordering::is_le),
            ))
        }),
        "GreaterThan" => taking(&[VERSION], |object, arguments| {
            Ok(Value::bool(
                ordering(object, arguments)?.is_some_and(std::cmp::Ordering::is_gt),
            ))
        }),
        "GreaterThanEqual" => taking(&[VERSION], |object, arguments| {
            Ok(Value::bool(
                ordering(object, arguments)?.is_some_and(std::cmp::Ordering::is_ge),
            ))
        }),
        "SetPrerelease" => taking(&[Text], |object, arguments| match object {
            Object::Version { version, .. } => {
                let next = version.set_prerelease(&String::from_utf8_lossy(text(arguments)));
                next.map(changed).map_err(|error| error.to_string())
            }
            _ => Ok(Value::MISSING),
        }),
        "SetMetadata" => taking(&[Text], |object, arguments| match object {
            Object::Version { version, .. } => {
                let next = version.set_metadata(&String::from_utf8_lossy(text(arguments)));
                next.map(changed).map_err(|error| error.to_string())
            }
            _ => Ok(Value::MISSING),
        }),
        _ => return None,
    })
}

fn small<'a>(number: u32) -> Value<'a> {
    Value::int(i64::from(number))
}

fn unsigned<'a>(number: u64) -> Value<'a> {
    Value::of(Kind::Int(number.cast_signed(), Width::Uint64))
}

fn changed<'a>(version: Version) -> Value<'a> {
    Value::object(Object::Version {
        version,
        value: true,
    })
}

fn time(object: &Object) -> Time {
    match object {
        Object::Time(time) => time.clone(),
        _ => Time::default(),
    }
}

fn duration(object: &Object) -> Duration {
    Duration(object.integer().unwrap_or(0))
}

fn version<'a>(
    object: &Object,
    ask: impl FnOnce(&Version) -> Value<'a>,
) -> Result<Value<'a>, String> {
    match object {
        Object::Version { version, .. } => Ok(ask(version)),
        _ => Ok(Value::MISSING),
    }
}

fn increased<'a>(
    object: &Object,
    part: &str,
    number: fn(&Version) -> u64,
    next: fn(&Version) -> Version,
) -> Result<Value<'a>, String> {
    match object {
        // Only the release of a prerelease keeps its number.
        Object::Version { version, .. }
            if number(version) == u64::MAX
                && (part != "patch" || version.prerelease().is_empty()) =>
        {
            Err(format!("{part} version increment would overflow uint64"))
        }
        _ => version(object, |version| changed(next(version))),
    }
}

fn argument<'v>(arguments: &'v [Value<'_>]) -> Option<&'v Object> {
    match &arguments.first()?.kind {
        Kind::Object(object) => Some(object),
        _ => None,
    }
}

fn time_argument(arguments: &[Value<'_>]) -> Time {
    argument(arguments).map(time).unwrap_or_default()
}

fn duration_argument(arguments: &[Value<'_>]) -> Duration {
    argument(arguments).map_or(Duration(0), duration)
}

/// How a version compares to the one given; a nil pointer cannot be compared to.
fn ordering(
    object: &Object,
    arguments: &[Value<'_>],
) -> Result<Option<std::cmp::Ordering>, String> {
    match (object, argument(arguments)) {
        (Object::Version { version, .. }, Some(Object::Version { version: other, .. })) => {
            Ok(Some(version.compare(other)))
        }
        _ => Err(NIL_POINTER.to_string()),
    }
}

fn text<'v>(arguments: &'v [Value<'_>]) -> &'v [u8] {
    match arguments.first().map(|value| &value.kind) {
        Some(Kind::Text(text)) => text,
        _ => b"",
    }
}

fn int(arguments: &[Value<'_>], index: usize) -> i64 {
    match arguments.get(index).map(|value| &value.kind) {
        Some(Kind::Int(value, _)) => *value,
        _ => 0,
    }
}
