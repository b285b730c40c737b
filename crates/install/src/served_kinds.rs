//! The kinds that a cluster serves, as far as a stack can ask for them.

use api::Crd;
use api::key::Reference;
use objects::Gvk;

/// A kind that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// Group, version and kind.
    pub gvk: Gvk,
    /// As URLs and roles write it.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether its status is written on its own.
    pub status: bool,
    /// Whether its objects are scaled.
    pub scale: bool,
}

/// The kinds that a cluster serves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kinds(Vec<Served>);

impl Kinds {
    /// Those of every cluster.
    pub fn of_every_cluster() -> Self {
        let kinds = objects::builtins().iter().map(|builtin| Served {
            gvk: builtin.gvk(),
            plural: builtin.plural.to_owned(),
            namespaced: builtin.namespaced,
            status: has_status(builtin.group, builtin.plural),
            scale: false,
        });
        Self(kinds.collect())
    }

    /// These kinds.
    pub fn new(kinds: Vec<Served>) -> Self {
        Self(kinds)
    }

    /// Adds the served versions of a CRD.
    pub fn add(&mut self, crd: &Crd) {
        for version in crd.versions.iter().filter(|version| version.served) {
            let gvk = crd.gvk(&version.name);
            self.0.retain(|kind| kind.gvk != gvk);
            self.0.push(Served {
                gvk,
                plural: crd.names.plural.clone(),
                namespaced: crd.scope == api::Scope::Namespaced,
                status: version.status,
                scale: version.scale.is_some(),
            });
        }
    }

    /// The kinds that a reference means.
    pub fn meant<'k>(&'k self, reference: &'k Reference) -> impl Iterator<Item = &'k Served> {
        self.0
            .iter()
            .filter(|kind| reference.means(&kind.gvk, &kind.plural))
    }
}

/// Whether the status of a kind of every cluster is written on its own.
fn has_status(group: &str, plural: &str) -> bool {
    let without = [
        "configmaps",
        "secrets",
        "events",
        "endpoints",
        "podtemplates",
        "controllerrevisions",
        "leases",
    ];
    matches!(
        group,
        "" | "apps" | "batch" | "autoscaling" | "networking.k8s.io" | "policy"
    ) && !without.contains(&plural)
}
