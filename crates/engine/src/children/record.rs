//! What is kept of a live child between two looks: what templates read of it, whose it is, and
//! hashes that tell whether it is still what was applied. Whole objects are not.

use std::hash::{DefaultHasher, Hash, Hasher};

use api::{annotations, labels};
use objects::Schema;
use serde_json::Value;

use super::desired::{Owns, controller_of, owns};
use super::ownership::{Marks, Parent, Tie};
use crate::compile::projection::Projection;
use crate::random::Seed;

/// A child.
#[derive(Clone, Debug)]
pub struct ChildRecord {
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
    marks: Marks,
    /// Of the annotation that tells what was applied; zero if there is none.
    desired: u64,
    /// Of the fields that we own.
    owned: u64,
    /// The fields that we own, until they are found to be all that is wanted.
    fields: Option<Box<str>>,
    /// Whether that changed since it was seen first.
    is_taken: bool,
    /// What templates can read, as JSON.
    object: Box<str>,
    /// Of everything that a look at its parent depends on, which the version is not.
    content: u64,
}

impl ChildRecord {
    /// What is kept of a live object, for a field manager. The view is that of the child's
    /// template.
    pub fn of(live: &Value, manager: &str, view: &Projection) -> Self {
        let metadata = &live["metadata"];
        let mine = |entry: &&Value| entry["operation"] == "Apply" && entry["manager"] == manager;
        let fields = metadata["managedFields"]
            .as_array()
            .and_then(|all| all.iter().find(mine));
        let fields = fields
            .map(|entry| entry["fieldsV1"].to_string())
            .unwrap_or_default();
        let noted = &metadata["annotations"];
        let mut kept = Self {
            version: metadata["resourceVersion"]
                .as_str()
                .and_then(|text| text.parse().ok())
                .unwrap_or_default(),
            view: view.fingerprint(),
            is_deleting: !metadata["deletionTimestamp"].is_null(),
            is_orphan: super::desired::is_orphan(live),
            may_adopt: noted[annotations::ADOPT] == "true" && controller_of(live).is_none(),
            is_held: super::field_handover::is_held(live, manager),
            uid: metadata["uid"].as_str().unwrap_or_default().into(),
            template: metadata["labels"][labels::TEMPLATE]
                .as_str()
                .unwrap_or_default()
                .into(),
            marks: Marks::of(live),
            desired: noted[annotations::DESIRED_HASH]
                .as_str()
                .map_or(0, |text| hash(&text)),
            owned: hash(&fields),
            fields: Some(fields.into()),
            is_taken: false,
            object: view.reduce(live).to_string().into(),
            content: 0,
        };
        let flags = (kept.view, kept.is_deleting, kept.is_orphan, kept.may_adopt);
        kept.content = hash(&(
            flags,
            &kept.uid,
            &kept.template,
            &kept.marks,
            kept.desired,
            kept.owned,
            &kept.object,
        ));
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
        self.marks.parent.as_deref()
    }

    /// What templates can read of it.
    pub fn object(&self) -> Value {
        serde_json::from_str(&self.object).unwrap_or_default()
    }

    /// How it and an instance belong together; the seed is that of the stack.
    pub fn tie(&self, instance: &Value, seed: &Seed) -> Tie {
        self.marks.tie(instance, Some(seed), || self.object())
    }

    /// Whose it is, as people call that: the kind, namespace and name of its parent.
    pub fn owner(&self) -> Option<String> {
        let Parent {
            kind,
            namespace,
            name,
            ..
        } = self.parent()?;
        Some(if namespace.is_empty() {
            format!("{kind} {name}")
        } else {
            format!("{kind} {namespace}/{name}")
        })
    }

    /// Whether it is as it should be: what is wanted was applied, nobody has taken a field of it
    /// since, and no stack before ours has left any in it. The schema is that of its kind, as far
    /// as it is known.
    pub fn is_as(&self, wanted: &Value, schema: Option<&Schema>) -> bool {
        let desired = wanted["metadata"]["annotations"][annotations::DESIRED_HASH].as_str();
        desired.is_some_and(|text| hash(&text) == self.desired)
            && self.fields.as_ref().is_none_or(|fields| {
                let owned = || {
                    owns(
                        &serde_json::from_str(fields).unwrap_or_default(),
                        wanted,
                        schema,
                    )
                };
                // Where that is unclear, a change is a reason to apply once more: the answer makes
                // it clear.
                !self.is_held
                    && if self.is_taken {
                        owned() == Owns::All
                    } else {
                        owned() != Owns::No
                    }
            })
    }

    /// The same, known to be as it should be: from now on a hash is enough to notice a change.
    #[must_use]
    pub fn confirmed(mut self) -> Self {
        self.fields = None;
        self.is_taken = false;
        self
    }

    /// Whether it is known to be as it was when it was applied.
    pub fn is_confirmed(&self) -> bool {
        self.fields.is_none()
    }

    /// The same, after what was known before: if nothing that we own has changed since, it is as it
    /// should be too.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        let same =
            before.uid == self.uid && before.desired == self.desired && before.owned == self.owned;
        self.is_taken = before.uid == self.uid && (before.is_taken || before.owned != self.owned);
        if same && before.is_confirmed() {
            self.confirmed()
        } else {
            self
        }
    }

    /// Whether it is older than what is known of the same object.
    pub fn is_older(&self, known: &Self) -> bool {
        self.uid == known.uid && self.version < known.version
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::ChildRecord;
    use crate::compile::projection::Projection;

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
        let kept = |version: &str, fields: &Value| {
            ChildRecord::of(&live(version, fields), "me", &Projection::default())
        };
        let first = kept("7", &own);
        assert!(first.is_as(&wanted, None) && !first.is_confirmed());
        let first = first.confirmed();
        let same = kept("8", &own).after(&first);
        assert!(same.is_confirmed() && same.is_as(&wanted, None));
        assert!(first.is_older(&same) && !same.is_older(&first));
        let taken =
            json!({"f:metadata": {"f:annotations": {"f:stacks.crossplane.io/desired-hash": {}}}});
        let taken = kept("9", &taken).after(&same);
        assert!(!taken.is_confirmed() && !taken.is_as(&wanted, None));
        let mut other = wanted.clone();
        other["metadata"]["annotations"]["stacks.crossplane.io/desired-hash"] = json!("h2");
        assert!(!same.is_as(&other, None));
        // What a stack before ours has left is taken over once.
        let mut left = live("10", &own);
        left["metadata"]["managedFields"][0]["manager"] = json!("stack:ns:before");
        let left = ChildRecord::of(&left, "me", &Projection::default());
        assert!(
            left.is_held && !left.is_as(&wanted, None) && left.after(&same).is_as(&wanted, None)
        );
    }

    #[test]
    fn a_field_taken_inside_an_entry_of_a_map_is_noticed_once_the_fields_were_seen() {
        let fields = |entry: Value| json!({"f:metadata": {"f:annotations": {"f:stacks.crossplane.io/desired-hash": {}}}, "f:spec": {"f:a": entry}});
        let wanted = json!({
            "metadata": {"annotations": {"stacks.crossplane.io/desired-hash": "h"}}, "spec": {"a": {"size": 1}},
        });
        let kept = |version: &str, entry: Value| {
            ChildRecord::of(&live(version, &fields(entry)), "me", &Projection::default())
        };
        // All of it may be one value.
        assert!(kept("7", json!({})).is_as(&wanted, None));
        let whole = kept("7", json!({".": {}, "f:size": {}})).confirmed();
        let taken = kept("8", json!({})).after(&whole);
        assert!(!taken.is_as(&wanted, None));
        let still = kept("9", json!({})).after(&taken);
        assert!(!still.is_as(&wanted, None));
        let again = kept("10", json!({})).after(&kept("10", json!({})).after(&still).confirmed());
        assert!(
            again.is_as(&wanted, None),
            "what an apply was answered with is as it should be"
        );
    }

    #[test]
    fn a_child_that_changes_where_nobody_looks_is_the_same() {
        let kept = |live: &Value| ChildRecord::of(live, "me", &Projection::default()).content();
        let own = json!({"f:data": {"f:a": {}}});
        let first = kept(&live("7", &own));
        assert_eq!(kept(&live("8", &own)), first, "a version alone");
        let changed = |change: fn(&mut Value)| {
            let mut live = live("8", &own);
            change(&mut live);
            kept(&live)
        };
        assert_eq!(
            changed(|live| live["data"]["b"] = json!("2")),
            first,
            "a field that no template reads"
        );
        assert_eq!(
            changed(|live| live["metadata"]["managedFields"][0]["fieldsV1"] = json!({})),
            first,
            "others' fields"
        );
        for (change, what) in [
            (
                changed(|live| live["metadata"]["managedFields"][1]["fieldsV1"] = json!({})),
                "a field taken from us",
            ),
            (
                changed(|live| live["metadata"]["deletionTimestamp"] = json!("now")),
                "being deleted",
            ),
            (
                changed(|live| live["metadata"]["uid"] = json!("other")),
                "another object",
            ),
            (
                changed(|live| live["metadata"]["labels"] = json!({})),
                "no template",
            ),
            (
                changed(|live| live["metadata"]["ownerReferences"] = json!([])),
                "no parent",
            ),
            (
                changed(|live| {
                    live["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]});
                }),
                "ready",
            ),
        ] {
            assert_ne!(change, first, "{what}");
        }
    }
}
