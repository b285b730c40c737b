//! The roles by which people use what is installed in a namespace, for namespaces that want them.

use engine::manage::personas;
use serde_json::Value;

use super::{StackManager, Work};
use crate::Error;
use crate::queue::Again;
use crate::resource::Key;

impl StackManager {
    pub(super) async fn namespace(&self, name: &str) -> Result<Again, Error> {
        let namespace = self.world.namespaces.get(&Key::new("", name));
        let wanted = namespace.filter(|namespace| namespace["metadata"]["deletionTimestamp"].is_null());
        let Some(namespace) = wanted else {
            for (resource, key, object) in self.world.made_for(&Work::Namespace(name.to_owned())) {
                let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
                self.parts.tenant.delete(&resource, &key, uid, "Background").await?;
            }
            return Ok(Again::OnChange);
        };
        let uid = namespace["metadata"]["uid"].as_str().unwrap_or_default();
        for mut role in personas(name, uid) {
            // The rules are gathered by the cluster; what it has gathered is none of ours.
            if let Value::Object(role) = &mut role {
                role.remove("rules");
            }
            self.put(&role).await?;
        }
        Ok(Again::OnChange)
    }
}
