//! PEM blocks: armour around base 64.

use super::super::base::{decode64, encode64};

/// Wraps `data` in lines of 64 characters between `BEGIN` and `END`.
pub(crate) fn encode(kind: &str, data: &[u8]) -> String {
    let mut out = format!("-----BEGIN {kind}-----\n");
    let text = encode64(data);
    for line in text.as_bytes().chunks(64) {
        out.push_str(&String::from_utf8_lossy(line));
        out.push('\n');
    }
    out.push_str(&format!("-----END {kind}-----\n"));
    out
}

/// The kind and the data of the first block; what is around it does not matter.
pub(crate) fn decode(text: &[u8]) -> Option<(String, Vec<u8>)> {
    let text = String::from_utf8_lossy(text);
    let mut rest = text.as_ref();
    loop {
        let begin = find_line(rest, "-----BEGIN ")?;
        let after = &rest[begin + "-----BEGIN ".len()..];
        rest = after;
        let (kind, body) = after.split_once('\n')?;
        let Some(kind) = kind.trim_end().strip_suffix("-----") else {
            continue;
        };
        let Some(end) = body.find(&format!("-----END {kind}-----")) else {
            continue;
        };
        // Headers, if any, end at a blank line.
        let lines = body[..end].lines().filter(|line| !line.contains(": "));
        let solid: String = lines
            .flat_map(str::chars)
            .filter(|letter| !letter.is_ascii_whitespace())
            .collect();
        if let Ok(data) = decode64(solid.as_bytes()) {
            return Some((kind.to_owned(), data));
        }
    }
}

/// Offset of `mark` at the start of a line.
fn find_line(text: &str, mark: &str) -> Option<usize> {
    if text.starts_with(mark) {
        return Some(0);
    }
    text.find(&format!("\n{mark}")).map(|at| at + 1)
}
