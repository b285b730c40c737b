//! Who may do what, by tables of roles and bindings.

use serde_json::json;

use super::*;
use crate::authz::attributes::Resource;

fn ask<'a>(verb: &'a str, resource: &'a str, namespace: &'a str) -> Question<'a> {
    Question::of(
        verb,
        Resource {
            resource,
            namespace,
            ..Resource::default()
        },
    )
}

fn index() -> Index {
    let mut index = Index::default();
    let rules = |verb: &str, resource: &str| json!({"rules": [{"verbs": [verb], "apiGroups": [""], "resources": [resource]}]});
    let to = |kind: &str, name: &str, subjects: Value| json!({"roleRef": {"kind": kind, "name": name}, "subjects": subjects});
    let user = |name: &str| json!([{"kind": "User", "name": name}]);
    index.note(Kind::ClusterRole, "", "reader", Some(&rules("get", "pods")));
    index.note(Kind::Role, "a", "writer", Some(&rules("create", "pods")));
    index.note(
        Kind::ClusterRoleBinding,
        "",
        "all",
        Some(&to("ClusterRole", "reader", user("ann"))),
    );
    let crew =
        json!([{"kind": "Group", "name": "crew"}, {"kind": "ServiceAccount", "name": "robot"}]);
    index.note(
        Kind::RoleBinding,
        "a",
        "crew",
        Some(&to("Role", "writer", crew)),
    );
    index.note(
        Kind::RoleBinding,
        "b",
        "there",
        Some(&to("ClusterRole", "reader", user("bob"))),
    );
    index.note(
        Kind::RoleBinding,
        "b",
        "lost",
        Some(&to("Role", "nope", user("bob"))),
    );
    index.note(
        Kind::ClusterRoleBinding,
        "",
        "lost",
        Some(&to("ClusterRole", "none", user("bob"))),
    );
    index
}

#[test]
fn a_binding_holds_where_it_is_and_for_whom_it_is() {
    let index = index();
    let (ann, bob) = (User::new("ann", &[]), User::new("bob", &[]));
    let (kim, robot) = (
        User::new("kim", &["crew"]),
        subject::account("a", "robot", "1"),
    );
    let by_all =
        r#"RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "reader" to User "ann""#;
    let cluster_lost = r#"RBAC: clusterrole.rbac.authorization.k8s.io "none" not found"#;
    let table: [(&User, Question<'_>, bool, &str); 11] = [
        (&ann, ask("get", "pods", ""), true, by_all),
        (&ann, ask("get", "pods", "z"), true, by_all),
        (&ann, ask("list", "pods", "z"), false, ""),
        (
            &bob,
            ask("get", "pods", "b"),
            true,
            r#"RBAC: allowed by RoleBinding "there/b" of ClusterRole "reader" to User "bob""#,
        ),
        (&bob, ask("get", "pods", "a"), false, cluster_lost),
        (&bob, ask("get", "pods", ""), false, cluster_lost),
        (
            &bob,
            ask("list", "pods", "b"),
            false,
            r#"RBAC: [clusterrole.rbac.authorization.k8s.io "none" not found, role.rbac.authorization.k8s.io "nope" not found]"#,
        ),
        (
            &kim,
            ask("create", "pods", "a"),
            true,
            r#"RBAC: allowed by RoleBinding "crew/a" of Role "writer" to Group "crew""#,
        ),
        (&kim, ask("create", "pods", "b"), false, ""),
        (
            &robot,
            ask("create", "pods", "a"),
            true,
            r#"RBAC: allowed by RoleBinding "crew/a" of Role "writer" to ServiceAccount "robot/a""#,
        ),
        (&User::admin(), ask("anything", "at all", ""), true, ""),
    ];
    for (who, question, allowed, reason) in table {
        let expect = Decision {
            allowed,
            reason: reason.to_owned(),
        };
        assert_eq!(
            index.decide(who, &question),
            expect,
            "{} {question:?}",
            who.name
        );
    }
}

#[test]
fn what_is_taken_back_holds_no_more() {
    let mut index = index();
    let ann = User::new("ann", &[]);
    let may = |index: &Index| index.decide(&ann, &ask("get", "pods", "")).allowed;
    assert!(may(&index));
    index.note(Kind::ClusterRole, "", "reader", None);
    assert!(!may(&index), "the role is gone");
    let rules = json!({"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]});
    index.note(Kind::ClusterRole, "", "reader", Some(&rules));
    assert!(may(&index));
    let other = json!({"roleRef": {"kind": "ClusterRole", "name": "reader"}, "subjects": [{"kind": "User", "name": "bob"}]});
    index.note(Kind::ClusterRoleBinding, "", "all", Some(&other));
    assert!(!may(&index), "the binding is for another");
    index.note(Kind::ClusterRoleBinding, "", "all", None);
    index.note(Kind::RoleBinding, "b", "there", None);
    index.note(Kind::RoleBinding, "b", "lost", None);
    assert!(
        index
            .decide(&User::new("bob", &[]), &ask("get", "pods", "b"))
            .reason
            .contains("\"none\"")
    );
    assert!(!index.local.contains_key("b"), "nothing is left behind");
}

#[test]
fn a_binding_counts_once_however_often_it_names_somebody() {
    let mut index = index();
    let twice = json!({"roleRef": {"kind": "ClusterRole", "name": "reader"},
        "subjects": [{"kind": "User", "name": "ann"}, {"kind": "Group", "name": "crew"}, {"kind": "User", "name": "ann"}]});
    index.note(Kind::ClusterRoleBinding, "", "all", Some(&twice));
    let ann = User::new("ann", &["crew"]);
    assert_eq!(index.rules_for(&ann, "").len(), 1);
    assert_eq!(
        index.rules_for(&ann, "a").len(),
        2,
        "with what the group has there"
    );
}
