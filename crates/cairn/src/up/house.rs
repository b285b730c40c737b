//! The directory that a control plane lives in: who is in it, the kubeconfig, the port, and what is kept.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A directory with a control plane in it. Nobody else can have it until this is dropped.
pub(crate) struct House {
    dir: PathBuf,
    ephemeral: bool,
    /// Where the kubeconfig is.
    pub kubeconfig: PathBuf,
    lock: File,
}

impl House {
    /// Moves in; says who is in it already, if somebody is.
    pub fn enter(dir: &Path, ephemeral: bool, kubeconfig: Option<&Path>) -> Result<House, Failure> {
        let bad = |path: &Path, error: std::io::Error| Failure::new(format!("cannot use {}: {error}", path.display()));
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(dir).map_err(|error| bad(dir, error))?;
        let path = dir.join("lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut lock = options.open(&path).map_err(|error| bad(&path, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut who = String::new();
                // Whoever holds it may not have said yet who it is.
                let _ = lock.read_to_string(&mut who);
                let who = if who.trim().is_empty() { "another process".to_owned() } else { who.trim().to_owned() };
                return Err(Failure::new(format!("{} is in use: {who} is in it", dir.display()))
                    .hint("end that one, or keep another control plane elsewhere: `--data DIR`"));
            }
            Err(TryLockError::Error(error)) => return Err(bad(&path, error)),
        }
        let ignore = dir.join(".gitignore");
        if !ignore.exists() {
            // Nothing in here is for others: keys, tokens, and objects of one machine.
            std::fs::write(&ignore, "*\n").map_err(|error| bad(&ignore, error))?;
        }
        let kubeconfig = kubeconfig.map_or_else(|| dir.join("kubeconfig"), Path::to_path_buf);
        let mut house = House { dir: dir.to_path_buf(), ephemeral, kubeconfig, lock };
        house.sign(&format!("`cairn up` (process {})", std::process::id()));
        Ok(house)
    }

    /// Where objects are kept; nowhere if nothing is to be.
    pub fn data(&self) -> Option<PathBuf> {
        (!self.ephemeral).then(|| self.dir.join("data"))
    }

    /// Where images of packages are kept.
    pub fn packages(&self) -> Option<PathBuf> {
        (!self.ephemeral).then(|| self.dir.join("packages"))
    }

    /// The directory itself.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The port of the last time.
    pub fn last_port(&self) -> Option<u16> {
        std::fs::read_to_string(self.dir.join("port")).ok()?.trim().parse().ok()
    }

    /// Writes down where the server is, and how to get in.
    pub fn settle(&mut self, address: SocketAddr, kubeconfig: &str) -> Result<(), Failure> {
        let bad =
            |path: &Path, error: std::io::Error| Failure::new(format!("cannot write {}: {error}", path.display()));
        private(&self.kubeconfig, kubeconfig).map_err(|error| bad(&self.kubeconfig, error))?;
        if !self.ephemeral {
            let port = self.dir.join("port");
            std::fs::write(&port, format!("{}\n", address.port())).map_err(|error| bad(&port, error))?;
        }
        self.sign(&format!("`cairn up` (process {}, https://{address})", std::process::id()));
        Ok(())
    }

    /// Says who is in here.
    fn sign(&mut self, who: &str) {
        let written = self.lock.set_len(0).and_then(|()| self.lock.rewind());
        // It only helps to name whoever is in the way.
        let _ = written.and_then(|()| writeln!(self.lock, "{who}"));
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if self.ephemeral {
            let _ = std::fs::remove_file(&self.kubeconfig);
            for file in ["lock", ".gitignore"] {
                let _ = std::fs::remove_file(self.dir.join(file));
            }
            // What was kept at another time stays.
            let _ = std::fs::remove_dir(&self.dir);
        } else {
            self.sign("");
        }
    }
}

/// Writes a file that only its owner can read, as a whole.
fn private(path: &Path, text: &str) -> std::io::Result<()> {
    let part = path.with_extension("part");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(part, path)
}
