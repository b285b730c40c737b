//! Semantic versions as Masterminds' semver 3.4 reads, orders and steps them; constraints are in
//! `constraint`.

mod constraint;

use std::cmp::Ordering;
use std::fmt;

pub use constraint::{ConstraintError, Constraints};

use super::strconv::{NumError, parse_uint};

/// Bytes beyond which a version is refused.
const MAX_LENGTH: usize = 256;

/// Why a text is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// Not of the form of a version.
    #[error("invalid semantic version")]
    Invalid,
    /// Longer than any version needs to be.
    #[error("version string is too long (max {MAX_LENGTH} bytes)")]
    TooLong,
    /// No text at all.
    #[error("version string empty")]
    Empty,
    /// A number with other characters in it.
    #[error("invalid characters in version")]
    Characters,
    /// A number with a leading zero.
    #[error("version segment starts with 0")]
    LeadingZero,
    /// An empty or malformed part after `+`.
    #[error("invalid metadata string")]
    Metadata,
    /// An empty or malformed part after `-`.
    #[error("invalid prerelease string")]
    Prerelease,
    /// A number beyond 64 bits, found by the loose parser.
    #[error("error parsing version segment: {0}")]
    Segment(NumError),
    /// A number beyond 64 bits, found by the strict parser.
    #[error(transparent)]
    Number(NumError),
}

/// A semantic version and the text it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    major: u64,
    minor: u64,
    patch: u64,
    pre: String,
    metadata: String,
    original: String,
}

impl Version {
    /// `NewVersion`: also takes a leading `v`, missing numbers and leading zeros.
    ///
    /// # Errors
    /// What is not even loosely a version.
    pub fn parse(text: &[u8]) -> Result<Self, VersionError> {
        if text.len() > MAX_LENGTH {
            return Err(VersionError::TooLong);
        }
        let original = std::str::from_utf8(text).map_err(|_| VersionError::Invalid)?;
        let rest = original.strip_prefix('v').unwrap_or(original);
        let (rest, metadata) = match rest.split_once('+') {
            Some((rest, metadata)) => (rest, Some(metadata)),
            None => (rest, None),
        };
        let (numbers, pre) = match rest.split_once('-') {
            Some((numbers, pre)) => (numbers, Some(pre)),
            None => (rest, None),
        };
        let segments: Vec<&str> = numbers.split('.').collect();
        let well_formed = segments.len() <= 3
            && segments
                .iter()
                .all(|segment| !segment.is_empty() && is_digits(segment))
            && pre
                .into_iter()
                .chain(metadata)
                .all(|part| part.split('.').all(is_identifier));
        if !well_formed {
            return Err(VersionError::Invalid);
        }
        let mut version = [0; 3];
        for (number, segment) in version.iter_mut().zip(segments) {
            *number = parse_uint(segment.as_bytes(), 10, 64).map_err(VersionError::Segment)?;
        }
        let pre = pre.unwrap_or_default();
        if !pre.is_empty() {
            check_prerelease(pre)?;
        }
        Ok(Self::from_parts(
            version,
            pre,
            metadata.unwrap_or_default(),
            original,
        ))
    }

    /// `StrictNewVersion`: exactly the form of the specification.
    ///
    /// # Errors
    /// Everything else.
    pub fn parse_strict(text: &[u8]) -> Result<Self, VersionError> {
        if text.is_empty() {
            return Err(VersionError::Empty);
        }
        if text.len() > MAX_LENGTH {
            return Err(VersionError::TooLong);
        }
        let original = std::str::from_utf8(text).map_err(|_| VersionError::Characters)?;
        let segments: Vec<&str> = original.splitn(3, '.').collect();
        let &[major, minor, patch] = segments.as_slice() else {
            return Err(VersionError::Invalid);
        };
        let (patch, metadata) = match patch.split_once('+') {
            Some((patch, metadata)) => {
                check_metadata(metadata)?;
                (patch, metadata)
            }
            None => (patch, ""),
        };
        let (patch, pre) = match patch.split_once('-') {
            Some((patch, pre)) => {
                check_prerelease(pre)?;
                (patch, pre)
            }
            None => (patch, ""),
        };
        for segment in [major, minor, patch] {
            if !is_digits(segment) {
                return Err(VersionError::Characters);
            }
            if segment.len() > 1 && segment.starts_with('0') {
                return Err(VersionError::LeadingZero);
            }
        }
        let mut version = [0; 3];
        for (number, segment) in version.iter_mut().zip([major, minor, patch]) {
            *number = parse_uint(segment.as_bytes(), 10, 64).map_err(VersionError::Number)?;
        }
        Ok(Self::from_parts(version, pre, metadata, original))
    }

    fn from_parts(
        [major, minor, patch]: [u64; 3],
        pre: &str,
        metadata: &str,
        original: &str,
    ) -> Self {
        let (pre, metadata, original) = (pre.to_owned(), metadata.to_owned(), original.to_owned());
        Self {
            major,
            minor,
            patch,
            pre,
            metadata,
            original,
        }
    }

    /// First number.
    #[must_use]
    pub fn major(&self) -> u64 {
        self.major
    }

    /// Second number.
    #[must_use]
    pub fn minor(&self) -> u64 {
        self.minor
    }

    /// Third number.
    #[must_use]
    pub fn patch(&self) -> u64 {
        self.patch
    }

    /// What follows `-`.
    #[must_use]
    pub fn prerelease(&self) -> &str {
        &self.pre
    }

    /// What follows `+`.
    #[must_use]
    pub fn metadata(&self) -> &str {
        &self.metadata
    }

    /// The text it was read from.
    #[must_use]
    pub fn original(&self) -> &str {
        &self.original
    }

    /// The next patch; a prerelease becomes its release.
    #[must_use]
    pub fn inc_patch(&self) -> Self {
        let step = u64::from(self.pre.is_empty());
        self.stepped([self.major, self.minor, self.patch.wrapping_add(step)])
    }

    /// The next minor version.
    #[must_use]
    pub fn inc_minor(&self) -> Self {
        self.stepped([self.major, self.minor.wrapping_add(1), 0])
    }

    /// The next major version.
    #[must_use]
    pub fn inc_major(&self) -> Self {
        self.stepped([self.major.wrapping_add(1), 0, 0])
    }

    fn stepped(&self, version: [u64; 3]) -> Self {
        self.renamed(Self::from_parts(version, "", "", ""))
    }

    /// `next` with the text it would have been read from, a leading `v` kept.
    fn renamed(&self, mut next: Self) -> Self {
        let mark = if self.original.starts_with('v') {
            "v"
        } else {
            ""
        };
        next.original = format!("{mark}{next}");
        next
    }

    /// The same version with another prerelease.
    ///
    /// # Errors
    /// A malformed prerelease.
    pub fn set_prerelease(&self, pre: &str) -> Result<Self, VersionError> {
        if !pre.is_empty() {
            check_prerelease(pre)?;
        }
        Ok(self.renamed(Self {
            pre: pre.to_owned(),
            ..self.clone()
        }))
    }

    /// The same version with other metadata.
    ///
    /// # Errors
    /// Malformed metadata.
    pub fn set_metadata(&self, metadata: &str) -> Result<Self, VersionError> {
        if !metadata.is_empty() {
            check_metadata(metadata)?;
        }
        Ok(self.renamed(Self {
            metadata: metadata.to_owned(),
            ..self.clone()
        }))
    }

    /// Precedence; metadata does not count.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| {
            match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => compare_prerelease(&self.pre, &other.pre),
            }
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre.is_empty() {
            write!(f, "-{}", self.pre)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn check_prerelease(text: &str) -> Result<(), VersionError> {
    for part in text.split('.') {
        if !is_identifier(part) {
            return Err(VersionError::Prerelease);
        }
        if is_digits(part) && part.len() > 1 && part.starts_with('0') {
            return Err(VersionError::LeadingZero);
        }
    }
    Ok(())
}

fn check_metadata(text: &str) -> Result<(), VersionError> {
    if text.split('.').all(is_identifier) {
        Ok(())
    } else {
        Err(VersionError::Metadata)
    }
}

/// Part by part: a missing part is least, numbers come before words.
fn compare_prerelease(left: &str, right: &str) -> Ordering {
    let (mut lefts, mut rights) = (left.split('.'), right.split('.'));
    loop {
        let (left, right) = match (lefts.next(), rights.next()) {
            (None, None) => return Ordering::Equal,
            (left, right) => (left.unwrap_or_default(), right.unwrap_or_default()),
        };
        if left == right {
            continue;
        }
        if left.is_empty() || right.is_empty() {
            return left.len().cmp(&right.len());
        }
        let number = |text: &str| parse_uint(text.as_bytes(), 10, 64).ok();
        return match (number(left), number(right)) {
            (None, None) => left.cmp(right),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            // Equal numbers spelled differently count as less, whichever side asks.
            (Some(left), Some(right)) => left.cmp(&right).then(Ordering::Less),
        };
    }
}

#[cfg(test)]
mod tests;
