//! An instance that is deleted with `--cascade=orphan` keeps its children: which of them stay, and
//! how one is let go.

use serde_json::{Value, json};

use super::ownership::Tie;

/// The finalizer by which the API server notes that what an object owns is to stay. The garbage
/// collector takes the object off everything that it owns, and then the finalizer off the object.
pub const ORPHANS: &str = "orphan";

/// Whether the garbage collector is still taking an instance off its children.
pub fn is_orphaning(instance: &Value) -> bool {
    let finalizers = instance["metadata"]["finalizers"].as_array();
    let is_deleting = !instance["metadata"]["deletionTimestamp"].is_null();
    is_deleting && finalizers.is_some_and(|all| all.iter().any(|own| own == ORPHANS))
}

/// Whether all children stay, by what can be seen of them alone: the garbage collector has taken
/// the instance off one. It does so with each that it knows, but learns of new kinds late, and has
/// no hold on what is in no namespace; neither must go where the others stay.
pub fn were_orphaned(ties: impl IntoIterator<Item = Tie>) -> bool {
    ties.into_iter().any(|tie| tie == Tie::Released)
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

    use super::{is_orphaning, let_go, were_orphaned};
    use crate::children::ownership::Tie;

    #[test]
    fn an_instance_keeps_its_children_while_it_is_deleted_and_says_so() {
        for (deleted, finalizers, expected) in [
            (
                json!("now"),
                json!(["stacks.crossplane.io/children", "orphan"]),
                true,
            ),
            (
                json!("now"),
                json!(["stacks.crossplane.io/children", "foregroundDeletion"]),
                false,
            ),
            (json!("now"), Value::Null, false),
            // Anybody may write this; it means nothing before the object is deleted.
            (Value::Null, json!(["orphan"]), false),
        ] {
            let instance =
                json!({ "metadata": { "deletionTimestamp": deleted, "finalizers": finalizers } });
            assert_eq!(is_orphaning(&instance), expected, "{instance}");
        }
    }

    #[test]
    fn all_children_stay_where_one_was_let_go_and_a_label_says_nothing_of_that() {
        for (ties, expected) in [
            (vec![], false),
            (vec![Tie::Owned, Tie::Labelled, Tie::Foreign], false),
            (vec![Tie::Owned, Tie::Released], true),
        ] {
            assert_eq!(were_orphaned(ties.clone()), expected, "{ties:?}");
        }
    }

    #[test]
    fn only_the_one_owner_is_taken_off_and_only_from_what_has_it() {
        let owner = |uid: &str| json!({ "uid": uid });
        let live = |owners: &[Value]| json!({ "metadata": { "uid": "c", "resourceVersion": "7", "ownerReferences": owners } });
        let patch = let_go(&live(&[owner("1"), owner("2")]), "1");
        assert_eq!(patch, Some(live(&[owner("2")])));
        assert_eq!(let_go(&live(&[owner("2")]), "1"), None);
        assert_eq!(let_go(&json!({ "metadata": {} }), "1"), None);
    }
}
