//! Replays what `sigs.k8s.io/yaml` answered (tools/yaml-oracle) against this crate.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use serde_json::Value;

/// Runs every vector of a file and reports the ones that differ.
fn replay(file: &str, lines: &str) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines.lines() {
        let vector: Value = serde_json::from_str(line).expect(line);
        count += 1;
        let text = vector["text"].as_str().unwrap_or_default();
        let (ours, theirs) = match vector["op"].as_str() {
            Some("read") => (
                yaml::parse(text).map(|value| format!("{value:?}")),
                format!("{:?}", vector["json"]),
            ),
            Some("strict") => (
                yaml::parse_strict(text).map(|value| format!("{value:?}")),
                format!("{:?}", vector["json"]),
            ),
            Some("documents") => {
                let ours = yaml::documents(text).map(|found| {
                    let texts: Vec<Value> = found
                        .iter()
                        .map(|d| d.text.replace("\r\n", "\n").into())
                        .collect();
                    format!("{texts:?}")
                });
                let none = Vec::new();
                (
                    ours,
                    format!("{:?}", vector["documents"].as_array().unwrap_or(&none)),
                )
            }
            Some("write") => (yaml::emit(&vector["json"]), text.to_owned()),
            _ => (Ok(yaml::emit_pretty(&vector["json"])), text.to_owned()),
        };
        let ours = ours.map_err(|error| error.to_string());
        let theirs = vector["error"]
            .as_str()
            .map_or(Ok(theirs), |error| Err(error.to_owned()));
        if ours != theirs {
            wrong.push(format!("{line}\n  ours:   {ours:?}\n  theirs: {theirs:?}"));
        }
    }
    assert!(count > 30, "{file} holds only {count} vectors");
    assert!(
        wrong.is_empty(),
        "{} of {count} differ in {file}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
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
