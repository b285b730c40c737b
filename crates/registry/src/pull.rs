//! Pulling: which image a tag means, and the package in it. Nothing is believed that does not match
//! its digest.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use http::{Method, StatusCode, header};
use http_body_util::BodyExt;
use package::Files;
use package::image::Reference;
use package::image::{Descriptor, Digest, Index, Layers, Limits, Manifest, MediaType};

use crate::store::Part;
use crate::{Client, Error, Progress, Store};

/// How many times the bytes of one layer all layers of an image may have.
const LAYERS: u64 = 4;
/// How many layers of an image are held open until they are unpacked.
const HELD: usize = 8;

/// The image that a reference means now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The image by digest: what was asked for, which may be a list of images.
    pub reference: Reference,
    /// Its manifest.
    pub manifest: Manifest,
}

/// A package that was pulled.
#[derive(Debug, Clone)]
pub struct Pulled {
    /// The image that it came from.
    pub resolved: Resolved,
    /// Its files, with paths from the root of the image.
    pub files: Files,
}

/// An image whose layers are on the disk, and not unpacked yet.
#[derive(Debug)]
pub struct Downloaded {
    store: Store,
    part: Part,
    /// The first layers; the others are opened when it is their turn.
    files: Vec<File>,
    resolved: Resolved,
}

impl Downloaded {
    /// Unpacks the package in it, as long as the caller wants to go on. It takes its time, and a
    /// thread.
    pub fn unpack(self, going: &dyn Fn() -> bool) -> Result<Pulled, Error> {
        let Self {
            store,
            part,
            files,
            resolved,
        } = self;
        let reference = &resolved.reference;
        let mut layers = Layers::new(Limits::default());
        let mut files = files.into_iter();
        for layer in &resolved.manifest.layers {
            let file = files.next().or_else(|| store.get(&part, &layer.digest));
            let evicted = || {
                let cause = format!(
                    "the layer {} was evicted before it was unpacked",
                    layer.digest
                );
                store.error(&std::io::Error::other(cause))
            };
            let file = std::io::BufReader::new(file.ok_or_else(evicted)?);
            let added = layers.add_while(&layer.media_type, file, going);
            added.map_err(|refused| Error::Refused {
                reference: reference.to_string(),
                refused,
            })?;
        }
        Ok(Pulled {
            files: layers.into_files(),
            resolved,
        })
    }

    /// Unpacks it on another thread, until the caller no longer waits for it.
    async fn unpack_aside(self) -> Result<Pulled, Error> {
        let host = self.resolved.reference.registry.clone();
        let waiting = Arc::new(());
        let waited = Arc::downgrade(&waiting);
        let unpacked =
            tokio::task::spawn_blocking(move || self.unpack(&|| waited.strong_count() > 0)).await;
        drop(waiting);
        unpacked.map_err(|error| Error::Wrong {
            host,
            what: "a layer".to_owned(),
            cause: error.to_string(),
        })?
    }
}

impl Client {
    /// Finds out which image a reference means.
    pub async fn resolve(&self, reference: &Reference) -> Result<Resolved, Error> {
        self.in_time(reference, self.find(reference)).await
    }

    async fn find(&self, reference: &Reference) -> Result<Resolved, Error> {
        let wanted = reference
            .digest
            .clone()
            .or(reference.tag.clone())
            .unwrap_or_else(|| "latest".to_owned());
        let (media_type, bytes) = self.manifest(reference, &wanted).await?;
        let digest = Digest::of(&bytes);
        if let Some(expected) = &reference.digest
            && *expected != digest.to_string()
        {
            let cause = format!("its digest is {digest}");
            return Err(self.wrong(reference, reference.to_string(), cause));
        }
        let pinned = reference.at(&digest.to_string());
        let wrong =
            |cause: String| self.wrong(reference, format!("the manifest of {pinned}"), cause);
        if !media_type.is_index() {
            let manifest = Manifest::read(&bytes).map_err(|why| wrong(unread(&bytes, why)))?;
            return Ok(Resolved {
                reference: pinned,
                manifest,
            });
        }
        let index = Index::read(&bytes).map_err(|why| wrong(unread(&bytes, why)))?;
        let chosen = index
            .choose()
            .ok_or_else(|| wrong("it lists no image".to_owned()))?;
        let (_, bytes) = self.manifest(reference, &chosen.digest.to_string()).await?;
        if Digest::of(&bytes) != chosen.digest {
            return Err(wrong(format!(
                "what it has as {} is something else",
                chosen.digest
            )));
        }
        let manifest = Manifest::read(&bytes).map_err(|why| wrong(unread(&bytes, why)))?;
        Ok(Resolved {
            reference: pinned,
            manifest,
        })
    }

    /// Pulls the package in an image.
    pub async fn pull(
        &self,
        reference: &Reference,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Pulled, Error> {
        let pull = async {
            self.bring(self.find(reference).await?, progress)
                .await?
                .unpack_aside()
                .await
        };
        self.in_time(reference, pull).await
    }

    /// Pulls the package in an image that was found out before.
    pub async fn fetch(
        &self,
        resolved: Resolved,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Pulled, Error> {
        let reference = resolved.reference.clone();
        let pull = async { self.bring(resolved, progress).await?.unpack_aside().await };
        self.in_time(&reference, pull).await
    }

    /// Downloads an image without unpacking it: the caller decides which thread does that, and for
    /// how long.
    pub async fn download(&self, reference: &Reference) -> Result<Downloaded, Error> {
        let download = async { self.bring(self.find(reference).await?, &|_| ()).await };
        self.in_time(reference, download).await
    }

    async fn bring(
        &self,
        resolved: Resolved,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Downloaded, Error> {
        let reference = &resolved.reference;
        let total = resolved
            .manifest
            .layers
            .iter()
            .map(|layer| layer.size)
            .fold(0, u64::saturating_add);
        let most = self.options.layer_bytes.saturating_mul(LAYERS);
        if total > most {
            let cause =
                format!("its layers have {total} bytes, more than the {most} that are read");
            return Err(self.wrong(reference, reference.to_string(), cause));
        }
        let part = self.part(reference);
        let mut done = 0;
        let mut files = Vec::new();
        for layer in &resolved.manifest.layers {
            let file = match self.stored(&part, layer.digest).await {
                Some(file) => file,
                None => {
                    let step = |bytes| {
                        progress(Progress {
                            done: done + bytes,
                            total,
                        });
                    };
                    self.layer(reference, &part, layer, step).await?
                }
            };
            done += layer.size;
            progress(Progress { done, total });
            if files.len() < HELD {
                files.push(file);
            }
        }
        Ok(Downloaded {
            store: self.options.store.clone(),
            part,
            files,
            resolved,
        })
    }

    /// A blob of the store, whose digest takes its time to compute.
    async fn stored(&self, part: &Part, digest: Digest) -> Option<File> {
        let (store, part) = (self.options.store.clone(), part.clone());
        tokio::task::spawn_blocking(move || store.get(&part, &digest))
            .await
            .ok()?
    }

    /// A manifest by tag or digest. One that was seen before is known by its digest, without the
    /// registry.
    async fn manifest(
        &self,
        reference: &Reference,
        name: &str,
    ) -> Result<(MediaType, Vec<u8>), Error> {
        let digest = name.parse::<Digest>().ok();
        let part = self.part(reference);
        if let Some(mut file) = digest.and_then(|digest| self.options.store.get(&part, &digest)) {
            let mut bytes = Vec::new();
            if file.read_to_end(&mut bytes).is_ok() {
                return Ok((kind(&bytes, None), bytes));
            }
        }
        let known = [
            MediaType::MANIFEST,
            MediaType::INDEX,
            MediaType::DOCKER_MANIFEST,
            MediaType::DOCKER_INDEX,
        ];
        let accept: Vec<&str> = known.iter().map(MediaType::as_str).collect();
        let accept = accept.join(", ");
        let path = format!("manifests/{name}");
        let answer = self
            .ask(reference, Method::GET, &path, "pull", |ask| {
                ask.header(header::ACCEPT, &accept)
            })
            .await?;
        if answer.status != StatusCode::OK {
            return Err(self
                .refusal(reference, &format!("the manifest of {reference}"), answer)
                .await);
        }
        let served = answer.header(header::CONTENT_TYPE).map(MediaType::from);
        let bytes = answer.bytes().await;
        let what = format!("the manifest of {reference}");
        let bytes = bytes
            .map_err(|cause| self.wrong(reference, &what, cause))?
            .to_vec();
        let media_type = kind(&bytes, served);
        if Manifest::read(&bytes).is_ok() || Index::read(&bytes).is_ok() {
            self.options.store.put(&part, &bytes)?;
        }
        Ok((media_type, bytes))
    }

    /// Puts a layer into the store.
    async fn layer(
        &self,
        reference: &Reference,
        part: &Part,
        layer: &Descriptor,
        step: impl Fn(u64),
    ) -> Result<File, Error> {
        let what = format!("the layer {} of {reference}", layer.digest);
        let most = self.options.layer_bytes;
        if layer.size > most {
            let cause = format!(
                "it has {} bytes, more than the {most} that are read",
                layer.size
            );
            return Err(self.wrong(reference, what, cause));
        }
        let path = format!("blobs/{}", layer.digest);
        let mut answer = self
            .ask(reference, Method::GET, &path, "pull", |ask| ask)
            .await?;
        if answer.status != StatusCode::OK {
            return Err(self.refusal(reference, &what, answer).await);
        }
        let mut incoming = self.options.store.begin()?;
        loop {
            let frame =
                tokio::time::timeout(std::time::Duration::from_secs(60), answer.body.frame()).await;
            let frame = match frame {
                Ok(Some(Ok(frame))) => frame,
                Ok(None) => break,
                Ok(Some(Err(_))) => {
                    return Err(self.unreachable(reference, format!("{what} broke off")));
                }
                Err(_) => return Err(self.unreachable(reference, format!("{what} stopped coming"))),
            };
            let Some(bytes) = frame.data_ref() else {
                continue;
            };
            if incoming.length() + bytes.len() as u64 > layer.size {
                return Err(self.wrong(
                    reference,
                    what,
                    format!("it has more than the {} bytes it should", layer.size),
                ));
            }
            incoming
                .write(bytes)
                .map_err(|error| self.options.store.error(&error))?;
            step(incoming.length());
        }
        if incoming.length() != layer.size {
            let cause = format!(
                "it has {} bytes, and should have {}",
                incoming.length(),
                layer.size
            );
            return Err(self.wrong(reference, what, cause));
        }
        if incoming.digest() != layer.digest {
            let cause = format!("its digest is {}", incoming.digest());
            return Err(self.wrong(reference, what, cause));
        }
        incoming.finish(&self.options.store, part)
    }
}

/// Why a manifest cannot be read, without anything that is in it: it may be somebody else's page.
fn unread(bytes: &[u8], why: String) -> String {
    match serde_json::from_slice::<serde_json::Value>(bytes) {
        Err(_) => "it is not JSON".to_owned(),
        Ok(value) if value["schemaVersion"] == 1 => why,
        Ok(_) => "it is not a valid image manifest".to_owned(),
    }
}

/// What a manifest is: by its own word, by how it was served, or by what is in it.
fn kind(bytes: &[u8], served: Option<MediaType>) -> MediaType {
    let own = serde_json::from_slice::<serde_json::Value>(bytes).unwrap_or_default();
    let known = |media_type: &MediaType| media_type.is_index() || media_type.is_manifest();
    let said = own["mediaType"]
        .as_str()
        .map(MediaType::from)
        .filter(known)
        .or(served.filter(known));
    said.unwrap_or(if own["manifests"].is_array() {
        MediaType::INDEX
    } else {
        MediaType::MANIFEST
    })
}
