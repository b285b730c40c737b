//! Whether somebody may: the API server is asked, as it is the one that knows.

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

use crate::Answer;
use crate::caller::Caller;
use crate::status::{failure, passed_on};

/// What somebody wants: to create something of this group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted<'w> {
    pub namespace: &'w str,
    pub resource: &'w str,
    pub subresource: &'w str,
    pub name: &'w str,
}

/// Refuses whoever may not.
pub(crate) async fn check(
    client: &Client,
    caller: &Caller,
    wanted: &Wanted<'_>,
) -> Result<(), Answer> {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let attributes = ResourceAttributes {
        group: Some(api::template::PROCESSING_GROUP.to_owned()),
        version: Some(api::VERSION.to_owned()),
        verb: Some("create".to_owned()),
        namespace: text(wanted.namespace),
        resource: text(wanted.resource),
        subresource: text(wanted.subresource),
        name: text(wanted.name),
        ..ResourceAttributes::default()
    };
    let spec = SubjectAccessReviewSpec {
        user: Some(caller.name.clone()),
        uid: text(&caller.uid),
        groups: Some(caller.groups.clone()),
        extra: (!caller.extra.is_empty()).then(|| caller.extra.clone()),
        resource_attributes: Some(attributes),
        ..SubjectAccessReviewSpec::default()
    };
    let review = SubjectAccessReview {
        spec,
        ..SubjectAccessReview::default()
    };
    let api: Api<SubjectAccessReview> = Api::all(client.clone());
    let answer = api
        .create(&PostParams::default(), &review)
        .await
        .map_err(|error| passed_on(&error))?;
    let status = answer.status.unwrap_or_default();
    if status.allowed && status.denied != Some(true) {
        return Ok(());
    }
    let Wanted {
        namespace,
        resource,
        subresource,
        name,
    } = wanted;
    let group = api::template::PROCESSING_GROUP;
    let full = if subresource.is_empty() {
        (*resource).to_owned()
    } else {
        format!("{resource}/{subresource}")
    };
    let quoted = if name.is_empty() {
        String::new()
    } else {
        format!(" {name:?}")
    };
    let message = format!(
        "{resource}.{group}{quoted} is forbidden: User {:?} cannot create resource {full:?} in API group {group:?} in the \
         namespace {namespace:?}",
        caller.name
    );
    Err(failure(403, "Forbidden", &message))
}
