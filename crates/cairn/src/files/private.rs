//! Files and directories that only this user controls, in places where others may have been before:
//! a directory counts only if this user owns it, a file is created under a name that nobody can
//! foresee and moved into place, and a link that somebody else planted is never followed.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::process::geteuid;

/// Who owns something, what it is and who may write to it: all that a decision about it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    kind: FileType,
    owner: u32,
    group: u32,
    mode: u32,
}

impl From<&Stat> for Found {
    fn from(stat: &Stat) -> Found {
        Found {
            kind: FileType::from_raw_mode(stat.st_mode),
            owner: stat.st_uid,
            group: stat.st_gid,
            mode: stat.st_mode & 0o7777,
        }
    }
}

impl Found {
    fn owned_by(self) -> String {
        format!("it belongs to another user (uid {})", self.owner)
    }

    /// Whether others than the owner may write. A group with the user's number is the user's own,
    /// as most systems have it.
    fn shared(self) -> bool {
        self.mode & 0o002 != 0 || (self.mode & 0o020 != 0 && self.group != self.owner)
    }

    /// Why this is not a directory of one's own, if it is not.
    fn foreign_directory(self, me: u32) -> Option<String> {
        match self.kind {
            FileType::Directory if self.owner == me => None,
            FileType::Directory => Some(self.owned_by()),
            FileType::Symlink if self.owner != me => {
                Some(format!("it is a link of another user (uid {})", self.owner))
            }
            _ => Some("it is not a directory".to_owned()),
        }
    }

    /// Why nothing of one's own is safe in this directory, if nothing is: others could rename or
    /// replace it.
    fn unsafe_parent(self, me: u32) -> Option<String> {
        let sticky = self.mode & 0o1000 != 0;
        match self.kind {
            FileType::Directory if self.owner != me && self.owner != 0 => Some(self.owned_by()),
            FileType::Directory if self.shared() && !sticky => Some(format!(
                "others may replace what is in it (mode {:o}, not sticky)",
                self.mode
            )),
            FileType::Directory => None,
            _ => Some("it is not a directory".to_owned()),
        }
    }
}

fn refused(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::PermissionDenied, why.into())
}

fn me() -> u32 {
    geteuid().as_raw()
}

/// What is at a path itself: of a link, the link.
fn found(path: &Path) -> Result<Found> {
    Ok(Found::from(&rustix::fs::statat(
        CWD,
        path,
        AtFlags::SYMLINK_NOFOLLOW,
    )?))
}

/// Opens what is at a path without following a link of somebody else: one's own is followed once.
fn open(path: &Path, flags: OFlags) -> Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
        Ok(file) => Ok(File::from(file)),
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => {
            // The link is held while its owner and its target are read, so that nobody can swap it
            // in between.
            let link = rustix::fs::openat(
                CWD,
                path,
                OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                Mode::empty(),
            )?;
            let what = Found::from(&rustix::fs::fstat(&link)?);
            if what.kind != FileType::Symlink {
                return Err(refused("it is not a directory"));
            }
            if what.owner != me() {
                return Err(refused(format!(
                    "it is a link of another user (uid {})",
                    what.owner
                )));
            }
            let target = rustix::fs::readlinkat(&link, "", Vec::new())?;
            let target = Path::new(OsStr::from_bytes(target.as_bytes())).to_owned();
            let target = path.parent().unwrap_or(Path::new("")).join(target);
            Ok(File::from(rustix::fs::openat(
                CWD,
                &target,
                flags,
                Mode::empty(),
            )?))
        }
        Err(error) => Err(error.into()),
    }
}

/// A directory of this user, made unless it is there. One that belongs to somebody else is refused,
/// as is one that others may write to and have perhaps put something into; an empty one is closed
/// to them. So is one in a directory where others could put another one in its place later.
pub(crate) fn directory(path: &Path) -> Result<()> {
    match DirBuilder::new().mode(0o700).recursive(true).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let directory = open(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let what = Found::from(&rustix::fs::fstat(&directory)?);
    if let Some(why) = what.foreign_directory(me()) {
        return Err(refused(why));
    }
    // Where it really is, and where the link to it is, if there is one.
    let real = path.canonicalize()?;
    let named = std::path::absolute(path)?;
    for parent in [real.parent(), named.parent()].into_iter().flatten() {
        if let Some(why) = Found::from(&rustix::fs::stat(parent)?).unsafe_parent(me()) {
            return Err(refused(format!(
                "its parent {} is not safe: {why}",
                parent.display()
            )));
        }
    }
    if !what.shared() {
        return Ok(());
    }
    rustix::fs::fchmod(&directory, Mode::from_raw_mode(what.mode & !0o022))?;
    let mut entries = rustix::fs::Dir::read_from(&directory)?;
    let other = entries.find_map(|entry| {
        entry
            .ok()
            .filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."))
    });
    match other {
        None => Ok(()),
        Some(_) => {
            rustix::fs::fchmod(&directory, Mode::from_raw_mode(what.mode))?;
            Err(refused(format!(
                "others may have put something into it (mode {:o})",
                what.mode
            )))
        }
    }
}

/// A new directory with a name that nobody can foresee, in the first of these places where it is
/// safe.
pub(crate) fn temporary(places: &[PathBuf], prefix: &str) -> Result<PathBuf> {
    let mut last = Error::new(
        ErrorKind::NotFound,
        "there is no directory for temporary files",
    );
    for place in places {
        match temporary_in(place, prefix) {
            Ok(directory) => return Ok(directory),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn temporary_in(place: &Path, prefix: &str) -> Result<PathBuf> {
    // What the place really is, links and all: the new directory must be where it was checked.
    let place = place
        .canonicalize()
        .map_err(|error| Error::new(error.kind(), format!("{}: {error}", place.display())))?;
    if let Some(why) = found(&place)?.unsafe_parent(me()) {
        return Err(refused(why));
    }
    loop {
        let path = place.join(format!("{prefix}-{}", random()?));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => {
                // Somebody who may replace it would have done so by now, or never can.
                let what = found(&path)?;
                return match what.foreign_directory(me()) {
                    None => Ok(path),
                    Some(why) => Err(refused(why)),
                };
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(Error::new(
                    error.kind(),
                    format!("{}: {error}", path.display()),
                ));
            }
        }
    }
}

/// Sixty-four random bits as text.
fn random() -> Result<String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::other(format!("cannot read random bytes: {error}")))?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

/// Writes a file that only this user can read, as a whole: under a new name beside it, then moved
/// into place. A link in its place is replaced, never followed.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".{name}.{}", random()?));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(
        CWD,
        &part,
        flags,
        Mode::RUSR | Mode::WUSR,
    )?);
    let written = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&part, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    written
}

/// Why a file is not read.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It belongs to another user, or is a link of one.
    Foreign(String),
    /// It is not a regular file.
    NoFile,
    /// It cannot be read.
    Failed(Error),
}

/// The content of a file of one's own; none if there is none.
pub(crate) fn read(path: &Path) -> std::result::Result<Option<String>, Refused> {
    let failed = |error: Error| match error.kind() {
        // Only what `open` says of a link is of this kind and has words of its own.
        ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            Refused::Foreign(error.to_string())
        }
        _ => Refused::Failed(error),
    };
    let file = match open(path, OFlags::RDONLY) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let what =
        Found::from(&rustix::fs::fstat(&file).map_err(|error| Refused::Failed(error.into()))?);
    match what.kind {
        FileType::RegularFile if what.owner != me() => Err(Refused::Foreign(what.owned_by())),
        FileType::RegularFile => std::io::read_to_string(file)
            .map(Some)
            .map_err(Refused::Failed),
        _ => Err(Refused::NoFile),
    }
}

/// Whether a file and the directory that it is in belong to this user, and nobody else may write to
/// either. A link has to be this user's as well as what it leads to.
pub(crate) fn is_own(path: &Path) -> bool {
    let ours =
        |found: Found| found.owner == me() && (found.kind == FileType::Symlink || !found.shared());
    let own = |path: &Path| {
        let led_to = rustix::fs::stat(path).map(|stat| Found::from(&stat));
        found(path).is_ok_and(ours) && led_to.is_ok_and(ours)
    };
    own(path) && path.parent().is_some_and(own)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
    use std::path::Path;

    use rustix::fs::FileType;
    use testkit::{Choices, variants};

    use super::{Found, Refused, directory, is_own, read, temporary, write};

    const ME: u32 = 1000;
    const ATTACKER: u32 = 65534;

    #[test]
    fn what_belongs_to_others_or_is_open_to_them_is_told_from_ones_own() {
        let kinds = [
            FileType::Directory,
            FileType::RegularFile,
            FileType::Symlink,
            FileType::Fifo,
            FileType::Socket,
        ];
        for kind in kinds {
            for owner in [ME, 0, ATTACKER] {
                for (group, mode) in [
                    (ME, 0o700),
                    (ME, 0o775),
                    (ATTACKER, 0o775),
                    (ME, 0o777),
                    (0, 0o1777),
                ] {
                    let found = Found {
                        kind,
                        owner,
                        group,
                        mode,
                    };
                    let is_directory = kind == FileType::Directory;
                    assert_eq!(
                        found.foreign_directory(ME).is_none(),
                        is_directory && owner == ME,
                        "{found:?}"
                    );
                    let closed =
                        mode == 0o700 || mode == 0o1777 || (mode == 0o775 && group == owner);
                    let safe = is_directory && owner != ATTACKER && closed;
                    assert_eq!(found.unsafe_parent(ME).is_none(), safe, "{found:?}");
                }
            }
        }
    }

    /// Whether this test can act as another user; where all tests run, it has to.
    fn as_root() -> bool {
        let root = rustix::process::geteuid().is_root();
        if !root {
            println!("left out: only root can make files of another user");
            assert!(std::env::var_os("CI").is_none(), "this has to run as root");
        }
        root
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Something that an attacker could have put at a path before; says what.
    fn plant(path: &Path, choices: &mut Choices, place: &Path) -> String {
        let mode = *choices.pick(&[0o700, 0o755, 0o777, 0o1777, 0o500]);
        let target = place.join("target");
        match choices.below(4) {
            0 => {
                fs::create_dir(path).unwrap();
                set(path, mode);
                chown(path, Some(ATTACKER), Some(*choices.pick(&[0, ATTACKER]))).unwrap();
                format!("a directory of hers, {mode:o}")
            }
            1 => {
                // It leads to what is root's.
                fs::create_dir(&target).unwrap();
                symlink(
                    if choices.toss() {
                        target.as_path()
                    } else {
                        Path::new("target")
                    },
                    path,
                )
                .unwrap();
                lchown(path, Some(ATTACKER), Some(ATTACKER)).unwrap();
                "a link of hers to a directory of ours".to_owned()
            }
            2 => {
                fs::create_dir(&target).unwrap();
                chown(&target, Some(ATTACKER), Some(ATTACKER)).unwrap();
                symlink(&target, path).unwrap();
                "a link of ours to a directory of hers".to_owned()
            }
            _ => {
                fs::create_dir(path).unwrap();
                let file = path.join(choices.name("f", 9));
                fs::write(&file, "hers").unwrap();
                chown(&file, Some(ATTACKER), Some(ATTACKER)).unwrap();
                set(path, 0o777);
                "a directory of ours with a file of hers, open to all".to_owned()
            }
        }
    }

    #[test]
    fn a_directory_that_another_user_has_had_a_hand_in_is_refused() {
        if !as_root() {
            return;
        }
        for (index, mut choices) in variants() {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join(choices.name("d", 20));
            let what = plant(&path, &mut choices, place.path());
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            let refused = directory(&path).unwrap_err();
            assert_eq!(
                refused.kind(),
                std::io::ErrorKind::PermissionDenied,
                "variant {index}: {what}: {refused}"
            );
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode(),
                mode,
                "variant {index}: {what}"
            );
        }
    }

    #[test]
    fn a_directory_that_another_user_could_replace_later_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let parent = place.path().join("parent");
        fs::create_dir(&parent).unwrap();
        let path = parent.join(".cairn");
        let link = place.path().join("link");
        symlink(&path, &link).unwrap();
        for (mode, safe) in [(0o700, true), (0o755, true), (0o777, false), (0o1777, true)] {
            set(&parent, mode);
            assert_eq!(directory(&path).is_ok(), safe, "{mode:o}");
            assert_eq!(directory(&link).is_ok(), safe, "{mode:o}, by a link");
        }
        if !as_root() {
            return;
        }
        for (index, mut choices) in variants() {
            let place = tempfile::tempdir().unwrap();
            let parent = place.path().join(choices.name("p", 20));
            fs::create_dir(&parent).unwrap();
            set(
                &parent,
                *choices.pick(&[0o700, 0o755, 0o775, 0o777, 0o1777]),
            );
            let path = parent.join(choices.name(".", 20));
            if choices.toss() {
                fs::create_dir(&path).unwrap();
            }
            chown(&parent, Some(ATTACKER), Some(*choices.pick(&[0, ATTACKER]))).unwrap();
            let why = directory(&path).unwrap_err();
            assert!(
                why.to_string().contains("another user"),
                "variant {index}: {why}"
            );
        }
    }

    #[test]
    fn a_directory_of_ones_own_is_made_used_and_closed() {
        let place = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let new = place.path().join("a/b/c");
        directory(&new).unwrap();
        directory(&new).unwrap();
        assert_eq!(mode(&new), 0o700);
        fs::write(new.join("file"), "").unwrap();
        set(&new, 0o755);
        directory(&new).unwrap();
        assert_eq!(
            mode(&new),
            0o755,
            "whoever may only read it is none of our business"
        );
        let open = place.path().join("open");
        fs::create_dir(&open).unwrap();
        set(&open, 0o777);
        directory(&open).unwrap();
        assert_eq!(mode(&open), 0o755, "an empty one is closed");
        let link = place.path().join("link");
        symlink("a/b/c", &link).unwrap();
        directory(&link).unwrap();
        fs::write(place.path().join("file"), "").unwrap();
        assert!(directory(&place.path().join("file")).is_err());
        assert!(directory(&place.path().join("file/below")).is_err());
    }

    #[test]
    fn a_temporary_directory_is_made_only_where_nobody_can_replace_it() {
        let place = tempfile::tempdir().unwrap();
        let (sticky, open) = (place.path().join("sticky"), place.path().join("open"));
        for (path, mode) in [(&sticky, 0o1777), (&open, 0o777)] {
            fs::create_dir(path).unwrap();
            set(path, mode);
        }
        let one = temporary(&[open.clone(), sticky.clone()], "x").unwrap();
        let two = temporary(std::slice::from_ref(&sticky), "x").unwrap();
        assert!(one != two && one.starts_with(&sticky));
        assert_eq!(
            fs::metadata(&one).unwrap().permissions().mode() & 0o777,
            0o700
        );
        assert!(
            temporary(std::slice::from_ref(&open), "x")
                .unwrap_err()
                .to_string()
                .contains("replace")
        );
        assert!(temporary(&[place.path().join("none")], "x").is_err());
        assert!(temporary(&[], "x").is_err());
        if as_root() {
            // As XDG_RUNTIME_DIR is, where sudo keeps it.
            set(&open, 0o700);
            chown(&open, Some(ATTACKER), Some(ATTACKER)).unwrap();
            assert!(
                temporary(&[open], "x")
                    .unwrap_err()
                    .to_string()
                    .contains("another user")
            );
        }
    }

    #[test]
    fn what_is_written_goes_through_no_link_that_was_there_before() {
        for (index, mut choices) in variants() {
            let place = tempfile::tempdir().unwrap();
            let victim = place.path().join("victim");
            fs::write(&victim, "precious").unwrap();
            let path = place.path().join("out");
            for name in ["out", "out.part", "out.new", ".out.part", "out.tmp", "out~"] {
                if name == "out" || choices.toss() {
                    symlink(&victim, place.path().join(name)).unwrap();
                }
            }
            write(&path, b"ours").unwrap();
            assert_eq!(
                fs::read_to_string(&victim).unwrap(),
                "precious",
                "variant {index}"
            );
            assert!(
                path.symlink_metadata().unwrap().is_file(),
                "variant {index}"
            );
            assert_eq!(
                fs::read_to_string(&path).unwrap(),
                "ours",
                "variant {index}"
            );
            assert_eq!(
                path.symlink_metadata().unwrap().permissions().mode() & 0o777,
                0o600,
                "variant {index}"
            );
            let left = fs::read_dir(place.path()).unwrap().flatten();
            let parts =
                left.filter(|entry| entry.file_name().to_string_lossy().starts_with(".out."));
            assert_eq!(
                parts
                    .filter(|entry| entry.path().symlink_metadata().unwrap().is_file())
                    .count(),
                0
            );
        }
    }

    #[test]
    fn a_file_is_read_only_if_it_is_ones_own() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        assert!(matches!(read(&path), Ok(None)));
        fs::write(&path, "text").unwrap();
        assert!(matches!(read(&path), Ok(Some(text)) if text == "text"));
        assert!(matches!(read(place.path()), Err(Refused::NoFile)));
        let link = place.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(matches!(read(&link), Ok(Some(_))));
        assert!(is_own(&path) && is_own(&link));
        set(&path, 0o606);
        assert!(!is_own(&path), "others may write to it");
        set(&path, 0o600);
        if as_root() {
            lchown(&link, Some(ATTACKER), Some(ATTACKER)).unwrap();
            assert!(matches!(read(&link), Err(Refused::Foreign(_))) && !is_own(&link));
            chown(&path, Some(ATTACKER), Some(ATTACKER)).unwrap();
            assert!(matches!(read(&path), Err(Refused::Foreign(_))) && !is_own(&path));
        }
    }
}
