//! Whether types that would break what uses them break nothing that is there: no object would lose a field or be
//! refused. What clients elsewhere send is not known here.

use api::Crd;
use controller::Resource;
use engine::manage::breakages;
use objects::{Gvk, Schema};
use serde_json::Value;

use super::Reader;
use super::package::stored;
use crate::failure::Failure;
use crate::project::Project;

/// Whether a package's types break nothing that is there, though they break what its kinds were.
pub(crate) async fn harmless(reader: &Reader, project: &Project) -> Result<bool, Failure> {
    let live = reader.crds().await?;
    for crd in project.package.crds.iter().map(|file| &file.crd) {
        let Some(live) = live.iter().find(|live| live.name == crd.name) else { continue };
        if breakages(live, crd, &stored(live)).is_empty() {
            continue;
        }
        if !can_become(live, crd) {
            return Ok(false);
        }
        for version in live.versions.iter().filter(|version| version.served) {
            let kind = Resource {
                gvk: Gvk::new(&live.group, &version.name, &live.names.kind),
                plural: live.names.plural.clone(),
                namespaced: live.scope == api::Scope::Namespaced,
            };
            let objects = reader.list(&kind, "", "").await?;
            let schema = crd.version(&version.name).filter(|new| new.served).map(|new| &new.schema);
            if !objects.iter().all(|object| schema.is_some_and(|schema| keeps(schema, object))) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Whether the API server lets one definition take the place of the other at all.
fn can_become(live: &Crd, crd: &Crd) -> bool {
    let same = (live.scope, &live.group, &live.names.kind, &live.names.plural)
        == (crd.scope, &crd.group, &crd.names.kind, &crd.names.plural);
    same && stored(live).iter().all(|version| crd.version(version).is_some())
}

/// Whether a schema takes an object as it is. Its status does not count: it is written anew.
fn keeps(schema: &Schema, object: &Value) -> bool {
    let mut before = object.clone();
    if let Some(fields) = before.as_object_mut() {
        fields.remove("status");
    }
    let mut after = before.clone();
    schema.prune(&mut after);
    after == before && schema.admit(&mut after).is_empty()
}

#[cfg(test)]
mod tests {
    use objects::Schema;
    use serde_json::json;

    use super::keeps;

    #[test]
    fn an_object_is_kept_if_it_loses_nothing_and_is_not_refused() {
        let schema = |spec| Schema::read(&json!({ "type": "object", "properties": { "spec": spec } })).0;
        let object = json!({
            "apiVersion": "example.org/v1", "kind": "Shop", "metadata": { "name": "a" },
            "spec": { "banner": "x", "replicas": 2 }, "status": { "old": 1 },
        });
        let (text, number) = (json!({ "type": "string" }), json!({ "type": "integer" }));
        for (spec, expected) in [
            (json!({ "type": "object", "properties": { "banner": text, "replicas": number } }), true),
            (
                json!({ "type": "object", "properties": { "banner": text, "replicas": { "type": "integer", "minimum": 2 } } }),
                true,
            ),
            (
                json!({ "type": "object", "properties": { "banner": text, "replicas": { "type": "integer", "minimum": 3 } } }),
                false,
            ),
            (json!({ "type": "object", "properties": { "baner": text, "replicas": number } }), false),
            (json!({ "type": "object", "properties": { "banner": number, "replicas": number } }), false),
            (
                json!({ "type": "object", "required": ["more"], "properties": { "banner": text, "replicas": number, "more": text } }),
                false,
            ),
        ] {
            assert_eq!(keeps(&schema(spec.clone()), &object), expected, "{spec}");
        }
    }
}
