//! Time zones: UTC, a fixed offset, or a named zone from the zone database that is built in.

use jiff::{Timestamp, tz::TimeZone};

use super::time::quote_plain;

/// A time zone.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Zone {
    /// Coordinated universal time; also what "local" means here.
    #[default]
    Utc,
    /// An offset that never changes, with a name that may be empty.
    Fixed {
        /// Abbreviation to print.
        name: String,
        /// Seconds east of UTC.
        offset: i32,
    },
    /// A zone of the database, such as `Europe/Berlin`.
    Named(TimeZone),
}

/// Why there is no such zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ZoneError {
    /// Names may not lead out of the database.
    #[error("time: invalid location name")]
    InvalidName,
    /// The database has no such name.
    #[error("unknown time zone {0}")]
    Unknown(String),
}

impl Zone {
    /// `time.LoadLocation`; `Local` is UTC.
    ///
    /// # Errors
    /// Unknown names and such as look like paths.
    pub fn load(name: &str) -> Result<Self, ZoneError> {
        if matches!(name, "" | "UTC" | "Local") {
            return Ok(Self::Utc);
        }
        if name.contains("..") || name.starts_with(['/', '\\']) {
            return Err(ZoneError::InvalidName);
        }
        let unknown = || ZoneError::Unknown(name.to_owned());
        let zone = jiff::tz::TimeZoneDatabase::bundled()
            .get(name)
            .map_err(|_| unknown())?;
        // The database finds names in any case and Go does not.
        if zone.iana_name() == Some(name) {
            Ok(Self::Named(zone))
        } else {
            Err(unknown())
        }
    }

    /// The abbreviation and the seconds east of UTC in use at a time.
    #[must_use]
    pub fn lookup(&self, unix: i64) -> (String, i32) {
        match self {
            Self::Utc => ("UTC".to_owned(), 0),
            Self::Fixed { name, offset } => (name.clone(), *offset),
            Self::Named(zone) => {
                let bounded = unix.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
                let info = zone.to_offset_info(Timestamp::from_second(bounded).unwrap_or_default());
                (info.abbreviation().to_owned(), info.offset().seconds())
            }
        }
    }

    /// The zone's own name, as `Location.String`.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Utc => "UTC",
            Self::Fixed { name, .. } => name,
            Self::Named(zone) => zone.iana_name().unwrap_or_default(),
        }
    }

    /// How `%#v` shows it.
    #[must_use]
    pub fn go_syntax(&self) -> String {
        match self {
            Self::Utc => "time.UTC".to_owned(),
            _ => format!("time.Location({})", quote_plain(self.name().as_bytes())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_found_by_their_exact_name() {
        for (name, at, want) in [
            ("UTC", 0, Ok(("UTC", 0))),
            ("", 0, Ok(("UTC", 0))),
            ("Europe/Berlin", 1_700_000_000, Ok(("CET", 3600))),
            ("Europe/Berlin", 1_690_000_000, Ok(("CEST", 7200))),
            ("America/New_York", 1_700_000_000, Ok(("EST", -18_000))),
            ("America/Sao_Paulo", 1_700_000_000, Ok(("-03", -10_800))),
            ("Asia/Kolkata", 4_000_000_000, Ok(("IST", 19_800))),
            ("EST5EDT", 0, Ok(("EST", -18_000))),
            ("europe/berlin", 0, Err("unknown time zone europe/berlin")),
            ("Nowhere", 0, Err("unknown time zone Nowhere")),
            ("../etc", 0, Err("time: invalid location name")),
            ("/etc", 0, Err("time: invalid location name")),
        ] {
            let got = Zone::load(name)
                .map(|zone| zone.lookup(at))
                .map_err(|error| error.to_string());
            assert_eq!(
                got,
                want.map(|(name, offset)| (name.to_owned(), offset))
                    .map_err(str::to_owned),
                "{name}"
            );
        }
        assert_eq!(Zone::load("Asia/Tokyo").unwrap().lookup(i64::MAX).0, "JST");
    }
}
