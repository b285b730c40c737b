//! Tar archives: written so that the same files give the same bytes, and read entry by entry within
//! limits, without trusting a name or a length.

use std::collections::BTreeSet;
use std::io::{self, Read};

use tar::{EntryType, Header};

/// The most bytes of a name, or of the extended header that holds it.
const NAME: u64 = 64 << 10;

/// An archive of files at paths, with the directories above them, owned by root and without times.
pub(super) fn write<'f>(files: impl Iterator<Item = (String, &'f [u8])>) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut directories = BTreeSet::new();
    for (path, bytes) in files {
        for (index, _) in path.match_indices('/') {
            let directory = &path[..=index];
            if directories.insert(directory.to_owned()) {
                let mut header = header(EntryType::Directory, 0o755, 0);
                // Only a name that is empty or longer than any path could fail; writing to memory
                // cannot.
                let _ = builder.append_data(&mut header, directory, io::empty());
            }
        }
        let mut header = header(EntryType::Regular, 0o644, bytes.len() as u64);
        let _ = builder.append_data(&mut header, &path, bytes);
    }
    builder.into_inner().unwrap_or_default()
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

/// What an entry of an archive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Link,
    /// Devices and the like.
    Other,
}

/// Calls `each` with the name, kind, length and content of every entry.
pub(super) fn read(
    archive: impl Read,
    mut each: impl FnMut(&[u8], Kind, u64, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    let mut archive = tar::Archive::new(archive);
    let mut long_name: Option<Vec<u8>> = None;
    // Raw, since otherwise names of any length are read into memory before anybody can look at
    // them.
    for entry in archive.entries()?.raw(true) {
        let mut entry = entry?;
        let size = entry.size();
        match entry.header().entry_type() {
            EntryType::GNULongName => {
                let mut name = bounded(&mut entry, size)?;
                while name.last() == Some(&0) {
                    name.pop();
                }
                long_name = Some(name);
            }
            EntryType::XHeader => {
                let records = bounded(&mut entry, size)?;
                for record in tar::PaxExtensions::new(&records) {
                    let record = record?;
                    match record.key_bytes() {
                        b"path" => long_name = Some(record.value_bytes().to_vec()),
                        // Only files beyond 8 GiB need it, and those are too large in any case.
                        b"size" => {
                            return Err(io::Error::other("it has a file with an extended length"));
                        }
                        _ => {}
                    }
                }
            }
            EntryType::XGlobalHeader | EntryType::GNULongLink => {
                bounded(&mut entry, size)?;
            }
            kind => {
                let kind = match kind {
                    EntryType::Regular | EntryType::Continuous => Kind::File,
                    EntryType::Directory => Kind::Directory,
                    EntryType::Link | EntryType::Symlink => Kind::Link,
                    _ => Kind::Other,
                };
                let name = match long_name.take() {
                    Some(name) => name,
                    None => entry.header().path_bytes().into_owned(),
                };
                each(&name, kind, size, &mut entry)?;
            }
        }
    }
    Ok(())
}

fn bounded(entry: &mut impl Read, size: u64) -> io::Result<Vec<u8>> {
    if size > NAME {
        return Err(io::Error::other(format!("it has a name of {size} bytes")));
    }
    let mut bytes = Vec::new();
    entry.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}
