//! Which package of this run serves which kinds: of two that would serve the same, the first that
//! was named does.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use api::{Crd, PermissionScope};
use install::KindOwnership;

use crate::project::Project;
use crate::terminal::error::Failure;

/// What the packages of a run serve, by the names of their installs.
#[derive(Default)]
pub(crate) struct KindOwners(Mutex<BTreeMap<String, KindOwnership>>);

impl KindOwners {
    /// Gives a package its kinds, unless another package of this run has one of them.
    pub fn take(&self, name: &str, namespace: &str, project: &Project) -> Result<(), Failure> {
        let crds: Vec<&Crd> = project.package.crds.iter().map(|file| &file.crd).collect();
        let everywhere = project.package.app.permission_scope == PermissionScope::Cluster;
        let wanted =
            KindOwnership::wished(&project.package.stack, namespace, name, everywhere, &crds);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What it had until now and no longer asks for is free.
        all.remove(name);
        if let Some((other, kind)) = all
            .iter()
            .find_map(|(other, own)| Some((other, wanted.shared_with(own)?)))
        {
            let what = format!(
                "{name} has the kind {kind} too, which {other} brings: only one of them can serve it here"
            );
            return Err(Failure::new(what)
                .hint(format!("{name} is left as it is; name only one of the two")));
        }
        all.insert(name.to_owned(), wanted);
        Ok(())
    }
}
