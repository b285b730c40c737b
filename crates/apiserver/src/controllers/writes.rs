//! Writes of the server itself: an object changed, made or deleted whatever else happens to it
//! meanwhile.

use serde_json::Value;

use crate::handlers::delete;
use crate::storage::{Change, CommitError, Entry, Expect, Key, Store};

/// How often a write is tried when others write the same object.
const TRIES: usize = 64;

/// Changes an object that is there with this uid. `edit` says whether there is anything to write; a
/// deleted object that is held by nothing any more goes. An object that is not there, or is
/// another, is left alone.
pub(crate) async fn change(
    store: &Store,
    key: &Key,
    uid: &str,
    edit: impl Fn(&mut Value) -> bool,
) -> Result<(), CommitError> {
    for _ in 0..TRIES {
        let Some(entry) = store.get(key).filter(|entry| uid_of(&entry.value()) == uid) else {
            return Ok(());
        };
        let mut object = (*entry.value()).clone();
        if !edit(&mut object) {
            return Ok(());
        }
        let to = if delete::may_go(&key.resource, &object) {
            None
        } else {
            Some(object)
        };
        let change = Change {
            key: key.clone(),
            expect: Expect::Revision(entry.revision),
            to,
        };
        match store.commit(vec![change]).await {
            Err(CommitError::Conflict(_)) => {}
            other => return other.map(drop),
        }
    }
    Err(CommitError::Conflict(key.clone()))
}

/// Makes an object unless it is there, and says whether it did.
pub(crate) async fn make(store: &Store, key: &Key, object: Value) -> Result<bool, CommitError> {
    match store
        .commit(vec![Change {
            key: key.clone(),
            expect: Expect::Absent,
            to: Some(object),
        }])
        .await
    {
        Ok(_) => Ok(true),
        Err(CommitError::Conflict(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Takes a finalizer away; whether it was there.
pub(crate) fn remove_finalizer(object: &mut Value, name: &str) -> bool {
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return false;
    };
    let Some(Value::Array(finalizers)) = metadata.get_mut("finalizers") else {
        return false;
    };
    let before = finalizers.len();
    finalizers.retain(|finalizer| finalizer != name);
    let removed = finalizers.len() < before;
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    }
    removed
}

/// Takes references to owners away; whether there were any.
pub(crate) fn remove_owners(object: &mut Value, uids: &[String]) -> bool {
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return false;
    };
    let Some(Value::Array(references)) = metadata.get_mut("ownerReferences") else {
        return false;
    };
    let before = references.len();
    references.retain(|reference| !uids.iter().any(|uid| reference["uid"] == **uid));
    let removed = references.len() < before;
    if references.is_empty() {
        metadata.remove("ownerReferences");
    }
    removed
}

/// Lets an object keep none of its owners waiting; whether it did.
pub(crate) fn unblock_owners(object: &mut Value) -> bool {
    let references = object["metadata"]["ownerReferences"]
        .as_array_mut()
        .into_iter()
        .flatten();
    let mut changed = false;
    for reference in references.filter(|reference| reference["blockOwnerDeletion"] == true) {
        reference["blockOwnerDeletion"] = false.into();
        changed = true;
    }
    changed
}

/// The uid of an object.
pub(crate) fn uid_of(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// Where an object of a table is.
pub(crate) fn key_of(table: &std::sync::Arc<str>, entry: &Entry) -> Key {
    let head = entry.head();
    let text = |field: &str| head["metadata"][field].as_str().unwrap_or_default();
    Key::new(table, text("namespace"), text("name"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::storage::Window;

    #[tokio::test]
    async fn a_deleted_object_goes_with_its_last_finalizer() {
        let store = Store::in_memory(Window::default());
        let key = Key::new(&Arc::from("configmaps"), "n", "c");
        let object = json!({"metadata": {"name": "c", "namespace": "n", "uid": "u", "finalizers": ["a", "b"],
            "deletionTimestamp": "2026-01-01T00:00:00Z"}});
        assert!(make(&store, &key, object.clone()).await.unwrap());
        assert!(!make(&store, &key, object).await.unwrap(), "it is there");
        change(&store, &key, "other", |object| {
            remove_finalizer(object, "a")
        })
        .await
        .unwrap();
        assert_eq!(
            store.get(&key).unwrap().value()["metadata"]["finalizers"],
            json!(["a", "b"]),
            "another uid"
        );
        change(&store, &key, "u", |object| remove_finalizer(object, "a"))
            .await
            .unwrap();
        assert_eq!(
            store.get(&key).unwrap().value()["metadata"]["finalizers"],
            json!(["b"])
        );
        change(&store, &key, "u", |object| remove_finalizer(object, "b"))
            .await
            .unwrap();
        assert!(store.get(&key).is_none());
        change(&store, &key, "u", |_| true).await.unwrap();
    }

    #[test]
    fn owners_are_taken_away_by_uid() {
        let mut object = json!({"metadata": {"ownerReferences": [{"uid": "a", "blockOwnerDeletion": true}, {"uid": "b"}]}});
        assert!(unblock_owners(&mut object) && !unblock_owners(&mut object));
        assert!(
            remove_owners(&mut object, &["a".to_owned()])
                && !remove_owners(&mut object, &["a".to_owned()])
        );
        assert_eq!(object["metadata"]["ownerReferences"], json!([{"uid": "b"}]));
        assert!(remove_owners(&mut object, &["b".to_owned()]));
        assert_eq!(object, json!({"metadata": {}}));
    }
}
