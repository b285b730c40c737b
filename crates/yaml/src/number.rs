//! Numbers as Go's `strconv` reads and prints them.

/// A number as go-yaml keeps it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    Uint(u64),
    Float(f64),
}

/// Reads a number that begins with a sign or a digit: decimal, `0x`, `0o`, `0b`, octal by a leading
/// zero, or a float; underscores count for nothing.
pub(crate) fn parse(text: &str) -> Option<Number> {
    // Far most numbers in manifests are short and decimal.
    if text.len() < 19 && !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok().map(Number::Int);
    }
    let stripped;
    let plain = if text.contains('_') {
        stripped = text.replace('_', "");
        stripped.as_str()
    } else {
        text
    };
    parse_int(plain)
        .or_else(|| parse_uint(plain, 0).map(Number::Uint))
        .or_else(|| {
            if is_float(plain) {
                parse_float(plain).map(Number::Float)
            } else {
                None
            }
        })
        .or_else(|| parse_signed_digits(plain, "0b", 2))
}

/// Reads what go-yaml accepts by accident: digits that have a sign after their base.
pub(crate) fn parse_signed_digits(plain: &str, prefix: &str, base: u32) -> Option<Number> {
    let digits = plain.strip_prefix(prefix)?;
    let magnitude = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    let value = parse_uint(magnitude, base)?;
    signed(value, digits.starts_with('-')).map(Number::Int)
}

fn parse_int(plain: &str) -> Option<Number> {
    let magnitude = plain.strip_prefix(['+', '-']).unwrap_or(plain);
    signed(parse_uint(magnitude, 0)?, plain.starts_with('-')).map(Number::Int)
}

fn signed(magnitude: u64, negative: bool) -> Option<i64> {
    if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

/// Reads digits of the base; base zero means that a prefix tells it.
fn parse_uint(digits: &str, base: u32) -> Option<u64> {
    let bytes = digits.as_bytes();
    let (base, digits) = match (base, bytes) {
        (0, []) => return None,
        (0, [b'0', b'b' | b'B', _, ..]) => (2, &bytes[2..]),
        (0, [b'0', b'o' | b'O', _, ..]) => (8, &bytes[2..]),
        (0, [b'0', b'x' | b'X', _, ..]) => (16, &bytes[2..]),
        (0, [b'0']) => return Some(0),
        (0, [b'0', rest @ ..]) => (8, rest),
        (0, _) => (10, bytes),
        (_, []) => return None,
        (base, _) => (base, bytes),
    };
    digits.iter().try_fold(0u64, |value, digit| {
        let digit = char::from(*digit).to_digit(base)?;
        value
            .checked_mul(u64::from(base))?
            .checked_add(u64::from(digit))
    })
}

/// Whether the text is a float in YAML's notation:
/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_float(text: &str) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let mut rest = text.as_bytes();
    if let [b'+' | b'-', tail @ ..] = rest {
        rest = tail;
    }
    let whole = digits(rest);
    rest = &rest[whole..];
    if let [b'.', tail @ ..] = rest {
        let fraction = digits(tail);
        if whole == 0 && fraction == 0 {
            return false;
        }
        rest = &tail[fraction..];
    } else if whole == 0 {
        return false;
    }
    if let [b'e' | b'E', tail @ ..] = rest {
        rest = tail;
        if let [b'+' | b'-', tail @ ..] = rest {
            rest = tail;
        }
        let exponent = digits(rest);
        return exponent > 0 && exponent == rest.len();
    }
    rest.is_empty()
}

/// Reads a float; one too large for 64 bits is none.
fn parse_float(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// Reads a float that begins with a point, where Go's own rule for underscores holds: only between
/// digits.
pub(crate) fn parse_point_float(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let between = |at: usize| {
        at > 0
            && bytes[at - 1].is_ascii_digit()
            && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
    };
    if bytes
        .iter()
        .enumerate()
        .any(|(at, b)| *b == b'_' && !between(at))
    {
        return None;
    }
    let plain = text.replace('_', "");
    if is_float(&plain) {
        parse_float(&plain)
    } else {
        None
    }
}

/// Prints a float as Go's `%v` and go-yaml do: the fewest digits, and an exponent from 1e+06 on and
/// below 1e-04.
pub(crate) fn format_float(value: f64) -> String {
    if value.is_finite() {
        lay_out(&Digits::of64(value))
    } else {
        special(value)
    }
}

/// Prints a float as [`format_float`] does, with no more digits than 32 bits tell apart. Keys are
/// printed so.
pub(crate) fn format_float32(value: f64) -> String {
    let short = value as f32;
    if short.is_finite() {
        lay_out(&Digits::of(
            &serde_json::to_string(&short).unwrap_or_default(),
        ))
    } else {
        special(f64::from(short))
    }
}

fn special(value: f64) -> String {
    if value.is_nan() {
        ".nan".to_owned()
    } else if value > 0.0 {
        ".inf".to_owned()
    } else {
        "-.inf".to_owned()
    }
}

/// The fewest decimal digits that tell a float from its neighbours: `0.DIGITS * 10^point`.
struct Digits {
    negative: bool,
    digits: String,
    point: i32,
}

impl Digits {
    fn of64(value: f64) -> Self {
        Self::of(&serde_json::to_string(&value).unwrap_or_default())
    }

    /// Takes the digits from what serde_json prints: it settles ties as Go does, the standard
    /// library does not.
    fn of(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let negative = whole.starts_with('-');
        let whole = whole.trim_start_matches('-');
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0');
        let point =
            whole.len() as i32 - (all.len() - digits.len()) as i32 + exponent.parse().unwrap_or(0);
        match digits.trim_end_matches('0') {
            "" => Self {
                negative,
                digits: "0".to_owned(),
                point: 1,
            },
            digits => Self {
                negative,
                digits: digits.to_owned(),
                point,
            },
        }
    }
}

fn lay_out(float: &Digits) -> String {
    let digits = float.digits.as_str();
    let mut out = String::with_capacity(24);
    if float.negative {
        out.push('-');
    }
    let exponent = float.point - 1;
    if !(-4..6).contains(&exponent) {
        out.push_str(&digits[..1]);
        if digits.len() > 1 {
            out.push('.');
            out.push_str(&digits[1..]);
        }
        out.push_str(if exponent < 0 { "e-" } else { "e+" });
        out.push_str(&format!("{:02}", exponent.unsigned_abs()));
        return out;
    }
    if float.point <= 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n(
            '0',
            float.point.unsigned_abs() as usize,
        ));
        out.push_str(digits);
        return out;
    }
    let whole = float.point as usize;
    out.push_str(&digits[..whole.min(digits.len())]);
    out.extend(std::iter::repeat_n('0', whole.saturating_sub(digits.len())));
    if digits.len() > whole {
        out.push('.');
        out.push_str(&digits[whole..]);
    }
    out
}

/// The number that the JSON text of a Go `float64` stands for: an integer if it prints as one that
/// fits 64 bits.
pub(crate) fn from_json_float(value: f64) -> Number {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value != value.trunc() || value.abs() >= 1e21 || (value == 0.0 && value.is_sign_negative()) {
        return Number::Float(value);
    }
    if value.abs() < EXACT {
        return Number::Int(value as i64);
    }
    // Beyond 2^53 the text has the fewest digits that tell the float apart, and zeros: not its
    // exact value.
    let float = Digits::of64(value);
    let sign = if float.negative { "-" } else { "" };
    let text = format!(
        "{sign}{:0<width$}",
        float.digits,
        width = float.point.unsigned_abs() as usize
    );
    text.parse()
        .map(Number::Int)
        .or_else(|_| text.parse().map(Number::Uint))
        .unwrap_or(Number::Float(value))
}
