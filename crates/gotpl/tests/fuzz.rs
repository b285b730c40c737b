//! A bounded fuzz run on stable: golden templates, cut up and put together again from a seed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

#[path = "../../../fuzz/bodies/template.rs"]
mod body;
#[path = "../../../fuzz/bodies/seeded.rs"]
mod seeded;

use seeded::Seeded;
use serde_json::Value;

const WORDS: &[&str] = &[
    "{{",
    "}}",
    "{{-",
    "-}}",
    "{{/*",
    "*/}}",
    "|",
    "(",
    ")",
    ".",
    "$",
    "$x",
    ":=",
    "=",
    ",",
    "if",
    "else",
    "end",
    "range",
    "with",
    "define",
    "template",
    "block",
    "break",
    "continue",
    "\"a\"",
    "`raw`",
    "'c'",
    "1",
    "-1",
    "0x1p4",
    "1i",
    "nil",
    "true",
    ".spec.list",
    "$.a",
    " ",
    "\n",
    "printf \"%*d\" 999999",
    "repeat 99999999",
    "until 99999999",
    "include \"fuzz\" .",
    "tpl \"{{ . }}\" .",
    "set . \"self\" .",
    "dict \"a\" .",
    "list . .",
    "toYaml",
    "fromYaml",
    "toJson",
    "nindent 99999999",
    "index . \"a\"",
    "dig \"a\" \"b\" .",
    "merge . .",
    "range 99999999999",
    "regexReplaceAll \"a*\" \"b\" \"c\"",
    "\u{0}",
    "é",
];

#[test]
fn no_template_made_from_pieces_of_others_panics_or_passes_a_limit() {
    let runs = std::env::var("CAIRN_FUZZ_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok())
        .unwrap_or(2_000);
    let seed = std::env::var("CAIRN_FUZZ_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0x9e37_79b9_7f4a_7c15);
    let corpus = corpus();
    let mut random = Seeded(seed);
    for _ in 0..runs {
        let bytes = mutated(&corpus, &mut random);
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        if std::panic::catch_unwind(|| body::template(&bytes)).is_err() {
            panic!("this input broke it (seed {seed}): {shown:?}");
        }
    }
}

/// Golden templates with their data behind a NUL.
fn corpus() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut corpus = Vec::new();
    for file in files.iter().filter(|file| {
        file.extension()
            .is_some_and(|extension| extension == "jsonl")
    }) {
        for line in std::fs::read_to_string(file).unwrap().lines().step_by(7) {
            let case: Value = serde_json::from_str(line).unwrap();
            let mut bytes = case["template"].as_str().unwrap().as_bytes().to_vec();
            bytes.push(0);
            bytes.extend_from_slice(case["data"].to_string().as_bytes());
            corpus.push(bytes);
        }
    }
    assert!(corpus.len() > 300);
    corpus
}

fn mutated(corpus: &[Vec<u8>], random: &mut Seeded) -> Vec<u8> {
    let mut bytes = random.pick(corpus).clone();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(6) {
            0 => {
                let word = *random.pick(WORDS);
                bytes.splice(at..at, word.bytes());
            }
            1 => {
                let end = (at + random.below(8)).min(bytes.len());
                bytes.drain(at..end);
            }
            2 => {
                let other = random.pick(corpus);
                let from = random.below(other.len());
                let piece = other[from..(from + random.below(40)).min(other.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            3 => {
                let end = (at + random.below(30)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            4 if at < bytes.len() => bytes[at] = random.next() as u8,
            _ => {
                let open = format!("{{{{ {} }}}}", random.pick(WORDS));
                bytes.splice(at..at, open.bytes());
            }
        }
    }
    bytes
}
