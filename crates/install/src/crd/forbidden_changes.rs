//! Which CRDs a namespaced install may bring: what an administrator allows, in API groups that
//! nobody else uses.

use api::GROUP;

use super::live::{LiveCrd, OWNED, Wanted};
use super::ownership::{Record, User};
use crate::Trouble;

/// Which CRDs namespaced installs may bring.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NamespacedCrds {
    /// New ones, in API groups that no other publisher uses.
    #[default]
    Allow,
    /// Only those that a cluster install or somebody other than the stack manager has brought.
    Use,
    /// None.
    Deny,
}

/// Groups that belong to Kubernetes or to Cairn itself. That they are taken by CRDs of a namespace
/// is no accident.
const RESERVED: [&str; 5] = [
    "k8s.io",
    "kubernetes.io",
    GROUP,
    "templates.stacks.crossplane.io",
    "processing.stacks.crossplane.io",
];

fn is_reserved(group: &str) -> bool {
    // Below Cairn's own groups are those of samples and of other projects.
    let below = |end: &str| {
        group
            .strip_suffix(end)
            .is_some_and(|rest| rest.ends_with('.'))
    };
    RESERVED.contains(&group) || RESERVED[..2].iter().any(|end| below(end))
}

/// Why a namespaced install may not bring a CRD, if it may not. What exists already and is an
/// administrator's, it uses and does not define.
pub(crate) fn forbidden(wanted: &Wanted<'_>) -> Option<Trouble> {
    let Wanted {
        new,
        parent,
        publisher,
        ..
    } = wanted;
    let (name, group) = (&new.name, &new.group);
    if parent.is_cluster() {
        return None;
    }
    let not_allowed = |why: &str| Some(Trouble::new("CRDsNotAllowed", format!("{why}: {name}")));
    if wanted.namespaced == NamespacedCrds::Deny {
        return not_allowed(
            "the administrator of this cluster lets namespaced installs bring no CRDs",
        );
    }
    let record = match wanted.live {
        Some(live) if !live.is_ours() => return None,
        Some(live) => live.record().present(wanted.gone).settle(),
        None => Record::default(),
    };
    if record.owner().is_some_and(User::is_cluster) {
        return None;
    }
    if wanted.namespaced == NamespacedCrds::Use {
        return not_allowed(
            "the administrator of this cluster lets namespaced installs use only CRDs that a ClusterStackInstall has \
             brought",
        );
    }
    if wanted.live.is_none() {
        if is_reserved(group) {
            let why = format!(
                "the API group {group} is reserved: only a ClusterStackInstall can define {name}"
            );
            return Some(Trouble::new("GroupReserved", why));
        }
        let others = wanted
            .group
            .iter()
            .filter(|live| live.crd.group == *group && live.crd.name != *name);
        let taken = others.filter_map(|live| {
            if !live.is_ours() {
                return Some(format!(
                    "the CRD {}, which is not managed by the stack manager",
                    live.crd.name
                ));
            }
            let record = live.record();
            let foreign = !record.publisher.is_empty() && record.publisher != *publisher;
            foreign.then(|| {
                format!(
                    "the CRD {}, which {} publishes",
                    live.crd.name, record.publisher
                )
            })
        });
        let taken = taken.min()?;
        let why = format!(
            "the API group {group} is used by {taken}, while {publisher} publishes this package: only a \
             ClusterStackInstall can define {name} there"
        );
        return Some(Trouble::new("GroupOwnedBy", why));
    }
    if record.publisher.is_empty() || record.publisher == *publisher {
        return None;
    }
    // Who has it alone may move to another place with it.
    let alone = record.is_owned_by(parent) && record.others(parent).next().is_none();
    let theirs =
        |live: &&LiveCrd| live.crd.group == *group && live.record().others(parent).next().is_some();
    if alone && !wanted.group.iter().any(|live| theirs(&live)) {
        return None;
    }
    let owner = record
        .owner()
        .map(|owner| format!(", and owned by {owner}"))
        .unwrap_or_default();
    let why = format!(
        "the CRD {name} is published by {}{owner}, while {publisher} publishes this package: install the package from \
         there, or ask an administrator for a ClusterStackInstall of it, which owns the CRD then",
        record.publisher
    );
    Some(Trouble::new(OWNED, why))
}
