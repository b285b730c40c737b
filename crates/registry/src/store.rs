//! What was pulled, by digest, in a directory. Each registry, repository and credential has a part
//! of its own, since a digest alone is no permission. A file is written under another name first,
//! so that it is there whole or not at all; it is checked whenever it is read, and those that
//! nobody has read for longest go when there are too many.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use package::image::Digest;
use sha2::Digest as _;

use crate::Error;

/// The most bytes in a store, unless somebody says otherwise.
pub const STORE_BYTES: u64 = 2 << 30;
/// How old a file is that somebody who died was writing.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A directory of blobs.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
    limit: u64,
    /// Makes the names of parts useless for guessing passwords.
    salt: [u8; 32],
    /// How many bytes there are at most, as far as this process knows.
    used: Arc<Mutex<u64>>,
}

/// The part of a store that belongs to a registry, a repository and a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part(String);

impl Store {
    /// Uses a directory, which is made if it is not there.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, Error> {
        let mut store = Self {
            directory: directory.into(),
            limit: STORE_BYTES,
            salt: [0; 32],
            used: Arc::default(),
        };
        let made = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(store.parts());
        made.map_err(|error| store.error(&error))?;
        // What earlier versions kept belonged to everybody.
        let _ = std::fs::remove_dir_all(store.directory.join("blobs"));
        store.salt = store.read_salt().map_err(|error| store.error(&error))?;
        let used = store.files().iter().map(|file| file.size).sum();
        *store.used.lock().unwrap_or_else(PoisonError::into_inner) = used;
        Ok(store)
    }

    /// The same with room for so many bytes.
    #[must_use]
    pub fn limited(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// The part of a registry, a repository and whatever stands for a credential.
    pub(crate) fn part(&self, registry: &str, repository: &str, credential: &[u8]) -> Part {
        let mut hash = sha2::Sha256::new();
        hash.update(self.salt);
        for part in [registry.as_bytes(), repository.as_bytes(), credential] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Part(Digest::from_hash(hash.finalize().into()).hex())
    }

    /// A blob, if it is there and what its name says. One that is not is removed.
    pub(crate) fn get(&self, part: &Part, digest: &Digest) -> Option<File> {
        let path = self.path(part, digest);
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
        // Only for the order in which files go.
        let _ = file.set_modified(SystemTime::now());
        file.rewind().ok()?;
        Some(file)
    }

    /// Keeps bytes.
    pub(crate) fn put(&self, part: &Part, bytes: &[u8]) -> Result<Digest, Error> {
        let mut incoming = self.begin()?;
        incoming.write(bytes).map_err(|error| self.error(&error))?;
        let digest = incoming.digest();
        incoming.finish(self, part)?;
        Ok(digest)
    }

    pub(crate) fn begin(&self) -> Result<Incoming, Error> {
        let file =
            tempfile::NamedTempFile::new_in(self.parts()).map_err(|error| self.error(&error))?;
        Ok(Incoming {
            file,
            hash: sha2::Sha256::new(),
            length: 0,
        })
    }

    pub(crate) fn error(&self, error: &io::Error) -> Error {
        Error::Store {
            path: self.directory.display().to_string(),
            cause: error.to_string(),
        }
    }

    fn parts(&self) -> PathBuf {
        self.directory.join("parts")
    }

    fn path(&self, part: &Part, digest: &Digest) -> PathBuf {
        self.parts().join(&part.0).join(digest.hex())
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The bytes that only this store knows; another process may have made them first.
    fn read_salt(&self) -> io::Result<[u8; 32]> {
        let path = self.parts().join("salt");
        let known = || <[u8; 32]>::try_from(std::fs::read(&path).ok()?).ok();
        if let Some(salt) = known() {
            return Ok(salt);
        }
        let mut salt = [0; 32];
        getrandom::fill(&mut salt).map_err(|error| io::Error::other(error.to_string()))?;
        let mut file = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .tempfile_in(self.parts())?;
        file.write_all(&salt)?;
        match file.persist_noclobber(&path) {
            Ok(_) => Ok(salt),
            Err(error) => match known() {
                Some(salt) => Ok(salt),
                // It is damaged, and nothing can be read by it.
                None => error
                    .file
                    .persist(&path)
                    .map(|_| salt)
                    .map_err(|error| error.error),
            },
        }
    }

    /// Every blob, and what somebody is writing.
    fn files(&self) -> Vec<Kept> {
        let list = |path: &Path| {
            std::fs::read_dir(path)
                .into_iter()
                .flatten()
                .flatten()
                .collect::<Vec<_>>()
        };
        let mut found = Vec::new();
        for entry in list(&self.parts()) {
            let kind = entry.file_type().ok();
            if kind.is_some_and(|kind| kind.is_dir()) {
                found.extend(
                    list(&entry.path())
                        .iter()
                        .filter_map(|file| Kept::of(file, false)),
                );
            } else if entry.file_name() != "salt" {
                found.extend(Kept::of(&entry, true));
            }
        }
        found
    }

    /// Removes what nobody has read for longest until the rest fits.
    fn make_room(&self, new: u64) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.saturating_add(new);
        if *used <= self.limit {
            return;
        }
        let now = SystemTime::now();
        let mut files = self.files();
        // Others use the directory too.
        let mut total: u64 = files.iter().map(|file| file.size).sum();
        files.sort_by_key(|file| file.read);
        // Somewhat more than needed, so that not every blob has to make room.
        let wanted = self.limit - self.limit / 10;
        for file in files {
            let age = now.duration_since(file.read).unwrap_or_default();
            if (file.incoming && age < ABANDONED) || (total <= wanted && !file.incoming) {
                continue;
            }
            if std::fs::remove_file(&file.path).is_ok() {
                total = total.saturating_sub(file.size);
                if let Some(part) = file.path.parent().filter(|_| !file.incoming) {
                    // One that still has files stays.
                    let _ = std::fs::remove_dir(part);
                }
            }
        }
        *used = total;
    }
}

/// A file of the store.
struct Kept {
    path: PathBuf,
    size: u64,
    read: SystemTime,
    incoming: bool,
}

impl Kept {
    fn of(entry: &std::fs::DirEntry, incoming: bool) -> Option<Self> {
        let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some(Self {
            path: entry.path(),
            size: metadata.len(),
            read: metadata.modified().ok()?,
            incoming,
        })
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

    /// Keeps it, and gives it to be read, even where it does not fit.
    pub(crate) fn finish(self, store: &Store, part: &Part) -> Result<File, Error> {
        let path = store.path(part, &self.digest());
        self.file
            .as_file()
            .sync_data()
            .map_err(|error| store.error(&error))?;
        if let Some(parent) = path.parent() {
            let made = std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(parent);
            made.map_err(|error| store.error(&error))?;
        }
        let length = self.length;
        let mut file = self
            .file
            .persist(path)
            .map_err(|error| store.error(&error.error))?;
        file.rewind().map_err(|error| store.error(&error))?;
        store.make_room(length);
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::time::{Duration, SystemTime};

    use package::image::Digest;

    use super::Store;

    #[test]
    fn what_is_kept_comes_back_and_what_was_damaged_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("store")).unwrap();
        let part = store.part("r.example.org", "team/redis", b"");
        assert!(store.get(&part, &Digest::of(b"a")).is_none());
        let digest = store.put(&part, b"content").unwrap();
        let mut text = String::new();
        store
            .get(&part, &digest)
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "content");
        let path = store.path(&part, &digest);
        std::fs::write(&path, "forged").unwrap();
        assert!(store.get(&part, &digest).is_none());
        assert!(!path.exists());
        // Nothing half written stays.
        drop(store.begin().unwrap());
        assert!(store.files().is_empty());
    }

    #[test]
    fn each_registry_repository_and_credential_has_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let part = store.part("r.example.org", "team/redis", b"secret");
        let digest = store.put(&part, b"content").unwrap();
        for (registry, repository, credential) in [
            ("other.example.org", "team/redis", "secret"),
            ("r.example.org", "team/other", "secret"),
            ("r.example.org", "team/redis", ""),
            ("r.example.org", "team/redis", "Secret"),
            ("r.example.orgteam", "/redis", "secret"),
            ("r.example.org", "team/redissecret", ""),
        ] {
            let other = store.part(registry, repository, credential.as_bytes());
            assert!(
                store.get(&other, &digest).is_none(),
                "{registry}/{repository} {credential}"
            );
        }
        // Opened again it is the same, and another store names its parts in another way.
        let again = Store::open(directory.path()).unwrap();
        assert_eq!(again.part("r.example.org", "team/redis", b"secret"), part);
        let elsewhere = tempfile::tempdir().unwrap();
        let other = Store::open(elsewhere.path()).unwrap();
        assert_ne!(other.part("r.example.org", "team/redis", b"secret"), part);
    }

    #[test]
    fn what_nobody_has_read_for_longest_goes_when_there_is_too_much() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap().limited(1000);
        let part = store.part("r", "a", b"");
        let blobs: Vec<Digest> = (0..9u8)
            .map(|number| store.put(&part, &[number; 100]).unwrap())
            .collect();
        let age = |digest: &Digest, hours: u64| {
            let file = std::fs::File::options()
                .append(true)
                .open(store.path(&part, digest))
                .unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(hours * 3600))
                .unwrap();
        };
        blobs
            .iter()
            .enumerate()
            .for_each(|(index, digest)| age(digest, 20 - index as u64));
        assert!(
            store.get(&part, &blobs[0]).is_some(),
            "this one was read just now"
        );
        let other = store.part("r", "b", b"");
        store.put(&other, &[100; 150]).unwrap();
        assert!(
            store.get(&part, &blobs[0]).is_some(),
            "what was read lately stays"
        );
        assert!(store.get(&part, &blobs[1]).is_none() && store.get(&part, &blobs[8]).is_some());
        let total: u64 = store.files().iter().map(|file| file.size).sum();
        assert!(total <= 1000, "{total}");
        // One that never fits is read all the same, and does not stay.
        let mut large = store.begin().unwrap();
        large.write(&[7; 5000]).unwrap();
        let mut bytes = Vec::new();
        large
            .finish(&store, &part)
            .unwrap()
            .read_to_end(&mut bytes)
            .unwrap();
        assert_eq!(bytes.len(), 5000);
        assert!(store.files().iter().map(|file| file.size).sum::<u64>() <= 1000);
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
