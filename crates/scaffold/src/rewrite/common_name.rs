//! The name that the objects of an application share, and where it stands in texts. It becomes the
//! instance's.

use crate::manifests::split::Piece;
use crate::names::Names;

/// The name that was given, if an object is called by it; else the one that most objects are called
/// by or begin with. Of several the one that was given, then the one that labels say is the
/// instance's, then that of the first object, then the longest.
pub(crate) fn base(names: &Names, pieces: &[Piece]) -> String {
    if pieces.iter().any(|piece| piece.name() == names.name) {
        return names.name.clone();
    }
    let mut candidates: Vec<(usize, &str)> = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let name = piece.name();
        let ends = name
            .match_indices('-')
            .map(|(at, _)| at)
            .chain([name.len()]);
        candidates.extend(ends.filter(|end| *end > 0).map(|end| (index, &name[..end])));
    }
    let score = |(index, candidate): &(usize, &str)| {
        let shared = pieces
            .iter()
            .filter(|piece| holds(piece.name(), candidate))
            .count();
        let label = |piece: &Piece| {
            piece.value["metadata"]["labels"]["app.kubernetes.io/instance"] == *candidate
        };
        let is_instance = pieces.iter().any(label);
        (
            shared,
            *candidate == names.name,
            is_instance,
            std::cmp::Reverse(*index),
            candidate.len(),
        )
    };
    let best = candidates
        .into_iter()
        .filter(|(_, name)| objects::is_subdomain(name))
        .max_by_key(score);
    best.map_or_else(|| names.name.clone(), |(_, name)| name.to_string())
}

/// Where a name stands in a text as a word of its own.
pub(crate) fn places(text: &str, name: &str) -> Vec<usize> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let bytes = text.as_bytes();
    let alone = |at: &usize| {
        let before = at
            .checked_sub(1)
            .and_then(|at| bytes.get(at))
            .is_none_or(|byte| !is_word(byte));
        before && bytes.get(at + name.len()).is_none_or(|byte| !is_word(byte))
    };
    if name.is_empty() {
        return Vec::new();
    }
    text.match_indices(name)
        .map(|(at, _)| at)
        .filter(alone)
        .collect()
}

/// Whether a name stands in a text as a word of its own.
pub(crate) fn holds(text: &str, name: &str) -> bool {
    !places(text, name).is_empty()
}

/// Where a host of the outside stands in a text, as in `https://shop.example.org/cart`. A part of a
/// longer name, and the domain of a mail address, may mean something else.
pub(crate) fn addresses(text: &str, host: &str) -> Vec<usize> {
    let address = |at: &usize| {
        let (before, after) = (&text[..*at], &text[at + host.len()..]);
        let more = after
            .strip_prefix('.')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
        !before.ends_with(['-', '.', '@']) && !after.starts_with('-') && !more
    };
    places(text, host).into_iter().filter(address).collect()
}

/// What an object's name has besides the shared one: `worker` of `web-worker`, nothing of `web`.
pub(crate) fn rest(name: &str, base: &str) -> String {
    let Some(at) = places(name, base).first().copied() else {
        return name.to_string();
    };
    let parts = [&name[..at], &name[at + base.len()..]];
    let parts: Vec<&str> = parts
        .iter()
        .map(|part| part.trim_matches(['-', '.']))
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::{addresses, places, rest};

    #[test]
    fn a_name_is_found_only_as_a_word() {
        for (text, name, found) in [
            ("web", "web", &[0][..]),
            ("my-web-app", "web", &[3]),
            ("website", "web", &[]),
            ("web_x web", "web", &[6]),
            ("x", "", &[]),
        ] {
            assert_eq!(places(text, name), found, "{text}");
        }
        for (name, expected) in [
            ("web", ""),
            ("web-db", "db"),
            ("my-web-db", "my-db"),
            ("other", "other"),
        ] {
            assert_eq!(rest(name, "web"), expected);
        }
    }

    #[test]
    fn a_host_is_found_only_as_a_whole() {
        for (text, found) in [
            ("a.example.org", &[0][..]),
            ("https://a.example.org/x?from=a.example.org", &[8, 29]),
            ("a.example.org:443", &[0]),
            ("It is at a.example.org.", &[9]),
            ("a.example.org.evil.net", &[]),
            ("a.example.org-x", &[]),
            ("www.a.example.org", &[]),
            ("x-a.example.org", &[]),
            ("mail@a.example.org", &[]),
        ] {
            assert_eq!(addresses(text, "a.example.org"), found, "{text}");
        }
    }
}
