//! Packages from directories of this machine, beside those from registries: the image of each is
//! known by its digest, and kept in a directory so that what was installed can be read again after
//! the package has changed.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use controller::stack_manager::{Fetched, Future, Packages};
use install::Trouble;
use package::Files;
use package::image::{Archive, Image, Reference};

use crate::project::Project;
use crate::terminal::error::Failure;

/// The registry in the names of packages of this machine; such a name never leads anywhere else.
pub(crate) const HERE: &str = "up.localhost";

/// Packages of this machine.
pub(crate) struct LocalPackages {
    /// Where images are kept.
    dir: Option<Room>,
    /// Files of packages, by repository and the digest of their image: a digest alone does not
    /// permit having one.
    known: Mutex<BTreeMap<(String, String), Files>>,
    /// Where all other packages come from.
    beyond: Option<Box<dyn Packages>>,
}

/// A directory that is held, so that no other can be taken for it.
struct Room {
    dir: PathBuf,
    held: Option<File>,
}

impl Room {
    fn new(dir: PathBuf) -> Room {
        // One that cannot be made is told of as soon as something is to be put there.
        let held = std::fs::create_dir_all(&dir)
            .and_then(|()| File::open(&dir))
            .ok();
        Room { dir, held }
    }

    /// Whether it was taken away, even if there is another in its place.
    fn is_gone(&self) -> bool {
        let id = |found: std::fs::Metadata| (found.dev(), found.ino());
        let own = self
            .held
            .as_ref()
            .and_then(|held| held.metadata().ok())
            .map(id);
        own.is_some() && std::fs::metadata(&self.dir).ok().map(id) != own
    }
}

impl LocalPackages {
    /// An empty shelf, in memory or in a directory. Once that is taken away, the shelf is in memory
    /// alone.
    pub fn new(dir: Option<PathBuf>, beyond: Option<Box<dyn Packages>>) -> LocalPackages {
        LocalPackages {
            dir: dir.map(Room::new),
            known: Mutex::default(),
            beyond,
        }
    }

    /// Builds the image of a package that has no faults, puts it on the shelf, and says how an
    /// install names it.
    pub fn put(&self, name: &str, project: &Project) -> Result<Reference, Failure> {
        let image = Image::build(&project.files, &project.package);
        let digest = image.manifest.digest.to_string();
        let version = &project.package.app.version;
        let tag = Some(version.clone()).filter(|version| !version.is_empty());
        let reference = Reference {
            registry: HERE.to_owned(),
            repository: name.to_owned(),
            tag,
            digest: Some(digest.clone()),
        };
        Reference::parse(&reference.to_string())
            .map_err(|bad| Failure::new(bad.what).hint(bad.hint))?;
        if let Some(path) = self.path(&reference) {
            let bad = |error: std::io::Error| {
                Failure::new(format!("cannot write {}: {error}", path.display()))
            };
            if let Some(dir) = path.parent() {
                std::fs::create_dir_all(dir).map_err(bad)?;
            }
            // A file of that name has this content, since it is moved into place as a whole.
            if !path.exists() {
                let part = path.with_extension("part");
                std::fs::write(&part, Archive::write(&image, None)).map_err(bad)?;
                std::fs::rename(&part, &path).map_err(bad)?;
            }
        }
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert((name.to_owned(), digest), project.files.clone());
        Ok(reference)
    }

    /// Throws away the images of a package but this one.
    pub fn keep_only(&self, reference: &Reference) {
        let Some(path) = self.path(reference) else {
            return;
        };
        let Some(dir) = path.parent() else { return };
        let others = std::fs::read_dir(dir)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        for other in others.filter(|other| *other != path) {
            // One that cannot be removed only takes room.
            let _ = std::fs::remove_file(other);
        }
    }

    fn path(&self, reference: &Reference) -> Option<PathBuf> {
        let digest = reference.digest.as_deref()?.replace(':', "-");
        let room = self.dir.as_ref().filter(|room| !room.is_gone())?;
        Some(
            room.dir
                .join(&reference.repository)
                .join(format!("{digest}.tar")),
        )
    }

    fn find(&self, reference: &Reference) -> Result<Files, Trouble> {
        let digest = reference.digest.clone().unwrap_or_default();
        if reference.registry != HERE {
            let what = format!(
                "{reference} is not a package of this machine: those are called {HERE}/NAME"
            );
            return Err(Trouble::new("PackageNotFound", what));
        }
        let name = (reference.repository.clone(), digest.clone());
        if let Some(files) = self
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&name)
        {
            return Ok(files.clone());
        }
        let missing = |why: String| {
            let what = format!("{reference} is no package of this machine any more{why}");
            Trouble::new(
                "PackageNotFound",
                format!("{what}; name its directory again: `cairn up DIR`"),
            )
        };
        let path = self.path(reference).ok_or_else(|| missing(String::new()))?;
        let file = File::open(&path).map_err(|error| missing(format!(" ({error})")))?;
        let archive = Archive::read(std::io::BufReader::new(file))
            .map_err(|why| missing(format!(" ({why})")))?;
        if archive.manifest.digest.to_string() != digest {
            return Err(missing(format!(" ({} has changed)", path.display())));
        }
        archive.files().map_err(|why| missing(format!(" ({why})")))
    }
}

impl Packages for LocalPackages {
    fn resolve<'f>(
        &'f self,
        reference: &'f Reference,
        secrets: &'f [Vec<u8>],
    ) -> Future<'f, Result<Reference, Trouble>> {
        match &self.beyond {
            Some(beyond) if reference.registry != HERE => beyond.resolve(reference, secrets),
            _ => Box::pin(async move { self.find(reference).map(|_| reference.clone()) }),
        }
    }

    fn fetch<'f>(
        &'f self,
        reference: &'f Reference,
        secrets: &'f [Vec<u8>],
    ) -> Future<'f, Result<Fetched, Trouble>> {
        match &self.beyond {
            Some(beyond) if reference.registry != HERE => beyond.fetch(reference, secrets),
            _ => Box::pin(async move {
                let files = self.find(reference)?;
                Ok(Box::new(move |_: &dyn Fn() -> bool| Ok(files)) as Fetched)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use package::image::Reference;
    use scaffold::{Names, blank};

    use super::LocalPackages;
    use crate::project::Project;

    #[test]
    fn a_digest_is_no_permission_to_have_a_package_under_another_name() {
        let place = tempfile::tempdir().unwrap();
        let files = blank(&Names::new("shop", "example.org").unwrap());
        let project = Project::of(place.path(), "shop", files);
        for dir in [None, Some(place.path().join("packages"))] {
            let shelf = LocalPackages::new(dir, None);
            let own = shelf.put("shop", &project).unwrap();
            assert!(shelf.find(&own).is_ok());
            for (registry, repository) in [
                ("up.localhost", "other"),
                ("up.localhost", "shop/x"),
                ("registry.example.org", "shop"),
                ("", "shop"),
            ] {
                let other = Reference {
                    registry: registry.into(),
                    repository: repository.into(),
                    ..own.clone()
                };
                assert_eq!(
                    shelf.find(&other).unwrap_err().reason,
                    "PackageNotFound",
                    "{other}"
                );
            }
        }
    }

    #[test]
    fn a_directory_that_was_taken_away_is_not_made_again() {
        let place = tempfile::tempdir().unwrap();
        let house = place.path().join("house");
        let files = blank(&Names::new("shop", "example.org").unwrap());
        let project = Project::of(place.path(), "shop", files);
        let shelf = LocalPackages::new(Some(house.join("packages")), None);
        let reference = shelf.put("shop", &project).unwrap();
        assert!(house.join("packages/shop").is_dir());
        fs::remove_dir_all(&house).unwrap();
        shelf.put("shop", &project).unwrap();
        assert!(!house.exists());
        assert!(shelf.find(&reference).is_ok(), "it is known all the same");
        // Another one in its place is somebody else's.
        fs::create_dir_all(house.join("packages/shop")).unwrap();
        let theirs = house.join("packages/shop/theirs.tar");
        fs::write(&theirs, "").unwrap();
        shelf.keep_only(&shelf.put("shop", &project).unwrap());
        assert!(theirs.exists());
        assert_eq!(
            fs::read_dir(house.join("packages/shop")).unwrap().count(),
            1
        );
    }
}
