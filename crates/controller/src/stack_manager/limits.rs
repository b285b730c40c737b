//! What each namespace may have, counted over what the watches show.

use engine::manage::{Member, Standing, Trouble};

use super::world::Objects;
use super::{StackManager, Work};
use crate::resource::Key;

impl StackManager {
    /// Why an install is not served, if its namespace has too many.
    pub(super) fn install_limit(&self, key: &Key) -> Option<Trouble> {
        if key.namespace.is_empty() {
            return None;
        }
        let all = members(&self.world.installs, &key.namespace, |key| self.pulls.bytes(key));
        self.parts.bounds.limits.install(&key.namespace, &key.name, &all)
    }

    /// Why a Stack is not served, if its namespace has too many. Those of cluster installs are where only they are.
    pub(super) fn stack_limit(&self, key: &Key, cluster_wide: bool) -> Option<Trouble> {
        if cluster_wide {
            return None;
        }
        let all = members(&self.world.stacks, &key.namespace, |_| 0);
        self.parts.bounds.limits.stack(&key.namespace, &key.name, &all)
    }

    /// Requeues what its namespace had too many of, since it has fewer now.
    pub(super) fn wake_limited(&self, cache: &Objects, namespace: &str, work: fn(Key) -> Work) {
        for (key, _) in cache.matching(Some(&[namespace]), |object| Standing::of(object) == Standing::Limited) {
            self.queue.add(work(key));
        }
    }
}

fn members(cache: &Objects, namespace: &str, bytes: impl Fn(&Key) -> u64) -> Vec<Member> {
    let own = cache.within(namespace).into_iter();
    own.map(|(key, object)| {
        let created = object["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned();
        Member { created, standing: Standing::of(&object), bytes: bytes(&key), name: key.name }
    })
    .collect()
}
