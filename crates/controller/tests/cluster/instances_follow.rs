//! What a Stack says of its templates, and what it follows: a bad one is not ready, a changed CRD
//! is followed at once, a status that comes out empty is cleared, and the first status is no news.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use testkit::{Cluster, Request, Scene};

use crate::actor::{
    NEVER, Running, STACK, is_call, open_kind, own, package_of, running, web, webs,
};
use crate::manager::{definitions, has, stacks};

fn merge(patch: Value) -> Patch<Value> {
    Patch::Merge(patch)
}

pub async fn a_stack_that_does_not_compile_is_not_ready_and_warns(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("verdict").await?;
    let _running = webs(&scene, &[]).await?;
    let key = format!("web.{}/v1", scene.group());
    let bad =
        merge(json!({ "spec": { "templates": { &key: { "extra": "{{ .spec.nonesuch }" } } } }));
    stacks(&scene)
        .patch(STACK, &PatchParams::default(), &bad)
        .await?;
    let told = scene
        .wait(
            &stacks(&scene),
            STACK,
            has("Ready", "False", "InvalidTemplates"),
        )
        .await?;
    let said = told.context("it is there")?.data["status"]["conditions"].to_string();
    ensure!(said.contains(&format!("{key}/extra.yaml:1:")), "{said}");
    let warned = async {
        loop {
            let events = scene.api::<Event>().list(&ListParams::default()).await?;
            let is_warning = |event: &Event| {
                event.type_.as_deref() == Some("Warning")
                    && event.reason.as_deref() == Some("InvalidTemplates")
            };
            if events.iter().any(is_warning) {
                return Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    scene.within("the Event", warned).await?;
    let good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-extra'}\n";
    let good = merge(json!({ "spec": { "templates": { &key: { "extra": good } } } }));
    stacks(&scene)
        .patch(STACK, &PatchParams::default(), &good)
        .await?;
    scene
        .wait(&stacks(&scene), STACK, has("Ready", "True", ""))
        .await?;
    Ok(())
}

pub async fn a_crd_that_changes_under_a_stack_by_hand_is_followed_at_once(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("followed").await?;
    let _running = webs(&scene, &[]).await?;
    own(&scene, "Web")
        .create(&PostParams::default(), &web(&scene, "one", "hello"))
        .await?;
    scene
        .wait(&own(&scene, "Web"), "one", has("Ready", "True", ""))
        .await?;
    // Without the new field the template does not compile.
    let key = format!("web.{}/v1", scene.group());
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-extra'}\n\
                    data: {text: '{{ .spec.size }}'}\n";
    let change = merge(json!({ "spec": { "templates": { key: { "extra": template } } } }));
    let mark = cluster.mark()?;
    stacks(&scene)
        .patch(STACK, &PatchParams::default(), &change)
        .await?;
    scene
        .wait(
            &stacks(&scene),
            STACK,
            has("Ready", "False", "InvalidTemplates"),
        )
        .await?;
    // After the second time, the manager does not ask by itself what is served.
    let (user, page) = (
        scene.service_account_user(&format!("stack-{STACK}")),
        format!("/openapi/v3/apis/{}/v1", scene.group()),
    );
    let asking = async {
        loop {
            let (user, page) = (user.clone(), page.clone());
            let asks =
                move |request: &Request| request.user == user && request.uri.starts_with(&page);
            if cluster.requests(mark, asks).await?.len() >= 2 {
                return Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    scene
        .within("the manager to ask twice what is served", asking)
        .await?;
    let size = json!({ "type": "integer", "default": 3 });
    let place = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size";
    let add = serde_json::from_value(json!([{ "op": "add", "path": place, "value": size }]))?;
    let crds = definitions(scene.client());
    crds.patch(
        &format!("webs.{}", scene.group()),
        &PatchParams::default(),
        &Patch::<()>::Json(add),
    )
    .await?;
    let done = |map: Option<&ConfigMap>| {
        map.and_then(|map| map.data.as_ref()?.get("text").cloned())
            .as_deref()
            == Some("3")
    };
    scene
        .wait(&scene.api::<ConfigMap>(), "one-extra", done)
        .await?;
    scene
        .wait(&stacks(&scene), STACK, has("Ready", "True", ""))
        .await?;
    Ok(())
}

/// A stack whose kind `Note` has a status without conditions, made by this template.
async fn notes(scene: &Scene<'_>, status: &str) -> Result<Running> {
    open_kind(scene, "Db").await?;
    let mut files = package_of(scene.group(), "", &[("status", status)]);
    for text in files.values_mut() {
        let open = String::from_utf8_lossy(text).replace(
            "conditions: {type: array, items: {type: object, properties: {",
            "other: {type: array, items: {type: object, properties: {",
        );
        *text = open.into_bytes();
    }
    running(scene, &files, NEVER).await
}

pub async fn a_status_that_comes_out_empty_is_cleared(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("cleared").await?;
    let _running = notes(
        &scene,
        "{{ if ne .spec.text \"none\" }}address: '{{ .spec.text }}'{{ end }}\n",
    )
    .await?;
    let webs = own(&scene, "Web");
    webs.create(&PostParams::default(), &web(&scene, "one", "hello"))
        .await?;
    let says = |text: Value| {
        move |object: Option<&DynamicObject>| {
            object.is_some_and(|object| object.data["status"]["address"] == text)
        }
    };
    scene.wait(&webs, "one", says(json!("hello"))).await?;
    let theirs = merge(json!({ "status": { "other": [{ "type": "theirs" }] } }));
    webs.patch_status("one", &PatchParams::default(), &theirs)
        .await?;
    webs.patch(
        "one",
        &PatchParams::default(),
        &merge(json!({ "spec": { "text": "none" } })),
    )
    .await?;
    let object = scene
        .wait(&webs, "one", says(Value::Null))
        .await?
        .context("it is there")?;
    ensure!(
        object.data["status"]["other"][0]["type"] == "theirs",
        "what others said stays: {}",
        object.data["status"]
    );
    Ok(())
}

pub async fn the_first_status_is_no_reason_to_look_again(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("first-status").await?;
    // It grows with each look.
    let running = notes(&scene, "address: '{{ .status.address | default \"\" }}+'\n").await?;
    let webs = own(&scene, "Web");
    for index in 0..5 {
        webs.create(
            &PostParams::default(),
            &web(&scene, &format!("w{index}"), "hello"),
        )
        .await?;
    }
    let mark = cluster.mark()?;
    for index in 0..5 {
        let said = |object: Option<&DynamicObject>| {
            object.is_some_and(|object| object.data["status"]["address"].is_string())
        };
        scene.wait(&webs, &format!("w{index}"), said).await?;
    }
    webs.create(&PostParams::default(), &web(&scene, "last", "hello"))
        .await?;
    scene
        .wait(&webs, "last", |object: Option<&DynamicObject>| {
            object.is_some_and(|object| object.data["status"]["address"].is_string())
        })
        .await?;
    scene
        .within("the manager to rest", async {
            while !running.manager.is_idle() {
                tokio::task::yield_now().await;
            }
            Ok(())
        })
        .await?;
    for index in 0..5 {
        let found = webs.get(&format!("w{index}")).await?;
        ensure!(
            found.data["status"]["address"] == "+",
            "{}",
            found.data["status"]
        );
    }
    let is_call = is_call(&scene);
    let calls = cluster
        .requests(mark, move |request| {
            is_call(request) && request.subresource == "status"
        })
        .await?;
    ensure!(calls.len() <= 6, "{calls:#?}");
    Ok(())
}

pub async fn fields_taken_inside_a_map_of_objects_are_put_back(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("taken").await?;
    let entry = json!({ "type": "object", "properties": { "size": { "type": "integer" }, "colour": { "type": "string" } } });
    let things = json!({ "type": "object", "additionalProperties": entry });
    scene
        .install_crd(&scene.crd(
            "Thing",
            &json!({ "type": "object", "properties": { "things": things } }),
        ))
        .await?;
    let template = |kind: &str| {
        format!(
            "apiVersion: {}/v1\nkind: {kind}\nmetadata: {{name: '{{{{ .metadata.name }}}}-things'}}\n\
             spec: {{things: {{a: {{size: 1, colour: red}}, b: {{size: 1}}}}}}\n",
            scene.group()
        )
    };
    open_kind(&scene, "Db").await?;
    let mut files = package_of(
        scene.group(),
        "",
        &[("open", &template("Db")), ("typed", &template("Thing"))],
    );
    let app = files.get_mut(".registry/app.yaml").context("it is there")?;
    let more = format!("dependsOn: [{{crd: thing.{}/v1}}, ", scene.group());
    *app = String::from_utf8_lossy(app)
        .replace("dependsOn: [", &more)
        .into_bytes();
    let _running = running(&scene, &files, NEVER).await?;
    own(&scene, "Web")
        .create(&PostParams::default(), &web(&scene, "one", "hello"))
        .await?;
    scene
        .wait(&own(&scene, "Web"), "one", has("Ready", "True", ""))
        .await?;
    for kind in ["Db", "Thing"] {
        let api = own(&scene, kind);
        for (what, change) in [
            (
                "all fields of an entry",
                json!({ "a": { "size": 2, "colour": "blue" } }),
            ),
            ("the only field of an entry", json!({ "b": { "size": 3 } })),
            (
                "all of them",
                json!({ "a": { "size": 4, "colour": "green" }, "b": { "size": 5 } }),
            ),
            ("a field", json!({ "a": { "size": 6 } })),
        ] {
            api.patch(
                "one-things",
                &PatchParams::default(),
                &merge(json!({ "spec": { "things": change } })),
            )
            .await?;
            let is_back = |object: Option<&DynamicObject>| {
                let things = object
                    .map(|object| object.data["spec"]["things"].clone())
                    .unwrap_or_default();
                things == json!({ "a": { "size": 1, "colour": "red" }, "b": { "size": 1 } })
            };
            scene
                .wait(&api, "one-things", is_back)
                .await
                .with_context(|| format!("{kind}: {what}"))?;
        }
    }
    Ok(())
}
