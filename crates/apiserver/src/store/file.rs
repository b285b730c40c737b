//! The journal in one file, by redb. Nothing else in the workspace knows redb.

use std::{path::Path, sync::Arc};

use bytes::Bytes;
use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};

use super::{
    Key,
    journal::{Journal, JournalError, Load, Record},
};

/// The revision of every object that is there to its resource, its `namespace/name` and its JSON, the first two each
/// after its length in four bytes. New records come in order, so that whatever is written in one go lies together and
/// few pages of the file change.
const OBJECTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("objects");
/// The newest revision, under the key `revision`.
const FACTS: TableDefinition<'_, &str, u64> = TableDefinition::new("facts");

/// Everything is in memory anyway: the file is read once.
const CACHE: usize = 4 << 20;

/// A journal in a file.
pub struct FileJournal(Database);

impl FileJournal {
    /// Opens the file, or makes it. A file that another process has open is an error.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened or is no journal.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let database = Database::builder().set_cache_size(CACHE).create(path);
        Ok(Self(database.map_err(|error| JournalError::new("open", &error))?))
    }
}

impl Journal for FileJournal {
    fn load(&mut self, each: &mut Load<'_>) -> Result<u64, JournalError> {
        let failed = |error: redb::Error| JournalError::new("read", &error);
        let read = self.0.begin_read().map_err(|error| failed(error.into()))?;
        let objects = match read.open_table(OBJECTS) {
            Ok(objects) => objects,
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(0),
            Err(error) => return Err(failed(error.into())),
        };
        for item in objects.iter().map_err(|error| failed(error.into()))? {
            let (key, value) = item.map_err(|error| failed(error.into()))?;
            let revision = key.value();
            let damaged = || JournalError::new("read", &format!("the record {revision} is damaged"));
            let (resource, rest) = name(value.value()).ok_or_else(damaged)?;
            let (path, object) = name(rest).ok_or_else(damaged)?;
            each(Key { resource, path }, revision, Bytes::copy_from_slice(object))?;
        }
        let facts = read.open_table(FACTS).map_err(|error| failed(error.into()))?;
        let revision = facts.get("revision").map_err(|error| failed(error.into()))?;
        Ok(revision.map_or(0, |revision| revision.value()))
    }

    fn append(&mut self, batch: &[Record]) -> Result<(), JournalError> {
        self.write(batch).map_err(|error| JournalError::new("write", &error))
    }
}

impl FileJournal {
    fn write(&self, batch: &[Record]) -> Result<(), redb::Error> {
        let Some(newest) = batch.last() else { return Ok(()) };
        let mut write = self.0.begin_write()?;
        write.set_durability(Durability::Immediate)?;
        {
            let mut objects = write.open_table(OBJECTS)?;
            let mut row = Vec::new();
            for record in batch {
                if let Some(old) = record.replaces {
                    objects.remove(old)?;
                }
                if let Some(bytes) = &record.bytes {
                    row.clear();
                    for part in [&*record.key.resource, record.key.path()] {
                        let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
                        row.extend_from_slice(&length.to_le_bytes());
                        row.extend_from_slice(part.as_bytes());
                    }
                    row.extend_from_slice(bytes);
                    objects.insert(record.revision, row.as_slice())?;
                }
            }
            write.open_table(FACTS)?.insert("revision", newest.revision)?;
        }
        write.commit()?;
        Ok(())
    }
}

/// A name at the begin of a record, and what follows it.
fn name(record: &[u8]) -> Option<(Arc<str>, &[u8])> {
    let (length, rest) = record.split_first_chunk::<4>()?;
    let (name, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    Some((Arc::from(std::str::from_utf8(name).ok()?), rest))
}
