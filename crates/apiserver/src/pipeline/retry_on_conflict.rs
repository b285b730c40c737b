//! Changing an object that is there: read, changed and written again, from the start if somebody
//! else was quicker.

use serde_json::Value;

use super::{object_meta, prepare};
use crate::handlers::status::ApiError;
use crate::handlers::{Cx, delete, respond};
use crate::storage::{Change, CommitError, Entry, Expect, Key};

/// How often a change is tried that does not say which revision it is for.
const TRIES: usize = 64;

/// Changes an object. `edit` gets it in the served version, and says what it shall be.
pub(crate) async fn modify(
    cx: &Cx<'_>,
    key: &Key,
    edit: impl Fn(&Value) -> Result<Value, ApiError> + Send,
) -> Result<Entry, ApiError> {
    let store = &cx.inner.store;
    let (group, plural) = (&cx.served.group, &cx.served.plural);
    let dry = cx.asked.dry_run();
    for _ in 0..TRIES {
        let entry = store.get(key).ok_or_else(|| cx.not_found(key.name()))?;
        let converted;
        let old = if cx.served.is_stored {
            &*entry.value()
        } else {
            converted = respond::shown(&cx.served, &entry.value());
            &converted
        };
        let edited = edit(old)?;
        let seen = object_meta::text(&edited, "resourceVersion").to_owned();
        if !seen.is_empty() && seen.parse::<u64>().is_err() {
            let message = format!("strconv.ParseUint: parsing {seen:?}: invalid syntax");
            return Err(ApiError::other(500, "", message));
        }
        if !seen.is_empty() && seen != object_meta::text(old, "resourceVersion") {
            return Err(ApiError::modified(group, plural, key.name()));
        }
        let mut new = prepare::update(cx, old, edited)?;
        if new == *entry.value() {
            store
                .settled(entry.revision)
                .await
                .map_err(ApiError::internal)?;
            return Ok(entry);
        }
        let gone = delete::may_go(&cx.served.table, &new);
        if dry {
            return Ok(Entry::new(new, entry.revision));
        }
        let expect = Expect::Revision(entry.revision);
        let mut changes = vec![Change {
            key: key.clone(),
            expect,
            to: Some(new.clone()),
        }];
        if gone {
            // What is shown of it in the end is what this change made it.
            changes = vec![Change {
                key: key.clone(),
                expect,
                to: None,
            }];
        }
        match store.commit(changes).await {
            Ok(mut entries) => {
                let Some(entry) = entries.pop() else {
                    return Err(ApiError::internal("nothing was written"));
                };
                if gone {
                    new["metadata"]["resourceVersion"] = entry.revision.to_string().into();
                    return Ok(Entry::new(new, entry.revision));
                }
                return Ok(entry);
            }
            Err(CommitError::Conflict(_))
                if seen.is_empty() || cx.attributes().verb == crate::request::info::Verb::Patch => {
            }
            Err(CommitError::Conflict(_)) => {
                return Err(ApiError::modified(group, plural, key.name()));
            }
            Err(error) => return Err(ApiError::internal(error)),
        }
    }
    Err(ApiError::modified(group, plural, key.name()))
}
