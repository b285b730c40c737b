//! What a package has to pass before anything of it is put in place: it is for such an install, it
//! compiles, nobody serves its kinds yet, and what it depends on is there and may be had.

use api::conditions::{DEPENDENCIES_SATISFIED, UNPACKED};
use api::{ClusterStackInstall, Crd, PermissionScope, StackInstall};
use package::Package;

use crate::reconcile::install::{Facts, Stop};
use crate::reconcile::stack;
use crate::reconcile::stack::Decision;
use crate::stack_record::{is_of, is_ours};
use crate::{KIND_ALREADY_SERVED, KindOwnership, Step, Trouble};
use engine::budget::Meter;
use engine::{Severity, compile_within};
use package::image::Reference;

/// What compiling a package has shown. It depends on the package, the name of the install and this
/// program alone, so that it is found out once for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What is wrong with it as a new package.
    pub new: Option<Trouble>,
    /// What is wrong with it as one that runs already: that may have got permissions by hand, and
    /// is not rejected for what is asked of packages since.
    pub running: Option<Trouble>,
}

impl Verdict {
    /// Compiles a package as the install of a name in a namespace would, within a budget;
    /// [`Meter::over`] tells whether that was too small.
    pub fn of(package: &Package, name: &str, namespace: &str, meter: &Meter<'_>) -> Self {
        let mut stack = engine::Stack::of(package, name, namespace);
        let mut wrong = |recorded: bool| {
            stack.recorded = recorded;
            let (_, problems) = compile_within(&stack, &|_| None, meter);
            let errors = problems
                .iter()
                .filter(|problem| problem.severity == Severity::Error);
            let errors: Vec<String> = errors.map(ToString::to_string).collect();
            let reason = if meter.over().is_some() {
                TOO_COSTLY
            } else {
                "TemplatesInvalid"
            };
            (!errors.is_empty()).then(|| Trouble::new(reason, first(&errors)))
        };
        match wrong(false) {
            // What is good enough for a new one is good enough for one that runs.
            None => Self::default(),
            Some(new) if meter.over().is_some() => Self {
                new: Some(new.clone()),
                running: Some(new),
            },
            Some(new) => Self {
                new: Some(new),
                running: wrong(true),
            },
        }
    }
}

/// The reason of a package whose templates cost too much to compile. That is no reason to compile
/// them again.
pub const TOO_COSTLY: &str = "TemplatesTooCostly";

/// Whether the package may be installed by such an install, and would work.
pub(crate) fn accept(facts: &Facts<'_>, package: &Package) -> Result<String, Stop> {
    let install = facts.install;
    if package.app.permission_scope != install.scope {
        let (wants, kind) = match package.app.permission_scope {
            PermissionScope::Namespaced => ("a namespace", StackInstall::KIND),
            PermissionScope::Cluster => ("the whole cluster", ClusterStackInstall::KIND),
        };
        let what = format!(
            "the package is for {wants}, so that it is installed by a {kind}, not by a {}",
            install.kind()
        );
        return Err(Stop::at(UNPACKED, "ScopeMismatch", what));
    }
    let verdict = match &facts.verdict {
        Step::Done(verdict) => *verdict,
        Step::Pending(what) => return Err(Stop::at(UNPACKED, "Compiling", what.as_str())),
        Step::Failed(trouble) => {
            return Err(Stop {
                condition: Some(UNPACKED),
                trouble: trouble.clone(),
            });
        }
    };
    let runs = |image: &Reference| {
        facts
            .stack
            .is_some_and(|stack| is_ours(stack, install) && is_of(stack, image))
    };
    let recorded = matches!(&facts.resolved, Step::Done(image) if runs(image));
    if let Some(trouble) = if recorded {
        &verdict.running
    } else {
        &verdict.new
    } {
        return Err(Stop {
            condition: Some(UNPACKED),
            trouble: trouble.clone(),
        });
    }
    let (version, count) = (&package.app.version, package.crds.len());
    Ok(format!(
        "version {version} with {count} kind{}",
        if count == 1 { "" } else { "s" }
    ))
}

/// Whether everything is there that the package depends on, and may be had.
pub(crate) fn depend(facts: &Facts<'_>, package: &Package) -> Result<(), Stop> {
    let mut kinds = facts.kinds.clone();
    let crds: Vec<Crd> = package.crds.iter().map(|file| file.crd.clone()).collect();
    crds.iter().for_each(|crd| kinds.add(crd));
    let namespace = facts.settings.namespace(facts.install);
    let everywhere = facts.install.scope == PermissionScope::Cluster;
    let claim = KindOwnership::wished(
        &package.stack,
        &namespace,
        &facts.install.metadata.name,
        everywhere,
        &crds,
    );
    if let Some(why) = claim.taken(facts.claims) {
        return Err(Stop::at(DEPENDENCIES_SATISFIED, KIND_ALREADY_SERVED, why));
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
        Decision::Refused(reasons) => Err(Stop::at(
            DEPENDENCIES_SATISFIED,
            "NotAllowed",
            reasons.join("; "),
        )),
        Decision::Waiting(kinds) => {
            let what = format!(
                "waiting for {}: {}",
                kinds.join(", "),
                facts.index.advice(&kinds)
            );
            Err(Stop::at(DEPENDENCIES_SATISFIED, "Waiting", what))
        }
        Decision::Taken(why) => Err(Stop::at(DEPENDENCIES_SATISFIED, KIND_ALREADY_SERVED, why)),
        Decision::Limited(trouble) => Err(Stop {
            condition: Some(DEPENDENCIES_SATISFIED),
            trouble,
        }),
        Decision::Run(_) => Ok(()),
    }
}

/// The first few of many messages.
fn first(messages: &[String]) -> String {
    const FEW: usize = 5;
    let mut text = messages
        .iter()
        .take(FEW)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    if messages.len() > FEW {
        text.push_str(&format!("; and {} more", messages.len() - FEW));
    }
    text
}
