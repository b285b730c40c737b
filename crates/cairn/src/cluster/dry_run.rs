//! Reading a cluster, and trying changes without keeping them: all that a comparison asks of it.

use api::{ClusterStackInstall, Crd, Stack, StackInstall};
use install::reconcile::install::Install;
use install::{Commitment, seed_bytes};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use objects::{Key, Resource};
use serde_json::Value;

use super::connect::unanswered;
use crate::terminal::error::Failure;

/// Someone who looks at a cluster and leaves it as it is.
pub(crate) struct Reader {
    client: Client,
}

/// What became of a change that was tried.
pub(crate) enum Tried {
    /// The object would be this.
    Done(Box<Value>),
    /// Its kind or its namespace is not there yet.
    Unknown,
    /// The API server would not take it.
    Refused(String),
}

impl Reader {
    pub fn new(client: Client) -> Reader {
        Reader { client }
    }

    /// The types of the cluster.
    pub async fn crds(&self) -> Result<Vec<Crd>, Failure> {
        let kind = Resource::cluster(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
        );
        let found = self.list(&kind, "", "").await?;
        Ok(found
            .iter()
            .filter_map(|object| Crd::read(object).0)
            .collect())
    }

    /// The Stacks in a namespace, or all.
    pub async fn stacks(&self, namespace: &str) -> Result<Vec<Stack>, Failure> {
        let kind = Resource::namespaced(api::GROUP, api::VERSION, Stack::KIND, Stack::PLURAL);
        let found = self.list(&kind, namespace, "").await?;
        Ok(found
            .into_iter()
            .filter_map(|object| serde_json::from_value(object).ok())
            .collect())
    }

    /// An install, if it exists; a cluster install has no namespace.
    pub(crate) async fn install(&self, key: &Key, wide: bool) -> Result<Option<Install>, Failure> {
        if wide {
            let names = (ClusterStackInstall::KIND, ClusterStackInstall::PLURAL);
            let kind = Resource::cluster(api::GROUP, api::VERSION, names.0, names.1);
            let found = self.get(&kind, &Key::new("", &key.name)).await?;
            return Ok(found.and_then(|found| {
                Some(
                    serde_json::from_value::<ClusterStackInstall>(found)
                        .ok()?
                        .into(),
                )
            }));
        }
        let kind = Resource::namespaced(
            api::GROUP,
            api::VERSION,
            StackInstall::KIND,
            StackInstall::PLURAL,
        );
        let found = self.get(&kind, key).await?;
        Ok(
            found
                .and_then(|found| Some(serde_json::from_value::<StackInstall>(found).ok()?.into())),
        )
    }

    /// What drawn values of a stack begin with, if it may be read.
    pub(crate) async fn seed(&self, stack: &Key) -> Option<Vec<u8>> {
        let secrets = Resource::namespaced("", "v1", "Secret", "secrets");
        let stacks = Resource::namespaced(api::GROUP, api::VERSION, Stack::KIND, Stack::PLURAL);
        let said = Commitment::of(&self.get(&stacks, stack).await.ok().flatten()?)?;
        let key = Key::new(&said.namespace, &said.name);
        seed_bytes(&self.get(&secrets, &key).await.ok().flatten()?).filter(|bytes| said.fits(bytes))
    }

    /// The objects of a kind in a namespace, or in all; none if the kind is not served.
    pub async fn list(
        &self,
        kind: &Resource,
        namespace: &str,
        labels: &str,
    ) -> Result<Vec<Value>, Failure> {
        let mut params = ListParams::default();
        if !labels.is_empty() {
            params = params.labels(labels);
        }
        match self.api(kind, namespace).list(&params).await {
            Ok(list) => Ok(list
                .items
                .iter()
                .map(|object| complete(object, kind))
                .collect()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
            Err(error) => Err(told(&error)),
        }
    }

    /// An object, if it is there.
    pub(crate) async fn get(&self, kind: &Resource, key: &Key) -> Result<Option<Value>, Failure> {
        let found = self
            .api(kind, &key.namespace)
            .get_opt(&key.name)
            .await
            .map_err(|error| told(&error))?;
        Ok(found.map(|object| complete(&object, kind)))
    }

    /// Applies an object as a field manager, without keeping what comes of it.
    pub(crate) async fn try_out(
        &self,
        kind: &Resource,
        wanted: &Value,
        manager: &str,
        force: bool,
    ) -> Result<Tried, Failure> {
        let key = Key::of(wanted);
        let params = PatchParams {
            dry_run: true,
            force,
            ..PatchParams::apply(manager)
        };
        match self.api(kind, &key.namespace).patch(&key.name, &params, &Patch::Apply(wanted)).await {
            Ok(object) => Ok(Tried::Done(Box::new(complete(&object, kind)))),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Tried::Unknown),
            Err(kube::Error::Api(status)) if matches!(status.code, 400 | 409 | 422) => {
                Ok(Tried::Refused(status.message.clone()))
            }
            Err(error) => Err(told(&error)
                .hint("each change is tried without being kept, which takes the right to patch what the stack makes")),
        }
    }

    fn api(&self, kind: &Resource, namespace: &str) -> Api<DynamicObject> {
        let gvk = GroupVersionKind::gvk(&kind.gvk.group, &kind.gvk.version, &kind.gvk.kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, &kind.plural);
        match namespace {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace if kind.namespaced => {
                Api::namespaced_with(self.client.clone(), namespace, &resource)
            }
            _ => Api::all_with(self.client.clone(), &resource),
        }
    }
}

/// An object with its kind, which items of a list do not say.
fn complete(object: &DynamicObject, kind: &Resource) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    value["apiVersion"] = kind.gvk.api_version().to_string().into();
    value["kind"] = kind.gvk.kind.clone().into();
    value
}

fn told(error: &kube::Error) -> Failure {
    match error {
        kube::Error::Api(status) => Failure::new(status.message.clone()),
        error => unanswered(error),
    }
}
