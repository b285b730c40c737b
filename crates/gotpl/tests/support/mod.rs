//! What the replay tests share: a repeatable world for the engine, and a report that names what
//! differs.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::fmt::Write as _;
use std::path::PathBuf;

use gotpl::{Draw, Host};

/// The folder of this crate's test data.
pub fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

/// A world in which every draw differs from every other and a run can still be repeated.
pub struct FixedWorld;

impl Host for FixedWorld {
    fn random(&self, draw: &Draw<'_>, bytes: &mut [u8]) -> Result<(), String> {
        let key = format!(
            "{}|{}|{:?}|{}",
            draw.template, draw.function, draw.arguments, draw.occurrence
        );
        let mut state = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        for byte in bytes {
            // The step of splitmix64: well spread, so that rejection sampling always ends.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            *byte = (mixed >> 56) as u8;
        }
        Ok(())
    }

    fn now(&self) -> Result<i128, String> {
        Ok(1_700_000_000_000_000_000)
    }
}

/// Runs `work` on a thread with the stack of a main thread, and passes its panics on.
pub fn on_main_stack(work: fn()) {
    let thread = std::thread::Builder::new()
        .stack_size(8 << 20)
        .spawn(work)
        .expect("a thread starts");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// What the engine answered: bytes, or an error's text.
pub type Answer = Result<Vec<u8>, String>;

/// Calls the engine; a panic becomes an answer of its own, so that one fault does not hide the
/// others.
pub fn guarded(work: impl FnOnce() -> Answer) -> Answer {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
            .unwrap_or_default();
        Err(format!("PANIC: {text}"))
    })
}

/// Shows an answer in a report.
pub fn show(answer: &Answer) -> String {
    match answer {
        Ok(bytes) => format!("output {:?}", String::from_utf8_lossy(bytes)),
        Err(text) => format!("error  {text}"),
    }
}

/// Counts of one area and the differences found in it.
#[derive(Default)]
pub struct Tally {
    pub cases: usize,
    pub differences: Vec<String>,
}

/// Fails the test with the counts per area and the first differences, or says nothing.
pub fn report(areas: &[(String, Tally)], shown: usize) {
    let mut text = String::new();
    for (area, tally) in areas {
        let equal = tally.cases.saturating_sub(tally.differences.len());
        let _ = writeln!(text, "{area:<12} {equal:>5} of {:>5} equal", tally.cases);
    }
    let differences: Vec<&String> = areas
        .iter()
        .flat_map(|(_, tally)| &tally.differences)
        .collect();
    println!("{text}");
    if differences.is_empty() {
        return;
    }
    for difference in differences.iter().take(shown) {
        let _ = write!(text, "\n{difference}");
    }
    panic!("{} answers differ from Go's\n{text}", differences.len());
}

/// How many differences to print: `GOTPL_SHOW`, or a screenful.
pub fn shown() -> usize {
    std::env::var("GOTPL_SHOW")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20)
}

/// Decodes standard base64, which carries outputs that are not UTF-8.
pub fn base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.bytes().filter(|&letter| letter != b'=') {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        bits = (bits << 6 | u32::from(value)) & 0x00ff_ffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
