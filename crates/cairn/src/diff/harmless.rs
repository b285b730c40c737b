//! Whether types that would break what uses them break nothing that is there: no object would lose
//! a field or be refused. What clients elsewhere send is not known here.

use install::{breakages, can_become, takes_unchanged};
use objects::{Gvk, Resource};

use super::Reader;
use super::package::stored;
use crate::project::Project;
use crate::terminal::error::Failure;

/// Whether a package's types break nothing that is there, though they break what its kinds were.
pub(crate) async fn harmless(reader: &Reader, project: &Project) -> Result<bool, Failure> {
    let live = reader.crds().await?;
    for crd in project.package.crds.iter().map(|file| &file.crd) {
        let Some(live) = live.iter().find(|live| live.name == crd.name) else {
            continue;
        };
        let stored = stored(live);
        if breakages(live, crd, &stored).is_empty() {
            continue;
        }
        // What the API server does not change is made anew, and nothing of it is kept.
        let kept = can_become(live, crd, &stored);
        for version in live.versions.iter().filter(|version| version.served) {
            let kind = Resource {
                gvk: Gvk::new(&live.group, &version.name, &live.names.kind),
                plural: live.names.plural.clone(),
                namespaced: live.scope == api::Scope::Namespaced,
            };
            let objects = reader.list(&kind, "", "").await?;
            let schema = crd
                .version(&version.name)
                .filter(|new| kept && new.served)
                .map(|new| &new.schema);
            if !objects
                .iter()
                .all(|object| schema.is_some_and(|schema| takes_unchanged(schema, object)))
            {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
