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
        let mut problems: Vec<String> = misnamed(&instance).into_iter().collect();
        let refused = kind.schema.as_ref().map(|schema| schema.admit(&mut instance)).unwrap_or_default();
        problems.extend(refused.iter().map(ToString::to_string));
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

    /// An instance from a file, and the fields of it that the API server would drop.
    pub fn instance(&self, file: &Path) -> Result<(&CompiledKind, Value, Vec<Finding>), Failure> {
        let written = input::data(file)?;
        let (kind, instance) = self.admit(file, written.clone())?;
        let mut paths = Vec::new();
        dropped(&written, &instance, &mut Vec::new(), &mut paths);
        let spans = input::text(file).ok().and_then(|text| yaml::parse_spanned(&text).ok());
        let finding = |path: &Vec<yaml::Step>| {
            let found = spans.as_ref().and_then(|spanned| spanned.spans.find(path)).and_then(|found| found.key);
            let (line, column) = found.map_or((0, 0), |key| (key.line, key.column));
            let what = format!("`{}` is no field of {}: the API server drops it", shown(path), kind.gvk.kind);
            let hint = suggestion(kind, path);
            Finding { file: file.display().to_string(), line, column, severity: Severity::Warning, what, hint }
        };
        let findings = paths.iter().map(finding).collect();
        Ok((kind, instance, findings))
    }
}

/// The paths of fields that are in `before` but not in `after`.
fn dropped(before: &Value, after: &Value, path: &mut Vec<yaml::Step>, found: &mut Vec<Vec<yaml::Step>>) {
    match (before, after) {
        (Value::Object(fields), Value::Object(_)) => {
            for (key, value) in fields {
                path.push(yaml::Step::from(key.as_str()));
                match after.get(key) {
                    Some(after) => dropped(value, after, path, found),
                    None if value.is_null() => {}
                    None => found.push(path.clone()),
                }
                path.pop();
            }
        }
        (Value::Array(items), Value::Array(others)) => {
            for (index, (item, other)) in items.iter().zip(others).enumerate() {
                path.push(yaml::Step::from(index));
                dropped(item, other, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

fn shown(path: &[yaml::Step]) -> String {
    let step = |step: &yaml::Step| match step {
        yaml::Step::Key(key) => format!(".{key}"),
        yaml::Step::Index(index) => format!("[{index}]"),
    };
    path.iter().map(step).collect()
}

/// The field that was probably meant.
fn suggestion(kind: &CompiledKind, path: &[yaml::Step]) -> Option<String> {
    let step = |step: &yaml::Step| match step {
        yaml::Step::Key(key) => objects::Step::from(&**key),
        yaml::Step::Index(index) => objects::Step::from(*index),
    };
    match kind.schema.as_ref()?.lookup(&path.iter().map(step).collect()) {
        objects::Lookup::Missing(missing) => missing.suggestion.map(|near| format!("did you mean `{near}`?")),
        _ => None,
    }
}

/// What is wrong with the name of an instance, as the API server would say it.
fn misnamed(instance: &Value) -> Option<String> {
    let Some(name) = instance["metadata"]["name"].as_str() else {
        return Some("metadata.name: Required value: name is required".to_string());
    };
    let what = "lower case letters, digits, '-' and '.', beginning and ending with a letter or digit";
    (!objects::is_subdomain(name)).then(|| format!("metadata.name: Invalid value: {name:?}: a name consists of {what}"))
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
