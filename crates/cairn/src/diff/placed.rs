//! What the stack manager would do with the CRDs of a package: its own decision, over what a reader
//! sees of the cluster.

use std::collections::BTreeSet;

use api::conditions::PACKAGE_RESOLVED;
use api::{Condition, Crd, Scope, Status, annotations};
use install::reconcile::install::Install;
use install::{
    Leaving, LiveCrd, NamespacedCrds, Parent, Placement, Wanted, can_become, has_objects, place,
    publisher,
};
use objects::{Key, Resource};
use package::image::Reference;

use crate::cluster::dry_run::Reader;
use crate::terminal::error::Failure;

/// The package and the install that it is for.
pub(super) struct Wish<'w> {
    pub crds: &'w [&'w Crd],
    pub version: &'w str,
    /// The install, as far as it exists.
    pub install: Option<&'w Install>,
    /// Who it is or would be.
    pub parent: &'w Parent,
    /// What the stack manager lets namespaced installs bring.
    pub namespaced: NamespacedCrds,
}

/// What becomes of the CRDs of a package, and of those that it no longer brings.
#[derive(Default)]
pub(super) struct Fate<'f> {
    pub placed: Vec<Placed<'f>>,
    /// Those that the install gives up.
    pub left: Vec<(&'f LiveCrd, Leaving)>,
    /// What should be known though it changes nothing.
    pub notes: Vec<String>,
}

/// A CRD of a package, and what the stack manager would do with it.
pub(super) struct Placed<'p> {
    pub new: &'p Crd,
    pub live: Option<&'p LiveCrd>,
    pub placement: Placement,
}

/// Who publishes a package that does not say where it comes from.
const UNKNOWN: &str = "an unknown publisher";

/// The CRDs of a cluster that matter for a package: those of its groups, and those that its install
/// uses.
pub(super) fn relevant(live: &[Crd], wish: &Wish<'_>) -> Vec<LiveCrd> {
    let read = live.iter().filter_map(|live| LiveCrd::read(&live.object));
    let is_relevant = |live: &LiveCrd| {
        wish.crds.iter().any(|crd| crd.group == live.crd.group) || live.is_needed_by(wish.parent)
    };
    read.filter(is_relevant).collect()
}

/// Decides about each CRD of a package as the stack manager would.
pub(super) async fn fate<'f>(reader: &Reader, wish: &Wish<'f>, live: &'f [LiveCrd]) -> Fate<'f> {
    let mut found = Fate::default();
    let gone = gone(reader, live).await;
    let known = wish.install.and_then(published);
    for new in wish.crds {
        let own = live.iter().find(|live| live.crd.name == new.name);
        let guess = guessed(own, new, live);
        let wanted = Wanted {
            new,
            version: wish.version,
            live: own,
            parent: wish.parent,
            publisher: known.as_deref().unwrap_or(guess),
            allow_breaking: wish
                .install
                .is_some_and(|install| says(install, annotations::ALLOW_BREAKING_CHANGES)),
            group: live,
            gone: &gone,
            instances: &[],
            in_use: false,
            // Only the stack manager knows which CRDs it is about to recreate.
            reserved: None,
            namespaced: wish.namespaced,
        };
        let used = used(reader, &wanted, &mut found.notes).await;
        let wanted = Wanted {
            instances: &used.namespaces,
            in_use: used.any,
            ..wanted
        };
        let wanted = Wanted {
            namespaced: observed(&wanted, wish.install),
            ..wanted
        };
        let placement = match place(&wanted) {
            Placement::Recreate if used.any => Placement::Refuse(has_objects(&new.name)),
            placement => placement,
        };
        if known.is_none()
            && guess != UNKNOWN
            && !matches!(placement, Placement::Refuse(_))
            && let Placement::Refuse(trouble) = place(&Wanted {
                publisher: UNKNOWN,
                ..wanted
            })
        {
            found.notes.push(format!(
                "unless {guess} publishes this package, it is rejected: {}",
                trouble.message
            ));
        }
        found.placed.push(Placed {
            new,
            live: own,
            placement,
        });
    }
    let brought = |live: &&LiveCrd| wish.crds.iter().any(|crd| crd.name == live.crd.name);
    let mine = live
        .iter()
        .filter(|live| live.is_needed_by(wish.parent) && live.is_ours() && !live.deleting);
    for live in mine.filter(|live| !brought(live)) {
        found
            .left
            .push((live, live.without(wish.parent, &gone, false)));
    }
    found
}

/// Who publishes a package if nothing says so: whom it would have to be from.
fn guessed<'l>(own: Option<&LiveCrd>, new: &Crd, live: &'l [LiveCrd]) -> &'l str {
    let of = |live: &LiveCrd| live.record().publisher().to_owned();
    let theirs = own.map(of).filter(|publisher| !publisher.is_empty());
    let group = live
        .iter()
        .filter(|live| live.crd.group == new.group && live.is_ours());
    let theirs = theirs.or_else(|| group.map(of).find(|publisher| !publisher.is_empty()));
    // The annotation itself, which lives as long as what was read.
    let said = |live: &'l LiveCrd| {
        live.crd.object["metadata"]["annotations"][annotations::PUBLISHER].as_str()
    };
    theirs
        .and_then(|theirs| live.iter().filter_map(said).find(|said| *said == theirs))
        .unwrap_or(UNKNOWN)
}

/// Who publishes the package of an install.
fn published(install: &Install) -> Option<String> {
    let found = |condition: &&Condition| {
        condition.r#type == PACKAGE_RESOLVED && condition.status == Status::True
    };
    let resolved = install.status.conditions.iter().find(found);
    let resolved = resolved.and_then(|condition| Reference::parse(&condition.message).ok());
    let asked = || Reference::resolve(&install.spec.package, &install.spec.source).ok();
    resolved
        .or_else(asked)
        .map(|reference| publisher(&reference))
}

fn says(install: &Install, annotation: &str) -> bool {
    install
        .metadata
        .annotations
        .get(annotation)
        .is_some_and(|value| value == api::labels::TRUE)
}

/// What namespaced installs may bring, if a condition of the install says so.
fn observed(wanted: &Wanted<'_>, install: Option<&Install>) -> NamespacedCrds {
    let is_told = |condition: &Condition| condition.reason == "CRDsNotAllowed";
    let told = install.is_some_and(|install| install.status.conditions.iter().any(is_told));
    match wanted.namespaced {
        NamespacedCrds::Allow if told => {
            // What may be used where new ones may not be brought is rejected only where none may.
            let by_use = place(&Wanted {
                namespaced: NamespacedCrds::Use,
                ..*wanted
            });
            let is_it =
                matches!(by_use, Placement::Refuse(trouble) if trouble.reason == "CRDsNotAllowed");
            if is_it {
                NamespacedCrds::Use
            } else {
                NamespacedCrds::Deny
            }
        }
        namespaced => namespaced,
    }
}

/// The uids of recorded installs that no longer exist. What may not be read is taken to be there.
async fn gone(reader: &Reader, live: &[LiveCrd]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for live in live.iter().filter(|live| live.is_ours()) {
        for user in live
            .record()
            .users()
            .iter()
            .filter(|user| !user.uid().is_empty())
        {
            let install = reader
                .install(&Key::new(user.namespace(), user.name()), user.is_cluster())
                .await;
            if install.is_ok_and(|install| {
                install.is_none_or(|install| install.metadata.uid != user.uid())
            }) {
                found.insert(user.uid().to_owned());
            }
        }
    }
    found
}

/// Who has instances of a CRD.
#[derive(Default)]
struct Used {
    namespaces: Vec<String>,
    any: bool,
}

/// Where others have instances of a CRD, as far as that decides anything.
async fn used(reader: &Reader, wanted: &Wanted<'_>, notes: &mut Vec<String>) -> Used {
    let endangered = wanted.endangered();
    let Some(live) = wanted.live.filter(|live| {
        live.is_ours() && (endangered.is_some() || !can_become(&live.crd, wanted.new, &live.stored))
    }) else {
        return Used::default();
    };
    let Ok(places) = objects(reader, live).await else {
        notes.push(format!(
            "the instances of {} in all namespaces may not be listed: the stack manager may reject the change because of \
             them",
            live.crd.name
        ));
        return Used::default();
    };
    let is_used = |namespace: &String| {
        if namespace.is_empty() {
            !places.is_empty()
        } else {
            places.contains(namespace)
        }
    };
    let mut namespaces: BTreeSet<String> = endangered
        .unwrap_or_default()
        .into_iter()
        .filter(is_used)
        .collect();
    if !wanted.parent.is_cluster() {
        namespaces.extend(
            places
                .iter()
                .filter(|place| **place != wanted.parent.namespace)
                .cloned(),
        );
    }
    Used {
        namespaces: namespaces.into_iter().collect(),
        any: !places.is_empty(),
    }
}

/// The namespaces that have objects of a CRD.
async fn objects(reader: &Reader, live: &LiveCrd) -> Result<BTreeSet<String>, Failure> {
    let Some(version) = live.crd.versions.iter().find(|version| version.served) else {
        return Ok(BTreeSet::new());
    };
    let resource = Resource {
        gvk: live.crd.gvk(&version.name),
        plural: live.crd.names.plural.clone(),
        namespaced: live.crd.scope == Scope::Namespaced,
    };
    let found = reader.list(&resource, "", "").await?;
    Ok(found
        .iter()
        .map(|object| Key::of(object).namespace)
        .collect())
}
