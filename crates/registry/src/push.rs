//! Pushing: the blobs that the registry does not have yet, and then the manifest that names them.

use http::{Method, StatusCode, header};
use package::image::Reference;
use package::image::{Blob, Image};

use crate::{Client, Error, Progress};

/// What was pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// The image by digest.
    pub reference: Reference,
    /// How many blobs went over, of how many.
    pub sent: usize,
    /// How many blobs the image has.
    pub blobs: usize,
}

impl Client {
    /// Puts an image into a registry, under the tag of the reference.
    pub async fn push(
        &self,
        image: &Image,
        reference: &Reference,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Pushed, Error> {
        let total = image.blobs.iter().map(|blob| blob.bytes.len() as u64).sum();
        let mut done = 0;
        let mut sent = 0;
        for blob in &image.blobs {
            if !self.has(reference, blob).await? {
                self.send(reference, blob).await?;
                sent += 1;
            }
            done += blob.bytes.len() as u64;
            progress(Progress { done, total });
        }
        let digest = image.manifest.digest.to_string();
        let name = reference.tag.clone().unwrap_or_else(|| digest.clone());
        let media_type = image.manifest.media_type.as_str();
        let path = format!("manifests/{name}");
        let bytes = image.manifest.bytes.clone();
        let answer = self
            .ask(reference, Method::PUT, &path, "pull,push", |ask| {
                let mut ask = ask.header(header::CONTENT_TYPE, media_type);
                ask.body = bytes.clone().into();
                ask
            })
            .await?;
        if answer.status != StatusCode::CREATED && answer.status != StatusCode::OK {
            return Err(self
                .refusal(reference, "the manifest that we push", answer)
                .await);
        }
        if answer
            .header("docker-content-digest")
            .is_some_and(|other| other != digest)
        {
            let cause = format!("it took it as something else than {digest}");
            return Err(self.wrong(reference, "the manifest that we push", cause));
        }
        Ok(Pushed {
            reference: reference.at(&digest),
            sent,
            blobs: image.blobs.len(),
        })
    }

    async fn has(&self, reference: &Reference, blob: &Blob) -> Result<bool, Error> {
        let path = format!("blobs/{}", blob.digest);
        let answer = self
            .ask(reference, Method::HEAD, &path, "pull,push", |ask| ask)
            .await?;
        match answer.status {
            StatusCode::OK => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            _ => Err(self.refusal(reference, "a blob that we push", answer).await),
        }
    }

    async fn send(&self, reference: &Reference, blob: &Blob) -> Result<(), Error> {
        let what = "a blob that we push";
        let answer = self
            .ask(
                reference,
                Method::POST,
                "blobs/uploads/",
                "pull,push",
                |ask| ask,
            )
            .await?;
        if answer.status != StatusCode::ACCEPTED {
            return Err(self.refusal(reference, what, answer).await);
        }
        let location = answer
            .header(header::LOCATION)
            .and_then(|location| answer.url.join(location).ok());
        let Some(mut location) = location else {
            return Err(self.wrong(reference, what, "it does not say where to send it"));
        };
        location
            .query_pairs_mut()
            .append_pair("digest", &blob.digest.to_string());
        let bytes = blob.bytes.clone();
        let answer = self
            .ask(
                reference,
                Method::PUT,
                location.as_str(),
                "pull,push",
                |ask| {
                    let mut ask = ask.header(header::CONTENT_TYPE, "application/octet-stream");
                    ask.body = bytes.clone().into();
                    ask
                },
            )
            .await?;
        match answer.status {
            StatusCode::CREATED => Ok(()),
            _ => Err(self.refusal(reference, what, answer).await),
        }
    }
}
