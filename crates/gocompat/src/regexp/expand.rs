//! Replacement templates: `$name`, `${name}`, `$1` and `$$`.

use super::super::unicode::{is_digit, is_letter, runes};
use super::Groups;

/// Appends `template` with groups of a match in `text` put in; a malformed reference stays as it
/// is.
pub(crate) fn expand(
    out: &mut Vec<u8>,
    template: &[u8],
    text: &[u8],
    groups: &Groups,
    names: &[String],
) {
    let mut rest = template;
    while let Some(at) = rest.iter().position(|&byte| byte == b'$') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(b"$") {
            out.push(b'$');
            rest = after;
            continue;
        }
        let Some((name, after)) = reference(rest) else {
            out.push(b'$');
            continue;
        };
        rest = after;
        let found = match number(name) {
            Some(number) => groups.get(number).cloned().flatten(),
            None => names
                .iter()
                .zip(groups)
                .find(|(known, group)| known.as_bytes() == name && group.is_some())
                .and_then(|(_, group)| group.clone()),
        };
        if let Some(range) = found {
            out.extend_from_slice(text.get(range).unwrap_or_default());
        }
    }
    out.extend_from_slice(rest);
}

/// The name after a `$` and what follows it.
fn reference(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (brace, body) = match text.strip_prefix(b"{") {
        Some(body) => (true, body),
        None => (false, text),
    };
    let belongs = |rune| is_letter(rune) || is_digit(rune) || rune == '_';
    let length = runes(body)
        .find(|item| !belongs(item.rune))
        .map_or(body.len(), |item| item.at);
    if length == 0 {
        return None;
    }
    let (name, rest) = body.split_at(length);
    if brace {
        Some((name, rest.strip_prefix(b"}")?))
    } else {
        Some((name, rest))
    }
}

/// The group number a name spells, unless it has a leading zero or is beyond any group.
fn number(name: &[u8]) -> Option<usize> {
    if name.len() > 9 || name.len() > 1 && name[0] == b'0' || !name.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(
        name.iter()
            .fold(0, |sum, byte| sum * 10 + usize::from(byte - b'0')),
    )
}
