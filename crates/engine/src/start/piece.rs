//! Manifests taken apart into objects, each with its own text, so that comments and layout can stay.

use objects::Gvk;
use serde_json::Value;

use crate::problem::{Place, Problem};

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
pub(super) struct Piece {
    pub file: String,
    pub line: usize,
    pub gvk: Gvk,
    /// Reads as `value`.
    pub text: String,
    pub value: Value,
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
        Place { file: self.file.clone(), line: self.line, column: None }
    }

    /// The same object as a text of another layout.
    pub fn emitted(value: &Value) -> String {
        yaml::emit(value).unwrap_or_default()
    }
}

/// The objects of manifests, those inside of lists too, and what is no object.
pub(super) fn read(manifests: &[Manifest]) -> (Vec<Piece>, Vec<Problem>) {
    let mut pieces = Vec::new();
    let mut problems = Vec::new();
    for manifest in manifests {
        let bad = |before: usize, error: &yaml::Error| {
            let column = Some(error.column()).filter(|column| *column > 0);
            let place = Place { file: manifest.file.clone(), line: before + error.line().max(1), column };
            Problem::at(place, format!("this is not YAML: {}", error.problem()))
        };
        let documents = match yaml::documents(&manifest.text) {
            Ok(documents) => documents,
            Err(error) => {
                problems.push(bad(0, &error));
                continue;
            }
        };
        for document in documents {
            match yaml::parse_strict(&document.text).and_then(|_| yaml::parse_spanned(&document.text)) {
                Err(error) => problems.push(bad(document.line - 1, &error)),
                Ok(spanned) if spanned.value.is_null() => {}
                Ok(spanned) => objects(manifest, &document, &spanned, &mut pieces, &mut problems),
            }
        }
    }
    (pieces, problems)
}

fn objects(
    manifest: &Manifest,
    document: &yaml::Document<'_>,
    spanned: &yaml::Spanned,
    pieces: &mut Vec<Piece>,
    problems: &mut Vec<Problem>,
) {
    let value = &spanned.value;
    let is_list = value["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    if let Some(items) = value["items"].as_array().filter(|_| is_list) {
        for (index, item) in items.iter().enumerate() {
            let span = spanned.spans.find(&[yaml::Step::from("items"), yaml::Step::from(index)]);
            let line = document.line - 1 + span.map_or(1, |found| found.value.line);
            let text = span.map(|found| unindented(&document.text, found.value)).unwrap_or_default();
            piece(manifest, line, text, item, pieces, problems);
        }
        return;
    }
    let text: String = match document.text.strip_prefix("---") {
        Some(rest) => rest.split_once('\n').map(|(_, rest)| rest.to_string()).unwrap_or_default(),
        None => document.text.to_string(),
    };
    let line = document.line - 1 + spanned.spans.find(&[]).map_or(1, |found| found.value.line);
    piece(manifest, line, text.trim_start_matches('\n').to_string(), value, pieces, problems);
}

fn piece(
    manifest: &Manifest,
    line: usize,
    text: String,
    value: &Value,
    pieces: &mut Vec<Piece>,
    problems: &mut Vec<Problem>,
) {
    let file = manifest.file.clone();
    let named = value["metadata"]["name"].as_str().is_some_and(|name| !name.is_empty());
    let (Some(gvk), true) = (Gvk::of(value).filter(|gvk| !gvk.kind.is_empty()), named) else {
        let what = "this is no object: it needs apiVersion, kind and metadata.name";
        problems.push(Problem::at(Place { file, line, column: None }, what));
        return;
    };
    // JSON, or a text that cannot be taken out of its list as it stands, gets the usual layout.
    let is_flow =
        text.lines().find(|line| !line.starts_with('#')).is_some_and(|line| line.trim_start().starts_with('{'));
    let same = !is_flow && yaml::parse_strict(&text).is_ok_and(|read| read == *value);
    let text = if same { text } else { Piece::emitted(value) };
    pieces.push(Piece { file, line, gvk, text, value: value.clone() });
}

/// A stretch of block style, moved to the left edge.
fn unindented(text: &str, span: yaml::Span) -> String {
    let inner = text.get(span.start..span.end).unwrap_or_default();
    let indent = " ".repeat(span.column - 1);
    let line = |line: &str| line.strip_prefix(&indent).unwrap_or(line.trim_start()).to_string();
    let lines: Vec<String> = inner.lines().map(line).collect();
    lines.join("\n").trim_end().to_string() + "\n"
}
