//! A Go program of `tools/`, built once for each state of its sources and kept in the cache.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::complete;
use crate::{
    cache,
    toolchain::{Purpose, Toolchain, go},
};

const PURPOSE: Purpose = Purpose {
    what: "the oracles",
    otherwise: "",
};

/// A built program, and the module it was built from.
pub struct Tool {
    program: PathBuf,
    module: PathBuf,
    /// Such as `go1.26.8`.
    pub go: String,
}

impl Tool {
    /// The program of `tools/NAME`, which is built first if need be.
    pub fn provide(name: &str) -> Result<Self> {
        let module = cache::repository().join("tools").join(name);
        let toolchain = Toolchain::find(&module, &PURPOSE)?;
        let shelf = cache::root()?.join("oracle");
        let program = shelf.join(format!("{name}-{}", key(&module, &toolchain)?));
        let tool = Self {
            program,
            module,
            go: toolchain.version,
        };
        if tool.program.is_file() {
            return Ok(tool);
        }
        fs::create_dir_all(&shelf)
            .with_context(|| format!("cannot create the cache {}", shelf.display()))?;
        let _lock = cache::lock(&shelf.join("build.lock"))?;
        if !tool.program.is_file() {
            eprintln!("building tools/{name}");
            let partial = tool.program.with_extension("partial");
            complete(
                go(&tool.module)
                    .args([
                        "build",
                        "-mod=readonly",
                        "-trimpath",
                        "-buildvcs=false",
                        "-o",
                    ])
                    .arg(&partial)
                    .arg("."),
            )?;
            fs::rename(&partial, &tool.program).with_context(|| {
                format!(
                    "cannot move {} to {}",
                    partial.display(),
                    tool.program.display()
                )
            })?;
        }
        Ok(tool)
    }

    /// A call of the program, in its module.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.module);
        command
    }

    /// Where the program is.
    pub fn program(&self) -> &Path {
        &self.program
    }
}

/// Differs whenever the program could: the sources of the module's only package, its pins, and the
/// Go that builds it.
fn key(module: &Path, toolchain: &Toolchain) -> Result<String> {
    let entries =
        fs::read_dir(module).with_context(|| format!("cannot read {}", module.display()))?;
    let mut sources = Vec::new();
    for entry in entries {
        let path = entry
            .with_context(|| format!("cannot read {}", module.display()))?
            .path();
        if path
            .extension()
            .and_then(OsStr::to_str)
            .is_some_and(|it| ["go", "s", "mod", "sum"].contains(&it))
        {
            sources.push(path);
        }
    }
    sources.sort();
    let mut hash = Sha256::new();
    for part in [&toolchain.version, &toolchain.os, &toolchain.arch] {
        hash.update(part);
        hash.update([0]);
    }
    for path in sources {
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        hash.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    Ok(hash
        .finalize()
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_changes_with_the_sources_the_pins_and_the_toolchain_only() {
        let dir = tempfile::tempdir().unwrap();
        let toolchain = |version: &str| Toolchain {
            version: version.into(),
            os: "linux".into(),
            arch: "amd64".into(),
            build_cache: "/".into(),
        };
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        let now = || key(dir.path(), &toolchain("go1.26.8")).unwrap();
        write("main.go", "package main");
        write("go.mod", "module m");
        let first = now();
        write("README.md", "words");
        assert_eq!(first, now(), "words are not built");
        assert_ne!(first, key(dir.path(), &toolchain("go1.26.9")).unwrap());
        let mut seen = vec![first];
        for (name, text) in [
            ("main.go", "package  main"),
            ("go.sum", "x"),
            ("link.s", ""),
            ("go.mod", "module n"),
        ] {
            write(name, text);
            assert!(!seen.contains(&now()), "{name}");
            seen.push(now());
        }
    }
}
