//! Which kinds a stack may make: its own and those that it depends on.

use api::{PermissionScope, is_never_granted};
use objects::{Builtin, nearest};

use crate::compile::identity::Identity;
use crate::problem::Problem;
use crate::stack::Stack;

/// A kind that is neither owned nor depended on cannot be made: the stack's account has no right to
/// it.
pub(super) fn check(stack: &Stack, found: &Identity, problems: &mut Vec<Problem>) {
    let gvk = &found.gvk;
    let builtin = objects::builtin_kind(gvk);
    let same_group: Vec<&str> = objects::builtins()
        .iter()
        .filter(|known| known.gvk().group == gvk.group)
        .map(|known| known.kind)
        .collect();
    if builtin.is_none()
        && !same_group.is_empty()
        && !stack.kinds.iter().any(|kind| kind.gvk.group == gvk.group)
    {
        problems.push(no_such_kind(found, &same_group));
        return;
    }
    if stack.kinds.iter().any(|kind| kind.gvk == *gvk) {
        return;
    }
    if let Some(builtin) = builtin.filter(|builtin| is_never_granted(builtin.group, builtin.plural))
    {
        let what = format!(
            "no stack may make a {}: it could give itself more rights with it",
            builtin.kind
        );
        let problem = Problem::at(found.places.kind.clone(), what);
        let problem = problem
            .hint("leave this object to an administrator, and name it in a field of the spec");
        // Where a stack runs already, somebody may have given it more.
        problems.push(if stack.recorded {
            problem.warning()
        } else {
            problem
        });
        return;
    }
    if depends(stack, found, builtin) || !stack.all_dependencies {
        return;
    }
    undepended(stack, found, builtin, problems);
}

/// Rights are to kinds, whatever the version; which kind a name of another package means is known
/// for its version only.
fn depends(stack: &Stack, found: &Identity, builtin: Option<&Builtin>) -> bool {
    let gvk = &found.gvk;
    stack.depends_on.iter().any(|reference| match builtin {
        None => reference.means(gvk, ""),
        Some(builtin) => {
            let all = reference.name.is_none() && reference.group == gvk.group;
            let same =
                |other: &Builtin| other.group == builtin.group && other.plural == builtin.plural;
            all || reference.builtin().is_some_and(same) || reference.means(gvk, builtin.plural)
        }
    })
}

fn undepended(
    stack: &Stack,
    found: &Identity,
    builtin: Option<&Builtin>,
    problems: &mut Vec<Problem>,
) {
    let gvk = &found.gvk;
    let (kind, api_version) = (&gvk.kind, gvk.api_version());
    let twin = stack
        .kinds
        .iter()
        .map(|own| &own.gvk)
        .find(|own| own.kind == *kind && own.group == gvk.group);
    if let Some(own) = twin {
        let problem = Problem::at(
            found.places.api_version.clone(),
            format!("the package has no {gvk}"),
        );
        problems.push(problem.hint(format!("write `apiVersion: {}`", own.api_version())));
        return;
    }
    let group = if gvk.group.is_empty() {
        String::new()
    } else {
        format!(".{}", gvk.group)
    };
    let key = format!("{}{group}/{}", kind.to_lowercase(), gvk.version);
    let common = objects::builtins()
        .iter()
        .find(|known| known.kind == kind && builtin.is_none());
    let what = format!("the stack makes {gvk}, but app.yaml does not say that it depends on it");
    let place = if common.is_some() {
        &found.places.api_version
    } else {
        &found.places.kind
    };
    let problem = Problem::at(place.clone(), what);
    let near = stack
        .kinds
        .iter()
        .map(|own| &own.gvk)
        .filter(|own| own.api_version() == api_version);
    let meant = nearest(kind, near.map(|own| own.kind.as_str()));
    let everywhere = stack.scope == PermissionScope::Cluster;
    let secrets = everywhere
        && builtin.is_some_and(|builtin| builtin.group.is_empty() && builtin.plural == "secrets");
    let allowed = if secrets {
        "; an administrator has to allow it, too: `--allow-types secrets`"
    } else {
        ""
    };
    let add = format!("add `- crd: {key}` to `dependsOn` in app.yaml{allowed}");
    let problem = match (meant, common) {
        (Some(near), _) => problem.hint(format!("did you mean `{near}`? If not, {add}")),
        (None, Some(known)) => {
            let usual = known.gvk().api_version();
            problem.hint(format!(
                "Kubernetes' own {kind} is of `apiVersion: {usual}`. If another is meant, {add}"
            ))
        }
        (None, None) => problem.hint(add),
    };
    // Where it runs already, an administrator may have granted others.
    let may_go_well = builtin.is_some() && stack.recorded;
    problems.push(if may_go_well {
        problem.warning()
    } else {
        problem
    });
}

/// A kind in one of Kubernetes' own groups that it does not have, or not in this version.
fn no_such_kind(found: &Identity, same_group: &[&str]) -> Problem {
    let gvk = &found.gvk;
    let version = objects::builtins().iter().map(Builtin::gvk).find(|known| {
        known.kind == gvk.kind && known.group == gvk.group && known.version != gvk.version
    });
    if let Some(known) = version {
        let problem = Problem::at(
            found.places.api_version.clone(),
            format!("Kubernetes has no {gvk}"),
        );
        return problem.hint(format!("write `apiVersion: {}`", known.api_version()));
    }
    let problem = Problem::at(
        found.places.kind.clone(),
        format!("Kubernetes has no {gvk}"),
    );
    let elsewhere = objects::builtins()
        .iter()
        .map(Builtin::gvk)
        .find(|known| known.kind == gvk.kind);
    match (elsewhere, nearest(&gvk.kind, same_group.iter().copied())) {
        (Some(known), _) => Problem {
            place: Some(found.places.api_version.clone()),
            ..problem.hint(format!(
                "a {} is of `apiVersion: {}`",
                known.kind,
                known.api_version()
            ))
        },
        (None, Some(near)) => problem.hint(format!("did you mean `{near}`?")),
        (None, None) => problem.hint(format!("that group has {}", same_group.join(", "))),
    }
}
