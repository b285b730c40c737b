//! The seeds of Stacks, in the namespace of the stack manager: whose one is, whether it is the one
//! that was used before, and what becomes of one whose Stack goes and leaves its instances. That is
//! kept, and whoever serves them next generates from it, so that no password changes.

use api::annotations::{ACCEPT_NEW_SEED, KEPT_IN, KEPT_KINDS, KEPT_SINCE, SEED, SEED_OWNER};
use api::labels;
use base64::{Engine, engine::general_purpose::STANDARD};
use package::image::Digest;
use serde_json::{Value, json};

use crate::{Identity, KindOwnership};

/// How many bytes a seed has.
pub const SEED_BYTES: usize = 32;

/// Whether a seed is one that a Stack left.
pub fn is_kept(secret: &Value) -> bool {
    secret["metadata"]["annotations"][KEPT_KINDS].is_string()
}

/// What is in a seed, if it is one.
pub fn seed_bytes(secret: &Value) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(secret["data"]["seed"].as_str()?).ok()?;
    (bytes.len() == SEED_BYTES).then_some(bytes)
}

/// What a Stack says of its seed: where it is, and a hash of what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commitment {
    /// The namespace, which is the stack manager's.
    pub namespace: String,
    /// The name of the Secret.
    pub name: String,
    /// `sha256:` and the hash.
    pub hash: String,
}

impl std::fmt::Display for Commitment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}#{}", self.namespace, self.name, self.hash)
    }
}

impl Commitment {
    /// To these bytes.
    pub fn to(namespace: &str, name: &str, bytes: &[u8]) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            hash: Digest::of(bytes).to_string(),
        }
    }

    /// What a Stack says; none if it says nothing that can be read.
    pub fn of(stack: &Value) -> Option<Self> {
        let (place, hash) = stack["metadata"]["annotations"][SEED]
            .as_str()?
            .split_once('#')?;
        let (namespace, name) = place.split_once('/')?;
        Some(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            hash: hash.to_owned(),
        })
    }

    /// Whether these bytes are what was committed to.
    pub fn fits(&self, bytes: &[u8]) -> bool {
        self.hash == Digest::of(bytes).to_string()
    }
}

/// Whether a Stack without a seed that can be used once had one.
pub fn has_generated(stack: &Value) -> bool {
    let rendered = stack["status"]["renderedKinds"]
        .as_array()
        .is_some_and(|kinds| !kinds.is_empty());
    rendered || Commitment::of(stack).is_some()
}

/// Whether a Stack accepts a new seed in place of the one that was lost: that very one, so that it
/// is accepted once.
pub fn accepts_new_seed(stack: &Value) -> bool {
    stack["metadata"]["annotations"][ACCEPT_NEW_SEED].as_str() == Some(&lost_seed(stack))
}

/// What to write into [`ACCEPT_NEW_SEED`].
pub fn lost_seed(stack: &Value) -> String {
    Commitment::of(stack).map_or_else(|| "unknown".to_owned(), |lost| lost.hash)
}

/// The merge patch that leaves a seed to whoever serves next what stays: these kinds, by group and
/// kind, as far as the Stack served them. `place` is the namespace that it acted in, empty for all.
pub fn keeping<'k>(
    own: &KindOwnership,
    place: &str,
    stay: impl Iterator<Item = (&'k str, &'k str)>,
    now: &str,
) -> Value {
    let mut kinds: Vec<String> = stay
        .filter(|(group, kind)| own.serves(group, kind))
        .map(|(group, kind)| format!("{kind}.{group}"))
        .collect();
    kinds.sort();
    let kinds = kinds.join(",");
    json!({ "metadata": { "annotations": {
        KEPT_KINDS: kinds, KEPT_SINCE: now, KEPT_IN: place, SEED_OWNER: null,
    } } })
}

/// What is done about a seed that is there under the name of a Stack's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seed {
    /// Nothing: it is the Stack's.
    Own,
    /// A Stack of the same name left it for what this one serves: it is patched so.
    Back(Value),
    /// It was left for what this one does not serve, and somebody else may yet: it is created again
    /// so, and goes.
    Aside(Value),
    /// It is that of another Stack of this name, which is gone.
    Stale,
    /// It holds no seed.
    Invalid,
}

/// What is done about the Secret under the name of a Stack's seed, whose claim is `own` and whose
/// commitment is `said`. It is in the stack manager's namespace, where nobody else writes.
pub fn whose_seed(
    secret: &Value,
    own: Option<&KindOwnership>,
    said: Option<&Commitment>,
    identity: &Identity,
) -> Seed {
    let name = secret["metadata"]["name"].as_str().unwrap_or_default();
    let Some(bytes) = seed_bytes(secret) else {
        return Seed::Invalid;
    };
    let annotations = &secret["metadata"]["annotations"];
    if !is_kept(secret) {
        return match annotations[SEED_OWNER].as_str() {
            Some(uid) if uid == identity.uid => Seed::Own,
            // It came back from a backup, with its Stack or by the hand of an administrator.
            None => Seed::Back(taking_back(identity)),
            Some(_) if said.is_some_and(|said| said.fits(&bytes)) => {
                Seed::Back(taking_back(identity))
            }
            Some(_) => Seed::Stale,
        };
    }
    let kinds = annotations[KEPT_KINDS].as_str().unwrap_or_default();
    if kinds.is_empty() || own.is_none_or(|own| kinds.split(',').any(|kind| serves(own, kind))) {
        return Seed::Back(taking_back(identity));
    }
    let told = Digest::of(
        secret["data"]["seed"]
            .as_str()
            .unwrap_or_default()
            .as_bytes(),
    )
    .to_string();
    let mark: String = told
        .rsplit(':')
        .next()
        .unwrap_or_default()
        .chars()
        .take(8)
        .collect();
    Seed::Aside(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": secret["data"],
        "metadata": {
            "name": format!("{}-{mark}", name.get(..240).unwrap_or(name)), "namespace": identity.manager,
            "labels": { labels::MANAGED_BY: labels::MANAGED_BY_STACK_MANAGER },
            "annotations": { KEPT_KINDS: kinds, KEPT_SINCE: annotations[KEPT_SINCE], KEPT_IN: annotations[KEPT_IN] },
        },
    }))
}

/// Whether a Stack serves a kind, written as it is noted.
fn serves(own: &KindOwnership, noted: &str) -> bool {
    noted
        .split_once('.')
        .is_some_and(|(kind, group)| own.serves(group, kind))
}

/// The merge patch that makes a seed which was kept that of a Stack of the same name.
fn taking_back(identity: &Identity) -> Value {
    json!({ "metadata": {
        "annotations": { KEPT_KINDS: null, KEPT_SINCE: null, KEPT_IN: null, SEED_OWNER: identity.uid },
        "labels": identity.labels(),
    } })
}

/// What the generated values of a new Stack begin with, if values were generated before for
/// instances that it serves: the seed that was kept last, where it acts, for one of its kinds.
/// `place` is the namespace that it acts in, empty for all.
pub fn inherited<'s>(
    own: &KindOwnership,
    place: &str,
    secrets: impl Iterator<Item = &'s Value>,
) -> Option<&'s str> {
    let noted = |secret: &'s Value, key: &str| {
        secret["metadata"]["annotations"][key]
            .as_str()
            .unwrap_or_default()
    };
    let of_own = |kind: &str| serves(own, kind);
    let fits = |secret: &&'s Value| {
        secret["metadata"]["annotations"][KEPT_IN] == place
            && is_kept(secret)
            && seed_bytes(secret).is_some()
            && noted(secret, KEPT_KINDS).split(',').any(of_own)
    };
    secrets
        .filter(fits)
        .max_by_key(|secret| noted(secret, KEPT_SINCE))?["data"]["seed"]
        .as_str()
}

#[cfg(test)]
mod tests {
    use api::PermissionScope;
    use objects::patch::merge_patch;
    use serde_json::{Value, json};

    use super::{
        Commitment, STANDARD, Seed, accepts_new_seed, has_generated, inherited, is_kept, keeping,
        lost_seed, seed_bytes, taking_back, whose_seed,
    };
    use crate::kind_ownership::tests::{crds, stack};
    use crate::{Identity, KindOwnership};
    use base64::Engine;

    /// A Stack that owns two kinds and serves one of them, `Shop`.
    fn claim() -> KindOwnership {
        let stack = stack(
            "team",
            "one",
            "",
            &json!({ "templates": { "shop.example.org/v1": { "a": "" } } }),
        );
        KindOwnership::of(&stack, false, &crds())
    }

    fn identity() -> Identity {
        Identity {
            namespace: "team".into(),
            name: "one".into(),
            uid: "u".into(),
            scope: PermissionScope::Namespaced,
            namespaces: Vec::new(),
            account: "stack-one".into(),
            manager: "cairn".into(),
        }
    }

    fn seed(byte: u8) -> String {
        STANDARD.encode([byte; 32])
    }

    fn kept(place: &str, kinds: &str, since: &str, byte: u8) -> Value {
        json!({
            "metadata": {
                "namespace": "cairn", "name": "seed.team.one",
                "annotations": {
                    "stacks.crossplane.io/kept-kinds": kinds, "stacks.crossplane.io/kept-since": since,
                    "stacks.crossplane.io/kept-in": place,
                },
            },
            "data": { "seed": seed(byte) },
        })
    }

    fn owned(uid: Option<&str>) -> Value {
        json!({
            "metadata": { "name": "seed.team.one", "annotations": { "stacks.crossplane.io/seed-owner": uid } },
            "data": { "seed": seed(1) },
        })
    }

    #[test]
    fn a_seed_is_kept_for_the_kinds_that_its_stack_served_and_had_back_by_one_of_its_name() {
        let mut secret = owned(Some("u"));
        assert!(!is_kept(&secret));
        let stay = [("example.org", "Till"), ("example.org", "Shop")];
        secret = merge_patch(&secret, &keeping(&claim(), "team", stay.into_iter(), "now")).unwrap();
        assert_eq!(
            secret["metadata"]["annotations"]["stacks.crossplane.io/kept-kinds"],
            "Shop.example.org"
        );
        assert!(is_kept(&secret), "{secret}");
        assert_eq!(
            inherited(&claim(), "team", [&secret].into_iter()),
            Some(&*seed(1))
        );
        secret = merge_patch(&secret, &taking_back(&identity())).unwrap();
        assert!(!is_kept(&secret), "{secret}");
        assert_eq!(
            whose_seed(&secret, Some(&claim()), None, &identity()),
            Seed::Own
        );
    }

    #[test]
    fn a_seed_that_was_left_for_other_kinds_is_put_aside_and_found_there() {
        let left = |kinds: &str| kept("team", kinds, "1", 1);
        let back = Seed::Back(taking_back(&identity()));
        let whose = |secret: &Value| whose_seed(secret, Some(&claim()), None, &identity());
        assert_eq!(whose(&left("Shop.example.org,Till.example.org")), back);
        assert_eq!(whose(&left("")), back);
        let Seed::Aside(aside) = whose(&left("Till.example.org")) else {
            panic!("it is not what this one generates from")
        };
        assert_ne!(aside["metadata"]["name"], "seed.team.one");
        assert_eq!(aside["metadata"]["namespace"], "cairn");
        let tills = stack(
            "team",
            "two",
            "",
            &json!({ "templates": { "till.example.org/v1": { "a": "" } } }),
        );
        assert_eq!(
            inherited(
                &KindOwnership::of(&tills, false, &crds()),
                "team",
                [&aside].into_iter()
            ),
            Some(&*seed(1))
        );
    }

    #[test]
    fn a_seed_is_that_of_the_stack_it_names_or_that_commits_to_it() {
        let commits = |byte: u8| Some(Commitment::to("cairn", "seed.team.one", &[byte; 32]));
        let back = Seed::Back(taking_back(&identity()));
        for (what, secret, said, expected) in [
            ("its own", owned(Some("u")), None, Seed::Own),
            (
                "its own, whatever the Stack says",
                owned(Some("u")),
                commits(7),
                Seed::Own,
            ),
            (
                "restored with its Stack",
                owned(Some("before")),
                commits(1),
                back.clone(),
            ),
            ("put there by an administrator", owned(None), None, back),
            (
                "of a Stack that is gone",
                owned(Some("before")),
                None,
                Seed::Stale,
            ),
            (
                "of a Stack that is gone, and this one had another",
                owned(Some("before")),
                commits(7),
                Seed::Stale,
            ),
            ("empty", json!({ "data": {} }), None, Seed::Invalid),
            (
                "short",
                json!({ "data": { "seed": "c2hvcnQ=" } }),
                None,
                Seed::Invalid,
            ),
            (
                "no base64",
                json!({ "data": { "seed": "!" } }),
                None,
                Seed::Invalid,
            ),
        ] {
            assert_eq!(
                whose_seed(&secret, Some(&claim()), said.as_ref(), &identity()),
                expected,
                "{what}"
            );
        }
    }

    #[test]
    fn a_new_seed_is_accepted_for_the_lost_one_alone() {
        let commitment = Commitment::to("cairn", "seed.team.one", &[1; 32]);
        let stack = |accepts: &str| {
            json!({ "metadata": { "annotations": {
                "stacks.crossplane.io/seed": commitment.to_string(), "stacks.crossplane.io/accept-new-seed": accepts,
            } } })
        };
        assert_eq!(Commitment::of(&stack("")), Some(commitment.clone()));
        assert!(has_generated(&stack("")) && !accepts_new_seed(&stack("true")));
        assert!(accepts_new_seed(&stack(&commitment.hash)));
        let rendered = json!({ "status": { "renderedKinds": [{}] } });
        assert!(has_generated(&rendered) && !has_generated(&json!({})));
        assert_eq!(lost_seed(&rendered), "unknown");
        assert_eq!(seed_bytes(&owned(None)), Some(vec![1; 32]));
    }

    #[test]
    fn a_new_stack_generates_from_what_was_kept_last_for_one_of_its_kinds() {
        let old = kept("team", "Shop.example.org", "1", 1);
        let mut short = kept("team", "Shop.example.org", "9", 9);
        short["data"]["seed"] = json!("c2hvcnQ=");
        for (what, secrets, expected) in [
            ("nothing", vec![], None),
            ("one", vec![old.clone()], Some(1)),
            (
                "the last",
                vec![kept("team", "A.b,Shop.example.org", "2", 2), old.clone()],
                Some(2),
            ),
            (
                "of a kind that it owns and does not serve",
                vec![kept("team", "Till.example.org", "1", 3)],
                None,
            ),
            (
                "of another group",
                vec![kept("team", "Shop.example.com", "1", 3)],
                None,
            ),
            (
                "of a stack without kinds",
                vec![kept("team", "", "1", 3)],
                None,
            ),
            (
                "of another namespace",
                vec![kept("other", "Shop.example.org", "1", 3)],
                None,
            ),
            (
                "of the whole cluster",
                vec![kept("", "Shop.example.org", "1", 3)],
                None,
            ),
            (
                "of a Stack that is there",
                vec![owned(Some("v")), old.clone()],
                Some(1),
            ),
            ("that is none", vec![short, old], Some(1)),
        ] {
            let expected = expected.map(seed);
            assert_eq!(
                inherited(&claim(), "team", secrets.iter()),
                expected.as_deref(),
                "{what}"
            );
        }
    }
}
