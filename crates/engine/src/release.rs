//! An instance that is deleted with `--cascade=orphan` keeps its children: which of them stay, and how one is let go.

use serde_json::{Value, json};

/// The finalizer by which the API server notes that what an object owns is to stay. The garbage collector takes the
/// object off everything that it owns, and then the finalizer off the object.
pub const ORPHANS: &str = "orphan";

/// A child of an instance that is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ward {
    /// Whether the garbage collector can see both, so that the child names the instance as its owner.
    pub can_be_owned: bool,
    /// Whether it does.
    pub is_owned: bool,
}

impl Ward {
    /// Whether somebody has taken the instance off it.
    pub fn is_released(self) -> bool {
        self.can_be_owned && !self.is_owned
    }
}

/// Whether the garbage collector is still taking an instance off its children.
pub fn is_orphaning(instance: &Value) -> bool {
    let finalizers = instance["metadata"]["finalizers"].as_array();
    let is_deleting = !instance["metadata"]["deletionTimestamp"].is_null();
    is_deleting && finalizers.is_some_and(|all| all.iter().any(|own| own == ORPHANS))
}

/// Whether all children stay, by what can be seen of them alone: the garbage collector has taken the instance off one. It
/// does so with each that it knows, but learns of new kinds late, and has no hold on what is in no namespace; neither must
/// go where the others stay.
pub fn were_orphaned(wards: &[Ward]) -> bool {
    wards.iter().any(|ward| ward.is_released())
}

/// The merge patch that takes an owner off a live object; none if it is none of its owners.
pub fn let_go(live: &Value, owner: &str) -> Option<Value> {
    let owners = live["metadata"]["ownerReferences"].as_array()?;
    let left: Vec<&Value> = owners.iter().filter(|own| own["uid"] != owner).collect();
    let metadata = &live["metadata"];
    (left.len() < owners.len()).then(|| {
        json!({ "metadata": {
            "ownerReferences": left, "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"],
        } })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Ward, is_orphaning, let_go, were_orphaned};

    #[test]
    fn an_instance_keeps_its_children_while_it_is_deleted_and_says_so() {
        for (deleted, finalizers, expected) in [
            (json!("now"), json!(["stacks.crossplane.io/children", "orphan"]), true),
            (json!("now"), json!(["stacks.crossplane.io/children", "foregroundDeletion"]), false),
            (json!("now"), Value::Null, false),
            // Anybody may write this; it means nothing before the object is deleted.
            (Value::Null, json!(["orphan"]), false),
        ] {
            let instance = json!({ "metadata": { "deletionTimestamp": deleted, "finalizers": finalizers } });
            assert_eq!(is_orphaning(&instance), expected, "{instance}");
        }
    }

    #[test]
    fn all_children_stay_where_one_was_let_go() {
        let owned = Ward { can_be_owned: true, is_owned: true };
        let released = Ward { can_be_owned: true, is_owned: false };
        let beyond = Ward { can_be_owned: false, is_owned: false };
        for (wards, expected) in [
            (vec![], false),
            (vec![beyond], false),
            (vec![owned, beyond], false),
            (vec![released, owned, beyond], true),
            (vec![released, beyond], true),
            (vec![released], true),
        ] {
            assert_eq!(were_orphaned(&wards), expected, "{wards:?}");
        }
    }

    #[test]
    fn only_the_one_owner_is_taken_off_and_only_from_what_has_it() {
        let owner = |uid: &str| json!({ "uid": uid });
        let live =
            |owners: &[Value]| json!({ "metadata": { "uid": "c", "resourceVersion": "7", "ownerReferences": owners } });
        let patch = let_go(&live(&[owner("1"), owner("2")]), "1");
        assert_eq!(patch, Some(live(&[owner("2")])));
        assert_eq!(let_go(&live(&[owner("2")]), "1"), None);
        assert_eq!(let_go(&json!({ "metadata": {} }), "1"), None);
    }
}
