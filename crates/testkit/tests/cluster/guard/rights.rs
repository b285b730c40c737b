//! Roles, bindings, refusals, escalation, impersonation and reviews.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use testkit::Cluster;

use super::{
    Answer, RBAC, REVIEWS, WHO, ask, binding, get, grant, make, post, role, rule, until, user,
};

pub async fn a_refusal_says_who_cannot_do_what_where(cluster: Arc<Cluster>) -> Result<()> {
    let x = cluster.client_for_user("x", &[])?;
    for (path, message) in [
        (
            "/api/v1/namespaces/y/pods",
            r#"pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "y""#,
        ),
        (
            "/api/v1/pods?watch=1",
            r#"pods is forbidden: User "x" cannot watch resource "pods" in API group "" at the cluster scope"#,
        ),
        (
            "/api/v1/namespaces/y/pods/p/log",
            r#"pods "p" is forbidden: User "x" cannot get resource "pods/log" in API group "" in the namespace "y""#,
        ),
        (
            "/apis/apps/v1/namespaces/y/deployments/z/scale",
            r#"deployments.apps "z" is forbidden: User "x" cannot get resource "deployments/scale" in API group "apps" in the namespace "y""#,
        ),
        (
            "/api/v1/namespaces/y",
            r#"namespaces "y" is forbidden: User "x" cannot get resource "namespaces" in API group "" in the namespace "y""#,
        ),
        (
            "/apis/nope.io/v1/things",
            r#"things.nope.io is forbidden: User "x" cannot list resource "things" in API group "nope.io" at the cluster scope"#,
        ),
        ("/foo", r#"forbidden: User "x" cannot get path "/foo""#),
    ] {
        get(&x, path).await?.says(403, message)?;
    }
    for path in ["/version", "/healthz", "/api", "/apis"] {
        let answer = ask(&x, "GET", path, &[], None).await;
        ensure!(
            !matches!(&answer, Ok(answer) if answer.code == 403),
            "{path} is for everybody"
        );
    }
    Ok(())
}

pub async fn rules_reach_subresources_names_and_selected_names(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("rules").await?;
    let who = format!("reader-{}", scene.namespace());
    let named = json!({"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"]});
    grant(
        &scene,
        &who,
        &json!([rule(&["get"], "apps", &["*/scale"]), named]),
    )
    .await?;
    let client = cluster.client_for_user(&who, &[])?;
    let (maps, sets) = (
        format!("/api/v1/namespaces/{}/configmaps", scene.namespace()),
        format!("/apis/apps/v1/namespaces/{}", scene.namespace()),
    );
    for (path, code) in [
        (format!("{maps}/mine"), 404),
        (format!("{maps}/other"), 403),
        (maps.clone(), 403),
        (format!("{maps}?fieldSelector=metadata.name%3Dmine"), 200),
        (format!("{maps}?fieldSelector=metadata.name%3Dother"), 403),
        (format!("{sets}/deployments/d/scale"), 404),
        (format!("{sets}/deployments/d"), 403),
    ] {
        let found = get(&client, &path).await?;
        ensure!(found.code == code, "{path}: {} {}", found.code, found.body);
    }
    Ok(())
}

pub async fn nobody_grants_more_than_they_have(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("escalation").await?;
    let (space, who) = (scene.namespace(), format!("maker-{}", scene.namespace()));
    grant(
        &scene,
        &who,
        &json!([
            rule(
                &["create", "update", "patch"],
                "rbac.authorization.k8s.io",
                &["roles", "rolebindings"]
            ),
            rule(&["get"], "", &["pods"])
        ]),
    )
    .await?;
    let maker = cluster.client_for_user(&who, &["crew"])?;
    let (roles, bindings) = (
        format!("{RBAC}/namespaces/{space}/roles"),
        format!("{RBAC}/namespaces/{space}/rolebindings"),
    );
    let wide = role(
        "wide",
        &json!([rule(&["get", "list"], "", &["pods", "secrets"])]),
    );
    let groups = r#"(groups=["crew" "system:authenticated"])"#;
    let missing = format!(
        "user {who:?} {groups} is attempting to grant RBAC permissions not currently held:\n\
         {{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}}\n{{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}}"
    );
    let refused = post(&maker, &roles, &wide).await?;
    refused.says(
        403,
        &format!("roles.rbac.authorization.k8s.io \"wide\" is forbidden: {missing}"),
    )?;
    make(
        &maker,
        &roles,
        &role("narrow", &json!([rule(&["get"], "", &["pods"])])),
    )
    .await?;
    let wider = json!({"rules": [rule(&["get", "delete"], "", &["pods"])]});
    let refused = ask(
        &maker,
        "PATCH",
        &format!("{roles}/narrow"),
        &[],
        Some(&wider),
    )
    .await?;
    ensure!(
        refused.code == 403
            && refused
                .message()
                .ends_with(r#"{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}"#),
        "{}",
        refused.body
    );
    let labelled = json!({"metadata": {"finalizers": ["acme.io/x"]}});
    ask(
        &maker,
        "PATCH",
        &format!("{roles}/narrow"),
        &[],
        Some(&labelled),
    )
    .await?
    .good()?;
    make(&scene.client(), &roles, &wide).await?;
    let refused = post(
        &maker,
        &bindings,
        &binding("b", "Role", "wide", &user("bob")),
    )
    .await?;
    refused.says(
        403,
        &format!("rolebindings.rbac.authorization.k8s.io \"b\" is forbidden: {missing}"),
    )?;
    let refused = post(
        &maker,
        &bindings,
        &binding("b", "Role", "nope", &user("bob")),
    )
    .await?;
    refused.says(
        404,
        "rolebindings.rbac.authorization.k8s.io \"nope\" not found",
    )?;
    make(
        &maker,
        &bindings,
        &binding("b", "Role", "narrow", &user("bob")),
    )
    .await?;
    let other = json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "wide"}});
    let refused = ask(
        &scene.client(),
        "PATCH",
        &format!("{bindings}/b"),
        &[],
        Some(&other),
    )
    .await?;
    refused.says(
        422,
        "RoleBinding.rbac.authorization.k8s.io \"b\" is invalid: roleRef: Invalid value: \
         {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\",\"Name\":\"wide\"}: cannot change roleRef",
    )?;
    let (climber, binder) = (format!("climber-{space}"), format!("binder-{space}"));
    let group = "rbac.authorization.k8s.io";
    grant(
        &scene,
        &climber,
        &json!([rule(&["escalate", "create"], group, &["roles"])]),
    )
    .await?;
    grant(
        &scene,
        &binder,
        &json!([
            rule(&["bind"], group, &["roles"]),
            rule(&["create"], group, &["rolebindings"])
        ]),
    )
    .await?;
    let wide = role("wide-2", &json!([rule(&["*"], "", &["secrets"])]));
    make(&cluster.client_for_user(&climber, &[])?, &roles, &wide).await?;
    make(
        &cluster.client_for_user(&binder, &[])?,
        &bindings,
        &binding("b2", "Role", "wide", &user("bob")),
    )
    .await?;
    Ok(())
}

pub async fn bad_roles_and_bindings_are_refused(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("invalid").await?;
    let admin = scene.client();
    let of = |resource: &str| format!("{RBAC}/namespaces/{}/{resource}", scene.namespace());
    let prefix = |kind: &str| format!("{kind}.rbac.authorization.k8s.io \"bad\" is invalid: ");
    let table = [
        (
            of("roles"),
            "Role",
            json!({"rules": [{"apiGroups": [""], "resources": ["pods"]}]}),
            "rules[0].verbs: Required value: verbs must contain at least one value",
        ),
        (
            of("roles"),
            "Role",
            json!({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}),
            r#"rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs"#,
        ),
        (
            of("rolebindings"),
            "RoleBinding",
            json!({}),
            r#"[roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole", roleRef.name: Required value]"#,
        ),
        (
            of("rolebindings"),
            "RoleBinding",
            json!({"roleRef": {"kind": "Role", "name": "x"}, "subjects": [{"kind": "Thing", "name": "x"}]}),
            r#"subjects[0].kind: Unsupported value: "Thing": supported values: "ServiceAccount", "User", "Group""#,
        ),
        (
            format!("{RBAC}/clusterrolebindings"),
            "ClusterRoleBinding",
            json!({"roleRef": {"kind": "ClusterRole", "name": "x"}, "subjects": [{"kind": "ServiceAccount", "name": "x"}]}),
            "subjects[0].namespace: Required value",
        ),
        (
            format!("{RBAC}/clusterroles"),
            "ClusterRole",
            json!({"aggregationRule": {}}),
            "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
        ),
    ];
    for (path, kind, mut object, why) in table {
        object["metadata"] = json!({"name": "bad"});
        post(&admin, &path, &object)
            .await?
            .says(422, &format!("{}{why}", prefix(kind)))?;
    }
    let made = make(
        &admin,
        &of("rolebindings"),
        &binding("good", "Role", "any", &user("bob")),
    )
    .await?;
    let group = "rbac.authorization.k8s.io";
    ensure!(
        made["roleRef"]["apiGroup"] == group && made["subjects"][0]["apiGroup"] == group,
        "filled in: {made}"
    );
    Ok(())
}

pub async fn only_those_who_may_act_as_others(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("impersonation").await?;
    let (admin, who) = (scene.client(), format!("actor-{}", scene.namespace()));
    let rules = json!([{"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users", "groups"], "resourceNames": ["kim", "crew"]}]);
    make(&admin, &format!("{RBAC}/clusterroles"), &role(&who, &rules)).await?;
    make(
        &admin,
        &format!("{RBAC}/clusterrolebindings"),
        &binding(&who, "ClusterRole", &who, &user(&who)),
    )
    .await?;
    let actor = cluster.client_for_user(&who, &[])?;
    let path = format!("{WHO}/selfsubjectreviews");
    let whoami = async |headers: &[(&str, &str)]| {
        ask(&actor, "POST", &path, headers, Some(&json!({}))).await
    };
    let kim = async {
        loop {
            let answer =
                whoami(&[("Impersonate-User", "kim"), ("Impersonate-Group", "crew")]).await?;
            if answer.code == 200 || answer.code == 201 {
                return Ok(answer.body);
            }
            tokio::task::yield_now().await;
        }
    };
    let kim = scene.within("the right to act as kim", kim).await?;
    let expect = json!({"username": "kim", "groups": ["crew", "system:authenticated"]});
    ensure!(kim["status"]["userInfo"] == expect, "{kim}");
    let refused = whoami(&[("Impersonate-User", "kim"), ("Impersonate-Group", "other")]).await?;
    refused.says(403, &format!(r#"groups "other" is forbidden: User "{who}" cannot impersonate resource "groups" in API group "" at the cluster scope"#))?;
    let refused = whoami(&[("Impersonate-Group", "crew")]).await?;
    refused.says(
        400,
        r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"crew"}, Extra:map[string][]string(nil)} without impersonating a user name"#,
    )?;
    let refused = ask(
        &cluster.client_for_user("nobody", &[])?,
        "GET",
        "/api/v1/pods",
        &[("Impersonate-User", "kim")],
        None,
    )
    .await?;
    refused.says(
        403,
        r#"pods is forbidden: User "nobody" cannot impersonate-on:user-info:list resource "pods" in API group "" at the cluster scope"#,
    )?;
    let account = ask(
        &admin,
        "POST",
        &path,
        &[("Impersonate-User", "system:serviceaccount:default:default")],
        Some(&json!({})),
    )
    .await?
    .good()?;
    let groups = json!([
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated"
    ]);
    ensure!(
        account["status"]["userInfo"]["groups"] == groups,
        "{account}"
    );
    Ok(())
}

pub async fn reviews_tell_who_may_do_what(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("reviews").await?;
    let (admin, space, who) = (
        scene.client(),
        scene.namespace(),
        format!("asker-{}", scene.namespace()),
    );
    grant(&scene, &who, &json!([rule(&["get"], "", &["pods"])])).await?;
    let asker = cluster.client_for_user(&who, &[])?;
    let pods = |verb: &str| json!({"verb": verb, "resource": "pods", "namespace": space});
    let reason = format!(
        "RBAC: allowed by RoleBinding \"{who}/{space}\" of Role \"{who}\" to User \"{who}\""
    );
    let own = format!("{REVIEWS}/selfsubjectaccessreviews");
    let local = format!("{REVIEWS}/namespaces/{space}/localsubjectaccessreviews");
    let allowed = json!({"allowed": true, "reason": reason});
    for (client, path, spec, status) in [
        (
            &asker,
            &own,
            json!({"resourceAttributes": pods("get")}),
            &allowed,
        ),
        (
            &asker,
            &own,
            json!({"resourceAttributes": pods("list")}),
            &json!({"allowed": false}),
        ),
        (
            &admin,
            &own,
            json!({"resourceAttributes": pods("list")}),
            &json!({"allowed": true}),
        ),
        (
            &admin,
            &local,
            json!({"user": who, "resourceAttributes": pods("get")}),
            &allowed,
        ),
    ] {
        let answer = make(client, path, &json!({"spec": spec})).await?;
        ensure!(
            answer["status"] == *status && answer["spec"] == spec,
            "{spec}: {answer}"
        );
    }
    post(&admin, &own, &json!({"spec": {}})).await?.says(
        422,
        ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of \
         nonResourceAttributes or resourceAttributes must be specified",
    )?;
    let elsewhere =
        json!({"spec": {"user": who, "resourceAttributes": {"namespace": "elsewhere"}}});
    post(&admin, &local, &elsewhere).await?.says(
        422,
        ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes.namespace: Invalid value: \"elsewhere\": must match metadata.namespace",
    )?;
    let rules = make(
        &asker,
        &format!("{REVIEWS}/selfsubjectrulesreviews"),
        &json!({"spec": {"namespace": space}}),
    )
    .await?;
    let resources = rules["status"]["resourceRules"]
        .as_array()
        .context("no rules")?;
    ensure!(
        resources.contains(&rule(&["get"], "", &["pods"])) && resources.len() == 3,
        "{rules}"
    );
    Ok(())
}

pub async fn the_first_roles_are_those_of_kubernetes(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("first").await?;
    let admin = scene.client();
    for (name, verb) in [("admin", "create"), ("edit", "create"), ("view", "get")] {
        let path = format!("{RBAC}/clusterroles/{name}");
        let filled = |answer: &Answer| {
            answer.body["rules"]
                .as_array()
                .is_some_and(|rules| !rules.is_empty())
        };
        let role = until(&scene, "an aggregated role", &admin, &path, filled)
            .await?
            .body;
        let about = |rule: &Value| {
            let has = |field: &str, word: &str| {
                rule[field]
                    .as_array()
                    .is_some_and(|words| words.iter().any(|own| own == word))
            };
            has("resources", "configmaps") && has("verbs", verb)
        };
        ensure!(
            role["rules"]
                .as_array()
                .is_some_and(|rules| rules.iter().any(about)),
            "{name}: {role}"
        );
    }
    let list = get(
        &admin,
        &format!("{RBAC}/clusterroles?labelSelector=kubernetes.io%2Fbootstrapping%3Drbac-defaults"),
    )
    .await?
    .good()?;
    let count = list["items"].as_array().map_or(0, Vec::len);
    if count < 60 {
        bail!("only {count} roles are there from the start");
    }
    Ok(())
}
