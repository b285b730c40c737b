//! What values may do to the YAML that they are printed into: fill a scalar, or a part of one, and
//! nothing else.
//!
//! A template is its author's, and so is the structure of what it prints: keys, items, documents,
//! comments, tags. The values are somebody else's, who may have no permission but to write an
//! instance. So each stretch of text that came from a value has to lie within one scalar, be it a
//! key or a value, and mean there what it says. What `toYaml` and `toJson` write is a whole value
//! with its own structure: it has to be read as just that.

use gotpl::{Presence, Read, Span, Trace};

use crate::problem::{Place, Problem};

const HINT: &str = "print it with `| quote` or `| toJson`, text of several lines in a block scalar (`|`) with `| nindent N`, \
                    and a list or mapping with `| toYaml | nindent N`";

/// What a text would do that came from a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Breach {
    /// These fields would come of it, beside the one that it is printed into.
    Adds(Vec<String>),
    /// It is a key that brings other fields in.
    Merges,
    /// It is not read as what was written.
    Garbled,
    /// It would be read as something else: why.
    Altered(&'static str),
}

/// Every value that does not stay in its place in a text, once per spot of a template.
pub(crate) fn breaches(text: &str, trace: &Trace) -> Vec<Problem> {
    let from_values = |span: &&Span| {
        let is_there = |read: &Read| matches!(read.presence, Presence::Present | Presence::Drawn);
        span.start < span.end && trace.reads_of(&span.reads).any(is_there)
    };
    // What does not even split into documents or parse is told as such.
    let Ok(documents) = yaml::documents(text) else {
        return Vec::new();
    };
    let mut problems: Vec<Problem> = Vec::new();
    for document in &documents {
        let Ok(parsed) = yaml::parse_spanned(&document.text) else {
            continue;
        };
        let page = Page {
            text,
            start: document.start,
            end: document.start + document.text.len(),
            spans: scalars(&parsed),
        };
        let touched = |span: &&Span| span.start < page.end && span.end > page.start;
        for span in trace.spans.iter().filter(from_values).filter(touched) {
            if let Some(breach) = page.breach(span) {
                let problem = told(&breach, span, trace);
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
    }
    problems
}

fn told(breach: &Breach, span: &Span, trace: &Trace) -> Problem {
    let is_there = |read: &&Read| matches!(read.presence, Presence::Present | Presence::Drawn);
    let reads: Vec<&Read> = trace.reads_of(&span.reads).filter(is_there).collect();
    let value = match reads.first() {
        Some(read) if read.presence == Presence::Drawn => "a generated value".to_string(),
        Some(read) => format!("the value of `.{}`", read.path),
        None => "a value".to_string(),
    };
    let is_secret = reads.iter().any(|read| read.secret);
    let what = match breach {
        Breach::Adds(fields) if !fields.is_empty() && !is_secret => {
            format!("its text would also set {}", fields.join(", "))
        }
        Breach::Adds(_) => "its text does not stay in one scalar".to_string(),
        Breach::Merges => "the key `<<` would bring in other fields".to_string(),
        Breach::Garbled => "it would not be read as what it is".to_string(),
        Breach::Altered(why) => (*why).to_string(),
    };
    let place = Place::from(&span.site);
    match breach {
        Breach::Altered(_) => {
            Problem::at(place, format!("{value} would not arrive as it is: {what}")).hint(HINT)
        }
        _ => Problem::at(
            place,
            format!("{value} would change the structure of the YAML: {what}"),
        )
        .hint(HINT),
    }
}

/// A key or scalar: where, whether it is a key, and its path.
struct Scalar {
    start: usize,
    end: usize,
    is_key: bool,
    path: Vec<yaml::Step>,
}

fn scalars(parsed: &yaml::Spanned) -> Vec<Scalar> {
    let found = parsed.spans.scalars().into_iter();
    let mut found: Vec<Scalar> = found
        .map(|scalar| Scalar {
            start: scalar.span.start,
            end: scalar.span.end,
            is_key: scalar.is_key,
            path: scalar.path,
        })
        .collect();
    found.sort_by_key(|scalar| (scalar.start, scalar.end));
    found
}

/// One document of a text.
struct Page<'t> {
    /// All of the text.
    text: &'t str,
    /// Where the document begins and ends in it; a line break may have been added at the end.
    start: usize,
    end: usize,
    /// Its keys and scalars, in order, by places in the document.
    spans: Vec<Scalar>,
}

impl Page<'_> {
    /// What a span of the text does that it may not.
    fn breach(&self, span: &Span) -> Option<Breach> {
        let text = self.text.get(span.start..span.end.min(self.text.len()))?;
        if span.start < self.start || span.end > self.end {
            return Some(Breach::Adds(Vec::new()));
        }
        let from = span.start - self.start;
        if let Some(scalar) = self.around(from, from + text.len()) {
            return self.within(scalar, from, text, span.written);
        }
        if self.is_comment(span.start) {
            return has_break(text).then(|| self.adds(from, text.len()));
        }
        if span.written {
            return (!self.is_read_as_written(span.start, text)).then_some(Breach::Garbled);
        }
        // Space at the end of a line means nothing.
        let core = text.trim_end_matches([' ', '\n', '\r', '\t']);
        let ends_line = matches!(self.text.as_bytes().get(span.end), None | Some(b'\n'));
        if core.len() < text.len() && ends_line {
            let before = self.text[..span.start].chars().next_back();
            if core.is_empty() {
                return (!before.is_none_or(char::is_whitespace))
                    .then(|| self.adds(from, text.len()));
            }
            if let Some(scalar) = self
                .around(from, from + core.len())
                .filter(|scalar| !scalar.is_key)
            {
                return self.within(scalar, from, core, false);
            }
        }
        Some(self.adds(from, text.len()))
    }

    /// The scalar that holds all of a stretch of the document.
    fn around(&self, from: usize, to: usize) -> Option<&Scalar> {
        let after = self.spans.partition_point(|scalar| scalar.start <= from);
        let scalar = self.spans.get(after.checked_sub(1)?)?;
        // `*name` stands for something else, and is no scalar.
        let is_alias = self.document(scalar.start, scalar.start + 1) == "*";
        (to <= scalar.end && !is_alias).then_some(scalar)
    }

    fn document(&self, from: usize, to: usize) -> &str {
        self.text
            .get(self.start + from..(self.start + to).min(self.text.len()))
            .unwrap_or_default()
    }

    /// What a stretch of text does within its scalar.
    fn within(
        &self,
        scalar: &Scalar,
        from: usize,
        text: &str,
        written_whole: bool,
    ) -> Option<Breach> {
        let written = self.document(scalar.start, scalar.end);
        if scalar.is_key && written == "<<" {
            return Some(Breach::Merges);
        }
        let is_all = from == scalar.start;
        let ends = from + text.len() == scalar.end;
        match written.as_bytes().first()? {
            // Who opens a quote closes it, or it would hold what the template has further down.
            b'"' | b'\'' if is_all != ends => Some(self.adds(from, text.len())),
            b'"' if !is_all && text.contains('\\') => Some(Breach::Altered(
                "a backslash means something else between double quotes",
            )),
            b'\'' if !is_all && text.contains('\'') => Some(Breach::Altered(
                "a quote means something else between single quotes",
            )),
            b'|' | b'>' if is_all && !written_whole => {
                Some(Breach::Altered("it begins as a block scalar does"))
            }
            b'|' => None,
            b'>' if is_all => None,
            _ if has_break(text) => Some(Breach::Altered("line breaks are read as spaces here")),
            _ => None,
        }
    }

    /// Whether a comment of the author begins before a place of the text, in its line.
    fn is_comment(&self, at: usize) -> bool {
        let line = self.text[..at].rfind('\n').map_or(0, |found| found + 1);
        let bytes = self.text.as_bytes();
        let begins = |place: &usize| {
            bytes[*place] == b'#' && (*place == line || matches!(bytes[*place - 1], b' ' | b'\t'))
        };
        let in_scalar = |place: usize| {
            place
                .checked_sub(self.start)
                .is_some_and(|from| self.around(from, from + 1).is_some())
        };
        (line..at).filter(begins).any(|place| !in_scalar(place))
    }

    /// Whether what a function wrote as a whole value is read as the same keys and scalars as it
    /// would be alone.
    fn is_read_as_written(&self, at: usize, text: &str) -> bool {
        let column = at - self.text[..at].rfind('\n').map_or(0, |found| found + 1);
        let text = text.trim_end();
        let alone = format!("{}{text}\n", " ".repeat(column));
        let Ok(alone) = yaml::parse_spanned(&alone) else {
            return false;
        };
        let shape = |scalars: &[Scalar], start: usize| -> Vec<(usize, usize, bool, usize)> {
            let base = scalars.first().map_or(0, |first| first.path.len());
            let of = |scalar: &Scalar| {
                let (from, to) = (
                    scalar.start.saturating_sub(start),
                    scalar.end.saturating_sub(start),
                );
                (
                    from,
                    to.min(text.len()),
                    scalar.is_key,
                    scalar.path.len().saturating_sub(base),
                )
            };
            scalars.iter().map(of).collect()
        };
        let from = at - self.start;
        let first = self
            .spans
            .partition_point(|scalar| scalar.end <= from && scalar.start < from);
        let last = self
            .spans
            .partition_point(|scalar| scalar.start < from + text.len());
        let here = self.spans.get(first..last).unwrap_or_default();
        here.iter().all(|scalar| scalar.start >= from)
            && shape(here, from) == shape(&scalars(&alone), column)
    }

    /// The fields that a stretch of the document touches, but for the first, which it is printed
    /// into.
    fn adds(&self, from: usize, len: usize) -> Breach {
        let touched = |scalar: &&Scalar| scalar.start < from + len && scalar.end > from;
        let mut fields: Vec<String> = Vec::new();
        for scalar in self
            .spans
            .iter()
            .filter(touched)
            .filter(|scalar| scalar.is_key)
        {
            let field = format!("`{}`", shown(&scalar.path));
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        fields.truncate(5);
        Breach::Adds(fields)
    }
}

/// Whether YAML sees a line break in a text.
fn has_break(text: &str) -> bool {
    text.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
}

fn shown(path: &[yaml::Step]) -> String {
    let mut shown = String::new();
    for step in path {
        match step {
            yaml::Step::Key(key) if shown.is_empty() => shown.push_str(key),
            yaml::Step::Key(key) => shown.push_str(&format!(".{key}")),
            yaml::Step::Index(index) => shown.push_str(&format!("[{index}]")),
        }
    }
    shown
}
