//! A template run with nothing known but the identity its instance will have: what can be read off
//! the output before there is an instance, and where each part of it comes from.

use std::collections::BTreeSet;
use std::ops::Range;

use gotpl::{Input, Known, Path, Presence, Run, Set, Step, Still, Trace, UseKind, Watch};
use serde_json::json;

use super::source_map::Origins;
use super::yaml_error;
use crate::budget::Purse;
use crate::compile::reads::path;
use crate::problem::{Place, Problem};
use crate::stack::Source;

/// What stands for the identity of an instance nobody has made yet.
const NAME: &str = "x";

/// How many lines a mapping in braces is looked for that ends in another than it begins.
const FLOW_LINES: usize = 50;

/// What to do about half a character.
pub(crate) const HALF: &str =
    "`trunc` and `substr` count bytes: `regexFind \"^.{0,8}\"` takes 8 characters";

pub(super) fn known(path: &Path) -> Known {
    let key = |index: usize| match path.0.get(index) {
        Some(Step::Key(key)) => &**key,
        _ => "",
    };
    match path.0.len() {
        0 => Known::Partly,
        1 if key(0) == "metadata" => Known::Partly,
        2 if key(0) == "metadata" && ["name", "namespace", "uid"].contains(&key(1)) => {
            Known::Wholly
        }
        _ => Known::Not,
    }
}

/// The output of a guessing run: both sides of every branch, or the one that is assumed, and one
/// turn of every loop.
pub(super) struct Sketch<'s> {
    file: &'s str,
    pub text: String,
    pub trace: Trace,
    pub origins: &'s Origins,
    /// Whether it is one of the texts that the template can print, and not both sides of every
    /// branch.
    assumed: bool,
    /// The first byte that belongs to no character.
    illegible: Option<usize>,
}

/// A value of the sketch and where it stands.
pub(super) struct Found {
    pub value: String,
    pub range: Range<usize>,
}

impl<'s> Sketch<'s> {
    /// Runs a template with nothing known but the identity of its instance. One that cannot even be
    /// guessed is a problem that the analysis reports.
    pub fn of(
        set: &Set,
        source: &'s Source,
        origins: &'s Origins,
        purse: &Purse<'_>,
    ) -> Option<Sketch<'s>> {
        Sketch::run(set, source, origins, purse, Watch::Guessing(&known))
    }

    /// The same, watched in a way of guessing.
    pub fn run(
        set: &Set,
        source: &'s Source,
        origins: &'s Origins,
        purse: &Purse<'_>,
        watch: Watch<'_>,
    ) -> Option<Sketch<'s>> {
        let instance = json!({"metadata": {"name": NAME, "namespace": NAME, "uid": NAME}});
        let run = Run {
            host: &Still,
            watch,
            no_value: "",
            meter: Some(purse.meter),
            ..Run::new(set)
        };
        let result = purse.spending(&source.file, || {
            run.execute(&source.file, &Input::new(&instance))
        });
        let output = result.inspect_err(|error| _ = purse.is_over(error)).ok()?;
        let illegible = std::str::from_utf8(&output.text)
            .err()
            .map(|error| error.valid_up_to());
        let (text, trace) = (legible(&output.text), output.trace.unwrap_or_default());
        let assumed = matches!(watch, Watch::Assuming(..));
        let sketch = Sketch {
            file: &source.file,
            text,
            trace,
            origins,
            assumed,
            illegible,
        };
        purse
            .spend(&source.file, sketch.checking())
            .then_some(sketch)
    }

    /// The units of work of checking it: the text is parsed several times, and each of its values
    /// is looked for among the spans that printed it, and each condition held against the others.
    fn checking(&self) -> u64 {
        const BYTE: u64 = 500;
        const LOOKUP: u64 = 5;
        const PAIR: u64 = 20;
        let lines = values(&self.text) + 1;
        let asked = self
            .trace
            .uses
            .iter()
            .filter(|end| end.kind == UseKind::Branch && end.function.is_none());
        let asked = asked.fold(0, |sum: u64, end| {
            sum.saturating_add(end.reads.len() as u64)
        });
        let parsed = BYTE.saturating_mul(self.text.len() as u64);
        let looked = LOOKUP
            .saturating_mul(lines)
            .saturating_mul(self.trace.spans.len() as u64);
        parsed
            .saturating_add(looked)
            .saturating_add(PAIR.saturating_mul(asked).saturating_mul(asked))
    }

    /// Text that is no YAML whatever the unknown parts turn out to be is a problem at once. Near an
    /// unknown part the sketch proves nothing: what stands there may be a list, a mapping or many
    /// lines.
    pub fn is_yaml(&self, document: &Range<usize>, problems: &mut Vec<Problem>) -> Option<()> {
        if let Some(offset) = self.illegible.filter(|offset| document.contains(offset)) {
            let what = "this prints a part of a character: the text is not UTF-8";
            problems.push(Problem::at(self.place(offset), what).hint(HALF));
            return None;
        }
        let text = &self.text[document.clone()];
        let Err(error) = yaml::parse(&self.blanked(document)) else {
            return Some(());
        };
        let line = yaml_error::line(text, &error);
        let start = |line: usize| document.start + yaml_error::start(text, line);
        let (from, to) = (start(line.saturating_sub(1)), start(line + 2));
        let mut near = self
            .trace
            .spans
            .iter()
            .filter(|span| span.start < to && from < span.end.max(span.start + 1));
        let doubtful = near.any(|span| {
            let conditional = !self.assumed && span.under.iter().any(|read| self.is_unknown(*read));
            conditional
                || (span.reads.iter().any(|read| self.is_unknown(*read)) && !self.is_inline(span))
        });
        if doubtful {
            return Some(());
        }
        let what = yaml_error::told("the text is not YAML", text, &error);
        let blamed = document.start + yaml_error::offset(text, &error);
        let place = self
            .origins
            .line(&self.trace, &self.text, blamed)
            .unwrap_or_else(|| self.start());
        problems.push(Problem::at(place, what).hint(yaml_error::hint(text, &error)));
        None
    }

    /// A document in which lines that are nothing but a placeholder, and so stand for lines of any
    /// shape, are comments.
    pub fn blanked(&self, document: &Range<usize>) -> String {
        let blank = |line: &str| {
            if line.trim() == "unknown" {
                line.replace("unknown", "#      ")
            } else {
                line.to_string()
            }
        };
        self.text[document.clone()]
            .split_inclusive('\n')
            .map(blank)
            .collect()
    }

    /// Nothing if an action ends within a character, which the next one goes on with.
    fn printed_by(&self, span: &gotpl::Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    /// Whether a placeholder stands among other text on its line: then it is one value, or the text
    /// is broken anyway.
    fn is_inline(&self, span: &gotpl::Span) -> bool {
        let text = self.printed_by(span);
        let before = self
            .text
            .get(..span.start)
            .unwrap_or_default()
            .rsplit('\n')
            .next()
            .unwrap_or_default();
        !text.contains('\n') && !before.trim().is_empty() && !before.trim_end().ends_with('-')
    }

    /// The unknown data that a value is made of.
    pub fn unknown_reads(&self, found: &Found) -> Vec<(objects::Path, Place)> {
        let reads = self
            .touching(&found.range)
            .flat_map(|span| self.trace.reads_of(&span.reads));
        reads
            .filter(|read| read.presence == Presence::Unknown)
            .map(|read| (path(&read.path.0), Place::from(&read.site)))
            .collect()
    }

    /// The stretches between separators that hold more than white space and comments.
    pub fn documents(&self) -> Vec<Range<usize>> {
        let mut documents = Vec::new();
        let (mut start, mut at) = (0, 0);
        for line in self.text.split_inclusive('\n') {
            if line.starts_with("---") {
                documents.push(start..at);
                start = at + line.len();
            }
            at += line.len();
        }
        documents.push(start..at);
        let says_something = |range: &Range<usize>| {
            self.text[range.clone()]
                .lines()
                .any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        };
        documents.retain(says_something);
        documents
    }

    /// A field of a document. The sketch is often no YAML (both sides of a branch stand in it), so
    /// lines are read where the parser gives up.
    pub fn field(&self, document: &Range<usize>, path: &[&str]) -> Option<Found> {
        self.parsed_field(document, path)
            .or_else(|| self.scanned_field(document, path))
    }

    fn parsed_field(&self, document: &Range<usize>, path: &[&str]) -> Option<Found> {
        let spanned = yaml::parse_spanned(&self.text[document.clone()]).ok()?;
        let steps: Vec<yaml::Step> = path.iter().map(|step| yaml::Step::from(*step)).collect();
        let found = spanned.spans.find(&steps)?;
        let value = path
            .iter()
            .try_fold(&spanned.value, |value, step| value.get(step))?;
        let range = document.start + found.value.start..document.start + found.value.end;
        Some(Found {
            value: value
                .as_str()
                .map_or_else(|| value.to_string(), String::from),
            range,
        })
    }

    fn scanned_field(&self, document: &Range<usize>, path: &[&str]) -> Option<Found> {
        let mut depth = 0;
        let mut indents = vec![0];
        let mut at = document.start;
        for line in self.text[document.clone()].split_inclusive('\n') {
            let start = at;
            at += line.len();
            let content = line.trim_start_matches(' ');
            let indent = line.len() - content.len();
            if content.trim().is_empty() || content.starts_with('#') {
                continue;
            }
            while depth > 0 && indent <= indents[depth - 1] {
                indents.truncate(depth);
                depth -= 1;
            }
            let Some((key, rest)) = content.split_once(':') else {
                continue;
            };
            let at_level = if depth == 0 {
                indent == 0
            } else {
                indents.get(depth).is_none_or(|level| *level == indent)
            };
            if key.trim_matches(['"', '\'']) != path[depth] || !at_level {
                continue;
            }
            let value = rest.trim();
            let offset = start + indent + key.len() + 1 + (rest.len() - rest.trim_start().len());
            let range = offset..offset + value.len();
            if depth + 1 < path.len() && value.starts_with('{') {
                // It may go on over the next lines.
                let ends = self.text[at..document.end]
                    .match_indices('\n')
                    .map(|(end, _)| at + end)
                    .take(FLOW_LINES);
                let mut ranges = [range.end].into_iter().chain(ends).map(|end| offset..end);
                return ranges.find_map(|range| self.parsed_field(&range, &path[depth + 1..]));
            }
            if depth + 1 < path.len() {
                indents.truncate(depth);
                indents.push(indent);
                depth += 1;
                continue;
            }
            return Some(Found {
                value: value.trim_matches(['"', '\'']).to_string(),
                range,
            });
        }
        None
    }

    /// Whether a value is the same whatever the unknown data turns out to be, given that its
    /// document is there at all.
    pub fn is_static(&self, document: &Range<usize>, found: &Found) -> bool {
        let doubt_of_document = self.doubts(document.start);
        self.touching(&found.range).all(|span| {
            let known = self
                .trace
                .reads_of(&span.reads)
                .all(|read| read.presence != Presence::Unknown);
            let doubts: BTreeSet<usize> = span
                .under
                .iter()
                .copied()
                .filter(|read| self.is_unknown(*read))
                .collect();
            known && doubts.is_subset(&doubt_of_document)
        })
    }

    pub fn is_unknown(&self, read: usize) -> bool {
        self.trace
            .reads
            .get(read)
            .is_some_and(|read| read.presence == Presence::Unknown)
    }

    /// The unknown conditions under which the first line of a document is printed.
    fn doubts(&self, at: usize) -> BTreeSet<usize> {
        let said = self.text[at..]
            .find(|c: char| !c.is_whitespace())
            .map_or(at, |offset| at + offset);
        let span = self
            .trace
            .spans
            .iter()
            .find(|span| span.start <= said && said < span.end);
        let under = span.map(|span| span.under.clone()).unwrap_or_default();
        under
            .into_iter()
            .filter(|read| self.is_unknown(*read))
            .collect()
    }

    /// Whether an object is made of it for every instance, on no condition at all: neither on what
    /// is unknown nor on the identity of the instance.
    pub fn is_always(&self) -> bool {
        self.documents().iter().any(|document| {
            let text = &self.text[document.start..];
            let said = text
                .find(|c: char| !c.is_whitespace())
                .map_or(document.start, |offset| document.start + offset);
            let span = self
                .trace
                .spans
                .iter()
                .find(|span| span.start <= said && said < span.end);
            span.is_some_and(|span| span.under.is_empty())
        })
    }

    /// Whether a document is made in a loop over something unknown: the loop's list is one of its
    /// conditions.
    pub fn in_loop(&self, document: &Range<usize>) -> bool {
        let doubts = self.doubts(document.start);
        let looped = |read: usize| {
            let path = &self.trace.reads[read].path;
            self.trace.reads.iter().any(|other| {
                other.path.0.len() == path.0.len() + 1
                    && other.path.0.starts_with(&path.0)
                    && other.path.0.last() == Some(&Step::Any)
            })
        };
        doubts.into_iter().any(looped)
    }

    /// The spot of the template that made a byte of the sketch.
    pub fn place(&self, offset: usize) -> Place {
        self.origins
            .place(&self.trace, &self.text, offset)
            .unwrap_or_else(|| self.start())
    }

    /// The action of this very file that included what printed a byte, if it comes from another.
    pub fn included(&self, offset: usize) -> Option<Place> {
        let at = self
            .trace
            .spans
            .iter()
            .position(|span| span.start <= offset && offset < span.end)?;
        if *self.trace.spans[at].site.source == *self.file {
            return None;
        }
        let before = self.trace.spans[..at]
            .iter()
            .rev()
            .find(|span| *span.site.source == *self.file);
        // After text as written comes the action; what is not in the source so, the action printed
        // itself.
        let from = before.map_or(0, |span| {
            let text = self.printed_by(span);
            let written = self.origins.is_written(&Place::from(&span.site), text);
            span.site.line.saturating_sub(1)
                + if written {
                    text.matches('\n').count()
                } else {
                    0
                }
        });
        self.origins.including(self.file, from)
    }

    fn start(&self) -> Place {
        Place {
            file: self.file.to_string(),
            line: 1,
            column: None,
        }
    }

    /// Whether what stands in a range is the same whatever the unknown data turns out to be; for
    /// what has parts, that they are all there, too.
    pub fn is_certain(&self, range: &Range<usize>, whole: bool) -> bool {
        // Of one piece it is what it is wherever it is printed; several may be the two sides of a
        // branch.
        let whole = whole || self.touching(range).nth(1).is_some();
        let mut touching = self.touching(range);
        touching.all(|span| {
            let parts = span.under.iter().filter(|_| whole);
            !span
                .reads
                .iter()
                .chain(parts)
                .any(|read| self.is_unknown(*read))
        })
    }

    /// Whether all of a range is printed under the same conditions.
    pub fn is_in_one_branch(&self, range: &Range<usize>) -> bool {
        let mut touching = self.touching(range);
        let first = touching.next();
        first.is_some_and(|first| touching.all(|span| span.under == first.under))
    }

    /// The one field of the data that is printed in a range just as it is, `{{ .spec.size }}`, if
    /// that is all of it.
    pub fn printed(&self, range: &Range<usize>) -> Option<&Path> {
        let mut touching = self.touching(range);
        let (span, None) = (touching.next()?, touching.next()) else {
            return None;
        };
        self.field_of(span)
            .filter(|_| self.text[range.clone()] == *"unknown")
    }

    /// The fields of the data that are printed just as they are, whatever the instance, and where.
    pub fn always_printed(&self) -> impl Iterator<Item = (&Path, Place)> {
        let always = |span: &&gotpl::Span| !span.under.iter().any(|read| self.is_unknown(*read));
        let spans = self.trace.spans.iter().filter(always);
        spans.filter_map(|span| Some((self.field_of(span)?, Place::from(&span.site))))
    }

    /// The unknown field that an action prints, if it does nothing else.
    fn field_of(&self, span: &gotpl::Span) -> Option<&Path> {
        let action = self.origins.action(&Place::from(&span.site))?;
        let field = action.trim_matches(['{', '}', '-', ' ']);
        let is_field = field.starts_with('.')
            && !field.contains(|c: char| c.is_whitespace() || "()|".contains(c));
        let [read] = span.reads.as_slice() else {
            return None;
        };
        let read = self
            .trace
            .reads
            .get(*read)
            .filter(|read| read.presence == Presence::Unknown)?;
        is_field.then_some(&read.path)
    }

    fn touching(&self, range: &Range<usize>) -> impl Iterator<Item = &gotpl::Span> {
        let (start, end) = (range.start, range.end.max(range.start + 1));
        self.trace
            .spans
            .iter()
            .filter(move |span| span.start < end && start < span.end.max(span.start + 1))
    }
}

/// How many values a text can have: each has a line, or something before it in brackets.
fn values(text: &str) -> u64 {
    text.bytes()
        .filter(|byte| matches!(byte, b'\n' | b',' | b'[' | b'{'))
        .count() as u64
}

/// Text as long as the bytes, so that what is known of a byte holds for the text: each that belongs
/// to no character is a question mark.
fn legible(bytes: &[u8]) -> String {
    let parts = bytes
        .utf8_chunks()
        .flat_map(|chunk| [chunk.valid().to_string(), "?".repeat(chunk.invalid().len())]);
    parts.collect()
}
