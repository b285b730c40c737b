//! That nobody grants more than they have: roles and bindings may only give what their writer
//! holds, unless the writer may `escalate` or `bind`.

use serde_json::{Value, json};

use crate::authn::user::User;
use crate::authz::attributes::{Question, Resource};
use crate::authz::rbac_index::{GROUP, Index, Kind, RoleRef};
use crate::authz::rbac_rule::Rule;
use crate::authz::{rbac_rule, subject};
use crate::handlers::status::ApiError;
use crate::request::info::Attributes;

/// Whether a user may write a role or a binding as it shall be.
pub(crate) fn check(
    index: &Index,
    user: &User,
    attributes: &Attributes,
    kind: Kind,
    old: Option<&Value>,
    new: &Value,
) -> Result<(), ApiError> {
    if user.is_in(subject::MASTERS) || old.is_some_and(|old| only_collected(old, new)) {
        return Ok(());
    }
    let namespace = if matches!(kind, Kind::Role | Kind::RoleBinding) {
        &*attributes.namespace
    } else {
        ""
    };
    let name = new["metadata"]["name"].as_str().unwrap_or_default();
    let refuse = |why: &str| Err(ApiError::forbidden(GROUP, kind.resource(), name, why));
    let may = |verb: &str, resource: &str, name: &str| {
        let about = Resource {
            group: GROUP,
            resource,
            subresource: "",
            namespace,
            name,
        };
        index.decide(user, &Question::of(verb, about)).allowed
    };
    match kind {
        Kind::Role | Kind::ClusterRole => {
            if may("escalate", kind.resource(), &attributes.name) {
                return Ok(());
            }
            if let Some(why) = excess(index, user, namespace, &Rule::all_of(new)) {
                return refuse(&why);
            }
            let gathers = aggregates(new) || old.is_some_and(aggregates);
            if kind == Kind::ClusterRole
                && gathers
                && excess(index, user, "", &everything()).is_some()
            {
                return refuse("must have cluster-admin privileges to use the aggregationRule");
            }
        }
        Kind::RoleBinding | Kind::ClusterRoleBinding => {
            let role = RoleRef::of(new);
            let resource = if role.kind == "Role" {
                "roles"
            } else {
                "clusterroles"
            };
            if may("bind", resource, &role.name) {
                return Ok(());
            }
            let Some(rules) = index.rules_of(&role, namespace) else {
                return Err(ApiError::not_found(GROUP, kind.resource(), &role.name));
            };
            if let Some(why) = excess(index, user, namespace, &rules) {
                return refuse(&why);
            }
        }
    }
    Ok(())
}

/// What of these rules the user does not have, as a message.
fn excess(index: &Index, user: &User, namespace: &str, rules: &[Rule]) -> Option<String> {
    let lines = rbac_rule::missing(&index.rules_for(user, namespace), rules);
    (!lines.is_empty()).then(|| {
        format!(
            "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            user.name,
            rbac_rule::quoted(&user.groups),
            lines.join("\n")
        )
    })
}

fn aggregates(role: &Value) -> bool {
    role["aggregationRule"]["clusterRoleSelectors"]
        .as_array()
        .is_some_and(|selectors| !selectors.is_empty())
}

fn everything() -> [Rule; 2] {
    [
        Rule::read(&json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]})),
        Rule::read(&json!({"verbs": ["*"], "nonResourceURLs": ["*"]})),
    ]
}

/// Whether nothing changes but what the garbage collector works with.
fn only_collected(old: &Value, new: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            for field in [
                "ownerReferences",
                "finalizers",
                "managedFields",
                "resourceVersion",
                "generation",
            ] {
                metadata.remove(field);
            }
        }
        object
    };
    rest(old) == rest(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::info::Verb;

    fn index() -> Index {
        let mut index = Index::default();
        let bind = |role: &str, user: &str| json!({"roleRef": {"kind": "ClusterRole", "name": role}, "subjects": [{"kind": "User", "name": user}]});
        let rule = |verbs: &[&str], group: &str, resource: &str, names: &[&str]| json!({"rules": [{"verbs": verbs, "apiGroups": [group], "resources": [resource], "resourceNames": names}]});
        let all = json!({"rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, {"verbs": ["*"], "nonResourceURLs": ["*"]}]});
        for (name, role, user) in [
            ("pods", rule(&["get"], "", "pods", &[]), "ann"),
            (
                "binder",
                rule(&["bind"], GROUP, "clusterroles", &["secrets"]),
                "binder",
            ),
            ("climber", rule(&["escalate"], GROUP, "*", &[]), "climber"),
            ("secrets", rule(&["get"], "", "secrets", &[]), "nobody"),
            ("root", all, "root"),
        ] {
            index.note(Kind::ClusterRole, "", name, Some(&role));
            index.note(Kind::ClusterRoleBinding, "", name, Some(&bind(name, user)));
        }
        index
    }

    fn check_as(
        user: &str,
        kind: Kind,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<(), (u16, String)> {
        let attributes = Attributes {
            verb: Verb::Create,
            is_resource: true,
            group: GROUP.to_owned(),
            version: "v1".to_owned(),
            resource: kind.resource().to_owned(),
            subresource: String::new(),
            namespace: "n".to_owned(),
            name: String::new(),
            path: String::new(),
        };
        let user = if user == "master" {
            User::admin()
        } else {
            User::new(user, &["crew"])
        };
        check(&index(), &user, &attributes, kind, old, new)
            .map_err(|error| (error.code, error.message))
    }

    #[test]
    fn nobody_grants_more_than_they_have() {
        let role = |resource: &str| json!({"metadata": {"name": "r"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": [resource]}]});
        let binding = |name: &str| json!({"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": name}});
        let gathering =
            json!({"metadata": {"name": "g"}, "aggregationRule": {"clusterRoleSelectors": [{}]}});
        let table = [
            ("ann", Kind::Role, role("pods"), None),
            ("ann", Kind::Role, role("secrets"), Some(403)),
            ("ann", Kind::RoleBinding, binding("pods"), None),
            ("ann", Kind::RoleBinding, binding("secrets"), Some(403)),
            (
                "ann",
                Kind::ClusterRoleBinding,
                binding("secrets"),
                Some(403),
            ),
            ("ann", Kind::RoleBinding, binding("missing"), Some(404)),
            ("ann", Kind::ClusterRole, gathering.clone(), Some(403)),
            ("binder", Kind::RoleBinding, binding("secrets"), None),
            ("binder", Kind::RoleBinding, binding("pods"), Some(403)),
            ("climber", Kind::Role, role("secrets"), None),
            ("climber", Kind::ClusterRole, gathering.clone(), None),
            ("root", Kind::ClusterRole, gathering, None),
            ("master", Kind::RoleBinding, binding("missing"), None),
        ];
        for (user, kind, object, expect) in table {
            let code = check_as(user, kind, None, &object)
                .err()
                .map(|(code, _)| code);
            assert_eq!(code, expect, "{user} {object}");
        }
    }

    #[test]
    fn the_refusal_lists_what_is_missing() {
        let role = json!({"metadata": {"name": "r"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}]});
        let message = "roles.rbac.authorization.k8s.io \"r\" is forbidden: user \"ann\" (groups=[\"crew\" \"system:authenticated\"]) \
                       is attempting to grant RBAC permissions not currently held:\n\
                       {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}";
        assert_eq!(
            check_as("ann", Kind::Role, None, &role),
            Err((403, message.to_owned()))
        );
        let missing =
            json!({"metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": "nope"}});
        let message = "rolebindings.rbac.authorization.k8s.io \"nope\" not found";
        assert_eq!(
            check_as("ann", Kind::RoleBinding, None, &missing),
            Err((404, message.to_owned()))
        );
    }

    #[test]
    fn what_only_changes_owners_or_finalizers_is_no_grant() {
        let mut old = json!({"metadata": {"name": "r"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}]});
        let mut new = old.clone();
        new["metadata"]["finalizers"] = json!(["x"]);
        assert_eq!(check_as("ann", Kind::Role, Some(&old), &new), Ok(()));
        old["rules"] = json!([]);
        assert!(check_as("ann", Kind::Role, Some(&old), &new).is_err());
    }
}
