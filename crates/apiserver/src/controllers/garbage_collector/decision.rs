//! What becomes of an object by its owners, as Kubernetes' garbage collector decides. It knows
//! nothing of where objects are: it is told how each owner is.

use serde_json::Value;

use super::graph::{FOREGROUND, ORPHAN, Owner, has_finalizer};

/// How an owner is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is there.
    Solid,
    /// It is not there.
    Dangling,
    /// It waits for what it owns to go.
    Waiting,
    /// Nobody can tell: its kind is not known, or nothing may be owned by it from there.
    Unclear,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Keep,
    /// What it owns is to forget it; then it can go.
    Orphan,
    /// What it owns is to go first.
    Await,
    /// These owners are to be forgotten, by uid.
    Forget(Vec<String>),
    /// It is to go, and what it owns with it; first it shall keep no owner waiting, if so.
    Foreground {
        /// Whether it shall keep no owner waiting.
        unblock: bool,
    },
    /// It is to go.
    Background,
}

/// What becomes of an object. `has_dependents` is whether it owns anything, `dependent_waits`
/// whether something it owns waits for what that owns.
pub(crate) fn judge(
    object: &Value,
    standing: impl Fn(&Owner) -> Standing,
    has_dependents: impl Fn() -> bool,
    dependent_waits: impl Fn() -> bool,
) -> Verdict {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return if has_finalizer(object, ORPHAN) {
            Verdict::Orphan
        } else if has_finalizer(object, FOREGROUND) {
            Verdict::Await
        } else {
            Verdict::Keep
        };
    }
    let owners = Owner::all_of(object);
    let standings: Vec<Standing> = owners.iter().map(standing).collect();
    if owners.is_empty() || standings.contains(&Standing::Unclear) {
        return Verdict::Keep;
    }
    if standings.contains(&Standing::Solid) {
        let gone = owners
            .iter()
            .zip(&standings)
            .filter(|(_, standing)| **standing != Standing::Solid);
        let gone: Vec<String> = gone.map(|(owner, _)| owner.uid.to_string()).collect();
        return if gone.is_empty() {
            Verdict::Keep
        } else {
            Verdict::Forget(gone)
        };
    }
    if standings.contains(&Standing::Waiting) && has_dependents() {
        // An object that owns something which waits may be in a circle of those who wait for each
        // other.
        return Verdict::Foreground {
            unblock: dependent_waits(),
        };
    }
    if has_finalizer(object, ORPHAN) || !has_finalizer(object, FOREGROUND) {
        return Verdict::Background;
    }
    Verdict::Foreground { unblock: false }
}

#[cfg(test)]
mod tests {
    use Standing::{Dangling, Solid, Unclear, Waiting};
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_goes_when_no_owner_is_left() {
        let keep = Verdict::Keep;
        let forget =
            |uids: &[&str]| Verdict::Forget(uids.iter().map(|&uid| uid.to_owned()).collect());
        let foreground = |unblock| Verdict::Foreground { unblock };
        let table: Vec<(&[Standing], bool, bool, Verdict)> = vec![
            (&[], false, false, keep.clone()),
            (&[Solid], false, false, keep.clone()),
            (&[Dangling], false, false, Verdict::Background),
            (&[Dangling], true, false, Verdict::Background),
            (&[Solid, Dangling], false, false, forget(&["1"])),
            (
                &[Dangling, Solid, Waiting],
                true,
                false,
                forget(&["0", "2"]),
            ),
            (&[Waiting], false, false, Verdict::Background),
            (&[Waiting], true, false, foreground(false)),
            (&[Waiting, Dangling], true, true, foreground(true)),
            (&[Dangling, Unclear], false, false, keep.clone()),
            (&[Solid, Unclear], false, false, keep.clone()),
        ];
        for (standings, dependents, waits, expect) in table {
            let owners: Vec<Value> = (0..standings.len())
                .map(|uid| json!({"uid": uid.to_string()}))
                .collect();
            let object = json!({"metadata": {"ownerReferences": owners}});
            let standing = |owner: &Owner| standings[owner.uid.parse::<usize>().unwrap()];
            assert_eq!(
                judge(&object, standing, || dependents, || waits),
                expect,
                "{standings:?}"
            );
        }
    }

    #[test]
    fn an_object_that_is_to_go_does_what_its_finalizers_say() {
        for (finalizers, deleted, expect) in [
            (json!([]), true, Verdict::Keep),
            (json!([FOREGROUND]), true, Verdict::Await),
            (json!([ORPHAN]), true, Verdict::Orphan),
            (json!(["acme.io/x"]), true, Verdict::Keep),
            (
                json!([FOREGROUND]),
                false,
                Verdict::Foreground { unblock: false },
            ),
            (json!([ORPHAN]), false, Verdict::Background),
        ] {
            let time = if deleted {
                json!("2026-01-01T00:00:00Z")
            } else {
                Value::Null
            };
            let object = json!({"metadata": {
                "ownerReferences": [{"uid": "x"}], "finalizers": finalizers, "deletionTimestamp": time,
            }});
            assert_eq!(
                judge(&object, |_| Dangling, || false, || false),
                expect,
                "{finalizers} {deleted}"
            );
        }
    }
}
