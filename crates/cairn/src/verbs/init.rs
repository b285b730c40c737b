//! `cairn init`: the first files of a stack, small ones to change or made from manifests.

use std::io::Write;
use std::path::{Path, PathBuf};

use engine::start::{Manifest, Names, Started, blank, from};
use package::Files;
use serde_json::json;

use crate::args::Init;
use crate::failure::{Code, Failure};
use crate::finding::Finding;
use crate::input;
use crate::printer::Printer;

pub(crate) fn run(args: &Init, printer: &Printer) -> Result<Code, Failure> {
    let failed = |problem: &engine::Problem| Failure::of(&Finding::from(problem), None);
    let names =
        Names::new(&args.name, &args.group).map_err(|problem| Failure { code: Code::Usage, ..failed(&problem) })?;
    if args.from.iter().filter(|file| *file == Path::new("-")).count() > 1 {
        return Err(Failure::usage("standard input can be read only once"));
    }
    let dir = args.dir.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    let (files, started) = if args.from.is_empty() {
        (blank(&names), None)
    } else {
        let manifests = args.from.iter().map(|file| manifest(file)).collect::<Result<Vec<_>, _>>()?;
        let made = from(&names, &manifests).map_err(|problems| {
            let failures = problems.iter().map(|problem| {
                let finding = Finding::from(problem);
                let text = manifests.iter().find(|manifest| manifest.file == finding.file);
                Failure::of(&finding, text.map(|manifest| manifest.text.as_str()))
            });
            Failure::all(failures).unwrap_or_else(|| Failure::new("nothing can be made of these manifests"))
        })?;
        (made.files.clone(), Some(made))
    };
    write(&dir, &files)?;
    for note in started.iter().flat_map(|started| &started.notes) {
        printer.finding(&Finding::from(note), None);
    }
    match args.outcome.output {
        Some(format) => {
            let made = json!({
                "directory": dir.display().to_string(), "apiVersion": names.api_version(), "kind": names.kind,
                "files": files.keys().collect::<Vec<_>>(),
            });
            printer.outcome(&made, &dir.display().to_string(), format)?;
        }
        None => printer.result(story(&names, &dir, &files, started.as_ref()).as_bytes())?,
    }
    Ok(Code::Ok)
}

fn manifest(file: &Path) -> Result<Manifest, Failure> {
    Ok(Manifest { file: file.display().to_string(), text: input::text(file)? })
}

/// Writes files that are not there yet; if one is, none is written.
fn write(dir: &Path, files: &Files) -> Result<(), Failure> {
    let there: Vec<&String> = files.keys().filter(|path| dir.join(path).symlink_metadata().is_ok()).collect();
    let registry = dir.join(".registry");
    if registry.symlink_metadata().is_ok() || !there.is_empty() {
        let what = there.first().map_or(registry, |path| dir.join(path));
        let failure = Failure::new(format!("{} is there already, and nothing is overwritten", what.display()));
        return Err(failure.hint("choose another name, or another directory with --dir"));
    }
    for (path, bytes) in files {
        let path = dir.join(path);
        let failed = |error: std::io::Error| Failure::new(format!("cannot write {}: {error}", path.display()));
        std::fs::create_dir_all(path.parent().unwrap_or(dir)).map_err(failed)?;
        let mut file = std::fs::File::create_new(&path).map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
    }
    Ok(())
}

/// What there is now, and what to do with it.
fn story(names: &Names, dir: &Path, files: &Files, started: Option<&Started>) -> String {
    let shown = dir.display();
    let mut text = format!("{shown} is a stack now: the kind {} of {}\n\n", names.kind, names.api_version());
    let about = |path: &str| match path.rsplit('/').next().unwrap_or_default() {
        "app.yaml" => "what the package says of itself, and which kinds it makes".to_string(),
        "status.yaml" => "the template of the status".to_string(),
        name if name.ends_with(".crd.yaml") => match started.map(|started| started.fields.join(", ")) {
            Some(fields) if !fields.is_empty() => format!("the API; spec: {fields}"),
            _ => "the API".to_string(),
        },
        name if name.ends_with(".tpl") => "what several templates include".to_string(),
        _ if path.starts_with("tests/") => "its tests".to_string(),
        name => {
            let template = name.strip_suffix(".yaml").unwrap_or(name);
            let made = started.iter().flat_map(|started| &started.templates).find(|(_, made)| made == template);
            match made {
                _ if !path.contains('/') => "an instance".to_string(),
                Some((title, _)) => format!("{title}, as a template"),
                None => "a template".to_string(),
            }
        }
    };
    let width = files.keys().map(String::len).max().unwrap_or(0);
    for path in files.keys() {
        text.push_str(&format!("  {path:width$}   {}\n", about(path)));
    }
    let instance = dir.join(format!("{}.yaml", names.name));
    text.push_str(&format!(
        "\nNext:\n  cairn test {shown}\n  cairn render {shown} -f {} --simulate\n  cairn up {shown}\n",
        instance.display()
    ));
    text
}
