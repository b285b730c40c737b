//! Whose CRD it is: only its owner writes its spec, every other install that uses it checks that it
//! serves what its package needs, and it goes with the last of them. A CRD that the stack manager
//! did not make is never touched.

use std::collections::{BTreeMap, BTreeSet};

use api::annotations::{
    ALLOW_BREAKING_CHANGES, PARENTS, PUBLISHER, SPEC_HASH, SPEC_OWNER, SPEC_VERSION,
};
use api::{Crd, labels};
use package::image::Digest;
use serde_json::{Map, Value, json};

use super::affected::Affected;
use super::forbidden_changes::forbidden;

pub use super::forbidden_changes::NamespacedCrds;

use super::compatibility::missing;
use super::ownership::{Parent, Record};
use crate::drift::same_versions;
use crate::{Breakage, Trouble, breakages, can_become};

/// A CRD of the cluster.
#[derive(Debug, Clone)]
pub struct LiveCrd {
    /// The definition.
    pub crd: Crd,
    /// Tells it from others of the same name, before and after it.
    pub uid: String,
    /// Tells it from itself before and after any change.
    pub revision: String,
    /// Whether its kind is served.
    pub established: bool,
    /// Why its names were not accepted, if they were not.
    pub rejected: Option<String>,
    /// The versions that objects are stored in.
    pub stored: Vec<String>,
    /// Whether it is going.
    pub deleting: bool,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

impl LiveCrd {
    /// Reads a CRD as the cluster has it; none if it cannot be one.
    pub fn read(object: &Value) -> Option<Self> {
        let (crd, _) = Crd::read(object);
        let condition = |kind: &str| {
            let all = object["status"]["conditions"].as_array()?;
            all.iter().find(|condition| condition["type"] == kind)
        };
        let texts = |part: &str| -> BTreeMap<String, String> {
            let part = object["metadata"][part].as_object();
            let texts = part
                .into_iter()
                .flatten()
                .filter_map(|(key, text)| Some((key.clone(), text.as_str()?.into())));
            texts.collect()
        };
        let text = |part: &str| {
            object["metadata"][part]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let rejected =
            condition("NamesAccepted").filter(|condition| condition["status"] == "False");
        Some(Self {
            crd: crd?,
            uid: text("uid"),
            revision: text("resourceVersion"),
            established: condition("Established")
                .is_some_and(|condition| condition["status"] == "True"),
            rejected: rejected
                .map(|condition| condition["message"].as_str().unwrap_or_default().to_owned()),
            stored: object["status"]["storedVersions"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|version| Some(version.as_str()?.to_owned()))
                .collect(),
            deleting: !object["metadata"]["deletionTimestamp"].is_null(),
            labels: texts("labels"),
            annotations: texts("annotations"),
        })
    }

    /// Whether it is as it would be applied: all that is wanted, no mark of an install beyond that,
    /// and just these versions with just these schemas. What the server added elsewhere is no
    /// difference.
    pub fn is_like(&self, wanted: &Value) -> bool {
        let is_mark = |key: &str| {
            key.starts_with(labels::PARENT_PREFIX) || key.starts_with(labels::NAMESPACE_PREFIX)
        };
        let marked = self
            .labels
            .keys()
            .filter(|key| is_mark(key))
            .all(|key| wanted["metadata"]["labels"].get(key).is_some());
        // Versions and schemas are compared first and whole, so that the rest need not look at
        // them.
        let (live, wanted_versions) = (
            &self.crd.object["spec"]["versions"],
            &wanted["spec"]["versions"],
        );
        let mut rest = wanted.clone();
        if let Some(spec) = rest["spec"].as_object_mut() {
            spec.remove("versions");
        }
        marked && same_versions(live, wanted_versions) && crate::covers(&self.crd.object, &rest)
    }

    /// Whether the stack manager made it, and may so change and delete it.
    pub fn is_ours(&self) -> bool {
        self.labels
            .get(labels::MANAGED_BY)
            .is_some_and(|by| by == labels::MANAGED_BY_STACK_MANAGER)
    }

    /// Whether an install needs it.
    pub fn is_needed_by(&self, parent: &Parent) -> bool {
        self.record().names(parent)
    }

    /// What the stack manager has recorded on it.
    pub fn record(&self) -> Record {
        Record::read(&self.labels, &self.annotations)
    }

    /// Whether an administrator lets its owner change it incompatibly: nobody else can write to a
    /// CRD.
    fn may_break(&self) -> bool {
        self.annotations
            .get(ALLOW_BREAKING_CHANGES)
            .is_some_and(|value| value == labels::TRUE)
    }

    /// The same without what an install needs it for, or nothing if that was the last and it has no
    /// objects. `gone` are the uids of installs that no longer exist.
    pub fn without(&self, parent: &Parent, gone: &BTreeSet<String>, has_objects: bool) -> Leaving {
        if !self.is_ours() {
            return Leaving::Alone;
        }
        let left = self.record().present(gone).without(parent).settle();
        if left.users().is_empty() && !has_objects {
            return Leaving::Delete;
        }
        Leaving::Apply(desired(&self.crd, &left))
    }
}

/// What becomes of a CRD that an install no longer needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaving {
    /// It is not ours.
    Alone,
    /// It goes.
    Delete,
    /// Others need it, or it has objects: it is applied so.
    Apply(Value),
}

/// What an install does about a CRD of its package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// It is applied so.
    Apply(Value),
    /// It is applied so, with the spec that a former owner gave it: that of the package would break
    /// what uses it.
    Inherit(Value, String),
    /// It is there and stays as it is.
    Keep,
    /// The API server does not let it become what it should be: if it has no objects it goes, and
    /// is made anew.
    Recreate,
    /// Nothing yet.
    Wait(String),
    /// Nothing at all.
    Refuse(Trouble),
    /// Nothing, unless a user who may do so allows it.
    Break(Break),
}

/// A change of a CRD that would break its users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// All of it, as a condition reports it.
    pub trouble: Trouble,
    /// What would break.
    pub broken: Vec<Breakage>,
    /// The other installs and namespaces that use the CRD, as the end of a sentence; empty if there
    /// are none.
    pub users: String,
    /// Whether the annotation of the install would allow it. Otherwise only an administrator's on
    /// the CRD does.
    pub by_install: bool,
}

/// A CRD of a package, and what is around it.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'w> {
    /// The CRD as the package has it.
    pub new: &'w Crd,
    /// The version of the package.
    pub version: &'w str,
    /// The CRD of that name in the cluster.
    pub live: Option<&'w LiveCrd>,
    /// The install.
    pub parent: &'w Parent,
    /// Who publishes the package.
    pub publisher: &'w str,
    /// Whether the install lets its CRDs change in ways that old objects trip over.
    pub allow_breaking: bool,
    /// All CRDs of its group.
    pub group: &'w [LiveCrd],
    /// The uids of recorded installs that no longer exist.
    pub gone: &'w BTreeSet<String>,
    /// Namespaces other than the install's that have instances of it, as far as they matter; an
    /// empty one stands for all.
    pub instances: &'w [String],
    /// Whether it has any objects.
    pub in_use: bool,
    /// The cluster install that is about to define it.
    pub reserved: Option<&'w str>,
    /// What namespaced installs may bring.
    pub namespaced: NamespacedCrds,
}

/// What would come of a change of a CRD.
struct Claimed {
    /// The record with the install in it.
    record: Record,
    /// Whether the install owns the CRD.
    owns: bool,
    /// Whether it takes the CRD from an install that is there.
    takes: bool,
    /// Whether the spec in place is what its package said before.
    same: bool,
    /// Whether the spec in place is a former owner's.
    inherits: bool,
    /// A hash of what the package says.
    hash: String,
}

impl Wanted<'_> {
    fn claimed(&self, live: &LiveCrd) -> Claimed {
        let Self {
            parent, publisher, ..
        } = self;
        let before = live.record().present(self.gone);
        let had = before.is_owned_by(parent);
        // One of the same name that came before this one is gone.
        let owner_is_there = before
            .owner()
            .is_some_and(|owner| before.others(parent).any(|user| user == owner));
        let record = before.with(parent, publisher).settle();
        let owns = record.is_owned_by(parent);
        let hash = hash(self.new, parent);
        Claimed {
            owns,
            takes: owns && !had && owner_is_there,
            same: owns && had && record.hash == hash,
            inherits: owns && record.hash.is_empty(),
            hash,
            record,
        }
    }

    /// What the install would break as the owner of the CRD; nothing if it does not own it.
    fn broken(&self, live: &LiveCrd) -> Vec<Breakage> {
        let claimed = self.claimed(live);
        if !live.is_ours() || live.deleting || !claimed.owns || claimed.same {
            return Vec::new();
        }
        breakages(&live.crd, self.new, &live.stored)
    }

    /// The namespaces of other installs in which instances would be broken; an empty one stands for
    /// all namespaces. Nothing if the install changes nothing that others could trip over.
    pub fn endangered(&self) -> Option<BTreeSet<String>> {
        let live = self.live?;
        if self.broken(live).is_empty() {
            return None;
        }
        let record = live.record().present(self.gone);
        Some(
            record
                .others(self.parent)
                .map(|user| user.namespace().to_owned())
                .collect(),
        )
    }
}

/// Decides about a CRD of a package.
pub fn place(wanted: &Wanted<'_>) -> Placement {
    let Wanted {
        new,
        parent,
        publisher,
        ..
    } = wanted;
    let name = &new.name;
    if let Some(refusal) = forbidden(wanted) {
        return Placement::Refuse(refusal);
    }
    let Some(live) = wanted.live else {
        if let Some(by) = wanted.reserved.filter(|_| !parent.is_cluster()) {
            return Placement::Wait(format!(
                "waiting until ClusterStackInstall {by} has defined the CRD {name}"
            ));
        }
        let mut record = Record {
            publisher: (*publisher).to_owned(),
            ..Record::default()
        };
        record = record.with(parent, publisher).settle();
        return Placement::Apply(defined(wanted, record, hash(new, parent)));
    };
    if live.deleting {
        return Placement::Wait(format!(
            "the CRD {name} that was there before is still being deleted"
        ));
    }
    if let Some(why) = &live.rejected {
        let why = format!("the names of the CRD {name} were not accepted: {why}");
        return Placement::Refuse(Trouble::new("CRDConflict", why));
    }
    if !live.is_ours() {
        let lacks = list(&missing(new, &live.crd));
        if lacks.is_empty() {
            return Placement::Keep;
        }
        let why = format!(
            "the CRD {name} exists and is not managed by the stack manager, which leaves it alone; it lacks what the \
             package needs: {lacks}"
        );
        return Placement::Refuse(Trouble::new("CRDConflict", why));
    }
    let claimed = wanted.claimed(live);
    if let Some(why) = claimed.record.is_full(parent) {
        return Placement::Refuse(Trouble::new(
            "CRDOwnedBy",
            format!("the CRD {name} takes no further install: {why}"),
        ));
    }
    if !claimed.owns {
        let lacks = list(&missing(new, &live.crd));
        if lacks.is_empty() {
            return Placement::Apply(desired(&live.crd, &claimed.record));
        }
        let owner = claimed
            .record
            .owner()
            .map(ToString::to_string)
            .unwrap_or_default();
        let at = match claimed.record.version.as_str() {
            "" => String::new(),
            version => format!(" at version {version}"),
        };
        let why = format!(
            "the CRD {name} is owned by {owner}{at} and lacks what version {} needs: {lacks}; only its owner can change it, \
             or a ClusterStackInstall of this package",
            wanted.version
        );
        return Placement::Refuse(Trouble::new(OWNED, why));
    }
    if claimed.same {
        // What this very package said before is put back, whatever somebody made of it since.
        return Placement::Apply(defined(wanted, claimed.record, claimed.hash));
    }
    let broken = breakages(&live.crd, new, &live.stored);
    let affected = Affected::of(wanted, &claimed.record);
    let harmless = claimed.takes && !wanted.in_use;
    let allowed =
        live.may_break() || harmless || (wanted.allow_breaking && !affected.has_instances());
    if !broken.is_empty() && !allowed {
        if claimed.inherits && !claimed.takes && missing(new, &live.crd).is_empty() {
            let note = format!(
                "the CRD {name} keeps the spec of its former owner, since that of this package would break what uses it: {}",
                list(&broken)
            );
            return Placement::Inherit(desired(&live.crd, &claimed.record), note);
        }
        let why = format!(
            "the CRD {name} would change so that objects or their users break: {}{affected}; {}",
            list(&broken),
            affected.way(name, claimed.takes)
        );
        return Placement::Break(Break {
            trouble: Trouble::new("CRDConflict", why),
            broken,
            users: affected.to_string(),
            by_install: affected.by_install(claimed.takes),
        });
    }
    if !can_become(&live.crd, new, &live.stored) {
        return Placement::Recreate;
    }
    Placement::Apply(defined(wanted, claimed.record, claimed.hash))
}

/// Why a CRD that must be recreated is not, while it has objects.
pub fn has_objects(name: &str) -> Trouble {
    let why = format!(
        "the CRD {name} must be recreated because names, scope and stored versions are immutable, but it still has objects: \
         delete them first"
    );
    Trouble::new("CRDConflict", why)
}

/// The reason for which an install waits for the owner of a CRD.
pub const OWNED: &str = "CRDOwnedBy";

fn list(breakages: &[Breakage]) -> String {
    breakages
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

/// A hash of what an install's package says of a CRD.
fn hash(new: &Crd, parent: &Parent) -> String {
    let metadata = &new.object["metadata"];
    let said = json!([
        parent.uid,
        metadata["labels"],
        metadata["annotations"],
        new.object["spec"]
    ]);
    Digest::of(said.to_string().as_bytes()).to_string()
}

/// The CRD as its owner's package has it.
fn defined(wanted: &Wanted<'_>, record: Record, hash: String) -> Value {
    let record = Record {
        publisher: wanted.publisher.to_owned(),
        version: wanted.version.to_owned(),
        hash,
        ..record
    };
    desired(wanted.new, &record)
}

/// The CRD as it is applied: its definition with what the package says of it, and who uses it.
fn desired(crd: &Crd, record: &Record) -> Value {
    let text = |part: &str| -> Map<String, Value> {
        let all = crd.object["metadata"][part]
            .as_object()
            .cloned()
            .unwrap_or_default();
        // What marks it is said anew, so that no package says it and marks of installs that are
        // gone do not stay.
        let marks = [labels::PARENT_PREFIX, labels::NAMESPACE_PREFIX];
        let own = [
            PARENTS,
            PUBLISHER,
            SPEC_OWNER,
            SPEC_VERSION,
            SPEC_HASH,
            ALLOW_BREAKING_CHANGES,
        ];
        let is_mark =
            |key: &str| own.contains(&key) || marks.iter().any(|mark| key.starts_with(mark));
        all.into_iter().filter(|(key, _)| !is_mark(key)).collect()
    };
    let mut own = text("labels");
    own.insert(
        labels::MANAGED_BY.to_owned(),
        json!(labels::MANAGED_BY_STACK_MANAGER),
    );
    own.extend(
        record
            .labels()
            .into_iter()
            .map(|(key, value)| (key, json!(value))),
    );
    let mut annotations = text("annotations");
    annotations.extend(
        record
            .annotations()
            .map(|(key, value)| (key.to_owned(), json!(value))),
    );
    let mut spec = crd.object["spec"].clone();
    // The API server fills it in and no package has one: an install that shares a CRD must not come
    // to own it.
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("conversion");
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": crd.name, "labels": own, "annotations": annotations },
        "spec": spec,
    })
}

#[cfg(test)]
mod tests;
