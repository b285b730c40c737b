//! Whom a change of a CRD would affect.

use std::fmt;

use api::annotations::ALLOW_BREAKING_CHANGES;

use super::live::Wanted;
use super::ownership::{Record, User};

/// The other installs that use a CRD, and those of them that have instances.
pub(crate) struct Affected<'a> {
    users: Vec<(&'a User, bool)>,
    /// Namespaces with instances and without an install, which a namespaced install must not break
    /// either.
    elsewhere: Vec<&'a str>,
}

impl<'a> Affected<'a> {
    pub(crate) fn of(wanted: &Wanted<'a>, record: &'a Record) -> Self {
        let has = |user: &User| {
            wanted
                .instances
                .iter()
                .any(|namespace| namespace == user.namespace())
        };
        let is_elsewhere = |namespace: &&str| {
            let own = *namespace == wanted.parent.namespace || namespace.is_empty();
            !own && !record
                .users()
                .iter()
                .any(|user| user.namespace() == *namespace)
        };
        let instances = wanted
            .instances
            .iter()
            .map(String::as_str)
            .filter(|_| !wanted.parent.is_cluster());
        Self {
            users: record
                .others(wanted.parent)
                .map(|user| (user, has(user)))
                .collect(),
            elsewhere: instances.filter(is_elsewhere).collect(),
        }
    }

    pub(crate) fn has_instances(&self) -> bool {
        !self.elsewhere.is_empty() || self.users.iter().any(|(_, has)| *has)
    }

    /// Whether the install itself can allow a change that breaks something.
    pub(crate) fn by_install(&self, takes: bool) -> bool {
        !self.has_instances() && !takes
    }

    /// What to do about a change that breaks something.
    pub(crate) fn way(&self, crd: &str, takes: bool) -> String {
        if !self.by_install(takes) {
            return format!(
                "an administrator can allow it with `kubectl annotate crd {crd} {ALLOW_BREAKING_CHANGES}=true`, and should \
                 take that off again afterwards"
            );
        }
        format!(
            "annotate the install with `{ALLOW_BREAKING_CHANGES}: \"true\"` if that is meant, and take that off again \
             afterwards"
        )
    }
}

/// The most installs that are named.
const MOST: usize = 5;

impl fmt::Display for Affected<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Those with instances first.
        let (with, without): (Vec<_>, Vec<_>) = self.users.iter().partition(|(_, has)| *has);
        let all: Vec<String> = with
            .iter()
            .map(|(user, _)| format!("{user} (with instances)"))
            .chain(
                self.elsewhere
                    .iter()
                    .map(|namespace| format!("instances in the namespace {namespace}")),
            )
            .chain(without.iter().map(|(user, _)| user.to_string()))
            .collect();
        if all.is_empty() {
            return Ok(());
        }
        write!(
            formatter,
            "; it is also used by {}",
            all.iter()
                .take(MOST)
                .cloned()
                .collect::<Vec<_>>()
                .join(", ")
        )?;
        match all.len().saturating_sub(MOST) {
            0 => Ok(()),
            more => write!(formatter, " and {more} more"),
        }
    }
}
