//! Which object a template makes, found without an instance: the template runs with nothing known but the identity
//! its instance will have, and what apiVersion, kind and name depend on is read off the output.

use std::collections::BTreeSet;
use std::ops::Range;

use gotpl::{Input, Known, Path, Presence, Run, Set, Step, Still, Trace, Watch};
use objects::{ApiVersion, Gvk};
use serde_json::json;

use crate::compile::Shape;
use crate::compile::reads::path;
use crate::problem::{Place, Problem};
use crate::stack::Source;

/// What stands for the identity of an instance nobody has made yet.
const NAME: &str = "x";

/// What a template makes.
pub(super) struct Identity {
    pub gvk: Gvk,
    pub shape: Shape,
    /// Namespace and name, if it makes one object.
    pub name: Option<(String, String)>,
    /// For a collection: what the name reads, and where.
    pub named_by: Vec<(objects::Path, Place)>,
    /// Where the name stands.
    pub place: Option<Place>,
}

/// The kind that a template makes, and whether it is one object or a collection.
pub(super) fn find(set: &Set, source: &Source, problems: &mut Vec<Problem>) -> Option<Identity> {
    let instance = json!({"metadata": {"name": NAME, "namespace": NAME, "uid": NAME}});
    let run = Run { host: &Still, watch: Watch::Guessing(&known), no_value: "", ..Run::new(set) };
    // A template that cannot even be guessed is a problem that the analysis reports.
    let output = run.execute(&source.file, &Input::new(&instance)).ok()?;
    let trace = output.trace.unwrap_or_default();
    let text = String::from_utf8_lossy(&output.text).into_owned();
    let sketch = Sketch { source, text: &text, trace: &trace };
    sketch.identity(problems)
}

fn known(path: &Path) -> Known {
    let key = |index: usize| match path.0.get(index) {
        Some(Step::Key(key)) => &**key,
        _ => "",
    };
    match path.0.len() {
        0 => Known::Partly,
        1 if key(0) == "metadata" => Known::Partly,
        2 if key(0) == "metadata" && ["name", "namespace", "uid"].contains(&key(1)) => Known::Wholly,
        _ => Known::Not,
    }
}

/// The output of a guessing run: both sides of every branch, one turn of every loop.
struct Sketch<'s> {
    source: &'s Source,
    text: &'s str,
    trace: &'s Trace,
}

/// A value of the sketch and where it stands.
struct Found {
    value: String,
    range: Range<usize>,
}

impl Sketch<'_> {
    fn identity(&self, problems: &mut Vec<Problem>) -> Option<Identity> {
        let documents = self.documents();
        if documents.is_empty() {
            let what = "the template makes nothing: it has no apiVersion and kind";
            problems
                .push(Problem::at(self.place(0), what).hint("every template needs apiVersion, kind and metadata.name"));
            return None;
        }
        let mut gvk: Option<Gvk> = None;
        let mut names: BTreeSet<(String, String)> = BTreeSet::new();
        let mut one = documents.len() == 1;
        let mut named_by = Vec::new();
        let mut place = None;
        for document in &documents {
            self.is_yaml(document, problems)?;
            let found = self.kind_of(document, problems)?;
            match &gvk {
                None => gvk = Some(found),
                Some(known) if *known == found => {}
                Some(known) => {
                    let what = format!("a template makes objects of one kind, but this one makes {known} and {found}");
                    problems.push(
                        Problem::at(self.place(document.start), what).hint("put each kind into a template of its own"),
                    );
                    return None;
                }
            }
            let Some(name) = self.field(document, &["metadata", "name"]) else {
                let problem = Problem::at(self.place(document.start), "metadata.name is missing");
                problems.push(problem.hint("for one object per instance: `name: {{ .metadata.name }}-...`"));
                return None;
            };
            let namespace = self.field(document, &["metadata", "namespace"]);
            one &= self.is_static(document, &name)
                && namespace.as_ref().is_none_or(|found| self.is_static(document, found));
            one &= !self.in_loop(document);
            place.get_or_insert_with(|| self.place(name.range.start));
            named_by.extend(self.unknown_reads(&name));
            names.insert((namespace.map(|found| found.value).unwrap_or_default(), name.value));
        }
        // Two documents with the same name are the two sides of a branch around one object.
        one |=
            documents.len() > 1 && names.len() == 1 && documents.iter().all(|document| self.is_static_name(document));
        let shape = if one { Shape::One } else { Shape::Collection };
        let name = if one { names.into_iter().next() } else { None };
        Some(Identity { gvk: gvk?, shape, name, named_by, place })
    }

    /// Text that is no YAML whatever the unknown parts turn out to be is a problem at once. Near an unknown part the
    /// sketch proves nothing: what stands there may be a list, a mapping or many lines.
    fn is_yaml(&self, document: &Range<usize>, problems: &mut Vec<Problem>) -> Option<()> {
        let text = &self.text[document.clone()];
        // A line that is nothing but a placeholder stands for lines of any shape.
        let blanked: String = text
            .split_inclusive('\n')
            .map(|line| if line.trim() == "unknown" { line.replace("unknown", "#      ") } else { line.to_string() })
            .collect();
        let Err(error) = yaml::parse(&blanked) else {
            return Some(());
        };
        let line = error.line().max(1);
        let start = |line: usize| {
            document.start + text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>()
        };
        let (from, to) = (start(line.saturating_sub(1)), start(line + 2));
        let mut near = self.trace.spans.iter().filter(|span| span.start < to && from < span.end.max(span.start + 1));
        let doubtful = near.any(|span| {
            let conditional = span.under.iter().any(|read| self.is_unknown(*read));
            conditional || (span.reads.iter().any(|read| self.is_unknown(*read)) && !self.is_inline(span))
        });
        if doubtful {
            return Some(());
        }
        let printed = text.lines().nth(line - 1).unwrap_or_default().trim_end();
        let what = format!("the text is not YAML: {}, in the line {printed:?}", error.message());
        let place = self.place_of_line(start(line));
        problems.push(
            Problem::at(place, what)
                .hint("check the indentation, the quotes and the colons of this line and the one before"),
        );
        None
    }

    /// Whether a placeholder stands among other text on its line: then it is one value, or the text is broken anyway.
    fn is_inline(&self, span: &gotpl::Span) -> bool {
        let text = &self.text[span.start..span.end];
        let before = self.text[..span.start].rsplit('\n').next().unwrap_or_default();
        !text.contains('\n') && !before.trim().is_empty() && !before.trim_end().ends_with('-')
    }

    /// The unknown data that a value is made of.
    fn unknown_reads(&self, found: &Found) -> Vec<(objects::Path, Place)> {
        let touching = |span: &&gotpl::Span| {
            span.start < found.range.end.max(found.range.start + 1) && found.range.start < span.end.max(span.start + 1)
        };
        let spans = self.trace.spans.iter().filter(touching);
        let reads = spans.flat_map(|span| self.trace.reads_of(&span.reads));
        reads
            .filter(|read| read.presence == Presence::Unknown)
            .map(|read| (path(&read.path.0), Place::from(&read.site)))
            .collect()
    }

    fn is_static_name(&self, document: &Range<usize>) -> bool {
        let name = self.field(document, &["metadata", "name"]);
        name.is_some_and(|name| self.is_static(document, &name)) && !self.in_loop(document)
    }

    fn kind_of(&self, document: &Range<usize>, problems: &mut Vec<Problem>) -> Option<Gvk> {
        let mut part = |field: &str| {
            let Some(found) = self.field(document, &[field]) else {
                let what = format!("{field} is missing");
                problems.push(
                    Problem::at(self.place(document.start), what)
                        .hint(format!("write `{field}: ...` as the first lines")),
                );
                return None;
            };
            if !self.is_static(document, &found) {
                let what = format!("{field} must not depend on anything: it is known before there is an instance");
                let problem = Problem::at(self.place(found.range.start), what);
                problems
                    .push(problem.hint("use two templates, each with its own kind, and an `if` around one of them"));
                return None;
            }
            Some(found)
        };
        let (api_version, kind) = (part("apiVersion"), part("kind"));
        let (api_version, kind) = (api_version?, kind?);
        match ApiVersion::parse(&api_version.value) {
            Some(parsed) => Some(parsed.kind(&kind.value)),
            None => {
                let what = format!("{:?} is not an apiVersion", api_version.value);
                problems
                    .push(Problem::at(self.place(api_version.range.start), what).hint("write `v1` or `group/version`"));
                None
            }
        }
    }

    /// The stretches between separators that hold more than white space and comments.
    fn documents(&self) -> Vec<Range<usize>> {
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
            self.text[range.clone()].lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        };
        documents.retain(says_something);
        documents
    }

    /// A field of a document. The sketch is often no YAML (both sides of a branch stand in it), so lines are read where
    /// the parser gives up.
    fn field(&self, document: &Range<usize>, path: &[&str]) -> Option<Found> {
        self.parsed_field(document, path).or_else(|| self.scanned_field(document, path))
    }

    fn parsed_field(&self, document: &Range<usize>, path: &[&str]) -> Option<Found> {
        let spanned = yaml::parse_spanned(&self.text[document.clone()]).ok()?;
        let steps: Vec<yaml::Step> = path.iter().map(|step| yaml::Step::from(*step)).collect();
        let found = spanned.spans.find(&steps)?;
        let value = path.iter().try_fold(&spanned.value, |value, step| value.get(step))?;
        let range = document.start + found.value.start..document.start + found.value.end;
        Some(Found { value: value.as_str().map_or_else(|| value.to_string(), String::from), range })
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
            let at_level =
                if depth == 0 { indent == 0 } else { indents.get(depth).is_none_or(|level| *level == indent) };
            if key.trim_matches(['"', '\'']) != path[depth] || !at_level {
                continue;
            }
            if depth + 1 < path.len() {
                indents.truncate(depth);
                indents.push(indent);
                depth += 1;
                continue;
            }
            let value = rest.trim();
            let offset = start + indent + key.len() + 1 + (rest.len() - rest.trim_start().len());
            return Some(Found {
                value: value.trim_matches(['"', '\'']).to_string(),
                range: offset..offset + value.len(),
            });
        }
        None
    }

    /// Whether a value is the same whatever the unknown data turns out to be, given that its document is there at all.
    fn is_static(&self, document: &Range<usize>, found: &Found) -> bool {
        let doubt_of_document = self.doubts(document.start);
        self.trace
            .spans
            .iter()
            .filter(|span| {
                span.start < found.range.end.max(found.range.start + 1)
                    && found.range.start < span.end.max(span.start + 1)
            })
            .all(|span| {
                let known = self.trace.reads_of(&span.reads).all(|read| read.presence != Presence::Unknown);
                let doubts: BTreeSet<usize> =
                    span.under.iter().copied().filter(|read| self.is_unknown(*read)).collect();
                known && doubts.is_subset(&doubt_of_document)
            })
    }

    fn is_unknown(&self, read: usize) -> bool {
        self.trace.reads.get(read).is_some_and(|read| read.presence == Presence::Unknown)
    }

    /// The unknown conditions under which the first line of a document is printed.
    fn doubts(&self, at: usize) -> BTreeSet<usize> {
        let said = self.text[at..].find(|c: char| !c.is_whitespace()).map_or(at, |offset| at + offset);
        let span = self.trace.spans.iter().find(|span| span.start <= said && said < span.end);
        let under = span.map(|span| span.under.clone()).unwrap_or_default();
        under.into_iter().filter(|read| self.is_unknown(*read)).collect()
    }

    /// Whether a document is made in a loop over something unknown: the loop's list is one of its conditions.
    fn in_loop(&self, document: &Range<usize>) -> bool {
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

    /// The line of the template that made the line of the sketch beginning at `offset`.
    fn place_of_line(&self, offset: usize) -> Place {
        let said = self.text[offset..].find(|c: char| !c.is_whitespace()).map_or(offset, |skip| offset + skip);
        let Some(span) = self.trace.spans.iter().find(|span| span.start <= said && said < span.end) else {
            return self.place(offset);
        };
        let lines = self.text[span.start..said].matches('\n').count();
        let place = Place::from(&span.site);
        Place { line: place.line + lines, column: (lines == 0).then_some(place.column).flatten(), ..place }
    }

    /// The template position that made a byte of the sketch.
    fn place(&self, offset: usize) -> Place {
        let span = self.trace.spans.iter().find(|span| span.start <= offset && offset < span.end);
        match span {
            Some(span) => Place::from(&span.site),
            None => Place { file: self.source.file.clone(), line: 1, column: None },
        }
    }
}
