//! What goes: everything of an install that is deleted, and the CRDs that an upgrade no longer
//! brings. A CRD goes only when nobody needs it and it has no objects.

use std::collections::BTreeSet;

use api::conditions::{CRDS_ESTABLISHED, DROPPED_CRDS_GONE};
use api::{Crd, ObjectRef, Stack, annotations};
use package::Package;

use super::install::{Facts, Install, Refused, Stop, Work, stack_ready};
use crate::stack_record::is_ours;
use crate::{Leaving, LiveCrd, NamespacedCrds, Trouble, Wanted, can_become, publisher};
use package::image::Reference;

impl Install {
    /// Those CRDs that it would give up now: all that it needed if it is going, otherwise those
    /// that its package does not bring.
    fn gives_up<'c>(&self, package: Option<&Package>, crds: &'c [LiveCrd]) -> Vec<&'c LiveCrd> {
        let parent = self.parent();
        let mine = crds
            .iter()
            .filter(|live| live.is_needed_by(&parent) && live.is_ours() && !live.deleting);
        match package {
            _ if self.is_deleting() => mine.collect(),
            Some(package) => mine
                .filter(|live| brought(package, live).is_none())
                .collect(),
            None => Vec::new(),
        }
    }

    /// Those CRDs of which it matters now whether they have objects: the ones that it would give
    /// up, or make anew.
    pub fn endangers<'c>(
        &self,
        package: Option<&Package>,
        crds: &'c [LiveCrd],
    ) -> Vec<&'c LiveCrd> {
        let anew = |live: &&LiveCrd| {
            let new = package
                .filter(|_| !self.is_deleting())
                .and_then(|package| brought(package, live));
            new.is_some_and(|new| {
                live.is_ours() && !live.deleting && !can_become(&live.crd, new, &live.stored)
            })
        };
        let mut found = self.gives_up(package, crds);
        found.extend(crds.iter().filter(anew));
        found
    }

    /// Those CRDs that the package would change so that other installs could break, with the
    /// namespaces of these; an empty one stands for all. Only where there are instances does it
    /// matter.
    pub fn breaks<'c>(
        &self,
        package: &Package,
        reference: &Reference,
        crds: &'c [LiveCrd],
        gone: &BTreeSet<String>,
    ) -> Vec<(&'c LiveCrd, BTreeSet<String>)> {
        let (parent, publisher) = (self.parent(), publisher(reference));
        let endangered = |live: &'c LiveCrd| {
            let wanted = Wanted {
                new: brought(package, live)?,
                version: &package.app.version,
                live: Some(live),
                parent: &parent,
                publisher: &publisher,
                allow_breaking: false,
                group: &[],
                gone,
                instances: &[],
                in_use: false,
                reserved: None,
                namespaced: NamespacedCrds::Allow,
            };
            Some((live, wanted.endangered()?))
        };
        crds.iter().filter_map(endangered).collect()
    }
}

/// What a package brings under the name of a CRD.
fn brought<'p>(package: &'p Package, live: &LiveCrd) -> Option<&'p Crd> {
    package
        .crds
        .iter()
        .map(|file| &file.crd)
        .find(|crd| crd.name == live.crd.name)
}

impl Work<'_> {
    /// Takes away what was installed: the Stack first, which takes its instances and its controller
    /// along.
    pub(crate) fn remove(&mut self, facts: &Facts<'_>) -> Result<(), Stop> {
        if let Some(Refused { kind, name, why }) = facts.refused {
            let what = format!("the API server refuses the {kind} {name}: {why}");
            return Err(Stop {
                condition: None,
                trouble: Trouble::new("Refused", what),
            });
        }
        if let Some(stack) = facts.stack.filter(|stack| is_ours(stack, facts.install)) {
            self.deletes.push(ObjectRef {
                api_version: api::API_VERSION.to_owned(),
                kind: Stack::KIND.to_owned(),
                namespace: stack.metadata.namespace.clone(),
                name: stack.metadata.name.clone(),
                uid: stack.metadata.uid.clone(),
            });
            let why = stack_ready(facts)
                .map(|ready| ready.message.clone())
                .unwrap_or_default();
            let what = format!(
                "waiting until the Stack is gone{}{why}",
                if why.is_empty() { "" } else { ": " }
            );
            return Err(Stop {
                condition: None,
                trouble: Trouble::new("Deleting", what),
            });
        }
        let parent = facts.install.parent();
        // One that somebody made their own keeps our mark, which nobody takes off it.
        let mine: Vec<&LiveCrd> = facts
            .crds
            .iter()
            .filter(|live| live.is_needed_by(&parent) && live.is_ours())
            .collect();
        if !mine.is_empty() {
            let last =
                |live: &&LiveCrd| live.without(&parent, facts.gone, false) == Leaving::Delete;
            self.unserved.extend(
                mine.iter()
                    .copied()
                    .filter(last)
                    .map(|live| live.crd.name.clone()),
            );
            self.leave(facts, mine.into_iter());
            let what = "waiting until its CRDs are gone or left to others";
            return Err(Stop {
                condition: None,
                trouble: Trouble::new("Deleting", what),
            });
        }
        self.finalizer = false;
        Ok(())
    }

    /// Holds back a package that does not bring a kind any more of which there are objects: nobody
    /// would serve them.
    pub(crate) fn strand_nothing(
        &mut self,
        facts: &Facts<'_>,
        package: &Package,
    ) -> Result<(), Stop> {
        let (held, _) = dropped(facts, package);
        if held.is_empty() || facts.install.annotated(annotations::ALLOW_BREAKING_CHANGES) {
            return Ok(());
        }
        self.soon = true;
        let what = format!(
            "version {} does not bring {}, which still has objects that nobody would serve: delete them; or annotate the \
             install with `{}: \"true\"` to go on and leave them until somebody deletes them, or with `{}: \"true\"` to \
             keep the CRD for good",
            package.app.version,
            names_of(&held),
            annotations::ALLOW_BREAKING_CHANGES,
            annotations::KEEP_CRDS
        );
        Err(Stop::at(CRDS_ESTABLISHED, "InUse", what))
    }

    /// Gives up what the package brought before and does not bring now. What has objects that would
    /// go with it stays, and stays ours, until they are gone.
    pub(crate) fn drop_others(&mut self, facts: &Facts<'_>, package: &Package) {
        let (held, free) = dropped(facts, package);
        self.leave(facts, free.into_iter());
        if !held.is_empty() {
            self.soon = true;
            self.unserved
                .extend(held.iter().map(|live| live.crd.name.clone()));
            let what = format!(
                "version {} does not bring {}, which still has objects: it goes when they are gone; delete them, or \
                 annotate the install with `{}: \"true\"` to keep both",
                package.app.version,
                names_of(&held),
                annotations::KEEP_CRDS
            );
            self.conditions
                .trouble(DROPPED_CRDS_GONE, &Trouble::new("InUse", what));
        } else if self.conditions.has(DROPPED_CRDS_GONE) {
            self.conditions.done(
                DROPPED_CRDS_GONE,
                "Gone",
                "nothing is left that the package does not bring",
            );
        }
    }

    /// Gives up CRDs; those that nobody needs and that have no objects go.
    fn leave<'l>(&mut self, facts: &Facts<'_>, crds: impl Iterator<Item = &'l LiveCrd>) {
        let parent = facts.install.parent();
        let keep = facts.install.annotated(annotations::KEEP_CRDS);
        for live in crds.filter(|live| !live.deleting) {
            let has_objects = keep || facts.in_use.contains(&live.crd.name);
            match live.without(&parent, facts.gone, has_objects) {
                Leaving::Alone => {}
                Leaving::Apply(object) => self.applies.push(object),
                Leaving::Delete => self.deletes.push(reference_to(live)),
            }
        }
    }
}

/// What the package brought before and does not bring now: what has objects that would go with it,
/// and the rest.
fn dropped<'c>(facts: &Facts<'c>, package: &Package) -> (Vec<&'c LiveCrd>, Vec<&'c LiveCrd>) {
    let parent = facts.install.parent();
    let keep = facts.install.annotated(annotations::KEEP_CRDS);
    let goes_with_objects = |live: &&LiveCrd| {
        let in_use = facts.in_use.contains(&live.crd.name);
        !keep && in_use && live.without(&parent, facts.gone, false) == Leaving::Delete
    };
    facts
        .install
        .gives_up(Some(package), facts.crds)
        .into_iter()
        .partition(goes_with_objects)
}

fn names_of(crds: &[&LiveCrd]) -> String {
    crds.iter()
        .map(|live| live.crd.name.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

pub(crate) fn reference_to(live: &LiveCrd) -> ObjectRef {
    ObjectRef {
        api_version: "apiextensions.k8s.io/v1".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
        namespace: String::new(),
        name: live.crd.name.clone(),
        uid: live.uid.clone(),
    }
}
