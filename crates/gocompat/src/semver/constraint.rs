//! Version constraints: `^ ~ ~> = != < <= > >= => =<`, wildcards, hyphen ranges, spaces or commas
//! for "and", `||` for "or".

use std::cmp::Ordering;
use std::fmt;
use std::sync::LazyLock;

use super::super::regexp::Regexp;
use super::super::strconv::quote;
use super::super::strings::split_n;
use super::{Version, compare_prerelease};

/// Bytes beyond which a constraint is refused.
const MAX_LENGTH: usize = 512;

/// Alternatives beyond which a constraint is refused.
const MAX_GROUPS: usize = 32;

/// Why a text is no constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    /// Not of the form of a constraint.
    #[error("improper constraint: {}", String::from_utf8_lossy(&quote(.0)))]
    Improper(Vec<u8>),
    /// Longer than any constraint needs to be.
    #[error("constraint string is too long (max {MAX_LENGTH} bytes)")]
    TooLong,
    /// More alternatives than any constraint needs.
    #[error("too many constraint groups (max {MAX_GROUPS})")]
    TooManyGroups,
    /// The form fits, but a number in it is none.
    #[error("constraint parser error")]
    Version,
}

/// Groups of constraints, one of which must hold entirely.
#[derive(Clone, Debug)]
pub struct Constraints {
    groups: Vec<Vec<Constraint>>,
}

/// Which number of a version a wildcard stands in for, with all after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    No,
    Patch,
    Minor,
    All,
}

#[derive(Clone, Debug)]
struct Constraint {
    version: Version,
    operator: String,
    /// The version as it was written.
    written: String,
    open: Open,
}

const OPERATOR: &str = r"(?:!=|>=|=>|<=|=<|~>|=|>|<|~|\^|)";

/// Nine groups: the numbers with their dots, and prerelease and metadata each with their mark and
/// without.
const VERSION: &str = concat!(
    r"v?([0-9xX*|]+)(\.[0-9xX*|]+)?(\.[0-9xX*|]+)?",
    r"(-([0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*))?",
    r"(\+([0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*))?"
);

struct Grammar {
    one: Regexp,
    each: Regexp,
    group: Regexp,
    range: Regexp,
}

static GRAMMAR: LazyLock<Option<Grammar>> = LazyLock::new(|| {
    let compile = |text: String| Regexp::new(text.as_bytes()).ok();
    Some(Grammar {
        one: compile(format!(r"^\s*({OPERATOR})\s*({VERSION})\s*$"))?,
        each: compile(format!(r"{OPERATOR}\s*(?:{VERSION})"))?,
        group: compile(format!(
            r"^\s*{OPERATOR}\s*(?:{VERSION})\s*(?:(?:\s+|,\s*){OPERATOR}\s*(?:{VERSION})\s*)*$"
        ))?,
        range: compile(format!(r"\s*({VERSION})\s+-\s+({VERSION})\s*"))?,
    })
});

impl Constraints {
    /// Reads constraints.
    ///
    /// # Errors
    /// What does not follow the grammar.
    pub fn parse(text: &[u8]) -> Result<Self, ConstraintError> {
        if text.len() > MAX_LENGTH {
            return Err(ConstraintError::TooLong);
        }
        let improper = |text: &[u8]| ConstraintError::Improper(text.to_vec());
        let grammar = GRAMMAR.as_ref().ok_or_else(|| improper(text))?;
        let rewritten = rewrite_ranges(grammar, text);
        let mut groups = Vec::new();
        let alternatives = split_n(&rewritten, b"||", -1);
        if alternatives.len() > MAX_GROUPS {
            return Err(ConstraintError::TooManyGroups);
        }
        for group in alternatives {
            if !grammar.group.is_match(group) {
                return Err(improper(group));
            }
            let parts = grammar.each.find_all(group, -1);
            let parts = parts
                .into_iter()
                .map(|part| Constraint::parse(grammar, &group[part]));
            groups.push(parts.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(Self { groups })
    }

    /// Whether a version satisfies them; a prerelease does only where a constraint of the group
    /// names one.
    #[must_use]
    pub fn check(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| {
            let prereleases = names_prerelease(group);
            group
                .iter()
                .all(|constraint| constraint.fault(version, prereleases).is_none())
        })
    }

    /// The reasons a version does not satisfy them, none if it does.
    #[must_use]
    pub fn faults(&self, version: &Version) -> Vec<String> {
        let mut out = Vec::new();
        let mut told = false;
        for group in &self.groups {
            let prereleases = names_prerelease(group);
            let before = out.len();
            let mut refused = false;
            for constraint in group {
                if !prereleases && !version.pre.is_empty() {
                    refused = true;
                    if !std::mem::replace(&mut told, true) {
                        out.push(only_releases(version));
                    }
                } else {
                    out.extend(constraint.fault(version, prereleases));
                }
            }
            if !refused && out.len() == before {
                return Vec::new();
            }
        }
        out
    }
}

impl fmt::Display for Constraints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, group) in self.groups.iter().enumerate() {
            f.write_str(if index > 0 { " || " } else { "" })?;
            for (index, constraint) in group.iter().enumerate() {
                f.write_str(if index > 0 { " " } else { "" })?;
                write!(f, "{}{}", constraint.operator, constraint.written)?;
            }
        }
        Ok(())
    }
}

fn names_prerelease(group: &[Constraint]) -> bool {
    group
        .iter()
        .any(|constraint| !constraint.version.pre.is_empty())
}

fn only_releases(version: &Version) -> String {
    format!(
        "{version} is a prerelease version and the constraint is only looking for release versions"
    )
}

/// Turns `1.2 - 1.4` into `>= 1.2, <= 1.4`.
fn rewrite_ranges(grammar: &Grammar, text: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    for groups in grammar.range.find_all_groups(text, -1) {
        let part = |index: usize| {
            groups
                .get(index)
                .cloned()
                .flatten()
                .map_or(&b""[..], |range| &text[range])
        };
        let range = [b">= ", part(1), b", <= ", part(11), b" "].concat();
        let whole = part(0);
        if let Some(at) = super::super::strings::index(&out, whole) {
            out.splice(at..at + whole.len(), range);
        }
    }
    out
}

impl Constraint {
    fn parse(grammar: &Grammar, text: &[u8]) -> Result<Self, ConstraintError> {
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let groups = grammar
            .one
            .find_groups(text)
            .ok_or_else(|| ConstraintError::Improper(text.to_vec()))?;
        let part = |index: usize| {
            lossy(
                groups
                    .get(index)
                    .cloned()
                    .flatten()
                    .map_or(&b""[..], |range| &text[range]),
            )
        };
        let (written, major, minor, patch, pre) = (part(2), part(3), part(4), part(5), part(6));
        let wild = |number: &str| matches!(number, "" | "x" | "X" | "*" | ".x" | ".X" | ".*");
        let (open, version) = if wild(&major) {
            (Open::All, format!("0.0.0{pre}"))
        } else if wild(&minor) {
            (Open::Minor, format!("{major}.0.0{pre}"))
        } else if wild(&patch) {
            (Open::Patch, format!("{major}{minor}.0{pre}"))
        } else {
            (Open::No, written.clone())
        };
        let version = Version::parse(version.as_bytes()).map_err(|_| ConstraintError::Version)?;
        Ok(Self {
            version,
            operator: part(1),
            written,
            open,
        })
    }

    /// Why `version` does not satisfy this, if it does not.
    fn fault(&self, version: &Version, prereleases: bool) -> Option<String> {
        if !version.pre.is_empty() && !prereleases {
            return Some(only_releases(version));
        }
        let relation = match self.operator.as_str() {
            "" | "=" if self.open == Open::No => match version.compare(&self.version) {
                Ordering::Equal => None,
                _ => Some("is not equal to"),
            },
            "!=" => self.differs(version),
            ">" => self.exceeds(version),
            "<" => (version.compare(&self.version) != Ordering::Less)
                .then_some("is greater than or equal to"),
            ">=" | "=>" => {
                (version.compare(&self.version) == Ordering::Less).then_some("is less than")
            }
            "<=" | "=<" => self.reaches(version),
            "^" => return self.caret(version),
            _ => self.tilde(version),
        };
        relation.map(|relation| format!("{version} {relation} {}", self.written))
    }

    fn differs(&self, version: &Version) -> Option<&'static str> {
        let wanted = &self.version;
        let differs = if self.open != Open::No && version.major != wanted.major {
            true
        } else if self.open == Open::Minor {
            false
        } else if self.open != Open::No && version.minor != wanted.minor {
            true
        } else if self.open == Open::Patch {
            let either = !version.pre.is_empty() || !wanted.pre.is_empty();
            either && compare_prerelease(&version.pre, &wanted.pre) != Ordering::Equal
        } else {
            version.compare(wanted) != Ordering::Equal
        };
        (!differs).then_some("is equal to")
    }

    fn exceeds(&self, version: &Version) -> Option<&'static str> {
        let wanted = &self.version;
        let exceeds = match (self.open, version.major.cmp(&wanted.major)) {
            (Open::No, _) | (Open::All, Ordering::Equal) => {
                version.compare(wanted) == Ordering::Greater
            }
            (_, Ordering::Greater) => true,
            (_, Ordering::Less) | (Open::Minor, Ordering::Equal) => false,
            (Open::Patch, Ordering::Equal) => version.minor > wanted.minor,
        };
        (!exceeds).then_some("is less than or equal to")
    }

    fn reaches(&self, version: &Version) -> Option<&'static str> {
        let wanted = &self.version;
        let beyond = if self.open == Open::No {
            version.compare(wanted) == Ordering::Greater
        } else {
            version.major > wanted.major
                || version.major == wanted.major
                    && version.minor > wanted.minor
                    && self.open != Open::Minor
        };
        beyond.then_some("is greater than")
    }

    fn tilde(&self, version: &Version) -> Option<&'static str> {
        let wanted = &self.version;
        let anything = (wanted.major, wanted.minor, wanted.patch) == (0, 0, 0)
            && !matches!(self.open, Open::Minor | Open::Patch);
        if version.compare(wanted) == Ordering::Less {
            Some("is less than")
        } else if anything {
            None
        } else if version.major != wanted.major {
            Some("does not have same major version as")
        } else if version.minor != wanted.minor && self.open != Open::Minor {
            Some("does not have same major and minor version as")
        } else {
            None
        }
    }

    fn caret(&self, version: &Version) -> Option<String> {
        let wanted = &self.version;
        let (relation, hint) = if version.compare(wanted) == Ordering::Less {
            ("is less than", "")
        } else if wanted.major > 0 || self.open == Open::Minor {
            if version.major == wanted.major {
                return None;
            }
            ("does not have same major version as", "")
        } else if version.major > 0 {
            ("does not have same major version as", "")
        } else if wanted.minor > 0 || self.open == Open::Patch {
            if version.minor == wanted.minor {
                return None;
            }
            (
                "does not have same minor version as",
                ". Expected minor versions to match when constraint major version is 0",
            )
        } else if version.minor > 0 {
            ("does not have same minor version as", "")
        } else if version.patch == wanted.patch {
            return None;
        } else {
            (
                "does not equal",
                ". Expect version and constraint to equal when major and minor versions are 0",
            )
        };
        Some(format!("{version} {relation} {}{hint}", self.written))
    }
}
