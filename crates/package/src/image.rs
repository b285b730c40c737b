//! A package as an OCI image: its one layer, its configuration and its manifest, the same bytes for
//! the same files. Nothing here talks to a registry.

mod archive;
mod digest;
mod layer;
mod manifest;
mod reference;
mod tar;
mod zstd;

use std::collections::BTreeMap;

pub use archive::Archive;
pub use digest::{BadDigest, Digest};
pub use layer::{Layers, Limits, Refused};
pub use manifest::{Descriptor, Index, Manifest, MediaType, Platform};
pub use reference::{BadReference, Reference};
use serde_json::{Value, json};

use crate::{Files, Package, layout};

/// The kinds that a package owns, as JSON, so that an index needs no layer.
pub const OWNED: &str = "stacks.crossplane.io/owned-crds";
/// The kinds that a package depends on, as JSON.
pub const REQUIRED: &str = "stacks.crossplane.io/required-crds";

/// An image and everything that it consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The manifest.
    pub manifest: Blob,
    /// What the manifest refers to: the configuration and the layer.
    pub blobs: Vec<Blob>,
}

/// Bytes and what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// The media type.
    pub media_type: MediaType,
    /// The digest of the bytes.
    pub digest: Digest,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Blob {
    fn new(media_type: MediaType, bytes: Vec<u8>) -> Self {
        Self {
            media_type,
            digest: Digest::of(&bytes),
            bytes,
        }
    }

    fn json(media_type: MediaType, value: &Value) -> Self {
        // Keys of objects are sorted, so that the bytes follow from the value alone.
        Self::new(media_type, value.to_string().into_bytes())
    }

    /// How manifests refer to it.
    pub fn descriptor(&self) -> Value {
        json!({
            "mediaType": self.media_type.as_str(),
            "digest": self.digest.to_string(),
            "size": self.bytes.len(),
        })
    }
}

impl Image {
    /// The image of a package that was read from these files. Tests of the package and what is not
    /// below `.registry` stay out of it.
    pub fn build(files: &Files, package: &Package) -> Self {
        let root = layout::root(files.keys().map(String::as_str)).unwrap_or_default();
        let inside = files.iter().filter_map(|(path, bytes)| {
            let inner = path.strip_prefix(root)?;
            (!inner.starts_with("tests/"))
                .then(|| (format!("{}{inner}", layout::DIRECTORY), bytes.as_slice()))
        });
        let archive = tar::write(inside);
        let content = Digest::of(&archive);
        let layer = Blob::new(MediaType::LAYER_GZIP, layer::gzip(&archive));
        let said = annotations(package);
        let config = Blob::json(
            MediaType::CONFIG,
            &json!({
                "architecture": "amd64",
                "os": "linux",
                "created": "1970-01-01T00:00:00Z",
                "config": { "Labels": said },
                "rootfs": { "type": "layers", "diff_ids": [content.to_string()] },
                "history": [{ "created": "1970-01-01T00:00:00Z", "created_by": "cairn build" }],
            }),
        );
        let manifest = Blob::json(
            MediaType::MANIFEST,
            &json!({
                "schemaVersion": 2,
                "mediaType": MediaType::MANIFEST.as_str(),
                "config": config.descriptor(),
                "layers": [layer.descriptor()],
                "annotations": said,
            }),
        );
        Self {
            manifest,
            blobs: vec![config, layer],
        }
    }
}

/// What the manifest and the configuration say of a package.
fn annotations(package: &Package) -> BTreeMap<&'static str, String> {
    let app = &package.app;
    let owned: Vec<Value> = package
        .crds
        .iter()
        .flat_map(|file| {
            file.crd
                .versions
                .iter()
                .map(move |version| (&file.crd, &version.name))
        })
        .map(|(crd, version)| {
            let (kind, plural) = (&crd.names.kind, &crd.names.plural);
            json!({ "kind": kind, "plural": plural, "group": crd.group, "version": version })
        })
        .collect();
    let required: Vec<&str> = app
        .depends_on
        .iter()
        .map(|dependency| dependency.crd.as_str())
        .collect();
    let mut said = BTreeMap::from([
        (OWNED, json!(owned).to_string()),
        (REQUIRED, json!(required).to_string()),
    ]);
    for (key, value) in [
        ("org.opencontainers.image.title", &app.title),
        ("org.opencontainers.image.description", &app.overview_short),
        ("org.opencontainers.image.version", &app.version),
        ("org.opencontainers.image.licenses", &app.license),
        ("org.opencontainers.image.vendor", &app.company),
        ("org.opencontainers.image.url", &app.website),
        ("org.opencontainers.image.source", &app.source),
    ] {
        if !value.is_empty() {
            said.insert(key, value.clone());
        }
    }
    said
}

/// Whether a text can be the tag of an image.
pub fn is_tag(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=128).contains(&text.len()) && text.bytes().all(allowed) && !text.starts_with(['.', '-'])
}
