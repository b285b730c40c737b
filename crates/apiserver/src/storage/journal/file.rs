//! The journal in a directory: a base, which has everything as it once was, and logs, which have
//! what was written since. Only this file and `frame` know what lies there; nothing but the newest
//! log is ever written to.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread::JoinHandle,
};

use bytes::Bytes;

use super::frame::{self, Next};
use super::{Journal, JournalError, Load, Record, Snapshot};
use crate::storage::Key;

/// What every file begins with, followed by the revision of a base and how many objects it has.
const MAGIC: [u8; 16] = *b"cairn objects 1\n";
const HEAD: usize = 32;
/// A log grows by so much at once, filled with zeros: the disk then only has to write what is new,
/// and not where the file ends as well.
const STEP: usize = 256 << 10;
/// Logs shorter than this are never worth a new base.
const SHORT: u64 = 16 << 20;
/// The most logs before a base, so that a server that starts often does not leave a file behind
/// each time.
const MOST: usize = 16;
/// A base is written in pieces of about this size.
const PIECE: usize = 1 << 20;

/// A journal in a directory.
pub struct FileJournal {
    directory: PathBuf,
    /// Held as long as the journal, so that no other process writes here.
    _lock: File,
    /// The number of the log that is written now or next.
    number: u64,
    log: Option<Log>,
    /// How many logs there are since the base, and how long those are that are not written any
    /// more.
    logs: usize,
    closed: u64,
    /// How long the logs may become before a new base is worth it.
    limit: u64,
    rebasing: Option<JoinHandle<Option<u64>>>,
    buffer: Vec<u8>,
}

/// The log that is written.
struct Log {
    file: File,
    /// Where the next batch goes.
    end: usize,
    /// Up to here the file has been written, if only with zeros.
    room: usize,
}

impl FileJournal {
    /// Opens the journal of a directory, or begins one. A journal that another process has open is
    /// an error.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read or written, or is in use.
    pub fn open(directory: &Path) -> Result<Self, JournalError> {
        let failed = |error: &dyn std::fmt::Display| {
            JournalError::new("open", &format!("{}: {error}", directory.display()))
        };
        let lock =
            create(&directory.join("objects.lock"), false).map_err(|error| failed(&error))?;
        lock.try_lock().map_err(|error| match error {
            std::fs::TryLockError::WouldBlock => failed(&"another process has it open"),
            std::fs::TryLockError::Error(error) => failed(&error),
        })?;
        Ok(Self {
            directory: directory.to_owned(),
            _lock: lock,
            number: 1,
            log: None,
            logs: 0,
            closed: 0,
            limit: SHORT,
            rebasing: None,
            buffer: Vec::new(),
        })
    }

    fn begin_log(&mut self) -> io::Result<Log> {
        let file = create(&path(&self.directory, self.number, "log"), true)?;
        // Whoever finds what is written also has to find the file.
        sync_directory(&self.directory)?;
        self.logs += 1;
        self.buffer.extend_from_slice(&head(0, 0));
        Ok(Log {
            file,
            end: 0,
            room: 0,
        })
    }

    fn write(&mut self, batch: &[Record]) -> io::Result<()> {
        self.buffer.clear();
        let mut log = match self.log.take() {
            Some(log) => log,
            None => self.begin_log()?,
        };
        frame::write(batch.iter(), &mut self.buffer);
        log.append(&mut self.buffer)?;
        self.log = Some(log);
        Ok(())
    }
}

impl Log {
    /// Writes and waits for the disk.
    fn append(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let end = self.end + bytes.len();
        if end > self.room {
            self.room = (end / STEP + 1) * STEP;
            bytes.resize(self.room - self.end, 0);
        }
        let written = self
            .file
            .write_all_at(bytes, self.end as u64)
            .and_then(|()| self.file.sync_data());
        if written.is_err() {
            // Whoever waits is told that it is not kept, so it should not be there when the file is
            // read again.
            _ = self
                .file
                .set_len(self.end as u64)
                .and_then(|()| self.file.sync_data());
        }
        written?;
        self.end = end;
        Ok(())
    }
}

impl Journal for FileJournal {
    fn load(&mut self, each: &mut Load<'_>) -> Result<u64, JournalError> {
        let names = files(&self.directory).map_err(|error| JournalError::new("read", &error))?;
        let base = names
            .iter()
            .filter(|(_, kind)| kind == "base")
            .map(|(number, _)| *number)
            .max()
            .unwrap_or(0);
        let mut loaded = Loaded::default();
        if base > 0 {
            let size = loaded.base(&path(&self.directory, base, "base"))?;
            self.limit = SHORT.max(size.saturating_mul(2));
        }
        let mut logs: Vec<u64> = names
            .iter()
            .filter(|(_, kind)| kind == "log")
            .map(|(number, _)| *number)
            .collect();
        logs.sort_unstable();
        for number in logs.iter().copied().filter(|number| *number >= base) {
            self.closed += loaded.log(&path(&self.directory, number, "log"))?;
            self.logs += 1;
        }
        self.number = logs.last().copied().unwrap_or(0).max(base) + 1;
        for (key, (revision, bytes)) in loaded.objects {
            // What is kept in memory are the objects, not the files they lie in.
            each(key, revision, Bytes::copy_from_slice(&bytes))?;
        }
        // What a base has replaced, or was not finished, is of no use; should it stay, nothing
        // reads it.
        _ = remove_before(&self.directory, base);
        Ok(loaded.revision)
    }

    fn append(&mut self, batch: &[Record]) -> Result<(), JournalError> {
        self.write(batch)
            .map_err(|error| JournalError::io("write", &error))
    }

    fn is_long(&mut self) -> bool {
        if self
            .rebasing
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
        {
            return false;
        }
        if let Some(thread) = self.rebasing.take() {
            // Without a new base the old one and all logs are still there; it is tried again when
            // there is more.
            let size = thread.join().ok().flatten();
            self.limit = size.map_or(self.limit.saturating_mul(2), |size| {
                SHORT.max(size.saturating_mul(2))
            });
        }
        let open = self.log.as_ref().map_or(0, |log| log.end as u64);
        self.closed + open > self.limit || self.logs > MOST
    }

    fn shorten(&mut self, snapshot: Snapshot) {
        if let Some(log) = self.log.take() {
            self.closed += log.end as u64;
        }
        self.number += 1;
        let (directory, number) = (self.directory.clone(), self.number);
        let write = move || {
            let size = write_base(&directory, number, &snapshot).ok()?;
            _ = remove_before(&directory, number);
            Some(size)
        };
        self.rebasing = std::thread::Builder::new()
            .name("journal base".to_owned())
            .spawn(write)
            .ok();
        (self.closed, self.logs) = (0, 0);
    }
}

impl Drop for FileJournal {
    fn drop(&mut self) {
        // The lock is held until the last file is written.
        if let Some(thread) = self.rebasing.take() {
            _ = thread.join();
        }
    }
}

/// What has been read so far.
#[derive(Default)]
struct Loaded {
    revision: u64,
    objects: HashMap<Key, (u64, Bytes)>,
}

impl Loaded {
    /// Reads a base; returns how long it is.
    fn base(&mut self, path: &Path) -> Result<u64, JournalError> {
        let (file, revision, count) = open(path)?;
        let mut at = HEAD;
        loop {
            match frame::read(&file, at) {
                Next::Batch(records, next) => {
                    for record in records {
                        let bytes = file.slice_ref(record.bytes.unwrap_or_default());
                        self.objects.insert(record.key, (record.revision, bytes));
                    }
                    at = next;
                }
                Next::End => break,
                Next::Broken => return Err(damaged(path, at)),
            }
        }
        if self.objects.len() as u64 != count {
            return Err(damaged(path, at));
        }
        self.revision = revision;
        Ok(file.len() as u64)
    }

    /// Reads a log; returns how long it is. It may end with a batch that was not written to its
    /// end: nobody was told of that one. Anything else that is broken has something behind it, or
    /// leaves a gap in the revisions.
    fn log(&mut self, path: &Path) -> Result<u64, JournalError> {
        let (file, ..) = match open(path) {
            Ok(opened) => opened,
            // It was begun and nothing was written, not even what every file begins with.
            Err(_)
                if std::fs::read(path).is_ok_and(|bytes| bytes.iter().all(|byte| *byte == 0)) =>
            {
                return Ok(0);
            }
            Err(error) => return Err(error),
        };
        let mut at = HEAD;
        while let Next::Batch(records, next) = frame::read(&file, at) {
            for record in records {
                // A base may be ahead of the log that was begun with it.
                if record.revision <= self.revision {
                    continue;
                }
                // The first write of all makes the second revision: with nothing there it is the
                // first.
                if record.revision > self.revision.max(1) + 1 {
                    return Err(damaged(path, at));
                }
                self.revision = record.revision;
                match record.bytes {
                    Some(bytes) => drop(
                        self.objects
                            .insert(record.key, (record.revision, file.slice_ref(bytes))),
                    ),
                    None => drop(self.objects.remove(&record.key)),
                }
            }
            at = next;
        }
        if frame::goes_on(&file, at) {
            return Err(damaged(path, at));
        }
        Ok(at as u64)
    }
}

fn damaged(path: &Path, at: usize) -> JournalError {
    JournalError::new(
        "read",
        &format!("{} is damaged at byte {at}", path.display()),
    )
}

/// A file, and what its head says.
fn open(path: &Path) -> Result<(Bytes, u64, u64), JournalError> {
    let file = std::fs::read(path);
    let file =
        file.map_err(|error| JournalError::new("read", &format!("{}: {error}", path.display())))?;
    let number = |at: usize| {
        file.get(at..at + 8)
            .and_then(|bytes| bytes.try_into().ok())
            .map(u64::from_le_bytes)
    };
    match (file.starts_with(&MAGIC), number(16), number(24)) {
        (true, Some(revision), Some(count)) => Ok((file.into(), revision, count)),
        _ => Err(JournalError::new(
            "read",
            &format!("{} is no part of one", path.display()),
        )),
    }
}

fn head(revision: u64, count: u64) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..16].copy_from_slice(&MAGIC);
    head[16..24].copy_from_slice(&revision.to_le_bytes());
    head[24..].copy_from_slice(&count.to_le_bytes());
    head
}

/// Writes everything as it is; returns how long that is. Only a base that is on the disk gets its
/// name.
fn write_base(directory: &Path, number: u64, snapshot: &Snapshot) -> io::Result<u64> {
    let unfinished = path(directory, number, "new");
    let mut file = create(&unfinished, false)?;
    file.set_len(0)?;
    let mut piece = head(snapshot.revision, snapshot.objects.len() as u64).to_vec();
    let mut objects = &*snapshot.objects;
    let mut written = 0;
    while !objects.is_empty() || written == 0 {
        let mut size = 0;
        let fits = |record: &&Record| {
            size += record.bytes.as_ref().map_or(0, Bytes::len);
            size < PIECE
        };
        let (some, rest) = objects.split_at(
            objects
                .iter()
                .take_while(fits)
                .count()
                .max(1)
                .min(objects.len()),
        );
        frame::write(some.iter(), &mut piece);
        file.write_all(&piece)?;
        written += piece.len() as u64;
        piece.clear();
        objects = rest;
    }
    file.sync_all()?;
    std::fs::rename(&unfinished, path(directory, number, "base"))?;
    sync_directory(directory)?;
    Ok(written)
}

/// Removes all that comes before a base.
fn remove_before(directory: &Path, base: u64) -> io::Result<()> {
    for (number, kind) in files(directory)? {
        if number < base || kind == "new" && number != base {
            std::fs::remove_file(path(directory, number, &kind))?;
        }
    }
    Ok(())
}

/// The files of a journal: their numbers and kinds.
fn files(directory: &Path) -> io::Result<Vec<(u64, String)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name();
        let parts = name
            .to_str()
            .and_then(|name| name.strip_prefix("objects-")?.split_once('.'));
        if let Some((number, kind)) =
            parts.and_then(|(number, kind)| Some((number.parse().ok()?, kind.to_owned())))
        {
            found.push((number, kind));
        }
    }
    Ok(found)
}

fn path(directory: &Path, number: u64, kind: &str) -> PathBuf {
    directory.join(format!("objects-{number:06}.{kind}"))
}

/// A file that only its owner can read: there are secrets among the objects.
fn create(path: &Path, new: bool) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .create_new(new)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests;
