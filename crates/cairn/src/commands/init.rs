//! `cairn init`: the first files of a stack, small ones to change or made from manifests.

use std::io::Write;
use std::path::{Path, PathBuf};

use engine::Severity;
use package::Files;
use scaffold::{Manifest, Names, Started, blank, from_manifests};
use serde_json::json;

use crate::cli::Init;
use crate::files::read;
use crate::project::Project;
use crate::terminal::error::{Code, Failure};
use crate::terminal::finding::Finding;
use crate::terminal::printer::Printer;
use crate::testing::case;

pub(crate) fn run(args: &Init, printer: &Printer) -> Result<Code, Failure> {
    let failed = |problem: &engine::Problem| Failure::of(&Finding::from(problem), None);
    let names = Names::new(&args.name, &args.group).map_err(|problem| Failure {
        code: Code::Usage,
        ..failed(&problem)
    })?;
    if args
        .from
        .iter()
        .filter(|file| *file == Path::new("-"))
        .count()
        > 1
    {
        return Err(Failure::usage("standard input can be read only once"));
    }
    let dir = args
        .dir
        .clone()
        .unwrap_or_else(|| PathBuf::from(&args.name));
    let mut warnings = Vec::new();
    let (files, started) = if args.from.is_empty() {
        (blank(&names), None)
    } else {
        let Given {
            manifests,
            passed_over,
        } = given(&args.from)?;
        warnings.extend(passed_over);
        let made = from_manifests(&names, &manifests).map_err(|problems| {
            let failures = problems.iter().map(|problem| {
                let finding = Finding::from(problem);
                let text = manifests
                    .iter()
                    .find(|manifest| manifest.file == finding.file);
                Failure::of(&finding, text.map(|manifest| manifest.text.as_str()))
            });
            Failure::all(failures)
                .unwrap_or_else(|| Failure::new("nothing can be made of these manifests"))
        })?;
        (made.files.clone(), Some(made))
    };
    passes(&dir, &names, &files, started.as_ref())?;
    write(&dir, &files)?;
    let notes = started.iter().flat_map(|started| &started.notes);
    warnings.extend(notes.map(Finding::from));
    for warning in &warnings {
        printer.finding(warning, None);
    }
    match args.outcome.output {
        Some(format) => {
            let made = json!({
                "directory": dir.display().to_string(), "apiVersion": names.api_version(), "kind": names.kind,
                "files": files.keys().collect::<Vec<_>>(), "warnings": warnings,
            });
            printer.outcome(&made, &dir.display().to_string(), format)?;
        }
        None => printer.result(story(&names, &dir, &files, started.as_ref()).as_bytes())?,
    }
    Ok(Code::Ok)
}

/// What there is to make a stack of.
struct Given {
    manifests: Vec<Manifest>,
    /// Words on directories that were not looked into.
    passed_over: Vec<Finding>,
}

/// What the files hold; of a directory its manifests, as `kubectl apply -f` takes them.
fn given(from: &[PathBuf]) -> Result<Given, Failure> {
    let mut given = Given {
        manifests: Vec::new(),
        passed_over: Vec::new(),
    };
    for path in from {
        let files = if path.is_dir() {
            let (files, deeper) = within(path)?;
            let deeper: Vec<&PathBuf> = deeper.iter().filter(|dir| !from.contains(dir)).collect();
            given.passed_over.extend(passed_over(path, &deeper));
            files
        } else {
            vec![path.clone()]
        };
        for file in files {
            given.manifests.push(Manifest {
                file: file.display().to_string(),
                text: read::text(&file)?,
            });
        }
    }
    Ok(given)
}

/// The manifests right in a directory, by name, and the directories inside of it that hold some
/// too.
fn within(dir: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Failure> {
    let failed =
        |error: std::io::Error| Failure::new(format!("cannot read {}: {error}", dir.display()));
    let entries = std::fs::read_dir(dir)
        .map_err(failed)?
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    let mut paths: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
    paths.sort();
    let files: Vec<PathBuf> = paths
        .iter()
        .filter(|path| is_manifest(path))
        .cloned()
        .collect();
    let mut deeper = Vec::new();
    paths
        .iter()
        .for_each(|path| hold_manifests(path, &mut deeper));
    if files.is_empty() {
        let failure = Failure::new(format!(
            "{} holds no .yaml, .yml or .json file",
            dir.display()
        ));
        let hint = match deeper.as_slice() {
            [] => "directories inside of it are not looked into: name them too".to_string(),
            deeper => format!(
                "name the directories inside of it: `--from {}`",
                shown(deeper, " ")
            ),
        };
        return Err(failure.hint(hint));
    }
    Ok((files, deeper))
}

fn is_manifest(file: &Path) -> bool {
    let extension = file
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default();
    ["json", "yaml", "yml"].contains(&extension) && file.is_file()
}

/// Finds the directories that hold manifests, a directory itself included, but no hidden ones and
/// nothing behind links.
fn hold_manifests(dir: &Path, found: &mut Vec<PathBuf>) {
    let is_hidden = dir
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with('.'));
    if is_hidden || dir.is_symlink() {
        return;
    }
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    if paths.iter().any(|path| is_manifest(path)) {
        found.push(dir.to_path_buf());
    }
    paths.iter().for_each(|path| hold_manifests(path, found));
}

/// A word on directories with manifests that were not looked into.
fn passed_over(dir: &Path, deeper: &[&PathBuf]) -> Option<Finding> {
    let few: Vec<&PathBuf> = deeper.iter().take(5).copied().collect();
    let more = match deeper.len() - few.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let what = format!(
        "directories inside of it were not looked into: {}{more}",
        shown(&few, ", ")
    );
    let hint = format!(
        "if they belong to it, name them too: `--from {} {}`",
        dir.display(),
        shown(&few, " ")
    );
    let finding = Finding {
        severity: Severity::Warning,
        hint: Some(hint),
        ..Finding::new(&dir.display().to_string(), 0, what)
    };
    (!deeper.is_empty()).then_some(finding)
}

fn shown(paths: &[impl AsRef<Path>], between: &str) -> String {
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.as_ref().display().to_string())
        .collect();
    paths.join(between)
}

/// Sees to it that what is about to be written passes its own tests.
fn passes(
    dir: &Path,
    names: &Names,
    files: &Files,
    started: Option<&Started>,
) -> Result<(), Failure> {
    let project = Project::of(dir, &names.name, files.clone());
    let errors = project
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error);
    let theirs = errors.filter_map(|finding| of_object(finding, started?));
    if let Some(failure) = Failure::all(theirs.map(|finding| Failure::of(&finding, None))) {
        return Err(failure);
    }
    let faulty = |what: &str| {
        let failure = Failure::new(format!(
            "the stack would not pass its own tests, and nothing was written: {what}"
        ));
        failure.hint(
            "this is a fault of cairn init: leave the object out, and report it with the manifests",
        )
    };
    project
        .compiled()
        .map_err(|failure| faulty(&failure.told()))?;
    for (path, bytes) in files.iter().filter(|(path, _)| path.starts_with("tests/")) {
        for listed in case::of(&dir.join(path), &String::from_utf8_lossy(bytes)) {
            let differences = match listed.case {
                Ok(case) => case.check(&project, false, &mut Vec::new())?,
                Err(faults) => faults,
            };
            if let Some(difference) = differences.first() {
                return Err(faulty(difference));
            }
        }
    }
    Ok(())
}

/// What is wrong with a template, told of the object that it was made from: nobody has seen the
/// template yet.
fn of_object(finding: &Finding, started: &Started) -> Option<Finding> {
    let template = finding.file.strip_suffix(".yaml")?.rsplit('/').next()?;
    let made = started
        .templates
        .iter()
        .find(|made| made.template == template)?;
    let what = format!("{}: {}", made.title, finding.what);
    let hint = finding
        .hint
        .clone()
        .or_else(|| Some("mend it in the manifests, or leave the object out".to_string()));
    Some(Finding {
        hint,
        ..Finding::new(&made.place.file, made.place.line, what)
    })
}

/// Writes files that are not there yet; if one is, or cannot be written, none stays behind.
fn write(dir: &Path, files: &Files) -> Result<(), Failure> {
    let there: Vec<&String> = files
        .keys()
        .filter(|path| dir.join(path).symlink_metadata().is_ok())
        .collect();
    let registry = dir.join(".registry");
    if registry.symlink_metadata().is_ok() || !there.is_empty() {
        let what = there.first().map_or(registry, |path| dir.join(path));
        let failure = Failure::new(format!(
            "{} is there already, and nothing is overwritten",
            what.display()
        ));
        return Err(failure.hint("choose another name, or another directory with --dir"));
    }
    let mut new = Vec::new();
    for (path, bytes) in files {
        let path = dir.join(path);
        if let Err(error) = write_new(&path, bytes, &mut new) {
            // Directories that something else is in stay by themselves.
            for path in new.iter().rev() {
                let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir(path));
            }
            return Err(Failure::new(format!(
                "cannot write {}: {error}",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Writes a file, with the directories above it, and lists what was not there before.
fn write_new(path: &Path, bytes: &[u8], new: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let above: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .take_while(|dir| !dir.as_os_str().is_empty())
        .collect();
    for dir in above.into_iter().rev().filter(|dir| !dir.is_dir()) {
        std::fs::create_dir(dir)?;
        new.push(dir.to_path_buf());
    }
    let mut file = std::fs::File::create_new(path)?;
    new.push(path.to_path_buf());
    file.write_all(bytes)
}

/// What there is now, and what to do with it.
fn story(names: &Names, dir: &Path, files: &Files, started: Option<&Started>) -> String {
    let shown = dir.display();
    let mut text = format!(
        "{shown} is a stack now: the kind {} of {}\n\n",
        names.kind,
        names.api_version()
    );
    let about = |path: &str| match path.rsplit('/').next().unwrap_or_default() {
        "app.yaml" => "what the package says of itself, and which kinds it makes".to_string(),
        "status.yaml" => "the template of the status".to_string(),
        name if name.ends_with(".crd.yaml") => {
            match started.map(|started| started.fields.join(", ")) {
                Some(fields) if !fields.is_empty() => format!("the API; spec: {fields}"),
                _ => "the API".to_string(),
            }
        }
        name if name.ends_with(".tpl") => "what several templates include".to_string(),
        _ if path.starts_with("tests/") => "its tests".to_string(),
        name => {
            let template = name.strip_suffix(".yaml").unwrap_or(name);
            let made = started
                .iter()
                .flat_map(|started| &started.templates)
                .find(|made| made.template == template);
            match made {
                _ if !path.contains('/') => "an instance".to_string(),
                Some(made) => format!("{}, as a template", made.title),
                None => "a template".to_string(),
            }
        }
    };
    let width = files.keys().map(String::len).max().unwrap_or(0);
    for path in files.keys() {
        text.push_str(&format!("  {path:width$}   {}\n", about(path)));
    }
    let instance = dir.join(format!("{}.yaml", names.name));
    // The instance is in the namespace that the manifests were in, which `cairn up` creates if it
    // is told of it.
    let namespace = started
        .and_then(|started| started.namespace.as_deref())
        .filter(|name| *name != "default");
    let namespace = namespace
        .map(|name| format!(" -n {name}"))
        .unwrap_or_default();
    text.push_str(&format!(
        "\nNext:\n  cairn test {shown}\n  cairn render {shown} -f {} --simulate\n  cairn up {shown}{namespace}\n",
        instance.display()
    ));
    text
}
