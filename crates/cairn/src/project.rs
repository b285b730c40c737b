//! A package directory on disk, read and compiled.

use std::path::{Path, PathBuf};

use engine::{Compiled, CompiledKind, Severity, Stack};
use objects::Gvk;
use package::{Files, Package};
use serde_json::Value;

use crate::failure::Failure;
use crate::finding::Finding;
use crate::input;

/// The largest file that can be part of a package, and how many there can be.
const FILE_BYTES: u64 = 4 << 20;
const MAX_FILES: usize = 10_000;

/// A package with everything that is known of it.
pub(crate) struct Project {
    /// Its directory.
    pub dir: PathBuf,
    pub files: Files,
    pub package: Package,
    /// None if something is wrong with it.
    pub compiled: Option<Compiled>,
    pub findings: Vec<Finding>,
}

impl Project {
    /// Reads the package in a directory. What is wrong with it is among its findings.
    pub fn read(dir: &Path) -> Result<Project, Failure> {
        let mut files = Files::new();
        if !dir.is_dir() {
            return Err(Failure::new(format!("there is no directory {}", dir.display())));
        }
        collect(dir, dir, &mut files)?;
        let name = dir.canonicalize().ok().and_then(|dir| Some(dir.file_name()?.to_string_lossy().into_owned()));
        Ok(Project::of(dir, name.as_deref().unwrap_or("stack"), files))
    }

    /// The package of these files, under a name.
    pub fn of(dir: &Path, name: &str, files: Files) -> Project {
        let (package, problems) = package::read(&files);
        let mut findings: Vec<Finding> = problems.iter().map(Finding::from).collect();
        let (mut compiled, problems) = engine::compile(&Stack::of(&package, name, "default"));
        findings.extend(problems.iter().map(Finding::from));
        findings.sort();
        findings.dedup();
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            compiled = None;
        }
        Project { dir: dir.to_path_buf(), files, package, compiled, findings }
    }

    /// The directory that a file or directory of a package belongs to.
    pub fn root_of(path: &Path) -> Option<PathBuf> {
        path.ancestors().find(|dir| dir.join(".registry").is_dir()).map(Path::to_path_buf)
    }

    /// The compiled stack, or all that is wrong with it.
    pub fn compiled(&self) -> Result<&Compiled, Failure> {
        self.compiled.as_ref().ok_or_else(|| {
            let errors: Vec<_> = self.findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
            let first = errors.first().map_or_else(String::new, ToString::to_string);
            let more = if errors.len() > 1 { format!(" (and {} more)", errors.len() - 1) } else { String::new() };
            let failure = Failure::new(format!("{first}{more}"));
            failure.hint(format!("`cairn validate {}` shows all of it", self.dir.display()))
        })
    }

    /// The text of one of its files, for showing a line of it.
    pub fn text(&self, file: &str) -> Option<&str> {
        std::str::from_utf8(self.files.get(file)?).ok()
    }

    /// The kind of an instance, and the instance as the API server would store it: defaulted, pruned and checked.
    pub fn admit(&self, file: &Path, mut instance: Value) -> Result<(&CompiledKind, Value), Failure> {
        let compiled = self.compiled()?;
        let shown = file.display();
        let Some(gvk) = Gvk::of(&instance) else {
            return Err(Failure::new(format!("{shown}: this is no object: apiVersion or kind is missing")));
        };
        let Some(kind) = compiled.kind(&gvk) else {
            let known: Vec<_> = compiled.kinds.iter().map(|kind| kind.gvk.to_string()).collect();
            let failure = Failure::new(format!("{shown}: the package owns no {gvk}"));
            return Err(failure.hint(format!("it owns {}", known.join(", "))));
        };
        complete(&mut instance, kind);
        let problems = kind.schema.as_ref().map(|schema| schema.admit(&mut instance)).unwrap_or_default();
        if !problems.is_empty() {
            let lines: Vec<_> = problems.iter().map(|problem| format!("  {problem}")).collect();
            return Err(Failure::new(format!(
                "{shown}: the API server would refuse this {}:\n{}",
                gvk.kind,
                lines.join("\n")
            )));
        }
        Ok((kind, instance))
    }

    /// An instance from a file.
    pub fn instance(&self, file: &Path) -> Result<(&CompiledKind, Value), Failure> {
        self.admit(file, input::data(file)?)
    }
}

/// What the API server adds to an object that was just created, where the file does not say.
fn complete(instance: &mut Value, kind: &CompiledKind) {
    if !instance["metadata"].is_object() {
        instance["metadata"] = serde_json::json!({});
    }
    let metadata = &mut instance["metadata"];
    if kind.namespaced && metadata["namespace"].is_null() {
        metadata["namespace"] = "default".into();
    }
    if metadata["uid"].is_null() {
        metadata["uid"] = "00000000-0000-4000-8000-000000000000".into();
    }
    if metadata["creationTimestamp"].is_null() {
        metadata["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
    }
    if metadata["generation"].is_null() {
        metadata["generation"] = 1.into();
    }
}

fn collect(root: &Path, dir: &Path, files: &mut Files) -> Result<(), Failure> {
    let failed = |path: &Path, error: std::io::Error| Failure::new(format!("cannot read {}: {error}", path.display()));
    let entries = std::fs::read_dir(dir).map_err(|error| failed(dir, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| failed(dir, error))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(|error| failed(&path, error))?;
        let name = entry.file_name();
        if kind.is_dir() {
            // Of the directory itself only the package counts; beside it are tests, docs and what git keeps.
            if dir == root && name != ".registry" && root.join(".registry").is_dir() {
                continue;
            }
            collect(root, &path, files)?;
        } else if kind.is_file() && (dir != root || !root.join(".registry").is_dir()) {
            let size = entry.metadata().map_err(|error| failed(&path, error))?.len();
            if size > FILE_BYTES {
                return Err(Failure::new(format!(
                    "{} has {size} bytes; a file of a package has at most {FILE_BYTES}",
                    path.display()
                )));
            }
            if files.len() >= MAX_FILES {
                return Err(Failure::new(format!("{} has more than {MAX_FILES} files", root.display())));
            }
            let bytes = std::fs::read(&path).map_err(|error| failed(&path, error))?;
            let inner = path.strip_prefix(root).unwrap_or(&path);
            let parts: Vec<_> = inner.components().map(|part| part.as_os_str().to_string_lossy()).collect();
            files.insert(parts.join("/"), bytes);
        }
    }
    Ok(())
}
