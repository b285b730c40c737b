//! The files that hold Go's answers: made anew in a scratch copy of the tree, and compared with
//! those in this one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::{Path, PathBuf},
    thread,
};

use anyhow::{Context, Result, anyhow};

use super::{Oracles, complete};
use crate::{
    cache,
    generated::{GENERATED, Generated},
};

const TEMPLATE_VECTORS: &str = "crates/gotpl/tests/golden";
const CHARTS: &str = "crates/gotpl/tests/charts";
const BENCHMARKS: &str = "crates/gotpl/tests/bench";
const YAML_VECTORS: &str = "crates/yaml/tests/golden";
const TABLES: &str = "crates/gocompat/src/tables.rs";
const LETTERS: &str = "crates/yaml/src/letters.rs";

/// Everything that is recorded; in the folders of vectors a list made by hand may lie beside them.
const ALL: [&str; 6] = [
    TEMPLATE_VECTORS,
    CHARTS,
    BENCHMARKS,
    YAML_VECTORS,
    TABLES,
    LETTERS,
];
/// Where a recording starts from what is there: templates and data are made by hand, what Go makes
/// of them is not.
const WITH_SOURCES: [&str; 2] = [CHARTS, BENCHMARKS];

type Files = BTreeMap<String, Vec<u8>>;

/// One file that is not what it should be.
pub struct Change {
    /// From the root of the repository.
    path: String,
    /// What is there now, and what should be.
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
}

impl Change {
    /// Makes the file what it should be.
    pub fn apply(&self) -> Result<()> {
        let path = cache::repository().join(&self.path);
        match &self.new {
            Some(new) => write(&path, new),
            None => {
                fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))
            }
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(old), Some(new)) = (&self.old, &self.new) else {
            let word = if self.old.is_none() {
                "missing"
            } else {
                "not from Go"
            };
            return write!(f, "  {}: {word}", self.path);
        };
        let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
        let line = old
            .lines()
            .zip(new.lines())
            .take_while(|(old, new)| old == new)
            .count();
        let show = |text: &str| -> String {
            text.lines()
                .nth(line)
                .unwrap_or("(end)")
                .chars()
                .take(300)
                .collect()
        };
        write!(
            f,
            "  {}:{}\n    recorded {}\n    Go says  {}",
            self.path,
            line + 1,
            show(&old),
            show(&new)
        )
    }
}

/// What would have to change for the records to be what Go answers now.
pub fn record(oracles: &Oracles) -> Result<Vec<Change>> {
    let scratch = tempfile::tempdir().context("cannot create a temporary directory")?;
    let root = scratch.path();
    for (path, bytes) in files(cache::repository(), &WITH_SOURCES)? {
        write(&root.join(path), &bytes)?;
    }
    for place in [TEMPLATE_VECTORS, YAML_VECTORS, TABLES, LETTERS] {
        let path = root.join(place);
        let dir = if path.extension().is_some() {
            path.parent().unwrap_or(root)
        } else {
            &path
        };
        fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    }
    thread::scope(|scope| {
        let yaml = scope.spawn(|| {
            complete(
                oracles
                    .yaml
                    .command()
                    .arg("generate")
                    .arg(root.join(YAML_VECTORS)),
            )?;
            complete(
                oracles
                    .yaml
                    .command()
                    .arg("unicode")
                    .arg(root.join(LETTERS)),
            )
        });
        complete(
            oracles
                .templates
                .command()
                .args(["unicode", "--out"])
                .arg(root.join(TABLES)),
        )?;
        complete(
            oracles
                .templates
                .command()
                .args(["charts", "--dir"])
                .arg(root.join(CHARTS)),
        )?;
        complete(
            oracles
                .templates
                .command()
                .args(["bench", "--write", "--dir"])
                .arg(root.join(BENCHMARKS)),
        )?;
        complete(
            oracles
                .templates
                .command()
                .args(["vectors", "--out"])
                .arg(root.join(TEMPLATE_VECTORS)),
        )?;
        yaml.join()
            .map_err(|_| anyhow!("the recording of YAML ended in a panic"))?
    })?;
    for generated in GENERATED
        .iter()
        .filter(|generated| ALL.contains(&generated.path))
    {
        stamp(generated, root)?;
    }
    Ok(changes(
        files(cache::repository(), &ALL)?,
        files(root, &ALL)?,
    ))
}

/// Puts the stamp into a file that was just written below `root`; what it is made from is in this
/// tree.
fn stamp(generated: &Generated, root: &Path) -> Result<()> {
    let written = root.join(generated.path);
    let body = fs::read(&written).with_context(|| format!("cannot read {}", written.display()))?;
    let stamped = generated
        .stamped(cache::repository(), body)
        .with_context(|| format!("cannot read what {} is made from", generated.path))?;
    for (path, bytes) in stamped {
        let relative = path.strip_prefix(cache::repository()).unwrap_or(&path);
        write(&root.join(relative), &bytes)?;
    }
    Ok(())
}

fn changes(mut old: Files, mut new: Files) -> Vec<Change> {
    let paths: BTreeSet<String> = old.keys().chain(new.keys()).cloned().collect();
    let change = |path: String| Change {
        old: old.remove(&path),
        new: new.remove(&path),
        path,
    };
    paths
        .into_iter()
        .map(change)
        .filter(|change| change.old != change.new)
        .collect()
}

/// The recorded files at these places below `root`, by their paths from there.
fn files(root: &Path, places: &[&str]) -> Result<Files> {
    let mut found = Files::new();
    let mut left: Vec<PathBuf> = places.iter().map(PathBuf::from).collect();
    while let Some(relative) = left.pop() {
        let path = root.join(&relative);
        let cannot = || format!("cannot read {}", path.display());
        if path.is_dir() {
            for entry in fs::read_dir(&path).with_context(cannot)? {
                left.push(relative.join(entry.with_context(cannot)?.file_name()));
            }
        } else if !(relative.starts_with(TEMPLATE_VECTORS)
            && relative.extension().is_some_and(|it| it == "txt"))
        {
            found.insert(
                relative.display().to_string(),
                fs::read(&path).with_context(cannot)?,
            );
        }
    }
    Ok(found)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, bytes))
        .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Files {
        files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
            .collect()
    }

    #[test]
    fn a_change_names_the_file_and_the_first_line_that_differs() {
        let old = tree(&[("a", "same"), ("b", "1\n2\n3"), ("c", "old"), ("e", "1\n")]);
        let new = tree(&[
            ("a", "same"),
            ("b", "1\nzwei\n3"),
            ("d", "new"),
            ("e", "1\n2\n"),
        ]);
        let shown: Vec<String> = changes(old, new).iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "  b:2\n    recorded 2\n    Go says  zwei",
                "  c: not from Go",
                "  d: missing",
                "  e:2\n    recorded (end)\n    Go says  2"
            ]
        );
    }

    #[test]
    fn every_place_of_a_record_is_there_and_lists_made_by_hand_are_not_among_them() {
        let all = files(cache::repository(), &ALL).unwrap();
        for place in ALL {
            assert!(all.keys().any(|path| path.starts_with(place)), "{place}");
        }
        assert!(
            all.len() > 100
                && !all
                    .keys()
                    .any(|path| path.ends_with(".txt") && path.contains("/golden/"))
        );
    }
}
