//! From a `Stack` object to what the engine compiles.

use std::collections::BTreeMap;

use api::Crd;
use api::key::{Reference, Resolution, owned, resolve};

use crate::problem::Problem;
use crate::stack::{Kind, Source, Stack};

impl Stack {
    /// The stack that a `Stack` object describes, with the CRDs of the kinds that it names, and
    /// what is wrong with it before any template is looked at.
    pub fn recorded(record: &api::Stack, crds: &[Crd]) -> (Stack, Vec<Problem>) {
        let mut problems = Vec::new();
        let (owned, lost) = owned(&record.spec.customresourcedefinitions, crds);
        for entry in lost
            .iter()
            .filter_map(|at| record.spec.customresourcedefinitions.get(*at))
        {
            problems.push(Problem::general(format!(
                "the cluster does not serve {} {}",
                entry.api_version, entry.kind
            )));
        }
        let mut kinds: BTreeMap<usize, Kind> = BTreeMap::new();
        let mut kind_of = |index: usize, version: &str| -> Option<usize> {
            let own = owned.get(index)?;
            let crd = crds
                .iter()
                .find(|crd| crd.group == own.group && crd.names.kind == own.kind)?;
            let served = crd.version(version)?;
            kinds.entry(index).or_insert_with(|| Kind {
                gvk: crd.gvk(version),
                plural: crd.names.plural.clone(),
                namespaced: crd.scope == api::Scope::Namespaced,
                schema: Some(served.schema.clone()),
                status_subresource: served.status,
                templates: BTreeMap::new(),
                status: None,
            });
            Some(index)
        };
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut partials = BTreeMap::new();
        for key in record
            .spec
            .templates
            .keys()
            .chain(record.spec.template_status.keys())
        {
            let includable = record.spec.templates.contains_key(key)
                && !record.spec.template_status.contains_key(key);
            match resolve(key, &owned, includable) {
                Resolution::Match { index, version } => {
                    if let Some(index) = kind_of(index, &version) {
                        places.insert(key, index);
                    }
                }
                Resolution::Partial => {
                    let sources = record.spec.templates.get(key).into_iter().flatten();
                    partials.extend(sources.map(|(name, text)| {
                        ((key.clone(), name.clone()), source(key, name, text))
                    }));
                }
                Resolution::Ambiguous(candidates) => problems.push(
                    Problem::general(format!("{key:?} may mean several kinds"))
                        .hint(format!("write one of {}", candidates.join(", "))),
                ),
                Resolution::None { nearest } => {
                    let problem = Problem::general(format!(
                        "{key:?} means none of the kinds that the stack owns"
                    ));
                    problems.push(match nearest {
                        Some(nearest) => problem.hint(format!("did you mean {nearest}?")),
                        None => problem,
                    });
                }
            }
        }
        for (index, own) in owned.iter().enumerate() {
            if let Some(version) = own
                .versions
                .first()
                .filter(|_| !places.values().any(|at| *at == index))
            {
                kind_of(index, version);
            }
        }
        for (key, index) in places {
            let Some(kind) = kinds.get_mut(&index) else {
                continue;
            };
            for (name, text) in record.spec.templates.get(key).into_iter().flatten() {
                kind.templates.insert(name.clone(), source(key, name, text));
            }
            if let Some(text) = record.spec.template_status.get(key) {
                kind.status = Some(source(key, "status", text));
            }
        }
        let depends_on = record
            .spec
            .app
            .depends_on
            .iter()
            .filter_map(|depends| Reference::parse(&depends.crd));
        let stack = Stack {
            name: record.metadata.name.clone(),
            namespace: record.metadata.namespace.clone(),
            kinds: kinds.into_values().collect(),
            depends_on: depends_on.collect(),
            partials,
            all_dependencies: true,
            scope: record.spec.app.permission_scope,
            recorded: true,
        };
        (stack, problems)
    }
}

fn source(key: &str, name: &str, text: &str) -> Source {
    Source {
        file: format!("{key}/{name}.yaml"),
        text: text.to_owned(),
    }
}
