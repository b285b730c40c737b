//! A package directory on disk, read and compiled.

pub(crate) mod builtin_schemas;
pub(crate) mod instance;
pub(crate) mod sample_instances;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::{Compiled, Severity, Stack};
use objects::Gvk;
use package::{Files, Package};
use serde_json::Value;

use crate::terminal::error::Failure;
use crate::terminal::finding::Finding;

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
    /// The texts of instances that lie beside the package and were tried.
    pub beside: BTreeMap<String, String>,
}

impl Project {
    /// Reads the package in a directory. What is wrong with it is among its findings.
    pub fn read(dir: &Path) -> Result<Project, Failure> {
        let mut files = Files::new();
        if !dir.is_dir() {
            return Err(
                Failure::new(format!("there is no directory {}", dir.display()))
                    .hint(packages_near(dir)),
            );
        }
        let mut links = Vec::new();
        collect(dir, dir, &mut files, &mut links)?;
        let name = dir
            .canonicalize()
            .ok()
            .and_then(|dir| Some(dir.file_name()?.to_string_lossy().into_owned()));
        let mut project = Project::of(dir, name.as_deref().unwrap_or("stack"), files);
        project.refuse_links(&links);
        if !dir.join(".registry").is_dir() {
            let missing = project
                .findings
                .iter_mut()
                .filter(|finding| finding.file.is_empty());
            missing.for_each(|finding| finding.hint = Some(packages_near(dir)));
        }
        Ok(project)
    }

    /// A link may lead anywhere, and there is no telling where on the machine that installs the
    /// package.
    fn refuse_links(&mut self, links: &[String]) {
        for link in links {
            let finding = Finding::new(
                link,
                0,
                "this is a symbolic link, and a package holds none: it is not read",
            );
            self.findings
                .push(finding.hint("put a copy of the file here"));
            self.compiled = None;
        }
        self.findings.sort();
    }

    /// The package of these files, under a name.
    pub fn of(dir: &Path, name: &str, files: Files) -> Project {
        let (package, problems) = package::read(&files);
        let mut findings: Vec<Finding> = problems.iter().map(Finding::from).collect();
        let mut compiled = None;
        // Without one of its kinds, most of what could be said of the templates would not be true.
        if package.all_crds {
            let (found, problems) = builtin_schemas::compile(&Stack::of(&package, name, "default"));
            findings.extend(problems.iter().map(Finding::from));
            compiled = found;
        }
        findings.sort();
        findings.dedup();
        if findings
            .iter()
            .any(|finding| finding.severity == Severity::Error)
        {
            compiled = None;
        }
        Project {
            dir: dir.to_path_buf(),
            files,
            package,
            compiled,
            findings,
            beside: BTreeMap::new(),
        }
    }

    /// The directory that a file or directory of a package belongs to.
    pub fn root_of(path: &Path) -> Option<PathBuf> {
        path.ancestors()
            .find(|dir| dir.join(".registry").is_dir())
            .map(Path::to_path_buf)
    }

    /// The directory of the package that somebody means who names a directory of its files or its
    /// tests, or is in one.
    pub fn around(dir: &Path) -> PathBuf {
        let whole = || {
            let full = dir
                .canonicalize()
                .ok()
                .filter(|_| !dir.join(".registry").is_dir())?;
            let root = Project::root_of(&full)?;
            let inside = full.strip_prefix(&root).ok()?;
            // A package that lies among the tests of another is meant itself.
            let is_part = inside.starts_with(".registry")
                || (inside.starts_with("tests") && !dir.join("app.yaml").exists());
            let depth = inside.components().count();
            let named = dir
                .ancestors()
                .nth(depth)
                .filter(|named| !named.as_os_str().is_empty());
            // As short as it was named, where that leads there.
            let climbed = std::iter::repeat_n("..", depth).collect::<PathBuf>();
            let climbed = if dir == Path::new(".") {
                climbed
            } else {
                dir.join(climbed)
            };
            let leads = |path: &PathBuf| path.canonicalize().is_ok_and(|path| path == root);
            let path = named
                .map(Path::to_path_buf)
                .filter(leads)
                .or_else(|| Some(climbed).filter(leads));
            path.or(Some(root)).filter(|_| is_part)
        };
        whole().unwrap_or_else(|| dir.to_path_buf())
    }

    /// The compiled stack, or all that is wrong with it.
    pub fn compiled(&self) -> Result<&Compiled, Failure> {
        self.compiled.as_ref().ok_or_else(|| {
            let errors: Vec<_> = self
                .findings
                .iter()
                .filter(|finding| finding.severity == Severity::Error)
                .collect();
            let Some(first) = errors.first() else {
                return Failure::new(format!("{} cannot be compiled", self.dir.display()));
            };
            let mut failure = Failure::of(&self.placed(first), self.text(&first.file));
            if errors.len() == 1 {
                return failure;
            }
            failure
                .message
                .push_str(&format!(" (and {} more)", errors.len() - 1));
            failure.hint(format!(
                "`cairn validate {}` shows all of it",
                self.dir.display()
            ))
        })
    }

    /// Whether objects of a kind are in namespaces, as far as can be known without a cluster: most
    /// are.
    pub fn is_namespaced(&self, object: &Value) -> bool {
        let Some(gvk) = Gvk::of(object) else {
            return true;
        };
        let own = self
            .package
            .crds
            .iter()
            .find(|crd| crd.crd.group == gvk.group && crd.crd.names.kind == gvk.kind);
        match (objects::builtin_kind(&gvk), own) {
            (Some(known), _) => known.namespaced,
            (None, Some(own)) => own.crd.scope == api::Scope::Namespaced,
            (None, None) => true,
        }
    }

    /// A finding with its file as it is reached from here, so that an editor or a terminal finds
    /// it.
    pub fn placed(&self, finding: &Finding) -> Finding {
        if self.dir == Path::new(".") {
            return finding.clone();
        }
        let file = if finding.file.is_empty() {
            self.dir.clone()
        } else {
            self.dir.join(&finding.file)
        };
        Finding {
            file: file.display().to_string(),
            ..finding.clone()
        }
    }

    /// The text of one of its files, for showing a line of it.
    pub fn text(&self, file: &str) -> Option<&str> {
        let own = self
            .files
            .get(file)
            .and_then(|bytes| std::str::from_utf8(bytes).ok());
        own.or_else(|| self.beside.get(file).map(String::as_str))
    }
}

/// Where a package is, for somebody who named a directory that is none.
pub(crate) fn packages_near(dir: &Path) -> String {
    let is_package = |dir: &Path| dir.join(".registry").is_dir();
    let around = Path::new(".")
        .canonicalize()
        .ok()
        .and_then(|here| Project::root_of(&here));
    let named = dir
        .components()
        .next()
        .map(|part| part.as_os_str().to_owned());
    if let Some(root) = around.filter(|root| !dir.is_dir() && root.file_name() == named.as_deref())
    {
        let name = root
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        return format!("you are in the package {name}: leave the name out");
    }
    // What was named may be misspelt; then its neighbours are near.
    let place = if dir.is_dir() {
        dir
    } else {
        dir.parent().unwrap_or(dir)
    };
    let place = if place.as_os_str().is_empty() {
        Path::new(".")
    } else {
        place
    };
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let inner = entries
        .map(|entry| entry.path())
        .filter(|path| is_package(path));
    let mut found: Vec<String> = inner
        .map(|path| {
            path.strip_prefix(".")
                .unwrap_or(&path)
                .display()
                .to_string()
        })
        .collect();
    found.sort();
    found.truncate(3);
    if !found.is_empty() {
        return format!("here is a package: {}", found.join(", "));
    }
    let above = dir
        .canonicalize()
        .ok()
        .and_then(|full| Project::root_of(&full));
    match above {
        Some(root) => format!("it is a part of the package {}", root.display()),
        None => "`cairn init NAME` starts one".to_owned(),
    }
}

/// Whether a file is one that editors put beside what they edit.
pub(crate) fn is_passing(name: &str) -> bool {
    name.ends_with('~')
        || name.ends_with(".swp")
        || name.ends_with(".swx")
        || name.starts_with(".#")
}

fn collect(
    root: &Path,
    dir: &Path,
    files: &mut Files,
    links: &mut Vec<String>,
) -> Result<(), Failure> {
    let failed = |path: &Path, error: std::io::Error| {
        Failure::new(format!("cannot read {}: {error}", path.display()))
    };
    let entries = std::fs::read_dir(dir).map_err(|error| failed(dir, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| failed(dir, error))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(|error| failed(&path, error))?;
        let name = entry.file_name();
        if is_passing(&name.to_string_lossy()) {
            continue;
        }
        if kind.is_dir() {
            // Of the directory itself only the package counts; beside it are tests, docs and what
            // git keeps.
            if dir == root && name != ".registry" && root.join(".registry").is_dir() {
                continue;
            }
            collect(root, &path, files, links)?;
        } else if kind.is_file() && (dir != root || !root.join(".registry").is_dir()) {
            let size = entry
                .metadata()
                .map_err(|error| failed(&path, error))?
                .len();
            if size > FILE_BYTES {
                return Err(Failure::new(format!(
                    "{} has {size} bytes; a file of a package has at most {FILE_BYTES}",
                    path.display()
                )));
            }
            if files.len() >= MAX_FILES {
                return Err(Failure::new(format!(
                    "{} has more than {MAX_FILES} files",
                    root.display()
                )));
            }
            let bytes = std::fs::read(&path).map_err(|error| failed(&path, error))?;
            files.insert(inside(root, &path), bytes);
        } else if kind.is_symlink() && (dir != root || name == ".registry") {
            links.push(inside(root, &path));
        }
    }
    Ok(())
}

/// A path from the root of the package, with slashes.
fn inside(root: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = inner
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::Project;

    #[test]
    fn what_an_editor_keeps_beside_a_file_is_no_part_of_a_package() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join(".registry/templates/web.example.org/v1");
        std::fs::create_dir_all(&dir).unwrap();
        for name in [
            "service.yaml",
            "service.yaml~",
            ".service.yaml.swp",
            ".#service.yaml",
        ] {
            std::fs::write(dir.join(name), "kind: Service\n").unwrap();
        }
        let files = Project::read(place.path()).unwrap().files;
        let names: Vec<&String> = files.keys().collect();
        assert_eq!(
            names,
            [".registry/templates/web.example.org/v1/service.yaml"]
        );
    }
}
