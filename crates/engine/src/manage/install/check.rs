//! What a package has to pass before anything of it is put in place: it is for such an install, it compiles, nobody
//! serves its kinds yet, and what it depends on is there and may be had.

use api::conditions::{DEPENDENCIES_SATISFIED, UNPACKED};
use api::{ClusterStackInstall, Crd, PermissionScope, StackInstall};
use package::Package;

use super::record::{is_of, is_ours};
use super::{Facts, Stop};
use crate::manage::stack::{self, Decision};
use crate::manage::{Claim, KIND_TAKEN, Reference, Step};
use crate::{Severity, compile};

/// Whether the package may be installed by such an install, and would work.
pub(super) fn accept(facts: &Facts<'_>, package: &Package) -> Result<String, Stop> {
    let install = facts.install;
    if package.app.permission_scope != install.scope {
        let (wants, kind) = match package.app.permission_scope {
            PermissionScope::Namespaced => ("a namespace", StackInstall::KIND),
            PermissionScope::Cluster => ("the whole cluster", ClusterStackInstall::KIND),
        };
        let what =
            format!("the package is for {wants}, so that it is installed by a {kind}, not by a {}", install.kind());
        return Err(Stop::at(UNPACKED, "ScopeMismatch", what));
    }
    let mut stack = crate::Stack::of(package, &install.metadata.name, &install.metadata.namespace);
    // What runs already may have got rights by hand, and is not refused for what is asked of packages since.
    let runs = |image: &Reference| facts.stack.is_some_and(|stack| is_ours(stack, install) && is_of(stack, image));
    stack.recorded = matches!(&facts.resolved, Step::Done(image) if runs(image));
    let (_, problems) = compile(&stack);
    let errors: Vec<String> =
        problems.iter().filter(|problem| problem.severity == Severity::Error).map(ToString::to_string).collect();
    if !errors.is_empty() {
        return Err(Stop::at(UNPACKED, "TemplatesInvalid", first(&errors)));
    }
    let (version, count) = (&package.app.version, package.crds.len());
    Ok(format!("version {version} with {count} kind{}", if count == 1 { "" } else { "s" }))
}

/// Whether everything is there that the package depends on, and may be had.
pub(super) fn depend(facts: &Facts<'_>, package: &Package) -> Result<(), Stop> {
    let mut kinds = facts.kinds.clone();
    let crds: Vec<Crd> = package.crds.iter().map(|file| file.crd.clone()).collect();
    crds.iter().for_each(|crd| kinds.add(crd));
    let namespace = facts.settings.namespace(facts.install);
    let everywhere = facts.install.scope == PermissionScope::Cluster;
    let claim = Claim::wished(&package.stack, &namespace, &facts.install.metadata.name, everywhere, &crds);
    if let Some(why) = claim.taken(facts.claims) {
        return Err(Stop::at(DEPENDENCIES_SATISFIED, KIND_TAKEN, why));
    }
    let mut stack = package.stack.clone();
    stack.metadata.name.clone_from(&facts.install.metadata.name);
    stack.metadata.namespace = namespace;
    // What its Deployment lacks is filled in later.
    stack.spec.controller.deployment = None;
    let decision = stack::decide(&stack::Facts {
        stack: &stack,
        cluster_wide: everywhere,
        crds: &crds,
        kinds: &kinds,
        policy: &facts.settings.policy,
        own_image: &facts.settings.own_image,
        claims: &[],
        manager: &facts.settings.own_namespace,
        namespaces: &facts.install.spec.namespaces,
    });
    match decision {
        Decision::Refused(reasons) => Err(Stop::at(DEPENDENCIES_SATISFIED, "NotAllowed", reasons.join("; "))),
        Decision::Waiting(kinds) => {
            let what = format!("waiting for {}: {}", kinds.join(", "), facts.index.advice(&kinds));
            Err(Stop::at(DEPENDENCIES_SATISFIED, "Waiting", what))
        }
        Decision::Taken(why) => Err(Stop::at(DEPENDENCIES_SATISFIED, KIND_TAKEN, why)),
        Decision::Run(_) => Ok(()),
    }
}

/// The first few of many messages.
fn first(messages: &[String]) -> String {
    const FEW: usize = 5;
    let mut text = messages.iter().take(FEW).cloned().collect::<Vec<_>>().join("; ");
    if messages.len() > FEW {
        text.push_str(&format!("; and {} more", messages.len() - FEW));
    }
    text
}
