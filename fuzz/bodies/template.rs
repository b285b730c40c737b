//! What a fuzzer does with bytes: takes them for a template and its data, and runs it in every way
//! there is. Nothing may panic, no limit may be passed, and none takes longer than its budget
//! allows. Used by `cargo fuzz` and, with seeded bytes, by `cargo test`.

use std::time::Duration;

use gotpl::{
    ErrorKind, Input, Known, Library, Limits, Meter, MissingKey, Options, Path, Run, Set, Watch,
};
use serde_json::Value;

#[path = "spent.rs"]
mod spent;
use spent::Spent;

const OUTPUT_LIMIT: u64 = 1 << 20;
const WORK_LIMIT: u64 = 2_000_000;
/// A unit of work is about a nanosecond, and a thousand times as much without optimization on an
/// old machine.
const TIME_LIMIT: Duration = Duration::from_nanos(1_000 * WORK_LIMIT);

/// What is counted without being refused, after the last thing that could have been.
const SLACK: u64 = 1_000_000;

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
    let limits = Limits {
        work: WORK_LIMIT,
        depth: 100,
        bytes: OUTPUT_LIMIT,
        nesting: 200,
        ..Limits::default()
    };
    let half_known = |path: &Path| match path.0.len() {
        0 => Known::Partly,
        1 => Known::Wholly,
        _ => Known::Not,
    };
    let mut plain = None;
    for watch in [Watch::Lightly, Watch::Closely, Watch::Guessing(&half_known)] {
        let guessing = matches!(watch, Watch::Guessing(_));
        let meter = Meter::new(limits.clone());
        let run = Run {
            meter: Some(&meter),
            watch,
            ..Run::new(&set)
        };
        let spent = Spent::start();
        let result = run.execute("fuzz", &Input::new(&data));
        assert!(
            spent.time() < TIME_LIMIT,
            "{:?} for {} units of work",
            spent.time(),
            meter.work()
        );
        if result.is_ok() {
            assert!(
                meter.work() <= WORK_LIMIT + SLACK && meter.over().is_none(),
                "the budget holds"
            );
        }
        if let Ok(output) = &result {
            assert!(
                output.text.len() as u64 <= OUTPUT_LIMIT,
                "the output limit holds"
            );
        }
        if guessing {
            continue;
        }
        // Being watched changes nothing but what it costs.
        if matches!(&result, Err(error) if error.kind() == ErrorKind::Limit) {
            continue;
        }
        let result = result
            .map(|output| output.text)
            .map_err(|error| error.to_string());
        match &plain {
            None => plain = Some(result),
            Some(plain) => assert_eq!(plain, &result, "a watched run differs from a plain one"),
        }
    }
    // An analysis of the same source ends too.
    let spent = Spent::start();
    let _ = set.analyze_within("fuzz", &Meter::new(limits));
    assert!(
        spent.time() < TIME_LIMIT,
        "{:?} for an analysis",
        spent.time()
    );
}
