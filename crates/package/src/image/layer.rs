//! The files of a package out of the layers of an image, which may be hostile: nothing leaves
//! `.registry`, no link is followed, and everything has a limit. Nothing is ever written to a disk.

use std::fmt;
use std::io::{self, Read, Write};

use flate2::{Compression, GzBuilder, read::MultiGzDecoder};

use super::{MediaType, tar, zstd};
use crate::{Files, layout};

/// How much of an image is read. The defaults are in `docs/limits.md`.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Files of the package.
    pub files: usize,
    /// Bytes of one file of the package.
    pub file: u64,
    /// Bytes of all files of the package.
    pub total: u64,
    /// Bytes of all layers when uncompressed, whatever they hold.
    pub unpacked: u64,
    /// Entries of all layers, whatever they are.
    pub entries: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 10_000,
            file: 4 << 20,
            total: 32 << 20,
            unpacked: 512 << 20,
            entries: 1_000_000,
        }
    }
}

/// Why an image is not taken.
#[derive(Debug)]
pub struct Refused {
    /// What is wrong, with the path.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl std::error::Error for Refused {}

fn refused(what: impl Into<String>, hint: &str) -> io::Error {
    let hint = (!hint.is_empty()).then(|| hint.to_owned());
    io::Error::other(Refused {
        what: what.into(),
        hint,
    })
}

/// Layers put on top of each other, as far as the package in them goes.
#[derive(Debug)]
pub struct Layers {
    limits: Limits,
    unpacked: u64,
    entries: usize,
    files: Files,
}

/// What one layer adds and takes away.
#[derive(Default)]
struct Changes {
    files: Files,
    /// Files, or directories with all that is in them, of lower layers.
    gone: Vec<String>,
    /// Directories whose content in lower layers is gone.
    emptied: Vec<String>,
}

impl Layers {
    /// No layer yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            unpacked: 0,
            entries: 0,
            files: Files::new(),
        }
    }

    /// Puts a layer on top. After an error nothing of it has been taken.
    pub fn add(&mut self, media_type: &MediaType, bytes: impl Read) -> Result<(), Refused> {
        self.add_while(media_type, bytes, &|| true)
    }

    /// The same, as long as the caller wants to go on: a few bytes may unpack to many.
    pub fn add_while(
        &mut self,
        media_type: &MediaType,
        bytes: impl Read,
        going: &dyn Fn() -> bool,
    ) -> Result<(), Refused> {
        let text = media_type.as_str();
        if text.ends_with("gzip") {
            self.read(MultiGzDecoder::new(bytes), going)
        } else if text.ends_with("zstd") {
            self.read(zstd::Reader::new(bytes), going)
        } else if text.ends_with("tar") || text.ends_with(".diff") {
            self.read(bytes, going)
        } else {
            Err(Refused {
                what: format!("a layer has the media type `{text}`, which is not read here"),
                hint: Some("push the image with layers compressed by gzip or zstd".to_owned()),
            })
        }
    }

    /// The files of the package, with paths from the root of the image.
    pub fn into_files(self) -> Files {
        self.files
    }

    fn read(&mut self, layer: impl Read, going: &dyn Fn() -> bool) -> Result<(), Refused> {
        let mut changes = Changes::default();
        let left = self.limits.unpacked - self.unpacked;
        let mut counted = Counted {
            inner: layer,
            left,
            limit: self.limits.unpacked,
            going,
        };
        let mut entries = self.entries;
        let limits = self.limits;
        let outcome = tar::read(&mut counted, |name, kind, size, content| {
            entries += 1;
            if entries > limits.entries {
                return Err(refused(
                    format!("the image has more than {} files", limits.entries),
                    "",
                ));
            }
            changes.entry(name, kind, size, content, &limits)
        });
        self.unpacked = limits.unpacked - counted.left;
        self.entries = entries;
        outcome.map_err(|error| match error.downcast::<Refused>() {
            Ok(refused) => refused,
            Err(error) => Refused {
                what: format!("a layer of the image cannot be read: {error}"),
                hint: Some("it is damaged, or was cut off on the way: push it again".to_owned()),
            },
        })?;
        self.apply(changes)
    }

    fn apply(&mut self, changes: Changes) -> Result<(), Refused> {
        let below = |path: &str, directory: &str| {
            path.strip_prefix(directory)
                .is_some_and(|rest| directory.is_empty() || rest.starts_with('/'))
        };
        let mut files = self.files.clone();
        files.retain(|path, _| {
            let gone = changes
                .gone
                .iter()
                .any(|gone| path == gone || below(path, gone));
            let emptied = changes
                .emptied
                .iter()
                .any(|directory| below(path, directory));
            // A file where there was a directory takes its place.
            let replaced = path
                .match_indices('/')
                .any(|(at, _)| changes.files.contains_key(&path[..at]));
            !(gone || emptied || replaced)
        });
        files.extend(changes.files);
        if files.len() > self.limits.files {
            return Err(Refused {
                what: format!(
                    "the package has {} files, more than the {} that are read",
                    files.len(),
                    self.limits.files
                ),
                hint: None,
            });
        }
        let total: u64 = files.values().map(|bytes| bytes.len() as u64).sum();
        if total > self.limits.total {
            return Err(Refused {
                what: format!(
                    "the package has {total} bytes, more than the {} that are read",
                    self.limits.total
                ),
                hint: None,
            });
        }
        self.files = files;
        Ok(())
    }
}

impl Changes {
    fn entry(
        &mut self,
        name: &[u8],
        kind: tar::Kind,
        size: u64,
        content: &mut dyn Read,
        limits: &Limits,
    ) -> io::Result<()> {
        let Some(path) = inside(name)? else {
            return Ok(());
        };
        let (directory, file) = path.rsplit_once('/').unwrap_or(("", &path));
        if file == ".wh..wh..opq" {
            self.emptied.push(directory.to_owned());
            return Ok(());
        }
        if let Some(gone) = file.strip_prefix(".wh.") {
            let gone = if directory.is_empty() {
                gone.to_owned()
            } else {
                format!("{directory}/{gone}")
            };
            self.gone.push(gone);
            return Ok(());
        }
        match kind {
            tar::Kind::Directory => Ok(()),
            tar::Kind::Link => Err(refused(
                format!("`{path}` is a link"),
                "a package holds only files and directories: put a copy there",
            )),
            tar::Kind::Other => Err(refused(
                format!("`{path}` is neither a file nor a directory"),
                "a package holds only files and directories",
            )),
            // The directory itself is no file of a package, whatever it is.
            tar::Kind::File if directory.is_empty() => {
                Err(refused(format!("`{path}` is not a directory"), ""))
            }
            tar::Kind::File => {
                if size > limits.file {
                    let what = format!(
                        "`{path}` has {size} bytes, more than the {} that are read",
                        limits.file
                    );
                    return Err(refused(what, ""));
                }
                if self.files.len() >= limits.files {
                    return Err(refused(
                        format!("the package has more than {} files", limits.files),
                        "",
                    ));
                }
                let mut bytes = Vec::new();
                content.take(size).read_to_end(&mut bytes)?;
                if bytes.len() as u64 != size {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                if self.files.insert(path.clone(), bytes).is_some() {
                    return Err(refused(format!("`{path}` is there twice in one layer"), ""));
                }
                Ok(())
            }
        }
    }
}

/// The path of an entry that is about the package, from the root of the image; none for all others.
fn inside(name: &[u8]) -> io::Result<Option<String>> {
    let directory = layout::DIRECTORY.trim_end_matches('/');
    let mut parts = Vec::new();
    for part in name.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                let name = String::from_utf8_lossy(name);
                return Err(refused(
                    format!("`{}` leads out of the image", name.escape_debug()),
                    "",
                ));
            }
            _ => parts.push(part),
        }
    }
    let whiteout = |part: &[u8]| {
        part.strip_prefix(b".wh.")
            .is_some_and(|gone| gone == directory.as_bytes())
    };
    let ours = match parts.first() {
        Some(first) if *first == directory.as_bytes() => true,
        // At the root, only what removes the whole directory is about the package.
        Some(first) => parts.len() == 1 && (whiteout(first) || *first == b".wh..wh..opq"),
        None => false,
    };
    if !ours {
        return Ok(None);
    }
    match String::from_utf8(parts.join(&b'/')) {
        Ok(path) if path.chars().any(char::is_control) => Err(refused(
            format!(
                "`{}` has a control character in its name",
                path.escape_debug()
            ),
            "",
        )),
        Ok(path) => Ok(Some(path)),
        Err(error) => {
            let name = String::from_utf8_lossy(error.as_bytes()).into_owned();
            Err(refused(
                format!("the name `{}` is not UTF-8", name.escape_debug()),
                "",
            ))
        }
    }
}

/// Ends with an error once more was read than allowed, or the caller no longer waits for it.
struct Counted<'g, R> {
    inner: R,
    left: u64,
    limit: u64,
    going: &'g dyn Fn() -> bool,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !(self.going)() {
            return Err(refused("unpacking the image was stopped", ""));
        }
        let count = self.inner.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => {
                let what = format!(
                    "the layers of the image have more than {} bytes when unpacked",
                    self.limit
                );
                return Err(refused(what, ""));
            }
        }
        Ok(count)
    }
}

/// Compressed, without a name or a time.
pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new()
        .mtime(0)
        .operating_system(255)
        .write(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}
