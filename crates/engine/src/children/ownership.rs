//! Whose a live object is. The one place that decides what an instance may delete and what it may
//! apply to: labels find candidates, only a uid makes an object one's own.

use std::hash::{DefaultHasher, Hash, Hasher};

use api::names::label_value;
use api::{annotations, labels};
use objects::Gvk;
use serde_json::Value;

use super::desired::{controller_of, is_orphan, parent_labels};
use crate::random::Seed;

/// How a live object and an instance belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// The instance owns the object: its controller reference has the uid of the instance or, where
    /// it can have none, the record on it is of this instance and this object. Only such objects
    /// are ever deleted.
    Owned,
    /// The instance owned the object until its reference was removed. It may be applied to, never
    /// deleted.
    Released,
    /// Only labels name the instance, as on a copy or on what a backup tool restored. It may be
    /// applied to at the identity that a template renders now, never deleted.
    Labelled,
    /// The object is not the instance's.
    Foreign,
}

impl Tie {
    /// Whether the object may be deleted for the instance.
    pub fn may_delete(self) -> bool {
        self == Tie::Owned
    }

    /// Whether the object may be applied to, at the identity that a template renders now and while
    /// it is not being deleted.
    pub fn may_apply(self) -> bool {
        self != Tie::Foreign
    }
}

/// How an instance and a live object belong together. Without a seed the record on an object cannot
/// be checked, and is believed where labels name the instance: good enough to show an object, not
/// to delete it.
pub fn tie(live: &Value, instance: &Value, seed: Option<&Seed>) -> Tie {
    Marks::of(live).tie(instance, seed, || live.clone())
}

/// The record on an object that has no reference to the instance that made it: nobody without the
/// seed can write one for another instance, another name or, once the object exists, another
/// object.
pub fn record(seed: &Seed, instance: &Value, object: &Value, uid: Option<&str>) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let gvk = Gvk::of(object).unwrap_or_default();
    let metadata = &object["metadata"];
    let parts = [
        text(&instance["metadata"]["uid"]),
        gvk.group,
        gvk.kind,
        text(&metadata["namespace"]),
        text(&metadata["name"]),
        uid.unwrap_or_default().to_owned(),
    ];
    seed.fingerprint(format!("child of {}", parts.join("\n")).as_bytes())
}

/// The instance that an object says it was made for: by its controller or, if it has none, by its
/// labels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Parent {
    /// The uid of the controller; empty if only labels tell.
    pub uid: String,
    /// The group of its kind.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace, as far as the child tells.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Parent {
    fn of(live: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if let Some(owner) = controller_of(live) {
            let gvk = Gvk::of(owner).unwrap_or_default();
            let namespace = text(&live["metadata"]["namespace"]);
            let (uid, name) = (text(&owner["uid"]), text(&owner["name"]));
            return Some(Self {
                uid,
                group: gvk.group,
                kind: gvk.kind,
                namespace,
                name,
            });
        }
        let marks = &live["metadata"]["labels"];
        let parent = Self {
            uid: String::new(),
            group: text(&marks[labels::PARENT_GROUP]),
            kind: text(&marks[labels::PARENT_KIND]),
            namespace: text(&marks[labels::PARENT_NAMESPACE]),
            name: text(&marks[labels::PARENT_NAME]),
        };
        // What no stack made is nobody's child.
        (!parent.name.is_empty() && marks[labels::STACK].is_string()).then_some(parent)
    }

    /// One text by which candidates for the children of a parent are found.
    pub fn key(&self) -> String {
        match self.uid.as_str() {
            "" => [&*self.group, &*self.kind, &*self.namespace, &*self.name].join("/"),
            uid => uid.to_owned(),
        }
    }

    /// Both texts under which candidates for the children of an instance are found.
    pub fn keys_of(instance: &Value) -> [String; 2] {
        [
            instance["metadata"]["uid"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            label_key(instance),
        ]
    }
}

/// What the parent labels of an instance's children say, as one text.
fn label_key(instance: &Value) -> String {
    let marks = parent_labels(instance);
    let text = |key: &str| {
        marks
            .iter()
            .find(|(mark, _)| *mark == key)
            .map_or("", |(_, text)| text.as_str())
    };
    LABELS.map(text).join("/")
}

/// The parent labels that name an instance; its version is not part of its identity.
const LABELS: [&str; 4] = [
    labels::PARENT_GROUP,
    labels::PARENT_KIND,
    labels::PARENT_NAMESPACE,
    labels::PARENT_NAME,
];

/// What a live object says of whose it is, in little memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Marks {
    pub parent: Option<Box<Parent>>,
    /// Of the instance that its labels name; zero if they name none.
    labelled: u64,
    /// Of the record on it; zero if there is none.
    record: u64,
    /// Whether it stays when its parent or its template goes, and so has no owner.
    is_orphan: bool,
}

impl Marks {
    pub fn of(live: &Value) -> Self {
        let marks = &live["metadata"]["labels"];
        let texts = LABELS.map(|label| marks[label].as_str().unwrap_or_default());
        let is_labelled =
            marks[labels::STACK].is_string() && texts.iter().any(|text| !text.is_empty());
        let record = live["metadata"]["annotations"][annotations::RECORD].as_str();
        Self {
            parent: Parent::of(live).map(Box::new),
            labelled: if is_labelled {
                hash(&texts.join("/"))
            } else {
                0
            },
            record: record.map_or(0, hash),
            is_orphan: is_orphan(live),
        }
    }

    /// `object` answers what the object is: its kind, namespace, name and uid.
    pub fn tie(
        &self,
        instance: &Value,
        seed: Option<&Seed>,
        object: impl FnOnce() -> Value,
    ) -> Tie {
        let own = |field: &str| instance["metadata"][field].as_str().unwrap_or_default();
        let (mine, uid) = (own("namespace"), own("uid"));
        let controller = self.parent.as_ref().filter(|parent| !parent.uid.is_empty());
        if let Some(owner) = controller.filter(|owner| owner.uid == uid && !uid.is_empty()) {
            // A reference across namespaces, or from outside into one, is not valid: anybody could
            // make one.
            return if mine.is_empty() || owner.namespace == mine {
                Tie::Owned
            } else {
                Tie::Foreign
            };
        }
        if let Some(owner) = controller {
            let gvk = Gvk::of(instance).unwrap_or_default();
            let is_stale = owner.group == gvk.group
                && owner.kind == gvk.kind
                && owner.name == own("name")
                && (mine.is_empty() || owner.namespace == mine);
            return if is_stale && self.names(instance) {
                Tie::Labelled
            } else {
                Tie::Foreign
            };
        }
        if self.record == 0 && !self.names(instance) {
            return Tie::Foreign;
        }
        let object = object();
        let place = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let can_be_owned = mine.is_empty() || !place.is_empty();
        if can_be_owned && !mine.is_empty() && place != mine {
            return Tie::Foreign;
        }
        if self.is_recorded(instance, seed, &object) {
            return if can_be_owned && !self.is_orphan {
                Tie::Released
            } else {
                Tie::Owned
            };
        }
        if self.names(instance) {
            Tie::Labelled
        } else {
            Tie::Foreign
        }
    }

    /// Whether the labels name the instance.
    fn names(&self, instance: &Value) -> bool {
        self.labelled != 0 && self.labelled == hash(&label_key(instance))
    }

    fn is_recorded(&self, instance: &Value, seed: Option<&Seed>, object: &Value) -> bool {
        if self.record == 0 {
            return false;
        }
        let Some(seed) = seed else {
            return self.names(instance);
        };
        // Between its creation and the next apply the record on an object is without its uid.
        let uid = object["metadata"]["uid"].as_str();
        [uid, None]
            .iter()
            .any(|uid| hash(&record(seed, instance, object, *uid)) == self.record)
    }
}

/// The label of the stack on every child.
pub fn stack_label(stack: &str) -> String {
    format!("{}={}", labels::STACK, label_value(stack))
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    // Zero stands for nothing.
    hasher.finish().max(1)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Tie, record, tie};
    use crate::children::desired::parent_labels;
    use crate::random::Seed;

    fn instance() -> Value {
        json!({ "apiVersion": "a.b/v1", "kind": "K", "metadata": { "name": "x", "namespace": "ns", "uid": "1" } })
    }

    /// A child that only its labels give away.
    fn child(kind: &str, namespace: Option<&str>, name: &str) -> Value {
        let mut child = json!({
            "apiVersion": "v1", "kind": kind,
            "metadata": { "name": name, "uid": "c", "labels": { "stacks.crossplane.io/stack": "s" } },
        });
        if let Some(namespace) = namespace {
            child["metadata"]["namespace"] = json!(namespace);
        }
        for (key, value) in parent_labels(&instance()) {
            child["metadata"]["labels"][key] = json!(value);
        }
        child
    }

    fn with(mut object: Value, path: &str, value: Value) -> Value {
        if let Some(place) = object.pointer_mut(path) {
            *place = value;
            return object;
        }
        let (parent, key) = path.rsplit_once('/').unwrap();
        if object.pointer(parent).is_none() {
            object = with(object, parent, json!({}));
        }
        object.pointer_mut(parent).unwrap()[key.replace("~1", "/")] = value;
        object
    }

    fn owner(api_version: &str, kind: &str, name: &str, uid: &str, controller: bool) -> Value {
        json!([{ "apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": controller }])
    }

    const OWNERS: &str = "/metadata/ownerReferences";
    const NOTE: &str = "/metadata/annotations/stacks.crossplane.io~1record";
    const POLICY: &str = "/metadata/annotations/stacks.crossplane.io~1deletion-policy";

    #[test]
    fn an_object_is_owned_by_a_uid_alone_and_labels_are_a_licence_to_apply() {
        let (map, zone) = (
            child("ConfigMap", Some("ns"), "m"),
            child("Zone", None, "z"),
        );
        let bare = with(map.clone(), "/metadata/labels", json!({}));
        let ours = owner("a.b/v1", "K", "x", "1", true);
        for (what, live, expected) in [
            (
                "our controller",
                with(bare.clone(), OWNERS, ours.clone()),
                Tie::Owned,
            ),
            (
                "our controller in another version",
                with(bare.clone(), OWNERS, owner("a.b/v2", "K", "x", "1", true)),
                Tie::Owned,
            ),
            ("nothing", bare.clone(), Tie::Foreign),
            ("labels", map.clone(), Tie::Labelled),
            (
                "labels, being deleted",
                with(map.clone(), "/metadata/deletionTimestamp", json!("now")),
                Tie::Labelled,
            ),
            (
                "an owner that is no controller",
                with(map.clone(), OWNERS, owner("a.b/v1", "K", "x", "1", false)),
                Tie::Labelled,
            ),
            (
                "a stale controller",
                with(map.clone(), OWNERS, owner("a.b/v1", "K", "x", "0", true)),
                Tie::Labelled,
            ),
            (
                "a stale controller and no labels",
                with(bare, OWNERS, owner("a.b/v1", "K", "x", "0", true)),
                Tie::Foreign,
            ),
            (
                "a controller of another name",
                with(map.clone(), OWNERS, owner("a.b/v1", "K", "y", "0", true)),
                Tie::Foreign,
            ),
            (
                "a controller of another kind",
                with(map.clone(), OWNERS, owner("a.b/v1", "L", "x", "0", true)),
                Tie::Foreign,
            ),
            (
                "a controller of another group",
                with(map.clone(), OWNERS, owner("b.a/v1", "K", "x", "0", true)),
                Tie::Foreign,
            ),
            (
                "labels in another namespace",
                child("ConfigMap", Some("other"), "m"),
                Tie::Foreign,
            ),
            (
                "our uid in another namespace",
                with(child("ConfigMap", Some("other"), "m"), OWNERS, ours.clone()),
                Tie::Foreign,
            ),
            (
                "our uid outside of namespaces",
                with(zone.clone(), OWNERS, ours),
                Tie::Foreign,
            ),
            ("labels outside of namespaces", zone, Tie::Labelled),
            (
                "labels of another name",
                with(
                    map.clone(),
                    "/metadata/labels/core.crossplane.io~1parent-name",
                    json!("y"),
                ),
                Tie::Foreign,
            ),
            (
                "labels of another namespace",
                with(
                    map.clone(),
                    "/metadata/labels/core.crossplane.io~1parent-namespace",
                    json!("y"),
                ),
                Tie::Foreign,
            ),
            (
                "labels of another version",
                with(
                    map.clone(),
                    "/metadata/labels/core.crossplane.io~1parent-version",
                    json!("v9"),
                ),
                Tie::Labelled,
            ),
            (
                "labels and an earlier stack",
                with(
                    map,
                    "/metadata/labels/stacks.crossplane.io~1stack",
                    json!("before"),
                ),
                Tie::Labelled,
            ),
        ] {
            let seed = Seed::new("seed");
            assert_eq!(tie(&live, &instance(), Some(&seed)), expected, "{what}");
            assert_eq!(
                tie(&live, &instance(), None),
                expected,
                "{what}, without the seed"
            );
        }
        let nobody = json!({ "apiVersion": "a.b/v1", "kind": "K", "metadata": { "name": "x", "namespace": "ns" } });
        let claims = with(
            child("ConfigMap", Some("ns"), "m"),
            OWNERS,
            owner("a.b/v1", "K", "x", "", true),
        );
        assert_ne!(
            tie(&claims, &nobody, None),
            Tie::Owned,
            "an instance without a uid owns nothing"
        );
    }

    #[test]
    fn a_record_is_of_one_instance_one_object_and_one_seed() {
        let seed = Seed::new("seed");
        let (map, zone) = (
            child("ConfigMap", Some("ns"), "m"),
            child("Zone", None, "z"),
        );
        let noted = |object: &Value, uid: Option<&str>| {
            with(
                object.clone(),
                NOTE,
                json!(record(&seed, &instance(), object, uid)),
            )
        };
        let stays = |object: Value| with(object, POLICY, json!("Orphan"));
        let unlabelled = |object: Value| with(object, "/metadata/labels", json!({}));
        let renamed = |object: Value| with(object, "/metadata/name", json!("copy"));
        let other = with(instance(), "/metadata/uid", json!("2"));
        for (what, live, instance, expected) in [
            (
                "outside, with its uid",
                noted(&zone, Some("c")),
                instance(),
                Tie::Owned,
            ),
            (
                "outside, just created",
                noted(&zone, None),
                instance(),
                Tie::Owned,
            ),
            (
                "outside, without labels",
                unlabelled(noted(&zone, Some("c"))),
                instance(),
                Tie::Owned,
            ),
            (
                "outside, a copy",
                renamed(noted(&zone, Some("c"))),
                instance(),
                Tie::Labelled,
            ),
            (
                "outside, recreated by others",
                with(noted(&zone, Some("c")), "/metadata/uid", json!("d")),
                instance(),
                Tie::Labelled,
            ),
            (
                "outside, of another kind",
                with(noted(&zone, Some("c")), "/kind", json!("Realm")),
                instance(),
                Tie::Labelled,
            ),
            (
                "outside, of an instance before",
                noted(&zone, Some("c")),
                other.clone(),
                Tie::Labelled,
            ),
            (
                "outside, made up",
                with(zone.clone(), NOTE, json!("made up")),
                instance(),
                Tie::Labelled,
            ),
            (
                "outside, made up without labels",
                unlabelled(with(zone, NOTE, json!("made up"))),
                instance(),
                Tie::Foreign,
            ),
            ("let go", noted(&map, None), instance(), Tie::Released),
            (
                "let go, a copy",
                renamed(noted(&map, None)),
                instance(),
                Tie::Labelled,
            ),
            (
                "let go, of an instance before",
                noted(&map, None),
                other,
                Tie::Labelled,
            ),
            (
                "to stay",
                stays(noted(&map, Some("c"))),
                instance(),
                Tie::Owned,
            ),
            (
                "to stay, a copy",
                renamed(stays(noted(&map, Some("c")))),
                instance(),
                Tie::Labelled,
            ),
            (
                "with a foreign controller",
                with(
                    noted(&map, Some("c")),
                    OWNERS,
                    owner("v1", "ConfigMap", "h", "9", true),
                ),
                instance(),
                Tie::Foreign,
            ),
        ] {
            assert_eq!(tie(&live, &instance, Some(&seed)), expected, "{what}");
            let strange = tie(&live, &instance, Some(&Seed::new("another")));
            assert!(
                !strange.may_delete(),
                "{what}, with another seed: {strange:?}"
            );
        }
    }
}
