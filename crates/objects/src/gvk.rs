//! Group, version and kind: what an object says it is.

use std::fmt;

use serde_json::Value;

/// The `apiVersion` of an object: `apps/v1`, or `v1` for the core group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApiVersion {
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
}

impl ApiVersion {
    /// Reads `group/version` or `version`. None when a part is missing or there are more than two.
    pub fn parse(text: &str) -> Option<Self> {
        let (group, version) = match text.split_once('/') {
            Some(("", _)) => return None,
            Some(parts) => parts,
            None => ("", text),
        };
        let sound = !version.is_empty() && !version.contains('/');
        sound.then(|| Self {
            group: group.to_owned(),
            version: version.to_owned(),
        })
    }

    /// The same with a kind.
    pub fn kind(&self, kind: &str) -> Gvk {
        Gvk {
            group: self.group.clone(),
            version: self.version.clone(),
            kind: kind.to_owned(),
        }
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            formatter.write_str(&self.version)
        } else {
            write!(formatter, "{}/{}", self.group, self.version)
        }
    }
}

/// A kind of objects in a version of its group. `Display` writes `Redis.v1.example.org`, as kubectl
/// takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gvk {
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind, as objects write it.
    pub kind: String,
}

impl Gvk {
    /// Puts the parts together.
    pub fn new(group: &str, version: &str, kind: &str) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// What an object says it is; none unless both `apiVersion` and `kind` are sound.
    pub fn of(object: &Value) -> Option<Self> {
        let kind = object
            .get("kind")?
            .as_str()
            .filter(|kind| !kind.is_empty())?;
        Some(ApiVersion::parse(object.get("apiVersion")?.as_str()?)?.kind(kind))
    }

    /// The part that objects write as `apiVersion`.
    pub fn api_version(&self) -> ApiVersion {
        ApiVersion {
            group: self.group.clone(),
            version: self.version.clone(),
        }
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.kind, self.version)?;
        if !self.group.is_empty() {
            write!(formatter, ".{}", self.group)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ApiVersion, Gvk};

    #[test]
    fn an_api_version_is_read_and_written() {
        for (text, expected) in [
            ("v1", Some(("", "v1"))),
            ("apps/v1", Some(("apps", "v1"))),
            ("a.b.c/v1alpha1", Some(("a.b.c", "v1alpha1"))),
            ("", None),
            ("/v1", None),
            ("apps/", None),
            ("a/b/c", None),
        ] {
            let read = ApiVersion::parse(text);
            assert_eq!(
                read.as_ref().map(|read| (&*read.group, &*read.version)),
                expected,
                "{text}"
            );
            assert!(read.is_none_or(|read| read.to_string() == text));
        }
    }

    #[test]
    fn an_object_says_what_it_is_or_does_not() {
        let redis = Gvk::of(&json!({ "apiVersion": "example.org/v1", "kind": "Redis" }));
        assert_eq!(
            redis.as_ref().map(ToString::to_string).as_deref(),
            Some("Redis.v1.example.org")
        );
        assert_eq!(
            redis
                .map(|redis| redis.api_version().to_string())
                .as_deref(),
            Some("example.org/v1")
        );
        assert_eq!(Gvk::new("", "v1", "Pod").to_string(), "Pod.v1");
        for object in [
            json!({}),
            json!([]),
            json!({ "kind": "A" }),
            json!({ "apiVersion": "v1", "kind": "" }),
        ] {
            assert_eq!(Gvk::of(&object), None);
        }
    }
}
