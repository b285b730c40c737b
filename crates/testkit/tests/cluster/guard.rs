//! Who may do what, and what happens by itself: rights, escalation, acting as others, reviews, tokens, owners and
//! namespaces, in the words and codes of the real server.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use http::{Request, StatusCode};
use kube::Client;
use serde_json::{Value, json};
use testkit::{Cluster, Identity, Scene};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1";
const WHO: &str = "/apis/authentication.k8s.io/v1";

/// What a request was answered with.
struct Answer {
    code: u16,
    body: Value,
}

impl Answer {
    fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// Fails unless it is this code and this message.
    fn says(&self, code: u16, message: &str) -> Result<()> {
        ensure!(
            (self.code, self.message()) == (code, message),
            "{} {} instead of {code} {message}",
            self.code,
            self.body
        );
        Ok(())
    }

    /// The body of an answer that is no failure.
    fn good(self) -> Result<Value> {
        ensure!(self.code < 300, "{} {}", self.code, self.body);
        Ok(self.body)
    }
}

/// Sends a request with headers, and takes any answer.
async fn ask(
    client: &Client,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> Result<Answer> {
    let mut request = Request::builder().method(method).uri(path);
    let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    if body.is_some() {
        request = request.header("Content-Type", content);
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let bytes = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
    match client.request::<Value>(request.body(bytes)?).await {
        Ok(body) => Ok(Answer { code: StatusCode::OK.as_u16(), body }),
        Err(kube::Error::Api(status)) => Ok(Answer { code: status.code, body: serde_json::to_value(&status)? }),
        Err(error) => Err(error).with_context(|| format!("{method} {path}")),
    }
}

async fn get(client: &Client, path: &str) -> Result<Answer> {
    ask(client, "GET", path, &[], None).await
}

async fn post(client: &Client, path: &str, body: &Value) -> Result<Answer> {
    ask(client, "POST", path, &[], Some(body)).await
}

async fn make(client: &Client, path: &str, body: &Value) -> Result<Value> {
    post(client, path, body).await?.good().with_context(|| format!("POST {path} {body}"))
}

/// Asks again and again until the answer is as wanted; the authorizer of the real server lags a moment.
async fn until(
    scene: &Scene<'_>,
    what: &str,
    client: &Client,
    path: &str,
    wanted: impl Fn(&Answer) -> bool,
) -> Result<Answer> {
    let asking = async {
        loop {
            let answer = get(client, path).await?;
            if wanted(&answer) {
                return Ok(answer);
            }
            tokio::task::yield_now().await;
        }
    };
    scene.within(what, asking).await
}

async fn until_gone(scene: &Scene<'_>, path: &str) -> Result<()> {
    until(scene, &format!("{path} to go"), &scene.client(), path, |answer| answer.code == 404).await.map(drop)
}

fn role(name: &str, rules: Value) -> Value {
    json!({"metadata": {"name": name}, "rules": rules})
}

fn rule(verbs: &[&str], group: &str, resources: &[&str]) -> Value {
    json!({"verbs": verbs, "apiGroups": [group], "resources": resources})
}

fn binding(name: &str, kind: &str, role: &str, subject: &Value) -> Value {
    json!({"metadata": {"name": name}, "roleRef": {"kind": kind, "name": role}, "subjects": [subject]})
}

fn user(name: &str) -> Value {
    json!({"kind": "User", "name": name})
}

/// Gives a user rules in the scene's namespace, and waits until they hold.
async fn grant(scene: &Scene<'_>, who: &str, rules: Value) -> Result<()> {
    let (admin, space) = (scene.client(), scene.namespace());
    make(&admin, &format!("{RBAC}/namespaces/{space}/roles"), &role(who, rules.clone())).await?;
    make(&admin, &format!("{RBAC}/namespaces/{space}/rolebindings"), &binding(who, "Role", who, &user(who))).await?;
    let first = |field: &str| rules[0][field][0].clone();
    let wanted = json!({"namespace": space, "verb": first("verbs"), "group": first("apiGroups"), "resource": first("resources")});
    let review = json!({"spec": {"user": who, "resourceAttributes": wanted}});
    let holding = async {
        while make(&admin, &format!("{REVIEWS}/subjectaccessreviews"), &review).await?["status"]["allowed"] != true {
            tokio::task::yield_now().await;
        }
        Ok(())
    };
    scene.within("a role to hold", holding).await
}

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
        ensure!(!matches!(&answer, Ok(answer) if answer.code == 403), "{path} is for everybody");
    }
    Ok(())
}

pub async fn rules_reach_subresources_names_and_selected_names(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("rules").await?;
    let who = format!("reader-{}", scene.namespace());
    let named = json!({"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"]});
    grant(&scene, &who, json!([rule(&["get"], "apps", &["*/scale"]), named])).await?;
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
        json!([
            rule(&["create", "update", "patch"], "rbac.authorization.k8s.io", &["roles", "rolebindings"]),
            rule(&["get"], "", &["pods"])
        ]),
    )
    .await?;
    let maker = cluster.client_for_user(&who, &["crew"])?;
    let (roles, bindings) =
        (format!("{RBAC}/namespaces/{space}/roles"), format!("{RBAC}/namespaces/{space}/rolebindings"));
    let wide = role("wide", json!([rule(&["get", "list"], "", &["pods", "secrets"])]));
    let groups = r#"(groups=["crew" "system:authenticated"])"#;
    let missing = format!(
        "user {who:?} {groups} is attempting to grant RBAC permissions not currently held:\n\
         {{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}}\n{{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}}"
    );
    let refused = post(&maker, &roles, &wide).await?;
    refused.says(403, &format!("roles.rbac.authorization.k8s.io \"wide\" is forbidden: {missing}"))?;
    make(&maker, &roles, &role("narrow", json!([rule(&["get"], "", &["pods"])]))).await?;
    let wider = json!({"rules": [rule(&["get", "delete"], "", &["pods"])]});
    let refused = ask(&maker, "PATCH", &format!("{roles}/narrow"), &[], Some(&wider)).await?;
    ensure!(
        refused.code == 403 && refused.message().ends_with(r#"{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}"#),
        "{}",
        refused.body
    );
    let labelled = json!({"metadata": {"finalizers": ["acme.io/x"]}});
    ask(&maker, "PATCH", &format!("{roles}/narrow"), &[], Some(&labelled)).await?.good()?;
    make(&scene.client(), &roles, &wide).await?;
    let refused = post(&maker, &bindings, &binding("b", "Role", "wide", &user("bob"))).await?;
    refused.says(403, &format!("rolebindings.rbac.authorization.k8s.io \"b\" is forbidden: {missing}"))?;
    let refused = post(&maker, &bindings, &binding("b", "Role", "nope", &user("bob"))).await?;
    refused.says(404, "rolebindings.rbac.authorization.k8s.io \"nope\" not found")?;
    make(&maker, &bindings, &binding("b", "Role", "narrow", &user("bob"))).await?;
    let other = json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "wide"}});
    let refused = ask(&scene.client(), "PATCH", &format!("{bindings}/b"), &[], Some(&other)).await?;
    refused.says(
        422,
        "RoleBinding.rbac.authorization.k8s.io \"b\" is invalid: roleRef: Invalid value: \
         {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\",\"Name\":\"wide\"}: cannot change roleRef",
    )?;
    let (climber, binder) = (format!("climber-{space}"), format!("binder-{space}"));
    let group = "rbac.authorization.k8s.io";
    grant(&scene, &climber, json!([rule(&["escalate", "create"], group, &["roles"])])).await?;
    grant(&scene, &binder, json!([rule(&["bind"], group, &["roles"]), rule(&["create"], group, &["rolebindings"])]))
        .await?;
    let wide = role("wide-2", json!([rule(&["*"], "", &["secrets"])]));
    make(&cluster.client_for_user(&climber, &[])?, &roles, &wide).await?;
    make(&cluster.client_for_user(&binder, &[])?, &bindings, &binding("b2", "Role", "wide", &user("bob"))).await?;
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
        post(&admin, &path, &object).await?.says(422, &format!("{}{why}", prefix(kind)))?;
    }
    let made = make(&admin, &of("rolebindings"), &binding("good", "Role", "any", &user("bob"))).await?;
    let group = "rbac.authorization.k8s.io";
    ensure!(made["roleRef"]["apiGroup"] == group && made["subjects"][0]["apiGroup"] == group, "filled in: {made}");
    Ok(())
}

pub async fn only_those_who_may_act_as_others(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("impersonation").await?;
    let (admin, who) = (scene.client(), format!("actor-{}", scene.namespace()));
    let rules = json!([{"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users", "groups"], "resourceNames": ["kim", "crew"]}]);
    make(&admin, &format!("{RBAC}/clusterroles"), &role(&who, rules)).await?;
    make(&admin, &format!("{RBAC}/clusterrolebindings"), &binding(&who, "ClusterRole", &who, &user(&who))).await?;
    let actor = cluster.client_for_user(&who, &[])?;
    let path = format!("{WHO}/selfsubjectreviews");
    let whoami = async |headers: &[(&str, &str)]| ask(&actor, "POST", &path, headers, Some(&json!({}))).await;
    let kim = async {
        loop {
            let answer = whoami(&[("Impersonate-User", "kim"), ("Impersonate-Group", "crew")]).await?;
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
    let refused =
        ask(&cluster.client_for_user("nobody", &[])?, "GET", "/api/v1/pods", &[("Impersonate-User", "kim")], None)
            .await?;
    refused.says(
        403,
        r#"pods is forbidden: User "nobody" cannot impersonate-on:user-info:list resource "pods" in API group "" at the cluster scope"#,
    )?;
    let account =
        ask(&admin, "POST", &path, &[("Impersonate-User", "system:serviceaccount:default:default")], Some(&json!({})))
            .await?
            .good()?;
    let groups = json!(["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]);
    ensure!(account["status"]["userInfo"]["groups"] == groups, "{account}");
    Ok(())
}

pub async fn reviews_tell_who_may_do_what(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("reviews").await?;
    let (admin, space, who) = (scene.client(), scene.namespace(), format!("asker-{}", scene.namespace()));
    grant(&scene, &who, json!([rule(&["get"], "", &["pods"])])).await?;
    let asker = cluster.client_for_user(&who, &[])?;
    let pods = |verb: &str| json!({"verb": verb, "resource": "pods", "namespace": space});
    let reason = format!("RBAC: allowed by RoleBinding \"{who}/{space}\" of Role \"{who}\" to User \"{who}\"");
    let own = format!("{REVIEWS}/selfsubjectaccessreviews");
    let local = format!("{REVIEWS}/namespaces/{space}/localsubjectaccessreviews");
    let allowed = json!({"allowed": true, "reason": reason});
    for (client, path, spec, status) in [
        (&asker, &own, json!({"resourceAttributes": pods("get")}), &allowed),
        (&asker, &own, json!({"resourceAttributes": pods("list")}), &json!({"allowed": false})),
        (&admin, &own, json!({"resourceAttributes": pods("list")}), &json!({"allowed": true})),
        (&admin, &local, json!({"user": who, "resourceAttributes": pods("get")}), &allowed),
    ] {
        let answer = make(client, path, &json!({"spec": spec})).await?;
        ensure!(answer["status"] == *status && answer["spec"] == spec, "{spec}: {answer}");
    }
    post(&admin, &own, &json!({"spec": {}})).await?.says(
        422,
        ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of \
         nonResourceAttributes or resourceAttributes must be specified",
    )?;
    let elsewhere = json!({"spec": {"user": who, "resourceAttributes": {"namespace": "elsewhere"}}});
    post(&admin, &local, &elsewhere).await?.says(
        422,
        ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes.namespace: Invalid value: \"elsewhere\": must match metadata.namespace",
    )?;
    let rules =
        make(&asker, &format!("{REVIEWS}/selfsubjectrulesreviews"), &json!({"spec": {"namespace": space}})).await?;
    let resources = rules["status"]["resourceRules"].as_array().context("no rules")?;
    ensure!(resources.contains(&rule(&["get"], "", &["pods"])) && resources.len() == 3, "{rules}");
    Ok(())
}

pub async fn a_token_is_good_for_its_audience_while_its_account_and_its_secret_are_there(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("tokens").await?;
    let (admin, space) = (scene.client(), scene.namespace());
    let base = format!("/api/v1/namespaces/{space}");
    let account = make(&admin, &format!("{base}/serviceaccounts"), &json!({"metadata": {"name": "robot"}})).await?;
    make(&admin, &format!("{base}/secrets"), &json!({"metadata": {"name": "s"}})).await?;
    let token = format!("{base}/serviceaccounts/robot/token");
    let refused = post(&admin, &token, &json!({"spec": {"expirationSeconds": 60}})).await?;
    refused.says(
        422,
        "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes",
    )?;
    post(&admin, &format!("{base}/serviceaccounts/nope/token"), &json!({"spec": {}}))
        .await?
        .says(404, "serviceaccounts \"nope\" not found")?;
    let bound =
        |kind: &str, name: &str| json!({"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name}}});
    post(&admin, &token, &bound("ConfigMap", "x"))
        .await?
        .says(400, "cannot bind token to object of type /v1, Kind=ConfigMap")?;
    post(&admin, &token, &bound("Secret", "x")).await?.says(404, "secrets \"x\" not found")?;
    let text = |answer: &Value| answer["status"]["token"].as_str().unwrap_or_default().to_owned();
    let vault = text(&make(&admin, &token, &json!({"spec": {"audiences": ["vault"]}})).await?);
    let secret = text(&make(&admin, &token, &bound("Secret", "s")).await?);
    let plain = text(&make(&admin, &token, &json!({"spec": {}})).await?);
    let review = async |token: &str, audiences: &[&str]| {
        let body = json!({"spec": {"token": token, "audiences": audiences}});
        Ok::<_, anyhow::Error>(make(&admin, &format!("{WHO}/tokenreviews"), &body).await?["status"].clone())
    };
    let found = review(&vault, &["vault", "other"]).await?;
    ensure!(found["authenticated"] == true && found["audiences"] == json!(["vault"]), "{found}");
    ensure!(found["user"]["uid"] == account["metadata"]["uid"], "{found}");
    let found = review(&vault, &[]).await?;
    let why = r#"[invalid bearer token, token audiences ["vault"] is invalid for the target audiences ["https://kubernetes.default.svc.cluster.local"]]"#;
    ensure!(found["error"] == why, "{found}");
    ensure!(review("nonsense", &[]).await?["error"] == "invalid bearer token");
    let with = |token: &str| cluster.backend().client(&Identity::Bearer(token.to_owned()));
    let maps = format!("{base}/configmaps");
    for (token, code) in [(&vault, 401), (&secret, 403), (&plain, 403)] {
        let answer = get(&with(token)?, &maps).await?;
        ensure!(answer.code == code, "{} {}", answer.code, answer.body);
    }
    ask(&admin, "DELETE", &format!("{base}/secrets/s"), &[], None).await?.good()?;
    let found = until(&scene, "the bound token to end", &with(&secret)?, &maps, |answer| answer.code == 401).await?;
    ensure!(found.message() == "Unauthorized", "{}", found.body);
    ensure!(get(&with(&plain)?, &maps).await?.code == 403, "the other is not bound");
    ask(&admin, "DELETE", &format!("{base}/serviceaccounts/robot"), &[], None).await?.good()?;
    until(&scene, "the account's token to end", &with(&plain)?, &maps, |answer| answer.code == 401).await.map(drop)
}

pub async fn a_secret_holds_the_token_of_its_account_and_goes_with_it(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("secrets").await?;
    let (admin, space) = (scene.client(), scene.namespace());
    let base = format!("/api/v1/namespaces/{space}");
    let account = make(&admin, &format!("{base}/serviceaccounts"), &json!({"metadata": {"name": "robot"}})).await?;
    let secret = |name: &str, annotations: Value| json!({"metadata": {"name": name, "annotations": annotations}, "type": "kubernetes.io/service-account-token"});
    let of = |account: &str| json!({"kubernetes.io/service-account.name": account});
    post(&admin, &format!("{base}/secrets"), &secret("bad", json!({}))).await?.says(
        422,
        "Secret \"bad\" is invalid: metadata.annotations[kubernetes.io/service-account.name]: Required value",
    )?;
    make(&admin, &format!("{base}/secrets"), &secret("lost", of("nobody"))).await?;
    make(&admin, &format!("{base}/secrets"), &secret("token", of("robot"))).await?;
    until_gone(&scene, &format!("{base}/secrets/lost")).await?;
    let filled = until(&scene, "the token", &admin, &format!("{base}/secrets/token"), |answer| {
        answer.body["data"]["token"].is_string()
    })
    .await?
    .body;
    ensure!(
        filled["metadata"]["annotations"]["kubernetes.io/service-account.uid"] == account["metadata"]["uid"],
        "{filled}"
    );
    let plain = |field: &str| {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let bytes = STANDARD.decode(filled["data"][field].as_str().unwrap_or_default()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    ensure!(plain("namespace") == space && plain("ca.crt").starts_with("-----BEGIN CERTIFICATE-----"), "{filled}");
    let robot = cluster.backend().client(&Identity::Bearer(plain("token")))?;
    let me = make(&robot, &format!("{WHO}/selfsubjectreviews"), &json!({})).await?;
    ensure!(me["status"]["userInfo"]["username"] == scene.service_account_user("robot"), "{me}");
    ask(&admin, "DELETE", &format!("{base}/serviceaccounts/robot"), &[], None).await?.good()?;
    until_gone(&scene, &format!("{base}/secrets/token")).await
}

/// A config map in a scene's namespace with owners: kind, name, uid and whether it blocks.
async fn owned(scene: &Scene<'_>, name: &str, owners: &[(&str, &Value, bool)]) -> Result<Value> {
    let reference = |(kind, owner, blocks): &(&str, &Value, bool)| json!({"apiVersion": "v1", "kind": kind, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks});
    let references: Vec<Value> = owners.iter().map(reference).collect();
    let object = json!({"metadata": {"name": name, "ownerReferences": references}});
    make(&scene.client(), &format!("/api/v1/namespaces/{}/configmaps", scene.namespace()), &object).await
}

pub async fn what_is_owned_goes_with_its_last_owner(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("owners").await?;
    let admin = scene.client();
    let maps = format!("/api/v1/namespaces/{}/configmaps", scene.namespace());
    let (a, b) = (owned(&scene, "a", &[]).await?, owned(&scene, "b", &[]).await?);
    let ghost = json!({"metadata": {"name": "ghost", "uid": "11111111-2222-4333-8444-555555555555"}});
    let child = owned(&scene, "child", &[("ConfigMap", &a, true)]).await?;
    owned(&scene, "grandchild", &[("ConfigMap", &child, false)]).await?;
    owned(&scene, "shared", &[("ConfigMap", &a, true), ("ConfigMap", &b, false)]).await?;
    owned(&scene, "lost", &[("ConfigMap", &ghost, false)]).await?;
    owned(&scene, "half", &[("ConfigMap", &ghost, false), ("ConfigMap", &b, false)]).await?;
    until_gone(&scene, &format!("{maps}/lost")).await?;
    let one_owner = |answer: &Answer| {
        answer.body["metadata"]["ownerReferences"]
            .as_array()
            .is_some_and(|owners| matches!(&**owners, [owner] if owner["name"] == "b"))
    };
    until(&scene, "an owner that is not there to be forgotten", &admin, &format!("{maps}/half"), one_owner).await?;
    ask(&admin, "DELETE", &format!("{maps}/a"), &[], None).await?.good()?;
    until_gone(&scene, &format!("{maps}/child")).await?;
    until_gone(&scene, &format!("{maps}/grandchild")).await?;
    until(&scene, "an owner that went to be forgotten", &admin, &format!("{maps}/shared"), one_owner).await?;
    ask(&admin, "DELETE", &format!("{maps}/b?propagationPolicy=Orphan"), &[], None).await?.good()?;
    until_gone(&scene, &format!("{maps}/b")).await?;
    let free = get(&admin, &format!("{maps}/shared")).await?.good()?;
    ensure!(free["metadata"]["ownerReferences"].is_null(), "an orphan has no owner: {free}");
    Ok(())
}

pub async fn in_the_foreground_owners_wait_even_in_a_circle(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("foreground").await?;
    let admin = scene.client();
    let maps = format!("/api/v1/namespaces/{}/configmaps", scene.namespace());
    let owner = owned(&scene, "owner", &[]).await?;
    owned(&scene, "child", &[("ConfigMap", &owner, true)]).await?;
    let hold = json!({"metadata": {"finalizers": ["acme.io/hold"]}});
    ask(&admin, "PATCH", &format!("{maps}/child"), &[], Some(&hold)).await?.good()?;
    let held = ask(&admin, "DELETE", &format!("{maps}/owner?propagationPolicy=Foreground"), &[], None).await?.good()?;
    ensure!(held["metadata"]["finalizers"] == json!(["foregroundDeletion"]), "{held}");
    until(&scene, "the child to be told", &admin, &format!("{maps}/child"), |answer| {
        answer.body["metadata"]["deletionTimestamp"].is_string()
    })
    .await?;
    get(&admin, &format!("{maps}/owner")).await?.good().context("the owner waits")?;
    ask(&admin, "PATCH", &format!("{maps}/child"), &[], Some(&json!({"metadata": {"finalizers": null}})))
        .await?
        .good()?;
    until_gone(&scene, &format!("{maps}/owner")).await?;
    let first = owned(&scene, "first", &[]).await?;
    let second = owned(&scene, "second", &[("ConfigMap", &first, true)]).await?;
    let back = json!({"metadata": {"ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "second", "uid": second["metadata"]["uid"], "blockOwnerDeletion": true}]}});
    ask(&admin, "PATCH", &format!("{maps}/first"), &[], Some(&back)).await?.good()?;
    ask(&admin, "DELETE", &format!("{maps}/first?propagationPolicy=Foreground"), &[], None).await?.good()?;
    until_gone(&scene, &format!("{maps}/first")).await?;
    until_gone(&scene, &format!("{maps}/second")).await
}

pub async fn scopes_decide_who_can_own_whom(cluster: Arc<Cluster>) -> Result<()> {
    let (scene, other) = (cluster.scene("scope").await?, cluster.scene("scope").await?);
    let admin = scene.client();
    let maps = format!("/api/v1/namespaces/{}/configmaps", scene.namespace());
    let cluster_role =
        make(&admin, &format!("{RBAC}/clusterroles"), &role(&format!("owner-{}", scene.namespace()), json!([])))
            .await?;
    let reference = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "name": cluster_role["metadata"]["name"], "uid": cluster_role["metadata"]["uid"]});
    make(&admin, &maps, &json!({"metadata": {"name": "below", "ownerReferences": [reference]}})).await?;
    let owner = owned(&other, "owner", &[]).await?;
    let stranger = owned(&scene, "stranger", &[("ConfigMap", &owner, false)]).await?;
    until_gone(&scene, &format!("{maps}/stranger")).await?;
    let message = format!(
        "ownerRef [v1/ConfigMap, namespace: {space}, name: owner, uid: {uid}] does not exist in namespace \"{space}\"",
        space = scene.namespace(),
        uid = owner["metadata"]["uid"].as_str().unwrap_or_default(),
    );
    let events = format!("/api/v1/namespaces/{}/events", scene.namespace());
    let told = |answer: &Answer| {
        let about = |event: &Value| {
            event["reason"] == "OwnerRefInvalidNamespace"
                && event["message"] == *message
                && event["involvedObject"]["uid"] == stranger["metadata"]["uid"]
        };
        answer.body["items"].as_array().is_some_and(|items| items.iter().any(about))
    };
    until(&scene, "an event about the owner elsewhere", &admin, &events, told).await?;
    get(&admin, &format!("{maps}/below")).await?.good().context("what is in a namespace can be owned from above")?;
    let above = format!("above-{}", scene.namespace());
    let mut object = role(&above, json!([]));
    let owner = owned(&scene, "owner", &[]).await?;
    object["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]);
    make(&admin, &format!("{RBAC}/clusterroles"), &object).await?;
    ask(&admin, "DELETE", &format!("{maps}/owner"), &[], None).await?.good()?;
    let role_path = format!("{RBAC}/clusterroles/{}", cluster_role["metadata"]["name"].as_str().unwrap_or_default());
    ask(&admin, "DELETE", &role_path, &[], None).await?.good()?;
    until_gone(&scene, &format!("{maps}/below")).await?;
    get(&admin, &format!("{RBAC}/clusterroles/{above}")).await?.good().context("nothing above is owned from within")?;
    Ok(())
}

pub async fn a_namespace_goes_once_nothing_is_left_in_it(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("ending").await?;
    let (admin, space) = (scene.client(), scene.namespace());
    let path = format!("/api/v1/namespaces/{space}");
    let hold = json!({"metadata": {"name": "held", "finalizers": ["acme.io/hold"]}});
    make(&admin, &format!("{path}/configmaps"), &hold).await?;
    let going = ask(&admin, "DELETE", &path, &[], None).await?.good()?;
    ensure!(
        going["status"]["phase"] == "Terminating" && going["spec"]["finalizers"] == json!(["kubernetes"]),
        "{going}"
    );
    let late = post(&admin, &format!("{path}/configmaps"), &json!({"metadata": {"name": "late"}})).await?;
    late.says(403, &format!("configmaps \"late\" is forbidden: unable to create new content in namespace {space} because it is being terminated"))?;
    ensure!(late.body["details"]["causes"][0]["reason"] == "NamespaceTerminating", "{}", late.body);
    let condition = |body: &Value, kind: &str| {
        let all = body["status"]["conditions"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
    };
    let told = |answer: &Answer| condition(&answer.body, "NamespaceFinalizersRemaining")["status"] == "True";
    let left = until(&scene, "conditions that say what is left", &admin, &path, told).await?.body;
    let said = condition(&left, "NamespaceContentRemaining");
    ensure!(said["message"] == "Some resources are remaining: configmaps. has 1 resource instances", "{said}");
    let said = condition(&left, "NamespaceFinalizersRemaining");
    ensure!(
        said["message"]
            == "Some content in the namespace has finalizers remaining: acme.io/hold in 1 resource instances",
        "{said}"
    );
    ask(&admin, "PATCH", &format!("{path}/configmaps/held"), &[], Some(&json!({"metadata": {"finalizers": null}})))
        .await?
        .good()?;
    until_gone(&scene, &path).await?;
    let nowhere = post(&admin, &format!("{path}/configmaps"), &json!({"metadata": {"name": "late"}})).await?;
    nowhere.says(404, &format!("namespaces {space:?} not found"))?;
    ask(&admin, "DELETE", "/api/v1/namespaces/default", &[], None)
        .await?
        .says(403, "namespaces \"default\" is forbidden: this namespace may not be deleted")
}

pub async fn a_namespace_is_kept_by_whoever_finalizes_it(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("finalize").await?;
    let admin = scene.client();
    let name = format!("kept-{}", scene.namespace());
    let path = format!("/api/v1/namespaces/{name}");
    let object = json!({"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": "other"}}, "spec": {"finalizers": ["acme.io/x", "kubernetes"]}});
    let made = make(&admin, "/api/v1/namespaces", &object).await?;
    ensure!(
        made["metadata"]["labels"]["kubernetes.io/metadata.name"] == *name && made["status"]["phase"] == "Active",
        "{made}"
    );
    let plain = ask(&admin, "PATCH", &path, &[], Some(&json!({"spec": {"finalizers": null}}))).await?.good()?;
    ensure!(plain["spec"]["finalizers"] == json!(["acme.io/x", "kubernetes"]), "only finalize changes them: {plain}");
    ask(&admin, "DELETE", &path, &[], None).await?.good()?;
    let left = |answer: &Answer| answer.body["spec"]["finalizers"] == json!(["acme.io/x"]);
    until(&scene, "the server to be done", &admin, &path, left).await?;
    let done = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": []}});
    ask(&admin, "PUT", &format!("{path}/finalize"), &[], Some(&done)).await?.good()?;
    until_gone(&scene, &path).await
}

pub async fn every_namespace_keeps_its_account_and_its_certificate(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("furniture").await?;
    let admin = scene.client();
    let base = format!("/api/v1/namespaces/{}", scene.namespace());
    let (account, map) = (format!("{base}/serviceaccounts/default"), format!("{base}/configmaps/kube-root-ca.crt"));
    let there = |answer: &Answer| answer.code == 200;
    let old = until(&scene, "the account", &admin, &account, there).await?.body;
    let certificate = until(&scene, "the certificate", &admin, &map, there).await?.body["data"].clone();
    ensure!(
        certificate["ca.crt"].as_str().is_some_and(|text| text.starts_with("-----BEGIN CERTIFICATE-----")),
        "{certificate}"
    );
    ask(&admin, "DELETE", &account, &[], None).await?.good()?;
    let again = |answer: &Answer| there(answer) && answer.body["metadata"]["uid"] != old["metadata"]["uid"];
    until(&scene, "the account to come back", &admin, &account, again).await?;
    ask(&admin, "PATCH", &map, &[], Some(&json!({"data": {"ca.crt": "x", "more": "y"}}))).await?.good()?;
    let restored = |answer: &Answer| answer.body["data"] == certificate;
    until(&scene, "the certificate to be put right", &admin, &map, restored).await?;
    ask(&admin, "DELETE", &map, &[], None).await?.good()?;
    until(&scene, "the certificate to come back", &admin, &map, restored).await.map(drop)
}

pub async fn the_first_roles_are_those_of_kubernetes(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("first").await?;
    let admin = scene.client();
    for (name, verb) in [("admin", "create"), ("edit", "create"), ("view", "get")] {
        let path = format!("{RBAC}/clusterroles/{name}");
        let filled = |answer: &Answer| answer.body["rules"].as_array().is_some_and(|rules| !rules.is_empty());
        let role = until(&scene, "an aggregated role", &admin, &path, filled).await?.body;
        let about = |rule: &Value| {
            let has = |field: &str, word: &str| {
                rule[field].as_array().is_some_and(|words| words.iter().any(|own| own == word))
            };
            has("resources", "configmaps") && has("verbs", verb)
        };
        ensure!(role["rules"].as_array().is_some_and(|rules| rules.iter().any(about)), "{name}: {role}");
    }
    let list = get(&admin, &format!("{RBAC}/clusterroles?labelSelector=kubernetes.io%2Fbootstrapping%3Drbac-defaults"))
        .await?
        .good()?;
    let count = list["items"].as_array().map_or(0, Vec::len);
    if count < 60 {
        bail!("only {count} roles are there from the start");
    }
    Ok(())
}
