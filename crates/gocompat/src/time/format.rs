//! Writing times by a layout, and the forms that need no layout.

use std::fmt;

use super::layout::{Element, OffsetForm, next_chunk};
use super::{MONTHS, RFC3339_NANO, Time, WEEKDAYS};

/// Why a time has no RFC 3339 form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarshalError {
    /// The year does not have four digits.
    #[error("year outside of range [0,9999]")]
    Year,
    /// The offset does not have two digits of hours below 24.
    #[error("timezone hour outside of range [0,23]")]
    ZoneHour,
}

impl Time {
    /// `Time.Format`: the layout with its elements replaced.
    #[must_use]
    pub fn format(&self, layout: &[u8]) -> Vec<u8> {
        let date = self.calendar();
        let (hour, minute, second) = self.clock();
        let (name, offset) = self.zone_at();
        let hour12 = if hour.is_multiple_of(12) {
            12
        } else {
            hour % 12
        };
        let month = MONTHS[date.month as usize - 1];
        let weekday = WEEKDAYS[self.weekday() as usize];
        let mut out = Vec::with_capacity(layout.len() + 10);
        let mut rest = layout;
        loop {
            let chunk = next_chunk(rest);
            out.extend_from_slice(chunk.prefix);
            let Some((element, _)) = chunk.element else {
                return out;
            };
            rest = chunk.suffix;
            let text = match element {
                Element::Year => format!("{:02}", date.year.unsigned_abs() % 100),
                Element::LongYear => padded(date.year, 4),
                Element::Month => month[..3].to_owned(),
                Element::LongMonth => month.to_owned(),
                Element::NumMonth => date.month.to_string(),
                Element::ZeroMonth => format!("{:02}", date.month),
                Element::WeekDay => weekday[..3].to_owned(),
                Element::LongWeekDay => weekday.to_owned(),
                Element::Day => date.day.to_string(),
                Element::UnderDay => format!("{:2}", date.day),
                Element::ZeroDay => format!("{:02}", date.day),
                Element::UnderYearDay => format!("{:3}", self.year_day()),
                Element::ZeroYearDay => format!("{:03}", self.year_day()),
                Element::Hour => format!("{hour:02}"),
                Element::Hour12 => hour12.to_string(),
                Element::ZeroHour12 => format!("{hour12:02}"),
                Element::Minute => minute.to_string(),
                Element::ZeroMinute => format!("{minute:02}"),
                Element::Second => second.to_string(),
                Element::ZeroSecond => format!("{second:02}"),
                Element::UpperPm => if hour >= 12 { "PM" } else { "AM" }.to_owned(),
                Element::LowerPm => if hour >= 12 { "pm" } else { "am" }.to_owned(),
                Element::Offset(form) => offset_text(offset, form),
                Element::ZoneName if !name.is_empty() => name.clone(),
                Element::ZoneName => offset_text(
                    offset,
                    OffsetForm {
                        z: false,
                        colons: false,
                        minutes: true,
                        seconds: false,
                    },
                ),
                Element::Fraction {
                    digits,
                    trim,
                    separator,
                } => self.fraction(digits, trim, separator),
            };
            out.extend_from_slice(text.as_bytes());
        }
    }

    fn fraction(&self, digits: usize, trim: bool, separator: u8) -> String {
        let all = format!("{:09}", self.nanosecond());
        let kept = &all[..digits.min(9)];
        let kept = if trim {
            kept.trim_end_matches('0')
        } else {
            kept
        };
        if kept.is_empty() {
            String::new()
        } else {
            format!("{}{kept}", char::from(separator))
        }
    }

    /// The form of `MarshalText`: RFC 3339 with as many digits as needed.
    ///
    /// # Errors
    /// Years beyond four digits and offsets of a day or more.
    pub fn marshal_text(&self) -> Result<String, MarshalError> {
        if !(0..=9999).contains(&self.year()) {
            return Err(MarshalError::Year);
        }
        if self.zone_at().1.unsigned_abs() >= 24 * 3600 {
            return Err(MarshalError::ZoneHour);
        }
        Ok(String::from_utf8_lossy(&self.format(RFC3339_NANO.as_bytes())).into_owned())
    }

    /// The form of `MarshalJSON`, quotes included; its error begins with `Time.MarshalJSON: `.
    ///
    /// # Errors
    /// As [`Time::marshal_text`].
    pub fn marshal_json(&self) -> Result<String, String> {
        self.marshal_text()
            .map(|text| format!("\"{text}\""))
            .map_err(|error| format!("Time.MarshalJSON: {error}"))
    }

    /// The form of `%#v`.
    #[must_use]
    pub fn go_syntax(&self) -> String {
        let date = self.calendar();
        let (hour, minute, second) = self.clock();
        format!(
            "time.Date({}, time.{}, {}, {hour}, {minute}, {second}, {}, {})",
            date.year,
            MONTHS[date.month as usize - 1],
            date.day,
            self.nanosecond(),
            self.zone().go_syntax()
        )
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(
            &self.format(b"2006-01-02 15:04:05.999999999 -0700 MST"),
        ))
    }
}

/// A number with zeros up to `width`, the sign not counted.
fn padded(value: i64, width: usize) -> String {
    format!(
        "{}{:0width$}",
        if value < 0 { "-" } else { "" },
        value.unsigned_abs()
    )
}

fn offset_text(offset: i32, form: OffsetForm) -> String {
    if form.z && offset == 0 {
        return "Z".to_owned();
    }
    let minutes = offset / 60;
    let colon = if form.colons { ":" } else { "" };
    let mut out = format!(
        "{}{:02}",
        if minutes < 0 { '-' } else { '+' },
        minutes.unsigned_abs() / 60
    );
    if form.minutes {
        out.push_str(&format!("{colon}{:02}", minutes.unsigned_abs() % 60));
    }
    if form.seconds {
        // Less than a minute west of UTC has a plus and negative seconds in Go too.
        let seconds = if minutes < 0 {
            -(offset % 60)
        } else {
            offset % 60
        };
        out.push_str(&format!("{colon}{}", padded(i64::from(seconds), 2)));
    }
    out
}
