//! A bounded fuzz run on stable: templates cut up and put together again from a seed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

#[path = "../../../fuzz/bodies/parameters.rs"]
mod body;
#[path = "../../../fuzz/bodies/seeded.rs"]
mod seeded;

use seeded::Seeded;

const WHOLE: [&str; 3] = [
    include_str!("seed/mongodb.json"),
    "kind: Template\napiVersion: v1\nmessage: ${A}\nlabels: {'${A}': '${{B}}'}\nobjects:\n- kind: Pod\n  apiVersion: v1\n  metadata: \
     {namespace: x}\n  spec: {containers: [{image: a/b:1, args: ['${A}'], env: [{name: A, value: '${B}'}]}]}\n\
     parameters:\n- {name: A, generate: expression, from: '[a-z]{9}'}\n- {name: B, value: '{\"a\": 1}', type: string}\n",
    "kind: Template\napiVersion: templates.stacks.crossplane.io/v1alpha1\nlabels: {a: $(A)}\nobjects:\n- &o\n  kind: Deployment\n  \
     apiVersion: apps/v1\n  metadata: {name: x}\n  spec: {replicas: $((B)), selector: {matchLabels: {a: b}}, template: {metadata: \
     {labels: {a: b}}, spec: {containers: [{name: c, image: i, command: [$$(A), $(A)]}]}}}\n- *o\n\
     parameters:\n- {name: A, required: true}\n- {name: B, type: int}\n",
];

const PIECES: [&str; 30] = [
    "$(A)",
    "$((A))",
    "${A}",
    "${{A}}",
    "$$(A)",
    "$",
    "$(",
    "((",
    "A",
    "B",
    "kind: List, items: []",
    "null",
    "[]",
    "{}",
    "\n",
    "  ",
    "- ",
    ": ",
    "'",
    "\"",
    "*o",
    "&o ",
    "<<: *o",
    "[a-z]{255}",
    "[z-a]{1}",
    "1e999",
    "-0",
    "é",
    "true",
    "name: A",
];

#[test]
fn no_template_made_from_pieces_of_others_panics() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (runs, seed) = (
        number("CAIRN_FUZZ_RUNS").unwrap_or(3_000),
        number("CAIRN_FUZZ_SEED").unwrap_or(99),
    );
    let mut random = Seeded(seed);
    for _ in 0..runs {
        let mut bytes = random.pick(&WHOLE).as_bytes().to_vec();
        for _ in 0..random.below(6) {
            let at = random.below(bytes.len() + 1);
            match random.below(4) {
                0 => bytes.truncate(at.max(40)),
                1 => {
                    let end = (at + random.below(12)).min(bytes.len());
                    bytes.drain(at..end);
                }
                2 => {
                    let end = (at + random.below(60)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                _ => {
                    bytes.splice(at..at, random.pick(&PIECES).bytes());
                }
            }
        }
        bytes.insert(0, random.next() as u8);
        if std::panic::catch_unwind(|| body::parameters(&bytes)).is_err() {
            panic!(
                "this input broke it (seed {seed}): {:?}",
                String::from_utf8_lossy(&bytes)
            );
        }
    }
}
