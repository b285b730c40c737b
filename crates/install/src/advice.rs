//! What to do for a Stack that needs a cluster-scoped kind and may act only in its namespace.

use api::{ClusterStackInstall, Stack, StackInstall};
use serde_json::Value;

use crate::Policy;

/// Why a Stack cannot have any of these kinds (group and plural), which are cluster-scoped, and
/// what would help. A ClusterStackInstall is no way out where the policy grants none of them to any
/// stack.
pub(super) fn cluster_scoped(stack: &Stack, policy: &Policy, kinds: &[(&str, &str)]) -> String {
    let refusals: Vec<_> = kinds
        .iter()
        .filter_map(|(group, plural)| policy.check(group, plural, true).err())
        .collect();
    match refusals.first() {
        Some(refusal) if refusals.len() == kinds.len() => refusal.why.to_owned(),
        _ if is_hand_made(stack) => {
            "this Stack, which no install made, may act only in its namespace: build a package of it \
                                     and install that with a ClusterStackInstall"
                .to_owned()
        }
        _ => "may act only in its namespace: install it with a ClusterStackInstall".to_owned(),
    }
}

/// Whether no install made a Stack, as far as it says so: this only chooses words.
fn is_hand_made(stack: &Stack) -> bool {
    let owners = stack
        .metadata
        .rest
        .get("ownerReferences")
        .and_then(Value::as_array);
    let installs = [StackInstall::KIND, ClusterStackInstall::KIND];
    !owners
        .into_iter()
        .flatten()
        .any(|owner| installs.iter().any(|kind| owner["kind"] == *kind))
}
