//! What is measured: a kind with three children, in a namespace of its own, and every object of it.

use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, runtime::wait::await_condition};
use serde_json::{Value, json};

pub const GROUP: &str = "bench.cairn.test";
pub const STACK: &str = "bench";

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-config'}\n\
                      data: {greeting: '{{ .spec.greeting }}'}\n";
const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: '{{ .metadata.name }}'}\n\
                       spec: {clusterIP: None, selector: {app: '{{ .metadata.name }}'}, ports: [{name: http, port: 80}]}\n";
/// As long as a Deployment, and nobody's business: no other controller works on it while the time
/// is taken.
const PODS: &str = "\
apiVersion: v1
kind: PodTemplate
metadata: {name: '{{ .metadata.name }}'}
template:
  metadata: {labels: {app: '{{ .metadata.name }}'}}
  spec:
    containers:
    - name: app
      image: {{ .spec.image }}
      envFrom: [{configMapRef: {name: '{{ .config.metadata.name }}'}}]
";
const STATUS: &str = "config: {{ .config.metadata.name }}\nservice: {{ .service.metadata.name }}\n";

/// A namespace to measure in.
pub struct Stage {
    pub client: Client,
    pub namespace: String,
}

/// How requests name a kind.
pub fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// The kinds of instances and of Stacks.
pub async fn define(client: &Client) {
    let text = json!({ "type": "string" });
    let conditions = json!({ "type": "array", "items": { "type": "object", "properties": {
        "type": text, "status": text, "reason": text, "message": text, "lastTransitionTime": text,
        "observedGeneration": { "type": "integer" },
    } } });
    let own = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("apps.{GROUP}") },
        "spec": {
            "group": GROUP, "scope": "Namespaced", "names": { "kind": "App", "plural": "apps", "singular": "app" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "properties": {
                        "image": text, "greeting": text,
                    } },
                    "status": { "type": "object", "properties": {
                        "config": text, "service": text, "conditions": conditions,
                    } },
                } } },
            }],
        },
    });
    let mut definitions = api::definitions();
    definitions.push(own);
    establish(client, &definitions).await;
}

/// Puts CRDs in place, and waits until they are served.
pub async fn establish(client: &Client, definitions: &[Value]) {
    let crds: Api<DynamicObject> = Api::all_with(
        client.clone(),
        &resource(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
        ),
    );
    for definition in definitions {
        let name = definition["metadata"]["name"].as_str().unwrap();
        crds.patch(
            name,
            &PatchParams::apply("bench").force(),
            &Patch::Apply(definition),
        )
        .await
        .unwrap();
        let established = |object: Option<&DynamicObject>| {
            let conditions =
                object.and_then(|object| object.data["status"]["conditions"].as_array());
            conditions.is_some_and(|all| {
                all.iter()
                    .any(|one| one["type"] == "Established" && one["status"] == "True")
            })
        };
        await_condition(crds.clone(), name, established)
            .await
            .unwrap();
    }
}

impl Stage {
    /// A new namespace.
    pub async fn set(client: &Client, namespace: &str) -> Self {
        let namespaces: Api<DynamicObject> = Api::all_with(
            client.clone(),
            &resource("", "v1", "Namespace", "namespaces"),
        );
        let object =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        namespaces
            .create(
                &PostParams::default(),
                &serde_json::from_value(object).unwrap(),
            )
            .await
            .unwrap();
        Self {
            client: client.clone(),
            namespace: namespace.to_owned(),
        }
    }

    pub fn api(&self, group: &str, version: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        Api::namespaced_with(
            self.client.clone(),
            &self.namespace,
            &resource(group, version, kind, plural),
        )
    }

    pub fn apps(&self) -> Api<DynamicObject> {
        self.api(GROUP, "v1", "App", "apps")
    }

    pub fn app(name: &str) -> DynamicObject {
        let object = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "App", "metadata": { "name": name },
            "spec": { "image": "registry.test/app:1", "greeting": "hello" },
        });
        serde_json::from_value(object).unwrap()
    }

    /// The Stack and its seed, as the stack manager leaves them.
    pub async fn stack(&self) {
        let (name, text) = (
            api::names::seed(&self.namespace, STACK),
            "a seed of exactly 32 characters!",
        );
        let seed = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": { "seed": text },
        });
        let seed = serde_json::from_value(seed).unwrap();
        let elsewhere = Self {
            client: self.client.clone(),
            namespace: "default".to_owned(),
        };
        elsewhere
            .api("", "v1", "Secret", "secrets")
            .create(&PostParams::default(), &seed)
            .await
            .unwrap();
        let said = install::Commitment::to("default", &name, text.as_bytes()).to_string();
        let key = format!("app.{GROUP}/v1");
        let stack = json!({
            "apiVersion": api::API_VERSION, "kind": "Stack",
            "metadata": { "name": STACK, "annotations": { api::annotations::SEED: said } },
            "spec": {
                "title": "Bench", "version": "1.0.0",
                "customresourcedefinitions": [{ "kind": "App", "apiVersion": format!("{GROUP}/v1") }],
                "dependsOn": [{ "crd": "configmap/v1" }, { "crd": "service/v1" }, { "crd": "podtemplate/v1" }],
                "templates": { &key: { "config": CONFIG, "service": SERVICE, "pods": PODS } },
                "templateStatus": { &key: STATUS },
            },
        });
        let stack = serde_json::from_value(stack).unwrap();
        self.api(api::GROUP, api::VERSION, "Stack", "stacks")
            .create(&PostParams::default(), &stack)
            .await
            .unwrap();
    }

    /// The children of an instance as the stack's manager applies them, with their paths.
    pub fn children(&self, name: &str, uid: &str, greeting: &str) -> [(String, Value); 3] {
        let namespace = &self.namespace;
        let metadata = |own: &str, template: &str| {
            json!({
                "name": own, "namespace": namespace,
                "labels": {
                    "stacks.crossplane.io/stack": STACK, "stacks.crossplane.io/template": template,
                    "core.crossplane.io/parent-group": GROUP, "core.crossplane.io/parent-version": "v1",
                    "core.crossplane.io/parent-kind": "App", "core.crossplane.io/parent-name": name,
                    "core.crossplane.io/parent-namespace": namespace,
                },
                "annotations": { "stacks.crossplane.io/desired-hash": "0123456789abcdef0123456789abcdef" },
                "ownerReferences": [{
                    "apiVersion": format!("{GROUP}/v1"), "kind": "App", "name": name, "uid": uid,
                    "controller": true, "blockOwnerDeletion": true,
                }],
            })
        };
        let config = format!("{name}-config");
        let labels = json!({ "app": name });
        let core = format!("/api/v1/namespaces/{namespace}");
        [
            (
                format!("{core}/configmaps/{config}"),
                json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(&config, "config"),
                    "data": { "greeting": greeting },
                }),
            ),
            (
                format!("{core}/services/{name}"),
                json!({
                    "apiVersion": "v1", "kind": "Service", "metadata": metadata(name, "service"),
                    "spec": { "clusterIP": "None", "selector": labels, "ports": [{ "name": "http", "port": 80 }] },
                }),
            ),
            (
                format!("{core}/podtemplates/{name}"),
                json!({
                    "apiVersion": "v1", "kind": "PodTemplate", "metadata": metadata(name, "pods"),
                    "template": { "metadata": { "labels": labels }, "spec": { "containers": [{
                        "name": "app", "image": "registry.test/app:1",
                        "envFrom": [{ "configMapRef": { "name": config } }],
                    }] } },
                }),
            ),
        ]
    }
}
