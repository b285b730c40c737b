//! Compares this crate with Kubernetes' own library on texts and values that nobody wrote by hand.
//!
//! `cargo run --release -p yaml --example differential -- --oracle PATH [--seed S] [--count N]
//! [--show N]`, where PATH is a build of tools/yaml-oracle. The same seed gives the same texts.
//! With `--corpus DIR` the files in there are compared first, each document by itself too, and what
//! they hold is written both ways.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::expect_used)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

#[path = "../tests/mutate/mod.rs"]
mod mutate;
use mutate::Random;

/// How many questions are in flight at once: few enough for the pipes.
const BATCH: usize = 200;

struct Oracle {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Oracle {
    fn start(path: &str) -> Self {
        let mut child = Command::new(path)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the oracle starts");
        let input = child.stdin.take().expect("the oracle has an input");
        let output = BufReader::new(child.stdout.take().expect("the oracle has an output"));
        Self {
            child,
            input,
            output,
        }
    }

    fn ask(&mut self, questions: &[Value]) -> Vec<Value> {
        let mut answers = Vec::with_capacity(questions.len());
        std::thread::scope(|scope| {
            let input = &mut self.input;
            scope.spawn(move || {
                for question in questions {
                    writeln!(input, "{question}").expect("the oracle reads");
                }
                input.flush().expect("the oracle reads");
            });
            for _ in questions {
                let mut line = String::new();
                self.output
                    .read_line(&mut line)
                    .expect("the oracle answers");
                answers.push(serde_json::from_str(&line).expect("the oracle answers in JSON"));
            }
        });
        answers
    }
}

/// Our own answer to a question, in the oracle's form.
fn answer(question: &Value) -> Value {
    let text = question["text"].as_str().unwrap_or_default();
    let result = match question["op"].as_str() {
        Some("read") => yaml::parse(text).map(|value| json!({ "json": value })),
        Some("strict") => yaml::parse_strict(text).map(|value| json!({ "json": value })),
        Some("documents") => yaml::documents(text).map(|found| {
            // Kubernetes makes every CR LF an LF when it splits; we keep the text as it is.
            let texts = found.iter().map(|document| {
                let written =
                    &text[document.start..(document.start + document.text.len()).min(text.len())];
                let complete = if written.ends_with('\n') { "" } else { "\n" };
                written.replace("\r\n", "\n") + complete
            });
            let texts: Vec<String> = texts.collect();
            if texts.is_empty() {
                json!({})
            } else {
                json!({ "documents": texts })
            }
        }),
        Some("write") => yaml::emit(&question["json"]).map(|text| json!({ "text": text })),
        _ => Ok(json!({ "text": yaml::emit_pretty(&question["json"]) })),
    };
    result.unwrap_or_else(|error| json!({ "error": error.to_string() }))
}

/// Questions about every file below `dir` that is text.
fn corpus(dir: &std::path::Path) -> Vec<Value> {
    let mut questions = Vec::new();
    for entry in std::fs::read_dir(dir)
        .expect("the corpus can be read")
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            questions.append(&mut corpus(&path));
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let mut texts = vec![text.clone()];
        texts.extend(
            yaml::documents(&text)
                .into_iter()
                .flatten()
                .map(|document| document.text.into_owned()),
        );
        questions.push(json!({ "op": "documents", "text": text }));
        for text in texts {
            if let Ok(value) = yaml::parse(&text) {
                questions.push(json!({ "op": "write", "json": value }));
                questions.push(json!({ "op": "pretty", "json": value }));
            }
            questions.push(json!({ "op": "strict", "text": text }));
            questions.push(json!({ "op": "read", "text": text }));
        }
    }
    questions
}

fn main() {
    let mut options: BTreeMap<String, String> = BTreeMap::new();
    let mut arguments = std::env::args().skip(1);
    while let (Some(name), Some(value)) = (arguments.next(), arguments.next()) {
        options.insert(name.trim_start_matches("--").to_owned(), value);
    }
    let number = |name: &str, default: u64| {
        options
            .get(name)
            .map_or(default, |n| n.parse().expect("a number"))
    };
    let mut oracle = Oracle::start(options.get("oracle").expect("--oracle PATH"));
    let (seed, count, show) = (
        number("seed", 1),
        number("count", 100_000),
        number("show", 20),
    );
    let mut random = Random::new(seed);
    let seeds = mutate::seeds();
    let (mut done, mut differ, mut wordings, mut undecided) = (0, 0, 0, 0);
    let mut corpus = options
        .get("corpus")
        .map(|dir| corpus(std::path::Path::new(dir)))
        .unwrap_or_default();
    while done < count || !corpus.is_empty() {
        let questions: Vec<Value> = match corpus.len() {
            0 => (0..BATCH)
                .map(|_| mutate::question(&mut random, &seeds))
                .collect(),
            left => corpus.split_off(left.saturating_sub(BATCH)),
        };
        let answers = oracle.ask(&questions);
        for (question, theirs) in questions.iter().zip(answers) {
            done += 1;
            let ours = answer(question);
            // Known to differ: a byte order mark that is not the first character confuses go-yaml.
            let confused = question["text"]
                .as_str()
                .is_some_and(|text| text.rfind('\u{feff}') > Some(0));
            if ours == theirs || confused {
                continue;
            }
            // Go walks maps in random order, so some of its answers are one of several.
            let again = oracle.ask(&vec![question.clone(); 40]);
            if again.iter().any(|other| *other == ours || *other != theirs) {
                undecided += 1;
                continue;
            }
            if ours["error"].is_string() && theirs["error"].is_string() {
                wordings += 1;
            } else {
                differ += 1;
            }
            if differ + wordings <= show {
                println!("{question}\n  ours:   {ours}\n  theirs: {theirs}");
            }
        }
    }
    println!(
        "{done} asked, {differ} answers and {wordings} wordings differ; {undecided} where Go does not decide"
    );
    drop(oracle.input);
    oracle.child.wait().expect("the oracle ends");
    std::process::exit(i32::from(differ + wordings > 0));
}
