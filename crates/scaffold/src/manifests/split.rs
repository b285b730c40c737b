//! Manifests taken apart into objects, each with its own text, so that comments and layout can
//! stay.

use std::sync::Arc;

use objects::Gvk;
use serde_json::Value;
use yaml::Step;

use super::stream::{Part, not_yaml, parts};
use super::untyped_values;
use engine::{Place, Problem};

/// A file of manifests, or what came over a pipe.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// As its author knows it.
    pub file: String,
    /// All of it.
    pub text: String,
}

/// An object of a manifest.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub file: String,
    pub line: usize,
    pub gvk: Gvk,
    /// Reads as `value`.
    pub text: String,
    pub value: Value,
    origin: Origin,
}

/// Where the parts of an object were written in its manifest.
#[derive(Clone, Debug)]
struct Origin {
    spans: Arc<yaml::Spans>,
    /// The way from the document to the object.
    above: Vec<Step>,
    /// How many lines of the manifest are before the document.
    before: usize,
}

impl Piece {
    pub fn name(&self) -> &str {
        self.value["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// As people say it: `Service web`.
    pub fn title(&self) -> String {
        format!("{} {}", self.gvk.kind, self.name())
    }

    pub fn place(&self) -> Place {
        Place {
            file: self.file.clone(),
            line: self.line,
            column: None,
        }
    }

    /// Where a part of it is in the manifests.
    pub fn place_of(&self, path: &[Step]) -> Place {
        let path = [self.origin.above.as_slice(), path].concat();
        match self.origin.spans.find(&path) {
            Some(found) => Place {
                line: self.origin.before + found.value.line,
                ..self.place()
            },
            None => self.place(),
        }
    }

    /// Whether it is of a kind of the core group.
    pub fn is_core(&self, kind: &str) -> bool {
        self.gvk.group.is_empty() && self.gvk.kind == kind
    }

    /// The same object as a text of another layout.
    pub fn emitted(value: &Value) -> String {
        yaml::emit(value).unwrap_or_default()
    }
}

/// What manifests hold.
#[derive(Default)]
pub(crate) struct Read {
    /// The objects, those inside of lists too.
    pub pieces: Vec<Piece>,
    /// What is left out, because no stack could make it, or is read as something else than was
    /// written.
    pub left: Vec<Problem>,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

pub(crate) fn read(manifests: &[Manifest]) -> Read {
    let mut read = Read::default();
    for manifest in manifests {
        let parts = match parts(manifest) {
            Ok(parts) => parts,
            Err(problem) => {
                read.problems.push(problem);
                continue;
            }
        };
        for part in parts {
            match yaml::parse_written(&part.text).and_then(|_| yaml::parse_spanned(&part.text)) {
                Err(error) => read
                    .problems
                    .push(not_yaml(manifest, part.line - 1, &error)),
                Ok(spanned) if spanned.value.is_null() => {}
                Ok(spanned) => read.part(manifest, &part, &spanned),
            }
        }
    }
    read
}

impl Read {
    fn part(&mut self, manifest: &Manifest, part: &Part, spanned: &yaml::Spanned) {
        let place = |path: &[Step]| {
            let span = spanned.spans.find(path).map(|found| found.value);
            let (line, column) = span.map_or((1, None), |span| (span.line, Some(span.column)));
            Place {
                file: manifest.file.clone(),
                line: part.line - 1 + line,
                column,
            }
        };
        if let Some(behind) = behind(&part.text, spanned) {
            let place = Place {
                file: manifest.file.clone(),
                line: part.line + behind,
                column: None,
            };
            let what = "this stands behind the end of an object, and would not be read";
            self.problems
                .push(Problem::at(place, what).hint("begin another document with `---`"));
            return;
        }
        for key in yaml::misread_keys(&part.text, &spanned.spans) {
            let (line, column) = (part.line - 1 + key.span.line, Some(key.span.column));
            let place = Place {
                file: manifest.file.clone(),
                line,
                column,
            };
            self.left
                .push(Problem::at(place, key.what()).warning().hint(key.hint()));
        }
        let value = &spanned.value;
        let list = value["kind"]
            .as_str()
            .and_then(|kind| kind.strip_suffix("List"));
        let items = value["items"].as_array().filter(|_| list.is_some());
        let objects: Vec<(Vec<Step>, Value, String)> = match items {
            None => vec![(
                Vec::new(),
                value.clone(),
                part.text.trim_start_matches('\n').to_string(),
            )],
            Some(items) => {
                let item = |(index, item): (usize, &Value)| {
                    let path = vec![Step::from("items"), Step::from(index)];
                    let span = spanned.spans.find(&path);
                    let text = span
                        .map(|found| unindented(&part.text, found.value))
                        .unwrap_or_default();
                    (path, of_list(item, value, list.unwrap_or_default()), text)
                };
                items.iter().enumerate().map(item).collect()
            }
        };
        let spans = Arc::new(spanned.spans.clone());
        for (path, object, text) in objects {
            for misread in untyped_values::misread(&object) {
                let at = [path.as_slice(), &misread.path].concat();
                let raw = spanned
                    .spans
                    .find(&at)
                    .and_then(|found| part.text.get(found.value.start..found.value.end));
                self.problems
                    .push(misread.problem(&object, place(&at), raw.unwrap_or_default()));
            }
            let place = Place {
                column: None,
                ..place(&path)
            };
            let origin = Origin {
                spans: Arc::clone(&spans),
                above: path,
                before: part.line - 1,
            };
            self.object(place, text, object, origin);
        }
    }

    fn object(&mut self, place: Place, text: String, value: Value, origin: Origin) {
        let kustomize = || "give what `kubectl kustomize` prints instead: `cairn init NAME --from -` reads it from a pipe";
        let Some(gvk) = Gvk::of(&value).filter(|gvk| !gvk.kind.is_empty()) else {
            let file = place.file.rsplit('/').next().unwrap_or_default();
            if file.starts_with("kustomization.") {
                let what = "a kustomization is left out: it is no object";
                self.left
                    .push(Problem::at(place, what).warning().hint(kustomize()));
                return;
            }
            let what = "this is no object: it needs apiVersion, kind and metadata.name";
            self.problems.push(Problem::at(place, what));
            return;
        };
        let left = |why: &str, hint: String| {
            Problem::at(place.clone(), format!("{} is left out: {why}", gvk.kind))
                .warning()
                .hint(hint)
        };
        if gvk.group == "kustomize.config.k8s.io" {
            self.left.push(left(
                "it is for kustomize, and no object",
                kustomize().to_string(),
            ));
            return;
        }
        if value["metadata"]["name"].as_str().is_none_or(str::is_empty) {
            let hint = match value["metadata"]["generateName"].as_str() {
                Some(prefix) => format!(
                    "what an instance makes has a name that stays, such as `metadata.name: {}`",
                    prefix.trim_end_matches('-')
                ),
                None => "every object that a stack makes has a name".to_string(),
            };
            self.left.push(left("it has no metadata.name", hint));
            return;
        }
        // JSON, or a text that cannot be taken out of its list as it stands, gets the usual layout.
        let is_flow = text
            .lines()
            .find(|line| !line.starts_with('#'))
            .is_some_and(|line| line.trim_start().starts_with('{'));
        let same = !is_flow && yaml::parse_written(&text).is_ok_and(|read| read == value);
        let text = if same { text } else { Piece::emitted(&value) };
        self.pieces.push(Piece {
            file: place.file,
            line: place.line,
            gvk,
            text,
            value,
            origin,
        });
    }
}

/// An item of a list. That of a `ConfigMapList` need not say again that it is a ConfigMap.
fn of_list(item: &Value, list: &Value, kind: &str) -> Value {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut().filter(|_| !kind.is_empty()) {
        fields
            .entry("apiVersion")
            .or_insert_with(|| list["apiVersion"].clone());
        fields.entry("kind").or_insert_with(|| Value::from(kind));
    }
    item
}

/// How many lines into a document something stands behind its end, which a reader of YAML passes
/// over: behind an object in braces, or behind a line of three dots.
fn behind(text: &str, spanned: &yaml::Spanned) -> Option<usize> {
    let whole = spanned.spans.find(&[])?.value;
    let is_flow = text
        .get(whole.start..)
        .is_some_and(|object| object.starts_with('{'));
    let is_end = |line: &str| line.trim_end() == "...";
    // The rest of the line that the object ends on counts, and of lines of dots none.
    let above = || {
        text.split_inclusive('\n')
            .take_while(|line| !is_end(line))
            .map(str::len)
            .sum()
    };
    let before = if is_flow { whole.end } else { above() };
    let rest = text.get(before..)?;
    let is_nothing =
        |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#') || is_end(line);
    let line = rest.lines().position(|line| !is_nothing(line))?;
    Some(text.get(..before)?.matches('\n').count() + line)
}

/// A stretch of block style, moved to the left edge.
fn unindented(text: &str, span: yaml::Span) -> String {
    let inner = text.get(span.start..span.end).unwrap_or_default();
    let indent = " ".repeat(span.column - 1);
    let line = |line: &str| {
        line.strip_prefix(&indent)
            .unwrap_or(line.trim_start())
            .to_string()
    };
    let lines: Vec<String> = inner.lines().map(line).collect();
    lines.join("\n").trim_end().to_string() + "\n"
}
