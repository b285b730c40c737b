//! What each namespace may have, counted over what the watches show.

use install::{Member, Standing, Trouble};

use super::informers::Objects;
use super::{StackManager, Work};
use objects::Key;

impl StackManager {
    /// Why an install is not served, if its namespace has too many.
    pub(super) fn install_limit(&self, key: &Key) -> Option<Trouble> {
        if key.namespace.is_empty() {
            return None;
        }
        let all = members(&self.informers.installs, &key.namespace, |key| {
            self.pulls.bytes(key)
        });
        self.parts
            .bounds
            .limits
            .install(&key.namespace, &key.name, &all)
    }

    /// Why a Stack is not served, if its namespace has too many. Those of cluster installs are
    /// where only they are.
    pub(super) fn stack_limit(&self, key: &Key, cluster_wide: bool) -> Option<Trouble> {
        if cluster_wide {
            return None;
        }
        let all = members(&self.informers.stacks, &key.namespace, |_| 0);
        self.parts
            .bounds
            .limits
            .stack(&key.namespace, &key.name, &all)
    }

    /// How many instances a Stack may serve, if its namespace has more than it may. Others of the
    /// namespace that were told another number are requeued.
    pub(super) fn instance_limit(&self, key: &Key, cluster_wide: bool) -> Option<u64> {
        if cluster_wide {
            return None;
        }
        let all = members(&self.informers.stacks, &key.namespace, |_| 0);
        let shares = self.parts.bounds.limits.shares(&all);
        for member in all.iter().filter(|member| member.name != key.name) {
            let other = Key::new(&key.namespace, &member.name);
            let told = self
                .informers
                .stacks
                .get(&other)
                .and_then(|stack| stack["status"]["instanceLimit"].as_u64());
            if told != shares.get(member.name.as_str()).copied() {
                self.queue.add(Work::Stack(other));
            }
        }
        shares.get(key.name.as_str()).copied()
    }

    /// Requeues what its namespace had too many of, since it has fewer now.
    pub(super) fn wake_limited(&self, cache: &Objects, namespace: &str, work: fn(Key) -> Work) {
        for (key, _) in cache.matching(Some(&[namespace]), |object| {
            Standing::of(object) == Standing::Limited
        }) {
            self.queue.add(work(key));
        }
    }
}

fn members(cache: &Objects, namespace: &str, bytes: impl Fn(&Key) -> u64) -> Vec<Member> {
    let own = cache.within(namespace).into_iter();
    own.map(|(key, object)| {
        let created = object["metadata"]["creationTimestamp"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let counts = object["status"]["instances"]
            .as_object()
            .into_iter()
            .flat_map(|kinds| kinds.values());
        let instances = counts
            .filter_map(|counts| counts["total"].as_u64())
            .fold(0, u64::saturating_add);
        Member {
            created,
            standing: Standing::of(&object),
            bytes: bytes(&key),
            instances,
            name: key.name,
        }
    })
    .collect()
}
