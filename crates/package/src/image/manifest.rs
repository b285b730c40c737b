//! What registries answer: manifests and indexes, in OCI's and in Docker's spelling.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use super::Digest;

/// A media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaType(std::borrow::Cow<'static, str>);

impl MediaType {
    /// OCI's manifest of one image.
    pub const MANIFEST: Self = Self::of("application/vnd.oci.image.manifest.v1+json");
    /// Docker's manifest of one image.
    pub const DOCKER_MANIFEST: Self =
        Self::of("application/vnd.docker.distribution.manifest.v2+json");
    /// OCI's list of images for several platforms.
    pub const INDEX: Self = Self::of("application/vnd.oci.image.index.v1+json");
    /// Docker's list of images for several platforms.
    pub const DOCKER_INDEX: Self =
        Self::of("application/vnd.docker.distribution.manifest.list.v2+json");
    /// OCI's configuration of an image.
    pub const CONFIG: Self = Self::of("application/vnd.oci.image.config.v1+json");
    /// OCI's compressed layer.
    pub const LAYER_GZIP: Self = Self::of("application/vnd.oci.image.layer.v1.tar+gzip");

    const fn of(text: &'static str) -> Self {
        Self(std::borrow::Cow::Borrowed(text))
    }

    /// As headers write it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is a list of images.
    pub fn is_index(&self) -> bool {
        *self == Self::INDEX || *self == Self::DOCKER_INDEX
    }

    /// Whether it is the manifest of one image.
    pub fn is_manifest(&self) -> bool {
        *self == Self::MANIFEST || *self == Self::DOCKER_MANIFEST
    }
}

impl From<&str> for MediaType {
    fn from(text: &str) -> Self {
        // Parameters such as a character set say nothing here.
        let text = text.split(';').next().unwrap_or_default().trim();
        Self(std::borrow::Cow::Owned(text.to_owned()))
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// How a manifest refers to a blob or another manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// What it is.
    pub media_type: MediaType,
    /// Its digest.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
    /// Which machines it is for.
    pub platform: Option<Platform>,
}

/// A kind of machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Platform {
    /// Such as `amd64`.
    pub architecture: String,
    /// Such as `linux`.
    pub os: String,
}

/// The manifest of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The configuration.
    pub config: Descriptor,
    /// The layers, the lowest first.
    pub layers: Vec<Descriptor>,
    /// What is said of it.
    pub annotations: std::collections::BTreeMap<String, String>,
}

/// A list of images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// The images.
    pub manifests: Vec<Descriptor>,
}

/// The most layers that an image may have; the tools that make images take fewer.
const LAYERS: usize = 500;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawDescriptor {
    #[serde(default)]
    media_type: String,
    digest: String,
    size: u64,
    platform: Option<Platform>,
}

impl RawDescriptor {
    fn read(self) -> Result<Descriptor, String> {
        let digest = self
            .digest
            .parse()
            .map_err(|error: super::BadDigest| error.to_string())?;
        let media_type = MediaType::from(self.media_type.as_str());
        Ok(Descriptor {
            media_type,
            digest,
            size: self.size,
            platform: self.platform,
        })
    }
}

impl Manifest {
    /// Reads a manifest, or says what is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Raw {
            config: RawDescriptor,
            layers: Vec<RawDescriptor>,
            #[serde(default)]
            annotations: Option<std::collections::BTreeMap<String, String>>,
        }
        let raw: Raw = read(bytes)?;
        if raw.layers.len() > LAYERS {
            return Err(format!(
                "the manifest has {} layers, more than the {LAYERS} that are read",
                raw.layers.len()
            ));
        }
        let layers = raw
            .layers
            .into_iter()
            .map(RawDescriptor::read)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            config: raw.config.read()?,
            layers,
            annotations: raw.annotations.unwrap_or_default(),
        })
    }
}

impl Index {
    /// Reads a list of images, or says what is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Raw {
            manifests: Vec<RawDescriptor>,
        }
        let raw: Raw = read(bytes)?;
        Ok(Self {
            manifests: raw
                .manifests
                .into_iter()
                .map(RawDescriptor::read)
                .collect::<Result<_, _>>()?,
        })
    }

    /// The image to take: what packages hold is the same for all machines, so the first that is one
    /// will do, Linux before others.
    pub fn choose(&self) -> Option<&Descriptor> {
        let known = |descriptor: &&Descriptor| {
            let platform = descriptor.platform.as_ref();
            // Attestations are listed beside images, for a platform that does not exist.
            platform.is_none_or(|platform| platform.os != "unknown")
        };
        let linux = |descriptor: &&Descriptor| {
            descriptor
                .platform
                .as_ref()
                .is_some_and(|platform| platform.os == "linux")
        };
        self.manifests
            .iter()
            .find(linux)
            .or_else(|| self.manifests.iter().find(known))
    }
}

/// Reads JSON whose media type is its own word or the one it was served with.
fn read<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        let start = String::from_utf8_lossy(bytes)
            .chars()
            .take(60)
            .collect::<String>();
        format!(
            "it is no JSON ({error}); it begins with `{}`",
            start.escape_debug()
        )
    })?;
    if value["schemaVersion"] == 1 {
        return Err("it is a manifest of Docker's first schema, which is no longer in use: push the image again".into());
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Index, Manifest, MediaType};

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn what_is_no_manifest_is_said_to_be_none() {
        for (text, expected) in [
            (
                "<html>",
                "it is no JSON (expected value at line 1 column 1); it begins with `<html>`",
            ),
            ("{}", "missing field `config`"),
            (
                r#"{"schemaVersion":1}"#,
                "it is a manifest of Docker's first schema, which is no longer in use: push the image again",
            ),
            (
                r#"{"config":{"digest":"x","size":1},"layers":[]}"#,
                "`x` is no digest: it is `sha256:` and 64 hexadecimal digits",
            ),
        ] {
            assert_eq!(Manifest::read(text.as_bytes()).unwrap_err(), expected);
        }
    }

    #[test]
    fn the_image_for_linux_is_chosen_and_an_attestation_never() {
        let entry = |os: &str| json!({ "mediaType": "m", "digest": DIGEST, "size": 1, "platform": { "os": os } });
        for (systems, expected) in [
            (&["unknown", "windows", "linux"][..], Some("linux")),
            (&["unknown", "darwin"], Some("darwin")),
            (&["unknown"], None),
            (&[], None),
        ] {
            let list: Vec<_> = systems.iter().map(|os| entry(os)).collect();
            let index = Index::read(json!({ "manifests": list }).to_string().as_bytes()).unwrap();
            let chosen = index
                .choose()
                .map(|chosen| chosen.platform.clone().unwrap_or_default().os);
            assert_eq!(chosen.as_deref(), expected, "{systems:?}");
        }
    }

    #[test]
    fn parameters_of_a_media_type_do_not_matter() {
        assert!(
            MediaType::from("application/vnd.oci.image.index.v1+json; charset=utf-8").is_index()
        );
    }
}
