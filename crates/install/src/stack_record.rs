//! The Stack that an install makes, and how it is known to be that one.

use api::{Stack, annotations, labels, names};
use package::Package;
use serde_json::{Map, Value, json};

use crate::controller_workload::{Images, fill_images};
use crate::reconcile::install::{Facts, Install};
use package::image::Reference;

/// The Stack that the install makes.
pub(crate) fn record(
    facts: &Facts<'_>,
    package: &Package,
    reference: &Reference,
) -> Result<Value, Vec<String>> {
    let install = facts.install;
    let mut stack = package.stack.clone();
    if let Some(deployment) = &mut stack.spec.controller.deployment {
        let source = if install.spec.source.is_empty() {
            &facts.settings.source
        } else {
            &install.spec.source
        };
        let image = reference.to_string();
        let images = Images {
            package: &image,
            source,
            pull_policy: &install.spec.image_pull_policy,
            pull_secrets: install
                .spec
                .image_pull_secrets
                .iter()
                .map(|secret| secret.name.as_str())
                .collect(),
        };
        fill_images(&mut deployment["spec"], &images)?;
    }
    if let Some(account) = &install.spec.service_account {
        let own = stack
            .spec
            .controller
            .service_account
            .get_or_insert_default();
        own.annotations.extend(account.annotations.clone());
    }
    let parent = [
        (
            labels::MANAGED_BY,
            labels::MANAGED_BY_STACK_MANAGER.to_owned(),
        ),
        (labels::PARENT_GROUP, api::GROUP.to_owned()),
        (labels::PARENT_VERSION, api::VERSION.to_owned()),
        (labels::PARENT_KIND, install.kind().to_owned()),
        (
            labels::PARENT_NAME,
            names::label_value(&install.metadata.name),
        ),
        (
            labels::PARENT_NAMESPACE,
            names::label_value(&install.metadata.namespace),
        ),
    ];
    let marks: Map<String, Value> = parent
        .into_iter()
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .collect();
    let spec = serde_json::to_value(&stack.spec).map_err(|error| vec![error.to_string()])?;
    Ok(json!({
        "apiVersion": api::API_VERSION,
        "kind": Stack::KIND,
        "metadata": {
            "name": install.metadata.name,
            "namespace": facts.settings.namespace(install),
            "labels": marks,
            "annotations": { annotations::PACKAGE_IMAGE: reference.to_string() },
            "ownerReferences": [{
                "apiVersion": api::API_VERSION,
                "kind": install.kind(),
                "name": install.metadata.name,
                "uid": install.metadata.uid,
                "controller": true,
                "blockOwnerDeletion": false,
            }],
        },
        "spec": spec,
    }))
}

/// Whether an install made a Stack: by uid, which nobody chooses.
pub(crate) fn is_ours(stack: &Stack, install: &Install) -> bool {
    let owners = stack
        .metadata
        .rest
        .get("ownerReferences")
        .and_then(Value::as_array);
    owners
        .into_iter()
        .flatten()
        .any(|owner| owner["uid"] == install.metadata.uid.as_str() && owner["controller"] == true)
}

/// Whether a Stack was made from this very image.
pub(crate) fn is_of(stack: &Stack, reference: &Reference) -> bool {
    stack
        .metadata
        .annotations
        .get(annotations::PACKAGE_IMAGE)
        .is_some_and(|image| *image == reference.to_string())
}
