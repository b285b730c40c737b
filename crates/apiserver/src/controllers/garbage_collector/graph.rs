//! Who owns what, by uid, and which objects have to be looked at again when one changes. It
//! remembers only objects that have owners; what is to be done with them is the business of
//! `verdict`.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    sync::Arc,
};

use serde_json::Value;

use crate::storage::Key;

/// How many owners that went are remembered.
const REMEMBERED: usize = 4096;
/// Keeps an object until what it owns is gone.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// Keeps an object until what it owns is its own master.
pub(crate) const ORPHAN: &str = "orphan";

/// An owner as an object names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    /// Its group and version.
    pub(crate) version: String,
    /// Its kind.
    pub(crate) kind: String,
    /// Its name.
    pub(crate) name: String,
    /// Its uid: the only thing that counts in the end.
    pub(crate) uid: Arc<str>,
    /// Whether it waits for this object when it goes in the foreground.
    pub(crate) blocks: bool,
}

impl Owner {
    /// The owners of an object.
    pub(crate) fn all_of(object: &Value) -> Vec<Self> {
        let references = object["metadata"]["ownerReferences"].as_array();
        let read = |reference: &Value| {
            let text = |field: &str| reference[field].as_str().unwrap_or_default().to_owned();
            Self {
                version: text("apiVersion"),
                kind: text("kind"),
                name: text("name"),
                uid: text("uid").into(),
                blocks: reference["blockOwnerDeletion"] == true,
            }
        };
        references.into_iter().flatten().map(read).collect()
    }

    /// The group and the version.
    pub(crate) fn group_version(&self) -> (&str, &str) {
        self.version.split_once('/').unwrap_or(("", &self.version))
    }
}

struct Child {
    key: Key,
    owners: Vec<Owner>,
}

/// All objects that have owners.
#[derive(Default)]
pub(crate) struct Owners {
    children: HashMap<Arc<str>, Child>,
    dependents: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
    absent: Absent,
}

/// Owners that went, with whether they were in a namespace; the latest ones.
#[derive(Default)]
struct Absent {
    known: HashMap<Arc<str>, bool>,
    order: VecDeque<Arc<str>>,
}

/// What has to be looked at again.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Again {
    /// These objects.
    pub(crate) keys: BTreeSet<Key>,
    /// These owners, as somebody in a namespace named them.
    pub(crate) owners: HashSet<(Owner, String)>,
}

impl Owners {
    /// Takes note of a change: an object before and after it, as far as it was or is there.
    pub(crate) fn note(
        &mut self,
        key: &Key,
        before: Option<&Value>,
        after: Option<&Value>,
        again: &mut Again,
    ) {
        let uid = |object: &Value| object["metadata"]["uid"].as_str().map(Arc::from);
        let (old, new) = (before.and_then(uid), after.and_then(uid));
        if let Some(old) = old.filter(|old: &Arc<str>| new.as_ref() != Some(old)) {
            self.gone(key, &old, again);
        }
        let (Some(new), Some(after)) = (new, after) else {
            return;
        };
        let metadata = &after["metadata"];
        let references = &metadata["ownerReferences"];
        let known = self.children.contains_key(&new);
        if (references.is_array() || known)
            && (!known
                || before.is_none_or(|old| old["metadata"]["ownerReferences"] != *references))
        {
            self.replace(key, &new, Owner::all_of(after), again);
        }
        if metadata["deletionTimestamp"].is_string()
            && (has_finalizer(after, FOREGROUND) || has_finalizer(after, ORPHAN))
        {
            again.keys.insert(key.clone());
        }
    }

    /// The objects that an owner has, and whether each keeps it from going.
    pub(crate) fn dependents(&self, owner: &str) -> Vec<(Key, bool)> {
        let uids = self.dependents.get(owner).into_iter().flatten();
        uids.filter_map(|uid| {
            let child = self.children.get(uid)?;
            let blocks = child
                .owners
                .iter()
                .any(|reference| &*reference.uid == owner && reference.blocks);
            Some((child.key.clone(), blocks))
        })
        .collect()
    }

    /// Whether an owner is known to be gone, and if so, whether it was in a namespace.
    pub(crate) fn is_absent(&self, owner: &str) -> Option<bool> {
        self.absent.known.get(owner).copied()
    }

    /// Remembers that an owner is not there.
    pub(crate) fn remember_absent(&mut self, owner: &Arc<str>, namespaced: bool) {
        if self
            .absent
            .known
            .insert(owner.clone(), namespaced)
            .is_none()
        {
            self.absent.order.push_back(owner.clone());
        }
        if self.absent.order.len() > REMEMBERED
            && let Some(oldest) = self.absent.order.pop_front()
        {
            self.absent.known.remove(&oldest);
        }
    }

    /// The objects whose owners' kinds are as given.
    pub(crate) fn children(&self, wanted: impl Fn(&Owner) -> bool) -> Vec<Key> {
        let fits = |child: &&Child| child.owners.iter().any(&wanted);
        self.children
            .values()
            .filter(fits)
            .map(|child| child.key.clone())
            .collect()
    }

    fn replace(&mut self, key: &Key, uid: &Arc<str>, owners: Vec<Owner>, again: &mut Again) {
        let old = self
            .children
            .remove(uid)
            .map(|child| child.owners)
            .unwrap_or_default();
        for owner in &old {
            let stays = owners
                .iter()
                .any(|new| new.uid == owner.uid && (new.blocks || !owner.blocks));
            if !stays {
                again
                    .owners
                    .insert((owner.clone(), key.namespace().to_owned()));
            }
            self.forget(uid, &owner.uid);
        }
        if owners.is_empty() {
            return;
        }
        for owner in &owners {
            self.dependents
                .entry(owner.uid.clone())
                .or_default()
                .insert(uid.clone());
        }
        again.keys.insert(key.clone());
        self.children.insert(
            uid.clone(),
            Child {
                key: key.clone(),
                owners,
            },
        );
    }

    fn gone(&mut self, key: &Key, uid: &Arc<str>, again: &mut Again) {
        if self.dependents.contains_key(uid) {
            self.remember_absent(uid, !key.namespace().is_empty());
            again
                .keys
                .extend(self.dependents(uid).into_iter().map(|(key, _)| key));
        }
        let Some(child) = self.children.remove(uid) else {
            return;
        };
        for owner in child.owners {
            self.forget(uid, &owner.uid);
            again.owners.insert((owner, key.namespace().to_owned()));
        }
    }

    fn forget(&mut self, child: &Arc<str>, owner: &Arc<str>) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(child);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }
}

/// Whether an object waits for somebody.
pub(crate) fn has_finalizer(object: &Value, wanted: &str) -> bool {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers.is_some_and(|finalizers| finalizers.iter().any(|finalizer| finalizer == wanted))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(name: &str) -> Key {
        Key::new(&Arc::from("things"), "n", name)
    }

    fn object(uid: &str, owners: &[(&str, bool)]) -> Value {
        let owners: Vec<Value> = owners
            .iter()
            .map(|(uid, blocks)| json!({"kind": "Thing", "uid": uid, "blockOwnerDeletion": blocks}))
            .collect();
        json!({"metadata": {"uid": uid, "ownerReferences": owners}})
    }

    fn noted(
        owners: &mut Owners,
        name: &str,
        before: Option<&Value>,
        after: Option<&Value>,
    ) -> (Vec<String>, Vec<String>) {
        let mut again = Again::default();
        owners.note(&key(name), before, after, &mut again);
        let mut uids: Vec<String> = again
            .owners
            .iter()
            .map(|(owner, _)| owner.uid.to_string())
            .collect();
        uids.sort();
        (
            again.keys.iter().map(|key| key.name().to_owned()).collect(),
            uids,
        )
    }

    #[test]
    fn what_a_change_concerns_is_looked_at_again_and_nothing_else() {
        let mut owners = Owners::default();
        let nothing = (Vec::new(), Vec::new());
        let free = json!({"metadata": {"uid": "free"}});
        assert_eq!(
            noted(&mut owners, "free", None, Some(&free)),
            nothing,
            "without an owner"
        );
        let child = object("c", &[("a", true), ("b", false)]);
        assert_eq!(
            noted(&mut owners, "c", None, Some(&child)),
            (vec!["c".to_owned()], Vec::new()),
            "new with owners"
        );
        let mut labelled = child.clone();
        labelled["metadata"]["labels"] = json!({"x": "y"});
        assert_eq!(
            noted(&mut owners, "c", Some(&child), Some(&labelled)),
            nothing,
            "another change"
        );
        let unblocked = object("c", &[("a", false), ("b", false)]);
        let expect = (vec!["c".to_owned()], vec!["a".to_owned()]);
        assert_eq!(
            noted(&mut owners, "c", Some(&labelled), Some(&unblocked)),
            expect,
            "an owner is waited for no more"
        );
        assert_eq!(owners.dependents("a"), [(key("c"), false)]);
        let left = object("c", &[("b", false)]);
        assert_eq!(
            noted(&mut owners, "c", Some(&unblocked), Some(&left)),
            expect,
            "an owner is let go"
        );
        assert_eq!(owners.dependents("a"), []);
        let owner = json!({"metadata": {"uid": "b"}});
        assert_eq!(
            noted(&mut owners, "b", Some(&owner), None),
            (vec!["c".to_owned()], Vec::new()),
            "the owner is gone"
        );
        assert_eq!(owners.is_absent("b"), Some(true));
        assert_eq!(
            noted(&mut owners, "c", Some(&left), None),
            (Vec::new(), vec!["b".to_owned()]),
            "the child is gone"
        );
        assert!(
            owners.children.is_empty() && owners.dependents.is_empty(),
            "nothing is left behind"
        );
    }

    #[test]
    fn an_object_that_waits_for_its_dependents_is_looked_at() {
        let mut owners = Owners::default();
        for (finalizer, deleted, expect) in [
            (FOREGROUND, true, 1),
            (ORPHAN, true, 1),
            ("acme.io/x", true, 0),
            (FOREGROUND, false, 0),
        ] {
            let time = if deleted {
                json!("2026-01-01T00:00:00Z")
            } else {
                Value::Null
            };
            let object = json!({"metadata": {"uid": "u", "finalizers": [finalizer], "deletionTimestamp": time}});
            assert_eq!(
                noted(&mut owners, "o", None, Some(&object)).0.len(),
                expect,
                "{finalizer} {deleted}"
            );
        }
    }

    #[test]
    fn what_is_remembered_of_the_absent_is_bounded() {
        let mut owners = Owners::default();
        for number in 0..=REMEMBERED {
            owners.remember_absent(&Arc::from(number.to_string()), false);
        }
        assert_eq!(
            (owners.is_absent("0"), owners.is_absent("1")),
            (None, Some(false))
        );
        assert_eq!(owners.absent.known.len(), REMEMBERED);
    }
}
