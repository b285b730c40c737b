//! Reading times by a layout, with Go's checks and error texts. "Local" is UTC.

use super::layout::{Element, OffsetForm, next_chunk};
use super::{MONTHS, Time, WEEKDAYS, days_in, is_leap, quote_plain};
use crate::zone::Zone;

/// Why a text is no time of a layout, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parsing time {0}")]
pub struct ParseError(String);

/// An element that is not there, or a number beyond its range.
enum Bad {
    Form,
    Range(&'static str),
}

type Field<'a, T> = Result<(T, &'a [u8]), Bad>;

#[derive(Default)]
struct Fields {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: i64,
    am: bool,
    pm: bool,
    utc: bool,
    offset: Option<i32>,
    zone_name: Vec<u8>,
}

impl Time {
    /// `time.Parse`: reads `value` as written by `layout`.
    ///
    /// # Errors
    /// What does not follow the layout, and dates that do not exist.
    pub fn parse(layout: &[u8], value: &[u8]) -> Result<Self, ParseError> {
        let mut fields = Fields::default();
        let (mut form, mut rest) = (layout, value);
        loop {
            let chunk = next_chunk(form);
            let mismatch = |part: &[u8], rest: &[u8]| {
                ParseError(format!(
                    "{} as {}: cannot parse {} as {}",
                    quote_plain(value),
                    quote_plain(layout),
                    quote_plain(rest),
                    quote_plain(part)
                ))
            };
            rest = skip(rest, chunk.prefix).map_err(|rest| mismatch(chunk.prefix, rest))?;
            let Some((element, text)) = chunk.element else {
                break;
            };
            form = chunk.suffix;
            rest = fields.read(element, rest, form).map_err(|bad| match bad {
                Bad::Form => mismatch(text, rest),
                Bad::Range(what) => plain_error(value, &format!("{what} out of range")),
            })?;
        }
        if !rest.is_empty() {
            return Err(plain_error(
                value,
                &format!("extra text: {}", quote_plain(rest)),
            ));
        }
        fields.finish().map_err(|what| plain_error(value, what))
    }
}

fn plain_error(value: &[u8], what: &str) -> ParseError {
    ParseError(format!("{}: {what}", quote_plain(value)))
}

impl Fields {
    fn read<'a>(
        &mut self,
        element: Element,
        value: &'a [u8],
        next: &[u8],
    ) -> Result<&'a [u8], Bad> {
        use Element as E;
        match element {
            E::Year => {
                let (text, rest) = take(value, 2)?;
                let year = atoi(text)?;
                self.year = if year >= 69 { year + 1900 } else { year + 2000 };
                Ok(rest)
            }
            E::LongYear => {
                let (text, rest) = take(value, 4)?;
                if !text[0].is_ascii_digit() {
                    return Err(Bad::Form);
                }
                self.year = atoi(text)?;
                Ok(rest)
            }
            E::Month | E::LongMonth => {
                let (index, rest) = name(&MONTHS, value, element == E::Month)?;
                self.month = Some(index + 1);
                Ok(rest)
            }
            E::NumMonth | E::ZeroMonth => {
                let (month, rest) = number(value, element == E::ZeroMonth)?;
                self.month = Some(in_range(month, 1..=12, "month")?);
                Ok(rest)
            }
            E::WeekDay | E::LongWeekDay => {
                name(&WEEKDAYS, value, element == E::WeekDay).map(|(_, rest)| rest)
            }
            E::Day | E::UnderDay | E::ZeroDay => {
                let value = if element == E::UnderDay {
                    trim_spaces(value, 1)
                } else {
                    value
                };
                let (day, rest) = number(value, element == E::ZeroDay)?;
                self.day = Some(day);
                Ok(rest)
            }
            E::UnderYearDay | E::ZeroYearDay => {
                let fixed = element == E::ZeroYearDay;
                let value = if fixed { value } else { trim_spaces(value, 2) };
                let length = value
                    .iter()
                    .take(3)
                    .take_while(|byte| byte.is_ascii_digit())
                    .count();
                if length == 0 || fixed && length != 3 {
                    return Err(Bad::Form);
                }
                self.year_day = Some(atoi(&value[..length])?);
                Ok(&value[length..])
            }
            E::Hour => self.set(value, false, 0..=23, "hour", |fields| &mut fields.hour),
            E::Hour12 | E::ZeroHour12 => {
                self.set(value, element == E::ZeroHour12, 0..=12, "hour", |fields| {
                    &mut fields.hour
                })
            }
            E::Minute | E::ZeroMinute => self.set(
                value,
                element == E::ZeroMinute,
                0..=59,
                "minute",
                |fields| &mut fields.minute,
            ),
            E::Second | E::ZeroSecond => {
                let fixed = element == E::ZeroSecond;
                let rest = self.set(value, fixed, 0..=59, "second", |fields| &mut fields.second)?;
                // A fraction may follow seconds even if the layout does not ask for one.
                let asked = matches!(next_chunk(next).element, Some((E::Fraction { .. }, _)));
                let length = fraction_length(rest);
                if asked || length == 0 {
                    Ok(rest)
                } else {
                    self.fraction(rest, length)
                }
            }
            E::UpperPm | E::LowerPm => {
                let (text, rest) = take(value, 2)?;
                let words: [&[u8]; 2] = if element == E::UpperPm {
                    [b"AM", b"PM"]
                } else {
                    [b"am", b"pm"]
                };
                self.am |= text == words[0];
                self.pm |= text == words[1];
                if words.contains(&text) {
                    Ok(rest)
                } else {
                    Err(Bad::Form)
                }
            }
            E::Offset(form) => self.offset(value, form),
            E::ZoneName => {
                if let Some(rest) = value.strip_prefix(b"UTC") {
                    self.utc = true;
                    return Ok(rest);
                }
                let (text, rest) = value.split_at(zone_name_length(value).ok_or(Bad::Form)?);
                self.zone_name = text.to_vec();
                Ok(rest)
            }
            E::Fraction {
                digits,
                trim: false,
                ..
            } => {
                if value.len() < digits + 1 {
                    Err(Bad::Form)
                } else {
                    self.fraction(value, digits + 1)
                }
            }
            E::Fraction { .. } => match fraction_length(value) {
                0 => Ok(value),
                length => self.fraction(value, length),
            },
        }
    }

    fn set<'a>(
        &mut self,
        value: &'a [u8],
        fixed: bool,
        range: std::ops::RangeInclusive<i64>,
        what: &'static str,
        field: fn(&mut Self) -> &mut i64,
    ) -> Result<&'a [u8], Bad> {
        let (number, rest) = number(value, fixed)?;
        *field(self) = in_range(number, range, what)?;
        Ok(rest)
    }

    /// A separator and digits, `length` bytes in all; digits beyond nanoseconds are dropped.
    fn fraction<'a>(&mut self, value: &'a [u8], length: usize) -> Result<&'a [u8], Bad> {
        let (text, rest) = value.split_at(length.min(value.len()));
        if !matches!(text.first(), Some(b'.' | b',')) {
            return Err(Bad::Form);
        }
        let digits = &text[1..text.len().min(10)];
        let number = atoi(digits)?;
        if number < 0 {
            return Err(Bad::Range("fractional second"));
        }
        self.nanos = number * 10_i64.pow(9 - digits.len() as u32);
        Ok(rest)
    }

    fn offset<'a>(&mut self, value: &'a [u8], form: OffsetForm) -> Result<&'a [u8], Bad> {
        if form.z && value.first() == Some(&b'Z') {
            self.utc = true;
            return Ok(&value[1..]);
        }
        let colon = usize::from(form.colons);
        let length =
            3 + usize::from(form.minutes) * (2 + colon) + usize::from(form.seconds) * (2 + colon);
        let (text, rest) = take(value, length)?;
        let part = |index: usize| {
            let at = 1 + index * (2 + colon);
            let valid = index == 0 || colon == 0 || text[at - 1] == b':';
            let digits = &text[at..at + 2];
            if valid && digits.iter().all(u8::is_ascii_digit) {
                atoi(digits)
            } else {
                Err(Bad::Form)
            }
        };
        if form.colons && (text[3] != b':' || form.seconds && text[6] != b':') {
            return Err(Bad::Form);
        }
        let mut parts = [0; 3];
        let mut failed = false;
        let present = [true, form.minutes, form.seconds];
        for (index, part) in (0..3)
            .filter(|&index| present[index])
            .map(|index| (index, part(index)))
        {
            match part {
                Ok(number) => parts[index] = number,
                Err(_) => {
                    failed = true;
                    break;
                }
            }
        }
        // People do write offsets of 24 hours or 60 minutes, so those pass.
        for (number, most, what) in [
            (parts[0], 24, "time zone offset hour"),
            (parts[1], 60, "time zone offset minute"),
            (parts[2], 60, "time zone offset second"),
        ] {
            in_range(number, 0..=most, what)?;
        }
        let seconds = ((parts[0] * 60 + parts[1]) * 60 + parts[2]) as i32;
        self.offset = match text[0] {
            _ if failed => return Err(Bad::Form),
            b'+' => Some(seconds),
            b'-' => Some(-seconds),
            _ => return Err(Bad::Form),
        };
        Ok(rest)
    }

    fn finish(mut self) -> Result<Time, &'static str> {
        if self.pm && self.hour < 12 {
            self.hour += 12;
        } else if self.am && self.hour == 12 {
            self.hour = 0;
        }
        let (month, day) = match self.year_day {
            Some(year_day) => self.month_and_day(year_day)?,
            None => (self.month.unwrap_or(1), self.day.unwrap_or(1)),
        };
        if day < 1 || day > i64::from(days_in(month as u32, self.year)) {
            return Err("day out of range");
        }
        let clock = (self.hour, self.minute, self.second);
        let time = Time::date((self.year, month, day), clock, self.nanos, Zone::Utc);
        // Go marks "no offset" by -1, so an offset of minus one second is none.
        let offset = self.offset.filter(|&offset| offset != -1);
        if self.utc {
            return Ok(time);
        }
        let name = String::from_utf8_lossy(&self.zone_name).into_owned();
        Ok(match offset {
            Some(0) if name.is_empty() => time,
            Some(offset) => Time {
                secs: time.secs - i64::from(offset),
                zone: Zone::Fixed { name, offset },
                ..time
            },
            None if name.is_empty() => time,
            // An abbreviation says nothing of its offset, except for GMT with hours.
            None => {
                let hours = name
                    .strip_prefix("GMT")
                    .and_then(|hours| hours.parse::<i32>().ok())
                    .unwrap_or(0);
                Time {
                    zone: Zone::Fixed {
                        name,
                        offset: hours * 3600,
                    },
                    ..time
                }
            }
        })
    }

    fn month_and_day(&self, year_day: i64) -> Result<(i64, i64), &'static str> {
        let leap = i64::from(is_leap(self.year));
        if !(1..=365 + leap).contains(&year_day) {
            return Err("day-of-year out of range");
        }
        let (mut month, mut day) = (1, year_day);
        while day > i64::from(days_in(month, self.year)) {
            day -= i64::from(days_in(month, self.year));
            month += 1;
        }
        if self.month.is_some_and(|known| known != i64::from(month)) {
            return Err("day-of-year does not match month");
        }
        if self.day.is_some_and(|known| known != day) {
            return Err("day-of-year does not match day");
        }
        Ok((i64::from(month), day))
    }
}

/// Cuts the layout's literal text from the value; any run of spaces matches any other.
fn skip<'a>(mut value: &'a [u8], mut prefix: &[u8]) -> Result<&'a [u8], &'a [u8]> {
    while let Some(&byte) = prefix.first() {
        if byte == b' ' {
            if value.first().is_some_and(|&byte| byte != b' ') {
                return Err(value);
            }
            prefix = trim_spaces(prefix, usize::MAX);
            value = trim_spaces(value, usize::MAX);
            continue;
        }
        if value.first() != Some(&byte) {
            return Err(value);
        }
        prefix = &prefix[1..];
        value = &value[1..];
    }
    Ok(value)
}

fn trim_spaces(value: &[u8], most: usize) -> &[u8] {
    let count = value
        .iter()
        .take(most)
        .take_while(|&&byte| byte == b' ')
        .count();
    &value[count..]
}

fn take(value: &[u8], length: usize) -> Field<'_, &[u8]> {
    value.split_at_checked(length).ok_or(Bad::Form)
}

fn in_range(
    number: i64,
    range: std::ops::RangeInclusive<i64>,
    what: &'static str,
) -> Result<i64, Bad> {
    if range.contains(&number) {
        Ok(number)
    } else {
        Err(Bad::Range(what))
    }
}

/// One or two digits; two if `fixed`.
fn number(value: &[u8], fixed: bool) -> Field<'_, i64> {
    let length = value
        .iter()
        .take(2)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if length == 0 || fixed && length < 2 {
        return Err(Bad::Form);
    }
    Ok((atoi(&value[..length])?, &value[length..]))
}

/// A number of at most nine digits, which may have a sign.
fn atoi(text: &[u8]) -> Result<i64, Bad> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.iter().any(|byte| !byte.is_ascii_digit()) {
        return Err(Bad::Form);
    }
    let size = digits
        .iter()
        .fold(0, |sum, byte| sum * 10 + i64::from(byte - b'0'));
    Ok(if negative { -size } else { size })
}

fn name<'a>(names: &[&str], value: &'a [u8], short: bool) -> Field<'a, i64> {
    for (index, name) in (0..).zip(names) {
        let name = if short {
            &name.as_bytes()[..3]
        } else {
            name.as_bytes()
        };
        if let Some((text, rest)) = value.split_at_checked(name.len())
            && text.eq_ignore_ascii_case(name)
        {
            return Ok((index, rest));
        }
    }
    Err(Bad::Form)
}

/// Bytes of a separator and at least one digit, or 0.
fn fraction_length(value: &[u8]) -> usize {
    match value {
        [b'.' | b',', digit, rest @ ..] if digit.is_ascii_digit() => {
            2 + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
        }
        _ => 0,
    }
}

/// Length of a zone abbreviation: three to five capitals, `GMT` with hours, or a bare offset.
fn zone_name_length(value: &[u8]) -> Option<usize> {
    if value.len() < 3 {
        return None;
    }
    if value.starts_with(b"ChST") || value.starts_with(b"MeST") {
        return Some(4);
    }
    if let Some(rest) = value.strip_prefix(b"GMT") {
        return Some(3 + signed_hours_length(rest));
    }
    if matches!(value[0], b'+' | b'-') {
        return Some(signed_hours_length(value)).filter(|&length| length > 0);
    }
    let capitals = value
        .iter()
        .take(6)
        .take_while(|byte| byte.is_ascii_uppercase())
        .count();
    match capitals {
        3 => Some(3),
        4 if value[3] == b'T' || value.starts_with(b"WITA") => Some(4),
        5 if value[4] == b'T' => Some(5),
        _ => None,
    }
}

fn signed_hours_length(value: &[u8]) -> usize {
    let [b'+' | b'-', rest @ ..] = value else {
        return 0;
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let hours = rest[..digits].iter().fold(0_u64, |sum, byte| {
        (sum * 10 + u64::from(byte - b'0')).min(1000)
    });
    if digits == 0 || hours > 23 {
        0
    } else {
        digits + 1
    }
}
