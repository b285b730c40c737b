//! The Stack that installing a package would create.

use std::collections::BTreeMap;

use api::{App, Controller, KindRef, STACK_BYTES, Stack, StackSpec};
use serde_json::Value;

use crate::problem::Problems;
use crate::templates::Sorted;
use crate::{CrdFile, Source};

pub(crate) fn build(
    app: &App,
    crds: &[CrdFile],
    deployment: Option<Value>,
    sorted: &Sorted,
    root: &str,
    problems: &mut Problems,
) -> Stack {
    let texts = |sources: &BTreeMap<String, Source>| {
        sources
            .iter()
            .map(|(name, source)| (name.clone(), source.text.clone()))
            .collect::<BTreeMap<_, _>>()
    };
    let owned = crds.iter().enumerate().filter_map(|(index, file)| {
        let stored = file.crd.storage().map(|version| version.name.as_str());
        let version = sorted.versions.get(&index).map(String::as_str).or(stored)?;
        let api_version = file.crd.gvk(version).api_version().to_string();
        Some(KindRef {
            kind: file.crd.names.kind.clone(),
            api_version,
        })
    });
    let stack = Stack::new(StackSpec {
        app: app.clone(),
        customresourcedefinitions: owned.collect(),
        controller: Controller {
            deployment,
            ..Controller::default()
        },
        templates: sorted
            .templates
            .iter()
            .chain(&sorted.partials)
            .map(|(key, sources)| (key.clone(), texts(sources)))
            .collect(),
        template_status: texts(&sorted.template_status),
        ..StackSpec::default()
    });
    let size = serde_json::to_vec(&stack).map_or(0, |bytes| bytes.len());
    if size > STACK_BYTES {
        let named = sorted
            .templates
            .values()
            .chain(sorted.partials.values())
            .flat_map(BTreeMap::values);
        let largest = named
            .chain(sorted.template_status.values())
            .max_by_key(|source| source.text.len());
        let file = largest.map_or_else(|| format!("{root}app.yaml"), |source| source.file.clone());
        let what = format!(
            "the Stack would have {size} bytes, more than the {STACK_BYTES} that a cluster takes"
        );
        problems.error(&file, what, Some("this is the largest of its parts".into()));
    }
    stack
}
