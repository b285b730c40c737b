//! A tenant that asks for too much, or for what never comes: other tenants do not notice.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use controller::stack_manager::Bounds;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};
use testkit::{Cluster, Scene, variants};

use crate::manager::{Manager, has, install, installed, installs, manager, package, resource};
use crate::permitted::permitted;

/// Installs of a scene's namespace as a user who may have installs and Stacks there, and nothing
/// else.
pub async fn tenant(scene: &Scene<'_>) -> Result<Api<DynamicObject>> {
    let user = format!("tenant-of-{}", scene.namespace());
    let role = json!({
        "metadata": { "name": "tenant" },
        "rules": [{ "apiGroups": ["stacks.crossplane.io"], "resources": ["stackinstalls", "stacks"], "verbs": ["*"] }],
    });
    let binding = json!({
        "metadata": { "name": "tenant" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    });
    scene
        .api::<Role>()
        .create(&PostParams::default(), &serde_json::from_value(role)?)
        .await?;
    scene
        .api::<RoleBinding>()
        .create(&PostParams::default(), &serde_json::from_value(binding)?)
        .await?;
    let kind = resource(
        "stacks.crossplane.io",
        "v1alpha1",
        "StackInstall",
        "stackinstalls",
    );
    let api = scene.dynamic(scene.cluster().client_for_user(&user, &[])?, &kind);
    permitted(scene, &api).await?;
    Ok(api)
}

fn named(scene: &Scene<'_>, name: &str, package: &str) -> Result<DynamicObject> {
    let object: Value = json!({
        "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "StackInstall",
        "metadata": { "name": name, "namespace": scene.namespace() }, "spec": { "package": package },
    });
    Ok(serde_json::from_value(object)?)
}

async fn create_all(api: &Api<DynamicObject>, objects: Vec<DynamicObject>) -> Result<()> {
    let create =
        |object: DynamicObject| async move { api.create(&PostParams::default(), &object).await };
    stream::iter(objects)
        .map(create)
        .buffer_unordered(8)
        .try_collect::<Vec<_>>()
        .await?;
    Ok(())
}

/// How much longer an install may take while another tenant attacks.
const NOTICEABLE: Duration = Duration::from_secs(2);

/// How long an install takes without an attack: the longer of two, since other scenarios run beside
/// this one.
async fn usual(cluster: &Cluster, manager: &Manager) -> Result<Duration> {
    let mut longest = Duration::ZERO;
    for hint in ["usual", "usual-again"] {
        let scene = cluster.scene(hint).await?;
        let before = Instant::now();
        installed(&scene, manager, &["a"], "").await?;
        longest = longest.max(before.elapsed());
    }
    Ok(longest)
}

/// Fifty packages of one tenant, all of which could be had at once: what is fetched and not
/// compiled yet takes memory, so that there is never more of it than pulls of a namespace.
pub async fn packages_that_wait_to_be_unpacked_are_as_few_as_pulls_of_a_namespace(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let attacked = cluster.scene("piled-up").await?;
    let attacker = tenant(&attacked).await?;
    let gate = manager.shelf.gate(attacked.namespace());
    gate.close();
    let (mut objects, mut names) = (Vec::new(), Vec::new());
    for (index, mut choices) in variants() {
        let repository = format!(
            "{}/{}",
            attacked.namespace(),
            choices.name(&format!("p{index}-"), 30)
        );
        // Each of its own content, and of another version than its tag says, which is found out
        // after it was unpacked.
        manager.shelf.put(
            &repository,
            "2.0.0",
            package(attacked.group(), "1.0.0", &["a"], ""),
        );
        names.push(choices.name(&format!("i{index}-"), 30));
        objects.push(named(
            &attacked,
            &names[index],
            &format!("{repository}:2.0.0"),
        )?);
    }
    create_all(&attacker, objects).await?;
    // All are asked for; none waits for its registry.
    for name in &names {
        attacked
            .wait(&attacker, name, has("PackageResolved", "", ""))
            .await?;
    }
    gate.open();
    for name in &names {
        // On a busy machine the first may have waited for the gate longer than unpacking may take.
        let (wrong, slow) = (
            has("Unpacked", "False", "VersionMismatch"),
            has("Unpacked", "False", "PackageTooCostly"),
        );
        let judged = |object: Option<&DynamicObject>| wrong(object) || slow(object);
        attacked.wait(&attacker, name, judged).await?;
    }
    let width = Bounds::default().pulls_per_namespace;
    let most = gate.most.load(Ordering::SeqCst);
    ensure!(
        (1..=width).contains(&most),
        "{most} packages of a namespace were in memory at a time, not {width}"
    );
    attacker
        .delete_collection(&DeleteParams::default(), &ListParams::default())
        .await?;
    Ok(())
}

/// Fifty installs of one costly package: it is compiled once, not once for each of them.
pub async fn a_costly_package_costs_the_same_however_many_install_it(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let attacked = cluster.scene("costly-again").await?;
    let attacker = tenant(&attacked).await?;
    let mut files = package(attacked.group(), "1.0.0", &["a"], "");
    let (_, template) = files
        .iter_mut()
        .find(|(path, _)| path.contains("/templates/"))
        .context("a template")?;
    template.splice(0..0, COSTLY[2].bytes());
    let repository = format!("{}/costly", attacked.namespace());
    let digest = manager.shelf.put(&repository, "1.0.0", files);
    let by = [
        format!("{repository}:1.0.0"),
        format!("{repository}:1.0.0@{digest}"),
    ];
    let one = named(&attacked, "one", &by[0])?;
    let before = Instant::now();
    attacker.create(&PostParams::default(), &one).await?;
    attacked
        .wait(
            &attacker,
            "one",
            has("Unpacked", "False", "TemplatesTooCostly"),
        )
        .await?;
    let once = before.elapsed();
    let (mut objects, mut names) = (Vec::new(), Vec::new());
    for (index, mut choices) in variants() {
        names.push(choices.name(&format!("c{index}-"), 40));
        objects.push(named(&attacked, &names[index], choices.pick(&by).as_str())?);
    }
    let before = Instant::now();
    create_all(&attacker, objects).await?;
    for name in &names {
        attacked
            .wait(
                &attacker,
                name,
                has("Unpacked", "False", "TemplatesTooCostly"),
            )
            .await?;
    }
    let all = before.elapsed();
    println!(
        "one install of a costly package was judged after {once:?}, {} more after {all:?}",
        names.len()
    );
    ensure!(
        all < once * 10 + NOTICEABLE,
        "{all:?} for {} installs of what one took {once:?} for",
        names.len()
    );
    attacker
        .delete_collection(&DeleteParams::default(), &ListParams::default())
        .await?;
    Ok(())
}

/// Fifty variants at once: other names, registries and tags, all of registries that take a request
/// and never answer.
pub async fn fifty_installs_that_hang_on_slow_registries_hold_up_nobody_else(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let (attacked, victim) = (cluster.scene("slow").await?, cluster.scene("quick").await?);
    let attacker = tenant(&attacked).await?;
    let mut objects = Vec::new();
    for (index, mut choices) in variants() {
        let host = *choices.pick(&[
            "slow.example.org",
            "slow.example.net:5000",
            "slow-2.example.org",
            "slow.localhost",
        ]);
        let tag = *choices.pick(&["", ":1.0.0", ":latest"]);
        let name = choices.name(&format!("s{index}-"), 40);
        objects.push(named(
            &attacked,
            &name,
            &format!("{host}/{}/x{index}{tag}", attacked.namespace()),
        )?);
    }
    let first = objects[0].metadata.name.clone().context("a name")?;
    let usual = usual(&cluster, &manager).await?;
    create_all(&attacker, objects).await?;
    attacked
        .wait(
            &attacker,
            &first,
            has("PackageResolved", "False", "Pulling"),
        )
        .await?;

    let before = Instant::now();
    installed(&victim, &manager, &["a"], "").await?;
    let took = before.elapsed();
    ensure!(
        took < usual + NOTICEABLE,
        "the other tenant's install took {took:?}, and {usual:?} without the attacker"
    );
    println!(
        "another tenant's install was ready after {took:?} ({usual:?} alone) while {} hang",
        variants().count()
    );

    let hanging = attacker.list(&ListParams::default()).await?;
    for install in &hanging.items {
        ensure!(!has("Ready", "True", "")(Some(install)), "{install:?}");
    }
    attacker
        .delete_collection(&DeleteParams::default(), &ListParams::default())
        .await?;
    for install in hanging {
        let name = install.metadata.name.unwrap_or_default();
        attacked
            .wait(&attacker, &name, |object: Option<&DynamicObject>| {
                object.is_none()
            })
            .await?;
    }
    Ok(())
}

/// Fifty variants at once: the victim's very package under tags that are not its version.
pub async fn a_wrong_tag_breaks_no_other_tenants_install_of_the_same_image(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let (attacked, victim) = (
        cluster.scene("wrong-tag").await?,
        cluster.scene("right-tag").await?,
    );
    let attacker = tenant(&attacked).await?;
    let repository = format!("{}/redis", victim.namespace());
    let digest = manager.shelf.put(
        &repository,
        "1.0.0",
        package(victim.group(), "1.0.0", &["a"], ""),
    );
    let (mut objects, mut names) = (Vec::new(), Vec::new());
    for (index, mut choices) in variants() {
        let tag = format!(
            "{}.{}.{}",
            2 + choices.below(9),
            choices.below(9),
            choices.below(9)
        );
        let repository = if choices.toss() {
            repository.clone()
        } else {
            format!("{}/mine", attacked.namespace())
        };
        names.push(choices.name(&format!("w{index}-"), 30));
        objects.push(named(
            &attacked,
            &names[index],
            &format!("{repository}:{tag}@{digest}"),
        )?);
    }
    create_all(&attacker, objects).await?;
    for name in &names {
        attacked
            .wait(&attacker, name, has("Unpacked", "False", "VersionMismatch"))
            .await?;
    }
    let own = installs(&victim);
    let mut object = install(&victim, "1.0.0");
    object["spec"]["package"] = json!(format!("{repository}:1.0.0@{digest}"));
    own.create(&PostParams::default(), &serde_json::from_value(object)?)
        .await?;
    victim.wait(&own, "redis", has("Ready", "True", "")).await?;
    attacker
        .delete_collection(&DeleteParams::default(), &ListParams::default())
        .await?;
    Ok(())
}

/// Templates that cost far more than they are long.
const COSTLY: [&str; 3] = [
    r#"{{ $s := repeat 10000000 "a" }}{{ $n := "" }}{{ range until 700 }}{{ $n = sha256sum $s | trunc 10 }}{{ end }}"#,
    "{{ $l := until 100000 }}{{ range until 100000 }}{{ if has -1 $l }}x{{ end }}{{ end }}",
    r#"{{ range until 100000 }}{{ $x := bcrypt "a" }}{{ end }}"#,
];

pub async fn templates_that_cost_too_much_get_a_verdict_and_hold_up_nobody_else(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let (attacked, victim) = (
        cluster.scene("costly").await?,
        cluster.scene("cheap").await?,
    );
    let attacker = tenant(&attacked).await?;
    for (index, costly) in COSTLY.iter().enumerate() {
        let mut files = package(attacked.group(), "1.0.0", &["a"], "");
        let (_, template) = files
            .iter_mut()
            .find(|(path, _)| path.contains("/templates/"))
            .context("a template")?;
        template.splice(0..0, costly.bytes());
        let repository = format!("{}/costly{index}", attacked.namespace());
        manager.shelf.put(&repository, "1.0.0", files);
        let object = named(
            &attacked,
            &format!("costly{index}"),
            &format!("{repository}:1.0.0"),
        )?;
        attacker.create(&PostParams::default(), &object).await?;
    }
    attacked
        .wait(
            &attacker,
            "costly0",
            has("PackageResolved", "False", "Pulling"),
        )
        .await?;
    let before = Instant::now();
    installed(&victim, &manager, &["a"], "").await?;
    println!(
        "another tenant's install was ready after {:?} while three are compiled",
        before.elapsed()
    );
    for index in 0..COSTLY.len() {
        let name = format!("costly{index}");
        attacked
            .wait(
                &attacker,
                &name,
                has("Unpacked", "False", "TemplatesTooCostly"),
            )
            .await?;
        let told = attacker.get(&name).await?.data["status"]["conditions"].to_string();
        ensure!(
            told.contains("config.yaml:1") && told.contains("over budget: "),
            "{told}"
        );
    }
    attacker
        .delete_collection(&DeleteParams::default(), &ListParams::default())
        .await?;
    Ok(())
}
