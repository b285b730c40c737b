//! The identity of a stack and what it may do, and the roles by which people use its kinds.

use api::annotations::APPLIED_ANNOTATIONS;
use api::labels::{self, AGGREGATE_PREFIX};
use api::names::{self, Role, label_value};
use api::{PermissionScope, Stack};
use serde_json::{Map, Value, json};

use crate::Purpose;

/// Whose identity it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The namespace of the Stack.
    pub namespace: String,
    /// The name of the Stack.
    pub name: String,
    /// The uid of the Stack.
    pub uid: String,
    /// How far its permissions reach.
    pub scope: PermissionScope,
    /// The namespaces that a stack of the whole cluster is limited to; none means all.
    pub namespaces: Vec<String>,
    /// The ServiceAccount. No install chooses its name, or it could be that of an account that may
    /// do more.
    pub account: String,
    /// The namespace of the stack manager, where the seed is.
    pub manager: String,
}

/// A kind that a stack may use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// The group; empty for the core group.
    pub group: String,
    /// The resource; `*` for all of the group.
    pub resource: String,
    /// Whether its status is written on its own.
    pub status: bool,
    /// Whether its objects are scaled.
    pub scale: bool,
}

/// The kinds that a stack may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Those that it owns.
    pub owned: Vec<Grant>,
    /// Those that it depends on.
    pub depends_on: Vec<Grant>,
}

const RBAC: &str = "rbac.authorization.k8s.io";
const WRITE: [&str; 8] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
];
const READ: [&str; 3] = ["get", "list", "watch"];
const PERSONAS: [(&str, Role, &[&str]); 3] = [
    ("admin", Role::Admin, &WRITE),
    ("edit", Role::Edit, &WRITE),
    ("view", Role::View, &READ),
];

impl Identity {
    /// What its objects are created for.
    pub fn purpose(&self) -> Purpose {
        Purpose::Stack {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// The Secret that its generated values begin with, in the namespace of the stack manager.
    pub fn seed(&self) -> String {
        names::seed(&self.namespace, &self.name)
    }

    /// The labels of everything that is made for a Stack.
    pub fn labels(&self) -> Map<String, Value> {
        let parent = [
            (
                labels::MANAGED_BY,
                labels::MANAGED_BY_STACK_MANAGER.to_owned(),
            ),
            (labels::PARENT_GROUP, api::GROUP.to_owned()),
            (labels::PARENT_VERSION, api::VERSION.to_owned()),
            (labels::PARENT_KIND, Stack::KIND.to_owned()),
            (labels::PARENT_NAME, label_value(&self.name)),
            (labels::PARENT_NAMESPACE, label_value(&self.namespace)),
        ];
        parent
            .into_iter()
            .map(|(key, value)| (key.to_owned(), json!(value)))
            .collect()
    }

    /// Metadata of something in the Stack's namespace, which goes when the Stack does.
    pub fn inside(&self, name: &str) -> Value {
        json!({
            "name": name,
            "namespace": self.namespace,
            "labels": self.labels(),
            "ownerReferences": [{
                "apiVersion": api::API_VERSION,
                "kind": Stack::KIND,
                "name": self.name,
                "uid": self.uid,
                "blockOwnerDeletion": false,
            }],
        })
    }

    /// Metadata of something of the whole cluster, which a Stack in a namespace cannot own.
    fn outside(&self, name: &str) -> Value {
        json!({ "name": name, "labels": self.labels() })
    }

    /// Metadata of something in another namespace, which a Stack cannot own either.
    pub fn elsewhere(&self, namespace: &str, name: &str) -> Value {
        json!({ "name": name, "namespace": namespace, "labels": self.labels() })
    }
}

/// The rules of the stack's own controller, as its status shows them.
pub fn rules(grants: &Grants) -> Vec<Value> {
    let owned = grants.owned.iter().map(|grant| rule(grant, true, &["*"]));
    let used = grants
        .depends_on
        .iter()
        .map(|grant| rule(grant, false, &["*"]));
    owned.chain(used).collect()
}

fn rule(grant: &Grant, finalizers: bool, verbs: &[&str]) -> Value {
    let name = &grant.resource;
    let mut resources = vec![name.clone()];
    if name != "*" {
        let parts = [
            ("status", grant.status),
            ("scale", grant.scale),
            ("finalizers", finalizers),
        ];
        resources.extend(
            parts
                .iter()
                .filter(|(_, has)| *has)
                .map(|(part, _)| format!("{name}/{part}")),
        );
    }
    json!({ "apiGroups": [grant.group], "resources": resources, "verbs": verbs })
}

/// Account, roles and bindings of a stack, in the order in which they are made.
pub fn bindings(
    identity: &Identity,
    grants: &Grants,
    annotations: &Map<String, Value>,
) -> Vec<Value> {
    let Identity {
        namespace, name, ..
    } = identity;
    let mut account = identity.inside(&identity.account);
    // What is no longer wanted can be taken off only if it is known to have been put there.
    let applied: Vec<&str> = annotations.keys().map(String::as_str).collect();
    account["annotations"] = Value::Object(annotations.clone());
    account["annotations"][APPLIED_ANNOTATIONS] = json!(applied.join(","));
    let mut made =
        vec![json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": account })];

    let cluster_role = |role: Role, more: &[(String, &str)], rules: Vec<Value>| {
        let mut metadata = identity.outside(&names::role(namespace, name, role));
        for (key, value) in more {
            metadata["labels"][key] = json!(value);
        }
        json!({ "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": rules })
    };
    made.push(cluster_role(Role::System, &[], rules(grants)));
    let types = grants
        .owned
        .iter()
        .map(|grant| rule(grant, true, &["*"]))
        .collect();
    made.push(cluster_role(Role::Types, &[], types));
    for (persona, role, verbs) in PERSONAS {
        let to = match identity.scope {
            PermissionScope::Namespaced => format!("{AGGREGATE_PREFIX}namespace-{persona}"),
            PermissionScope::Cluster => format!("{AGGREGATE_PREFIX}environment-{persona}"),
        };
        let mut more = vec![(to, "true")];
        if identity.scope == PermissionScope::Namespaced {
            more.push((names::namespace_label(namespace), "true"));
        }
        let rules = grants
            .owned
            .iter()
            .map(|grant| rule(grant, false, verbs))
            .collect();
        made.push(cluster_role(role, &more, rules));
    }

    let own = names::role(namespace, name, Role::Own);
    // Nothing that its package did not ask for but what its own controller needs: Events, its Lease
    // and its Stack. RBAC cannot limit `create` to a name.
    let rules = [
        json!({ "apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"] }),
        json!({ "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"] }),
        json!({
            "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
            "resourceNames": [names::templates(name)], "verbs": ["get", "update", "patch"],
        }),
        json!({
            "apiGroups": [api::GROUP], "resources": [Stack::PLURAL],
            "resourceNames": [name], "verbs": READ,
        }),
        json!({
            "apiGroups": [api::GROUP], "resources": [format!("{}/status", Stack::PLURAL)],
            "resourceNames": [name], "verbs": ["get", "patch", "update"],
        }),
    ];
    made.push(json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "Role",
        "metadata": identity.inside(&own),
        "rules": rules,
    }));
    let seed = names::role(namespace, name, Role::Seed);
    made.push(json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "Role",
        "metadata": identity.elsewhere(&identity.manager, &seed),
        "rules": [{
            "apiGroups": [""], "resources": ["secrets"], "resourceNames": [identity.seed()], "verbs": ["get"],
        }],
    }));
    let subject =
        json!([{ "kind": "ServiceAccount", "namespace": namespace, "name": identity.account }]);
    let binding = |kind: &str, metadata: Value, role_kind: &str, role: &str| {
        json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": kind,
            "metadata": metadata,
            "roleRef": { "apiGroup": RBAC, "kind": role_kind, "name": role },
            "subjects": subject,
        })
    };
    made.push(binding("RoleBinding", identity.inside(&own), "Role", &own));
    let system = names::role(namespace, name, Role::System);
    made.push(binding(
        "RoleBinding",
        identity.elsewhere(&identity.manager, &seed),
        "Role",
        &seed,
    ));
    match identity.scope {
        PermissionScope::Namespaced => {
            made.push(binding(
                "RoleBinding",
                identity.inside(&system),
                "ClusterRole",
                &system,
            ));
        }
        PermissionScope::Cluster if identity.namespaces.is_empty() => {
            made.push(binding(
                "ClusterRoleBinding",
                identity.outside(&system),
                "ClusterRole",
                &system,
            ));
        }
        PermissionScope::Cluster => made.extend(identity.namespaces.iter().map(|place| {
            binding(
                "RoleBinding",
                identity.elsewhere(place, &system),
                "ClusterRole",
                &system,
            )
        })),
    }
    made
}

/// The roles by which people use what is installed in a namespace; they gather the roles of its
/// stacks.
pub fn personas(namespace: &str, uid: &str) -> Vec<Value> {
    let here = names::namespace_label(namespace);
    let role = |(persona, _, _): (&str, Role, &[&str])| {
        let mut own = Map::from_iter([
            (
                labels::MANAGED_BY.to_owned(),
                json!(labels::MANAGED_BY_STACK_MANAGER),
            ),
            (labels::SCOPE.to_owned(), json!(labels::SCOPE_NAMESPACE)),
            (here.clone(), json!("true")),
            (labels::PARENT_GROUP.to_owned(), json!("")),
            (labels::PARENT_VERSION.to_owned(), json!("v1")),
            (labels::PARENT_KIND.to_owned(), json!("Namespace")),
            (
                labels::PARENT_NAME.to_owned(),
                json!(label_value(namespace)),
            ),
        ]);
        if persona == "admin" {
            own.insert(format!("{AGGREGATE_PREFIX}crossplane-admin"), json!("true"));
        }
        json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": "ClusterRole",
            "metadata": {
                "name": names::persona(namespace, persona),
                "labels": own,
                "ownerReferences": [{
                    "apiVersion": "v1", "kind": "Namespace", "name": namespace, "uid": uid,
                    "blockOwnerDeletion": false,
                }],
            },
            "aggregationRule": { "clusterRoleSelectors": [
                { "matchLabels": { format!("{AGGREGATE_PREFIX}namespace-{persona}"): "true", here.as_str(): "true" } },
                { "matchLabels": { format!("{AGGREGATE_PREFIX}namespace-default-{persona}"): "true" } },
            ] },
        })
    };
    PERSONAS.into_iter().map(role).collect()
}

#[cfg(test)]
mod tests {
    use api::PermissionScope;
    use serde_json::{Map, Value, json};

    use super::{Grant, Grants, Identity, bindings, personas, rules};

    fn identity(scope: PermissionScope) -> Identity {
        Identity {
            namespace: "team".into(),
            name: "redis".into(),
            uid: "u-1".into(),
            scope,
            namespaces: Vec::new(),
            account: "stack-redis".into(),
            manager: "cairn".into(),
        }
    }

    fn grants() -> Grants {
        let grant = |group: &str, resource: &str, status, scale| Grant {
            group: group.into(),
            resource: resource.into(),
            status,
            scale,
        };
        Grants {
            owned: vec![grant("example.org", "redises", true, true)],
            depends_on: vec![
                grant("apps", "deployments", true, false),
                grant("other.org", "*", true, false),
            ],
        }
    }

    fn find<'v>(made: &'v [Value], kind: &str, name: &str) -> &'v Value {
        let found = made
            .iter()
            .find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
        found.unwrap_or(&Value::Null)
    }

    #[test]
    fn the_rules_are_the_owned_kinds_with_their_parts_and_the_dependencies_with_status() {
        assert_eq!(
            rules(&grants()),
            [
                json!({
                    "apiGroups": ["example.org"],
                    "resources": ["redises", "redises/status", "redises/scale", "redises/finalizers"],
                    "verbs": ["*"],
                }),
                json!({ "apiGroups": ["apps"], "resources": ["deployments", "deployments/status"], "verbs": ["*"] }),
                json!({ "apiGroups": ["other.org"], "resources": ["*"], "verbs": ["*"] }),
            ]
        );
    }

    #[test]
    fn a_namespaced_stack_is_bound_in_its_namespace_and_a_cluster_stack_everywhere() {
        for (scope, kind, namespace) in [
            (PermissionScope::Namespaced, "RoleBinding", json!("team")),
            (PermissionScope::Cluster, "ClusterRoleBinding", Value::Null),
        ] {
            let made = bindings(&identity(scope), &grants(), &Map::new());
            let binding = find(&made, kind, "stack:team:redis:system");
            assert_eq!(binding["metadata"]["namespace"], namespace);
            assert_eq!(binding["roleRef"]["name"], "stack:team:redis:system");
            assert_eq!(binding["subjects"][0]["name"], "stack-redis");
            let everywhere = made
                .iter()
                .filter(|object| object["kind"] == "ClusterRoleBinding")
                .count();
            assert_eq!(everywhere, usize::from(scope == PermissionScope::Cluster));
        }
    }

    #[test]
    fn a_stack_gets_its_seed_its_lease_and_its_record_by_name_and_may_create_events() {
        let made = bindings(&identity(PermissionScope::Cluster), &grants(), &Map::new());
        for object in &made {
            let text = object["rules"].to_string();
            let is_seed =
                object["metadata"]["name"] == "stack:team:redis:seed" && object["kind"] == "Role";
            assert_eq!(text.contains("secrets"), is_seed, "{object}");
            assert!(!text.contains("configmaps"), "{object}");
        }
        let seed = find(&made, "Role", "stack:team:redis:seed");
        assert_eq!(seed["metadata"]["namespace"], "cairn");
        let rule = json!({
            "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["seed.team.redis"], "verbs": ["get"],
        });
        assert_eq!(seed["rules"], json!([rule]));
        let own = find(&made, "Role", "stack:team:redis:own");
        assert_eq!(own["metadata"]["namespace"], "team");
        for rule in own["rules"].as_array().unwrap() {
            let creates = rule["verbs"]
                .as_array()
                .unwrap()
                .iter()
                .all(|verb| verb == "create" || verb == "patch");
            assert!(
                creates
                    || rule["resourceNames"]
                        .as_array()
                        .is_some_and(|names| names.len() == 1),
                "{rule}"
            );
        }
    }

    #[test]
    fn a_cluster_stack_that_is_limited_to_namespaces_is_bound_in_those_alone() {
        let mut identity = identity(PermissionScope::Cluster);
        identity.namespaces = vec!["a".into(), "b".into()];
        let made = bindings(&identity, &grants(), &Map::new());
        assert!(
            made.iter()
                .all(|object| object["kind"] != "ClusterRoleBinding")
        );
        let bound = made.iter().filter(|object| {
            object["kind"] == "RoleBinding" && object["roleRef"]["kind"] == "ClusterRole"
        });
        let places: Vec<&str> = bound
            .map(|object| object["metadata"]["namespace"].as_str().unwrap())
            .collect();
        assert_eq!(places, ["a", "b"]);
    }

    #[test]
    fn nothing_of_the_cluster_is_owned_by_something_in_a_namespace() {
        for scope in [PermissionScope::Namespaced, PermissionScope::Cluster] {
            for object in bindings(&identity(scope), &grants(), &Map::new()) {
                let owners = &object["metadata"]["ownerReferences"];
                assert_eq!(
                    owners.is_null(),
                    object["metadata"]["namespace"] != "team",
                    "{object}"
                );
                if !owners.is_null() {
                    assert_eq!(owners[0]["blockOwnerDeletion"], false);
                }
            }
        }
    }

    #[test]
    fn a_persona_of_a_namespace_gathers_the_roles_of_its_stacks() {
        let made = bindings(
            &identity(PermissionScope::Namespaced),
            &grants(),
            &Map::new(),
        );
        for (role, verbs) in [("admin", 8), ("edit", 8), ("view", 3)] {
            let stack = find(&made, "ClusterRole", &format!("stack:team:redis:{role}"));
            assert_eq!(
                stack["rules"][0]["verbs"].as_array().map(Vec::len),
                Some(verbs)
            );
            let resources = json!(["redises", "redises/status", "redises/scale"]);
            assert_eq!(stack["rules"][0]["resources"], resources);
            let roles = personas("team", "u-2");
            let persona = find(&roles, "ClusterRole", &format!("crossplane:ns:team:{role}"));
            let wanted = persona["aggregationRule"]["clusterRoleSelectors"][0]["matchLabels"]
                .as_object()
                .unwrap()
                .clone();
            for (key, value) in wanted {
                assert_eq!(stack["metadata"]["labels"][&key], value, "{key}");
            }
        }
    }

    #[test]
    fn annotations_of_the_account_are_the_installs() {
        let annotations = Map::from_iter([("cloud/role".to_owned(), json!("r"))]);
        let made = bindings(
            &identity(PermissionScope::Namespaced),
            &grants(),
            &annotations,
        );
        let applied = "stacks.crossplane.io/applied-annotations";
        assert_eq!(
            made[0]["metadata"]["annotations"],
            json!({ "cloud/role": "r", applied: "cloud/role" })
        );
    }
}
