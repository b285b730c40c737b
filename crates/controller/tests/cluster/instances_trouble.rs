//! Instances in trouble: children that are refused, kinds that are not there or not to be seen,
//! edits that break everything, and what people can do about it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::Condition;
use serde_json::{Value, json};
use testkit::faults::{ApiError, Fault, Filter, Trouble};
use testkit::{Cluster, Scene};

use crate::actor::{STACK, open_kind, own, package_of, running, says, web, webs};
use crate::instances_sweep::{USER, furnished, work};
use crate::manager::{furnish, has, resource, stacks};
use crate::mishap::fresh;

const EXTRA: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-extra'}\n\
                     data: {text: '{{ .spec.text }}'}\n";

async fn create(scene: &Scene<'_>, name: &str) -> Result<()> {
    own(scene, "Web")
        .create(&PostParams::default(), &web(scene, name, "hello"))
        .await?;
    Ok(())
}

async fn edit(scene: &Scene<'_>, template: &str, text: Option<&str>) -> Result<()> {
    let key = format!("web.{}/v1", scene.group());
    let patch = json!({ "spec": { "templates": { key: { template: text } } } });
    stacks(scene)
        .patch(STACK, &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    Ok(())
}

/// The condition that a Stack's status is as wanted.
fn tells(wanted: impl Fn(&Value) -> bool) -> impl Condition<DynamicObject> {
    move |stack: Option<&DynamicObject>| stack.is_some_and(|stack| wanted(&stack.data["status"]))
}

fn mentions(value: &Value, words: &str) -> bool {
    value.to_string().contains(words)
}

pub async fn a_bad_edit_leaves_two_hundred_instances_as_they_were(
    cluster: Arc<Cluster>,
) -> Result<()> {
    const COUNT: usize = 200;
    const WINDOW: Duration = Duration::from_secs(10);
    let scene = cluster.scene("many").await?;
    let _running = webs(&scene, &[]).await?;
    let creations = (0..COUNT).map(|number| create_owned(&scene, format!("web-{number}")));
    futures::future::try_join_all(creations).await?;
    let all_ready = tells(|status| {
        let counts = status["instances"]
            .as_object()
            .and_then(|all| all.values().next())
            .cloned()
            .unwrap_or_default();
        counts["ready"] == COUNT && status["attention"].is_null()
    });
    scene.wait(&stacks(&scene), STACK, all_ready).await?;
    let maps: Api<ConfigMap> = scene.api();
    let ours = ListParams::default().labels(&format!("stacks.crossplane.io/stack={STACK}"));
    let versions = || async {
        let mut seen: Vec<(Option<String>, Option<String>)> = Vec::new();
        let children = maps
            .list(&ours)
            .await?
            .items
            .into_iter()
            .map(|map| map.metadata);
        seen.extend(children.map(|metadata| (metadata.uid, metadata.resource_version)));
        let instances = own(&scene, "Web").list(&ListParams::default()).await?.items;
        seen.extend(
            instances
                .into_iter()
                .map(|web| (web.metadata.uid, web.metadata.resource_version)),
        );
        seen.sort();
        anyhow::Ok(seen)
    };
    let before = versions().await?;
    ensure!(before.len() == 2 * COUNT, "{}", before.len());
    let (mark, begin) = (cluster.mark()?, Instant::now());
    edit(&scene, "extra", Some("{{ .spec.nonesuch }")).await?;
    let told = tells(|status| mentions(&status["diagnostics"], "extra"));
    scene.wait(&stacks(&scene), STACK, told).await?;
    // Nothing is to happen: that takes as long as it takes.
    tokio::time::sleep_until((begin + WINDOW).into()).await;
    let user = scene.service_account_user(&format!("stack-{STACK}"));
    let is_call = move |request: &testkit::Request| {
        request.user == user && !["list", "watch"].contains(&request.verb.as_str())
    };
    let calls = cluster.requests(mark, is_call).await?;
    let seconds = begin.elapsed().as_secs_f64();
    ensure!(
        (calls.len() as f64) < seconds,
        "{} calls in {seconds:.1} s: {calls:#?}",
        calls.len()
    );
    ensure!(versions().await? == before, "nothing has changed");

    edit(
        &scene,
        "extra",
        Some(&EXTRA.replace("{{ .spec.text }}", "{{ .spec.text }}!")),
    )
    .await?;
    let follows = |map: Option<&ConfigMap>| {
        map.and_then(|map| map.data.as_ref()?.get("text").cloned())
            .as_deref()
            == Some("hello!")
    };
    scene.wait(&maps, "web-199-extra", follows).await?;
    Ok(())
}

async fn create_owned(scene: &Scene<'_>, name: String) -> Result<()> {
    create(scene, &name).await
}

pub async fn a_child_refused_by_validation_is_told_and_heals(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("invalid").await?;
    let bad = EXTRA.replace("text:", "'no key!':");
    let _running = webs(
        &scene,
        &[
            ("extra", &bad),
            ("status", "address: {{ .errors.extra | quote }}\n"),
        ],
    )
    .await?;
    create(&scene, "one").await?;
    let object = scene
        .wait(
            &own(&scene, "Web"),
            "one",
            has("Synced", "False", "ApplyFailed"),
        )
        .await?;
    let status = object.context("it is there")?.data["status"].clone();
    ensure!(
        mentions(&status["address"], "no key!"),
        "the status template sees the refusal: {status}"
    );
    let line = bad
        .lines()
        .position(|line| line.contains("no key!"))
        .context("it has that line")?
        + 1;
    ensure!(
        mentions(&status["address"], &format!("extra.yaml:{line}:")),
        "with its place: {status}"
    );
    let named = tells(|status| {
        let first = &status["attention"][0];
        first["name"] == "one" && first["state"] == "Failing" && first["reason"] == "ApplyFailed"
    });
    scene.wait(&stacks(&scene), STACK, named).await?;
    ensure!(
        own(&scene, "Db").get_opt("one").await?.is_some(),
        "what can be made is made"
    );

    edit(&scene, "extra", Some(EXTRA)).await?;
    let object = scene
        .wait(&own(&scene, "Web"), "one", has("Ready", "True", ""))
        .await?
        .context("it is there")?;
    ensure!(
        object.data["status"]["address"].is_null(),
        "{}",
        object.data["status"]
    );
    scene
        .wait(
            &stacks(&scene),
            STACK,
            tells(|status| status["attention"].is_null()),
        )
        .await?;
    Ok(())
}

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: '{{ .metadata.name }}'}\n\
                       spec: {clusterIP: None, ports: [{port: 80}]}\n";

async fn depend_on_services(scene: &Scene<'_>) -> Result<()> {
    let kinds = json!([
        { "crd": "configmap/v1" }, { "crd": format!("db.{}/v1", scene.group()) }, { "crd": "service/v1" },
    ]);
    let patch = Patch::Merge(json!({ "spec": { "dependsOn": kinds } }));
    stacks(scene)
        .patch(STACK, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

pub async fn a_kind_that_may_not_be_watched_is_told_and_heals(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("unseen").await?;
    let _running = webs(&scene, &[("front", SERVICE)]).await?;
    create(&scene, "one").await?;
    let told = tells(|status| {
        mentions(&status["diagnostics"], "cannot watch services")
            && mentions(&status["diagnostics"], "service/v1")
    });
    scene.wait(&stacks(&scene), STACK, told).await?;
    depend_on_services(&scene).await?;
    scene
        .wait(&own(&scene, "Web"), "one", has("Ready", "True", ""))
        .await?;
    scene
        .wait(
            &stacks(&scene),
            STACK,
            tells(|status| !mentions(&status["diagnostics"], "cannot watch")),
        )
        .await?;
    Ok(())
}

pub async fn a_child_refused_by_rights_is_told_and_heals(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("forbidden").await?;
    let rules = json!([{ "apiGroups": [""], "resources": ["services"], "verbs": ["get", "list", "watch"] }]);
    let role: Role =
        serde_json::from_value(json!({ "metadata": { "name": "see" }, "rules": rules }))?;
    scene
        .api::<Role>()
        .create(&PostParams::default(), &role)
        .await?;
    let account = format!("stack-{STACK}");
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": { "name": "see" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "see" },
        "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": scene.namespace() }],
    }))?;
    scene
        .api::<RoleBinding>()
        .create(&PostParams::default(), &binding)
        .await?;
    let _running = webs(&scene, &[("front", SERVICE)]).await?;
    create(&scene, "one").await?;
    scene
        .wait(
            &own(&scene, "Web"),
            "one",
            has("Synced", "False", "Forbidden"),
        )
        .await?;
    ensure!(
        scene
            .api::<ConfigMap>()
            .get_opt("one-extra")
            .await?
            .is_some(),
        "what may be made is made"
    );
    depend_on_services(&scene).await?;
    scene
        .wait(&own(&scene, "Web"), "one", has("Ready", "True", ""))
        .await?;
    Ok(())
}

/// On the real server, where policies are carried out.
pub async fn a_child_refused_by_a_policy_is_told_and_heals(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("policy").await?;
    let name = format!("{}-no-hello", scene.namespace());
    let group = "admissionregistration.k8s.io";
    let policy = json!({
        "apiVersion": format!("{group}/v1"), "kind": "ValidatingAdmissionPolicy", "metadata": { "name": name },
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"],
            }] },
            "validations": [{
                "expression": "!has(object.data) || !('text' in object.data) || object.data['text'] != 'hello'",
                "message": "nobody says hello here",
            }],
        },
    });
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": "ValidatingAdmissionPolicyBinding", "metadata": { "name": name },
        "spec": {
            "policyName": name, "validationActions": ["Deny"],
            "matchResources": { "namespaceSelector": { "matchLabels": {
                "kubernetes.io/metadata.name": scene.namespace(),
            } } },
        },
    });
    for (object, kind, plural) in [
        (
            policy,
            "ValidatingAdmissionPolicy",
            "validatingadmissionpolicies",
        ),
        (
            binding,
            "ValidatingAdmissionPolicyBinding",
            "validatingadmissionpolicybindings",
        ),
    ] {
        let api: Api<DynamicObject> =
            Api::all_with(scene.client(), &resource(group, "v1", kind, plural));
        api.create(&PostParams::default(), &serde_json::from_value(object)?)
            .await?;
    }
    // The policy holds a moment after it is written: until a dry run is refused.
    let maps: Api<ConfigMap> = scene.api();
    let probe: ConfigMap = serde_json::from_value(
        json!({ "metadata": { "name": "p" }, "data": { "text": "hello" } }),
    )?;
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    scene
        .within("the policy to hold", async {
            while maps.create(&dry, &probe).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(())
        })
        .await?;
    let _running = webs(&scene, &[]).await?;
    create(&scene, "one").await?;
    let object = scene
        .wait(&own(&scene, "Web"), "one", has("Synced", "False", ""))
        .await?
        .context("it is there")?;
    ensure!(
        mentions(&object.data["status"], "nobody says hello here"),
        "{}",
        object.data["status"]
    );
    let polite = Patch::Merge(json!({ "spec": { "text": "good day" } }));
    own(&scene, "Web")
        .patch("one", &PatchParams::default(), &polite)
        .await?;
    scene
        .wait(&own(&scene, "Web"), "one", has("Ready", "True", ""))
        .await?;
    Ok(())
}

/// On the embedded server, which carries no policies out: its refusal is played.
pub async fn a_child_refused_by_a_played_policy_is_told_and_heals(_: Arc<Cluster>) -> Result<()> {
    let (cluster, faults) = fresh().await?;
    furnish(&cluster).await?;
    let scene = cluster.scene("policy").await?;
    furnished(&scene).await?;
    let refusal = ApiError::forbidden("", "configmaps", "one-extra", "nobody says hello here");
    let filter = Filter {
        user: Some(USER.into()),
        ..Filter::of("patch", "configmaps")
    };
    faults.add(Fault {
        filter,
        at: 0,
        trouble: Trouble::Fail(refusal),
    });
    let worker = work(&scene).await?;
    create(&scene, "one").await?;
    let object = scene
        .wait(&own(&scene, "Web"), "one", has("Synced", "False", ""))
        .await?
        .context("it is there")?;
    ensure!(
        mentions(&object.data["status"], "nobody says hello here"),
        "{}",
        object.data["status"]
    );
    faults.clear();
    says(
        &scene,
        &own(&scene, "Db"),
        "one",
        json!({ "endpoint": "db:1" }),
    )
    .await?;
    scene
        .wait(&own(&scene, "Web"), "one", has("Ready", "True", ""))
        .await?;
    worker.abort();
    Ok(())
}

pub async fn a_status_that_outgrows_the_object_ends_in_a_clear_error(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("large").await?;
    open_kind(&scene, "Db").await?;
    // Like PlusOne, but twice as long each time, so that it does not take a year.
    let seed = "x".repeat(40_000);
    let doubles = format!(
        "address: {{{{ .status.address }}}}{{{{ .status.address | default \"{seed}\" }}}}\n"
    );
    let files = package_of(scene.group(), "", &[("status", &doubles)]);
    let _running = running(&scene, &files, Duration::from_millis(200)).await?;
    create(&scene, "one").await?;
    let object = scene
        .wait(
            &own(&scene, "Web"),
            "one",
            has("Synced", "False", "RenderFailed"),
        )
        .await?;
    let status = object.context("it is there")?.data["status"].clone();
    ensure!(
        mentions(&status["conditions"], "no object may have more than"),
        "{}",
        status["conditions"]
    );
    ensure!(
        status["address"]
            .as_str()
            .is_some_and(|text| text.len() > 500_000),
        "what was there stays"
    );
    own(&scene, "Web")
        .delete("one", &DeleteParams::default())
        .await?;
    scene
        .wait(
            &own(&scene, "Web"),
            "one",
            |object: Option<&DynamicObject>| object.is_none(),
        )
        .await?;
    Ok(())
}
