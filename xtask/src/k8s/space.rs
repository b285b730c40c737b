//! Whether the disk has room for a build, asked before minutes of compiling end in a full disk.

use std::path::Path;

use anyhow::{Result, bail};

use crate::toolchain::Toolchain;

/// The binaries of the larger set, with a margin.
const SHELF: u64 = gib(1);
/// What an empty build cache grows by, with the linker's temporary files; measured 4.3 GiB in all.
const BUILD_CACHE: u64 = gib(4);

const fn gib(n: u64) -> u64 {
    n << 30
}

/// Fails when a build would fill a disk.
pub fn check(shelf: &Path, toolchain: &Toolchain) -> Result<()> {
    // A build cache that exists may be warm, and then needs little.
    let cache_need = if toolchain.build_cache.join("00").is_dir() {
        gib(1)
    } else {
        BUILD_CACHE
    };
    let temporary = std::env::temp_dir();
    for (place, path, need) in [
        ("the cache", shelf, SHELF),
        (
            "Go's build cache",
            toolchain.build_cache.as_path(),
            cache_need,
        ),
        ("the temporary directory", temporary.as_path(), gib(1)),
    ] {
        if let Some(free) = free(path) {
            judge(place, path, need, free)?;
        }
    }
    Ok(())
}

/// Free bytes for us on the file system that holds `path`, or would; `None` if the system does not
/// say.
fn free(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|ancestor| ancestor.exists())?;
    let stat = rustix::fs::statvfs(existing).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn judge(place: &str, path: &Path, need: u64, free: u64) -> Result<()> {
    if free >= need {
        return Ok(());
    }
    let shown = |bytes: u64| format!("{}.{} GiB", bytes / gib(1), bytes % gib(1) * 10 / gib(1));
    bail!(
        "no space to build Kubernetes: {place} ({}) has {} free, and {} are needed\n\
         hint: free some (`go clean -cache` empties Go's), or point CAIRN_CACHE, GOCACHE or TMPDIR elsewhere",
        path.display(),
        shown(free),
        shown(need)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_space_names_the_place_what_is_there_and_what_is_needed() {
        let path = Path::new("/cache");
        assert!(judge("the cache", path, gib(1), gib(1)).is_ok());
        let error = judge("the cache", path, gib(1), gib(1) / 2)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("the cache (/cache) has 0.5 GiB free, and 1.0 GiB are needed"),
            "{error}"
        );
        assert!(error.contains("hint: "), "{error}");
    }

    #[test]
    fn the_space_of_a_place_that_is_not_there_yet_is_that_of_its_nearest_parent() {
        assert!(free(Path::new("/no/such/place")).is_some_and(|bytes| bytes > 0));
    }
}
