//! From what a client wants an object to be to what is stored: status apart, defaults, checks,
//! admission, generation.

use objects::{BrokenRule, Path, Step};
use serde_json::Value;

use super::{embedded, managed_fields, object_meta};
use crate::handlers::Cx;
use crate::handlers::status::{ApiError, Cause};
use crate::registry::strategy;
use crate::{authn, controllers, defaults, registry};

/// A new object. It comes in the served version, and goes in the stored one.
pub(crate) fn create(cx: &Cx<'_>, mut object: Value) -> Result<Value, ApiError> {
    let name = object_meta::begin(cx, &mut object)?;
    object_meta::tidy(&mut object);
    if cx.served.has_status() {
        reset_status(&mut object);
    }
    controllers::admit(cx.inner, cx.attributes(), None, Some(&mut object))?;
    check(cx, &name, None, &mut object)?;
    authn::admit(cx.inner, cx.user, cx.attributes(), None, Some(&mut object))?;
    managed_fields::note(cx, None, &mut object)?;
    check_depth(&object)?;
    if !cx.served.is_stored {
        registry::to_stored(&mut object, &cx.served);
    }
    Ok(object)
}

/// A changed object: `old` and `new` in the served version; the result in the stored one.
pub(crate) fn update(cx: &Cx<'_>, old: &Value, mut new: Value) -> Result<Value, ApiError> {
    object_meta::carry_over(cx, old, &mut new)?;
    object_meta::tidy(&mut new);
    new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
    let name = object_meta::text(old, "name").to_owned();
    match &*cx.attributes().subresource {
        "status" => keep_all_but_status(cx, old, &mut new),
        _ if cx.served.has_status() => keep_field("status", old, &mut new),
        _ => {}
    }
    controllers::admit(cx.inner, cx.attributes(), Some(old), Some(&mut new))?;
    check(cx, &name, Some(old), &mut new)?;
    authn::admit(
        cx.inner,
        cx.user,
        cx.attributes(),
        Some(old),
        Some(&mut new),
    )?;
    if strategy::counts_generations(&cx.served)
        && cx.attributes().subresource != "status"
        && differs(cx, old, &new)
    {
        let generation = old["metadata"]["generation"]
            .as_i64()
            .unwrap_or(0)
            .saturating_add(1);
        new["metadata"]["generation"] = generation.into();
    }
    managed_fields::note(cx, Some(old), &mut new)?;
    check_depth(&new)?;
    if !cx.served.is_stored {
        registry::to_stored(&mut new, &cx.served);
    }
    Ok(new)
}

/// The deepest that an object may be nested, its managed fields included: no reader of JSON goes
/// deeper.
const DEEPEST: usize = 127;

/// Refuses what could be stored, and not read again. Bodies of JSON cannot be deeper; what patches
/// and YAML make can.
fn check_depth(object: &Value) -> Result<(), ApiError> {
    if is_deeper(object, DEEPEST) {
        return Err(ApiError::bad_request(format!(
            "the object, its managed fields included, is nested more than {DEEPEST} levels deep"
        )));
    }
    Ok(())
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Object(fields) => {
            levels == 0 || fields.values().any(|value| is_deeper(value, levels - 1))
        }
        Value::Array(items) => {
            levels == 0 || items.iter().any(|value| is_deeper(value, levels - 1))
        }
        _ => false,
    }
}

/// A new object has no status yet, whatever it says.
fn reset_status(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
}

fn keep_field(name: &str, old: &Value, new: &mut Value) {
    let Some(fields) = new.as_object_mut() else {
        return;
    };
    match old.get(name) {
        Some(value) => drop(fields.insert(name.to_owned(), value.clone())),
        None => drop(fields.remove(name)),
    }
}

/// Through the status, nothing else changes; of the metadata only what built-in kinds let pass.
fn keep_all_but_status(cx: &Cx<'_>, old: &Value, new: &mut Value) {
    let status = new.get("status").cloned();
    let mut kept = old.clone();
    if cx.served.custom.is_some() {
        keep_field("managedFields", &new["metadata"], &mut kept["metadata"]);
    } else {
        kept["metadata"] = new["metadata"].clone();
        keep_field("labels", &old["metadata"], &mut kept["metadata"]);
        keep_field("ownerReferences", &old["metadata"], &mut kept["metadata"]);
    }
    if let Some(fields) = kept.as_object_mut() {
        match status {
            Some(status) => drop(fields.insert("status".to_owned(), status)),
            None => drop(fields.remove("status")),
        }
    }
    *new = kept;
}

/// Defaults and checks, by the definition's schema or by what is known of the built-in kind.
fn check(cx: &Cx<'_>, name: &str, old: Option<&Value>, object: &mut Value) -> Result<(), ApiError> {
    let served = &cx.served;
    let mut faults = Vec::new();
    match &served.custom {
        Some(custom) => {
            custom.schema.prune(object);
            if !custom.schema.fill(object) {
                let faults = vec![cause(&objects::Invalid::too_large())];
                return Err(ApiError::invalid(&served.group, &served.kind, name, faults));
            }
            let mut found = custom.schema.validate(object);
            if let Some(old) = old.filter(|_| !found.is_empty()) {
                // What was wrong before and has not been touched may stay.
                let before = custom.schema.validate(old);
                let same = |path: &Path| at(old, path) == at(object, path);
                found.retain(|fault| !(before.contains(fault) && same(&fault.path)));
            }
            faults.extend(object_meta::faults(cx, old, object));
            let found: Vec<Cause> = found
                .iter()
                .map(cause)
                .chain(embedded::faults(&custom.schema, object))
                .collect();
            let blocked = found.iter().any(blocks_rules);
            faults.extend(found);
            if let Some(rules) = custom.schema.rules() {
                if blocked {
                    let why = "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
                    faults.push(Cause::new("FieldValueInvalid", "<nil>", why));
                } else {
                    let evaluation = rules.evaluation(object, old);
                    let found = match evaluation.is_long() {
                        true => beside_others(|| evaluation.broken()),
                        false => evaluation.broken(),
                    };
                    faults.extend(found.into_iter().map(broken));
                }
            }
        }
        None => {
            let (store, whole) = (&cx.inner.store, cx.attributes().subresource.is_empty());
            defaults::fill(store, served, old, object);
            if whole {
                faults.extend(defaults::refused(
                    store,
                    &served.table,
                    old,
                    object,
                    cx.asked.dry_run(),
                ));
            }
            if faults.is_empty() {
                faults.extend(object_meta::faults(cx, old, object));
                if whole {
                    // Reading the schemas of a definition may take a while.
                    let found = || defaults::faults(&served.table, old, object);
                    let slow = served.kind == "CustomResourceDefinition";
                    faults.extend(if slow { beside_others(found) } else { found() });
                }
            }
        }
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid(&served.group, &served.kind, name, faults))
    }
}

/// Does what takes long without holding up the other requests of this thread.
fn beside_others<T>(act: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(act),
        // There is no other thread that could take them.
        _ => act(),
    }
}

fn at<'a>(object: &'a Value, path: &Path) -> Option<&'a Value> {
    path.steps()
        .iter()
        .try_fold(object, |value, step| match step {
            Step::Field(name) => value.get(&**name),
            Step::Index(index) => value.get(*index),
            Step::Each => None,
        })
}

/// A rule that is not kept as a cause.
fn broken(rule: BrokenRule) -> Cause {
    let field = if rule.field.is_empty() {
        "<nil>"
    } else {
        &rule.field
    };
    Cause::new(&rule.reason, field, rule.what)
}

/// Whether rules make no sense after such a fault.
fn blocks_rules(cause: &Cause) -> bool {
    matches!(
        &*cause.reason,
        "FieldValueRequired" | "FieldValueTooLong" | "FieldValueTooMany" | "FieldValueTypeInvalid"
    )
}

/// A fault of a schema as a cause, with the reason that its words begin with.
fn cause(fault: &objects::Invalid) -> Cause {
    let reason = match fault.what.split(':').next().unwrap_or_default() {
        "Required value" => "FieldValueRequired",
        "Unsupported value" => "FieldValueNotSupported",
        "Duplicate value" => "FieldValueDuplicate",
        "Too long" => "FieldValueTooLong",
        "Too many" => "FieldValueTooMany",
        "Forbidden" => "FieldValueForbidden",
        _ if fault.what.contains(" must be of type ") && !fault.path.is_root() => {
            "FieldValueTypeInvalid"
        }
        _ => "FieldValueInvalid",
    };
    let field = if fault.path.is_root() {
        "<nil>".to_owned()
    } else {
        fault.path.to_string()
    };
    Cause::new(reason, &field, fault.what.clone())
}

/// Whether more than metadata and status changed.
fn differs(cx: &Cx<'_>, old: &Value, new: &Value) -> bool {
    let apart = cx.served.has_status();
    let counted = |name: &str| name != "metadata" && !(apart && name == "status");
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return true;
    };
    let old = old.iter().filter(|(name, _)| counted(name));
    let new = new.iter().filter(|(name, _)| counted(name));
    !old.eq(new)
}
