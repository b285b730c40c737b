//! An image in one file: an OCI image layout as a tar archive, as `cairn build -o`, `skopeo copy
//! oci-archive:` and others write and read it.

use std::collections::BTreeMap;
use std::io::{self, Read};

use serde_json::{Value, json};

use super::{Blob, Digest, Image, Index, Layers, Limits, Manifest, MediaType, tar};
use crate::Files;

/// The annotation by which the index of a layout names an image.
const NAME: &str = "org.opencontainers.image.ref.name";
/// The most bytes of all blobs of an archive; packages are far smaller.
const TOTAL: u64 = 256 << 20;

/// What is in such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// The manifest of the image.
    pub manifest: Blob,
    /// The tag that it was built with, if any.
    pub tag: Option<String>,
    /// All other blobs.
    pub blobs: BTreeMap<Digest, Vec<u8>>,
}

impl Archive {
    /// The bytes of a file with one image.
    pub fn write(image: &Image, tag: Option<&str>) -> Vec<u8> {
        let mut entry = image.manifest.descriptor();
        if let (Some(tag), Value::Object(entry)) = (tag, &mut entry) {
            entry.insert("annotations".to_owned(), json!({ NAME: tag }));
        }
        let index = json!({
            "schemaVersion": 2,
            "mediaType": MediaType::INDEX.as_str(),
            "manifests": [entry],
        })
        .to_string();
        let mut files: BTreeMap<String, &[u8]> = BTreeMap::from([
            (
                "oci-layout".to_owned(),
                br#"{"imageLayoutVersion":"1.0.0"}"#.as_slice(),
            ),
            ("index.json".to_owned(), index.as_bytes()),
        ]);
        for blob in image.blobs.iter().chain([&image.manifest]) {
            files.insert(format!("blobs/sha256/{}", blob.digest.hex()), &blob.bytes);
        }
        tar::write(files.into_iter())
    }

    /// Reads such a file; every blob is what its name says.
    pub fn read(archive: impl Read) -> Result<Self, String> {
        let mut blobs: BTreeMap<Digest, Vec<u8>> = BTreeMap::new();
        let mut index = None;
        let mut total = 0;
        tar::read(archive, |name, kind, size, content| {
            let name = String::from_utf8_lossy(name).into_owned();
            let name = name.trim_start_matches("./");
            let blob = name
                .strip_prefix("blobs/sha256/")
                .map(|hex| format!("sha256:{hex}").parse::<Digest>());
            if kind != tar::Kind::File || (blob.is_none() && name != "index.json") {
                return Ok(());
            }
            total += size;
            if total > TOTAL {
                return Err(io::Error::other(format!(
                    "it holds more than {TOTAL} bytes"
                )));
            }
            let mut bytes = Vec::new();
            content.take(size).read_to_end(&mut bytes)?;
            match blob {
                None => index = Some(bytes),
                Some(Ok(digest)) if Digest::of(&bytes) == digest => {
                    blobs.insert(digest, bytes);
                }
                Some(_) => {
                    return Err(io::Error::other(format!(
                        "`{name}` is not what its digest says"
                    )));
                }
            }
            Ok(())
        })
        .map_err(|error| error.to_string())?;
        let index = index.ok_or("it is no OCI image archive: it has no `index.json`")?;
        let chosen = Index::read(&index)?;
        let descriptor = chosen.choose().ok_or("its index lists no image")?;
        let bytes = blobs
            .remove(&descriptor.digest)
            .ok_or("the manifest that its index names is not there")?;
        let tag = serde_json::from_slice::<Value>(&index)
            .ok()
            .and_then(|index| {
                let entries = index["manifests"].as_array()?;
                let digest = descriptor.digest.to_string();
                let entry = entries.iter().find(|entry| entry["digest"] == digest)?;
                Some(entry["annotations"][NAME].as_str()?.to_owned())
            });
        Ok(Self {
            manifest: Blob::new(descriptor.media_type.clone(), bytes),
            tag,
            blobs,
        })
    }

    /// The image, as it can be pushed.
    pub fn into_image(self) -> Result<Image, String> {
        let manifest = Manifest::read(&self.manifest.bytes)?;
        let mut blobs = Vec::new();
        for part in [&manifest.config].into_iter().chain(&manifest.layers) {
            let bytes = self
                .blobs
                .get(&part.digest)
                .ok_or_else(|| format!("it lacks {}", part.digest))?;
            blobs.push(Blob::new(part.media_type.clone(), bytes.clone()));
        }
        Ok(Image {
            manifest: self.manifest,
            blobs,
        })
    }

    /// The files of the package in it.
    pub fn files(&self) -> Result<Files, String> {
        let mut layers = Layers::new(Limits::default());
        for part in Manifest::read(&self.manifest.bytes)?.layers {
            let bytes = self
                .blobs
                .get(&part.digest)
                .ok_or_else(|| format!("it lacks {}", part.digest))?;
            layers
                .add(&part.media_type, bytes.as_slice())
                .map_err(|refused| refused.to_string())?;
        }
        Ok(layers.into_files())
    }
}
