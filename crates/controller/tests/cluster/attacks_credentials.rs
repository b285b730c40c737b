//! Attacks on credentials and reach: templates that ask for the tokens of others, seeds that were
//! lost, and cluster stacks that are limited to namespaces.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::conditions::is_deleted;
use serde_json::json;
use testkit::{Choices, Cluster, variants};

use crate::actor::{NEVER, open_kind, own, package_of, running, web};
use crate::attacks_cluster_stacks::{cluster_installs, wide};
use crate::attacks_identity::{bare, defined, each, looked_at, removed};
use crate::installs::{code, redis, redises};
use crate::manager::{has, manager, resource, stacks};

/// The types of Secrets that are credentials.
const TYPES: [&str; 2] = [
    "kubernetes.io/service-account-token",
    "bootstrap.kubernetes.io/token",
];
/// How templates compute the type, from what is in `$t`.
const SPELLINGS: [&str; 9] = [
    "type: '{{ $t }}'",
    "type: {{ $t | quote }}",
    "type: '{{ $t | b64dec }}'",
    "type: '{{ $t | lower }}'",
    "type: '{{ $t | replace \"_\" \"/\" }}'",
    "type: '{{ default $t \"\" }}'",
    "type: '{{ printf \"%s\" (trim $t) }}'",
    "type: '{{ $t }}'\nstringData: {token-id: abcdef, token-secret: 0123456789abcdef, usage-bootstrap-authentication: 'true'}",
    "type: {{ $t | toJson }}\nstringData: {extra: x}",
];

/// What an instance says so that the template of this spelling comes to a type.
fn spelt(spelling: usize, kind: &str) -> String {
    let text = match spelling {
        2 => base64(kind),
        3 => kind.to_uppercase(),
        4 => kind.replace('/', "_"),
        6 => format!("  {kind} "),
        _ => kind.to_owned(),
    };
    format!("{spelling}|{text}")
}

fn base64(text: &str) -> String {
    serde_json::to_value(k8s_openapi::ByteString(text.as_bytes().to_vec()))
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

pub async fn no_template_makes_a_secret_with_the_credentials_of_others(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("tokens").await?;
    open_kind(&scene, "Db").await?;
    scene.service_account("admin-of-all").await?;
    let templates: Vec<(String, String)> = SPELLINGS
        .iter()
        .enumerate()
        .map(|(index, spelling)| {
            let text = format!(
                "{{{{- $p := splitList \"|\" .spec.text }}}}{{{{ $t := last $p }}}}{{{{ if eq (first $p) \"{index}\" }}}}\n\
                 apiVersion: v1\nkind: Secret\nmetadata: {{name: '{{{{ .metadata.name }}}}-{index}'}}\n{spelling}\n{{{{ end }}}}\n"
            );
            (format!("token{index}"), text)
        })
        .collect();
    // Which service account, says an annotation: without one of these types it says nothing.
    let named = "{{- if hasPrefix \"account\" .spec.text }}\napiVersion: v1\nkind: Secret\nmetadata:\n  \
                 name: '{{ .metadata.name }}-named'\n  \
                 annotations: {'kubernetes.io/{{ last (splitList \"|\" .spec.text) }}': admin-of-all}\n{{ end }}\n";
    let mut more: Vec<(&str, &str)> = templates
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    more.extend([
        ("named", named),
        ("status", "address: '{{ .token0.data.token }}'\n"),
    ]);
    let mut files = package_of(scene.group(), "", &more);
    if let Some(app) = files.get_mut(".registry/app.yaml") {
        *app = String::from_utf8_lossy(app)
            .replace(
                "{crd: configmap/v1}",
                "{crd: configmap/v1}, {crd: secret/v1}",
            )
            .into_bytes();
    }
    let _running = running(&scene, &files, NEVER).await?;
    let mut all = Vec::new();
    for (index, mut choices) in variants() {
        let name = format!("{}{index}", choices.name("t", 20));
        let text = match index % 10 {
            9 => format!(
                "account|{}",
                choices.pick(&["service-account.name", "service-account.uid"])
            ),
            spelling => {
                let kind = *choices.pick(&TYPES);
                spelt(spelling, kind)
            }
        };
        own(&scene, "Web")
            .create(&PostParams::default(), &web(&scene, &name, &text))
            .await?;
        all.push((index, name, text));
    }
    for (index, name, text) in all {
        let told = |object: Option<&DynamicObject>| {
            let conditions = object
                .map(|object| object.data["status"]["conditions"].to_string())
                .unwrap_or_default();
            conditions.contains("no stack may make a Secret")
        };
        let found = scene.wait(&own(&scene, "Web"), &name, told).await;
        let now = own(&scene, "Web").get(&name).await?.data["status"].clone();
        found.with_context(|| format!("variant {index} ({text}): {now}"))?;
        ensure!(now["address"].is_null(), "variant {index} ({text}): {now}");
    }
    for secret in scene.api::<Secret>().list(&ListParams::default()).await? {
        let is_credential = secret
            .type_
            .as_deref()
            .is_some_and(|kind| TYPES.contains(&kind));
        let named = secret.metadata.annotations.unwrap_or_default();
        let asks = named
            .keys()
            .any(|key| key.starts_with("kubernetes.io/service-account"));
        ensure!(
            !is_credential && !asks,
            "{:?} {:?}",
            secret.metadata.name,
            secret.type_
        );
    }
    Ok(())
}

/// What is under the name of a seed: nothing, or bytes that are none.
fn damaged(choices: &mut Choices) -> Option<String> {
    let length = *choices.pick(&[0, 1, 16, 31, 33, 64]);
    choices.toss().then(|| "x".repeat(length))
}

pub async fn a_seed_that_is_missing_or_damaged_is_never_replaced_without_consent(
    cluster: Arc<Cluster>,
) -> Result<()> {
    manager(&cluster).await?;
    let scene = cluster.scene("seeds").await?;
    defined(&scene).await?;
    redises(&scene, scene.client())
        .create(&PostParams::default(), &redis(&scene, "one"))
        .await?;
    let seeds: Api<Secret> = Api::namespaced(scene.client(), "cairn");
    each(variants().map(|(index, mut choices)| {
        let (scene, seeds) = (&scene, seeds.clone());
        async move {
            let name = format!("s{index}-{}", choices.name("", 30));
            let at = api::names::seed(scene.namespace(), &name);
            let bytes = [index as u8; 32];
            let commitment = install::Commitment::to("cairn", &at, &bytes).to_string();
            let damage = damaged(&mut choices);
            if let Some(text) = &damage {
                let secret = json!({ "metadata": { "name": at }, "stringData": { "seed": text } });
                seeds.create(&PostParams::default(), &serde_json::from_value(secret)?).await?;
            }
            // It came back from a backup, and its seed did not.
            let mut stack = bare(scene, &name, &json!({}));
            stack.metadata.annotations = Some([("stacks.crossplane.io/seed".to_owned(), commitment.clone())].into());
            let all = stacks(scene);
            all.create(&PostParams::default(), &stack).await?;
            let told = scene.wait(&all, &name, has("Ready", "False", "SeedLost")).await;
            let told = told.with_context(|| format!("variant {index}"))?.context("it is there")?;
            ensure!(told.data["status"].to_string().contains("accept-new-seed=sha256:"), "{}", told.data["status"]);
            let found = seeds.get_opt(&at).await?;
            ensure!(found.is_some() == damage.is_some(), "variant {index}: a seed was generated");
            // Consent is to losing this very seed.
            let hash = commitment.split_once('#').context("it commits to its seed")?.1.to_owned();
            if choices.toss() {
                let wrong = (*choices.pick(&["true", "sha256:00", "yes"])).to_owned();
                let accept =
                    json!({ "metadata": { "annotations": { "stacks.crossplane.io/accept-new-seed": wrong } } });
                all.patch(&name, &PatchParams::default(), &Patch::Merge(accept)).await?;
                looked_at(scene, &name).await?;
                let now = all.get(&name).await?;
                ensure!(has("Ready", "False", "SeedLost")(Some(&now)), "variant {index}: {}", now.data["status"]);
            }
            let accept = json!({ "metadata": { "annotations": { "stacks.crossplane.io/accept-new-seed": hash } } });
            all.patch(&name, &PatchParams::default(), &Patch::Merge(accept)).await?;
            scene.wait(&all, &name, has("Ready", "True", "")).await.with_context(|| format!("variant {index}"))?;
            let seed = seeds.get(&at).await?.data.unwrap_or_default().remove("seed").context("it has a seed")?.0;
            ensure!(seed.len() == 32 && seed != bytes, "variant {index}");
            removed(scene, &all, &name).await
        }
    }))
    .await?;
    ensure!(
        redises(&scene, scene.client())
            .get_opt("one")
            .await?
            .is_some(),
        "what none of them ran stays"
    );
    Ok(())
}

/// How many variants share an install: a CRD and a controller for each would cost more than they
/// tell.
const SHARED: usize = 10;

pub async fn a_cluster_stack_reaches_the_namespaces_that_it_is_limited_to_however_they_are_listed(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("reach").await?;
    let (one, two) = (
        cluster.scene("reach-one").await?,
        cluster.scene("reach-two").await?,
    );
    let places = [
        scene.namespace().to_owned(),
        one.namespace().to_owned(),
        two.namespace().to_owned(),
    ];
    let all = cluster_installs(&scene);
    let mut variants: Vec<(usize, Choices)> = variants().collect();
    let mut groups = Vec::new();
    while !variants.is_empty() {
        groups.push(variants.split_off(variants.len().saturating_sub(SHARED)));
    }
    each(groups.into_iter().map(|mut group| {
        let (scene, manager, cluster, places, all) =
            (&scene, &manager, &cluster, places.clone(), all.clone());
        async move {
            let (first, choices) = &mut group[0];
            let name = format!("{}-{first}{}", scene.namespace(), choices.name("x", 12));
            wide(scene, manager, &name, &json!({ "namespaces": [places[0]] })).await?;
            let ready = scene.wait(&all, &name, has("Ready", "True", "")).await;
            let found = all.get(&name).await?;
            ready.with_context(|| format!("{name}: {}", found.data["status"]))?;
            let place = found.data["status"]["namespace"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let kind = resource("stacks.crossplane.io", "v1alpha1", "Stack", "stacks");
            let stacks: Api<DynamicObject> = Api::namespaced_with(scene.client(), &place, &kind);
            let account = stacks.get(&name).await?.data["status"]["serviceAccount"].clone();
            let client = cluster
                .client_for_service_account(&place, account.as_str().unwrap_or_default())
                .await?;
            for (index, mut choices) in group {
                let count = 1 + choices.below(3);
                let listed = choices.shuffled(places.to_vec())[..count].to_vec();
                let mut spelt = listed.clone();
                spelt.extend(
                    listed
                        .iter()
                        .filter(|_| choices.toss())
                        .cloned()
                        .collect::<Vec<_>>(),
                );
                let patch = json!({ "spec": { "namespaces": choices.shuffled(spelt) } });
                all.patch(&name, &PatchParams::default(), &Patch::Merge(patch))
                    .await?;
                let expected: BTreeSet<String> = listed.into_iter().collect();
                let told = json!(expected);
                let done = move |stack: Option<&DynamicObject>| {
                    stack.is_some_and(|stack| stack.data["status"]["namespaces"] == told)
                };
                scene
                    .wait(&stacks, &name, done)
                    .await
                    .with_context(|| format!("variant {index}"))?;
                for namespace in places
                    .iter()
                    .map(String::as_str)
                    .chain(["default", "cairn", &place])
                {
                    let maps = Api::<ConfigMap>::namespaced(client.clone(), namespace);
                    let wanted = if expected.contains(namespace) {
                        200
                    } else {
                        403
                    };
                    let answered = code(&maps.list(&ListParams::default()).await);
                    ensure!(
                        answered == wanted,
                        "variant {index}: {answered} in {namespace}"
                    );
                }
                let everywhere = Api::<ConfigMap>::all(client.clone())
                    .list(&ListParams::default())
                    .await;
                ensure!(code(&everywhere) == 403, "variant {index}");
            }
            all.delete(&name, &DeleteParams::default()).await?;
            scene
                .wait(
                    &all,
                    &name,
                    is_deleted(&found.metadata.uid.unwrap_or_default()),
                )
                .await?;
            for namespace in &places {
                let bindings: Api<RoleBinding> = Api::namespaced(scene.client(), namespace);
                let left = bindings
                    .get_opt(&api::names::role(&place, &name, api::names::Role::System))
                    .await?;
                ensure!(
                    left.is_none(),
                    "{name}: its permissions in {namespace} stay"
                );
            }
            Ok(())
        }
    }))
    .await?;
    Ok(())
}
