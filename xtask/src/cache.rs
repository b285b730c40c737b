//! Where things that outlive a clone are kept: built control planes and oracles, and CI's target
//! directories.

use std::{
    ffi::OsString,
    fs::{File, TryLockError},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

/// The cache directory: `$CAIRN_CACHE`, else `$XDG_CACHE_HOME/cairn`, else `~/.cache/cairn`.
///
/// `.ci/run` follows the same rule in shell.
pub fn root() -> Result<PathBuf> {
    choose(|name| std::env::var_os(name))
}

/// The root of this repository, known since this program was compiled from it.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// Waits until no other process builds; the lock ends with the file, so with the process at the
/// latest.
pub fn lock(path: &Path) -> Result<File> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            eprintln!("waiting for another `cargo xtask`");
            file.lock()
                .with_context(|| format!("cannot lock {}", path.display()))?;
        }
        Err(TryLockError::Error(error)) => {
            return Err(error).with_context(|| format!("cannot lock {}", path.display()));
        }
    }
    Ok(file)
}

fn choose(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    let set = |name: &str| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let root = if let Some(root) = set("CAIRN_CACHE") {
        root
    } else if let Some(xdg) = set("XDG_CACHE_HOME") {
        xdg.join("cairn")
    } else if let Some(home) = set("HOME") {
        home.join(".cache/cairn")
    } else {
        bail!("there is no place for the cache\nhint: set CAIRN_CACHE to a directory");
    };
    if !root.is_absolute() {
        bail!(
            "the cache directory {} is not an absolute path\nhint: set CAIRN_CACHE to one",
            root.display()
        );
    }
    Ok(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(variables: &[(&str, &str)]) -> Result<PathBuf> {
        choose(|name| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.into())
        })
    }

    #[test]
    fn the_most_specific_variable_wins() {
        let all = [
            ("CAIRN_CACHE", "/c"),
            ("XDG_CACHE_HOME", "/x"),
            ("HOME", "/h"),
        ];
        for (skip, expect) in [(0, "/c"), (1, "/x/cairn"), (2, "/h/.cache/cairn")] {
            assert_eq!(chosen(&all[skip..]).unwrap(), Path::new(expect));
        }
        assert_eq!(
            chosen(&[("CAIRN_CACHE", ""), ("HOME", "/h")]).unwrap(),
            Path::new("/h/.cache/cairn")
        );
    }

    #[test]
    fn a_cache_nowhere_or_at_a_relative_place_is_refused_with_a_hint() {
        for variables in [&[][..], &[("CAIRN_CACHE", "here")], &[("HOME", "")]] {
            assert!(
                chosen(variables)
                    .unwrap_err()
                    .to_string()
                    .contains("hint: set CAIRN_CACHE")
            );
        }
    }
}
