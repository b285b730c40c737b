//! Replays what `sigs.k8s.io/yaml` answered (tools/yaml-oracle) against this crate.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Vector<'a> {
    id: String,
    op: String,
    text: Option<String>,
    #[serde(borrow)]
    json: Option<&'a RawValue>,
    documents: Option<Vec<String>>,
    error: Option<String>,
}

/// Runs every vector of a file and reports the ones that differ.
fn replay(file: &str, lines: &str) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines.lines() {
        let vector: Vector<'_> = serde_json::from_str(line).expect(line);
        count += 1;
        let (ours, theirs) = match vector.op.as_str() {
            "read" | "strict" => {
                let text = vector.text.as_deref().unwrap_or_default();
                let ours = if vector.op == "read" { yaml::parse(text) } else { yaml::parse_strict(text) };
                let theirs: Value = vector.json.map_or(Value::Null, |raw| serde_json::from_str(raw.get()).expect(line));
                (ours.map(|value| format!("{value:?}")), Some(format!("{theirs:?}")))
            }
            "documents" => {
                let text = vector.text.as_deref().unwrap_or_default();
                let ours = yaml::documents(text).map(|found| {
                    let texts: Vec<String> = found.iter().map(|d| d.text.replace("\r\n", "\n")).collect();
                    format!("{texts:?}")
                });
                (ours, Some(format!("{:?}", vector.documents.unwrap_or_default())))
            }
            op => {
                let value: Value = vector.json.map_or(Value::Null, |raw| serde_json::from_str(raw.get()).expect(line));
                let ours = if op == "write" { yaml::emit(&value) } else { Ok(yaml::emit_pretty(&value)) };
                (ours, vector.text)
            }
        };
        let ours = ours.map_err(|error| error.to_string());
        let theirs = vector.error.map_or_else(|| Ok(theirs.unwrap_or_default()), Err);
        if ours != theirs {
            wrong.push(format!("{} {line}\n  ours:   {ours:?}\n  theirs: {theirs:?}", vector.id));
        }
    }
    assert!(count > 30, "{file} holds only {count} vectors");
    assert!(wrong.is_empty(), "{} of {count} differ in {file}:\n{}", wrong.len(), wrong.join("\n"));
}

macro_rules! golden {
    ($($name:ident: $file:literal,)*) => {
        $(#[test]
        fn $name() {
            replay($file, include_str!(concat!("golden/", $file, ".jsonl")));
        })*
    };
}

golden! {
    scalars_mean_what_they_mean_in_go: "scalars",
    structures_are_read_as_in_go: "structures",
    block_scalars_are_read_as_in_go: "blocks",
    quoted_scalars_are_read_as_in_go: "quotes",
    aliases_and_merge_keys_are_followed_as_in_go: "aliases",
    tags_and_directives_are_read_as_in_go: "tags",
    malformed_text_fails_in_the_words_of_go: "malformed",
    white_space_and_line_breaks_are_read_as_in_go: "whitespace",
    keys_become_text_as_in_go: "keys",
    streams_are_split_as_in_kubernetes: "documents",
    values_are_written_as_in_go: "write",
    numbers_are_written_as_in_go: "numbers",
}
