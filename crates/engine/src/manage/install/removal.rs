//! What goes: everything of an install that is deleted, and the CRDs that an upgrade no longer brings. A CRD goes only
//! when nobody needs it and it has no objects.

use api::conditions::DROPPED_CRDS_GONE;
use api::{ObjectRef, Stack, annotations};
use package::Package;

use super::record::is_ours;
use super::{Facts, Install, Refused, Stop, Work, stack_ready};
use crate::manage::{Leaving, LiveCrd, Trouble};

impl Install {
    /// Those CRDs that it would give up now, so that it matters whether they have objects: all that it needed if it is
    /// going, otherwise those that its package does not bring.
    pub fn gives_up<'c>(&self, package: Option<&Package>, crds: &'c [LiveCrd]) -> Vec<&'c LiveCrd> {
        let parent = self.parent();
        let mine = crds.iter().filter(|live| live.is_needed_by(&parent) && live.is_ours() && !live.deleting);
        match package {
            _ if self.is_deleting() => mine.collect(),
            Some(package) => {
                let brought = |live: &LiveCrd| package.crds.iter().any(|file| file.crd.name == live.crd.name);
                mine.filter(|live| !brought(live)).collect()
            }
            None => Vec::new(),
        }
    }
}

impl Work<'_> {
    /// Takes away what was installed: the Stack first, which takes its instances and its controller along.
    pub(super) fn remove(&mut self, facts: &Facts<'_>) -> Result<(), Stop> {
        if let Some(Refused { kind, name, why }) = facts.refused {
            let what = format!("the API server refuses the {kind} {name}: {why}");
            return Err(Stop { condition: None, trouble: Trouble::new("Refused", what) });
        }
        if let Some(stack) = facts.stack.filter(|stack| is_ours(stack, facts.install)) {
            self.deletes.push(ObjectRef {
                api_version: api::API_VERSION.to_owned(),
                kind: Stack::KIND.to_owned(),
                namespace: stack.metadata.namespace.clone(),
                name: stack.metadata.name.clone(),
                uid: stack.metadata.uid.clone(),
            });
            let why = stack_ready(facts).map(|ready| ready.message.clone()).unwrap_or_default();
            let what = format!("waiting until the Stack is gone{}{why}", if why.is_empty() { "" } else { ": " });
            return Err(Stop { condition: None, trouble: Trouble::new("Deleting", what) });
        }
        let parent = facts.install.parent();
        // One that somebody made their own keeps our mark, which nobody takes off it.
        let mine: Vec<&LiveCrd> =
            facts.crds.iter().filter(|live| live.is_needed_by(&parent) && live.is_ours()).collect();
        if !mine.is_empty() {
            self.leave(facts, mine.into_iter());
            let what = "waiting until its CRDs are gone or left to others";
            return Err(Stop { condition: None, trouble: Trouble::new("Deleting", what) });
        }
        self.finalizer = false;
        Ok(())
    }

    /// Gives up what the package brought before and does not bring now. What has objects that would go with it stays,
    /// and stays ours, until they are gone.
    pub(super) fn drop_others(&mut self, facts: &Facts<'_>, package: &Package) {
        let parent = facts.install.parent();
        let keep = facts.install.annotated(annotations::KEEP_CRDS);
        let goes_with_objects = |live: &&LiveCrd| {
            let in_use = facts.in_use.contains(&live.crd.name);
            !keep && in_use && live.without(&parent, false) == Leaving::Delete
        };
        let (held, free): (Vec<_>, Vec<_>) =
            facts.install.gives_up(Some(package), facts.crds).into_iter().partition(goes_with_objects);
        self.leave(facts, free.into_iter());
        if !held.is_empty() {
            self.soon = true;
            let names: Vec<&str> = held.iter().map(|live| live.crd.name.as_str()).collect();
            let what = format!(
                "version {} does not bring {}, which still has objects: it goes when they are gone; delete them, or \
                 annotate the install with `{}: \"true\"` to keep both",
                package.app.version,
                names.join(", "),
                annotations::KEEP_CRDS
            );
            self.conditions.trouble(DROPPED_CRDS_GONE, &Trouble::new("InUse", what));
        } else if self.conditions.has(DROPPED_CRDS_GONE) {
            self.conditions.done(DROPPED_CRDS_GONE, "Gone", "nothing is left that the package does not bring");
        }
    }

    /// Gives up CRDs; those that nobody needs and that have no objects go.
    fn leave<'l>(&mut self, facts: &Facts<'_>, crds: impl Iterator<Item = &'l LiveCrd>) {
        let parent = facts.install.parent();
        let keep = facts.install.annotated(annotations::KEEP_CRDS);
        for live in crds.filter(|live| !live.deleting) {
            let has_objects = keep || facts.in_use.contains(&live.crd.name);
            match live.without(&parent, has_objects) {
                Leaving::Alone => {}
                Leaving::Apply(object) => self.applies.push(object),
                Leaving::Delete => self.deletes.push(ObjectRef {
                    api_version: "apiextensions.k8s.io/v1".to_owned(),
                    kind: "CustomResourceDefinition".to_owned(),
                    namespace: String::new(),
                    name: live.crd.name.clone(),
                    uid: live.uid.clone(),
                }),
            }
        }
    }
}
