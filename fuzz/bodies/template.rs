//! What a fuzzer does with bytes: takes them for a template and its data, and runs it in every way there is.
//! Nothing may panic, and no limit may be passed. Used by `cargo fuzz` and, with seeded bytes, by `cargo test`.

use gotpl::{Input, Known, Library, Limits, MissingKey, Options, Path, Run, Set, Watch};
use serde_json::Value;

const OUTPUT_LIMIT: u64 = 1 << 20;

/// The template up to the first NUL, the data as JSON after it.
pub fn template(bytes: &[u8]) {
    let (source, data) = match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &b"{}"[..]),
    };
    let source = String::from_utf8_lossy(source);
    let data: Value = serde_json::from_slice(data).unwrap_or(Value::Null);
    let choice = bytes.len();
    let options = Options {
        missing_key: [MissingKey::Default, MissingKey::Zero, MissingKey::Error][choice % 3],
        funcs: Library::Helm,
        ..Options::default()
    };
    let mut set = Set::with_options(options);
    if set.parse("fuzz", &source).is_err() {
        return;
    }
    let limits = Limits { steps: 20_000, depth: 100, bytes: OUTPUT_LIMIT, nesting: 200 };
    let half_known = |path: &Path| match path.0.len() {
        0 => Known::Partly,
        1 => Known::Wholly,
        _ => Known::Not,
    };
    let mut plain = None;
    for watch in [Watch::Lightly, Watch::Closely, Watch::Guessing(&half_known)] {
        let guessing = matches!(watch, Watch::Guessing(_));
        let run = Run { limits: limits.clone(), watch, ..Run::new(&set) };
        let result = run.execute("fuzz", &Input::new(&data));
        if let Ok(output) = &result {
            assert!(output.text.len() as u64 <= OUTPUT_LIMIT, "the output limit holds");
        }
        if guessing {
            continue;
        }
        // Being watched changes nothing.
        let result = result.map(|output| output.text).map_err(|error| error.to_string());
        match &plain {
            None => plain = Some(result),
            Some(plain) => assert_eq!(plain, &result, "a watched run differs from a plain one"),
        }
    }
    // An analysis of the same source ends too.
    let _ = set.analyze("fuzz");
}
