//! Counts of requests, in the text format that Prometheus reads.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{Mutex, PoisonError},
};

use crate::request::Attributes;

/// The most different counts; beyond them the user is left out, so that memory stays bounded.
const MOST: usize = 4096;

/// Requests by verb, resource, code and user.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<BTreeMap<String, u64>>);

impl Metrics {
    pub(crate) fn count(&self, attributes: &Attributes, user: &str, code: u16) {
        let labels = |user: &str| {
            let mut text = String::with_capacity(160);
            let Attributes { verb, group, version, resource, subresource, .. } = attributes;
            // Names come from the URL: only those of resources that are served get here with a code below 404.
            let (group, resource) = if code == 404 { ("", "") } else { (group.as_str(), resource.as_str()) };
            _ = write!(
                text,
                "verb={:?},group={group:?},version={version:?},resource={resource:?},subresource={subresource:?},code=\"{code}\",user={user:?}",
                verb.as_str().to_uppercase()
            );
            text
        };
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut key = labels(user);
        if counts.len() >= MOST && !counts.contains_key(&key) {
            key = labels("");
            if counts.len() >= 2 * MOST && !counts.contains_key(&key) {
                return;
            }
        }
        *counts.entry(key).or_default() += 1;
    }

    /// Everything as text.
    pub(crate) fn text(&self) -> String {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::from(
            "# HELP apiserver_request_total Counter of apiserver requests broken out for each verb, group, version, resource, subresource, HTTP response code and user.\n# TYPE apiserver_request_total counter\n",
        );
        for (labels, count) in counts.iter() {
            _ = writeln!(text, "apiserver_request_total{{{labels}}} {count}");
        }
        text
    }
}
