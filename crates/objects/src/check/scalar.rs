//! Scalars as Go's decoders take them: numbers in their range, times, bytes and quantities.

use serde_json::Value;

use crate::go;
use crate::shape::Scalar;

/// What is said of a quantity that is none.
pub const QUANTITY_FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const QUANTITY_SUFFIX: &str = "unable to parse quantity's suffix";
const QUANTITY_NUMBER: &str = "unable to parse numeric part of quantity";

/// Whether a scalar value fits; an error where its type has words of its own for what is wrong.
pub fn fits(scalar: Scalar, value: &Value) -> Result<bool, String> {
    let integer = || value.as_i64();
    Ok(match scalar {
        Scalar::Untyped => true,
        Scalar::String | Scalar::Formatted => value.is_string(),
        Scalar::Boolean => value.is_boolean(),
        Scalar::Number => value.is_number(),
        Scalar::Int32 => integer().is_some_and(|number| i32::try_from(number).is_ok()),
        Scalar::Int64 => integer().is_some(),
        Scalar::IntOrString => {
            value.is_string() || integer().is_some_and(|number| i32::try_from(number).is_ok())
        }
        Scalar::Bytes => {
            return value
                .as_str()
                .map_or(Ok(false), |text| bytes(text).map(|()| true));
        }
        Scalar::DateTime => {
            return value
                .as_str()
                .map_or(Ok(false), |text| time(text).map(|()| true));
        }
        Scalar::Quantity => match value {
            Value::String(text) => quantity(text).map(|()| true)?,
            Value::Number(number) => quantity(&number.to_string()).map(|()| true)?,
            _ => false,
        },
    })
}

/// Base64 with its padding; line ends may be in it.
fn bytes(text: &str) -> Result<(), String> {
    let wrong = |at: usize| Err(format!("illegal base64 data at input byte {at}"));
    let mut group = 0;
    let mut start = 0;
    let mut padded = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\r' | b'\n' => {}
            b'=' if group >= 2 || padded > 0 => {
                padded += 1;
                if padded + group > 4 {
                    return wrong(at);
                }
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' if padded == 0 => {
                if group == 0 {
                    start = at;
                }
                group = (group + 1) % 4;
            }
            _ => return wrong(at),
        }
    }
    if (padded > 0 && group + padded != 4) || (padded == 0 && group != 0) {
        return wrong(if padded > 0 { text.len() } else { start });
    }
    Ok(())
}

/// RFC 3339, with the words of Go's parser for the first thing that is not as its layout has it.
fn time(text: &str) -> Result<(), String> {
    const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
    let shown = go::quoted(text);
    let unread = |rest: &str, part: &str| {
        Err(format!(
            "parsing time {shown} as \"{LAYOUT}\": cannot parse {} as \"{part}\"",
            go::quoted(rest)
        ))
    };
    let range = |what: &str| Err(format!("parsing time {shown}: {what} out of range"));
    let mut rest = text;
    let mut numbers = [0_u32; 6];
    for (index, (part, width, separator)) in [
        ("2006", 4, "-"),
        ("01", 2, "-"),
        ("02", 2, "T"),
        ("15", 2, ":"),
        ("04", 2, ":"),
        ("05", 2, ""),
    ]
    .into_iter()
    .enumerate()
    {
        let digits = rest
            .bytes()
            .take(width)
            .take_while(u8::is_ascii_digit)
            .count();
        if digits < width {
            return unread(rest, part);
        }
        numbers[index] = rest[..width].parse().unwrap_or(0);
        rest = &rest[width..];
        match rest.strip_prefix(separator) {
            Some(after) => rest = after,
            None => return unread(rest, separator),
        }
    }
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            rest = &fraction[digits..];
        }
    }
    let zone = rest.as_bytes();
    let offset = match zone {
        [b'Z', after @ ..] => {
            if !after.is_empty() {
                return Err(format!(
                    "parsing time {shown}: extra text: {}",
                    go::quoted(&rest[1..])
                ));
            }
            true
        }
        [b'+' | b'-', a, b, b':', c, d] => [a, b, c, d].iter().all(|digit| digit.is_ascii_digit()),
        _ => false,
    };
    if !offset {
        return unread(rest, "Z07:00");
    }
    let [year, month, day, hour, minute, second] = numbers;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    match () {
        () if !(1..=12).contains(&month) => range("month"),
        () if hour > 23 => range("hour"),
        () if minute > 59 => range("minute"),
        () if second > 59 => range("second"),
        () if day < 1 || day > days => range("day"),
        () => Ok(()),
    }
}

fn quantity(text: &str) -> Result<(), String> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let number = unsigned.len()
        - unsigned
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
            .len();
    let (number, suffix) = unsigned.split_at(number);
    let letters = suffix.len()
        - suffix
            .trim_start_matches(|c: char| "eEinumkKMGTP".contains(c))
            .len();
    let exponent = &suffix[letters..];
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if number.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(QUANTITY_FORMAT.to_owned());
    }
    if number.matches('.').count() > 1 || !number.bytes().any(|byte| byte.is_ascii_digit()) {
        return Err(QUANTITY_NUMBER.to_owned());
    }
    let known = match (&suffix[..letters], exponent) {
        (
            "" | "n" | "u" | "m" | "k" | "M" | "G" | "T" | "P" | "E" | "Ki" | "Mi" | "Gi" | "Ti"
            | "Pi" | "Ei",
            "",
        ) => true,
        ("e" | "E", exponent) => !digits.is_empty() && exponent.len() <= 10,
        _ => false,
    };
    if known {
        Ok(())
    } else {
        Err(QUANTITY_SUFFIX.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::{QUANTITY_FORMAT, QUANTITY_SUFFIX, bytes, quantity, time};

    #[test]
    fn quantities_times_and_bytes_are_read_as_go_reads_them() {
        for fine in [
            "1", "100m", "1.5Gi", "-2e3", "+.5", "1E", "5n", "1e-3", "12Ki",
        ] {
            assert_eq!(quantity(fine), Ok(()), "{fine}");
        }
        for (text, expected) in [
            ("", QUANTITY_FORMAT),
            ("x", QUANTITY_FORMAT),
            ("1ZZ", QUANTITY_FORMAT),
            ("1mm", QUANTITY_SUFFIX),
            ("1Kii", QUANTITY_SUFFIX),
        ] {
            assert_eq!(quantity(text).unwrap_err(), expected, "{text}");
        }
        for fine in [
            "2026-01-01T00:00:00Z",
            "2024-02-29T23:59:59.123456Z",
            "2026-01-01T00:00:00+01:00",
        ] {
            assert_eq!(time(fine), Ok(()), "{fine}");
        }
        for (text, expected) in [
            (
                "2026-01-01",
                "parsing time \"2026-01-01\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"T\"",
            ),
            (
                "2026-13-01T00:00:00Z",
                "parsing time \"2026-13-01T00:00:00Z\": month out of range",
            ),
            (
                "2026-02-30T00:00:00Z",
                "parsing time \"2026-02-30T00:00:00Z\": day out of range",
            ),
            (
                "2026-01-01T00:00:00Zé",
                "parsing time \"2026-01-01T00:00:00Zé\": extra text: \"é\"",
            ),
            (
                "2026-01-01T00:00:00",
                "parsing time \"2026-01-01T00:00:00\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"Z07:00\"",
            ),
        ] {
            assert_eq!(time(text).unwrap_err(), expected);
        }
        for fine in ["", "YQ==", "YWI=", "YWJj", "YW\nJj"] {
            assert_eq!(bytes(fine), Ok(()), "{fine}");
        }
        for (text, at) in [
            ("!!", 0),
            ("YQ=", 3),
            ("Y", 0),
            ("YWJjY", 4),
            ("YQ==Y", 4),
            ("é", 0),
        ] {
            assert_eq!(
                bytes(text).unwrap_err(),
                format!("illegal base64 data at input byte {at}"),
                "{text}"
            );
        }
    }
}
