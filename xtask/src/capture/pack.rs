//! The pack: one line of JSON that lists the members, then each member deflated on its own, so that
//! one can be read without the others. What the members mean is not known here.

use std::io::{Read, Write};

use anyhow::{Context, Result};
use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use serde_json::json;

use super::documents::Members;

/// The bytes of a pack. The same members make the same bytes.
pub fn write(members: &Members) -> Result<Vec<u8>> {
    let mut index = Vec::new();
    let mut body = Vec::new();
    for (name, text) in members {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text)?;
        let deflated = encoder.finish()?;
        index.push(json!([name, deflated.len(), text.len()]));
        body.extend(deflated);
    }
    let mut pack = serde_json::to_vec(&index)?;
    pack.push(b'\n');
    pack.extend(body);
    Ok(pack)
}

/// The members of a pack.
pub fn read(pack: &[u8]) -> Result<Members> {
    let end = pack
        .iter()
        .position(|&byte| byte == b'\n')
        .context("the pack has no index")?;
    let (index, mut rest) = (&pack[..end], &pack[end + 1..]);
    let index: Vec<(String, usize, usize)> =
        serde_json::from_slice(index).context("the index is not as expected")?;
    let mut members = Members::new();
    for (name, deflated, length) in index {
        let member = rest
            .get(..deflated)
            .with_context(|| format!("the pack ends before {name}"))?;
        rest = &rest[deflated..];
        let mut text = Vec::with_capacity(length);
        DeflateDecoder::new(member)
            .read_to_end(&mut text)
            .with_context(|| format!("{name} is damaged"))?;
        members.insert(name, text);
    }
    Ok(members)
}

/// The names of members that are in one of two packs only, or not the same in both.
pub fn differences(old: &Members, new: &Members) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    names
        .into_iter()
        .filter(|name| old.get(*name) != new.get(*name))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_a_difference_is_named() {
        let members = Members::from([
            ("a/b".to_owned(), b"{}".to_vec()),
            ("c".to_owned(), vec![b'x'; 70_000]),
        ]);
        let pack = write(&members).unwrap();
        assert!(
            pack.len() < 1000
                && read(&pack).unwrap() == members
                && write(&members).unwrap() == pack
        );
        let other = Members::from([
            ("a/b".to_owned(), b"{ }".to_vec()),
            ("d".to_owned(), Vec::new()),
        ]);
        assert_eq!(differences(&members, &other), ["a/b", "c", "d"]);
        assert!(differences(&members, &members).is_empty());
    }

    #[test]
    fn a_damaged_pack_is_an_error() {
        let members = Members::from([("a".to_owned(), vec![b'x'; 1000])]);
        let pack = write(&members).unwrap();
        for broken in [
            &b""[..],
            b"no index",
            b"[]",
            b"{}\n",
            &pack[..pack.len() - 3],
        ] {
            assert!(
                read(broken).is_err(),
                "{:?}",
                String::from_utf8_lossy(broken)
            );
        }
    }
}
