//! Who manages which fields: every write is noted in `metadata.managedFields`, and server-side
//! apply goes by it.

use http::header::USER_AGENT;
use objects::{
    apply::{self, ApplyError, Change},
    fields::{FieldPath, FieldSet},
};
use serde_json::Value;

use super::decode;
use crate::clock;
use crate::handlers::Cx;
use crate::handlers::status::{ApiError, Cause};

/// The longest name of a manager.
const LONGEST: usize = 128;

/// Notes what a creation or a change sets. `old` is none for a creation.
pub(crate) fn note(cx: &Cx<'_>, old: Option<&Value>, new: &mut Value) -> Result<(), ApiError> {
    let manager = manager(cx);
    // An apply has noted everything itself; what defaults add to it belongs to nobody.
    let applied = crate::handlers::patch::is_apply(cx);
    with(cx, &manager, |change| {
        if !applied {
            apply::update(old, new, change);
        }
        if let Some(old) = old {
            apply::keep_times(old, new);
        }
    });
    Ok(())
}

/// Applies a configuration to what is there, or to nothing.
pub(crate) fn apply(
    cx: &Cx<'_>,
    live: Option<&Value>,
    config: &Value,
    force: bool,
) -> Result<Value, ApiError> {
    let manager = manager(cx);
    let applied = with(cx, &manager, |change| {
        apply::apply(live, config, change, force)
    });
    match applied {
        None => Err(ApiError::internal(
            "nothing is known of the types of this kind",
        )),
        Some(Ok(applied)) => {
            let mut object = applied.object;
            decode::applied(cx, config, &mut object)?;
            Ok(object)
        }
        Some(Err(ApplyError::Conflicts(conflicts))) => {
            let causes = conflicts.0.iter();
            let causes = causes.map(|one| {
                Cause::new("FieldManagerConflict", &one.path.to_string(), one.message())
            });
            Err(ApiError::apply_conflict(
                conflicts.to_string(),
                causes.collect(),
            ))
        }
        Some(Err(ApplyError::BadRequest(message))) => Err(ApiError::bad_request(message)),
        Some(Err(error)) => Err(ApiError::other(500, "", error.to_string())),
    }
}

/// Calls with everything that keeping track needs; none if nothing is known of the types.
fn with<T>(cx: &Cx<'_>, manager: &str, call: impl FnOnce(&Change<'_>) -> T) -> Option<T> {
    let served = &cx.served;
    let shapes = served.shapes()?;
    let shape = match served.custom {
        Some(_) => shapes.root(),
        None => shapes.of_kind(&served.group, &served.version, &served.kind)?,
    };
    let subresource = &*cx.attributes().subresource;
    let mut reset = FieldSet::default();
    for path in reset_fields(served.has_status(), served.custom.is_some(), subresource) {
        reset.insert(&FieldPath::fields(path).0);
    }
    let version = served.api_version();
    let now = clock::now();
    Some(call(&Change {
        manager,
        version: &version,
        subresource,
        now: &now,
        shape,
        reset: &reset,
    }))
}

/// What a write cannot change, so that it does not count as its manager's.
fn reset_fields(
    has_status: bool,
    custom: bool,
    subresource: &str,
) -> &'static [&'static [&'static str]] {
    match (has_status, custom, subresource) {
        (_, true, "status") => &[&["metadata"], &["spec"]],
        (_, false, "status") => &[
            &["spec"],
            &["metadata", "labels"],
            &["metadata", "ownerReferences"],
        ],
        (true, _, _) => &[&["status"]],
        (false, ..) => &[],
    }
}

/// Who writes: as the request says, else the program that sent it.
fn manager(cx: &Cx<'_>) -> String {
    if let Some(manager) = cx.asked.query.get("fieldManager") {
        return manager.to_owned();
    }
    let agent = cx
        .parts
        .headers
        .get(USER_AGENT)
        .and_then(|agent| agent.to_str().ok())
        .unwrap_or_default();
    let name = agent.split('/').next().unwrap_or_default();
    let end = name
        .char_indices()
        .map(|(at, _)| at)
        .find(|at| *at >= LONGEST)
        .unwrap_or(name.len());
    name.get(..end).unwrap_or_default().to_owned()
}
