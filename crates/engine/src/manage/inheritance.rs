//! The seed of a Stack that goes and leaves its instances: it is kept, and whoever serves them next draws from it, so
//! that no password changes.

use api::annotations::{KEPT_KINDS, KEPT_SINCE};
use serde_json::{Value, json};

use super::{Claim, Identity};

/// Whether a seed is one that a Stack left.
pub fn is_kept(secret: &Value) -> bool {
    let metadata = &secret["metadata"];
    metadata["annotations"][KEPT_KINDS].is_string() && metadata["ownerReferences"].as_array().is_none_or(Vec::is_empty)
}

/// The merge patch that leaves a seed to whoever serves next what stays: these kinds, by group and kind, as far as the
/// Stack served them.
pub fn keeping<'k>(own: &Claim, stay: impl Iterator<Item = (&'k str, &'k str)>, now: &str) -> Value {
    let mut kinds: Vec<String> =
        stay.filter(|(group, kind)| own.serves(group, kind)).map(|(group, kind)| format!("{kind}.{group}")).collect();
    kinds.sort();
    json!({ "metadata": {
        "annotations": { KEPT_KINDS: kinds.join(","), KEPT_SINCE: now },
        // The garbage collector would delete it with the Stack.
        "ownerReferences": null,
    } })
}

/// The merge patch that makes a seed which was kept that of a Stack of the same name.
pub fn taking_back(identity: &Identity, name: &str) -> Value {
    let metadata = identity.inside(name);
    json!({ "metadata": {
        "annotations": { KEPT_KINDS: null, KEPT_SINCE: null },
        "labels": metadata["labels"], "ownerReferences": metadata["ownerReferences"],
    } })
}

/// What the drawn values of a new Stack begin with, if instances that it serves have been drawn for before: the seed
/// that was kept last in its namespace for one of its kinds.
pub fn inherited<'s>(own: &Claim, secrets: impl Iterator<Item = &'s Value>) -> Option<&'s str> {
    let noted = |secret: &'s Value, key: &str| secret["metadata"]["annotations"][key].as_str().unwrap_or_default();
    let of_own = |kind: &str| kind.split_once('.').is_some_and(|(kind, group)| own.serves(group, kind));
    let fits = |secret: &&'s Value| {
        own.is_in(secret["metadata"]["namespace"].as_str().unwrap_or_default())
            && is_kept(secret)
            && noted(secret, KEPT_KINDS).split(',').any(of_own)
    };
    secrets.filter(fits).max_by_key(|secret| noted(secret, KEPT_SINCE))?["data"]["seed"].as_str()
}

#[cfg(test)]
mod tests {
    use api::PermissionScope;
    use objects::patch::merge_patch;
    use serde_json::{Value, json};

    use super::{inherited, is_kept, keeping, taking_back};
    use crate::manage::claim::tests::{crds, stack};
    use crate::manage::{Claim, Identity};

    /// A Stack that owns two kinds and serves one of them, `Shop`.
    fn claim() -> Claim {
        let stack = stack("team", "one", "", &json!({ "templates": { "shop.example.org/v1": { "a": "" } } }));
        Claim::of(&stack, false, &crds())
    }

    fn kept(namespace: &str, kinds: &str, since: &str, seed: &str) -> Value {
        json!({
            "metadata": {
                "namespace": namespace,
                "annotations": { "stacks.crossplane.io/kept-kinds": kinds, "stacks.crossplane.io/kept-since": since },
            },
            "data": { "seed": seed },
        })
    }

    #[test]
    fn a_seed_is_kept_for_the_kinds_that_its_stack_served_and_had_back_by_one_of_its_name() {
        let identity = Identity {
            namespace: "team".into(),
            name: "one".into(),
            uid: "u".into(),
            scope: PermissionScope::Namespaced,
        };
        let mut secret = json!({ "metadata": identity.inside("one-seed"), "data": { "seed": "s" } });
        assert!(!is_kept(&secret));
        let stay = [("example.org", "Till"), ("example.org", "Shop")];
        secret = merge_patch(&secret, &keeping(&claim(), stay.into_iter(), "now")).unwrap();
        assert_eq!(secret["metadata"]["annotations"]["stacks.crossplane.io/kept-kinds"], "Shop.example.org");
        assert!(is_kept(&secret) && secret["metadata"].get("ownerReferences").is_none(), "{secret}");
        secret = merge_patch(&secret, &taking_back(&identity, "one-seed")).unwrap();
        assert!(!is_kept(&secret), "{secret}");
        assert_eq!(secret["metadata"]["ownerReferences"], identity.inside("one-seed")["ownerReferences"]);
    }

    #[test]
    fn a_new_stack_draws_from_what_was_kept_last_for_one_of_its_kinds() {
        let mut owned = kept("team", "Shop.example.org", "9", "owned");
        owned["metadata"]["ownerReferences"] = json!([{ "uid": "u" }]);
        let old = kept("team", "Shop.example.org", "1", "old");
        for (what, secrets, expected) in [
            ("nothing", vec![], None),
            ("one", vec![old.clone()], Some("old")),
            ("the last", vec![kept("team", "A.b,Shop.example.org", "2", "new"), old.clone()], Some("new")),
            ("of a kind that it owns and does not serve", vec![kept("team", "Till.example.org", "1", "x")], None),
            ("of another group", vec![kept("team", "Shop.example.com", "1", "x")], None),
            ("of a stack without kinds", vec![kept("team", "", "1", "x")], None),
            ("of another namespace", vec![kept("other", "Shop.example.org", "1", "x")], None),
            ("of a Stack that is there", vec![owned, old], Some("old")),
        ] {
            assert_eq!(inherited(&claim(), secrets.iter()), expected, "{what}");
        }
    }
}
