//! The instances that lie beside a package: examples for its users, and for its checks a first try.

use std::path::PathBuf;

use engine::{Context, Observed, Seed, Severity};

use super::instance;
use crate::commands::render::PREVIEW_SEED;
use crate::files::located_yaml::Part;
use crate::project::Project;
use crate::terminal::finding::Finding;

impl Project {
    /// The first file beside the package that holds one of its instances, if possible one that the
    /// API server takes.
    pub fn specimen(&self) -> Option<PathBuf> {
        let compiled = self.compiled.as_ref()?;
        let mut single = self.specimens();
        single.retain(|(_, documents)| documents.len() == 1);
        let taken = single
            .iter()
            .position(|(_, documents)| instance::admit(compiled, &documents[0]).is_ok());
        (!single.is_empty()).then(|| single.swap_remove(taken.unwrap_or(0)).0)
    }

    /// The files beside the package that hold instances of it, with these.
    fn specimens(&self) -> Vec<(PathBuf, Vec<Part>)> {
        let Some(compiled) = &self.compiled else {
            return Vec::new();
        };
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|end| end == "yaml"));
        files.sort();
        let is_ours = |part: &Part| {
            objects::Gvk::of(part.value()).is_some_and(|gvk| compiled.kind(&gvk).is_some())
        };
        let found = files.into_iter().filter_map(|file| {
            let documents: Vec<Part> = Part::documents(&file)
                .ok()?
                .into_iter()
                .filter(is_ours)
                .collect();
            (!documents.is_empty()).then_some((file, documents))
        });
        found.collect()
    }

    /// Renders the instances that lie beside the package, until nothing changes. A template that
    /// fails for one of them is an error of the package; an instance that the API server would not
    /// take may be there to show just that.
    pub fn try_specimens(&mut self) {
        let mut findings = Vec::new();
        let mut beside = Vec::new();
        for (file, documents) in self.specimens() {
            let name = file
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            for part in &documents {
                findings.extend(self.tried(&name, part));
            }
            beside.push((name, text));
        }
        self.beside.extend(beside);
        self.findings.extend(findings);
        self.findings.sort();
        self.findings.dedup();
    }

    fn tried(&self, name: &str, part: &Part) -> Vec<Finding> {
        let Some(compiled) = &self.compiled else {
            return Vec::new();
        };
        let here = |finding: Finding| Finding {
            file: name.to_owned(),
            severity: Severity::Warning,
            ..finding
        };
        let admitted = match instance::admit(compiled, part) {
            Ok(admitted) => admitted,
            Err(refused) => {
                return refused
                    .into_iter()
                    .map(|refused| here(refused.finding))
                    .collect();
            }
        };
        let seed = Seed::new(PREVIEW_SEED);
        let context = Context::new(&compiled.name, &seed);
        let simulation = engine::simulate(
            admitted.kind,
            &admitted.object,
            Observed::new(),
            &[],
            &context,
        );
        let failed = simulation
            .passes
            .last()
            .map(|pass| pass.plan.problems.as_slice())
            .unwrap_or_default();
        let failed = failed.iter().map(|problem| {
            let finding = Finding::from(&problem.problem);
            Finding {
                what: format!("{}, for the instance in {name}", finding.what),
                ..finding
            }
        });
        admitted
            .dropped
            .into_iter()
            .map(here)
            .chain(failed)
            .collect()
    }
}
