//! Notices when a file of a package is saved. An editor may write a file in several steps, or put another in its place:
//! what happens shortly one after the other counts once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::Instant;

use crate::failure::Failure;

/// So long without another event, and a file is saved.
const QUIET: Duration = Duration::from_millis(120);

/// A watch on the packages in some directories.
pub(crate) struct Watch {
    watcher: RecommendedWatcher,
    /// By their canonical paths, since that is how events name them.
    dirs: Vec<PathBuf>,
    events: UnboundedReceiver<Vec<PathBuf>>,
}

impl Watch {
    /// Watches the packages in these directories.
    pub fn start(dirs: &[PathBuf]) -> Result<Watch, Failure> {
        let bad = |error: &dyn std::fmt::Display| Failure::new(format!("cannot watch for changed files: {error}"));
        let (sender, events) = unbounded_channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // To look at a file changes nothing; and who cannot be told any more does not listen.
            if let Ok(event) = event.as_ref()
                && !matches!(event.kind, EventKind::Access(_))
            {
                let _ = sender.send(event.paths.clone());
            }
        });
        let watcher = watcher.map_err(|error| bad(&error))?;
        let dirs = dirs.iter().map(|dir| dir.canonicalize().map_err(|error| bad(&error))).collect::<Result<_, _>>()?;
        let mut watch = Watch { watcher, dirs, events };
        for at in 0..watch.dirs.len() {
            // Tells when the directory itself goes or comes back; one that may not be read tells nothing.
            if let Some(above) = watch.dirs[at].parent() {
                let _ = watch.watcher.watch(above, RecursiveMode::NonRecursive);
            }
            watch.look(at).map_err(|error| bad(&error))?;
        }
        Ok(watch)
    }

    /// Watches what is at the place of a package now, which may have been put there in place of another.
    fn look(&mut self, at: usize) -> notify::Result<()> {
        self.watcher.watch(&self.dirs[at], RecursiveMode::NonRecursive)?;
        self.watcher.watch(&self.dirs[at].join(".registry"), RecursiveMode::Recursive)
    }

    /// Waits until something is saved, and answers in which of the directories.
    pub async fn saved(&mut self) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut last = Instant::now();
        loop {
            let paths = if found.is_empty() {
                match self.events.recv().await {
                    Some(paths) => paths,
                    None => return std::future::pending().await,
                }
            } else {
                match tokio::time::timeout_at(last + QUIET, self.events.recv()).await {
                    Ok(Some(paths)) => paths,
                    Ok(None) | Err(_) => return found,
                }
            };
            for at in 0..self.dirs.len() {
                let registry = self.dirs[at].join(".registry");
                let other = paths.iter().any(|path| *path == self.dirs[at] || *path == registry);
                if other {
                    // If it is gone for the moment, the directory above tells when it is back.
                    let _ = self.look(at);
                }
                if other || paths.iter().any(|path| counts(path, &registry)) {
                    found.insert(at);
                    // What else happens in the directories above is no reason to wait.
                    last = Instant::now();
                }
            }
        }
    }
}

/// Whether a file is part of a package: inside, and none that editors put beside what they edit.
fn counts(path: &Path, registry: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let passing = name.ends_with('~') || name.ends_with(".swp") || name.ends_with(".swx") || name.starts_with(".#");
    path.starts_with(registry) && !passing
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::time::Duration;

    use super::{QUIET, Watch, counts};

    #[tokio::test(flavor = "multi_thread")]
    async fn a_save_is_noticed_though_somebody_writes_beside_the_package_without_end() {
        let place = tempfile::tempdir().unwrap();
        let package = place.path().join("shop");
        std::fs::create_dir_all(package.join(".registry")).unwrap();
        let mut watch = Watch::start(std::slice::from_ref(&package)).unwrap();
        let log = place.path().join("log");
        let writer = tokio::spawn(async move {
            loop {
                std::fs::write(&log, "more").unwrap();
                tokio::time::sleep(QUIET / 6).await;
            }
        });
        std::fs::write(package.join(".registry/app.yaml"), "title: Shop").unwrap();
        let saved = tokio::time::timeout(Duration::from_secs(30), watch.saved()).await;
        writer.abort();
        assert_eq!(saved.ok(), Some(BTreeSet::from([0])));
    }

    #[test]
    fn only_what_is_in_the_package_counts_and_nothing_that_an_editor_keeps_for_itself() {
        let registry = Path::new("/p/.registry");
        for (path, expected) in [
            ("/p/.registry", true),
            ("/p/.registry/templates/a.yaml", true),
            ("/p/.registry/templates/.a.yaml.swp", false),
            ("/p/.registry/templates/a.yaml~", false),
            ("/p/.registry/templates/.#a.yaml", false),
            ("/p/.cairn/data/objects.redb", false),
            ("/p/instance.yaml", false),
        ] {
            assert_eq!(counts(Path::new(path), registry), expected, "{path}");
        }
    }
}
