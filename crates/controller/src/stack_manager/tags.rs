//! Looking now and then whether a tag still means what is installed. Nothing follows a tag that moved; it is only told.

use std::sync::PoisonError;
use std::time::Duration;

use engine::manage::install::Install;
use engine::manage::{Index, Reference};
use tokio::time::Instant;

use super::StackManager;
use crate::resource::Key;

/// What a tag meant when it was last looked up.
#[derive(Debug, Clone)]
pub(super) struct Tag {
    /// The image that it is the tag of.
    image: Reference,
    /// The digest, if somebody has looked.
    digest: Option<String>,
    /// When to look again.
    next: Instant,
}

impl StackManager {
    /// The digest that the tag of an install has by now. One that names a digest follows no tag.
    pub(super) async fn tagged(&self, key: &Key, install: &Install, resolved: Option<&Reference>) -> Option<String> {
        let wanted = self.parts.settings.reference(install, &Index::default());
        let (Some(resolved), Ok(wanted)) = (resolved, wanted) else { return self.remembered(key) };
        if wanted.digest.is_some() {
            self.tags.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
            return None;
        }
        let now = Instant::now();
        let known = self.tags.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        let mut tag = match known {
            Some(tag) if tag.image == *resolved => tag,
            _ => Tag { image: resolved.clone(), digest: None, next: now + self.pause() },
        };
        if tag.next <= now {
            tag.next = now + self.pause();
            match self.look_up(install, &wanted).await {
                Ok(digest) => tag.digest = Some(digest),
                // What is installed runs on: a registry that is down is no news about a tag.
                Err(why) => tracing::debug!(install = %key, why, "nobody knows what the tag means now"),
            }
        }
        let digest = tag.digest.clone();
        self.tags.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), tag);
        digest
    }

    /// How long until the tag of an install is to be looked up.
    pub(super) fn until_tag(&self, key: &Key) -> Duration {
        let tags = self.tags.lock().unwrap_or_else(PoisonError::into_inner);
        tags.get(key).map_or(Duration::MAX, |tag| tag.next.saturating_duration_since(Instant::now()))
    }

    /// Forgets an install that is gone.
    pub(super) fn forget_tag(&self, key: &Key) {
        self.tags.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    fn remembered(&self, key: &Key) -> Option<String> {
        self.tags.lock().unwrap_or_else(PoisonError::into_inner).get(key)?.digest.clone()
    }

    async fn look_up(&self, install: &Install, wanted: &Reference) -> Result<String, String> {
        let secrets = self.pull_secrets(install).await.map_err(|trouble| trouble.message)?;
        let found = self.parts.packages.resolve(wanted, &secrets).await.map_err(|trouble| trouble.message)?;
        found.digest.ok_or_else(|| "there is no digest".to_owned())
    }

    /// Somewhat less than the usual time, so that many installs do not ask a registry at once.
    fn pause(&self) -> Duration {
        let mut byte = [0];
        // Without randomness they ask at once.
        let _ = getrandom::fill(&mut byte);
        self.parts.tags.mul_f64(1.0 - f64::from(byte[0]) / 1024.0)
    }
}
