//! How records lie in the journal's files: frames of a length, a checksum and the records of one
//! batch, so that a batch that was not written to its end is not there at all. It reads and writes
//! memory, never files.

use std::sync::Arc;

use super::Record;
use crate::storage::Key;

/// The length and the checksum before the records.
const HEAD: usize = 8;
/// What a record begins with: an object that is there, or one that is gone.
const PUT: u8 = 1;
const GONE: u8 = 2;

/// What a record in a file says; the object is where it lies in the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kept<'a> {
    /// The revision that it made.
    pub(crate) revision: u64,
    /// Which object.
    pub(crate) key: Key,
    /// The object as JSON; none if it is gone.
    pub(crate) bytes: Option<&'a [u8]>,
}

/// What comes next in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<'a> {
    /// A whole batch, and where the next one begins.
    Batch(Vec<Kept<'a>>, usize),
    /// Nothing: room that was never written, or the end of the file.
    End,
    /// Something that was not written to its end, or is damaged.
    Broken,
}

/// Puts a batch behind what is there already.
pub(crate) fn write<'a>(records: impl Iterator<Item = &'a Record>, out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend_from_slice(&[0; HEAD]);
    for record in records {
        out.push(if record.bytes.is_some() { PUT } else { GONE });
        out.extend_from_slice(&record.revision.to_le_bytes());
        text(record.key.resource.as_bytes(), out);
        text(record.key.path().as_bytes(), out);
        text(record.bytes.as_deref().unwrap_or_default(), out);
    }
    let length = u32::try_from(out.len() - begin - HEAD)
        .unwrap_or(u32::MAX)
        .to_le_bytes();
    let sum = crc32fast::hash(&out[begin + HEAD..]).to_le_bytes();
    out[begin..begin + 4].copy_from_slice(&length);
    out[begin + 4..begin + HEAD].copy_from_slice(&sum);
}

fn text(part: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(part);
}

/// Reads the batch that begins at a place of a file.
pub(crate) fn read(file: &[u8], at: usize) -> Next<'_> {
    let Some(rest) = file.get(at..).filter(|rest| !rest.is_empty()) else {
        return Next::End;
    };
    let Some((head, rest)) = rest.split_first_chunk::<HEAD>() else {
        return if rest.iter().all(|byte| *byte == 0) {
            Next::End
        } else {
            Next::Broken
        };
    };
    if *head == [0; HEAD] {
        return Next::End;
    }
    let mut reader = Reader(head);
    let (Some(length), Some(sum)) = (reader.number(), reader.number()) else {
        return Next::Broken;
    };
    let Some(mut batch) = rest
        .get(..length as usize)
        .filter(|batch| crc32fast::hash(batch) == sum)
        .map(Reader)
    else {
        return Next::Broken;
    };
    let mut records = Vec::new();
    while !batch.0.is_empty() {
        let Some(record) = batch.record() else {
            return Next::Broken;
        };
        records.push(record);
    }
    Next::Batch(records, at + HEAD + length as usize)
}

/// Whether a batch follows one that is broken, if that one is as long as it says. What was cut off
/// has nothing behind it, since a batch is written when the one before is on the disk.
pub(crate) fn goes_on(file: &[u8], at: usize) -> bool {
    let length = file
        .get(at..)
        .and_then(|rest| Reader(rest).number())
        .unwrap_or(0) as usize;
    matches!(
        read(file, at.saturating_add(HEAD).saturating_add(length)),
        Next::Batch(..)
    )
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn part(&mut self) -> Option<&'a [u8]> {
        let length = self.number()? as usize;
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }

    fn text(&mut self) -> Option<Arc<str>> {
        std::str::from_utf8(self.part()?).ok().map(Arc::from)
    }

    fn record(&mut self) -> Option<Kept<'a>> {
        let [kind] = self.take()?;
        let revision = u64::from_le_bytes(self.take()?);
        let key = Key {
            resource: self.text()?,
            path: self.text()?,
        };
        let object = self.part()?;
        match kind {
            PUT => Some(Kept {
                revision,
                key,
                bytes: Some(object),
            }),
            GONE => Some(Kept {
                revision,
                key,
                bytes: None,
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn record(revision: u64, bytes: Option<&'static str>) -> Record {
        let key = Key::new(&Arc::from("things"), "ns", &format!("n{revision}"));
        Record {
            revision,
            key,
            bytes: bytes.map(Bytes::from),
        }
    }

    #[test]
    fn what_is_written_is_read_and_any_broken_byte_is_noticed() {
        let batches = [
            vec![record(1, Some("{}")), record(2, None)],
            vec![record(3, Some("{\"a\":1}"))],
        ];
        let mut file = Vec::new();
        for batch in &batches {
            write(batch.iter(), &mut file);
        }
        let mut at = 0;
        for batch in &batches {
            let Next::Batch(read, next) = read(&file, at) else {
                panic!("a batch at {at}")
            };
            let read: Vec<_> = read
                .iter()
                .map(|kept| (kept.revision, &kept.key, kept.bytes))
                .collect();
            let wanted: Vec<_> = batch
                .iter()
                .map(|one| (one.revision, &one.key, one.bytes.as_deref()))
                .collect();
            assert_eq!(read, wanted);
            at = next;
        }
        assert_eq!(read(&file, at), Next::End);
        let whole = file.len();
        file.resize(whole + 100, 0);
        assert_eq!(read(&file, whole), Next::End, "room that was never written");
        let Next::Batch(_, second) = read(&file, 0) else {
            panic!("a batch")
        };
        for place in 0..second {
            let mut damaged = file.clone();
            damaged[place] ^= 0x10;
            assert_eq!(read(&damaged, 0), Next::Broken, "byte {place}");
            assert_eq!(goes_on(&damaged, 0), place >= 4, "byte {place}");
            assert_eq!(
                read(&file[..place], 0),
                if place == 0 { Next::End } else { Next::Broken },
                "cut at {place}"
            );
        }
    }
}
