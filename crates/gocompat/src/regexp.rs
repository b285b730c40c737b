//! Go's `regexp` over the `regex` crate: Go's syntax is translated, and matching, replacing and
//! splitting follow Go's rules for empty matches. Bytes that are not UTF-8 match as U+FFFD, one
//! each. Matching takes linear time.

mod class;
mod expand;
mod syntax;

use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::Range;

use super::unicode::{decode_rune, runes};
use syntax::Parser;

/// Compiled size beyond which an expression is refused.
const SIZE_LIMIT: usize = 16 << 20;

/// Why an expression does not compile; its text is Go's `error parsing regexp: ...`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {code}: `{}`", String::from_utf8_lossy(.expr))]
pub struct RegexpError {
    code: &'static str,
    expr: Vec<u8>,
}

impl RegexpError {
    fn new(code: &'static str, expr: &[u8]) -> Self {
        Self {
            code,
            expr: expr.to_vec(),
        }
    }
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Regexp {
    inner: regex::Regex,
    /// Names of the groups, the whole match first; unnamed ones are empty.
    names: Vec<String>,
    is_empty: bool,
    size: u64,
}

/// An expression that is valid, and not compiled yet.
pub struct Pattern<'e> {
    expr: &'e [u8],
    pattern: String,
    names: Vec<String>,
    size: u64,
}

impl<'e> Pattern<'e> {
    /// Reads an expression of Go's syntax.
    ///
    /// # Errors
    /// What Go refuses, in Go's words, and what nests too deeply.
    pub fn new(expr: &'e [u8]) -> Result<Self, RegexpError> {
        let (pattern, names, size) = Parser::new(expr).parse()?;
        Ok(Self {
            expr,
            pattern,
            names,
            size,
        })
    }

    /// About how many states it takes to match: to compile takes time and space in proportion to
    /// it.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Compiles it.
    ///
    /// # Errors
    /// If its compiled form is too large.
    pub fn compile(self) -> Result<Regexp, RegexpError> {
        let inner = regex::RegexBuilder::new(&self.pattern)
            .size_limit(SIZE_LIMIT)
            .nest_limit(syntax::MAX_DEPTH * 8)
            .build()
            .map_err(|_| RegexpError::new("expression too large", self.expr))?;
        Ok(Regexp {
            inner,
            names: self.names,
            is_empty: self.expr.is_empty(),
            size: self.size,
        })
    }
}

/// Counts a step towards all matches of a text: how much of the text is left, and how much has been
/// made. Each may be looked through to its end, so that many matches can take the square of its
/// length.
pub type Pay<'p, E> = &'p mut dyn FnMut(usize, usize) -> Result<(), E>;

/// For those who need not count.
fn free(_: usize, _: usize) -> Result<(), Infallible> {
    Ok(())
}

fn certain<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

/// Offsets of a match and of its groups in the original bytes.
pub type Groups = Vec<Option<Range<usize>>>;

impl Regexp {
    /// Compiles an expression of Go's syntax.
    ///
    /// # Errors
    /// What Go refuses, in Go's words; `expression too large` already where the compiled form
    /// passes 16 MiB, and `expression nests too deeply` beyond 250 groups.
    pub fn new(expr: &[u8]) -> Result<Self, RegexpError> {
        Pattern::new(expr)?.compile()
    }

    /// About how many states it takes to match.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether it matches anywhere in `text`.
    #[must_use]
    pub fn is_match(&self, text: &[u8]) -> bool {
        self.inner.is_match(&Haystack::new(text).text)
    }

    /// The leftmost match.
    #[must_use]
    pub fn find(&self, text: &[u8]) -> Option<Range<usize>> {
        let haystack = Haystack::new(text);
        let found = self.inner.find(&haystack.text)?;
        Some(haystack.original(found.start())..haystack.original(found.end()))
    }

    /// The leftmost match and its groups, the whole match first.
    #[must_use]
    pub fn find_groups(&self, text: &[u8]) -> Option<Groups> {
        let haystack = Haystack::new(text);
        self.groups_at(&haystack, 0, true).map(|(groups, _)| groups)
    }

    /// Successive matches, at most `limit` of them if that is not negative; an empty one right
    /// after a match is left out.
    #[must_use]
    pub fn find_all(&self, text: &[u8], limit: i64) -> Vec<Range<usize>> {
        certain(self.find_all_counted(text, limit, &mut free))
    }

    /// As [`Regexp::find_all`], counting.
    ///
    /// # Errors
    /// Those of the count.
    pub fn find_all_counted<E>(
        &self,
        text: &[u8],
        limit: i64,
        pay: Pay<'_, E>,
    ) -> Result<Vec<Range<usize>>, E> {
        Ok(self
            .matches(text, limit, false, pay)?
            .into_iter()
            .map(|(_, whole)| whole)
            .collect())
    }

    /// As [`Regexp::find_all`], with the groups of every match, the whole match first.
    #[must_use]
    pub fn find_all_groups(&self, text: &[u8], limit: i64) -> Vec<Groups> {
        certain(self.matches(text, limit, true, &mut free))
            .into_iter()
            .map(|(groups, _)| groups)
            .collect()
    }

    fn matches<E>(
        &self,
        text: &[u8],
        limit: i64,
        with_groups: bool,
        pay: Pay<'_, E>,
    ) -> Result<Vec<(Groups, Range<usize>)>, E> {
        let haystack = Haystack::new(text);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut out = Vec::new();
        let (mut at, mut last_end) = (0, None);
        while out.len() < limit && at <= haystack.text.len() {
            pay(haystack.text.len() - at, out.len())?;
            let Some((groups, found)) = self.groups_at(&haystack, at, with_groups) else {
                break;
            };
            let accept = found.end != at || last_end != Some(found.start);
            at = if found.end == at {
                haystack.after(at)
            } else {
                found.end
            };
            last_end = Some(found.end);
            if accept {
                out.push((
                    groups,
                    haystack.original(found.start)..haystack.original(found.end),
                ));
            }
        }
        Ok(out)
    }

    /// Replaces every match by `template`, in which `$1`, `$name`, `${name}` and `$$` are expanded.
    #[must_use]
    pub fn replace_all(&self, text: &[u8], template: &[u8]) -> Vec<u8> {
        certain(self.replace_all_counted(text, template, &mut free))
    }

    /// As [`Regexp::replace_all`], counting.
    ///
    /// # Errors
    /// Those of the count.
    pub fn replace_all_counted<E>(
        &self,
        text: &[u8],
        template: &[u8],
        pay: Pay<'_, E>,
    ) -> Result<Vec<u8>, E> {
        let with_groups = template.contains(&b'$');
        self.replace(text, with_groups, pay, |out, groups| {
            expand::expand(out, template, text, groups, &self.names);
        })
    }

    /// Replaces every match by `replacement` as it stands.
    #[must_use]
    pub fn replace_all_literal(&self, text: &[u8], replacement: &[u8]) -> Vec<u8> {
        certain(self.replace_all_literal_counted(text, replacement, &mut free))
    }

    /// As [`Regexp::replace_all_literal`], counting.
    ///
    /// # Errors
    /// Those of the count.
    pub fn replace_all_literal_counted<E>(
        &self,
        text: &[u8],
        new: &[u8],
        pay: Pay<'_, E>,
    ) -> Result<Vec<u8>, E> {
        self.replace(text, false, pay, |out, _| out.extend_from_slice(new))
    }

    fn replace<E>(
        &self,
        text: &[u8],
        with_groups: bool,
        pay: Pay<'_, E>,
        write: impl Fn(&mut Vec<u8>, &Groups),
    ) -> Result<Vec<u8>, E> {
        let haystack = Haystack::new(text);
        let mut out = Vec::with_capacity(text.len());
        let (mut at, mut copied) = (0, 0);
        while at <= haystack.text.len() {
            pay(haystack.text.len() - at, out.len())?;
            let Some((groups, found)) = self.groups_at(&haystack, at, with_groups) else {
                break;
            };
            let (start, end) = (haystack.original(found.start), haystack.original(found.end));
            out.extend_from_slice(text.get(copied..start).unwrap_or_default());
            if end > copied || start == 0 {
                write(&mut out, &groups);
            }
            copied = end;
            let next = haystack.after(at);
            at = if next > found.end { next } else { found.end };
        }
        out.extend_from_slice(text.get(copied..).unwrap_or_default());
        Ok(out)
    }

    /// Splits around matches into at most `limit` parts if that is positive; 0 gives none, a
    /// negative one all.
    #[must_use]
    pub fn split<'a>(&self, text: &'a [u8], limit: i64) -> Vec<&'a [u8]> {
        certain(self.split_counted(text, limit, &mut free))
    }

    /// As [`Regexp::split`], counting.
    ///
    /// # Errors
    /// Those of the count.
    pub fn split_counted<'a, E>(
        &self,
        text: &'a [u8],
        limit: i64,
        pay: Pay<'_, E>,
    ) -> Result<Vec<&'a [u8]>, E> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        if text.is_empty() && !self.is_empty {
            return Ok(vec![text]);
        }
        let parts = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut out = Vec::new();
        let (mut begin, mut end) = (0, 0);
        for found in self.find_all_counted(text, limit, pay)? {
            if out.len() + 1 == parts {
                break;
            }
            end = found.start;
            if found.end != 0 {
                out.push(&text[begin..end]);
            }
            begin = found.end;
        }
        if end != text.len() {
            out.push(&text[begin..]);
        }
        Ok(out)
    }

    fn groups_at(
        &self,
        haystack: &Haystack<'_>,
        at: usize,
        all: bool,
    ) -> Option<(Groups, Range<usize>)> {
        if !all {
            return self
                .inner
                .find_at(&haystack.text, at)
                .map(|found| (Vec::new(), found.range()));
        }
        let mut places = self.inner.capture_locations();
        let found = self
            .inner
            .captures_read_at(&mut places, &haystack.text, at)?;
        let original = |(start, end)| haystack.original(start)..haystack.original(end);
        Some((
            (0..places.len())
                .map(|group| places.get(group).map(original))
                .collect(),
            found.range(),
        ))
    }
}

/// Escapes what has a meaning in an expression.
#[must_use]
pub fn quote_meta(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        if br"\.+*?()|[]{}^$".contains(&byte) {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out
}

/// Text to search: valid UTF-8, and how to get back to the bytes it was made from.
struct Haystack<'a> {
    text: Cow<'a, str>,
    /// Original offset of every byte of `text` and of its end, when they differ.
    offsets: Option<Vec<usize>>,
}

impl<'a> Haystack<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return Self {
                text: Cow::Borrowed(text),
                offsets: None,
            };
        }
        let mut text = String::with_capacity(bytes.len());
        let mut offsets = Vec::with_capacity(bytes.len() + 1);
        for item in runes(bytes) {
            text.push(item.rune);
            offsets.resize(text.len(), item.at);
        }
        offsets.push(bytes.len());
        Self {
            text: Cow::Owned(text),
            offsets: Some(offsets),
        }
    }

    fn original(&self, at: usize) -> usize {
        self.offsets
            .as_ref()
            .map_or(at, |offsets| offsets.get(at).copied().unwrap_or_default())
    }

    /// Offset after the character at `at`, beyond the end if there is none.
    fn after(&self, at: usize) -> usize {
        let (_, width) = decode_rune(self.text.as_bytes().get(at..).unwrap_or_default());
        at + width.max(1)
    }
}

#[cfg(test)]
mod tests;
