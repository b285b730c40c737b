//! Go's `time.Time`: an instant with a zone, its calendar fields and arithmetic.
//! There is no clock here; "now" comes from the caller.

mod format;
mod layout;
mod parse;

pub use parse::ParseError;

use super::duration::Duration;
use super::zone::Zone;

/// Layout of [`Time::parse`] and [`Time::format`] for RFC 3339 with as many digits as needed.
pub const RFC3339_NANO: &str = "2006-01-02T15:04:05.999999999Z07:00";

const DAY: i64 = 86_400;
/// Unix time of the zero value, the first instant of year 1.
const ZERO: i64 = -62_135_596_800;

/// English names of the months.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// English names of the days of a week.
pub const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// An instant, shown in a zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    /// Seconds since 1970.
    secs: i64,
    /// Nanoseconds after `secs`, less than a second.
    nanos: u32,
    zone: Zone,
}

impl Default for Time {
    /// Go's zero value, `0001-01-01 00:00:00 +0000 UTC`.
    fn default() -> Self {
        Self {
            secs: ZERO,
            nanos: 0,
            zone: Zone::Utc,
        }
    }
}

/// A calendar date in some zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    /// Year, which may be zero or negative.
    pub year: i64,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
}

impl Time {
    /// The instant `secs` and `nanos` after 1970 in UTC; more than a second of nanoseconds carries
    /// over.
    #[must_use]
    pub fn unix(secs: i64, nanos: i64) -> Self {
        let carry = nanos.div_euclid(1_000_000_000);
        Self {
            secs: secs.wrapping_add(carry),
            nanos: nanos.rem_euclid(1_000_000_000) as u32,
            zone: Zone::Utc,
        }
    }

    /// `time.Date`: fields beyond their range carry over.
    #[must_use]
    pub fn date(date: (i64, i64, i64), clock: (i64, i64, i64), nanos: i64, zone: Zone) -> Self {
        let (year, month, day) = date;
        let months = i128::from(month) - 1;
        let year = i128::from(year) + months.div_euclid(12);
        let days = days_from_civil(year, months.rem_euclid(12) as u32 + 1, 1) + i128::from(day) - 1;
        let (hour, minute, second) = clock;
        let carry = nanos.div_euclid(1_000_000_000);
        let secs = days * i128::from(DAY)
            + i128::from(hour) * 3600
            + i128::from(minute) * 60
            + i128::from(second)
            + i128::from(carry);
        let mut secs = secs.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        // The offset is that of the instant meant; near a change, that of the first guess at it.
        let offset = i64::from(zone.lookup(secs).1);
        let offset = if offset == 0 {
            0
        } else {
            i64::from(zone.lookup(secs.saturating_sub(offset)).1)
        };
        secs = secs.saturating_sub(offset);
        Self {
            secs,
            nanos: nanos.rem_euclid(1_000_000_000) as u32,
            zone,
        }
    }

    /// The same instant shown in another zone.
    #[must_use]
    pub fn in_zone(&self, zone: Zone) -> Self {
        Self { zone, ..*self }
    }

    /// The zone it is shown in.
    #[must_use]
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Abbreviation and offset in seconds of its zone at this instant.
    #[must_use]
    pub fn zone_at(&self) -> (String, i32) {
        self.zone.lookup(self.secs)
    }

    /// Whether this is the first instant of year 1 UTC.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.secs == ZERO && self.nanos == 0
    }

    /// Seconds since 1970.
    #[must_use]
    pub fn unix_seconds(&self) -> i64 {
        self.secs
    }

    /// Milliseconds since 1970; wraps as Go's does.
    #[must_use]
    pub fn unix_milli(&self) -> i64 {
        self.secs
            .wrapping_mul(1_000)
            .wrapping_add(i64::from(self.nanos / 1_000_000))
    }

    /// Microseconds since 1970; wraps as Go's does.
    #[must_use]
    pub fn unix_micro(&self) -> i64 {
        self.secs
            .wrapping_mul(1_000_000)
            .wrapping_add(i64::from(self.nanos / 1_000))
    }

    /// Nanoseconds since 1970; wraps as Go's does.
    #[must_use]
    pub fn unix_nano(&self) -> i64 {
        self.secs
            .wrapping_mul(1_000_000_000)
            .wrapping_add(i64::from(self.nanos))
    }

    /// Nanoseconds within the second.
    #[must_use]
    pub fn nanosecond(&self) -> u32 {
        self.nanos
    }

    /// Seconds since the first instant of year 1, which is what Go keeps; wraps as Go's does.
    #[must_use]
    pub fn seconds_since_year_one(&self) -> i64 {
        self.secs.wrapping_sub(ZERO)
    }

    fn local_secs(&self) -> i128 {
        i128::from(self.secs) + i128::from(self.zone_at().1)
    }

    fn local_days(&self) -> i128 {
        self.local_secs().div_euclid(i128::from(DAY))
    }

    /// Year, month and day.
    #[must_use]
    pub fn calendar(&self) -> Date {
        civil_from_days(self.local_days())
    }

    /// Year.
    #[must_use]
    pub fn year(&self) -> i64 {
        self.calendar().year
    }

    /// Month, 1 to 12.
    #[must_use]
    pub fn month(&self) -> u32 {
        self.calendar().month
    }

    /// Day of the month.
    #[must_use]
    pub fn day(&self) -> u32 {
        self.calendar().day
    }

    /// Hour, minute and second.
    #[must_use]
    pub fn clock(&self) -> (u32, u32, u32) {
        let second = self.local_secs().rem_euclid(i128::from(DAY)) as u32;
        (second / 3600, second / 60 % 60, second % 60)
    }

    /// Day of the week, 0 for Sunday.
    #[must_use]
    pub fn weekday(&self) -> u32 {
        // 1970 began on a Thursday.
        (self.local_days() + 4).rem_euclid(7) as u32
    }

    /// Day of the year, 1 to 366.
    #[must_use]
    pub fn year_day(&self) -> u32 {
        let days = self.local_days();
        let year = civil_from_days(days).year;
        (days - days_from_civil(i128::from(year), 1, 1)) as u32 + 1
    }

    /// ISO 8601 year and week number.
    #[must_use]
    pub fn iso_week(&self) -> (i64, u32) {
        // The week belongs to the year that holds its Thursday.
        let days = self.local_days();
        let thursday = days - (days + 3).rem_euclid(7) + 3;
        let year = civil_from_days(thursday).year;
        (
            year,
            ((thursday - days_from_civil(i128::from(year), 1, 1)) / 7) as u32 + 1,
        )
    }

    /// `duration` later.
    #[must_use]
    pub fn add(&self, duration: Duration) -> Self {
        let nanos = i64::from(self.nanos) + duration.0 % 1_000_000_000;
        let secs = self.secs.wrapping_add(duration.0 / 1_000_000_000);
        Self {
            zone: self.zone.clone(),
            ..Self::unix(secs, nanos)
        }
    }

    /// The time since `other`, at most as far as 64 bits reach.
    #[must_use]
    pub fn sub(&self, other: &Self) -> Duration {
        let nanos = (i128::from(self.secs) - i128::from(other.secs)) * 1_000_000_000
            + i128::from(self.nanos)
            - i128::from(other.nanos);
        Duration(nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
    }

    /// Years, months and days later on the calendar.
    #[must_use]
    pub fn add_date(&self, years: i64, months: i64, days: i64) -> Self {
        let date = self.calendar();
        let (hour, minute, second) = self.clock();
        Self::date(
            (
                date.year.saturating_add(years),
                i64::from(date.month).saturating_add(months),
                i64::from(date.day).saturating_add(days),
            ),
            (i64::from(hour), i64::from(minute), i64::from(second)),
            i64::from(self.nanos),
            self.zone.clone(),
        )
    }

    /// How two instants are ordered, whatever their zones.
    #[must_use]
    pub fn compare(&self, other: &Self) -> std::cmp::Ordering {
        (self.secs, self.nanos).cmp(&(other.secs, other.nanos))
    }
}

/// Whether a year has a 29th of February.
#[must_use]
pub fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month, 1 to 12.
#[must_use]
pub fn days_in(month: u32, year: i64) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970 to a date; years are counted from March so that the leap day comes last.
fn days_from_civil(year: i128, month: u32, day: u32) -> i128 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = i128::from((153 * ((month + 9) % 12) + 2) / 5 + day - 1);
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date that many days from 1970.
fn civil_from_days(days: i128) -> Date {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = (of_year - (153 * shifted + 2) / 5 + 1) as u32;
    let month = ((shifted + 2) % 12 + 1) as u32;
    let year = era * 400 + year + i128::from(month <= 2);
    Date {
        year: year as i64,
        month,
        day,
    }
}

/// Quotes as package `time` does: every byte that is not printable ASCII in hexadecimal.
pub(crate) fn quote_plain(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in text {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=0x7f => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;
