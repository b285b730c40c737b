//! Which spot of which source printed a byte: what turns a place in rendered text into one that its
//! author knows.

use std::collections::BTreeMap;

use gotpl::Trace;

use crate::problem::Place;
use crate::stack::Source;

/// The sources of a kind, by file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins(BTreeMap<String, String>);

impl Origins {
    pub fn of<'s>(sources: impl Iterator<Item = &'s Source>) -> Origins {
        Origins(
            sources
                .map(|source| (source.file.clone(), source.text.clone()))
                .collect(),
        )
    }

    /// The spot that printed the byte at `offset`. Text as written stands in its source just as it
    /// was printed, so the spot is exact; what an action printed is the action's.
    pub fn place(&self, trace: &Trace, printed: &str, offset: usize) -> Option<Place> {
        let span = trace
            .spans
            .iter()
            .find(|span| span.start <= offset && offset < span.end)?;
        let action = Place::from(&span.site);
        let before = printed.get(span.start..offset)?;
        let (line, column) = match before.rsplit_once('\n') {
            None => (span.site.line, span.site.column + before.len()),
            Some((lines, rest)) => (span.site.line + lines.matches('\n').count() + 1, rest.len()),
        };
        let rest = printed
            .get(offset..span.end)?
            .lines()
            .next()
            .unwrap_or_default();
        let source = self
            .0
            .get(&action.file)
            .and_then(|text| text.lines().nth(line.checked_sub(1)?)?.get(column..));
        let as_written = source.is_some_and(|source| source.starts_with(rest));
        Some(if as_written {
            Place {
                line,
                column: Some(column + 1),
                ..action
            }
        } else {
            action
        })
    }

    /// The text of a file.
    pub fn text(&self, file: &str) -> Option<&str> {
        self.0.get(file).map(String::as_str)
    }

    /// The source of a place, and where in it that is.
    fn offset(&self, place: &Place) -> Option<(&str, usize)> {
        let text = self.0.get(&place.file)?;
        let line: usize = text
            .split_inclusive('\n')
            .take(place.line.checked_sub(1)?)
            .map(str::len)
            .sum();
        Some((text, line + place.column?.checked_sub(1)?))
    }

    /// Whether a text stands in its source at a place.
    pub fn is_written(&self, place: &Place, printed: &str) -> bool {
        let found = self.offset(place).and_then(|(text, at)| text.get(at..));
        found.is_some_and(|source| source.starts_with(printed))
    }

    /// The action, `{{ ... }}`, around a place.
    pub fn action(&self, place: &Place) -> Option<&str> {
        let (text, at) = self.offset(place)?;
        let start = text.get(..at)?.rfind("{{")?;
        let end = at + text.get(at..)?.find("}}")? + 2;
        text.get(start..end)
    }

    /// The first action that includes something, from a line on, which counts from 0.
    pub fn including(&self, file: &str, from: usize) -> Option<Place> {
        let mut lines = self.0.get(file)?.lines().enumerate().skip(from);
        lines.find_map(|(index, line)| {
            let start = ["include ", "template "]
                .iter()
                .find_map(|word| line.find(word))?;
            line[..start].contains("{{").then(|| Place {
                file: file.to_owned(),
                line: index + 1,
                column: Some(start + 1),
            })
        })
    }

    /// The spot that printed the first visible byte from `offset` on.
    pub fn line(&self, trace: &Trace, printed: &str, offset: usize) -> Option<Place> {
        let skipped = printed
            .get(offset..)?
            .find(|c: char| !c.is_whitespace())
            .unwrap_or(0);
        self.place(trace, printed, offset + skipped)
    }
}
