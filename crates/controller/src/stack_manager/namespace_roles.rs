//! The roles by which people use what is installed in a namespace, for namespaces that want them.

use install::{Purpose, personas};
use serde_json::Value;

use super::StackManager;
use super::ownership::in_the_way;
use crate::Error;
use crate::runtime::work_queue::Requeue;
use objects::Key;

impl StackManager {
    pub(super) async fn namespace(&self, name: &str) -> Result<Requeue, Error> {
        let purpose = Purpose::Namespace(name.to_owned());
        let namespace = self.informers.namespaces.get(&Key::new("", name));
        let wanted =
            namespace.filter(|namespace| namespace["metadata"]["deletionTimestamp"].is_null());
        let Some(namespace) = wanted else {
            for owned in self.owned(&purpose).await? {
                self.delete_owned(&owned, "Background").await?;
            }
            return Ok(Requeue::AwaitChange);
        };
        let uid = namespace["metadata"]["uid"].as_str().unwrap_or_default();
        for mut role in personas(name, uid) {
            // The rules are gathered by the cluster; what it has gathered is none of ours.
            if let Value::Object(role) = &mut role {
                role.remove("rules");
            }
            self.signing_key().await?.sign(&mut role, &purpose);
            if !self.put(&role, &purpose).await? {
                let error = in_the_way(&role);
                tracing::warn!(namespace = name, %error, "a persona of the namespace cannot be created");
                return Ok(Requeue::SlowBackoff);
            }
        }
        Ok(Requeue::AwaitChange)
    }
}
