//! The journal in one file, by redb. Nothing else in the workspace knows redb.

use std::{path::Path, sync::Arc};

use bytes::Bytes;
use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};

use super::{
    Key,
    journal::{Journal, JournalError, Load, Record},
};

/// `resource NUL namespace/name` to the revision, eight bytes with the lowest first, and the object's JSON.
const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
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
            let damaged = || JournalError::new("read", &format!("damaged record {:?}", key.value()));
            let (resource, path) = key.value().split_once('\0').ok_or_else(damaged)?;
            let (revision, object) = value.value().split_first_chunk::<8>().ok_or_else(damaged)?;
            let key = Key { resource: Arc::from(resource), path: Arc::from(path) };
            each(key, u64::from_le_bytes(*revision), Bytes::copy_from_slice(object))?;
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
            let (mut name, mut row) = (String::new(), Vec::new());
            for record in batch {
                name.clear();
                name.push_str(&record.key.resource);
                name.push('\0');
                name.push_str(record.key.path());
                match &record.bytes {
                    Some(bytes) => {
                        row.clear();
                        row.extend_from_slice(&record.revision.to_le_bytes());
                        row.extend_from_slice(bytes);
                        objects.insert(name.as_str(), row.as_slice())?;
                    }
                    None => drop(objects.remove(name.as_str())?),
                }
            }
            write.open_table(FACTS)?.insert("revision", newest.revision)?;
        }
        write.commit()?;
        Ok(())
    }
}
