//! From a package to what the engine compiles.

use std::collections::BTreeMap;

use api::key::{Reference, Resolution, resolve};
use package::Package;

use crate::stack::{Kind, Source, Stack};

impl Stack {
    /// The stack that a package makes, under a name in a namespace. Kinds without templates are
    /// part of it too.
    pub fn of(package: &Package, name: &str, namespace: &str) -> Stack {
        let owned = package.owned();
        let mut kinds: BTreeMap<(usize, String), Kind> = BTreeMap::new();
        let mut kind_of = |key: &str| -> Option<(usize, String)> {
            let Resolution::Match { index, version } = resolve(key, &owned, false) else {
                // What a key means has been checked when the package was read.
                return None;
            };
            let crd = &package.crds.get(index)?.crd;
            let served = crd.version(&version)?;
            kinds
                .entry((index, version.clone()))
                .or_insert_with(|| Kind {
                    gvk: crd.gvk(&version),
                    plural: crd.names.plural.clone(),
                    namespaced: crd.scope == api::Scope::Namespaced,
                    schema: Some(served.schema.clone()),
                    status_subresource: served.status,
                    templates: BTreeMap::new(),
                    status: None,
                });
            Some((index, version))
        };
        let named: Vec<_> = package
            .templates
            .keys()
            .chain(package.template_status.keys())
            .cloned()
            .collect();
        let places: BTreeMap<String, (usize, String)> = named
            .into_iter()
            .filter_map(|key| kind_of(&key).map(|place| (key, place)))
            .collect();
        for (index, file) in package.crds.iter().enumerate() {
            if let Some(version) = file
                .crd
                .storage()
                .filter(|_| !places.values().any(|(at, _)| *at == index))
            {
                kind_of(&owned[index].key(&version.name));
            }
        }
        let known = |source: &package::Source| Source {
            file: source.file.clone(),
            text: source.text.clone(),
        };
        for (key, sources) in &package.templates {
            if let Some(kind) = places.get(key).and_then(|place| kinds.get_mut(place)) {
                kind.templates.extend(
                    sources
                        .iter()
                        .map(|(name, source)| (name.clone(), known(source))),
                );
            }
        }
        for (key, source) in &package.template_status {
            if let Some(kind) = places.get(key).and_then(|place| kinds.get_mut(place)) {
                kind.status = Some(known(source));
            }
        }
        let partials = package.partials.iter().flat_map(|(key, sources)| {
            sources
                .iter()
                .map(move |(name, source)| ((key.clone(), name.clone()), known(source)))
        });
        Stack {
            name: name.to_string(),
            namespace: namespace.to_string(),
            kinds: kinds.into_values().collect(),
            depends_on: package
                .app
                .depends_on
                .iter()
                .filter_map(|depends| Reference::parse(&depends.crd))
                .collect(),
            partials: partials.collect(),
            all_dependencies: package.all_dependencies,
            scope: package.app.permission_scope,
            recorded: false,
        }
    }
}
