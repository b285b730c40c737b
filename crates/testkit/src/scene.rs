//! One test's corner of a shared cluster: a namespace and an API group that no other test uses.

use std::{fmt::Debug, future::Future};

use anyhow::{Context, Result, bail};
use k8s_openapi::{
    api::core::v1::{Namespace, ServiceAccount},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Resource,
    api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams},
    core::GroupVersionKind,
    runtime::{conditions, wait::Condition, wait::await_condition},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Cluster;

/// A namespace and a group of one test. They stay until the cluster goes, since it goes soon.
pub struct Scene<'a> {
    cluster: &'a Cluster,
    namespace: String,
    group: String,
    admin: Client,
}

impl<'a> Scene<'a> {
    pub(crate) async fn open(cluster: &'a Cluster, name: &str) -> Result<Self> {
        let admin = cluster.admin()?;
        let object: Namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        let namespaces: Api<Namespace> = Api::all(admin.clone());
        namespaces
            .create(&PostParams::default(), &object)
            .await
            .with_context(|| format!("cannot create the namespace {name}"))?;
        let scene = Self {
            cluster,
            namespace: name.to_owned(),
            group: format!("{name}.cairn.test"),
            admin,
        };
        // Pods need it, and its presence shows that the controllers have seen the namespace.
        scene
            .wait(&scene.api::<ServiceAccount>(), "default", exists())
            .await?;
        Ok(scene)
    }

    /// The cluster it is in.
    pub fn cluster(&self) -> &'a Cluster {
        self.cluster
    }

    /// The admin's client.
    pub fn client(&self) -> Client {
        self.admin.clone()
    }

    /// The namespace of this test.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The API group of this test.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The objects of a built-in kind in the test's namespace, as the admin.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client(), &self.namespace)
    }

    /// The objects of a kind of this test's group in its namespace, through any client.
    pub fn dynamic(&self, client: Client, resource: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(client, &self.namespace, resource)
    }

    /// A namespaced CRD `v1` of this test's group with a status subresource; `spec` is an OpenAPI
    /// schema.
    pub fn crd(&self, kind: &str, spec: &Value) -> Value {
        let plural = format!("{}s", kind.to_lowercase());
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{}", self.group)},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": open}}},
                }],
            },
        })
    }

    /// Applies a CRD and waits until its kind is served.
    pub async fn install_crd(&self, crd: &Value) -> Result<ApiResource> {
        let crd: CustomResourceDefinition =
            serde_json::from_value(crd.clone()).context("not a CRD")?;
        let name = crd.metadata.name.clone().context("the CRD has no name")?;
        let crds: Api<CustomResourceDefinition> = Api::all(self.client());
        crds.patch(
            &name,
            &PatchParams::apply("testkit").force(),
            &Patch::Apply(&crd),
        )
        .await
        .with_context(|| format!("cannot apply the CRD {name}"))?;
        self.wait(&crds, &name, conditions::is_crd_established())
            .await?;
        let version = crd
            .spec
            .versions
            .iter()
            .find(|version| version.served)
            .context("no version is served")?;
        let kind = GroupVersionKind::gvk(&crd.spec.group, &version.name, &crd.spec.names.kind);
        Ok(ApiResource::from_gvk_with_plural(
            &kind,
            &crd.spec.names.plural,
        ))
    }

    /// Creates a service account in the test's namespace, without any right, and returns a client
    /// of it.
    pub async fn service_account(&self, name: &str) -> Result<Client> {
        let account: ServiceAccount = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        self.api::<ServiceAccount>()
            .create(&PostParams::default(), &account)
            .await?;
        self.cluster
            .client_for_service_account(&self.namespace, name)
            .await
    }

    /// The user name of a service account in the test's namespace.
    pub fn service_account_user(&self, name: &str) -> String {
        format!("system:serviceaccount:{}:{name}", self.namespace)
    }

    /// Waits, on a watch, until an object is as wanted; an object that is gone is `None` to the
    /// condition.
    pub async fn wait<K>(
        &self,
        api: &Api<K>,
        name: &str,
        condition: impl Condition<K>,
    ) -> Result<Option<K>>
    where
        K: Clone + Debug + Send + DeserializeOwned + Resource + 'static,
    {
        let waiting = await_condition(api.clone(), name, condition);
        self.within(&format!("{name} to be as wanted"), async {
            Ok(waiting.await?)
        })
        .await
    }

    /// Gives a future until the end of our patience, then says what it was that did not happen.
    pub async fn within<T>(
        &self,
        what: &str,
        future: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let patience = self.cluster.backend().patience();
        match tokio::time::timeout(patience, future).await {
            Ok(outcome) => outcome.with_context(|| format!("while waiting for {what}")),
            Err(_) => bail!("waited {} s in vain for {what}", patience.as_secs()),
        }
    }
}

/// The condition that an object is there.
fn exists<K>() -> impl Condition<K> {
    |object: Option<&K>| object.is_some()
}
