//! Server-side apply, and the bookkeeping of who changed what that makes it possible:
//! `metadata.managedFields`. Objects come in and go out as values; nothing is stored, validated or
//! defaulted here.

mod conflict;
mod last_applied;
mod managed;
mod merge;

use serde_json::{Map, Value, json};

pub use conflict::{Conflict, Conflicts};
pub use managed::{ManagedError, Manager, Managers, Operation};

use crate::fields::FieldSet;
use crate::gvk::Gvk;
use crate::shape::Shape;
use crate::typed::{TypeErrors, fields_of, validate};

/// The manager of what was there before anyone applied.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Who changes an object, and in what way.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// The field manager, as the request names it; empty is `unknown`.
    pub manager: &'a str,
    /// The `apiVersion` of the request.
    pub version: &'a str,
    /// The subresource; empty for the object itself.
    pub subresource: &'a str,
    /// The time, as RFC 3339 in UTC with whole seconds.
    pub now: &'a str,
    /// The type of the objects.
    pub shape: Shape<'a>,
    /// What such a request cannot change: `status` of the object, all but the status of its
    /// subresource.
    pub reset: &'a FieldSet,
}

/// What became of an apply.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The object, with its managed fields.
    pub object: Value,
    /// Whether a field of it changed; who manages what may change without.
    pub changed: bool,
}

/// Why an object cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Others manage fields that the apply would change: 409.
    #[error("{0}")]
    Conflicts(Conflicts),
    /// The object is not of the kind of the request, or says who manages it: 400.
    #[error("{0}")]
    BadRequest(String),
    /// The object is not as its type wants it: 500, as the API server answers.
    #[error("failed to create typed patch object ({object}): {errors}")]
    Typed {
        /// Namespace, name and kind.
        object: String,
        /// What is wrong.
        errors: TypeErrors,
    },
    /// The managed fields of the live object cannot be read: 500.
    #[error("failed to decode managed fields: {0}")]
    Managed(#[from] ManagedError),
}

/// Applies a configuration to the live object, or creates one from it.
pub fn apply(
    live: Option<&Value>,
    config: &Value,
    change: &Change<'_>,
    force: bool,
) -> Result<Applied, ApplyError> {
    check_request(config, change)?;
    validate(change.shape, config, false).map_err(|errors| ApplyError::Typed {
        object: object_name(config),
        errors,
    })?;
    let created;
    let live = match live {
        Some(live) => live,
        None => {
            created = created_from(config, change);
            &created
        }
    };
    let (mut object, mut managers, changed) =
        last_applied::apply(live, config, Managers::of(live)?, change, force)?;
    let by_kubectl = change.manager == last_applied::KUBECTL;
    if by_kubectl {
        last_applied::refresh(&mut object, config);
    }
    if changed {
        managers.touch(&Manager::applier(change), change.now);
    }
    managers.store(&mut object);
    Ok(Applied { object, changed })
}

/// One attempt to apply: the object, who manages what, and whether a field changed.
fn attempt<'v>(
    live: &Value,
    config: &Value,
    mut managers: Managers<'v>,
    change: &Change<'_>,
    force: bool,
) -> Result<(Value, Managers<'v>, bool), Conflicts> {
    if managers.is_empty() {
        // Nobody has applied yet: all that is there belongs to one who never will again.
        let nobody = created_from(config, change);
        let before = Change {
            manager: BEFORE_FIRST_APPLY,
            ..*change
        };
        merge::track(&nobody, live, &mut managers, &before);
    }
    merge::apply(live, config, managers, change, force)
}

/// Keeps track of a create, update or patch: `new` is what is about to be stored, and gets its
/// managed fields. `old` is what was stored, none when the object is created.
pub fn update(old: Option<&Value>, new: &mut Value, change: &Change<'_>) {
    let brought = new
        .get_mut("metadata")
        .and_then(Value::as_object_mut)
        .and_then(|it| it.remove("managedFields"));
    let brought = brought
        .map(|brought| json!({ "metadata": { "managedFields": brought } }))
        .unwrap_or_default();
    let mut managers = managers_of_update(old, &brought, !change.subresource.is_empty());
    let is_create = old.is_none_or(|old| uid(old).is_empty());
    if managers.is_empty() && !is_create {
        // It was reset, or never tracked; tracking starts with the next apply.
        return;
    }
    let created;
    let old = match old {
        Some(old) => old,
        None => {
            created = created_from(new, change);
            &created
        }
    };
    merge::track(old, new, &mut managers, change);
    managers.store(new);
}

/// The managed fields that an update starts from: those it brings, if it brings any, else those of
/// the stored object.
fn managers_of_update<'v>(
    old: Option<&'v Value>,
    new: &'v Value,
    is_subresource: bool,
) -> Managers<'v> {
    let stored = || {
        old.and_then(|old| Managers::of(old).ok())
            .unwrap_or_default()
    };
    if is_subresource {
        return stored();
    }
    match new.pointer("/metadata/managedFields") {
        Some(Value::Array(entries)) if is_reset(entries) => Managers::default(),
        _ => match Managers::of(new) {
            Ok(managers) if !managers.is_empty() => managers,
            _ => stored(),
        },
    }
}

/// An empty list, or one with an empty entry, asks to forget who manages what.
fn is_reset(entries: &[Value]) -> bool {
    match entries {
        [] => true,
        [Value::Object(entry)] => entry.values().all(|value| value.is_null() || value == ""),
        _ => false,
    }
}

/// If nothing but times differ, the object as it was stored: an update that changes nothing is
/// none.
pub fn keep_times(old: &Value, new: &mut Value) {
    let entries = |object: &Value| {
        object
            .pointer("/metadata/managedFields")
            .and_then(Value::as_array)
            .cloned()
    };
    let (Some(before), Some(after)) = (entries(old), entries(new)) else {
        return;
    };
    if before != after
        && before.len() == after.len()
        && before
            .iter()
            .zip(&after)
            .all(|(one, other)| without(Some(one), "time") == without(Some(other), "time"))
        && same_but_managers(old, new)
        && let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.insert("managedFields".to_owned(), Value::Array(before));
    }
}

fn same_but_managers(one: &Value, other: &Value) -> bool {
    let (ours, theirs) = (one.get("metadata"), other.get("metadata"));
    without(Some(one), "metadata") == without(Some(other), "metadata")
        && without(ours, "managedFields") == without(theirs, "managedFields")
}

/// The fields of an object but one.
fn without<'v>(object: Option<&'v Value>, name: &str) -> Vec<(&'v String, &'v Value)> {
    object
        .and_then(fields)
        .into_iter()
        .flatten()
        .filter(|(other, _)| *other != name)
        .collect()
}

/// The fields that an object has by its shape, as an applier of it would own them.
pub fn owned_fields(shape: Shape<'_>, object: &Value) -> FieldSet {
    fields_of(shape, object)
}

fn check_request(config: &Value, change: &Change<'_>) -> Result<(), ApplyError> {
    let said = config
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if said != change.version {
        return Err(ApplyError::BadRequest(format!(
            "invalid object type: {}",
            kind_name(config)
        )));
    }
    if config
        .pointer("/metadata/managedFields")
        .is_some_and(|managed| !managed.is_null())
    {
        return Err(ApplyError::BadRequest(
            "metadata.managedFields must be nil".to_owned(),
        ));
    }
    Ok(())
}

/// `namespace/name; group/version, Kind=Kind`.
fn object_name(object: &Value) -> String {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    format!(
        "{}/{}; {}",
        text("/metadata/namespace"),
        text("/metadata/name"),
        kind_name(object)
    )
}

/// `group/version, Kind=Kind`; the core group leaves its place empty.
fn kind_name(object: &Value) -> String {
    let Gvk {
        group,
        version,
        kind,
    } = Gvk::of(object).unwrap_or_default();
    format!("{group}/{version}, Kind={kind}")
}

fn uid(object: &Value) -> &str {
    object
        .pointer("/metadata/uid")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The object before anyone has set anything.
fn created_from(config: &Value, change: &Change<'_>) -> Value {
    let mut object = change.shape.empty();
    if let (Some(fields), Some(config)) = (object.as_object_mut(), config.as_object()) {
        for name in ["apiVersion", "kind"] {
            if let Some(value) = config.get(name) {
                fields.insert(name.to_owned(), value.clone());
            }
        }
    }
    object
}

/// The fields of a map, or none.
fn fields(value: &Value) -> Option<&Map<String, Value>> {
    value.as_object()
}
