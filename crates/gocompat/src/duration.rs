//! Go's `time.Duration`: a signed count of nanoseconds, its text form both ways, and rounding.

use std::fmt;

use super::time::quote_plain;

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub i64);

/// Nanoseconds in a second.
pub const SECOND: i64 = 1_000_000_000;
/// Nanoseconds in a minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Nanoseconds in an hour.
pub const HOUR: i64 = 60 * MINUTE;

/// Why a text is no duration; its text is `time: invalid duration "x"` or alike.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("time: {0}")]
pub struct DurationError(String);

impl Duration {
    /// `time.ParseDuration`: signed decimal numbers each with a unit, such as `-1.5h` or `2h45m`.
    ///
    /// # Errors
    /// Missing or unknown units, no digits, or a value beyond 64 bits.
    pub fn parse(text: &[u8]) -> Result<Self, DurationError> {
        let fail = |what: &str| DurationError(format!("{what} {}", quote_plain(text)));
        let invalid = || fail("invalid duration");
        let (negative, mut rest) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        if rest == b"0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        const LIMIT: u64 = 1 << 63;
        let mut total = 0_u64;
        while !rest.is_empty() {
            let (whole, after) = rest.split_at(digits(rest));
            let mut value = leading_int(whole).ok_or_else(invalid)?;
            let (fraction, after) = match after.strip_prefix(b".") {
                Some(after) => after.split_at(digits(after)),
                None => (&b""[..], after),
            };
            if whole.is_empty() && fraction.is_empty() {
                return Err(invalid());
            }
            let length = after
                .iter()
                .position(|byte| byte.is_ascii_digit() || *byte == b'.')
                .unwrap_or(after.len());
            let (unit, after) = after.split_at(length);
            if unit.is_empty() {
                return Err(fail("missing unit in duration"));
            }
            let size = unit_size(unit)
                .ok_or_else(|| fail(&format!("unknown unit {} in duration", quote_plain(unit))))?;
            value = value
                .checked_mul(size)
                .filter(|value| *value <= LIMIT)
                .ok_or_else(invalid)?;
            let (part, scale) = leading_fraction(fraction);
            if part > 0 {
                value += (part as f64 * (size as f64 / scale)) as u64;
            }
            total = total
                .checked_add(value)
                .filter(|total| *total <= LIMIT && value <= LIMIT)
                .ok_or_else(invalid)?;
            rest = after;
        }
        if negative {
            return Ok(Self((total as i64).wrapping_neg()));
        }
        i64::try_from(total).map(Self).map_err(|_| invalid())
    }

    /// Seconds with their fraction.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.in_unit(SECOND)
    }

    /// Minutes with their fraction.
    #[must_use]
    pub fn minutes(self) -> f64 {
        self.in_unit(MINUTE)
    }

    /// Hours with their fraction.
    #[must_use]
    pub fn hours(self) -> f64 {
        self.in_unit(HOUR)
    }

    fn in_unit(self, unit: i64) -> f64 {
        (self.0 / unit) as f64 + (self.0 % unit) as f64 / unit as f64
    }

    /// Whole microseconds.
    #[must_use]
    pub fn microseconds(self) -> i64 {
        self.0 / 1_000
    }

    /// Whole milliseconds.
    #[must_use]
    pub fn milliseconds(self) -> i64 {
        self.0 / 1_000_000
    }

    /// Toward zero to a multiple of `unit`, unchanged if that is not positive.
    #[must_use]
    pub fn truncate(self, unit: Self) -> Self {
        if unit.0 <= 0 {
            self
        } else {
            Self(self.0 - self.0 % unit.0)
        }
    }

    /// To the nearest multiple of `unit`, halves away from zero, at most as far as 64 bits reach.
    #[must_use]
    pub fn round(self, unit: Self) -> Self {
        if unit.0 <= 0 {
            return self;
        }
        let rest = (self.0 % unit.0).unsigned_abs();
        let down = self.0 - self.0 % unit.0;
        if rest * 2 < unit.0.unsigned_abs() {
            Self(down)
        } else if self.0 < 0 {
            Self(down.saturating_sub(unit.0))
        } else {
            Self(down.saturating_add(unit.0))
        }
    }

    /// Size without sign; the least duration becomes the greatest.
    #[must_use]
    pub fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }

    /// sprig's `durationRound`: one unit, the largest that the duration is longer than; the sign is
    /// dropped.
    #[must_use]
    pub fn rough(self) -> String {
        const DAY: u64 = 24 * HOUR as u64;
        const UNITS: [(u64, &str); 6] = [
            (365 * DAY, "y"),
            (30 * DAY, "mo"),
            (DAY, "d"),
            (HOUR as u64, "h"),
            (MINUTE as u64, "m"),
            (SECOND as u64, "s"),
        ];
        let size = self.0.unsigned_abs();
        UNITS.iter().find(|(unit, _)| size > *unit).map_or_else(
            || "0s".to_owned(),
            |(unit, name)| format!("{}{name}", size / unit),
        )
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        let (unit, name) = match size {
            0 => return f.write_str("0s"),
            1..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "µs"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (SECOND as u64, "s"),
        };
        let mut whole = size / unit;
        if name == "s" && whole >= 60 {
            if whole >= 3600 {
                write!(f, "{}h", whole / 3600)?;
            }
            write!(f, "{}m", whole / 60 % 60)?;
            whole %= 60;
        }
        write!(f, "{whole}")?;
        let rest = size % unit;
        if rest != 0 {
            let digits = format!("{:0width$}", rest, width = unit.ilog10() as usize);
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        f.write_str(name)
    }
}

fn digits(text: &[u8]) -> usize {
    text.iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len())
}

fn leading_int(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |sum, byte| {
        sum.checked_mul(10)?
            .checked_add(u64::from(byte - b'0'))
            .filter(|sum| *sum <= 1 << 63)
    })
}

/// Digits after the point as a number and what to divide it by; those beyond 63 bits are dropped.
fn leading_fraction(digits: &[u8]) -> (u64, f64) {
    let (mut value, mut scale) = (0_u64, 1.0);
    for byte in digits {
        if value > (i64::MAX as u64) / 10 {
            break;
        }
        let next = value * 10 + u64::from(byte - b'0');
        if next > 1 << 63 {
            break;
        }
        value = next;
        scale *= 10.0;
    }
    (value, scale)
}

fn unit_size(unit: &[u8]) -> Option<u64> {
    Some(match unit {
        b"ns" => 1,
        // The micro sign and the Greek letter are both in use.
        b"us" | b"\xc2\xb5s" | b"\xce\xbcs" => 1_000,
        b"ms" => 1_000_000,
        b"s" => SECOND as u64,
        b"m" => MINUTE as u64,
        b"h" => HOUR as u64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written_as_go_does() {
        for (text, want) in [
            ("0", Ok("0s")),
            ("1h30m", Ok("1h30m0s")),
            ("-1.5h", Ok("-1h30m0s")),
            ("+5s", Ok("5s")),
            ("1.000000001s", Ok("1.000000001s")),
            ("1500ms", Ok("1.5s")),
            ("3µs", Ok("3µs")),
            ("3μs", Ok("3µs")),
            (".5s", Ok("500ms")),
            ("1.s", Ok("1s")),
            ("2h2ns", Ok("2h0m0.000000002s")),
            ("2562047h47m16.854775807s", Ok("2562047h47m16.854775807s")),
            ("-9223372036854775808ns", Ok("-2562047h47m16.854775808s")),
            (
                "9223372036854775808ns",
                Err("time: invalid duration \"9223372036854775808ns\""),
            ),
            ("", Err("time: invalid duration \"\"")),
            ("3", Err("time: missing unit in duration \"3\"")),
            ("1d", Err("time: unknown unit \"d\" in duration \"1d\"")),
            (".s", Err("time: invalid duration \".s\"")),
            ("s", Err("time: invalid duration \"s\"")),
            (
                "1é",
                Err("time: unknown unit \"\\xc3\\xa9\" in duration \"1\\xc3\\xa9\""),
            ),
        ] {
            let got = Duration::parse(text.as_bytes()).map(|duration| duration.to_string());
            assert_eq!(
                got.map_err(|error| error.to_string()),
                want.map(str::to_owned).map_err(str::to_owned),
                "{text}"
            );
        }
    }

    #[test]
    fn rounding_goes_away_from_zero_at_halves() {
        for (value, unit, rounded, cut) in [
            (1_500_000_000, SECOND, 2_000_000_000, 1_000_000_000),
            (-1_500_000_000, SECOND, -2_000_000_000, -1_000_000_000),
            (1_400_000_000, SECOND, 1_000_000_000, 1_000_000_000),
            (7, 0, 7, 7),
            (i64::MAX, HOUR, i64::MAX, 9_223_369_200_000_000_000),
        ] {
            assert_eq!(Duration(value).round(Duration(unit)), Duration(rounded));
            assert_eq!(Duration(value).truncate(Duration(unit)), Duration(cut));
        }
    }

    #[test]
    fn a_rough_duration_is_one_unit() {
        for (text, want) in [
            ("24h", "24h"),
            ("24h1s", "1d"),
            ("800h", "1mo"),
            ("8761h", "1y"),
            ("-90s", "1m"),
            ("1s", "0s"),
            ("2s", "2s"),
        ] {
            assert_eq!(Duration::parse(text.as_bytes()).unwrap().rough(), want);
        }
    }
}
