//! `cairn diff` of packages whose CRDs others use too: it says what the stack manager would do with
//! them, to whom, and who could allow it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use install::{LiveCrd, NamespacedCrds, Parent, Placement, Wanted, place, publisher};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use package::image::Reference;
use serde_json::json;
use testkit::{Cluster, Scene};

use crate::diff::{all_in, diff, gather, ours, page, told, write_package};

/// An install of `pages` in a scene's namespace, which no stack manager reconciles.
pub async fn install(scene: &Scene<'_>, package: &str) -> Result<(Parent, String)> {
    let object = json!({
        "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "StackInstall", "metadata": { "name": "pages" },
        "spec": { "package": package },
    });
    let installs = ours(scene, "StackInstall", "stackinstalls");
    let made = installs
        .create(&PostParams::default(), &serde_json::from_value(object)?)
        .await?;
    let uid = made.metadata.uid.context("a uid")?;
    let scope = api::PermissionScope::Namespaced;
    let parent = Parent {
        scope,
        namespace: scene.namespace().to_owned(),
        name: "pages".to_owned(),
        uid,
    };
    Ok((
        parent,
        publisher(&Reference::parse(package).map_err(|bad| anyhow::anyhow!(bad.what))?),
    ))
}

fn definitions(scene: &Scene<'_>) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    Api::all_with(
        scene.client(),
        &ApiResource::from_gvk_with_plural(&kind, "customresourcedefinitions"),
    )
}

/// Puts the CRDs of a package in place as the stack manager would for an install.
pub async fn define(
    scene: &Scene<'_>,
    package: &package::Package,
    by: &(Parent, String),
) -> Result<()> {
    for file in &package.crds {
        let live = definitions(scene).get_opt(&file.crd.name).await?;
        let live = live.map(|live| serde_json::to_value(&live)).transpose()?;
        let live = live.as_ref().and_then(LiveCrd::read);
        let placement = place(&Wanted {
            new: &file.crd,
            version: &package.app.version,
            live: live.as_ref(),
            parent: &by.0,
            publisher: &by.1,
            allow_breaking: false,
            group: &[],
            gone: &BTreeSet::new(),
            instances: &[],
            in_use: false,
            reserved: None,
            namespaced: NamespacedCrds::Allow,
        });
        let Placement::Apply(object) = placement else {
            bail!("{placement:?}")
        };
        scene.install_crd(&object).await?;
    }
    Ok(())
}

/// A tenant with an install of the package in a directory, and with its Stack.
async fn tenant(scene: &Scene<'_>, dir: &Path, from: &str) -> Result<()> {
    let mut files = package::Files::new();
    gather(dir, dir, &mut files)?;
    let (package, _) = package::read(&files);
    define(scene, &package, &install(scene, from).await?).await?;
    let mut stack = serde_json::to_value(&package.stack)?;
    stack["metadata"] = json!({ "name": "pages", "namespace": scene.namespace() });
    ours(scene, "Stack", "stacks")
        .create(&PostParams::default(), &serde_json::from_value(stack)?)
        .await?;
    Ok(())
}

async fn annotate(api: &Api<DynamicObject>, name: &str, value: Option<&str>) -> Result<()> {
    let patch = json!({ "metadata": { "annotations": { "stacks.crossplane.io/allow-breaking-changes": value } } });
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    Ok(())
}

fn edit(dir: &Path, from: &str, to: &str) -> Result<()> {
    let crd = dir.join(".registry/resources/page.crd.yaml");
    let text = std::fs::read_to_string(&crd)?;
    ensure!(text.contains(from), "{from:?} is in {text}");
    Ok(std::fs::write(crd, text.replace(from, to))?)
}

fn none_in(text: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        ensure!(!text.contains(part), "{part:?} should not be said:\n{text}");
    }
    Ok(())
}

const TEXT: &str = "text: {type: string}";

pub async fn what_a_change_of_a_shared_crd_does_to_whom_is_told(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let (one, two) = (
        cluster.scene("diffowner").await?,
        cluster.scene("diffuser").await?,
    );
    for definition in api::definitions() {
        one.install_crd(&definition).await?;
    }
    let place = tempfile::tempdir()?;
    // A package that is not installed has the name of its directory.
    let (dir, group) = (&place.path().join("pages"), one.group());
    write_package(dir, group)?;
    tenant(&one, dir, "registry.test/team/pages:v1").await?;
    tenant(&two, dir, "registry.test/team/pages:v1").await?;
    let (owner, user) = (one.namespace(), two.namespace());
    let crd = format!("pages.{group}");

    // What serves everybody changes, and those who use it are named.
    edit(dir, TEXT, "text: {type: string}, size: {type: integer}")?;
    let text = told(&diff(&one, dir, &[]).await?, 3)?;
    let used = format!("note: the CRD {crd} is also used by StackInstall {user}/pages");
    all_in(&text, &["+ field spec.size of Page", &used])?;
    none_in(&text, &["!", "hint:"])?;

    // The same from the other side does nothing to it.
    let text = told(&diff(&two, dir, &[]).await?, 1)?;
    let owned = format!("! type Page: the CRD {crd} is owned by StackInstall {owner}/pages");
    all_in(
        &text,
        &[
            &owned,
            "lacks what version 1.0.0 needs: v1: `spec.size` does not exist",
            "nothing changes: ",
        ],
    )?;
    none_in(&text, &["+ field", "hint:", "kubectl annotate"])?;
    edit(dir, "text: {type: string}, size: {type: integer}", TEXT)?;

    // Where no other install has instances, the owner may allow it.
    edit(dir, TEXT, "text: {type: string, maxLength: 9}")?;
    let text = told(&diff(&one, dir, &[]).await?, 1)?;
    let broken = "! type Page: would break what uses it: v1: ";
    let users = format!("; it is also used by StackInstall {user}/pages");
    all_in(
        &text,
        &[broken, &users, "kubectl annotate stackinstall pages"],
    )?;
    none_in(&text, &["(with instances)", "annotate crd"])?;
    let installs = ours(&one, "StackInstall", "stackinstalls");
    annotate(&installs, "pages", Some("true")).await?;
    let text = told(&diff(&one, dir, &[]).await?, 3)?;
    all_in(&text, &["~ field spec.text of Page"])?;
    none_in(&text, &["!", "hint:"])?;

    // Where others have, only an administrator may.
    let kind =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", "Page"), "pages");
    let pages = two.dynamic(two.client(), &kind);
    pages
        .create(
            &PostParams::default(),
            &serde_json::from_value(page(group, "theirs"))?,
        )
        .await?;
    let text = told(&diff(&one, dir, &[]).await?, 1)?;
    let users = format!("; it is also used by StackInstall {user}/pages (with instances)");
    let hint =
        format!("kubectl annotate crd {crd} stacks.crossplane.io/allow-breaking-changes=true");
    all_in(
        &text,
        &[
            broken,
            &users,
            "only an administrator can allow it",
            &hint,
            "nothing changes until it is allowed",
        ],
    )?;
    none_in(&text, &["annotate stackinstall"])?;
    annotate(&definitions(&one), &crd, Some("true")).await?;
    none_in(&told(&diff(&one, dir, &[]).await?, 3)?, &["!", "hint:"])?;
    // That of the one who owns it is not that of the one who does not.
    none_in(&told(&diff(&two, dir, &[]).await?, 3)?, &["~ field", "!"])?;
    annotate(&definitions(&one), &crd, None).await?;

    // A cluster install takes the CRD from both.
    edit(dir, "text: {type: string, maxLength: 9}", TEXT)?;
    let app = dir.join(".registry/app.yaml");
    let said = std::fs::read_to_string(&app)?;
    std::fs::write(&app, format!("{said}permissionScope: Cluster\n"))?;
    let text = told(&diff(&one, dir, &["-n", "default"]).await?, 3)?;
    let taken = format!(
        "the CRD {crd} passes from StackInstall {owner}/pages to ClusterStackInstall pages"
    );
    all_in(&text, &[&taken])?;
    std::fs::write(&app, said)?;

    // The install that is left when the owner is deleted owns it.
    installs.delete("pages", &DeleteParams::default()).await?;
    edit(dir, TEXT, "text: {type: string}, size: {type: integer}")?;
    let text = told(&diff(&two, dir, &[]).await?, 3)?;
    all_in(&text, &["+ field spec.size of Page"])?;
    none_in(&text, &["!", "also used by"])
}

pub async fn what_is_not_the_installs_to_change_is_rejected_as_the_stack_manager_would(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let (one, two) = (
        cluster.scene("diffgroup").await?,
        cluster.scene("diffguest").await?,
    );
    for definition in api::definitions() {
        one.install_crd(&definition).await?;
    }
    let place = tempfile::tempdir()?;
    // A package that is not installed has the name of its directory.
    let (dir, group) = (&place.path().join("pages"), one.group());
    write_package(dir, group)?;
    tenant(&one, dir, "registry.test/team/pages:v1").await?;

    // The publisher of a package that is not installed is unknown.
    let text = told(&diff(&two, dir, &[]).await?, 3)?;
    let unless = format!(
        "note: unless registry.test/team publishes this package, it is rejected: the CRD pages.{group} is"
    );
    all_in(&text, &[&unless])?;
    // From elsewhere it gets neither the CRD nor another of its group.
    install(&two, "elsewhere.test/other/pages:v1").await?;
    let text = told(&diff(&two, dir, &[]).await?, 1)?;
    let published = format!(
        "! type Page: the CRD pages.{group} is published by registry.test/team, and owned by"
    );
    all_in(
        &text,
        &[
            &published,
            "while elsewhere.test/other publishes this package",
        ],
    )?;
    none_in(&text, &["unless", "hint:"])?;
    let beside = place.path().join("beside/pages");
    write_package(&beside, group)?;
    let folder = beside.join(".registry");
    std::fs::rename(
        folder.join(format!("templates/page.{group}")),
        folder.join(format!("templates/note.{group}")),
    )?;
    edit(
        &beside,
        "kind: Page, plural: pages, singular: page",
        "kind: Note, plural: notes, singular: note",
    )?;
    edit(
        &beside,
        &format!("name: pages.{group}"),
        &format!("name: notes.{group}"),
    )?;
    let text = told(&diff(&two, &beside, &[]).await?, 1)?;
    all_in(
        &text,
        &[&format!(
            "! type Note: the API group {group} is used by the CRD pages.{group}, which registry.test/team"
        )],
    )?;
    none_in(&text, &["+ type"])?;

    // Groups of Kubernetes, and what an administrator does not let namespaces bring.
    let reserved = place.path().join("reserved/pages");
    write_package(&reserved, "diff.k8s.io")?;
    let approved = "name: pages.diff.k8s.io, annotations: {api-approved.kubernetes.io: 'https://example.org/1'}";
    edit(&reserved, "name: pages.diff.k8s.io", approved)?;
    let text = told(&diff(&two, &reserved, &[]).await?, 1)?;
    all_in(
        &text,
        &[
            "! type Page: the API group diff.k8s.io is reserved: only a ClusterStackInstall can define",
        ],
    )?;
    let free = place.path().join("free/pages");
    write_package(&free, &format!("free.{group}"))?;
    let none: &[&str] = &[];
    for (more, code, said) in [
        (none, 3, "+ type Page"),
        (
            &["--namespaced-crds", "Use"],
            1,
            "! type Page: the administrator of this cluster lets namespaced installs use only",
        ),
        (
            &["--namespaced-crds", "Deny"],
            1,
            "! type Page: the administrator of this cluster lets namespaced installs bring no",
        ),
    ] {
        all_in(&told(&diff(&two, &free, more).await?, code)?, &[said])?;
    }
    let not_allowed = json!({ "status": { "conditions": [{
        "type": "CRDsEstablished", "status": "False", "reason": "CRDsNotAllowed", "message": "no",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }] } });
    let installs = ours(&two, "StackInstall", "stackinstalls");
    installs
        .patch_status("pages", &PatchParams::default(), &Patch::Merge(not_allowed))
        .await?;
    // A condition of its own install says so.
    all_in(
        &told(&diff(&two, &free, &[]).await?, 1)?,
        &["lets namespaced installs use only CRDs"],
    )?;

    // One that an administrator applied is left alone.
    let foreign = place.path().join("foreign/pages");
    write_package(&foreign, two.group())?;
    let mut files = package::Files::new();
    gather(&foreign, &foreign, &mut files)?;
    let mut definition = package::read(&files)
        .0
        .crds
        .first()
        .context("a CRD")?
        .crd
        .object
        .clone();
    definition["metadata"]["labels"] = json!({});
    one.install_crd(&definition).await?;
    none_in(
        &told(&diff(&one, &foreign, &[]).await?, 3)?,
        &["! type", "+ type", "field", "stays as it is"],
    )?;
    edit(
        &foreign,
        TEXT,
        "text: {type: string}, size: {type: integer}",
    )?;
    let text = told(&diff(&one, &foreign, &[]).await?, 1)?;
    let left = format!(
        "! type Page: the CRD pages.{} exists and is not managed by the stack manager",
        two.group()
    );
    all_in(&text, &[&left, "`spec.size` does not exist"])?;
    none_in(&text, &["+ field", "hint:"])
}
