//! What should be known to whoever looks at an object, as Events and as lines of the log.

use install::EventRecord;
use serde_json::{Value, json};

use super::StackManager;
use objects::Resource;

impl StackManager {
    /// Tells of changes. An Event that cannot be written is only worth a line.
    pub(super) async fn emit_events(&self, about: &Value, notices: &[EventRecord]) {
        let metadata = &about["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        let own = metadata["namespace"].as_str().unwrap_or_default();
        // Events about objects of the whole cluster are in this namespace by custom.
        let namespace = if own.is_empty() { "default" } else { own };
        for notice in notices {
            let EventRecord {
                warning,
                reason,
                message,
            } = notice;
            let kind = about["kind"].as_str().unwrap_or_default();
            tracing::info!(kind, namespace = own, name, reason, warning, "{message}");
            let now = jiff::Timestamp::now();
            let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            let message: String = message.chars().take(1000).collect();
            let event = json!({
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": { "name": format!("{name}.{:x}", now.as_nanosecond()), "namespace": namespace },
                "involvedObject": {
                    "apiVersion": about["apiVersion"], "kind": about["kind"], "name": name,
                    "namespace": own, "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"],
                },
                "type": if *warning { "Warning" } else { "Normal" },
                "reason": reason,
                "message": message,
                "source": { "component": "stack-manager" },
                "firstTimestamp": time, "lastTimestamp": time, "count": 1,
            });
            let resource = Resource::namespaced("", "v1", "Event", "events");
            if let Err(error) = self.parts.tenant.create(&resource, &event).await {
                tracing::debug!(%error, "no Event was written");
            }
        }
    }
}
