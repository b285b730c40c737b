//! What was pulled, by digest, in a directory: written under another name first, so that a file is there whole or not at
//! all, and checked whenever it is read.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use package::image::Digest;
use sha2::Digest as _;

use crate::Error;

/// A directory of blobs.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
}

impl Store {
    /// Uses a directory, which is made if it is not there.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, Error> {
        let store = Self { directory: directory.into() };
        let blobs = store.blobs();
        std::fs::create_dir_all(&blobs).map_err(|error| store.error(&error))?;
        Ok(store)
    }

    /// A blob, if it is there and what its name says. One that is not is removed.
    pub fn get(&self, digest: &Digest) -> Option<File> {
        let path = self.path(digest);
        let mut file = File::open(&path).ok()?;
        let mut hash = sha2::Sha256::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => hash.update(&buffer[..count]),
                Err(_) => return None,
            }
        }
        if Digest::from_hash(hash.finalize().into()) != *digest {
            // Whoever damaged it, the registry has it whole.
            let _ = std::fs::remove_file(&path);
            return None;
        }
        file.rewind().ok()?;
        Some(file)
    }

    /// Keeps bytes.
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, Error> {
        let mut incoming = self.begin()?;
        incoming.write(bytes).map_err(|error| self.error(&error))?;
        incoming.finish(self)
    }

    pub(crate) fn begin(&self) -> Result<Incoming, Error> {
        let file = tempfile::NamedTempFile::new_in(&self.directory).map_err(|error| self.error(&error))?;
        Ok(Incoming { file, hash: sha2::Sha256::new(), length: 0 })
    }

    pub(crate) fn error(&self, error: &io::Error) -> Error {
        Error::Store { path: self.directory.display().to_string(), cause: error.to_string() }
    }

    fn blobs(&self) -> PathBuf {
        self.directory.join("blobs/sha256")
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.blobs().join(digest.hex())
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// A blob on its way in. Dropping it leaves nothing behind.
pub(crate) struct Incoming {
    file: tempfile::NamedTempFile,
    hash: sha2::Sha256,
    length: u64,
}

impl Incoming {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// What has come in so far.
    pub(crate) fn digest(&self) -> Digest {
        Digest::from_hash(self.hash.clone().finalize().into())
    }

    pub(crate) fn finish(self, store: &Store) -> Result<Digest, Error> {
        let digest = self.digest();
        self.file.as_file().sync_data().map_err(|error| store.error(&error))?;
        self.file.persist(store.path(&digest)).map_err(|error| store.error(&error.error))?;
        Ok(digest)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use package::image::Digest;

    use super::Store;

    #[test]
    fn what_is_kept_comes_back_and_what_was_damaged_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("store")).unwrap();
        assert!(store.get(&Digest::of(b"a")).is_none());
        let digest = store.put(b"content").unwrap();
        let mut text = String::new();
        store.get(&digest).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "content");
        let path = directory.path().join("store/blobs/sha256").join(digest.hex());
        std::fs::write(&path, "forged").unwrap();
        assert!(store.get(&digest).is_none());
        assert!(!path.exists());
        // Nothing half written stays.
        drop(store.begin().unwrap());
        let left = std::fs::read_dir(directory.path().join("store")).unwrap().count();
        assert_eq!(left, 1, "only the directory of blobs");
    }

    #[test]
    fn a_store_that_cannot_be_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = Store::open(file.join("store")).unwrap_err();
        assert_eq!(error.reason(), "StoreFailed");
    }
}
