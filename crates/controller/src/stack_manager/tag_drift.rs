//! Looking now and then whether a tag still means what is installed. Nothing follows a tag that
//! moved; it is only told.

use std::sync::PoisonError;
use std::time::Duration;

use install::Index;
use install::reconcile::install::Install;
use package::image::Reference;
use tokio::time::Instant;

use super::{StackManager, Work};
use objects::Key;

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
    pub(super) fn tagged(
        &self,
        key: &Key,
        install: &Install,
        resolved: Option<&Reference>,
    ) -> Option<String> {
        let wanted = self.parts.settings.reference(install, &Index::default());
        let (Some(resolved), Ok(wanted)) = (resolved, wanted) else {
            return self.remembered(key);
        };
        if wanted.digest.is_some() {
            self.tags
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(key);
            return None;
        }
        let now = Instant::now();
        let known = self
            .tags
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)
            .cloned();
        let mut tag = match known {
            Some(tag) if tag.image == *resolved => tag,
            _ => Tag {
                image: resolved.clone(),
                digest: None,
                next: now + self.pause(),
            },
        };
        let due = tag.next <= now;
        if due {
            tag.next = now + self.pause();
        }
        let digest = tag.digest.clone();
        self.tags
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key.clone(), tag);
        if due {
            self.look_up(key, self.wish(install, wanted));
        }
        digest
    }

    /// A tag was looked up.
    pub(super) fn tag_found(&self, key: &Key, digest: Option<String>) {
        let changed = match self
            .tags
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_mut(key)
        {
            Some(tag) if digest.is_some() && tag.digest != digest => {
                tag.digest = digest;
                true
            }
            _ => false,
        };
        if changed {
            self.queue.add(Work::Install(key.clone()));
        }
    }

    /// How long until the tag of an install is to be looked up.
    pub(super) fn until_tag(&self, key: &Key) -> Duration {
        let tags = self.tags.lock().unwrap_or_else(PoisonError::into_inner);
        tags.get(key).map_or(Duration::MAX, |tag| {
            tag.next.saturating_duration_since(Instant::now())
        })
    }

    /// Forgets an install that is gone.
    pub(super) fn forget_tag(&self, key: &Key) {
        self.tags
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }

    fn remembered(&self, key: &Key) -> Option<String> {
        self.tags
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)?
            .digest
            .clone()
    }

    /// Somewhat less than the usual time, so that many installs do not ask a registry at once.
    fn pause(&self) -> Duration {
        let mut byte = [0];
        // Without randomness they ask at once.
        let _ = getrandom::fill(&mut byte);
        self.parts.tags.mul_f64(1.0 - f64::from(byte[0]) / 1024.0)
    }
}
