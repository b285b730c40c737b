//! What strings have to match: read cheaply with the schema, compiled when a string is first held
//! against it, and bounded in sum. A pattern of ten bytes can take megabytes, and a schema has room
//! for thousands.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};

/// The most times that something is repeated, repetitions inside repetitions multiplied: that of
/// Go's `regexp`.
const REPEAT: u64 = 1_000;
/// The most bytes that a pattern may take once it is compiled, by our estimate.
const LARGEST: u64 = 8 << 20;
/// The same for all different patterns of a schema together.
const ALL: u64 = 16 << 20;
/// The most different patterns of a schema; large CRDs have fifty.
const MOST: usize = 1_000;
/// The most that reading the patterns of a schema may cost: a byte is 1, a class of Unicode as many
/// as it has ranges.
const READING: u64 = 4 << 20;
/// What the compiler may really take for one, before it gives up.
const COMPILED: usize = 10 << 20;
/// What matching may keep in memory for one, beside what was compiled.
const CACHE: usize = 64 << 10;

/// What a string has to match, somewhere in it. Clones share what is compiled.
#[derive(Clone)]
pub struct Pattern {
    /// As it was written.
    pub text: Box<str>,
    places: u64,
    regex: Arc<OnceLock<Option<Regex>>>,
}

impl Pattern {
    /// What it costs at most to look for the pattern in a text.
    pub(super) fn cost(&self, text: &str) -> usize {
        usize::try_from(search(text.len() as u64, self.places)).unwrap_or(usize::MAX)
    }

    /// Whether the pattern is somewhere in a text. One that cannot be compiled here restricts
    /// nothing: the API server decides.
    pub(super) fn matches(&self, text: &str) -> bool {
        let compile = || {
            RegexBuilder::new(&self.text)
                .size_limit(COMPILED)
                .dfa_size_limit(CACHE)
                .build()
                .ok()
        };
        self.regex
            .get_or_init(compile)
            .as_ref()
            .is_none_or(|regex| regex.is_match(text))
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Pattern").field(&self.text).finish()
    }
}

/// Why a pattern was not taken.
pub(super) enum Refused {
    /// It is not a regular expression, or not one that Go takes.
    Syntax,
    /// It is too large once compiled.
    Large,
    /// It is one too many in this schema.
    Many,
}

/// The patterns of one schema, each different one once.
#[derive(Default)]
pub(super) struct Patterns {
    known: BTreeMap<Box<str>, Pattern>,
    reading: u64,
    compiled: u64,
}

impl Patterns {
    pub(super) fn read(&mut self, text: Box<str>) -> Result<Pattern, Refused> {
        if let Some(pattern) = self.known.get(&text) {
            return Ok(pattern.clone());
        }
        self.reading = self.reading.saturating_add(reading(&text));
        if self.reading > READING || self.known.len() >= MOST {
            return Err(Refused::Many);
        }
        let parsed = regex_syntax::parse(&text).map_err(|_| Refused::Syntax)?;
        let size = size(&parsed, 1).ok_or(Refused::Syntax)?;
        if size.bytes > LARGEST {
            return Err(Refused::Large);
        }
        self.compiled = self.compiled.saturating_add(size.bytes);
        if self.compiled > ALL {
            return Err(Refused::Many);
        }
        let pattern = Pattern {
            text: text.clone(),
            places: size.places,
            regex: Arc::default(),
        };
        self.known.insert(text, pattern.clone());
        Ok(pattern)
    }
}

/// What it costs at most to look for a pattern in a text of a length: at each byte, every place of
/// the pattern may be one that matching has come to.
fn search(len: u64, places: u64) -> u64 {
    len.saturating_mul(1 + places / 10)
}

/// What it costs at most to compile a pattern and look for it in a text of a length. None is any
/// pattern.
pub(super) fn search_cost(pattern: Option<&str>, len: u64) -> u64 {
    let readable = pattern.filter(|text| reading(text) <= READING);
    let size = readable
        .and_then(|text| regex_syntax::parse(text).ok())
        .and_then(|parsed| size(&parsed, 1));
    let size = size.unwrap_or(Size {
        bytes: COMPILED as u64,
        places: 1_000,
    });
    search(len, size.places).saturating_add(size.bytes / 16)
}

/// What it costs to read a pattern: classes such as `\pL` and `\w` are hundreds of ranges each.
fn reading(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let classes = bytes
        .windows(2)
        .filter(|pair| pair[0] == b'\\' && b"pPwWdDsSbB".contains(&pair[1]))
        .count();
    let sets = bytes
        .iter()
        .filter(|byte| **byte == b'[' || **byte == b'.')
        .count();
    let folds = if text.contains("(?") { 2 } else { 1 };
    (bytes.len() as u64)
        .saturating_add(1_000 * classes as u64)
        .saturating_add(16 * sets as u64)
        .saturating_mul(folds)
}

/// How large a part of a pattern is.
#[derive(Clone, Copy)]
struct Size {
    /// About how many bytes it takes once it is compiled.
    bytes: u64,
    /// How many characters it asks for, repetitions written out.
    places: u64,
}

impl Size {
    fn and(self, other: Self) -> Self {
        let Self { bytes, places } = other;
        Self {
            bytes: self.bytes.saturating_add(bytes),
            places: self.places.saturating_add(places),
        }
    }
}

/// How large a part is; none if Go would refuse how often it is repeated.
fn size(part: &Hir, repeated: u64) -> Option<Size> {
    let of = |bytes: u64, places: u64| Size { bytes, places };
    Some(match part.kind() {
        HirKind::Empty | HirKind::Look(_) => of(16, 1),
        HirKind::Literal(literal) => of(16 * literal.0.len() as u64, literal.0.len() as u64),
        HirKind::Class(Class::Unicode(class)) => of(16 + 32 * class.ranges().len() as u64, 2),
        HirKind::Class(Class::Bytes(class)) => of(16 + 8 * class.ranges().len() as u64, 1),
        HirKind::Capture(capture) => of(32, 1).and(size(&capture.sub, repeated)?),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts
            .iter()
            .try_fold(of(16, 1), |sum, part| Some(sum.and(size(part, repeated)?)))?,
        HirKind::Repetition(repetition) => {
            let copies = u64::from(repetition.max.unwrap_or(repetition.min).max(1));
            let repeated = repeated.saturating_mul(copies);
            if repeated > REPEAT {
                return None;
            }
            let one = of(16, 1).and(size(&repetition.sub, repeated)?);
            of(
                one.bytes.saturating_mul(copies),
                one.places.saturating_mul(copies),
            )
        }
    })
}
