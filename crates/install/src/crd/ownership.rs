//! Who owns a CRD: the record of the installs that use it, which only the stack manager writes, and
//! the publisher that it belongs to. Labels find a CRD's installs; only the record decides.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use api::annotations::{PARENTS, PUBLISHER, SPEC_HASH, SPEC_OWNER, SPEC_VERSION};
use api::{ClusterStackInstall, PermissionScope, StackInstall, labels, names};
use serde::{Deserialize, Serialize};

use package::image::Reference;

/// The most installs of one namespace that may use the same CRD: the record of all of them has to
/// fit into an annotation.
pub(crate) const MOST_OF_A_NAMESPACE: usize = 16;
/// The most bytes that the record of a CRD's installs may have.
pub(crate) const MOST_BYTES: usize = 128 << 10;

/// An install, as far as CRDs know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// Which kind of install it is.
    pub scope: PermissionScope,
    /// Its namespace; empty for a cluster install.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Tells it from others of the same name, before and after it; empty if it is not known.
    pub uid: String,
}

impl Parent {
    /// The label key by which it marks what it needs. Long names are cut there.
    pub fn label(&self) -> String {
        names::parent_label(&self.namespace, &self.name)
    }

    /// Whether it is a cluster install.
    pub fn is_cluster(&self) -> bool {
        self.scope == PermissionScope::Cluster
    }
}

/// The publisher of a package: the repository's parent path. A verified signer is to take its place
/// once packages are verified. Empty for what comes from this very machine, such as the directories
/// of `cairn up`: that is not published yet, and reserves no API group.
pub fn publisher(reference: &Reference) -> String {
    let registry = canonical(&reference.registry);
    match reference.repository.rsplit_once('/') {
        Some((parent, _)) if !registry.is_empty() => format!("{registry}/{parent}"),
        _ => registry,
    }
}

/// One spelling of a registry, or of a publisher that begins with one: hosts have no case, 443 is
/// the port anyway, and Docker Hub has several names.
fn canonical(publisher: &str) -> String {
    let (host, path) = match publisher.split_once('/') {
        Some((host, path)) => (host, format!("/{path}")),
        None => (publisher, String::new()),
    };
    let host = host.to_ascii_lowercase();
    let host = host.strip_suffix(":443").unwrap_or(&host);
    let host = if ["index.docker.io", "registry-1.docker.io"].contains(&host) {
        "docker.io"
    } else {
        host
    };
    // RFC 6761: names below `localhost` mean the machine that asks, so they name no publisher.
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    if name.ends_with(".localhost") {
        return String::new();
    }
    format!("{host}{path}")
}

/// An install in the record of a CRD.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    namespace: String,
    name: String,
    /// Empty in what was recorded by labels alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    uid: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    publisher: String,
}

impl fmt::Display for User {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(formatter, "{} {}", self.kind, self.name),
            namespace => write!(formatter, "{} {namespace}/{}", self.kind, self.name),
        }
    }
}

impl User {
    fn of(parent: &Parent, publisher: &str) -> Self {
        let kind = if parent.is_cluster() {
            ClusterStackInstall::KIND
        } else {
            StackInstall::KIND
        };
        Self {
            kind: kind.to_owned(),
            namespace: parent.namespace.clone(),
            name: parent.name.clone(),
            uid: parent.uid.clone(),
            publisher: publisher.to_owned(),
        }
    }

    /// Its namespace; empty for a cluster install.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its uid; empty if it was recorded by a label alone.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// Whether it is a cluster install.
    pub fn is_cluster(&self) -> bool {
        self.kind == ClusterStackInstall::KIND
    }

    fn key(&self) -> String {
        match self.namespace.as_str() {
            "" => format!("{}/{}", self.kind, self.name),
            namespace => format!("{}/{namespace}/{}", self.kind, self.name),
        }
    }

    fn label(&self) -> String {
        names::parent_label(&self.namespace, &self.name)
    }

    /// Whether it has the kind, the namespace and the name of an install, whichever of that name it
    /// was.
    fn is_named_like(&self, parent: &Parent) -> bool {
        if self.uid.is_empty() {
            // A name that was cut in its label is known by the label alone.
            return self.label() == parent.label() || self.name == parent.label();
        }
        (self.is_cluster(), &self.namespace, &self.name)
            == (parent.is_cluster(), &parent.namespace, &parent.name)
    }

    fn is(&self, parent: &Parent) -> bool {
        let same = self.uid.is_empty() || parent.uid.is_empty() || self.uid == parent.uid;
        same && self.is_named_like(parent)
    }
}

/// What the stack manager has recorded on a CRD.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The installs that use it, oldest first.
    pub(crate) users: Vec<User>,
    /// The key of the one that may change its spec.
    pub(crate) owner: String,
    /// Whose API it is.
    pub(crate) publisher: String,
    /// The version of the package whose spec is in place.
    pub(crate) version: String,
    /// Of what the owner's package says; empty if the spec in place is not the owner's.
    pub(crate) hash: String,
}

impl Record {
    /// Reads the record of a CRD. What was written before there were records is read from labels.
    pub(crate) fn read(
        labels: &BTreeMap<String, String>,
        annotations: &BTreeMap<String, String>,
    ) -> Self {
        let noted = |key: &str| annotations.get(key).cloned().unwrap_or_default();
        let mut users: Option<Vec<User>> = annotations
            .get(PARENTS)
            .and_then(|text| serde_json::from_str(text).ok());
        let by_label = users.is_none();
        // What was recorded before publishers had one spelling.
        users
            .iter_mut()
            .flatten()
            .for_each(|user| user.publisher = canonical(&user.publisher));
        let users = users.unwrap_or_else(|| by_labels(labels));
        let mut owner = noted(SPEC_OWNER);
        if by_label {
            let named = users
                .iter()
                .find(|user| user.label() == owner || user.name == owner);
            owner = named.map(User::key).unwrap_or_default();
        }
        let publisher = canonical(&noted(PUBLISHER));
        Self {
            users,
            owner,
            publisher,
            version: noted(SPEC_VERSION),
            hash: noted(SPEC_HASH),
        }
    }

    /// The installs that use the CRD, oldest first.
    pub fn users(&self) -> &[User] {
        &self.users
    }

    /// Whose API it is; empty if that is not known.
    pub fn publisher(&self) -> &str {
        &self.publisher
    }

    /// The annotations and labels that hold it.
    pub(crate) fn annotations(&self) -> [(&'static str, String); 5] {
        [
            (
                PARENTS,
                serde_json::to_string(&self.users).unwrap_or_default(),
            ),
            (SPEC_OWNER, self.owner.clone()),
            (PUBLISHER, self.publisher.clone()),
            (SPEC_VERSION, self.version.clone()),
            (SPEC_HASH, self.hash.clone()),
        ]
    }

    /// The labels by which people and selectors find the installs.
    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for user in &self.users {
            let key = if user.name.starts_with(labels::PARENT_PREFIX) {
                user.name.clone()
            } else {
                user.label()
            };
            found.insert(key, user.namespace.clone());
            if !user.namespace.is_empty() {
                found.insert(
                    names::namespace_label(&user.namespace),
                    labels::TRUE.to_owned(),
                );
            }
        }
        found
    }

    /// Whether an install uses the CRD, or one of the same kind, namespace and name did.
    pub(crate) fn names(&self, parent: &Parent) -> bool {
        self.users.iter().any(|user| user.is_named_like(parent))
    }

    /// The recorded owner, if it is among the installs that use the CRD.
    pub fn owner(&self) -> Option<&User> {
        self.users.iter().find(|user| user.key() == self.owner)
    }

    /// Whether an install is the recorded owner.
    pub(crate) fn is_owned_by(&self, parent: &Parent) -> bool {
        self.owner().is_some_and(|owner| owner.is(parent))
    }

    /// Whether the objects of the CRD in a namespace came with an install, and go with it: it uses
    /// the CRD, and no other install that reaches that namespace does.
    pub fn came_with(&self, parent: &Parent, namespace: &str) -> bool {
        let reaches = |user: &User| user.is_cluster() || user.namespace == namespace;
        self.users.iter().any(|user| user.is(parent)) && !self.others(parent).any(reaches)
    }

    /// The installs beside one.
    pub fn others(&self, parent: &Parent) -> impl Iterator<Item = &User> {
        self.users.iter().filter(|user| !user.is_named_like(parent))
    }

    /// The record without installs that no longer exist, by uid.
    pub(crate) fn present(mut self, gone: &BTreeSet<String>) -> Self {
        self.users
            .retain(|user| user.uid.is_empty() || !gone.contains(&user.uid));
        self
    }

    /// The record with an install, which comes last unless it is in it already. One of the same
    /// name that was there before is not this one.
    pub(crate) fn with(mut self, parent: &Parent, publisher: &str) -> Self {
        let own = User::of(parent, publisher);
        match self.users.iter().position(|user| user.is(parent)) {
            Some(place) => {
                if self.owner == self.users[place].key() {
                    self.owner = own.key();
                }
                self.users[place] = own;
            }
            None => {
                if self
                    .users
                    .iter()
                    .any(|user| user.is_named_like(parent) && user.key() == self.owner)
                {
                    self.owner.clear();
                }
                self.users.retain(|user| !user.is_named_like(parent));
                self.users.push(own);
            }
        }
        self
    }

    /// The record without an install, and without any of the same name.
    pub(crate) fn without(mut self, parent: &Parent) -> Self {
        self.users.retain(|user| !user.is_named_like(parent));
        self
    }

    /// Gives the CRD to whom it belongs: a cluster install, else one of its publisher, else any;
    /// among these to the one that has it, else to the oldest. The spec in place is then no longer
    /// the owner's.
    pub(crate) fn settle(mut self) -> Self {
        let rank = |user: &User| match user {
            user if user.is_cluster() => 2,
            user if self.publisher.is_empty()
                || user.publisher.is_empty()
                || user.publisher == self.publisher =>
            {
                1
            }
            _ => 0,
        };
        let best = self.users.iter().map(rank).max();
        let heir = match self.owner().filter(|owner| Some(rank(owner)) == best) {
            Some(owner) => Some(owner.key()),
            None => self
                .users
                .iter()
                .find(|user| Some(rank(user)) == best)
                .map(User::key),
        };
        let heir = heir.unwrap_or_default();
        if heir != self.owner {
            self.owner = heir;
            self.hash.clear();
        }
        self
    }

    /// Why no other install of a namespace can be recorded, if none can.
    pub(crate) fn is_full(&self, parent: &Parent) -> Option<String> {
        let neighbours = self
            .others(parent)
            .filter(|user| user.namespace == parent.namespace)
            .count();
        if neighbours >= MOST_OF_A_NAMESPACE && !parent.is_cluster() {
            return Some(format!(
                "{neighbours} installs of the namespace {} use it already",
                parent.namespace
            ));
        }
        let size = serde_json::to_string(&self.users).map_or(0, |text| text.len());
        (size > MOST_BYTES).then(|| {
            format!(
                "{} installs use it, which is all that can be recorded",
                self.users.len()
            )
        })
    }
}

/// The installs of a CRD, by the labels that were all there was before there were records.
fn by_labels(marks: &BTreeMap<String, String>) -> Vec<User> {
    let marked = marks.iter().filter_map(|(key, namespace)| {
        Some((key, key.strip_prefix(labels::PARENT_PREFIX)?, namespace))
    });
    let read = marked.map(|(key, text, namespace)| {
        let cluster = namespace.is_empty();
        let name = text.split_once('.').map_or(text, |(_, name)| name);
        // A label that had to be cut says only part of the name.
        let name = if names::parent_label(namespace, name) == *key {
            name
        } else {
            key
        };
        User {
            kind: if cluster {
                ClusterStackInstall::KIND
            } else {
                StackInstall::KIND
            }
            .to_owned(),
            namespace: namespace.clone(),
            name: name.to_owned(),
            uid: String::new(),
            publisher: String::new(),
        }
    });
    read.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use api::PermissionScope;

    use super::{MOST_OF_A_NAMESPACE, Parent, Record, publisher};
    use package::image::Reference;

    fn parent(namespace: &str, name: &str, uid: &str) -> Parent {
        let scope = if namespace.is_empty() {
            PermissionScope::Cluster
        } else {
            PermissionScope::Namespaced
        };
        Parent {
            scope,
            namespace: namespace.into(),
            name: name.into(),
            uid: uid.into(),
        }
    }

    /// A record that these installs joined one after the other, as it is read again.
    fn record(of: &[(&Parent, &str)]) -> Record {
        let mut record = Record::default();
        for (parent, publisher) in of {
            if record.users.is_empty() {
                record.publisher = (*publisher).to_owned();
            }
            record = again(&record.with(parent, publisher).settle());
        }
        record
    }

    fn again(record: &Record) -> Record {
        let annotations = record
            .annotations()
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        let read = Record::read(&record.labels(), &annotations);
        assert_eq!(&read, record);
        read
    }

    fn owner(record: &Record) -> String {
        record.owner().map(ToString::to_string).unwrap_or_default()
    }

    #[test]
    fn the_first_owns_until_it_goes_and_a_cluster_install_takes_it_from_all() {
        let (one, two, three) = (
            parent("a", "x", "1"),
            parent("b", "x", "2"),
            parent("", "x", "3"),
        );
        let shared = record(&[(&one, "p"), (&two, "p")]);
        assert_eq!(owner(&shared), "StackInstall a/x");
        assert_eq!(
            owner(&shared.clone().without(&one).settle()),
            "StackInstall b/x"
        );
        let taken = record(&[(&one, "p"), (&two, "p"), (&three, "other")]);
        assert_eq!(owner(&taken), "ClusterStackInstall x");
        assert_eq!(owner(&taken.without(&three).settle()), "StackInstall a/x");
        // One whose finalizer was taken off is known to be gone by its uid.
        let gone = BTreeSet::from(["1".to_owned()]);
        assert_eq!(owner(&shared.present(&gone).settle()), "StackInstall b/x");
    }

    #[test]
    fn objects_came_with_the_only_install_that_reaches_them() {
        let (one, two, wide) = (
            parent("a", "x", "1"),
            parent("a", "y", "2"),
            parent("", "w", "3"),
        );
        let far = parent("b", "x", "4");
        for (what, users, install, namespace, expected) in [
            ("the only one", vec![&one], &one, "a", true),
            ("another elsewhere", vec![&one, &far], &one, "a", true),
            ("another beside it", vec![&one, &two], &one, "a", false),
            ("a cluster install", vec![&one, &wide], &one, "a", false),
            ("not recorded", vec![&one], &two, "a", false),
            (
                "one of the same name before it",
                vec![&one],
                &parent("a", "x", "9"),
                "a",
                false,
            ),
            (
                "the cluster install, elsewhere",
                vec![&one, &wide],
                &wide,
                "b",
                true,
            ),
            (
                "the cluster install, where another needs it",
                vec![&one, &wide],
                &wide,
                "a",
                false,
            ),
            (
                "the cluster install, outside of namespaces",
                vec![&one, &wide],
                &wide,
                "",
                true,
            ),
        ] {
            let users: Vec<(&Parent, &str)> = users.into_iter().map(|user| (user, "p")).collect();
            assert_eq!(
                record(&users).came_with(install, namespace),
                expected,
                "{what}"
            );
        }
        assert!(!Record::default().came_with(&one, "a"));
    }

    #[test]
    fn a_publisher_has_one_spelling() {
        let of = |text: &str| {
            publisher(&Reference {
                registry: text.into(),
                ..Reference::parse("r.example.org/team/redis:1").unwrap()
            })
        };
        for (registry, expected) in [
            ("r.example.org", "r.example.org/team"),
            ("R.Example.ORG", "r.example.org/team"),
            ("r.example.org:443", "r.example.org/team"),
            ("r.example.org:5000", "r.example.org:5000/team"),
            ("docker.io", "docker.io/team"),
            ("index.docker.io", "docker.io/team"),
            ("up.localhost", ""),
            ("Up.LocalHost:5000", ""),
            ("localhost.example.org", "localhost.example.org/team"),
            ("Registry-1.Docker.io", "docker.io/team"),
        ] {
            assert_eq!(of(registry), expected);
        }
        let old = BTreeMap::from([(
            "stacks.crossplane.io/publisher".to_owned(),
            "Index.Docker.IO/team".to_owned(),
        )]);
        assert_eq!(
            Record::read(&BTreeMap::new(), &old).publisher,
            "docker.io/team"
        );
    }

    #[test]
    fn another_publisher_comes_after_all_of_the_first() {
        let (one, evil, late) = (
            parent("a", "x", "1"),
            parent("b", "x", "2"),
            parent("c", "x", "3"),
        );
        let shared = record(&[(&one, "p"), (&evil, "q"), (&late, "p")]);
        let left = shared.without(&one).settle();
        assert_eq!(owner(&left), "StackInstall c/x");
        let alone = left.without(&late).settle();
        assert_eq!(owner(&alone), "StackInstall b/x");
        assert_eq!(
            owner(&alone.with(&late, "p").settle()),
            "StackInstall c/x",
            "and gives it back"
        );
    }

    #[test]
    fn nobody_becomes_the_owner_by_its_name() {
        let victim = parent("team-a", "redis", "1");
        let shared = record(&[(&victim, "p")]);
        let long = "n".repeat(200);
        for (what, other) in [
            ("another namespace", parent("team-b", "redis", "2")),
            (
                "the other kind in another namespace",
                parent("team-b", "cluster_.redis", "2"),
            ),
            ("a name like a label", parent("team-a", "team-a.redis", "2")),
            ("the same name, made again", parent("team-a", "redis", "2")),
            ("a long name", parent("team-a", &long, "2")),
        ] {
            assert!(!shared.is_owned_by(&other), "{what}");
            let joined = shared.clone().with(&other, "p");
            if what == "the same name, made again" {
                assert_eq!(
                    (joined.users().len(), owner(&joined)),
                    (1, String::new()),
                    "the first is gone"
                );
            } else {
                assert_eq!(
                    (joined.users().len(), owner(&joined.settle())),
                    (2, "StackInstall team-a/redis".into()),
                    "{what}"
                );
            }
        }
        // Names that are alike where labels cut them.
        let (one, two) = (
            parent("team-a", &format!("{long}1"), "1"),
            parent("team-a", &format!("{long}2"), "2"),
        );
        let both = record(&[(&one, "p"), (&two, "p")]);
        assert!(both.is_owned_by(&one) && !both.is_owned_by(&two) && both.names(&two));
        assert_eq!(
            owner(&both.clone().without(&one).settle()),
            format!("StackInstall team-a/{long}2")
        );
        assert_eq!(both.without(&two).users().len(), 1);
    }

    #[test]
    fn what_was_written_before_there_were_records_is_read_from_labels() {
        let long = "n".repeat(100);
        for parent in [
            parent("team", "redis", "1"),
            parent("", "redis", "1"),
            parent("team", &long, "1"),
        ] {
            let labels = BTreeMap::from([(parent.label(), parent.namespace.clone())]);
            let annotations =
                BTreeMap::from([("stacks.crossplane.io/spec-owner".to_owned(), parent.label())]);
            let old = Record::read(&labels, &annotations);
            assert!(old.is_owned_by(&parent) && old.names(&parent), "{old:?}");
            assert_eq!(old.labels().get(&parent.label()), Some(&parent.namespace));
            let new = again(&old.clone().with(&parent, "p").settle());
            assert!(new.is_owned_by(&parent), "{new:?}");
            assert_eq!(new.users().len(), 1);
            assert!(old.without(&parent).users().is_empty());
        }
    }

    #[test]
    fn one_namespace_cannot_fill_the_record() {
        let mut full = Record::default();
        for count in 0..MOST_OF_A_NAMESPACE {
            let next = parent("b", &format!("x{count}"), &format!("{count}"));
            assert_eq!(full.is_full(&next), None);
            full = full.with(&next, "p");
        }
        assert!(full.is_full(&parent("b", "more", "m")).is_some());
        assert_eq!(
            full.is_full(&parent("b", "x3", "3")),
            None,
            "who is in it stays"
        );
        assert_eq!(
            full.is_full(&parent("a", "x", "a")),
            None,
            "and others come"
        );
        assert_eq!(full.is_full(&parent("", "x", "a")), None);
    }

    #[test]
    fn a_publisher_is_the_path_above_the_repository() {
        for (image, expected) in [
            (
                "registry.example.org/team-a/redis:1",
                "registry.example.org/team-a",
            ),
            (
                "registry.example.org:5000/a/b/redis",
                "registry.example.org:5000/a/b",
            ),
            ("registry.example.org/redis:1", "registry.example.org"),
        ] {
            assert_eq!(publisher(&Reference::parse(image).unwrap()), expected);
        }
    }
}
