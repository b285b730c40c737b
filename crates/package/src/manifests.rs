//! The objects that a package adds to a cluster, in the order in which they are made, and as a
//! stream of YAML.

use serde_json::Value;

use crate::{Package, Problem, Severity};

impl Package {
    /// The CRDs in the order of their names, then the Stack, without a name. Nothing else of a
    /// package reaches a cluster.
    pub fn manifests(&self) -> Vec<Value> {
        let mut crds: Vec<&Value> = self.crds.iter().map(|file| &file.crd.object).collect();
        crds.sort_by_key(|crd| crd["metadata"]["name"].as_str().unwrap_or_default());
        let stack = serde_json::to_value(&self.stack).unwrap_or_default();
        crds.into_iter().cloned().chain([stack]).collect()
    }

    /// Takes the version from the tag of its image if `app.yaml` has none; if it has one, both must
    /// be the same.
    pub fn set_tag(&mut self, tag: &str) -> Result<(), Problem> {
        if self.app.version.is_empty() {
            tag.clone_into(&mut self.app.version);
            tag.clone_into(&mut self.stack.spec.app.version);
        }
        if self.app.version == tag {
            return Ok(());
        }
        let version = &self.app.version;
        Err(Problem {
            severity: Severity::Error,
            file: "app.yaml".to_owned(),
            line: 0,
            column: 0,
            what: format!(
                "the package says that its version is `{version}`, and its image has the tag `{tag}`"
            ),
            hint: Some(format!(
                "tag the image `{version}`, or leave `version` out of `app.yaml`"
            )),
        })
    }
}

/// Objects as documents of one stream.
pub fn stream(objects: &[Value]) -> Result<String, yaml::Error> {
    let mut text = String::new();
    for object in objects {
        text.push_str("---\n");
        yaml::emit_to(&mut text, object)?;
    }
    Ok(text)
}
