//! Kinds and objects as requests name them.

use crate::Gvk;

/// A kind of objects.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Resource {
    /// Group, version and kind.
    pub gvk: Gvk,
    /// As URLs write it.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

/// An object of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Its namespace; empty for cluster-scoped ones.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Key {
    /// The key of an object.
    pub fn of(object: &serde_json::Value) -> Self {
        let text = |field: &str| {
            object["metadata"][field]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            namespace: text("namespace"),
            name: text("name"),
        }
    }

    /// An object in a namespace, or of the cluster if that is empty.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.namespace.is_empty() {
            write!(formatter, "{}/", self.namespace)?;
        }
        formatter.write_str(&self.name)
    }
}

impl Resource {
    /// A kind that lives in namespaces.
    pub fn namespaced(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self {
            gvk: Gvk::new(group, version, kind),
            plural: plural.to_owned(),
            namespaced: true,
        }
    }

    /// A kind of the whole cluster.
    pub fn cluster(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self {
            namespaced: false,
            ..Self::namespaced(group, version, kind, plural)
        }
    }

    /// A kind that every cluster has, by what objects say of themselves.
    pub fn builtin(object: &serde_json::Value) -> Option<Self> {
        let gvk = Gvk::of(object)?;
        let builtin = crate::builtin_kind(&gvk)?;
        Some(Self {
            gvk,
            plural: builtin.plural.to_owned(),
            namespaced: builtin.namespaced,
        })
    }

    /// The path of the collection, or of all of them in the cluster.
    pub fn collection(&self, namespace: &str) -> String {
        let Gvk { group, version, .. } = &self.gvk;
        let root = if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        };
        match namespace {
            "" => format!("{root}/{}", self.plural),
            namespace => format!("{root}/namespaces/{namespace}/{}", self.plural),
        }
    }

    /// The path of an object.
    pub fn path(&self, key: &Key) -> String {
        format!("{}/{}", self.collection(&key.namespace), key.name)
    }
}

impl std::fmt::Display for Resource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.plural)?;
        if !self.gvk.group.is_empty() {
            write!(formatter, ".{}", self.gvk.group)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Resource};

    #[test]
    fn paths_are_those_of_kubernetes() {
        let deployments = Resource::namespaced("apps", "v1", "Deployment", "deployments");
        let roles = Resource::cluster(
            "rbac.authorization.k8s.io",
            "v1",
            "ClusterRole",
            "clusterroles",
        );
        let secrets = Resource::namespaced("", "v1", "Secret", "secrets");
        for (resource, key, expected) in [
            (
                &deployments,
                Key::new("a", "b"),
                "/apis/apps/v1/namespaces/a/deployments/b",
            ),
            (
                &roles,
                Key::new("", "b"),
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/b",
            ),
            (
                &secrets,
                Key::new("a", "b"),
                "/api/v1/namespaces/a/secrets/b",
            ),
        ] {
            assert_eq!(resource.path(&key), expected);
        }
        assert_eq!(deployments.collection(""), "/apis/apps/v1/deployments");
        assert_eq!(deployments.to_string(), "deployments.apps");
    }
}
