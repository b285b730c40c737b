//! The formats of strings and numbers that are checked, those that can be told without a table of
//! the world.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::Number;

use super::{Schema, Type};

/// Whether a string looks as the format says. A format that is not known restricts nothing, as for
/// the API server.
pub(super) fn fits(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some('3')),
        "uuid4" => is_uuid(text, Some('4')),
        "uuid5" => is_uuid(text, Some('5')),
        "date" => is_date(text),
        "datetime" => is_date_time(text),
        _ => true,
    }
}

/// The formats of strings that the API server knows, without dashes.
const KNOWN: [&str; 24] = [
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// The format of a schema, if the API server knows it for such a type.
pub(super) fn effective(schema: &Schema) -> Option<&str> {
    let format = schema.format.as_deref()?;
    let known = match schema.kind {
        None | Some(Type::String) => KNOWN.contains(&format.replace('-', "").as_str()),
        Some(Type::Integer) => matches!(format, "int32" | "int64"),
        Some(Type::Number) => matches!(format, "float" | "double"),
        Some(_) => false,
    };
    known.then_some(format)
}

/// Whether a number is in the range of its type and format.
pub(super) fn in_range(kind: Type, format: Option<&str>, number: &Number) -> bool {
    let float = number.as_f64().unwrap_or_default();
    match (kind, format) {
        (Type::Integer, _) if float.fract() != 0.0 => false,
        (Type::Integer, Some("int32")) => {
            (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&float)
        }
        // The largest float below 2^63 is far from it, so that a float is in range exactly when it
        // is smaller.
        (Type::Integer, _) if number.is_f64() => {
            (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&float)
        }
        (Type::Integer, _) => number.is_i64(),
        (_, Some("float")) => float.abs() <= f64::from(f32::MAX),
        _ => true,
    }
}

/// A number as Go writes it: no fraction where there is none, and an exponent only far from zero.
pub(super) fn number(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    let size = float.abs();
    if float == 0.0 || (1e-4..1e21).contains(&size) {
        return float.to_string();
    }
    let text = format!("{float:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent
        .strip_prefix('-')
        .map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let sound =
        bits.bytes().all(|byte| byte.is_ascii_digit()) && (bits == "0" || !bits.starts_with('0'));
    let Some(bits) = bits.parse::<u8>().ok().filter(|_| sound) else {
        return false;
    };
    (address.parse::<Ipv4Addr>().is_ok() && bits <= 32)
        || (address.parse::<Ipv6Addr>().is_ok() && bits <= 128)
}

/// Dashes may be left out, each by itself.
fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut rest = text;
    for (index, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((part, after)) = rest.split_at_checked(length) else {
            return false;
        };
        if !part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return false;
        }
        let variant = |part: &str| part.starts_with(['8', '9', 'a', 'b', 'A', 'B']);
        if index == 2 && version.is_some_and(|version| !part.starts_with(version))
            || index == 3 && matches!(version, Some('4' | '5')) && !variant(part)
        {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

fn is_date(text: &str) -> bool {
    let number = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| text.parse::<u16>().ok())
            .flatten()
    };
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    if [year.len(), month.len(), day.len()] != [4, 2, 2] {
        return false;
    }
    let (Some(year), Some(month), Some(day)) = (number(year), number(month), number(day)) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else {
        return false;
    };
    let (clock, zone) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => time.split_at(at),
        None => return false,
    };
    let two = |text: &str, most: u8| {
        text.len() == 2
            && text.bytes().all(|b| b.is_ascii_digit())
            && text.parse::<u8>().is_ok_and(|n| n <= most)
    };
    let clock = clock
        .split_once('.')
        .map_or(Some(clock), |(whole, fraction)| {
            (!fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit()))
                .then_some(whole)
        });
    let parts: Vec<&str> = clock.unwrap_or_default().split(':').collect();
    let [hour, minute, second] = parts.as_slice() else {
        return false;
    };
    let zone = match zone {
        "Z" | "z" => true,
        _ => zone
            .get(1..)
            .and_then(|z| z.split_once(':'))
            .is_some_and(|(hour, minute)| two(hour, 23) && two(minute, 59)),
    };
    is_date(date) && two(hour, 23) && two(minute, 59) && two(second, 59) && zone
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Type, fits, in_range, number};

    #[test]
    fn what_fits_a_format_fits_and_what_does_not_does_not() {
        let uuid = "7d0e2b3c-1234-4abc-9def-0123456789ab";
        for (format, good, bad) in [
            (
                "ipv4",
                vec!["10.0.0.1"],
                vec!["10.0.0", "::1", "10.0.0.256", ""],
            ),
            ("ipv6", vec!["::1", "fe80::1"], vec!["10.0.0.1", "g::"]),
            (
                "cidr",
                vec!["10.0.0.0/8", "::/0"],
                vec!["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/é"],
            ),
            (
                "uuid",
                vec![uuid, "7d0e2b3c12344abc9def0123456789ab"],
                vec!["7d0e2b3c", "ä", &uuid[1..]],
            ),
            (
                "uuid4",
                vec![uuid],
                vec![
                    "7d0e2b3c-1234-3abc-9def-0123456789ab",
                    "7d0e2b3c-1234-4abc-1def-0123456789ab",
                ],
            ),
            (
                "date",
                vec!["2024-02-29"],
                vec!["2023-02-29", "2024-13-01", "24-01-01", "2024-01-1é"],
            ),
            (
                "date-time",
                vec!["2014-12-15T19:30:20.000Z", "2014-12-15T19:30:20+01:00"],
                vec![
                    "2014-12-15",
                    "2014-12-15T19:30Z",
                    "2014-12-15T19:30:20",
                    "2014-12-15T25:30:20Z",
                    "2014-12-15T19:30:20.Z",
                ],
            ),
            ("colour-of-the-sky", vec!["anything"], vec![]),
        ] {
            for text in good {
                assert!(fits(format, text), "{format} {text}");
            }
            for text in bad {
                assert!(!fits(format, text), "{format} {text}");
            }
        }
    }

    #[test]
    fn a_number_is_in_the_range_of_its_type_or_not() {
        for (kind, format, number, expected) in [
            (Type::Integer, None, json!(i64::MAX), true),
            (Type::Integer, None, json!(u64::MAX), false),
            (Type::Integer, None, json!(3.0), true),
            (Type::Integer, None, json!(1e300), false),
            (Type::Integer, None, json!(1.5), false),
            (Type::Integer, Some("int32"), json!(2_147_483_647), true),
            (
                Type::Integer,
                Some("int32"),
                json!(2_147_483_648_u64),
                false,
            ),
            (Type::Number, None, json!(1.5), true),
            (Type::Number, Some("float"), json!(1e300), false),
            (Type::Number, Some("double"), json!(1e300), true),
        ] {
            assert_eq!(
                in_range(kind, format, number.as_number().unwrap()),
                expected,
                "{kind} {format:?} {number}"
            );
        }
    }

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        for (value, expected) in [
            (json!(3), "3"),
            (json!(3.0), "3"),
            (json!(-0.5), "-0.5"),
            (json!(1e20), "100000000000000000000"),
            (json!(1e21), "1e+21"),
            (json!(1.5e300), "1.5e+300"),
            (json!(0.00001), "1e-05"),
        ] {
            assert_eq!(number(value.as_number().unwrap()), expected);
        }
    }
}
