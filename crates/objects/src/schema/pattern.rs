//! What strings have to match: read cheaply with the schema, compiled when a string is first held against it, and
//! bounded in sum. A pattern of ten bytes can take megabytes, and a schema has room for thousands.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};

/// The most times that something is repeated, repetitions inside repetitions multiplied: that of Go's `regexp`.
const REPEAT: u64 = 1_000;
/// The most bytes that a pattern may take once it is compiled, by our estimate.
const LARGEST: u64 = 8 << 20;
/// The same for all different patterns of a schema together.
const ALL: u64 = 16 << 20;
/// The most different patterns of a schema; large CRDs have fifty.
const MOST: usize = 1_000;
/// The most that reading the patterns of a schema may cost: a byte is 1, a class of Unicode as many as it has ranges.
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
    regex: Arc<OnceLock<Option<Regex>>>,
}

impl Pattern {
    /// Whether the pattern is somewhere in a text. One that cannot be compiled here restricts nothing: the API server
    /// decides.
    pub(super) fn matches(&self, text: &str) -> bool {
        let compile =
            || RegexBuilder::new(&self.text).size_limit(COMPILED).dfa_size_limit(CACHE).build().ok();
        self.regex.get_or_init(compile).as_ref().is_none_or(|regex| regex.is_match(text))
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
        if size > LARGEST {
            return Err(Refused::Large);
        }
        self.compiled = self.compiled.saturating_add(size);
        if self.compiled > ALL {
            return Err(Refused::Many);
        }
        let pattern = Pattern { text: text.clone(), regex: Arc::default() };
        self.known.insert(text, pattern.clone());
        Ok(pattern)
    }
}

/// About how many bytes a pattern takes once it is compiled; none if it is not one, or beyond reading.
pub(super) fn estimate(text: &str) -> Option<u64> {
    let readable = reading(text) <= READING;
    readable.then(|| regex_syntax::parse(text).ok()).flatten().and_then(|parsed| size(&parsed, 1))
}

/// What it costs to read a pattern: classes such as `\pL` and `\w` are hundreds of ranges each.
fn reading(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let classes = bytes.windows(2).filter(|pair| pair[0] == b'\\' && b"pPwWdDsSbB".contains(&pair[1])).count();
    let sets = bytes.iter().filter(|byte| **byte == b'[' || **byte == b'.').count();
    let folds = if text.contains("(?") { 2 } else { 1 };
    (bytes.len() as u64).saturating_add(1_000 * classes as u64).saturating_add(16 * sets as u64).saturating_mul(folds)
}

/// About how many bytes a part takes once it is compiled; none if Go would refuse how often it is repeated.
fn size(part: &Hir, repeated: u64) -> Option<u64> {
    let sum = |parts: &[Hir]| parts.iter().try_fold(16_u64, |sum, part| Some(sum.saturating_add(size(part, repeated)?)));
    Some(match part.kind() {
        HirKind::Empty | HirKind::Look(_) => 16,
        HirKind::Literal(literal) => 16 * literal.0.len() as u64,
        HirKind::Class(Class::Unicode(class)) => 16 + 32 * class.ranges().len() as u64,
        HirKind::Class(Class::Bytes(class)) => 16 + 8 * class.ranges().len() as u64,
        HirKind::Capture(capture) => 32 + size(&capture.sub, repeated)?,
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts)?,
        HirKind::Repetition(repetition) => {
            let copies = u64::from(repetition.max.unwrap_or(repetition.min).max(1));
            let repeated = repeated.saturating_mul(copies);
            if repeated > REPEAT {
                return None;
            }
            copies.saturating_mul(16 + size(&repetition.sub, repeated)?)
        }
    })
}
