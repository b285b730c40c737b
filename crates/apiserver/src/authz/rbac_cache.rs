//! The roles and bindings in the store as an index that is never behind: whoever asks first catches
//! up with what was written, so that a grant holds for the very next request.

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use super::rbac_index::{GROUP, Index, Kind};
use crate::registry::table_name;
use crate::storage::{Query, Store, Watcher};

/// The rights that the store grants.
pub(crate) struct Policy {
    store: Arc<Store>,
    index: RwLock<Index>,
    feeds: Mutex<Vec<Feed>>,
}

struct Feed {
    kind: Kind,
    table: Arc<str>,
    watcher: Option<Watcher>,
}

impl Policy {
    /// The rights that a store grants, from now on.
    pub(crate) fn new(store: &Arc<Store>) -> Self {
        let feeds = Kind::ALL.map(|kind| Feed {
            kind,
            table: table_name(GROUP, kind.resource()),
            watcher: None,
        });
        Self {
            store: store.clone(),
            index: RwLock::default(),
            feeds: Mutex::new(feeds.into()),
        }
    }

    /// The index as the store is now.
    pub(crate) fn now(&self) -> RwLockReadGuard<'_, Index> {
        self.catch_up();
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn catch_up(&self) {
        let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        for feed in &mut *feeds {
            loop {
                let Some(watcher) = &mut feed.watcher else {
                    self.start_over(feed);
                    break;
                };
                if !watcher.is_behind() {
                    break;
                }
                let Ok(batch) = watcher.take() else {
                    feed.watcher = None;
                    continue;
                };
                if batch.events.is_empty() {
                    break;
                }
                let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
                for event in batch.events {
                    let object = (!event.deleted).then(|| event.entry.value());
                    index.note(
                        feed.kind,
                        event.key.namespace(),
                        event.key.name(),
                        object.as_deref(),
                    );
                }
            }
        }
    }

    /// Reads everything of a kind, at the start or when too much has happened to follow.
    fn start_over(&self, feed: &mut Feed) {
        let query = Query {
            resource: &feed.table,
            ..Query::default()
        };
        let Ok(listing) = self.store.list(&query, |_| true) else {
            return;
        };
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        index.forget(feed.kind);
        for entry in listing.entries {
            let value = entry.value();
            let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default();
            index.note(feed.kind, text("namespace"), text("name"), Some(&value));
        }
        feed.watcher = self.store.watch(&feed.table, listing.revision).ok();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::authn::user::User;
    use crate::authz::attributes::{Question, Resource};
    use crate::storage::{Change, Expect, Key, Window};

    #[tokio::test]
    async fn a_grant_holds_for_the_very_next_question() {
        let store = Store::in_memory(Window {
            events: 4,
            ..Window::default()
        });
        let policy = Policy::new(&store);
        let write = async |kind: Kind, name: &str, to: Option<Value>| {
            let key = Key::new(&table_name(GROUP, kind.resource()), "", name);
            store
                .commit(vec![Change {
                    key,
                    expect: Expect::Any,
                    to,
                }])
                .await
                .unwrap();
        };
        let ann = User::new("ann", &[]);
        let question = Question::of(
            "get",
            Resource {
                resource: "pods",
                ..Resource::default()
            },
        );
        let may = || policy.now().decide(&ann, &question).allowed;
        assert!(!may());
        let role = json!({"metadata": {"name": "r"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]});
        write(Kind::ClusterRole, "r", Some(role)).await;
        let binding = json!({"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "r"},
            "subjects": [{"kind": "User", "name": "ann"}]});
        write(Kind::ClusterRoleBinding, "b", Some(binding.clone())).await;
        assert!(may());
        write(Kind::ClusterRoleBinding, "b", None).await;
        assert!(!may());
        // More than the window remembers.
        for number in 0..9 {
            write(
                Kind::ClusterRoleBinding,
                &format!("other{number}"),
                Some(json!({"metadata": {"name": number.to_string()}})),
            )
            .await;
        }
        write(Kind::ClusterRoleBinding, "b", Some(binding)).await;
        assert!(may());
    }
}
