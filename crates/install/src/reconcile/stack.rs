//! What makes a Stack run: its account, its roles and its controllers, or why it may not, or what
//! it waits for.

use api::key::{self, Reference};
use api::{Crd, Metadata, PermissionScope, Scope, Stack, names};
use serde_json::{Map, Value, json};

use crate::rbac::roles::{Grant, Grants, Identity, bindings};
use crate::{KindOwnership, Kinds, Policy, Trouble, advice, controller_workload};
use engine::budget::Budgets;
use engine::limits::InstanceLimits;

/// A Stack and what is around it.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'f> {
    /// The Stack.
    pub stack: &'f Stack,
    /// Whether the stack manager itself made it for a ClusterStackInstall. What a Stack says of
    /// itself does not count: whoever may create one in a namespace may write anything into it.
    pub cluster_wide: bool,
    /// All CRDs of the cluster, or at least those that the Stack names.
    pub crds: &'f [Crd],
    /// The kinds that the cluster serves.
    pub kinds: &'f Kinds,
    /// What any stack may have.
    pub policy: &'f Policy,
    /// The image that this program runs from.
    pub own_image: &'f str,
    /// What the Stacks of the cluster serve.
    pub claims: &'f [KindOwnership],
    /// The namespace of the stack manager.
    pub manager: &'f str,
    /// The namespaces that its ClusterStackInstall limits it to; none means all.
    pub namespaces: &'f [String],
}

/// What is to be done about a Stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It may not run, for all of these reasons.
    Refused(Vec<String>),
    /// It may not run since another serves a kind of it, and does not go on running either.
    Taken(String),
    /// It may run once its namespace has fewer.
    Limited(Trouble),
    /// It may run once these kinds are there.
    Waiting(Vec<String>),
    /// It runs by these objects.
    Run(Box<Run>),
}

/// What makes a Stack run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Whose objects they are.
    pub identity: Identity,
    /// What it is granted, in the words of a ClusterRole.
    pub rules: Vec<Value>,
    /// Account, roles and bindings, in the order in which they are made.
    pub access: Vec<Value>,
    /// Its controllers.
    pub controllers: Vec<Controller>,
    /// The names of the CRDs that it owns.
    pub crds: Vec<String>,
    /// What should be known though it stops nothing.
    pub notes: Vec<String>,
}

impl Run {
    /// The same, with limits other than the usual ones for the controller of its templates.
    #[must_use]
    pub fn limited(mut self, limits: &InstanceLimits, budgets: &Budgets) -> Self {
        let mut options = budgets.options();
        if *limits != InstanceLimits::default() {
            options.extend(["--instance-limits".to_owned(), limits.to_string()]);
        }
        for controller in self
            .controllers
            .iter_mut()
            .filter(|controller| controller.role == Role::Templates)
        {
            let args = controller
                .deployment
                .pointer_mut("/spec/template/spec/containers/0/args");
            if let Some(args) = args.and_then(Value::as_array_mut) {
                args.extend(options.iter().map(|option| json!(option)));
            }
        }
        self
    }
}

/// A controller of a Stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controller {
    /// What it does.
    pub role: Role,
    /// What runs it where pods run.
    pub deployment: Value,
}

/// What a controller of a Stack does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It renders the Stack's templates; it is this program.
    Templates,
    /// Whatever its package made it for.
    Brought,
}

/// Decides about a Stack.
pub fn decide(facts: &Facts<'_>) -> Decision {
    let spec = &facts.stack.spec;
    let mut refused = Vec::new();
    let mut waiting = Vec::new();
    let mut notes = Vec::new();
    let scope = if facts.cluster_wide {
        PermissionScope::Cluster
    } else {
        PermissionScope::Namespaced
    };
    if spec.app.permission_scope == PermissionScope::Cluster && !facts.cluster_wide {
        notes.push(
            "`permissionScope: Cluster` counts only for stacks that a ClusterStackInstall made: this one may act only in \
             its namespace"
                .to_owned(),
        );
    }
    if spec.controller.service.is_some() {
        refused.push(
            "`controller.service` is not supported: let a template make the Service".to_owned(),
        );
    }
    if !spec.permissions.is_empty() {
        refused.push(
            "`permissions` is not supported: a stack gets what `customresourcedefinitions` and `dependsOn` name"
                .to_owned(),
        );
    }
    let mut grants = Grants::default();
    let crds = owned(facts, scope, &mut grants, &mut refused, &mut waiting);
    depended(facts, scope, &mut grants, &mut refused, &mut waiting);
    let metadata = &facts.stack.metadata;
    let identity = Identity {
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
        scope,
        namespaces: facts.namespaces.to_vec(),
        account: account(facts.stack),
        manager: facts.manager.to_owned(),
    };
    let own = facts
        .claims
        .iter()
        .find(|claim| claim.is_of(&identity.namespace, &identity.name));
    if let Some(why) = own.and_then(|own| own.taken(facts.claims)) {
        return Decision::Taken(why);
    }
    let mut controllers = Vec::new();
    if let Some(deployment) = &spec.controller.deployment {
        match controller_workload::brought(&identity, &grants, &deployment["spec"]) {
            Ok(deployment) => controllers.push(Controller {
                role: Role::Brought,
                deployment,
            }),
            Err(reasons) => refused.extend(reasons),
        }
    }
    // Without templates, what they made before has to go: who lost all of them still needs somebody
    // to see to that.
    let rendered = facts
        .stack
        .status
        .as_ref()
        .is_some_and(|status| !status.rendered_kinds.is_empty());
    if !spec.templates.is_empty() || !spec.template_status.is_empty() || rendered {
        let deployment = controller_workload::templates(&identity, facts.own_image);
        controllers.push(Controller {
            role: Role::Templates,
            deployment,
        });
    }
    if !refused.is_empty() {
        return Decision::Refused(refused);
    }
    if !waiting.is_empty() {
        return Decision::Waiting(waiting);
    }
    let account = spec.controller.service_account.as_ref();
    let annotations: Map<String, Value> = account
        .map(|account| {
            account
                .annotations
                .iter()
                .map(|(key, value)| (key.clone(), json!(value)))
                .collect()
        })
        .unwrap_or_default();
    Decision::Run(Box::new(Run {
        rules: crate::rules(&grants),
        access: bindings(&identity, &grants, &annotations),
        identity,
        controllers,
        crds,
        notes,
    }))
}

/// The name of a Stack's account: the usual one, unless its status says that this belongs to
/// somebody else.
fn account(stack: &Stack) -> String {
    let Metadata {
        namespace, name, ..
    } = &stack.metadata;
    let recorded = stack
        .status
        .as_ref()
        .map(|status| status.service_account.as_str())
        .unwrap_or_default();
    // Whatever else a status says is nothing to go by: its users may write it.
    let other = names::other_account(namespace, name);
    if recorded == other {
        other
    } else {
        names::account(name)
    }
}

/// Whether a Stack can be granted cluster-scoped kinds.
fn reaches_all(facts: &Facts<'_>, scope: PermissionScope) -> bool {
    scope == PermissionScope::Cluster && facts.namespaces.is_empty()
}

/// Why a Stack cannot have a cluster-scoped kind.
fn too_wide(facts: &Facts<'_>, kinds: &[(&str, &str)]) -> String {
    match facts.cluster_wide {
        true => {
            "`spec.namespaces` of its ClusterStackInstall limits it to namespaces: leave that out"
                .to_owned()
        }
        false => advice::cluster_scoped(facts.stack, facts.policy, kinds),
    }
}

/// The kinds that the Stack owns; answers the names of their CRDs.
fn owned(
    facts: &Facts<'_>,
    scope: PermissionScope,
    grants: &mut Grants,
    refused: &mut Vec<String>,
    waiting: &mut Vec<String>,
) -> Vec<String> {
    let entries = &facts.stack.spec.customresourcedefinitions;
    let (owned, lost) = key::owned(entries, facts.crds);
    for entry in lost.iter().filter_map(|index| entries.get(*index)) {
        waiting.push(format!(
            "the CRD of {} in {}",
            entry.kind, entry.api_version
        ));
    }
    let mut names = Vec::new();
    for own in &owned {
        let found = facts
            .crds
            .iter()
            .find(|crd| crd.group == own.group && crd.names.kind == own.kind);
        let Some(crd) = found else { continue };
        names.push(crd.name.clone());
        if crd.scope == Scope::Cluster && !reaches_all(facts, scope) {
            refused.push(format!(
                "it owns {}, which is cluster-scoped, but {}",
                crd.name,
                too_wide(facts, &[(&crd.group, &crd.names.plural)])
            ));
            continue;
        }
        if let Err(refusal) = facts
            .policy
            .check(&crd.group, &crd.names.plural, facts.cluster_wide)
        {
            refused.push(format!("it owns {}: {}", refusal.kind, refusal.why));
            continue;
        }
        grants.owned.push(Grant {
            group: crd.group.clone(),
            resource: crd.names.plural.clone(),
            status: crd.versions.iter().any(|version| version.status),
            scale: crd.versions.iter().any(|version| version.scale.is_some()),
        });
    }
    names
}

/// The kinds that the Stack depends on.
fn depended(
    facts: &Facts<'_>,
    scope: PermissionScope,
    grants: &mut Grants,
    refused: &mut Vec<String>,
    waiting: &mut Vec<String>,
) {
    for dependency in &facts.stack.spec.app.depends_on {
        let text = &dependency.crd;
        let Some(reference) = Reference::parse(text) else {
            refused.push(format!(
                "`{text}` in `dependsOn` names no kind: write `<kind>.<group>/<version>`"
            ));
            continue;
        };
        // What no cluster would grant is refused before anybody waits for it.
        if reference.name.is_none()
            && let Err(refusal) = facts
                .policy
                .check(&reference.group, "*", facts.cluster_wide)
        {
            refused.push(format!("it depends on {}: {}", refusal.kind, refusal.why));
            continue;
        }
        let kinds: Vec<_> = facts.kinds.meant(&reference).collect();
        if kinds.is_empty() {
            waiting.push(text.clone());
            continue;
        }
        let reachable = |namespaced: bool| namespaced || reaches_all(facts, scope);
        if !kinds.iter().any(|kind| reachable(kind.namespaced)) {
            let wanted: Vec<_> = kinds
                .iter()
                .map(|kind| (kind.gvk.group.as_str(), kind.plural.as_str()))
                .collect();
            refused.push(format!(
                "it depends on {text}, which is cluster-scoped, but {}",
                too_wide(facts, &wanted)
            ));
            continue;
        }
        if reference.name.is_none() {
            grants.depends_on.push(Grant {
                group: reference.group.clone(),
                resource: "*".to_owned(),
                status: false,
                scale: false,
            });
            continue;
        }
        for kind in kinds {
            match facts
                .policy
                .check(&kind.gvk.group, &kind.plural, facts.cluster_wide)
            {
                Ok(()) => grants.depends_on.push(Grant {
                    group: kind.gvk.group.clone(),
                    resource: kind.plural.clone(),
                    status: kind.status,
                    scale: kind.scale,
                }),
                Err(refusal) => {
                    refused.push(format!("it depends on {}: {}", refusal.kind, refusal.why));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use api::{Crd, Stack};
    use objects::Gvk;
    use serde_json::{Value, json};

    use super::{Decision, Facts, decide};
    use std::time::Duration;

    use crate::{Kinds, Pattern, Policy, Served};
    use engine::budget::Budgets;
    use engine::limits::InstanceLimits;

    fn crd(kind: &str, scope: &str) -> Crd {
        let plural = format!("{}s", kind.to_lowercase());
        let object = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.example.org") },
            "spec": {
                "group": "example.org", "scope": scope, "names": { "kind": kind, "plural": plural },
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                    "schema": { "openAPIV3Schema": { "type": "object" } },
                }],
            },
        });
        Crd::read(&object).0.unwrap()
    }

    fn kinds() -> Kinds {
        let served = |group: &str, version: &str, kind: &str, plural: &str, namespaced| Served {
            gvk: Gvk::new(group, version, kind),
            plural: plural.into(),
            namespaced,
            status: group == "apps",
            scale: false,
        };
        let mut kinds = Kinds::new(vec![
            served("apps", "v1", "Deployment", "deployments", true),
            served("", "v1", "ConfigMap", "configmaps", true),
            served("", "v1", "Secret", "secrets", true),
            served("", "v1", "Node", "nodes", false),
            served(
                "rbac.authorization.k8s.io",
                "v1",
                "ClusterRole",
                "clusterroles",
                false,
            ),
            served("other.org", "v1", "Global", "globals", false),
        ]);
        kinds.add(&crd("Redis", "Namespaced"));
        kinds
    }

    fn stack(spec: &Value) -> Stack {
        let mut all = json!({ "customresourcedefinitions": [{ "kind": "Redis", "apiVersion": "example.org/v1" }] });
        for (key, value) in spec.as_object().unwrap() {
            all[key] = value.clone();
        }
        serde_json::from_value(json!({
            "apiVersion": api::API_VERSION, "kind": "Stack", "spec": all,
            "metadata": { "name": "redis", "namespace": "team", "uid": "u" },
        }))
        .unwrap()
    }

    fn decided(spec: &Value, cluster_wide: bool, allow: &[&str]) -> Decision {
        let stack = stack(spec);
        let crds = [crd("Redis", "Namespaced"), crd("Wide", "Cluster")];
        let policy = Policy {
            allow: allow
                .iter()
                .map(|text| Pattern::parse(text).unwrap())
                .collect(),
        };
        let kinds = kinds();
        let own_image = "example.org/cairn:1";
        decide(&Facts {
            stack: &stack,
            cluster_wide,
            crds: &crds,
            kinds: &kinds,
            policy: &policy,
            own_image,
            claims: &[],
            manager: "cairn",
            namespaces: &[],
        })
    }

    #[test]
    fn a_stack_runs_with_what_it_owns_and_depends_on() {
        let spec = json!({ "dependsOn": [{ "crd": "deployment.apps/v1" }], "templates": { "a": { "b": "c" } } });
        let Decision::Run(run) = decided(&spec, false, &[]) else {
            panic!("not run")
        };
        assert_eq!(
            run.rules,
            [
                json!({
                    "apiGroups": ["example.org"],
                    "resources": ["rediss", "rediss/status", "rediss/finalizers"],
                    "verbs": ["*"],
                }),
                json!({ "apiGroups": ["apps"], "resources": ["deployments", "deployments/status"], "verbs": ["*"] }),
            ]
        );
        assert_eq!(run.controllers.len(), 1);
        assert_eq!(run.crds, ["rediss.example.org"]);
        let kinds: Vec<&str> = run
            .access
            .iter()
            .map(|object| object["kind"].as_str().unwrap())
            .collect();
        assert_eq!(
            kinds.iter().filter(|kind| **kind == "RoleBinding").count(),
            3
        );
    }

    #[test]
    fn limits_are_passed_on_where_they_are_not_the_usual_ones() {
        let spec = json!({ "templates": { "a": { "b": "c" } } });
        let Decision::Run(run) = decided(&spec, false, &[]) else {
            panic!("not run")
        };
        let plain = run
            .clone()
            .limited(&InstanceLimits::default(), &Budgets::default());
        assert_eq!(plain, *run);
        let limits = InstanceLimits {
            depth: 3,
            ..InstanceLimits::default()
        };
        let mut budgets = Budgets::default();
        (budgets.render.work, budgets.render.time) = (7, Duration::from_secs(1));
        (budgets.compile.work, budgets.compile.time) = (8, Duration::from_secs(2));
        let run = run.limited(&limits, &budgets);
        let args =
            &run.controllers[0].deployment["spec"]["template"]["spec"]["containers"][0]["args"];
        let args: Vec<&str> = args
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let expected = "--render-budget 7 --render-timeout 1 --compile-budget 8 --compile-timeout 2 --instance-limits \
                        depth=3,instance=100,namespace=10000,stack=50000";
        assert_eq!(args[args.len() - 10..].join(" "), expected);
    }

    #[test]
    fn a_stack_has_a_controller_for_its_templates_and_for_what_they_once_made() {
        for (spec, rendered, expected) in [
            (json!({ "templates": { "a": { "b": "c" } } }), false, 1),
            (json!({ "templateStatus": { "a": "b" } }), false, 1),
            (json!({}), false, 0),
            (json!({}), true, 1),
        ] {
            let mut stack = stack(&spec);
            if rendered {
                let status =
                    json!({ "renderedKinds": [{ "kind": "ConfigMap", "apiVersion": "v1" }] });
                stack.status = Some(serde_json::from_value(status).unwrap());
            }
            let (crds, kinds) = ([crd("Redis", "Namespaced")], kinds());
            let (policy, own_image) = (Policy::default(), "example.org/cairn:1");
            let facts = Facts {
                stack: &stack,
                cluster_wide: false,
                crds: &crds,
                kinds: &kinds,
                policy: &policy,
                own_image,
                claims: &[],
                manager: "cairn",
                namespaces: &[],
            };
            let Decision::Run(run) = decide(&facts) else {
                panic!("not run")
            };
            assert_eq!(run.controllers.len(), expected, "{spec} {rendered}");
        }
    }

    #[test]
    fn a_stack_waits_for_what_is_not_there_yet() {
        for (spec, expected) in [
            (
                json!({ "dependsOn": [{ "crd": "mysql.later.org/v1" }] }),
                vec!["mysql.later.org/v1"],
            ),
            (
                json!({ "dependsOn": [{ "crd": "*.later.org/v1" }] }),
                vec!["*.later.org/v1"],
            ),
            (
                json!({ "customresourcedefinitions": [{ "kind": "Later", "apiVersion": "example.org/v1" }] }),
                vec!["the CRD of Later in example.org/v1"],
            ),
        ] {
            let expected = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(
                decided(&spec, false, &[]),
                Decision::Waiting(expected),
                "{spec}"
            );
        }
    }

    #[test]
    fn a_stack_that_asks_for_too_much_is_refused_with_all_reasons() {
        let rise = "no stack may have it, since it could give itself more rights with it";
        for (spec, cluster_wide, expected) in [
            (
                json!({ "dependsOn": [{ "crd": "clusterrole.rbac.authorization.k8s.io/v1" }, { "crd": "node/v1" }] }),
                true,
                vec![
                    format!("it depends on clusterroles.rbac.authorization.k8s.io: {rise}"),
                    format!("it depends on nodes: {rise}"),
                ],
            ),
            (
                json!({ "dependsOn": [{ "crd": "*.rbac.authorization.k8s.io/v1" }] }),
                true,
                vec![format!("it depends on *.rbac.authorization.k8s.io: {rise}")],
            ),
            (
                json!({ "dependsOn": [{ "crd": "global.other.org/v1" }] }),
                false,
                vec![
                    "it depends on global.other.org/v1, which is cluster-scoped, but this Stack, which no install made, \
                     may act only in its namespace: build a package of it and install that with a ClusterStackInstall"
                        .to_owned(),
                ],
            ),
            (
                json!({ "customresourcedefinitions": [{ "kind": "Wide", "apiVersion": "example.org/v1" }] }),
                false,
                vec![
                    "it owns wides.example.org, which is cluster-scoped, but this Stack, which no install made, may act \
                     only in its namespace: build a package of it and install that with a ClusterStackInstall"
                        .to_owned(),
                ],
            ),
            (
                json!({ "dependsOn": [{ "crd": "secret/v1" }, { "crd": "nonsense" }] }),
                true,
                vec![
                    "it depends on secrets: a stack of the whole cluster may not have the Secrets of all namespaces"
                        .to_owned(),
                    "`nonsense` in `dependsOn` names no kind: write `<kind>.<group>/<version>`".to_owned(),
                ],
            ),
            (
                json!({ "controller": { "deployment": { "name": "", "spec": { "template": { "spec": {
                    "hostNetwork": true, "containers": [{ "name": "c", "image": "a" }],
                } } } } } }),
                false,
                vec!["the pod asks for `hostNetwork`".to_owned()],
            ),
        ] {
            assert_eq!(decided(&spec, cluster_wide, &[]), Decision::Refused(expected), "{spec}");
        }
    }

    #[test]
    fn a_stack_cannot_make_itself_cluster_wide() {
        let spec = json!({ "permissionScope": "Cluster" });
        let Decision::Run(run) = decided(&spec, false, &[]) else {
            panic!("not run")
        };
        assert!(
            run.access
                .iter()
                .all(|object| object["kind"] != "ClusterRoleBinding")
        );
        assert_eq!(run.notes.len(), 1);
        let Decision::Run(run) = decided(&spec, true, &[]) else {
            panic!("not run")
        };
        assert!(
            run.access
                .iter()
                .any(|object| object["kind"] == "ClusterRoleBinding")
        );
        assert_eq!(run.notes, [""; 0]);
    }

    #[test]
    fn what_a_stack_asks_for_and_cannot_have_is_told_and_never_ignored() {
        for (spec, expected) in [
            (
                json!({ "controller": { "service": { "ports": [] } } }),
                "`controller.service` is not supported: let a template make the Service",
            ),
            (
                json!({ "permissions": { "rules": [{ "apiGroups": ["*"] }] } }),
                "`permissions` is not supported: a stack gets what `customresourcedefinitions` and `dependsOn` name",
            ),
        ] {
            assert_eq!(
                decided(&spec, true, &[]),
                Decision::Refused(vec![expected.to_owned()]),
                "{spec}"
            );
        }
    }

    #[test]
    fn a_status_chooses_between_the_two_names_of_the_account_alone() {
        let mut stack = stack(&json!({}));
        for (recorded, expected) in [
            ("", "stack-redis"),
            ("stack-redis", "stack-redis"),
            ("cluster-admin", "stack-redis"),
            (
                &*api::names::other_account("team", "redis"),
                &*api::names::other_account("team", "redis"),
            ),
            (&*api::names::other_account("team", "other"), "stack-redis"),
        ] {
            stack.status =
                Some(serde_json::from_value(json!({ "serviceAccount": recorded })).unwrap());
            assert_eq!(super::account(&stack), expected);
        }
    }

    #[test]
    fn an_administrators_list_bounds_owned_kinds_too() {
        let refused = vec![
            "it owns rediss.example.org: it is not among the kinds that stacks may have here"
                .to_owned(),
        ];
        assert_eq!(
            decided(&json!({}), false, &["*.elsewhere.org"]),
            Decision::Refused(refused)
        );
    }
}
