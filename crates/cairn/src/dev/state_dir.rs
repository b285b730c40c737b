//! The directory that a control plane lives in: who is in it, the kubeconfig, the port, and what is
//! kept.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::kubeconfig_copy::KubeconfigCopy;
use crate::terminal::env::places;
use crate::terminal::error::Failure;

/// What to do about a directory that is not one's own.
const OWN: &str =
    "keys, tokens and all objects are kept there: name a directory of your own with `--data DIR`";
/// How often to look whether the directory is still there.
const LOOK: Duration = Duration::from_secs(1);

/// A directory with a control plane in it. Nobody else can have it until this is dropped.
pub(crate) struct StateDir {
    dir: PathBuf,
    ephemeral: bool,
    /// Where the kubeconfig is that commands find by themselves.
    own_kubeconfig: PathBuf,
    /// Where it is to be written, too.
    out: Option<KubeconfigCopy>,
    lock: File,
}

impl StateDir {
    /// Moves in; says who is in it already, if somebody is. What keeps nothing makes room elsewhere
    /// if there is something in the directory, or it cannot be made.
    pub fn enter(
        dir: &Path,
        ephemeral: bool,
        kubeconfig: Option<&Path>,
    ) -> Result<StateDir, Failure> {
        let bad = |path: &Path, error: std::io::Error| {
            Failure::new(format!("cannot use {}: {error}", path.display()))
        };
        let out = kubeconfig.map(KubeconfigCopy::to).transpose()?;
        let dir = match ephemeral {
            true => fresh(dir).map_err(|error| bad(dir, error))?,
            false => {
                crate::files::private::directory(dir).map_err(|error| match error.kind() {
                    ErrorKind::PermissionDenied => bad(dir, error).hint(OWN),
                    _ => bad(dir, error),
                })?;
                dir.to_path_buf()
            }
        };
        let path = dir.join("lock");
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        let mut lock = options.open(&path).map_err(|error| bad(&path, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::new(format!(
                    "{} is in use: {} is in it",
                    dir.display(),
                    who(&mut lock)
                ))
                .hint("end that one, or keep another control plane elsewhere: `--data DIR`"));
            }
            Err(TryLockError::Error(error)) => return Err(bad(&path, error)),
        }
        let own_kubeconfig = dir.join("kubeconfig");
        let mut house = StateDir {
            dir,
            ephemeral,
            own_kubeconfig,
            out,
            lock,
        };
        let ignore = house.dir.join(".gitignore");
        if !ignore.exists() {
            // Nothing in here is for others: keys, tokens, and objects of one machine.
            std::fs::write(&ignore, "*\n").map_err(|error| bad(&ignore, error))?;
        }
        house.sign(&format!("`cairn up` (process {})", std::process::id()));
        Ok(house)
    }

    /// Who is in a directory, if somebody is.
    pub fn inhabitant(dir: &Path) -> Option<String> {
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .open(dir.join("lock"))
            .ok()?;
        matches!(lock.try_lock(), Err(TryLockError::WouldBlock)).then(|| who(&mut lock))
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

    /// Where the kubeconfig is, as whoever asked for it was told.
    pub fn kubeconfig(&self) -> &Path {
        self.out
            .as_ref()
            .map_or(&*self.own_kubeconfig, KubeconfigCopy::path)
    }

    /// The port of the last time.
    pub fn last_port(&self) -> Option<u16> {
        std::fs::read_to_string(self.dir.join("port"))
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    /// Writes down where the server is, and how to get in.
    pub fn settle(&mut self, address: SocketAddr, kubeconfig: &str) -> Result<(), Failure> {
        let bad = |path: &Path, error: std::io::Error| {
            Failure::new(format!("cannot write {}: {error}", path.display()))
        };
        crate::files::private::write(&self.own_kubeconfig, kubeconfig.as_bytes())
            .map_err(|error| bad(&self.own_kubeconfig, error))?;
        if let Some(out) = &mut self.out {
            out.write(kubeconfig)
                .map_err(|error| bad(out.path(), error))?;
        }
        if !self.ephemeral {
            let port = self.dir.join("port");
            std::fs::write(&port, format!("{}\n", address.port()))
                .map_err(|error| bad(&port, error))?;
        }
        self.sign(&format!(
            "`cairn up` (process {}, https://{address})",
            std::process::id()
        ));
        Ok(())
    }

    /// Whether the directory is still the one that was moved into.
    pub fn stands(&self) -> bool {
        let own = self.id();
        own.is_some() && own == id_of(&self.dir.join("lock"))
    }

    fn id(&self) -> Option<(u64, u64)> {
        self.lock
            .metadata()
            .ok()
            .map(|found| (found.dev(), found.ino()))
    }

    /// What is to go when this control plane ends.
    pub fn traces(&self) -> Traces {
        let dir = self.ephemeral.then(|| (self.dir.clone(), self.id()));
        Traces {
            dir,
            out: self.out.clone(),
        }
    }

    /// Waits until somebody takes the directory away.
    pub async fn gone(&self) {
        while self.stands() {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Says who is in here.
    fn sign(&mut self, who: &str) {
        let written = self.lock.set_len(0).and_then(|()| self.lock.rewind());
        // It only helps to name whoever is in the way.
        let _ = written.and_then(|()| writeln!(self.lock, "{who}"));
    }
}

impl Drop for StateDir {
    fn drop(&mut self) {
        if !self.ephemeral {
            self.sign("");
        }
        self.traces().remove();
    }
}

/// What a control plane that keeps nothing leaves in the file system, for whoever takes it away in
/// its place.
#[derive(Clone)]
pub(crate) struct Traces {
    /// The directory and the lock in it, by device and inode; none if what is there is to stay.
    dir: Option<(PathBuf, Option<(u64, u64)>)>,
    out: Option<KubeconfigCopy>,
}

impl Traces {
    /// Takes away what this control plane made, and nothing that another has put in its place
    /// since.
    pub fn remove(&self) {
        let Some((dir, lock)) = &self.dir else { return };
        if let Some(out) = &self.out {
            out.take_back();
        }
        if lock.is_none() || id_of(&dir.join("lock")) != *lock {
            return;
        }
        for file in ["kubeconfig", ".gitignore", "lock"] {
            let _ = std::fs::remove_file(dir.join(file));
        }
        let _ = std::fs::remove_dir(dir);
    }
}

/// What tells a file from all others that have its name, before and after it.
fn id_of(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path)
        .ok()
        .map(|found| (found.dev(), found.ino()))
}

/// A directory that nobody has used: this one, or else one for what nobody needs later.
fn fresh(dir: &Path) -> std::io::Result<PathBuf> {
    let make = |dir: &Path| {
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(dir)
            .map(|()| dir.to_path_buf())
    };
    let above = dir.parent().filter(|above| !above.as_os_str().is_empty());
    let made = above
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| make(dir));
    made.or_else(|_| {
        crate::files::private::temporary(&[places().runtime, std::env::temp_dir()], "cairn-up")
    })
}

/// Who holds a lock.
fn who(lock: &mut File) -> String {
    let mut who = String::new();
    // Whoever holds it may not have said yet who it is.
    let _ = lock.read_to_string(&mut who);
    if who.trim().is_empty() {
        "another process".to_owned()
    } else {
        who.trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::StateDir;

    #[test]
    fn what_keeps_nothing_takes_away_only_what_it_made() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("here/.cairn");
        let house = StateDir::enter(&dir, true, None).unwrap();
        assert_eq!(house.dir(), dir);
        // A second one beside it goes elsewhere.
        let beside = StateDir::enter(&dir, true, None).unwrap();
        let elsewhere = beside.dir().to_path_buf();
        assert!(elsewhere != dir && elsewhere.join("lock").exists());
        drop(beside);
        assert!(!elsewhere.exists() && dir.join("lock").exists());
        drop(house);
        assert!(!dir.exists());

        let kept = StateDir::enter(&dir, false, None).unwrap();
        fs::write(dir.join("kubeconfig"), "kept").unwrap();
        drop(kept);
        let address = "127.0.0.1:1".parse().unwrap();
        let mut house =
            StateDir::enter(&dir, true, Some(&place.path().join("new/dir/out"))).unwrap();
        let new = "kind: Config\nclusters: [{name: cairn}]\ncontexts: [{name: cairn}]\n";
        house.settle(address, new).unwrap();
        assert_eq!(
            fs::read_to_string(place.path().join("new/dir/out")).unwrap(),
            new
        );
        drop(house);
        assert!(!place.path().join("new/dir/out").exists());
        for file in ["lock", ".gitignore", "kubeconfig"] {
            assert!(dir.join(file).exists(), "{file}");
        }
        assert_eq!(fs::read_to_string(dir.join("kubeconfig")).unwrap(), "kept");
    }

    #[test]
    fn a_kubeconfig_stays_where_no_other_was_written_and_is_told_where_it_is_in_the_way() {
        let place = tempfile::tempdir().unwrap();
        let (dir, out) = (place.path().join(".cairn"), place.path().join("config"));
        fs::write(&out, "").unwrap();
        // As if the port were taken: nothing is settled.
        drop(StateDir::enter(&dir, true, Some(&out)).unwrap());
        assert!(out.exists());
        fs::write(&out, "kind: Config\nclusters: [{name: work}]\n").unwrap();
        assert!(
            StateDir::enter(&dir, true, Some(&out)).is_err_and(|failure| !failure.hints.is_empty())
        );
        assert!(!dir.exists(), "nothing was begun");
    }

    #[test]
    fn what_a_newer_one_wrote_stays_when_an_older_one_ends() {
        let place = tempfile::tempdir().unwrap();
        let (dir, out) = (place.path().join(".cairn"), place.path().join("config"));
        let address = "127.0.0.1:1".parse().unwrap();
        let config = |token: &str| {
            format!(
                "kind: Config\nclusters: [{name}]\ncontexts: [{name}]\nusers: [{{user: {{token: {token}}}}}]\n",
                name = "{name: cairn}"
            )
        };
        let mut older = StateDir::enter(&dir, true, Some(&out)).unwrap();
        older.settle(address, &config("older")).unwrap();
        let traces = older.traces();
        // Somebody takes the directory away, and a newer one moves in at the same place.
        fs::remove_dir_all(&dir).unwrap();
        let mut newer = StateDir::enter(&dir, true, Some(&out)).unwrap();
        newer.settle(address, &config("newer")).unwrap();
        assert_eq!(newer.dir(), dir);
        drop(older);
        traces.remove();
        for file in ["lock", ".gitignore", "kubeconfig"] {
            assert!(dir.join(file).exists(), "{file}");
        }
        assert_eq!(fs::read_to_string(&out).unwrap(), config("newer"));
        drop(newer);
        assert!(!dir.exists());
    }

    #[test]
    fn a_directory_that_is_gone_or_another_is_not_the_one_that_was_moved_into() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join(".cairn");
        let house = StateDir::enter(&dir, false, None).unwrap();
        assert!(house.stands());
        assert!(StateDir::inhabitant(&dir).is_some_and(|who| who.contains("cairn up")));
        fs::remove_dir_all(&dir).unwrap();
        assert!(!house.stands());
        let other = StateDir::enter(&dir, false, None).unwrap();
        assert!(!house.stands() && other.stands());
    }
}
