//! The load: instances created side by side until a watch has shown all of them ready, and then
//! changes one by one.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use serde_json::{Value, json};

use crate::bare::Bare;
use crate::stage::Stage;
use crate::{CHANGES, WORKERS};

/// So many instances on a stage.
pub struct Load<'s> {
    stage: &'s Stage,
    count: usize,
}

impl<'s> Load<'s> {
    pub fn new(stage: &'s Stage, count: usize) -> Self {
        Self { stage, count }
    }

    /// One instance, from being created to being ready.
    pub async fn warm(&self) {
        let apps = self.stage.apps();
        apps.create(&PostParams::default(), &Stage::app("warm"))
            .await
            .unwrap();
        kube::runtime::wait::await_condition(apps, "warm", |object: Option<&DynamicObject>| {
            object.is_some_and(is_ready)
        })
        .await
        .unwrap();
    }

    /// Creates all of them, and waits until all are ready. The bare client is told of each that is
    /// there.
    pub async fn run(&self, bare: Option<&Bare<'_>>) -> Value {
        let apps = self.stage.apps();
        let begin = Instant::now();
        let made = Cell::new(Duration::ZERO);
        let (tell, told) = futures::channel::mpsc::unbounded();
        let create = async {
            let each = stream::iter(0..self.count).for_each_concurrent(WORKERS, |number| {
                let (apps, made, tell) = (&apps, &made, &tell);
                async move {
                    let name = format!("app-{number}");
                    let object = apps
                        .create(&PostParams::default(), &Stage::app(&name))
                        .await
                        .unwrap();
                    tell.unbounded_send((name, object.metadata.uid.unwrap()))
                        .unwrap();
                    made.set(begin.elapsed());
                }
            });
            each.await;
            tell.close_channel();
        };
        let act = told.for_each_concurrent(WORKERS, |(name, uid)| async move {
            if let Some(bare) = bare {
                bare.make(&name, &uid).await;
            }
        });
        let ((), (), ready) = tokio::join!(create, act, self.all_ready(begin));
        let mut waits: Vec<Duration> = ready.into_values().collect();
        waits.sort_unstable();
        let wall = waits.last().copied().unwrap();
        json!({
            "wall_s": wall.as_secs_f64(),
            "created_s": made.get().as_secs_f64(),
            "count": self.count,
        })
    }

    /// When each became ready.
    async fn all_ready(&self, begin: Instant) -> BTreeMap<String, Duration> {
        let mut events = watcher(self.stage.apps(), watcher::Config::default())
            .default_backoff()
            .applied_objects()
            .boxed();
        let mut ready = BTreeMap::new();
        while ready.len() < self.count {
            // A watch that came too late begins again by itself.
            let Ok(object) = events.next().await.unwrap() else {
                continue;
            };
            let name = object.metadata.name.clone().unwrap();
            if name != "warm" && is_ready(&object) {
                ready.entry(name).or_insert_with(|| begin.elapsed());
            }
        }
        ready
    }

    /// From changing an instance to its child having changed, with nothing else to do.
    pub async fn changes(&self, bare: Option<&Bare<'_>>) -> Value {
        let apps = self.stage.apps();
        let maps = self.stage.api("", "v1", "ConfigMap", "configmaps");
        let mut events = watcher(maps, watcher::Config::default())
            .default_backoff()
            .applied_objects()
            .boxed();
        let mut times = Vec::new();
        let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
        for number in 0..CHANGES.min(self.count) {
            let (name, greeting) = (format!("app-{number}"), format!("hello {number}"));
            let patch = Patch::Merge(json!({ "spec": { "greeting": greeting } }));
            let object = apps
                .patch(&name, &PatchParams::default(), &patch)
                .await
                .unwrap();
            let begin = Instant::now();
            let wanted = (format!("{name}-config"), greeting.clone());
            let changed = async {
                while !seen.contains(&wanted) {
                    let Ok(map) = events.next().await.unwrap() else {
                        continue;
                    };
                    let text = map.data["data"]["greeting"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned();
                    seen.insert((map.metadata.name.unwrap_or_default(), text));
                }
            };
            let act = async {
                if let Some(bare) = bare {
                    bare.change(&name, &object.metadata.uid.unwrap(), &greeting)
                        .await;
                }
            };
            tokio::join!(changed, act);
            times.push(begin.elapsed());
        }
        times.sort_unstable();
        let at = |share: usize| {
            times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1e3
        };
        json!({ "median_ms": at(50), "p99_ms": at(99) })
    }
}

pub fn is_ready(object: &DynamicObject) -> bool {
    let conditions = object.data["status"]["conditions"].as_array();
    conditions.is_some_and(|all| {
        all.iter()
            .any(|one| one["type"] == "Ready" && one["status"] == "True")
    })
}

/// All objects of a kind that are ready, watched from now on.
pub async fn wait_ready(api: Api<DynamicObject>, count: usize) {
    let mut events = watcher(api, watcher::Config::default())
        .default_backoff()
        .applied_objects()
        .boxed();
    let mut ready = BTreeSet::new();
    while ready.len() < count {
        let Ok(object) = events.next().await.unwrap() else {
            continue;
        };
        if is_ready(&object) {
            ready.insert(object.metadata.name.unwrap());
        }
    }
}
