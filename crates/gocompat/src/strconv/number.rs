//! Integers and booleans to and from text, with Go's acceptance and error texts.

use std::fmt;

use super::quote::quote;

/// Why a number was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumErrorKind {
    /// Not a number of this form.
    Syntax,
    /// A number, but it does not fit.
    Range,
    /// The base is not 0 nor 2 to 36.
    Base(i32),
    /// The size is not 0 to 64.
    BitSize(i32),
}

/// Go's `*strconv.NumError`; its text is `strconv.ParseInt: parsing "x": invalid syntax`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumError {
    /// The Go function's name, such as `ParseInt`.
    pub func: &'static str,
    /// The text that was given.
    pub text: Vec<u8>,
    /// What is wrong with it.
    pub kind: NumErrorKind,
}

impl NumError {
    pub(crate) fn new(func: &'static str, text: &[u8], kind: NumErrorKind) -> Self {
        Self {
            func,
            text: text.to_vec(),
            kind,
        }
    }

    /// The value Go returns beside the error: the nearest 64-bit integer when out of range, else 0.
    #[must_use]
    pub fn clamped(&self) -> i64 {
        match self.kind {
            NumErrorKind::Range if self.text.starts_with(b"-") => i64::MIN,
            NumErrorKind::Range => i64::MAX,
            _ => 0,
        }
    }
}

impl fmt::Display for NumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = quote(&self.text);
        write!(
            f,
            "strconv.{}: parsing {}: ",
            self.func,
            String::from_utf8_lossy(&quoted)
        )?;
        match self.kind {
            NumErrorKind::Syntax => f.write_str("invalid syntax"),
            NumErrorKind::Range => f.write_str("value out of range"),
            NumErrorKind::Base(base) => write!(f, "invalid base {base}"),
            NumErrorKind::BitSize(bits) => write!(f, "invalid bit size {bits}"),
        }
    }
}

impl std::error::Error for NumError {}

/// `strconv.ParseInt`; `bits` 0 means 64. Base 0 reads the prefix and allows underscores.
///
/// # Errors
/// As Go: syntax, range, or an invalid base or size.
pub fn parse_int(text: &[u8], base: i32, bits: i32) -> Result<i64, NumError> {
    signed("ParseInt", text, base, bits)
}

/// `strconv.Atoi`: base 10, 64 bits.
///
/// # Errors
/// Syntax or range.
pub fn atoi(text: &[u8]) -> Result<i64, NumError> {
    signed("Atoi", text, 10, 64)
}

/// `strconv.ParseUint`; `bits` 0 means 64.
///
/// # Errors
/// As Go: syntax, range, or an invalid base or size.
pub fn parse_uint(text: &[u8], base: i32, bits: i32) -> Result<u64, NumError> {
    magnitude(text, base, bits).map_err(|kind| NumError::new("ParseUint", text, kind))
}

/// `strconv.ParseBool`.
///
/// # Errors
/// Anything but `1 t T TRUE true True 0 f F FALSE false False`.
pub fn parse_bool(text: &[u8]) -> Result<bool, NumError> {
    match text {
        b"1" | b"t" | b"T" | b"true" | b"TRUE" | b"True" => Ok(true),
        b"0" | b"f" | b"F" | b"false" | b"FALSE" | b"False" => Ok(false),
        _ => Err(NumError::new("ParseBool", text, NumErrorKind::Syntax)),
    }
}

/// `strconv.FormatInt` for bases 2 to 36; other bases are taken as 10.
#[must_use]
pub fn format_int(value: i64, base: u32) -> String {
    let base = if (2..=36).contains(&base) {
        u64::from(base)
    } else {
        10
    };
    let mut left = value.unsigned_abs();
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((left % base) as u32, base as u32).unwrap_or('0'));
        left /= base;
        if left == 0 {
            break;
        }
    }
    if value < 0 {
        digits.push('-');
    }
    digits.iter().rev().collect()
}

fn signed(func: &'static str, text: &[u8], base: i32, bits: i32) -> Result<i64, NumError> {
    let fail = |kind| NumError::new(func, text, kind);
    let (negative, body) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        Some(_) => (false, text),
        None => return Err(fail(NumErrorKind::Syntax)),
    };
    // A magnitude beyond the unsigned range of this size is out of the signed one too.
    let size = if bits == 0 { 64 } else { bits };
    let value = magnitude(body, base, bits).map_err(fail)?;
    let limit = 1_u64 << (size - 1);
    if negative {
        if value > limit {
            Err(fail(NumErrorKind::Range))
        } else {
            Ok((value as i64).wrapping_neg())
        }
    } else if value >= limit {
        Err(fail(NumErrorKind::Range))
    } else {
        Ok(value as i64)
    }
}

fn magnitude(text: &[u8], base: i32, bits: i32) -> Result<u64, NumErrorKind> {
    if text.is_empty() {
        return Err(NumErrorKind::Syntax);
    }
    let prefixed = base == 0;
    let (radix, digits) = match base {
        2..=36 => (base as u32, text),
        0 => match text {
            [b'0', b'b' | b'B', rest @ ..] if !rest.is_empty() => (2, rest),
            [b'0', b'o' | b'O', rest @ ..] if !rest.is_empty() => (8, rest),
            [b'0', b'x' | b'X', rest @ ..] if !rest.is_empty() => (16, rest),
            [b'0', rest @ ..] => (8, rest),
            _ => (10, text),
        },
        _ => return Err(NumErrorKind::Base(base)),
    };
    if !(0..=64).contains(&bits) {
        return Err(NumErrorKind::BitSize(bits));
    }
    let max = if bits == 0 || bits == 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    };
    let mut value = 0_u64;
    let mut underscores = false;
    for &byte in digits {
        if byte == b'_' && prefixed {
            underscores = true;
            continue;
        }
        let digit = char::from(byte)
            .to_digit(radix)
            .ok_or(NumErrorKind::Syntax)?;
        value = value
            .checked_mul(u64::from(radix))
            .and_then(|value| value.checked_add(u64::from(digit)))
            .filter(|&value| value <= max)
            .ok_or(NumErrorKind::Range)?;
    }
    if underscores && !underscores_ok(text) {
        Err(NumErrorKind::Syntax)
    } else {
        Ok(value)
    }
}

/// Whether every underscore separates digits, a base prefix counting as one.
pub(crate) fn underscores_ok(text: &[u8]) -> bool {
    let body = match text {
        [b'+' | b'-', rest @ ..] => rest,
        _ => text,
    };
    let (hex, rest, mut before) = match body {
        [b'0', mark, rest @ ..] if b"bBoOxX".contains(mark) => {
            (mark.eq_ignore_ascii_case(&b'x'), rest, b'0')
        }
        _ => (false, body, b'^'),
    };
    for &byte in rest {
        let now = match byte {
            b'0'..=b'9' => b'0',
            b'a'..=b'f' | b'A'..=b'F' if hex => b'0',
            b'_' if before == b'0' => b'_',
            b'_' => return false,
            _ if before == b'_' => return false,
            _ => b'!',
        };
        before = now;
    }
    before != b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_go_reads_them() {
        for (text, base, bits, want) in [
            ("0", 10, 64, Ok(0)),
            ("-9223372036854775808", 10, 64, Ok(i64::MIN)),
            (
                "9223372036854775808",
                10,
                64,
                Err("strconv.ParseInt: parsing \"9223372036854775808\": value out of range"),
            ),
            (
                "128",
                10,
                8,
                Err("strconv.ParseInt: parsing \"128\": value out of range"),
            ),
            ("-128", 10, 8, Ok(-128)),
            ("0x1F", 0, 0, Ok(31)),
            ("0b11", 0, 0, Ok(3)),
            ("0o17", 0, 0, Ok(15)),
            ("017", 0, 0, Ok(15)),
            (
                "08",
                0,
                0,
                Err("strconv.ParseInt: parsing \"08\": invalid syntax"),
            ),
            ("1_000", 0, 0, Ok(1000)),
            ("0_7", 0, 0, Ok(7)),
            ("0x_1", 0, 0, Ok(1)),
            (
                "1__0",
                0,
                0,
                Err("strconv.ParseInt: parsing \"1__0\": invalid syntax"),
            ),
            (
                "_1",
                0,
                0,
                Err("strconv.ParseInt: parsing \"_1\": invalid syntax"),
            ),
            (
                "1_",
                0,
                0,
                Err("strconv.ParseInt: parsing \"1_\": invalid syntax"),
            ),
            (
                "1_0",
                10,
                0,
                Err("strconv.ParseInt: parsing \"1_0\": invalid syntax"),
            ),
            (
                "0x",
                0,
                0,
                Err("strconv.ParseInt: parsing \"0x\": invalid syntax"),
            ),
            ("+5", 10, 0, Ok(5)),
            (
                "+-5",
                10,
                0,
                Err("strconv.ParseInt: parsing \"+-5\": invalid syntax"),
            ),
            (
                "",
                10,
                0,
                Err("strconv.ParseInt: parsing \"\": invalid syntax"),
            ),
            (
                "-",
                10,
                0,
                Err("strconv.ParseInt: parsing \"-\": invalid syntax"),
            ),
            ("zZ", 36, 0, Ok(1295)),
            (
                "1",
                37,
                0,
                Err("strconv.ParseInt: parsing \"1\": invalid base 37"),
            ),
            (
                "1",
                10,
                65,
                Err("strconv.ParseInt: parsing \"1\": invalid bit size 65"),
            ),
            (
                "99999999999999999999x",
                10,
                64,
                Err("strconv.ParseInt: parsing \"99999999999999999999x\": value out of range"),
            ),
        ] {
            let got = parse_int(text.as_bytes(), base, bits).map_err(|error| error.to_string());
            assert_eq!(got, want.map_err(str::to_owned), "{text}");
        }
        assert_eq!(
            atoi(b"x\xff").unwrap_err().to_string(),
            r#"strconv.Atoi: parsing "x\xff": invalid syntax"#
        );
        assert_eq!(parse_uint(b"18446744073709551615", 10, 64), Ok(u64::MAX));
        assert!(parse_uint(b"-1", 10, 64).is_err());
        assert_eq!(parse_bool(b"True"), Ok(true));
        assert!(parse_bool(b"yes").is_err());
    }

    #[test]
    fn integers_are_written_in_any_base() {
        for (value, base, want) in [
            (0, 10, "0"),
            (-255, 16, "-ff"),
            (i64::MIN, 2, &*format!("-1{}", "0".repeat(63))),
            (35, 36, "z"),
        ] {
            assert_eq!(format_int(value, base), want);
        }
    }
}
