//! Roles and bindings, found by whom they are for. It is told what changes and answers from memory;
//! where the objects come from is the business of `policy`.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use serde_json::Value;

use super::subject;
use crate::authn::user::User;
use crate::authz::attributes::Question;
use crate::authz::rbac_rule::Rule;

/// The API group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// The four kinds of objects that rights are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rules for one namespace.
    Role,
    /// Rules for everywhere, to be bound anywhere.
    ClusterRole,
    /// Gives rules in one namespace.
    RoleBinding,
    /// Gives rules everywhere.
    ClusterRoleBinding,
}

impl Kind {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [
        Self::Role,
        Self::ClusterRole,
        Self::RoleBinding,
        Self::ClusterRoleBinding,
    ];

    /// The resource in the plural.
    pub(crate) const fn resource(self) -> &'static str {
        match self {
            Self::Role => "roles",
            Self::ClusterRole => "clusterroles",
            Self::RoleBinding => "rolebindings",
            Self::ClusterRoleBinding => "clusterrolebindings",
        }
    }

    /// The kind's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Role => "Role",
            Self::ClusterRole => "ClusterRole",
            Self::RoleBinding => "RoleBinding",
            Self::ClusterRoleBinding => "ClusterRoleBinding",
        }
    }

    /// The kind of a resource of a group, if it is one of the four.
    pub(crate) fn of(group: &str, resource: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| group == GROUP && kind.resource() == resource)
    }
}

/// The role that a binding gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoleRef {
    /// `Role` or `ClusterRole`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

impl RoleRef {
    /// The role that a binding object gives.
    pub(crate) fn of(binding: &Value) -> Self {
        let text = |field: &str| {
            binding["roleRef"][field]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            kind: text("kind"),
            name: text("name"),
        }
    }
}

/// Whom a binding is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Subject {
    User(String),
    Group(String),
}

struct Binding {
    role: RoleRef,
    /// As messages name them.
    subjects: Vec<(Subject, String)>,
}

#[derive(Default)]
struct Bindings {
    all: BTreeMap<Arc<str>, Binding>,
    /// The bindings of a subject, with its first place in each.
    of: HashMap<Subject, BTreeMap<Arc<str>, usize>>,
}

/// All roles and bindings.
#[derive(Default)]
pub(crate) struct Index {
    cluster_roles: HashMap<String, Arc<[Rule]>>,
    roles: HashMap<String, HashMap<String, Arc<[Rule]>>>,
    cluster: Bindings,
    local: HashMap<String, Bindings>,
}

/// Whether something may be done, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    /// Whether it may.
    pub allowed: bool,
    /// Which binding allows it, or what went wrong while looking; may be empty.
    pub reason: String,
}

impl Index {
    /// Takes note of an object as it is now, or that it is gone.
    pub(crate) fn note(&mut self, kind: Kind, namespace: &str, name: &str, object: Option<&Value>) {
        match kind {
            Kind::ClusterRole => match object {
                Some(role) => drop(
                    self.cluster_roles
                        .insert(name.to_owned(), Rule::all_of(role).into()),
                ),
                None => drop(self.cluster_roles.remove(name)),
            },
            Kind::Role => match object {
                Some(role) => {
                    let roles = self.roles.entry(namespace.to_owned()).or_default();
                    roles.insert(name.to_owned(), Rule::all_of(role).into());
                }
                None => {
                    if let Some(roles) = self.roles.get_mut(namespace) {
                        roles.remove(name);
                        if roles.is_empty() {
                            self.roles.remove(namespace);
                        }
                    }
                }
            },
            Kind::ClusterRoleBinding => self.cluster.note("", name, object),
            Kind::RoleBinding => {
                let local = self.local.entry(namespace.to_owned()).or_default();
                local.note(namespace, name, object);
                if local.all.is_empty() {
                    self.local.remove(namespace);
                }
            }
        }
    }

    /// Forgets everything of a kind, to be told again.
    pub(crate) fn forget(&mut self, kind: Kind) {
        match kind {
            Kind::Role => self.roles.clear(),
            Kind::ClusterRole => self.cluster_roles.clear(),
            Kind::RoleBinding => self.local.clear(),
            Kind::ClusterRoleBinding => self.cluster = Bindings::default(),
        }
    }

    /// The rules of a role; none if there is no such role.
    pub(crate) fn rules_of(&self, role: &RoleRef, namespace: &str) -> Option<Arc<[Rule]>> {
        match &*role.kind {
            "ClusterRole" => self.cluster_roles.get(&role.name).cloned(),
            "Role" => self.roles.get(namespace)?.get(&role.name).cloned(),
            _ => None,
        }
    }

    /// Whether a user may do something.
    pub(crate) fn decide(&self, who: &User, question: &Question<'_>) -> Decision {
        if who.is_in(subject::MASTERS) {
            return Decision {
                allowed: true,
                reason: String::new(),
            };
        }
        let mut lost = Vec::new();
        let mut reason = None;
        self.visit(who, question.namespace(), |source| {
            match self.rules_of(&source.binding.role, source.namespace) {
                Some(rules) if rules.iter().any(|rule| rule.allows(question)) => {
                    reason = Some(source.describe());
                }
                Some(_) => {}
                None => lost.push(source.binding.role.clone()),
            }
            reason.is_some()
        });
        if let Some(source) = reason {
            return Decision {
                allowed: true,
                reason: format!("RBAC: allowed by {source}"),
            };
        }
        let lost: BTreeSet<String> = lost.iter().map(not_found).collect();
        let lost: Vec<String> = lost.into_iter().collect();
        let reason = match &*lost {
            [] => String::new(),
            [one] => format!("RBAC: {one}"),
            many => format!("RBAC: [{}]", many.join(", ")),
        };
        Decision {
            allowed: false,
            reason,
        }
    }

    /// All rules that a user has in a namespace, or everywhere if it is empty.
    pub(crate) fn rules_for(&self, who: &User, namespace: &str) -> Vec<Rule> {
        let mut seen = BTreeSet::new();
        let mut rules = Vec::new();
        self.visit(who, namespace, |source| {
            if seen.insert((source.namespace.to_owned(), source.name.to_owned()))
                && let Some(found) = self.rules_of(&source.binding.role, source.namespace)
            {
                rules.extend(found.iter().cloned());
            }
            false
        });
        rules
    }

    /// Shows the bindings of a user until told to stop: those of the cluster, then those of the
    /// namespace.
    fn visit(&self, who: &User, namespace: &str, mut stop: impl FnMut(&Source<'_>) -> bool) {
        let local = if namespace.is_empty() {
            None
        } else {
            self.local.get(namespace)
        };
        for (bindings, namespace) in [(Some(&self.cluster), ""), (local, namespace)] {
            let Some(bindings) = bindings else { continue };
            let name = Subject::User(who.name.clone());
            let groups = who.groups.iter().map(|group| Subject::Group(group.clone()));
            for subject in std::iter::once(name).chain(groups) {
                for (name, place) in bindings.of.get(&subject).into_iter().flatten() {
                    let Some(binding) = bindings.all.get(name) else {
                        continue;
                    };
                    if stop(&Source {
                        name,
                        namespace,
                        binding,
                        place: *place,
                    }) {
                        return;
                    }
                }
            }
        }
    }
}

/// A binding that is for somebody, and where it says so.
struct Source<'a> {
    name: &'a str,
    namespace: &'a str,
    binding: &'a Binding,
    place: usize,
}

impl Source<'_> {
    fn describe(&self) -> String {
        let RoleRef { kind, name } = &self.binding.role;
        let subject = self
            .binding
            .subjects
            .get(self.place)
            .map_or("", |(_, text)| text);
        if self.namespace.is_empty() {
            format!(
                "ClusterRoleBinding {:?} of {kind} {name:?} to {subject}",
                self.name
            )
        } else {
            format!(
                "RoleBinding \"{}/{}\" of {kind} {name:?} to {subject}",
                self.name, self.namespace
            )
        }
    }
}

impl Bindings {
    fn note(&mut self, namespace: &str, name: &str, object: Option<&Value>) {
        if let Some(old) = self.all.remove(name) {
            for (subject, _) in &old.subjects {
                if let Some(bindings) = self.of.get_mut(subject) {
                    bindings.remove(name);
                    if bindings.is_empty() {
                        self.of.remove(subject);
                    }
                }
            }
        }
        let Some(object) = object else { return };
        let name: Arc<str> = Arc::from(name);
        let subjects = object
            .get("subjects")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let subjects: Vec<_> = subjects
            .filter_map(|subject| read_subject(subject, namespace))
            .collect();
        for (place, (subject, _)) in subjects.iter().enumerate() {
            self.of
                .entry(subject.clone())
                .or_default()
                .entry(name.clone())
                .or_insert(place);
        }
        self.all.insert(
            name,
            Binding {
                role: RoleRef::of(object),
                subjects,
            },
        );
    }
}

/// Whom an entry means, and how messages name it; a service account is a user with a name of its
/// own form.
fn read_subject(subject: &Value, namespace: &str) -> Option<(Subject, String)> {
    let name = subject["name"].as_str()?;
    match subject["kind"].as_str()? {
        "User" => Some((Subject::User(name.to_owned()), format!("User {name:?}"))),
        "Group" => Some((Subject::Group(name.to_owned()), format!("Group {name:?}"))),
        "ServiceAccount" => {
            let own = subject["namespace"]
                .as_str()
                .filter(|own| !own.is_empty())
                .unwrap_or(namespace);
            let user = Subject::User(subject::account_name(own, name));
            (!own.is_empty()).then(|| (user, format!("ServiceAccount \"{name}/{own}\"")))
        }
        _ => None,
    }
}

fn not_found(role: &RoleRef) -> String {
    match &*role.kind {
        "Role" | "ClusterRole" => format!(
            "{}.{GROUP} {:?} not found",
            role.kind.to_lowercase(),
            role.name
        ),
        other => format!("unsupported role reference kind: {other:?}"),
    }
}

#[cfg(test)]
mod tests;
