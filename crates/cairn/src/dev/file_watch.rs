//! Notices when a file of a package is saved. An editor may write a file in several steps, or put
//! another in its place: what happens shortly one after the other counts once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::Instant;

use crate::project::is_passing;
use crate::terminal::error::Failure;

/// So long without another event, and a file is saved.
const QUIET: Duration = Duration::from_millis(120);

/// A watch on the packages in some directories.
pub(crate) struct Watch {
    watcher: RecommendedWatcher,
    /// By their canonical paths, since that is how events name them.
    dirs: Vec<PathBuf>,
    events: UnboundedReceiver<Vec<PathBuf>>,
    /// The directories in which something was saved that nobody was told of yet, and when the last
    /// of it was. It is kept here, since whoever waits for it may have something else to do in
    /// between.
    found: BTreeSet<usize>,
    last: Instant,
}

impl Watch {
    /// Watches the packages in these directories.
    pub fn start(dirs: &[PathBuf]) -> Result<Watch, Failure> {
        let bad = |error: &dyn std::fmt::Display| {
            Failure::new(format!("cannot watch for changed files: {error}"))
        };
        let dirs = dirs
            .iter()
            .map(|dir| dir.canonicalize().map_err(|error| bad(&error)));
        let dirs: Vec<PathBuf> = dirs.collect::<Result<_, _>>()?;
        let (sender, events) = unbounded_channel();
        let all = dirs.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            // Where there was more than could be told, anything may have changed; to look at a file
            // changes nothing.
            let paths = match event.need_rescan() {
                true => all.clone(),
                false if matches!(event.kind, EventKind::Access(_)) => return,
                false => event.paths,
            };
            // Who cannot be told any more does not listen.
            let _ = sender.send(paths);
        });
        let watcher = watcher.map_err(|error| bad(&error))?;
        let mut watch = Watch {
            watcher,
            dirs,
            events,
            found: BTreeSet::new(),
            last: Instant::now(),
        };
        for at in 0..watch.dirs.len() {
            watch.look(at).map_err(|error| bad(&error))?;
        }
        Ok(watch)
    }

    /// Watches what is at the place of a package now, which may have been put there in place of
    /// another.
    fn look(&mut self, at: usize) -> notify::Result<()> {
        let dir = self.dirs[at].clone();
        let nearest = || dir.ancestors().skip(1).find(|above| above.exists());
        // What is above tells when the directory itself goes or comes back; one that may not be
        // read tells nothing.
        let mut watched = None;
        while watched != nearest() {
            watched = nearest();
            if let Some(above) = watched {
                let _ = self.watcher.watch(above, RecursiveMode::NonRecursive);
            }
        }
        self.watcher.watch(&dir, RecursiveMode::NonRecursive)?;
        self.watcher
            .watch(&dir.join(".registry"), RecursiveMode::Recursive)
    }

    /// Waits until something is saved, and answers in which of the directories. Nothing is lost if
    /// this is given up.
    pub async fn saved(&mut self) -> BTreeSet<usize> {
        loop {
            let paths = if self.found.is_empty() {
                match self.events.recv().await {
                    Some(paths) => paths,
                    None => return std::future::pending().await,
                }
            } else {
                match tokio::time::timeout_at(self.last + QUIET, self.events.recv()).await {
                    Ok(Some(paths)) => paths,
                    Ok(None) | Err(_) => return std::mem::take(&mut self.found),
                }
            };
            for at in 0..self.dirs.len() {
                let registry = self.dirs[at].join(".registry");
                let other = paths
                    .iter()
                    .any(|path| self.dirs[at].starts_with(path) || *path == registry);
                if other {
                    // If it is gone for the moment, a directory above tells when it is back.
                    let _ = self.look(at);
                }
                if other || paths.iter().any(|path| counts(path, &registry)) {
                    self.found.insert(at);
                    // What else happens in the directories above is no reason to wait.
                    self.last = Instant::now();
                }
            }
        }
    }
}

/// Whether a file is part of a package: inside, and none that editors put beside what they edit.
fn counts(path: &Path, registry: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.starts_with(registry) && !is_passing(&name)
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

    #[tokio::test(flavor = "multi_thread")]
    async fn a_save_is_not_lost_by_who_does_something_else_while_waiting_for_it() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join(".registry")).unwrap();
        let mut watch = Watch::start(&[place.path().to_owned()]).unwrap();
        std::fs::write(place.path().join(".registry/app.yaml"), "title: Shop").unwrap();
        let waiting = async {
            loop {
                if let Ok(saved) = tokio::time::timeout(QUIET / 4, watch.saved()).await {
                    return saved;
                }
            }
        };
        let saved = tokio::time::timeout(Duration::from_secs(30), waiting).await;
        assert_eq!(saved.ok(), Some(BTreeSet::from([0])));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_comes_back_with_all_that_is_above_it_is_noticed() {
        let place = tempfile::tempdir().unwrap();
        let above = place.path().join("work/shops");
        let make = || std::fs::create_dir_all(above.join("shop/.registry")).unwrap();
        make();
        let mut watch = Watch::start(&[above.join("shop")]).unwrap();
        let mut told = async || {
            tokio::time::timeout(Duration::from_secs(30), watch.saved())
                .await
                .ok()
        };
        std::fs::remove_dir_all(place.path().join("work")).unwrap();
        assert_eq!(told().await, Some(BTreeSet::from([0])));
        make();
        assert_eq!(told().await, Some(BTreeSet::from([0])));
        std::fs::write(above.join("shop/.registry/app.yaml"), "title: Shop").unwrap();
        assert_eq!(told().await, Some(BTreeSet::from([0])));
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
