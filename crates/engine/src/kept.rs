//! What is kept of a live child between two looks: what templates read of it, whose it is, and hashes that tell whether
//! it is still what was applied. Whole objects are not.

use std::hash::{DefaultHasher, Hash, Hasher};

use api::names::label_value;
use api::{annotations, labels};
use objects::Gvk;
use serde_json::Value;

use crate::carry::{controller_of, owns, parent_labels};
use crate::view::View;

/// A child.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The version, where it is a number.
    pub version: u64,
    /// The view it was reduced by.
    pub view: u64,
    /// Whether it is being deleted.
    pub is_deleting: bool,
    /// Whether it stays when its parent or its template goes.
    pub is_orphan: bool,
    /// Whether it may be taken over although others made it.
    pub may_adopt: bool,
    /// Whether another stack, which served its parent before, has applied fields of it.
    pub is_held: bool,
    uid: Box<str>,
    template: Box<str>,
    parent: Option<Box<Parent>>,
    /// Of the annotation that tells what was applied; zero if there is none.
    desired: u64,
    /// Of the fields that we own.
    owned: u64,
    /// The fields that we own, until they are found to be all that is wanted.
    fields: Option<Box<str>>,
    /// What templates can read, as JSON.
    object: Box<str>,
    /// Of everything that a look at its parent depends on, which the version is not.
    content: u64,
}

/// Whose child an object is: by its controller or, if it has none, by its labels.
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
            let gvk = Gvk::of(owner)?;
            let namespace = text(&live["metadata"]["namespace"]);
            let (uid, name) = (text(&owner["uid"]), text(&owner["name"]));
            return Some(Self { uid, group: gvk.group, kind: gvk.kind, namespace, name });
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

    /// One text by which all children of a parent are found.
    pub fn key(&self) -> String {
        match self.uid.as_str() {
            "" => [&*self.group, &*self.kind, &*self.namespace, &*self.name].join("/"),
            uid => uid.to_owned(),
        }
    }

    /// Both texts under which children of an instance may be found.
    pub fn keys_of(instance: &Value) -> [String; 2] {
        let marks = parent_labels(instance);
        let text = |key: &str| marks.iter().find(|(mark, _)| *mark == key).map_or("", |(_, text)| text.as_str());
        let parts = [labels::PARENT_GROUP, labels::PARENT_KIND, labels::PARENT_NAMESPACE, labels::PARENT_NAME];
        [instance["metadata"]["uid"].as_str().unwrap_or_default().to_owned(), parts.map(text).join("/")]
    }
}

impl Kept {
    /// What is kept of a live object, for a field manager. The view is that of the child's template.
    pub fn of(live: &Value, manager: &str, view: &View) -> Self {
        let metadata = &live["metadata"];
        let mine = |entry: &&Value| entry["operation"] == "Apply" && entry["manager"] == manager;
        let fields = metadata["managedFields"].as_array().and_then(|all| all.iter().find(mine));
        let fields = fields.map(|entry| entry["fieldsV1"].to_string()).unwrap_or_default();
        let noted = &metadata["annotations"];
        let mut kept = Self {
            version: metadata["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or_default(),
            view: view.fingerprint(),
            is_deleting: !metadata["deletionTimestamp"].is_null(),
            is_orphan: crate::carry::is_orphan(live),
            may_adopt: noted[annotations::ADOPT] == "true" && controller_of(live).is_none(),
            is_held: crate::succession::is_held(live, manager),
            uid: metadata["uid"].as_str().unwrap_or_default().into(),
            template: metadata["labels"][labels::TEMPLATE].as_str().unwrap_or_default().into(),
            parent: Parent::of(live).map(Box::new),
            desired: noted[annotations::DESIRED_HASH].as_str().map_or(0, |text| hash(&text)),
            owned: hash(&fields),
            fields: Some(fields.into()),
            object: view.reduce(live).to_string().into(),
            content: 0,
        };
        let flags = (kept.view, kept.is_deleting, kept.is_orphan, kept.may_adopt);
        kept.content = hash(&(flags, &kept.uid, &kept.template, &kept.parent, kept.desired, kept.owned, &kept.object));
        kept
    }

    /// The same number as long as a look at its parent would see the same.
    pub fn content(&self) -> u64 {
        self.content
    }

    /// The uid.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// The template that made it, as its label says it.
    pub fn template(&self) -> &str {
        &self.template
    }

    /// Whose it is.
    pub fn parent(&self) -> Option<&Parent> {
        self.parent.as_deref()
    }

    /// What templates can read of it.
    pub fn object(&self) -> Value {
        serde_json::from_str(&self.object).unwrap_or_default()
    }

    /// Whether it is a child of the instance, by its controller or, if it has none, by its labels. Which stack made it does
    /// not matter: one that takes the place of another has its children, too.
    pub fn is_ours(&self, instance: &Value) -> bool {
        let Some(parent) = &self.parent else { return false };
        let [uid, labelled] = Parent::keys_of(instance);
        match parent.uid.as_str() {
            "" => parent.key() == labelled,
            own => own == uid,
        }
    }

    /// Whose it is, as people call that: the kind, namespace and name of its parent.
    pub fn owner(&self) -> Option<String> {
        let Parent { kind, namespace, name, .. } = &**self.parent.as_ref()?;
        Some(if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") })
    }

    /// Whether it is as it should be: what is wanted was applied, nobody has taken a field of it since, and no stack
    /// before ours has left any in it.
    pub fn is_as(&self, wanted: &Value) -> bool {
        let desired = wanted["metadata"]["annotations"][annotations::DESIRED_HASH].as_str();
        desired.is_some_and(|text| hash(&text) == self.desired)
            && self
                .fields
                .as_ref()
                .is_none_or(|fields| !self.is_held && owns(&serde_json::from_str(fields).unwrap_or_default(), wanted))
    }

    /// The same, known to be as it should be: from now on a hash is enough to notice a change.
    #[must_use]
    pub fn confirmed(mut self) -> Self {
        self.fields = None;
        self
    }

    /// Whether it is known to be as it was when it was applied.
    pub fn is_confirmed(&self) -> bool {
        self.fields.is_none()
    }

    /// The same, after what was known before: if nothing that we own has changed since, it is as it should be too.
    #[must_use]
    pub fn after(self, before: &Self) -> Self {
        let same = before.uid == self.uid && before.desired == self.desired && before.owned == self.owned;
        if same && before.is_confirmed() { self.confirmed() } else { self }
    }

    /// Whether it is older than what is known of the same object.
    pub fn is_older(&self, known: &Self) -> bool {
        self.uid == known.uid && self.version < known.version
    }
}

/// The label of the stack on every child.
pub fn stack_label(stack: &str) -> String {
    format!("{}={}", labels::STACK, label_value(stack))
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Kept, Parent};
    use crate::view::View;

    fn live(version: &str, fields: &Value) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "n", "namespace": "ns", "uid": "u", "resourceVersion": version,
                "labels": {"stacks.crossplane.io/template": "t"},
                "annotations": {"stacks.crossplane.io/desired-hash": "h"},
                "ownerReferences": [{"apiVersion": "a.b/v1", "kind": "K", "name": "x", "uid": "p", "controller": true}],
                "managedFields": [
                    {"manager": "other", "operation": "Apply", "fieldsV1": {"f:data": {"f:other": {}}}},
                    {"manager": "me", "operation": "Apply", "fieldsV1": fields},
                ],
            },
            "data": {"a": "1"},
        })
    }

    #[test]
    fn a_child_stays_confirmed_until_somebody_takes_a_field_or_applies_something_else() {
        let own = json!({"f:metadata": {"f:annotations": {"f:stacks.crossplane.io/desired-hash": {}}}, "f:data": {"f:a": {}}});
        let wanted = json!({
            "metadata": {"annotations": {"stacks.crossplane.io/desired-hash": "h"}}, "data": {"a": "1"},
        });
        let kept = |version: &str, fields: &Value| Kept::of(&live(version, fields), "me", &View::default());
        let first = kept("7", &own);
        assert!(first.is_as(&wanted) && !first.is_confirmed());
        let first = first.confirmed();
        let same = kept("8", &own).after(&first);
        assert!(same.is_confirmed() && same.is_as(&wanted));
        assert!(first.is_older(&same) && !same.is_older(&first));
        let taken = json!({"f:metadata": {"f:annotations": {"f:stacks.crossplane.io/desired-hash": {}}}});
        let taken = kept("9", &taken).after(&same);
        assert!(!taken.is_confirmed() && !taken.is_as(&wanted));
        let mut other = wanted.clone();
        other["metadata"]["annotations"]["stacks.crossplane.io/desired-hash"] = json!("h2");
        assert!(!same.is_as(&other));
        // What a stack before ours has left is taken over once.
        let mut left = live("10", &own);
        left["metadata"]["managedFields"][0]["manager"] = json!("stack:ns:before");
        let left = Kept::of(&left, "me", &View::default());
        assert!(left.is_held && !left.is_as(&wanted) && left.after(&same).is_as(&wanted));
    }

    #[test]
    fn a_child_that_changes_where_nobody_looks_is_the_same() {
        let kept = |live: &Value| Kept::of(live, "me", &View::default()).content();
        let own = json!({"f:data": {"f:a": {}}});
        let first = kept(&live("7", &own));
        assert_eq!(kept(&live("8", &own)), first, "a version alone");
        let changed = |change: fn(&mut Value)| {
            let mut live = live("8", &own);
            change(&mut live);
            kept(&live)
        };
        assert_eq!(changed(|live| live["data"]["b"] = json!("2")), first, "a field that no template reads");
        assert_eq!(
            changed(|live| live["metadata"]["managedFields"][0]["fieldsV1"] = json!({})),
            first,
            "others' fields"
        );
        for (change, what) in [
            (changed(|live| live["metadata"]["managedFields"][1]["fieldsV1"] = json!({})), "a field taken from us"),
            (changed(|live| live["metadata"]["deletionTimestamp"] = json!("now")), "being deleted"),
            (changed(|live| live["metadata"]["uid"] = json!("other")), "another object"),
            (changed(|live| live["metadata"]["labels"] = json!({})), "no template"),
            (changed(|live| live["metadata"]["ownerReferences"] = json!([])), "no parent"),
            (changed(|live| live["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]})), "ready"),
        ] {
            assert_ne!(change, first, "{what}");
        }
    }

    #[test]
    fn a_child_is_found_by_its_controller_and_without_one_by_its_labels() {
        let instance =
            json!({"apiVersion": "a.b/v1", "kind": "K", "metadata": {"name": "x", "namespace": "ns", "uid": "p"}});
        let kept = Kept::of(&live("1", &json!({})), "me", &View::default());
        assert!(kept.is_ours(&instance));
        assert_eq!(kept.parent().map(Parent::key).as_deref(), Some("p"));
        let labels = json!({
            "stacks.crossplane.io/stack": "s", "core.crossplane.io/parent-group": "a.b",
            "core.crossplane.io/parent-kind": "K", "core.crossplane.io/parent-name": "x",
            "core.crossplane.io/parent-namespace": "ns",
        });
        let labelled = |labels: &Value| Kept::of(&json!({"metadata": {"labels": labels}}), "me", &View::default());
        assert!(labelled(&labels).is_ours(&instance));
        let mut foreign = labels;
        foreign["stacks.crossplane.io/stack"] = json!("before");
        assert!(labelled(&foreign).is_ours(&instance));
        foreign["core.crossplane.io/parent-name"] = json!("y");
        assert!(!labelled(&foreign).is_ours(&instance));
        assert!(!labelled(&json!({"stacks.crossplane.io/stack": "s"})).is_ours(&instance));
    }
}
