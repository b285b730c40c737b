//! Templates that cost too much, by somebody who may write a Stack and instances, and nothing else:
//! their own stack says so, and whatever else its controller does goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use controller::template_stack_manager::{Parts, TemplateStackManager};
use engine::budget::{self, Limits};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use testkit::{Choices, Cluster, Scene, variants};

use crate::actor::{NEVER, STACK, web, webs};
use crate::attacks_fairness::tenant;
use crate::attacks_ours::attacker;
use crate::manager::{has, resource};
use crate::permitted::permitted;

/// Costs as much as its instance has text.
const LARGE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-extra'}\n\
                     {{ $l := until 1000 }}{{ range until (int (mul 50 (len .spec.text))) }}{{ if has -1 $l }}x{{ end }}{{ end }}\n\
                     data: {text: '{{ .spec.text }}'}\n";
/// The budgets of the controllers here, which are reached soon even without optimization.
const RENDER: u64 = 8_000_000;
const COMPILE: u64 = 20_000_000;
const SMALL_COMPILE: u64 = 6_000_000;

/// A template that costs far more than it is long, with a number of its own.
fn costly(choices: &mut Choices) -> String {
    let many = 100_000 + choices.below(900_000);
    let hash = *choices.pick(&["sha256sum", "sha1sum", "sha512sum", "adler32sum"]);
    let text = *choices.pick(&[
        "upper",
        "lower",
        "b64enc",
        "trim",
        "quote",
        "title",
        "snakecase",
        "nospace",
    ]);
    match choices.below(9) {
        // Those of the review first.
        0 => format!(
            "{{{{ $n := \"\" }}}}{{{{ $s := repeat {many} \"a\" }}}}{{{{ range until 700 }}}}{{{{ $n = {hash} $s | trunc 9 }}}}{{{{ end }}}}"
        ),
        1 => format!(
            "{{{{ $l := until 10000 }}}}{{{{ range until {many} }}}}{{{{ if has -1 $l }}}}x{{{{ end }}}}{{{{ end }}}}"
        ),
        2 => format!("{{{{ range until {many} }}}}{{{{ $_ := bcrypt \"x\" }}}}{{{{ end }}}}"),
        3 => {
            format!("{{{{ range until {many} }}}}{{{{ $_ := htpasswd \"u\" \"x\" }}}}{{{{ end }}}}")
        }
        4 => format!(
            "{{{{ $s := repeat {many} \"a b\" }}}}{{{{ range until 500 }}}}{{{{ $_ := {text} $s }}}}{{{{ end }}}}"
        ),
        5 => format!(
            "{{{{ range until 100000 }}}}{{{{ range until {many} }}}}{{{{ $_ := . }}}}{{{{ end }}}}{{{{ end }}}}"
        ),
        6 => format!(
            "{{{{ $s := repeat 5000 \"ab\" }}}}{{{{ range until {many} }}}}{{{{ $_ := regexMatch \"(a|b)*c\" $s }}}}{{{{ end }}}}"
        ),
        7 => format!(
            "{{{{ $d := dict }}}}{{{{ range $i := until {many} }}}}{{{{ $_ := set $d (toString $i) (keys $d | sortAlpha) }}}}{{{{ end }}}}"
        ),
        _ => format!(
            "{{{{ $j := until 5000 | toJson }}}}{{{{ range until {many} }}}}{{{{ $_ := fromJsonArray $j }}}}{{{{ end }}}}"
        ),
    }
}

/// The Stack as a user who may have installs and Stacks in the namespace, and nothing else.
async fn stacks_of_a_tenant(scene: &Scene<'_>) -> Result<Api<DynamicObject>> {
    tenant(scene).await?;
    let client = scene
        .cluster()
        .client_for_user(&format!("tenant-of-{}", scene.namespace()), &[])?;
    Ok(scene.dynamic(
        client,
        &resource("stacks.crossplane.io", "v1alpha1", "Stack", "stacks"),
    ))
}

/// The instances as a user who may write them.
async fn webs_of_a_user(scene: &Scene<'_>) -> Result<Api<DynamicObject>> {
    Ok(scene.dynamic(
        attacker(scene).await?,
        &resource(scene.group(), "v1", "Web", "webs"),
    ))
}

async fn edit(scene: &Scene<'_>, stacks: &Api<DynamicObject>, text: &str) -> Result<()> {
    let key = format!("web.{}/v1", scene.group());
    let patch = json!({ "spec": { "templates": { key: { "extra": text } } } });
    stacks
        .patch(STACK, &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    Ok(())
}

/// A controller of the stack with small budgets.
async fn frugal(scene: &Scene<'_>, compile: u64) -> Result<Arc<TemplateStackManager>> {
    let client = scene
        .cluster()
        .client_for_service_account(scene.namespace(), &format!("stack-{STACK}"))
        .await?;
    let render = Limits {
        work: RENDER,
        time: Duration::from_secs(60),
        ..budget::RENDER
    };
    let compile = Limits {
        work: compile,
        time: Duration::from_secs(60),
        ..budget::COMPILE
    };
    let parts = Parts {
        resync: NEVER,
        render,
        compile,
        ..Parts::new(client, scene.namespace(), STACK)
    };
    let manager = TemplateStackManager::start(parts).await;
    let worker = manager.clone();
    tokio::spawn(async move { worker.run().await });
    Ok(manager)
}

fn reads(text: &str) -> impl Fn(Option<&ConfigMap>) -> bool + use<> {
    let text = text.to_owned();
    move |map| {
        map.and_then(|map| map.data.as_ref()?.get("text").cloned())
            .as_deref()
            == Some(text.as_str())
    }
}

/// Fifty variants at once: instances of all sizes, by a user who may write them.
pub async fn an_instance_over_budget_says_so_and_others_of_its_stack_go_on(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("costly").await?;
    let running = webs(&scene, &[("extra", LARGE)]).await?;
    running.manager.stop();
    let manager = frugal(&scene, COMPILE).await?;
    let api = webs_of_a_user(&scene).await?;
    let mut created = Vec::new();
    for (index, mut choices) in variants() {
        let is_large = index % 2 == 0;
        let size = if is_large {
            20 + choices.below(2_000)
        } else {
            1 + choices.below(2)
        };
        let (name, text) = (
            format!("v{index}-{}", choices.name("a", 12)),
            choices.pick(&["a", "b"]).repeat(size),
        );
        api.create(&PostParams::default(), &web(&scene, &name, &text))
            .await?;
        created.push((index, name, text, is_large));
    }
    let maps: Api<ConfigMap> = scene.api();
    for (index, name, text, is_large) in &created {
        let map = format!("{name}-extra");
        if !is_large {
            scene
                .wait(&maps, &map, reads(text))
                .await
                .with_context(|| format!("variant {index}"))?;
            continue;
        }
        let large = scene
            .wait(&api, name, has("Synced", "False", ""))
            .await
            .with_context(|| format!("{index}"))?;
        let told = large.context("it is there")?.data["status"]["conditions"].to_string();
        ensure!(
            told.contains("extra.yaml:4:") && told.contains("over budget: "),
            "variant {index}: {told}"
        );
        ensure!(
            told.contains(&format!("of {RENDER} units of work")),
            "what was spent, variant {index}: {told}"
        );
        ensure!(maps.get_opt(&map).await?.is_none(), "variant {index}");
    }
    // It is a verdict: nothing is tried again until something changes.
    let idle = async {
        while !manager.is_idle() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), idle)
        .await
        .context("the work comes to an end")?;
    let (_, large, _, _) = &created[0];
    let patch = Patch::Merge(json!({ "spec": { "text": "b" } }));
    api.patch(large, &PatchParams::default(), &patch).await?;
    scene
        .wait(&maps, &format!("{large}-extra"), reads("b"))
        .await?;
    manager.stop();
    Ok(())
}

/// Fifty variants in turn, by a user who may write the Stack.
pub async fn a_stack_over_budget_says_so_and_what_it_made_stays(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("costlier").await?;
    let running = webs(&scene, &[]).await?;
    running.manager.stop();
    let manager = frugal(&scene, SMALL_COMPILE).await?;
    let (api, stacks) = (
        webs_of_a_user(&scene).await?,
        stacks_of_a_tenant(&scene).await?,
    );
    api.create(&PostParams::default(), &web(&scene, "one", "a"))
        .await?;
    let maps: Api<ConfigMap> = scene.api();
    scene.wait(&maps, "one-extra", reads("a")).await?;
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-extra'}\n";
    for (index, mut choices) in variants() {
        // The place tells the verdict on one variant from that on the one before.
        let (attack, lines) = (costly(&mut choices), index % 7);
        let filling = "# x\n".repeat(lines);
        edit(
            &scene,
            &stacks,
            &format!("{head}{filling}{attack}\ndata: {{text: '{{{{ .spec.text }}}}'}}\n"),
        )
        .await?;
        let told = move |stack: Option<&DynamicObject>| {
            let first = stack
                .map(|stack| stack.data["status"]["diagnostics"][0].clone())
                .unwrap_or_default();
            let place = (first["template"] == "extra") && first["line"] == json!(4 + lines);
            let spent = first["message"]
                .as_str()
                .is_some_and(|message| message.contains("over budget: "));
            place && spent && first["hint"] != Value::Null
        };
        let found = scene.wait(&stacks, STACK, told).await;
        found.with_context(|| format!("variant {index}: {attack}"))?;
        ensure!(
            maps.get_opt("one-extra").await?.is_some(),
            "variant {index}: what was made stays"
        );
        if index % 10 == 9 {
            edit(
                &scene,
                &stacks,
                &format!("{head}data: {{text: '{{{{ .spec.text }}}}-{index}'}}\n"),
            )
            .await?;
            scene
                .wait(&maps, "one-extra", reads(&format!("a-{index}")))
                .await?;
        }
    }
    manager.stop();
    Ok(())
}

/// How long it takes until an instance follows its text, the median of some changes.
async fn pace(scene: &Scene<'_>, api: &Api<DynamicObject>, hint: &str) -> Result<Duration> {
    let maps: Api<ConfigMap> = scene.api();
    let mut times = Vec::new();
    for turn in 0..7 {
        let text = format!("{hint}{turn}");
        let before = Instant::now();
        let patch = Patch::Merge(json!({ "spec": { "a": text } }));
        api.patch("victim", &PatchParams::default(), &patch).await?;
        scene.wait(&maps, "victim", reads(&text)).await?;
        times.push(before.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2])
}

/// A stack of the cluster that serves two namespaces: fifty costly instances in one of them, which
/// change all the time, are not noticed in the other.
pub async fn costly_instances_of_one_namespace_hold_up_no_other_of_the_same_stack(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = crate::manager::manager(&cluster).await?;
    let (victim, attacked) = (
        cluster.scene("served").await?,
        cluster.scene("served-too").await?,
    );
    let (name, repository) = (
        victim.namespace().to_owned(),
        format!("{}/redis", victim.namespace()),
    );
    let app = "permissionScope: Cluster\ndependsOn: [{crd: configmap/v1}]\n";
    let mut files = crate::manager::package(victim.group(), "1.0.0", &["a"], app);
    let (_, template) = files
        .iter_mut()
        .find(|(path, _)| path.contains("/templates/"))
        .context("a template")?;
    let costly = "{{ $l := until 1000 }}{{ range until (int (mul 50 (len .spec.a))) }}{{ if has -1 $l }}x{{ end }}{{ end }}\n\
                  data: {text: {{ .spec.a | quote }}}\n";
    template.extend_from_slice(costly.as_bytes());
    manager.shelf.put(&repository, "1.0.0", files);
    let kind = resource(
        "stacks.crossplane.io",
        "v1alpha1",
        "ClusterStackInstall",
        "clusterstackinstalls",
    );
    let installs: Api<DynamicObject> = Api::all_with(victim.client(), &kind);
    let install = json!({
        "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "ClusterStackInstall", "metadata": { "name": name },
        "spec": { "package": format!("{repository}:1.0.0"), "namespaces": [victim.namespace(), attacked.namespace()] },
    });
    installs
        .create(&PostParams::default(), &serde_json::from_value(install)?)
        .await?;
    let found = victim
        .wait(&installs, &name, has("Ready", "True", ""))
        .await?
        .context("it is there")?;
    let place = found.data["status"]["namespace"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let client = cluster
        .client_for_service_account(&place, &format!("stack-{name}"))
        .await?;
    let render = Limits {
        work: 4 * RENDER,
        time: Duration::from_secs(60),
        ..budget::RENDER
    };
    let parts = Parts {
        resync: NEVER,
        render,
        ..Parts::new(client, &place, &name)
    };
    let running = TemplateStackManager::start(parts).await;
    let worker = running.clone();
    tokio::spawn(async move { worker.run().await });

    let redis = |name: &str, text: &str| -> Result<DynamicObject> {
        let kind = json!({ "apiVersion": format!("{}/v1", victim.group()), "kind": "Redis" });
        let mut object = kind;
        object["metadata"] = json!({ "name": name });
        object["spec"] = json!({ "a": text });
        Ok(serde_json::from_value(object)?)
    };
    let redises = resource(victim.group(), "v1", "Redis", "redises");
    let hers = victim.dynamic(victim.client(), &redises);
    hers.create(&PostParams::default(), &redis("victim", "a")?)
        .await?;
    let alone = pace(&victim, &hers, "x").await?;

    // The owner of a namespace may write the instances that are served there.
    let user = format!("user-of-{}", attacked.namespace());
    let role = json!({
        "metadata": { "name": "user" },
        "rules": [{ "apiGroups": [victim.group()], "resources": ["redises"], "verbs": ["*"] }],
    });
    let binding = json!({
        "metadata": { "name": "user" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "user" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    });
    attacked
        .api::<Role>()
        .create(&PostParams::default(), &serde_json::from_value(role)?)
        .await?;
    attacked
        .api::<RoleBinding>()
        .create(&PostParams::default(), &serde_json::from_value(binding)?)
        .await?;
    let theirs = attacked.dynamic(cluster.client_for_user(&user, &[])?, &redises);
    permitted(&attacked, &theirs).await?;
    let mut names = Vec::new();
    for (index, mut choices) in variants() {
        names.push(format!("v{index}-{}", choices.name("a", 12)));
        let text = "a".repeat(20 + choices.below(400));
        theirs
            .create(&PostParams::default(), &redis(&names[index], &text)?)
            .await?;
    }
    let attack = async {
        for turn in 0_usize.. {
            let text = "a".repeat(20 + turn % 500);
            let patch = Patch::Merge(json!({ "spec": { "a": text } }));
            theirs
                .patch(&names[turn % names.len()], &PatchParams::default(), &patch)
                .await?;
        }
        anyhow::Ok(())
    };
    let attacked_pace = tokio::select! {
        ended = attack => { ended?; anyhow::bail!("the attack ended") }
        pace = pace(&victim, &hers, "y") => pace?,
    };
    println!(
        "another namespace's instance follows after {alone:?} alone and {attacked_pace:?} under attack"
    );
    // Costly renders take a core, and its API server answers fifty patches meanwhile; behind the
    // attacker's queue it would be fifty renders.
    let bound = alone * 20 + Duration::from_secs(2);
    ensure!(
        attacked_pace < bound,
        "{attacked_pace:?} under attack, {alone:?} alone"
    );
    running.stop();
    installs
        .delete(&name, &kube::api::DeleteParams::default())
        .await?;
    victim
        .wait(&installs, &name, |object: Option<&DynamicObject>| {
            object.is_none()
        })
        .await?;
    Ok(())
}
