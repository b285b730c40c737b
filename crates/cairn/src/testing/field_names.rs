//! Fields that a test names, held to what is known of their kind: one that no object has could
//! never make it fail.

use objects::{Lookup, Path, Schema};
use serde_json::Value;

use crate::files::located_yaml::Part;
use crate::terminal::finding::Finding;

/// The fields below a part that no object of a kind has. `place` is where the part stands in such
/// an object.
pub(crate) fn unknown(part: &Part, schema: &Schema, kind: &str, place: &Path) -> Vec<Finding> {
    let mut found = Vec::new();
    let below = match part.value() {
        Value::Object(_) => part
            .entries()
            .into_iter()
            .map(|(name, inner)| (name.as_str().into(), inner))
            .collect(),
        Value::Array(_) => part
            .items()
            .into_iter()
            .enumerate()
            .map(|(index, inner)| (index.into(), inner))
            .collect(),
        _ => Vec::<(objects::Step, Part)>::new(),
    };
    for (step, inner) in below {
        let path = place.join(&std::iter::once(step).collect());
        match schema.lookup(&path) {
            Lookup::Known(_) => found.extend(unknown(&inner, schema, kind, &path)),
            Lookup::Open => {}
            Lookup::Missing(missing) => {
                let finding = inner.key_error(format!("`{path}` is no field of {kind}"));
                found.push(match missing.suggestion {
                    Some(near) => finding.hint(format!("did you mean `{near}`?")),
                    None => finding,
                });
            }
        }
    }
    found
}

/// The same for the status of such an object.
pub(crate) fn unknown_in_status(part: &Part, schema: &Schema, kind: &str) -> Vec<Finding> {
    unknown(
        part,
        schema,
        kind,
        &std::iter::once(objects::Step::from("status")).collect(),
    )
}
