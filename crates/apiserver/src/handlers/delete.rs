//! Objects that are to go: at once, or once their finalizers are gone.

use std::sync::Arc;

use http::Response;
use serde_json::{Value, json};

use super::status::{ApiError, Cause, Details};
use super::{Cx, respond};
use crate::pipeline::selection::Selection;
use crate::pipeline::{body_object, object_meta};
use crate::registry::{CLEANUP, DEFINITIONS, set_condition, strategy};
use crate::storage::{Change, CommitError, Entry, Expect, Key, Listing, Query, Store};
use crate::transport::response_body::Body;
use crate::{authn, clock, controllers};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// What happens to the dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// What a client says about a deletion.
#[derive(Clone, Debug, Default)]
struct DeleteOptions {
    propagation: Option<Propagation>,
    grace: Option<i64>,
    uid: Option<String>,
    revision: Option<String>,
    dry: bool,
}

impl DeleteOptions {
    fn read(cx: &Cx<'_>) -> Result<Self, ApiError> {
        let body = if cx.body.is_empty() {
            json!({})
        } else {
            body_object::parse(cx)?.value
        };
        let query = &cx.asked.query;
        let text = |name: &str| {
            body[name]
                .as_str()
                .map(str::to_owned)
                .or_else(|| query.get(name).map(str::to_owned))
        };
        let orphan = body["orphanDependents"]
            .as_bool()
            .or_else(|| query.get("orphanDependents").map(|it| it == "true"));
        let propagation = match (text("propagationPolicy").as_deref(), orphan) {
            (None, None) => None,
            (None, Some(true)) | (Some("Orphan"), None) => Some(Propagation::Orphan),
            (None, Some(false)) | (Some("Background"), None) => Some(Propagation::Background),
            (Some("Foreground"), None) => Some(Propagation::Foreground),
            (Some(text), Some(_)) => {
                let why = "orphanDependents and deletionPropagation cannot be both set";
                let cause = Cause::invalid("propagationPolicy", &text.into(), why);
                return Err(ApiError::invalid(
                    "meta.k8s.io",
                    "DeleteOptions",
                    "",
                    vec![cause],
                ));
            }
            (Some(other), None) => {
                let message = format!(
                    "Unsupported value: {other:?}: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
                );
                let cause = Cause::new("FieldValueNotSupported", "propagationPolicy", message);
                return Err(ApiError::invalid(
                    "meta.k8s.io",
                    "DeleteOptions",
                    "",
                    vec![cause],
                ));
            }
        };
        let all = |list: &Value| {
            list.as_array()
                .is_some_and(|list| list.iter().any(|word| word == "All"))
        };
        Ok(Self {
            propagation,
            grace: body["gracePeriodSeconds"]
                .as_i64()
                .or_else(|| query.get("gracePeriodSeconds")?.parse().ok()),
            uid: body["preconditions"]["uid"].as_str().map(str::to_owned),
            revision: body["preconditions"]["resourceVersion"]
                .as_str()
                .map(str::to_owned),
            dry: all(&body["dryRun"]) || cx.asked.dry_run(),
        })
    }

    /// Whether the object is the one that was meant.
    fn check(&self, object: &Value) -> Result<(), String> {
        for (wanted, name, word, perhaps) in [
            (&self.uid, "uid", "UID", "deleted and then recreated"),
            (
                &self.revision,
                "resourceVersion",
                "ResourceVersion",
                "modified",
            ),
        ] {
            let is = object_meta::text(object, name);
            if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != is) {
                return Err(format!(
                    "the {word} in the precondition ({wanted}) does not match the {word} in record ({is}). The object might have been {perhaps}"
                ));
            }
        }
        Ok(())
    }
}

/// What became of an object that was to go.
enum Removed {
    /// It is gone; this was it.
    Gone(Entry),
    /// It waits for somebody.
    Waiting(Entry),
}

/// Why an object is still there as it was.
enum Kept {
    Missing,
    NotMeant(String),
    Failed(String),
}

/// Deletes one object.
pub(crate) async fn delete(cx: &Cx<'_>) -> Result<Response<Body>, ApiError> {
    let attributes = cx.attributes();
    if !attributes.subresource.is_empty() {
        return Err(ApiError::method_not_allowed());
    }
    let wish = DeleteOptions::read(cx)?;
    let namespace = if cx.served.namespaced {
        &*attributes.namespace
    } else {
        ""
    };
    let key = Key::new(&cx.served.table, namespace, &attributes.name);
    match one(cx, &key, &wish).await? {
        Removed::Gone(entry) if strategy::returns_deleted(&cx.served.table) => {
            respond::object(cx, 200, &entry)
        }
        Removed::Gone(entry) => {
            let details = Details {
                name: attributes.name.clone(),
                group: cx.served.group.clone(),
                kind: cx.served.plural.clone(),
                uid: object_meta::text(&entry.head(), "uid").to_owned(),
                ..Details::default()
            };
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details.to_value(),
            });
            respond::value(cx.parts, 200, &status)
        }
        Removed::Waiting(entry) => respond::object(cx, 200, &entry),
    }
}

/// Deletes all objects that are selected.
pub(crate) async fn delete_collection(cx: &Cx<'_>) -> Result<Response<Body>, ApiError> {
    let wish = DeleteOptions::read(cx)?;
    let selection = Selection::read(&cx.served, &cx.asked.query, None)?;
    let namespace = if cx.served.namespaced {
        &*cx.attributes().namespace
    } else {
        ""
    };
    let query = Query {
        resource: &cx.served.table,
        namespace,
        ..Query::default()
    };
    let all = cx.inner.store.list(&query, |entry| selection.wants(entry));
    let all = all.map_err(|gone| ApiError::expired(gone.to_string()))?;
    let mut entries = Vec::with_capacity(all.entries.len());
    for entry in &all.entries {
        let head = entry.head();
        let key = Key::new(
            &cx.served.table,
            object_meta::text(&head, "namespace"),
            object_meta::text(&head, "name"),
        );
        match one(cx, &key, &wish).await {
            Ok(Removed::Gone(entry) | Removed::Waiting(entry)) => entries.push(entry),
            // Somebody else has deleted it.
            Err(error) if error.code == 404 => {}
            Err(error) => return Err(error),
        }
    }
    let listing = Listing {
        revision: all.revision,
        entries,
        ..Listing::default()
    };
    respond::list(cx, &listing, None, false)
}

async fn one(cx: &Cx<'_>, key: &Key, wish: &DeleteOptions) -> Result<Removed, ApiError> {
    let group = &cx.served.group;
    if let Some(entry) = cx.inner.store.get(key) {
        controllers::admit(cx.inner, cx.attributes(), Some(&entry.value()), None)?;
        authn::admit(
            cx.inner,
            cx.user,
            cx.attributes(),
            Some(&entry.value()),
            None,
        )?;
    }
    remove(&cx.inner.store, key, wish)
        .await
        .map_err(|kept| match kept {
            Kept::Missing => cx.not_found(key.name()),
            Kept::NotMeant(why) => ApiError::conflict(group, &cx.served.kind, key.name(), &why),
            Kept::Failed(why) => ApiError::internal(why),
        })
}

/// Deletes an object, or marks it for deletion if it has to wait.
async fn remove(store: &Store, key: &Key, wish: &DeleteOptions) -> Result<Removed, Kept> {
    loop {
        let entry = store.get(key).ok_or(Kept::Missing)?;
        wish.check(&entry.value()).map_err(Kept::NotMeant)?;
        let mut object = (*entry.value()).clone();
        mark_object(&key.resource, &mut object, wish);
        let gone = may_go(&key.resource, &object);
        if wish.dry {
            let entry = Entry::new(object, entry.revision);
            return Ok(if gone {
                Removed::Gone(entry)
            } else {
                Removed::Waiting(entry)
            });
        }
        if !gone && object == *entry.value() {
            return Ok(Removed::Waiting(entry));
        }
        let (to, marked) = if gone {
            (None, object)
        } else {
            (Some(object), Value::Null)
        };
        let change = Change {
            key: key.clone(),
            expect: Expect::Revision(entry.revision),
            to,
        };
        match store.commit(vec![change]).await {
            Ok(mut entries) => {
                let Some(entry) = entries.pop() else {
                    return Err(Kept::Missing);
                };
                if gone && &*key.resource == "pods" {
                    // A pod is shown as it was marked, even if it goes at once.
                    let mut last = marked;
                    last["metadata"]["resourceVersion"] = entry.revision.to_string().into();
                    return Ok(Removed::Gone(Entry::new(last, entry.revision)));
                }
                return Ok(if gone {
                    Removed::Gone(entry)
                } else {
                    Removed::Waiting(entry)
                });
            }
            Err(CommitError::Conflict(_)) => {}
            Err(error) => return Err(Kept::Failed(error.to_string())),
        }
    }
}

/// Deletes an object in the background, or marks it if it has to wait. One that is not there is no
/// fault.
pub(crate) async fn mark(store: &Store, table: &Arc<str>, object: &Value) {
    let key = Key::new(
        table,
        object_meta::text(object, "namespace"),
        object_meta::text(object, "name"),
    );
    let uid = Some(object_meta::text(object, "uid").to_owned());
    let wish = DeleteOptions {
        uid,
        propagation: Some(Propagation::Background),
        ..DeleteOptions::default()
    };
    drop(remove(store, &key, &wish).await);
}

/// Deletes an object if it is still as it was seen, and says whether it is not. Finalizers that it
/// has stay; with `foreground`, what it owns goes first.
pub(crate) async fn collect(
    store: &Store,
    key: &Key,
    seen: &Entry,
    foreground: bool,
) -> Result<bool, String> {
    let wish = DeleteOptions {
        uid: Some(object_meta::text(&seen.head(), "uid").to_owned()),
        revision: Some(object_meta::text(&seen.head(), "resourceVersion").to_owned()),
        propagation: foreground.then_some(Propagation::Foreground),
        ..DeleteOptions::default()
    };
    match remove(store, key, &wish).await {
        Ok(_) | Err(Kept::Missing) => Ok(false),
        Err(Kept::NotMeant(_)) => Ok(true),
        Err(Kept::Failed(why)) => Err(why),
    }
}

/// Writes into an object that it is to go, and who has to agree.
fn mark_object(table: &str, object: &mut Value, wish: &DeleteOptions) {
    let marked = object["metadata"]["deletionTimestamp"].is_string();
    let mut finalizers = object["metadata"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if let Some(propagation) = wish.propagation {
        finalizers.retain(|finalizer| finalizer != ORPHAN && finalizer != FOREGROUND);
        match propagation {
            Propagation::Orphan => finalizers.push(ORPHAN.into()),
            Propagation::Foreground => finalizers.push(FOREGROUND.into()),
            Propagation::Background => {}
        }
    }
    if table == DEFINITIONS && !marked {
        if !finalizers.iter().any(|finalizer| finalizer == CLEANUP) {
            finalizers.push(CLEANUP.into());
        }
        let message =
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        set_condition(
            object,
            "Terminating",
            "True",
            "InstanceDeletionPending",
            message,
        );
    }
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return;
    };
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".to_owned(), finalizers.into());
    }
    let grace = grace(table, object, wish);
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return;
    };
    if marked {
        // Asking again can only shorten the time that is left.
        let left = metadata
            .get("deletionGracePeriodSeconds")
            .and_then(Value::as_i64)
            .unwrap_or(0);
        if grace < left {
            metadata.insert("deletionGracePeriodSeconds".to_owned(), grace.into());
        }
        return;
    }
    let end = jiff::Timestamp::now()
        .checked_add(jiff::SignedDuration::from_secs(grace))
        .unwrap_or(jiff::Timestamp::MAX);
    metadata.insert("deletionTimestamp".to_owned(), clock::text(end).into());
    if table != DEFINITIONS {
        metadata.insert("deletionGracePeriodSeconds".to_owned(), grace.into());
    }
    if let Some(generation) = metadata
        .get("generation")
        .and_then(Value::as_i64)
        .filter(|generation| *generation > 0)
    {
        metadata.insert("generation".to_owned(), generation.saturating_add(1).into());
    }
    if table == "namespaces" {
        metadata.remove("deletionGracePeriodSeconds");
        object["status"]["phase"] = "Terminating".into();
    }
}

/// How many seconds a pod on a node gets to end; everything else gets none.
fn grace(table: &str, object: &Value, wish: &DeleteOptions) -> i64 {
    let ended = matches!(
        object["status"]["phase"].as_str(),
        Some("Failed" | "Succeeded")
    );
    if table != "pods"
        || ended
        || object["spec"]["nodeName"]
            .as_str()
            .is_none_or(str::is_empty)
    {
        return 0;
    }
    let own = object["spec"]["terminationGracePeriodSeconds"]
        .as_i64()
        .unwrap_or(30);
    wish.grace.unwrap_or(own).clamp(0, i64::from(u32::MAX))
}

/// Whether an object that is to go is held by nothing.
pub(crate) fn may_go(table: &str, object: &Value) -> bool {
    let metadata = &object["metadata"];
    let held = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    metadata["deletionTimestamp"].is_string()
        && !held(&metadata["finalizers"])
        && metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
        && !(table == "namespaces" && held(&object["spec"]["finalizers"]))
}
