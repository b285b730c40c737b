//! `cairn explain`: which line of a template made a field, and from which inputs.

use std::path::Path;

use engine::{Context, Seed};

use super::render::PREVIEW_SEED;
use crate::cli::Explain;
use crate::project::instance::Admitted;
use crate::project::{Project, packages_near};
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;
use crate::testing::observed;

pub(crate) fn run(args: &Explain, printer: &Printer) -> Result<Code, Failure> {
    let Some((file, path)) = args.target.rsplit_once(':') else {
        return Err(Failure::usage(
            "say which field of which template: `FILE:PATH`, such as `web.yaml:spec.replicas`",
        ));
    };
    let file = Path::new(file);
    let found = file.canonicalize();
    // What is no file may be the name of a template, of the package around us or of the one that is
    // named before it.
    let before = file
        .parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .and_then(|dir| dir.canonicalize().ok());
    let package = before.filter(|dir| found.is_err() && dir.join(".registry").is_dir());
    let root = match (&found, &package) {
        (Ok(absolute), _) => Project::root_of(absolute),
        (Err(_), Some(dir)) => Some(dir.clone()),
        (Err(_), None) => Path::new(".")
            .canonicalize()
            .ok()
            .and_then(|here| Project::root_of(&here)),
    };
    let Some(root) = root else {
        let what = match found {
            Ok(_) => format!(
                "{} is not part of a package: no directory above it has a .registry",
                file.display()
            ),
            Err(error) => format!("cannot find {}: {error}", file.display()),
        };
        let near = packages_near(Path::new("."));
        let hint = format!(
            "name the file of a template or PACKAGE/TEMPLATE, or call this in the directory of its package ({near})"
        );
        return Err(Failure::new(what).hint(hint));
    };
    let project = Project::read(&root)?;
    let (
        Admitted {
            kind,
            object: instance,
            ..
        },
        _,
    ) = project.instance(args.file.as_deref(), printer)?;
    let named = match &package {
        Some(_) => file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        None => file.display().to_string(),
    };
    let inner = match &found {
        Ok(absolute) => absolute
            .strip_prefix(&root)
            .map(|inner| inner.display().to_string())
            .unwrap_or_default(),
        Err(_) => named.clone(),
    };
    let template = match kind
        .children
        .iter()
        .find(|child| child.file == inner || child.name == named)
    {
        Some(child) => child.name.as_str(),
        None if kind.status_file() == Some(&inner)
            || (named == "status" && kind.status_file().is_some()) =>
        {
            "status"
        }
        None => {
            let status = kind.status_file().map(|_| "status");
            let known: Vec<_> = kind
                .children
                .iter()
                .map(|child| child.name.as_str())
                .chain(status)
                .collect();
            let failure = Failure::new(format!("{named} is not a template of {}", kind.gvk.kind));
            let near = objects::nearest(
                file.file_stem()
                    .and_then(|stem| stem.to_str())
                    .unwrap_or_default(),
                known.clone(),
            );
            return Err(match near {
                Some(near) => failure.hint(format!("did you mean {near:?}?")),
                None => failure.hint(format!("its templates are {}", known.join(", "))),
            });
        }
    };
    let observed = observed::read(args.observed.as_deref(), kind, &instance, printer)?;
    let seed = Seed::new(PREVIEW_SEED);
    let context = Context::new(&project.compiled()?.name, &seed);
    let steps = steps(path)?;
    let explanation = engine::explain(kind, &instance, &observed, &context, template, &steps)
        .map_err(Failure::new)?;
    if let Some(format) = args.output {
        printer.report(&explanation, format)?;
        return Ok(Code::Ok);
    }
    let mut text = format!("{path}: {}\n", explanation.value);
    for engine::Maker {
        place,
        from: inputs,
    } in &explanation.made_by
    {
        let line = project
            .text(&place.file)
            .and_then(|text| text.lines().nth(place.line - 1));
        let from = match inputs.as_slice() {
            [] if line.is_some_and(|line| is_made(line, &explanation.value)) => {
                "from this action alone".to_string()
            }
            [] => "as written".to_string(),
            inputs => format!("from {}", inputs.join(", ")),
        };
        text.push_str(&format!("  {place} {from}\n"));
        if let Some(line) = line {
            text.push_str(&format!("    {}\n", line.trim()));
        }
    }
    if !explanation.because_of.is_empty() {
        text.push_str(&format!(
            "  there because of {}\n",
            explanation.because_of.join(", ")
        ));
    }
    if !explanation.waits_for.is_empty() {
        text.push_str(&format!(
            "  waits for {}\n",
            explanation.waits_for.join(", ")
        ));
    }
    printer.result(text.as_bytes())?;
    Ok(Code::Ok)
}

/// Whether a value was drawn or computed in a line: it does not stand there as it came out.
fn is_made(line: &str, value: &str) -> bool {
    line.contains("{{") && !line.contains(value.trim_matches(['"', '\'']))
}

/// `spec.ports[0].port` and `metadata.labels["a.b/c"]` as steps.
fn steps(path: &str) -> Result<Vec<yaml::Step>, Failure> {
    let bad = || {
        Failure::usage(format!(
            "{path:?} is no path: write it like `spec.ports[0].port` or `metadata.labels[\"a/b\"]`"
        ))
    };
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (word, after) = match inner.strip_prefix('"') {
                Some(quoted) => quoted.split_once("\"]").ok_or_else(bad)?,
                None => inner.split_once(']').ok_or_else(bad)?,
            };
            match word.parse::<usize>() {
                Ok(index) if !inner.starts_with('"') => steps.push(yaml::Step::from(index)),
                _ => steps.push(yaml::Step::from(word)),
            }
            rest = after.strip_prefix('.').unwrap_or(after);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 {
                return Err(bad());
            }
            steps.push(yaml::Step::from(&rest[..end]));
            rest = rest[end..].strip_prefix('.').unwrap_or(&rest[end..]);
        }
    }
    if steps.is_empty() {
        Err(bad())
    } else {
        Ok(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::{is_made, steps};

    #[test]
    fn what_an_action_prints_is_not_as_written() {
        for (line, value, expected) in [
            ("a: {{ uuidv4 }}", "\"0-1\"", true),
            ("a: b # {{ .c }}", "b", false),
            ("a: 7", "7", false),
        ] {
            assert_eq!(is_made(line, value), expected, "{line}");
        }
    }

    #[test]
    fn paths_are_read_as_people_write_them() {
        for (path, expected) in [
            ("spec.replicas", vec!["spec".into(), "replicas".into()]),
            (
                "spec.ports[0].port",
                vec!["spec".into(), "ports".into(), 0.into(), "port".into()],
            ),
            (
                "metadata.labels[\"a.b/c\"]",
                vec!["metadata".into(), "labels".into(), "a.b/c".into()],
            ),
        ] {
            assert_eq!(steps(path).unwrap(), expected, "{path}");
        }
        for path in ["", ".a", "a[", "a[\"x]"] {
            assert!(steps(path).is_err(), "{path}");
        }
    }
}
