//! Where the group is served from: inside of the embedded server, or beside the real one, which
//! passes requests on.

use std::pin::Pin;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use serde_json::Value;
use testkit::extension::{Call, Extension};
use testkit::faults::Options;
use testkit::{Cluster, Embedded, Scene};
use tokio::sync::OnceCell;
use web::{Authority, Place, Question, Registration, Server};

/// The embedded server, which asks us about the group.
pub fn embedded() -> Pin<Box<dyn Future<Output = Result<Cluster>> + Send>> {
    Box::pin(async {
        let extension = Extension {
            group: "processing.stacks.crossplane.io".to_owned(),
            version: "v1alpha1".to_owned(),
            resources: web::resources(),
            openapi: web::openapi(),
            handler: Arc::new(|call: Call| {
                Box::pin(async move {
                    let client = Client::new(call.in_process_service, "default");
                    let at = call.attributes;
                    let stored = (!at.name.is_empty()).then_some(at.name);
                    let question = Question {
                        namespace: at.namespace,
                        stored,
                        query: call.query,
                        body: call.body,
                    };
                    web::answer(&client, question).await
                })
            }),
        };
        Ok(Cluster::of(
            Embedded::start(Options {
                extensions: vec![extension],
                ..Options::default()
            })
            .await?,
        ))
    })
}

/// A scene on a cluster that stores and processes templates.
pub async fn scene<'c>(cluster: &'c Cluster, name: &str) -> Result<Scene<'c>> {
    let scene = cluster.scene(name).await?;
    let stored = "templates.templates.stacks.crossplane.io";
    let crd = api::definitions()
        .into_iter()
        .find(|crd| crd["metadata"]["name"] == stored)
        .context("a definition")?;
    scene.install_crd(&crd).await?;
    if cluster.backend().name() != "the embedded API server" {
        static SERVED: OnceCell<()> = OnceCell::const_new();
        SERVED.get_or_try_init(|| aggregated(cluster)).await?;
    }
    Ok(scene)
}

fn resource(version: &str, kind: &str, plural: &str) -> ApiResource {
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// Starts the server beside the API server, and waits until requests are passed on to it.
async fn aggregated(cluster: &Cluster) -> Result<()> {
    let client = cluster.admin()?;
    let mut registration = Registration {
        namespace: "default".to_owned(),
        name: "template-server".to_owned(),
        place: Place::Host("localhost".to_owned()),
        port: 0,
        ca: String::new(),
    };
    let authority = Authority::new(&registration.hosts())?;
    authority.ca_pem().clone_into(&mut registration.ca);
    let options = web::Options {
        listen: "127.0.0.1:0".parse()?,
        authority,
        client: client.clone(),
    };
    let server = Server::bind(options).await?;
    registration.port = server.address()?.port();
    tokio::spawn(server.run());
    let params = PatchParams::apply("test").force();
    for object in registration.objects() {
        let name = object["metadata"]["name"]
            .as_str()
            .context("a name")?
            .to_owned();
        if object["kind"] == "Service" {
            let services: Api<DynamicObject> = Api::namespaced_with(
                client.clone(),
                "default",
                &resource("v1", "Service", "services"),
            );
            services
                .patch(&name, &params, &Patch::Apply(&object))
                .await?;
            continue;
        }
        let kind = resource("apiregistration.k8s.io/v1", "APIService", "apiservices");
        let services: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
        services
            .patch(&name, &params, &Patch::Apply(&object))
            .await?;
        let available = |object: Option<&DynamicObject>| {
            let conditions =
                object.and_then(|object| object.data["status"]["conditions"].as_array());
            conditions.is_some_and(|all: &Vec<Value>| {
                all.iter()
                    .any(|one| one["type"] == "Available" && one["status"] == "True")
            })
        };
        let waiting = await_condition(services.clone(), &name, available);
        if tokio::time::timeout(cluster.backend().patience(), waiting)
            .await
            .is_err()
        {
            let last = services.get(&name).await?;
            bail!(
                "the APIService did not become available: {}",
                last.data["status"]
            );
        }
    }
    Ok(())
}
