//! The seed of a Stack that goes and leaves its instances: it is kept, and whoever serves them next draws from it, so
//! that no password changes.

use api::annotations::{KEPT_KINDS, KEPT_SINCE};
use api::labels;
use package::image::Digest;
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

/// What is done about a seed that is there under the name of a Stack's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seed {
    /// Nothing: it is the Stack's.
    Own,
    /// A Stack of the same name left it for what this one serves: it is patched so.
    Back(Value),
    /// It was left for what this one does not serve, and somebody else may yet: it is made anew so, and goes.
    Aside(Value),
}

/// What is done about the Secret under the name of a Stack's seed, whose claim is `own`.
pub fn whose_seed(secret: &Value, own: Option<&Claim>, identity: &Identity) -> Seed {
    let name = secret["metadata"]["name"].as_str().unwrap_or_default();
    if !is_kept(secret) {
        return Seed::Own;
    }
    let annotations = &secret["metadata"]["annotations"];
    let kinds = annotations[KEPT_KINDS].as_str().unwrap_or_default();
    if kinds.is_empty() || own.is_none_or(|own| kinds.split(',').any(|kind| serves(own, kind))) {
        return Seed::Back(taking_back(identity, name));
    }
    let told = Digest::of(secret["data"]["seed"].as_str().unwrap_or_default().as_bytes()).to_string();
    let mark: String = told.rsplit(':').next().unwrap_or_default().chars().take(8).collect();
    Seed::Aside(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": secret["data"],
        "metadata": {
            "name": format!("{name}-{mark}"), "namespace": identity.namespace,
            "labels": { labels::MANAGED_BY: labels::MANAGED_BY_STACK_MANAGER },
            "annotations": { KEPT_KINDS: kinds, KEPT_SINCE: annotations[KEPT_SINCE] },
        },
    }))
}

/// Whether a Stack serves a kind, written as it is noted.
fn serves(own: &Claim, noted: &str) -> bool {
    noted.split_once('.').is_some_and(|(kind, group)| own.serves(group, kind))
}

/// The merge patch that makes a seed which was kept that of a Stack of the same name.
fn taking_back(identity: &Identity, name: &str) -> Value {
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
    let of_own = |kind: &str| serves(own, kind);
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

    use super::{Seed, inherited, is_kept, keeping, taking_back, whose_seed};
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
    fn a_seed_that_was_left_for_other_kinds_is_put_aside_and_found_there() {
        let identity = Identity {
            namespace: "team".into(),
            name: "one".into(),
            uid: "u".into(),
            scope: PermissionScope::Namespaced,
        };
        let left = |kinds: &str| {
            let mut secret = kept("team", kinds, "1", "cw==");
            secret["metadata"]["name"] = json!("one-seed");
            secret
        };
        let back = Seed::Back(taking_back(&identity, "one-seed"));
        assert_eq!(whose_seed(&left("Shop.example.org,Till.example.org"), Some(&claim()), &identity), back);
        assert_eq!(whose_seed(&left(""), Some(&claim()), &identity), back);
        let own = json!({ "metadata": identity.inside("one-seed") });
        assert_eq!(whose_seed(&own, Some(&claim()), &identity), Seed::Own);
        let Seed::Aside(aside) = whose_seed(&left("Till.example.org"), Some(&claim()), &identity) else {
            panic!("it is not what this one draws from")
        };
        assert_ne!(aside["metadata"]["name"], "one-seed");
        let tills = stack("team", "two", "", &json!({ "templates": { "till.example.org/v1": { "a": "" } } }));
        assert_eq!(inherited(&Claim::of(&tills, false, &crds()), [&aside].into_iter()), Some("cw=="));
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
