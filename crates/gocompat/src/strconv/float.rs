//! Floating-point numbers to and from text: every verb of `strconv.FormatFloat`, and what
//! `ParseFloat` accepts.

use super::number::{NumError, NumErrorKind, underscores_ok};

/// Digits beyond which every double is written out exactly, so that more are zeros.
const EXACT_DIGITS: usize = 800;

/// Significant decimal digits of a value, with the point before `digits[point]`; no digits is zero.
struct Decimal {
    digits: Vec<u8>,
    point: i32,
}

/// `strconv.FormatFloat`: `verb` is one of `eEfgGbxX`, `prec` -1 is the shortest exact form, `bits`
/// is 32 or 64.
#[must_use]
pub fn format_float(value: f64, verb: u8, prec: i32, bits: u32) -> String {
    let single = bits == 32;
    let value = if single {
        f64::from(value as f32)
    } else {
        value
    };
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let mut out = String::new();
    if value.is_sign_negative() {
        out.push('-');
    }
    let size = value.abs();
    match verb {
        b'b' => push_binary(&mut out, size, single),
        b'x' | b'X' => push_hex(&mut out, size, verb, prec, single),
        b'e' | b'E' | b'f' | b'g' | b'G' => push_decimal(&mut out, size, verb, prec, single),
        _ => return format!("%{}", char::from(verb)),
    }
    out
}

fn push_decimal(out: &mut String, size: f64, verb: u8, prec: i32, single: bool) {
    let shortest = prec < 0;
    let wanted = usize::try_from(prec).unwrap_or(0);
    let decimal = if size == 0.0 {
        Decimal {
            digits: Vec::new(),
            point: 0,
        }
    } else if shortest {
        shortest_digits(size, single)
    } else {
        match verb {
            b'f' => digits_to_place(size, wanted),
            b'e' | b'E' => exact_digits(size, wanted.saturating_add(1)),
            _ => exact_digits(size, wanted.max(1)),
        }
    };
    let count = decimal.digits.len();
    match verb {
        b'f' => {
            let places = if shortest {
                places_of(&decimal)
            } else {
                wanted
            };
            push_fixed(out, &decimal, places);
        }
        b'e' | b'E' => {
            let places = if shortest {
                count.saturating_sub(1)
            } else {
                wanted
            };
            push_exponent(out, &decimal, places, verb);
        }
        _ => {
            let point = i64::from(decimal.point);
            let limit = if shortest { count } else { wanted.max(1) };
            let mut threshold = if shortest { 6 } else { limit as i64 };
            if !shortest && limit > count && count as i64 >= point {
                threshold = count as i64;
            }
            if point - 1 < -4 || point > threshold {
                push_exponent(out, &decimal, limit.min(count).saturating_sub(1), verb - 2);
            } else {
                let digits = if limit as i64 > point { count } else { limit };
                push_fixed(
                    out,
                    &decimal,
                    usize::try_from(digits as i64 - point).unwrap_or(0),
                );
            }
        }
    }
}

fn places_of(decimal: &Decimal) -> usize {
    usize::try_from(decimal.digits.len() as i64 - i64::from(decimal.point)).unwrap_or(0)
}

fn push_exponent(out: &mut String, decimal: &Decimal, places: usize, verb: u8) {
    let digit = |at: usize| char::from(decimal.digits.get(at).copied().unwrap_or(b'0'));
    out.push(digit(0));
    if places > 0 {
        out.push('.');
        out.extend((1..=places).map(digit));
    }
    out.push(char::from(verb));
    let exponent = if decimal.digits.is_empty() {
        0
    } else {
        decimal.point - 1
    };
    out.push(if exponent < 0 { '-' } else { '+' });
    out.push_str(&format!("{:02}", exponent.unsigned_abs()));
}

fn push_fixed(out: &mut String, decimal: &Decimal, places: usize) {
    let point = i64::from(decimal.point);
    let digit = |at: i64| {
        let found = usize::try_from(at)
            .ok()
            .and_then(|at| decimal.digits.get(at));
        char::from(found.copied().unwrap_or(b'0'))
    };
    if point > 0 {
        out.extend((0..point).map(digit));
    } else {
        out.push('0');
    }
    if places > 0 {
        out.push('.');
        out.extend((0..places as i64).map(|at| digit(point + at)));
    }
}

fn shortest_digits(size: f64, single: bool) -> Decimal {
    let text = if single {
        format!("{:e}", size as f32)
    } else {
        format!("{size:e}")
    };
    let found = split_scientific(&text);
    if found
        .digits
        .last()
        .is_none_or(|digit| digit.is_multiple_of(2))
    {
        return found;
    }
    // Of two shortest forms equally near, Go takes the even one and the standard library the upper
    // one.
    let even = format!("{:.*e}", found.digits.len() - 1, size);
    let same = if single {
        even.parse() == Ok(size as f32)
    } else {
        even.parse() == Ok(size)
    };
    if same { split_scientific(&even) } else { found }
}

/// Exactly `count` significant digits, correctly rounded, trailing zeros kept off.
fn exact_digits(size: f64, count: usize) -> Decimal {
    split_scientific(&format!("{:.*e}", count.min(EXACT_DIGITS) - 1, size))
}

/// Digits down to the `places`th after the point, correctly rounded with ties to even.
fn digits_to_place(size: f64, places: usize) -> Decimal {
    let whole = exact_digits(size, EXACT_DIGITS);
    let keep = i64::from(whole.point) + places as i64;
    if keep >= whole.digits.len() as i64 {
        return whole;
    }
    match usize::try_from(keep) {
        Ok(0) => {
            // Everything goes: only more than half a unit of the last place rounds up to one.
            let up = whole.digits.as_slice() > b"5".as_slice();
            Decimal {
                digits: if up { vec![b'1'] } else { Vec::new() },
                point: whole.point + 1,
            }
        }
        Ok(keep) => exact_digits(size, keep),
        Err(_) => Decimal {
            digits: Vec::new(),
            point: 0,
        },
    }
}

fn split_scientific(text: &str) -> Decimal {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    while digits.last() == Some(&b'0') {
        digits.pop();
    }
    let point = if digits.is_empty() {
        0
    } else {
        exponent.parse::<i32>().unwrap_or(0) + 1
    };
    Decimal { digits, point }
}

/// Layout of a binary format: bits of the fraction and of the exponent, and what the exponent is
/// offset by.
struct Layout {
    fraction: u32,
    exponent: u32,
    bias: i32,
}

const DOUBLE: Layout = Layout {
    fraction: 52,
    exponent: 11,
    bias: -1023,
};
const SINGLE: Layout = Layout {
    fraction: 23,
    exponent: 8,
    bias: -127,
};

/// Mantissa with its implicit bit, and the power of two of that bit.
fn split_binary(size: f64, single: bool) -> (u64, i32, &'static Layout) {
    let (bits, layout) = if single {
        (u64::from((size as f32).to_bits()), &SINGLE)
    } else {
        (size.to_bits(), &DOUBLE)
    };
    let fraction = bits & ((1 << layout.fraction) - 1);
    let exponent = (bits >> layout.fraction) as i32 & ((1 << layout.exponent) - 1);
    if exponent == 0 {
        (fraction, 1 + layout.bias, layout)
    } else {
        (
            fraction | 1 << layout.fraction,
            exponent + layout.bias,
            layout,
        )
    }
}

fn push_binary(out: &mut String, size: f64, single: bool) {
    let (mantissa, exponent, layout) = split_binary(size, single);
    out.push_str(&format!(
        "{mantissa}p{:+}",
        exponent - layout.fraction as i32
    ));
}

fn push_hex(out: &mut String, size: f64, verb: u8, prec: i32, single: bool) {
    const TOP: u32 = 60;
    let (mantissa, mut exponent, layout) = split_binary(size, single);
    let mut mantissa = mantissa << (TOP - layout.fraction);
    if mantissa == 0 {
        exponent = 0;
    } else {
        let shift = mantissa.leading_zeros() - (63 - TOP);
        mantissa <<= shift;
        exponent -= shift as i32;
    }
    if (0..15).contains(&prec) {
        let dropped = TOP - prec as u32 * 4;
        let extra = mantissa & ((1 << dropped) - 1);
        let mut kept = mantissa >> dropped;
        let half = 1_u64 << (dropped - 1);
        if extra > half || extra == half && kept & 1 == 1 {
            kept += 1;
        }
        mantissa = kept << dropped;
        if mantissa & 1 << (TOP + 1) != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let upper = verb == b'X';
    let digit = |nibble: u64| {
        let digit = char::from_digit((nibble & 15) as u32, 16).unwrap_or('0');
        if upper {
            digit.to_ascii_uppercase()
        } else {
            digit
        }
    };
    out.push_str(if upper { "0X" } else { "0x" });
    out.push(digit(mantissa >> TOP & 1));
    let mut rest = mantissa << 4;
    if prec < 0 && rest != 0 {
        out.push('.');
        while rest != 0 {
            out.push(digit(rest >> TOP));
            rest <<= 4;
        }
    } else if prec > 0 {
        out.push('.');
        for _ in 0..prec {
            out.push(digit(rest >> TOP));
            rest <<= 4;
        }
    }
    out.push(if upper { 'P' } else { 'p' });
    out.push(if exponent < 0 { '-' } else { '+' });
    out.push_str(&format!("{:02}", exponent.unsigned_abs()));
}

/// `strconv.ParseFloat`: decimal and hexadecimal forms, underscores between digits, and the names
/// of infinity and NaN.
///
/// # Errors
/// Syntax, or range when the value rounds to infinity.
pub fn parse_float(text: &[u8], bits: u32) -> Result<f64, NumError> {
    let fail = |kind| NumError::new("ParseFloat", text, kind);
    let syntax = || fail(NumErrorKind::Syntax);
    let (sign, body) = match text {
        [b'-', rest @ ..] => (-1.0, rest),
        [b'+', rest @ ..] => (1.0, rest),
        _ => (1.0, text),
    };
    if body.eq_ignore_ascii_case(b"inf") || body.eq_ignore_ascii_case(b"infinity") {
        return Ok(sign * f64::INFINITY);
    }
    if text.eq_ignore_ascii_case(b"nan") {
        return Ok(f64::NAN);
    }
    if body.contains(&b'_') && !underscores_ok(text) {
        return Err(syntax());
    }
    let plain: Vec<u8> = body.iter().copied().filter(|&byte| byte != b'_').collect();
    let size = match plain.as_slice() {
        [b'0', b'x' | b'X', rest @ ..] => {
            parse_hex(rest, if bits == 32 { &SINGLE } else { &DOUBLE }).ok_or_else(syntax)?
        }
        decimal => parse_decimal(decimal, bits == 32).ok_or_else(syntax)?,
    };
    if size.is_infinite() {
        Err(fail(NumErrorKind::Range))
    } else {
        Ok(sign * size)
    }
}

fn parse_decimal(text: &[u8], single: bool) -> Option<f64> {
    // The standard parser also takes names and signs, so only numerals are let through to it.
    let numeral = text
        .first()
        .is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.');
    let text = std::str::from_utf8(text).ok().filter(|_| numeral)?;
    if single {
        text.parse::<f32>().ok().map(f64::from)
    } else {
        text.parse().ok()
    }
}

/// Digits after `0x`, with the binary exponent that Go requires.
fn parse_hex(text: &[u8], layout: &Layout) -> Option<f64> {
    let at = text
        .iter()
        .position(|byte| byte.eq_ignore_ascii_case(&b'p'))?;
    let exponent = text.get(at + 1..)?;
    let (down, power) = match exponent {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, exponent),
    };
    if power.is_empty() || !power.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let power = power.iter().fold(0_i64, |sum, byte| {
        (sum * 10 + i64::from(byte - b'0')).min(1_000_000_000)
    });
    let mut scale = if down { -power } else { power };
    let mut mantissa = 0_u64;
    let (mut seen, mut point) = (false, false);
    for &byte in &text[..at] {
        if byte == b'.' {
            if point {
                return None;
            }
            point = true;
            continue;
        }
        let digit = char::from(byte).to_digit(16)?;
        seen = true;
        if mantissa >> 59 == 0 {
            mantissa = mantissa << 4 | u64::from(digit);
            scale -= if point { 4 } else { 0 };
        } else {
            // Beyond the precision only "something follows" matters for rounding.
            mantissa |= u64::from(digit != 0);
            scale += if point { 0 } else { 4 };
        }
    }
    seen.then(|| assemble(mantissa, scale, layout))
}

/// The nearest value to `mantissa * 2^scale`, ties to even.
fn assemble(mantissa: u64, scale: i64, layout: &Layout) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let lowest = i64::from(layout.bias) + 1 - i64::from(layout.fraction);
    let width = i64::from(64 - mantissa.leading_zeros());
    let unit = (scale + width - 1 - i64::from(layout.fraction)).max(lowest);
    let drop = unit - scale;
    let kept = if drop <= 0 {
        mantissa << (-drop).min(63)
    } else if drop > 64 {
        0
    } else {
        let wide = u128::from(mantissa);
        let (kept, rest, half) = (wide >> drop, wide & ((1 << drop) - 1), 1_u128 << (drop - 1));
        (kept + u128::from(rest > half || rest == half && kept & 1 == 1)) as u64
    };
    let top = i64::from((1 << (layout.exponent - 1)) - 1);
    let length = i64::from(64 - kept.leading_zeros());
    if unit + length - 1 > top {
        return f64::INFINITY;
    }
    // Exact: `kept` fits the fraction, and two steps keep subnormal powers of two representable.
    let half = unit / 2;
    kept as f64 * 2_f64.powi(half as i32) * 2_f64.powi((unit - half) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_formats_as_go_does() {
        for (value, verb, prec, bits, want) in [
            (100.0, b'g', -1, 64, "100"),
            (1_000_000.0, b'g', -1, 64, "1e+06"),
            (123_456.0, b'g', -1, 64, "123456"),
            (1_234_567.0, b'g', -1, 64, "1.234567e+06"),
            (0.0001, b'g', -1, 64, "0.0001"),
            (0.000_01, b'g', -1, 64, "1e-05"),
            (0.000_01, b'G', -1, 64, "1E-05"),
            (1e21, b'f', -1, 64, "1000000000000000000000"),
            (0.5, b'f', 0, 64, "0"),
            (1.5, b'f', 0, 64, "2"),
            (2.5, b'f', 0, 64, "2"),
            (0.51, b'f', 0, 64, "1"),
            (0.05, b'f', 1, 64, "0.1"),
            (0.25, b'f', 1, 64, "0.2"),
            (9.99, b'f', 1, 64, "10.0"),
            (99.99, b'e', 2, 64, "1.00e+02"),
            (-0.0, b'g', -1, 64, "-0"),
            (0.0, b'e', 3, 64, "0.000e+00"),
            (5e-324, b'g', -1, 64, "5e-324"),
            (f64::from(630.361_4_f32), b'g', -1, 64, "630.3613891601562"),
            (5e-324, b'e', 17, 64, "4.94065645841246544e-324"),
            (400.0, b'g', 3, 64, "400"),
            (40.0, b'g', 1, 64, "4e+01"),
            (123_456_789.0, b'g', 4, 64, "1.235e+08"),
            (0.1, b'g', -1, 32, "0.1"),
            (16_777_217.0, b'g', -1, 32, "1.6777216e+07"),
            (1.0, b'b', -1, 64, "4503599627370496p-52"),
            (1.0, b'b', -1, 32, "8388608p-23"),
            (1.5, b'x', -1, 64, "0x1.8p+00"),
            (1.96875, b'X', 1, 64, "0X1.0P+01"),
            (0.0, b'x', 2, 64, "0x0.00p+00"),
            (f64::NAN, b'f', 3, 64, "NaN"),
            (f64::NEG_INFINITY, b'g', -1, 64, "-Inf"),
            (1.0, b'q', -1, 64, "%q"),
        ] {
            assert_eq!(
                format_float(value, verb, prec, bits),
                want,
                "{value} {} {prec}",
                char::from(verb)
            );
        }
        assert_eq!(format_float(1.0, b'f', 70_000, 64).len(), 70_002);
    }

    #[test]
    fn floats_are_read_as_go_reads_them() {
        for (text, want) in [
            ("1", Ok(1.0)),
            (".5", Ok(0.5)),
            ("5.", Ok(5.0)),
            ("+1e3", Ok(1000.0)),
            ("1_0.5_0", Ok(10.5)),
            ("0x1p-2", Ok(0.25)),
            ("0x1.8p+1", Ok(3.0)),
            ("0x_1p0", Ok(1.0)),
            ("-Infinity", Ok(f64::NEG_INFINITY)),
            ("iNf", Ok(f64::INFINITY)),
            ("1e-400", Ok(0.0)),
            ("0x1p-1074", Ok(5e-324)),
            ("0x1p-1076", Ok(0.0)),
            ("0x1p1024", Err(NumErrorKind::Range)),
            ("1e309", Err(NumErrorKind::Range)),
            ("0x1", Err(NumErrorKind::Syntax)),
            ("1__0", Err(NumErrorKind::Syntax)),
            ("+nan", Err(NumErrorKind::Syntax)),
            ("infi", Err(NumErrorKind::Syntax)),
            ("++1", Err(NumErrorKind::Syntax)),
            ("1e", Err(NumErrorKind::Syntax)),
            ("e1", Err(NumErrorKind::Syntax)),
            (".", Err(NumErrorKind::Syntax)),
            ("", Err(NumErrorKind::Syntax)),
            (" 1", Err(NumErrorKind::Syntax)),
        ] {
            assert_eq!(
                parse_float(text.as_bytes(), 64).map_err(|error| error.kind),
                want,
                "{text}"
            );
        }
        assert!(parse_float(b"NaN", 64).unwrap().is_nan());
        assert_eq!(
            parse_float(b"1e39", 32).unwrap_err().kind,
            NumErrorKind::Range
        );
        assert_eq!(parse_float(b"0.1", 32), Ok(f64::from(0.1_f32)));
    }
}
