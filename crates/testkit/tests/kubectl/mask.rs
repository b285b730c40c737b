//! What kubectl prints, without what differs from run to run.
#![allow(clippy::unwrap_used, reason = "the patterns are constant")]

use std::sync::LazyLock;

use regex::Regex;

static PATTERNS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    [
        (
            "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "<uid>",
        ),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
        (
            r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}",
            "<time>",
        ),
        (r#"(resourceVersion"?: )"\d+""#, r#"$1"<rv>""#),
        (r"Resource Version:\s+\d+", "Resource Version: <rv>"),
        (r"127\.0\.0\.1:\d+", "<server>"),
        (r"10\.96\.\d+\.\d+", "<ip>"),
        (r"/tmp/[A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]+)*", "<file>"),
        (r"\b\d+(ms|s|m|h|d)(\d+(s|m|h))?\b", "<age>"),
        // Columns are as wide as the widest of what is masked.
        (r"(\S)[ \t]{2,}", "$1  "),
        (r"[ \t]+\n", "\n"),
    ]
    .into_iter()
    .map(|(pattern, shown)| (Regex::new(pattern).unwrap(), shown))
    .collect()
});

/// The text with everything masked.
pub fn masked(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, shown) in PATTERNS.iter() {
        text = pattern.replace_all(&text, *shown).into_owned();
    }
    // Causes come in the order of Go's maps, which is none.
    let mut lines: Vec<&str> = text.lines().collect();
    for causes in lines.chunk_by_mut(|one, next| is_cause(one) && is_cause(next)) {
        causes.sort_unstable();
    }
    lines.join("\n")
}

fn is_cause(line: &str) -> bool {
    line.starts_with("stderr: * ")
}

/// The lines that one has and the other has not, for those who read a failure.
pub fn difference(expected: &str, found: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let only = |these: &[&str], others: &[&str], sign: &str| -> String {
        these
            .iter()
            .filter(|line| !others.contains(line))
            .map(|line| format!("{sign} {line}\n"))
            .collect()
    };
    let told = only(&old, &new, "  kubernetes:") + &only(&new, &old, "  embedded:  ");
    if told.is_empty() {
        format!("  the order differs:\n{expected}  and\n{found}")
    } else {
        told
    }
}
