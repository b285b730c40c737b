//! A client that makes the calls of a template stack manager and does nothing else: it watches
//! nothing, renders nothing and reads no answer.

use http::{Request, header};
use kube::Client;
use serde_json::{Value, json};

use crate::stage::{GROUP, Stage};

/// The bare client.
pub struct Bare<'s> {
    stage: &'s Stage,
    client: Client,
}

impl<'s> Bare<'s> {
    pub fn new(stage: &'s Stage) -> Self {
        Self {
            stage,
            client: stage.client.clone(),
        }
    }

    /// Makes an instance ready: it is held, its children are applied, and its status tells.
    pub async fn make(&self, name: &str, uid: &str) {
        let own = format!(
            "/apis/{GROUP}/v1/namespaces/{}/apps/{name}",
            self.stage.namespace
        );
        // Without an owner, since there is no Stack here: the garbage collector would look for it.
        let held =
            json!({ "metadata": { "finalizers": ["stacks.crossplane.io/children"], "uid": uid } });
        self.merge(&format!("{own}?fieldManager=bare"), &held).await;
        for (path, child) in self.stage.children(name, uid, "hello") {
            self.apply(&path, &child).await;
        }
        let condition = |kind: &str, reason: &str| {
            json!({
                "type": kind, "status": "True", "reason": reason, "message": "", "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        };
        let status = json!({ "metadata": { "uid": uid }, "status": {
            "config": format!("{name}-config"), "service": name,
            "conditions": [condition("Synced", "Rendered"), condition("Ready", "Available")],
        } });
        self.merge(&format!("{own}/status?fieldManager=bare"), &status)
            .await;
    }

    /// Applies the one child that a changed greeting changes.
    pub async fn change(&self, name: &str, uid: &str, greeting: &str) {
        let [(path, child), ..] = self.stage.children(name, uid, greeting);
        self.apply(&path, &child).await;
    }

    async fn apply(&self, path: &str, object: &Value) {
        self.send(
            &format!("{path}?fieldManager=bare&force=true"),
            "application/apply-patch+yaml",
            object,
        )
        .await;
    }

    async fn merge(&self, path: &str, patch: &Value) {
        self.send(path, "application/merge-patch+json", patch).await;
    }

    async fn send(&self, path: &str, kind: &str, body: &Value) {
        let request = Request::patch(path)
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, kind)
            .body(body.to_string().into_bytes())
            .unwrap();
        self.client.request_text(request).await.unwrap();
    }
}
