//! Counts of requests, in the text format that Prometheus reads.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write,
    hash::{BuildHasher, RandomState},
    sync::{Mutex, PoisonError},
};

use crate::request::info::Attributes;

/// The most different counts; beyond them the user is left out, so that memory stays bounded.
const MOST: usize = 4096;

/// Requests by verb, resource, code and user.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    hasher: RandomState,
    /// By the hash of the labels, so that counting what was counted before allocates nothing.
    counts: Mutex<HashMap<u64, (String, u64)>>,
}

impl Metrics {
    pub(crate) fn count(&self, attributes: &Attributes, user: &str, code: u16) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let full = counts.len() >= MOST;
        for user in [user, ""] {
            let hash = self.hash(attributes, user, code);
            if let Some((_, count)) = counts.get_mut(&hash) {
                *count += 1;
                return;
            }
            if !full || user.is_empty() && counts.len() < 2 * MOST {
                counts.insert(hash, (labels(attributes, user, code), 1));
                return;
            }
        }
    }

    fn hash(&self, attributes: &Attributes, user: &str, code: u16) -> u64 {
        let Attributes {
            verb,
            group,
            version,
            resource,
            subresource,
            ..
        } = attributes;
        if code == 404 {
            return self.hasher.hash_one((verb, "", "", "", "", user, code));
        }
        self.hasher.hash_one((
            verb,
            &**group,
            &**version,
            &**resource,
            &**subresource,
            user,
            code,
        ))
    }

    /// Everything as text.
    pub(crate) fn text(&self) -> String {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let sorted: BTreeMap<&str, u64> = counts
            .values()
            .map(|(labels, count)| (&**labels, *count))
            .collect();
        let mut text = String::from(
            "# HELP apiserver_request_total Counter of apiserver requests broken out for each verb, group, version, \
             resource, subresource, HTTP response code and user.\n# TYPE apiserver_request_total counter\n",
        );
        for (labels, count) in sorted {
            // Writing into a text does not fail.
            _ = writeln!(text, "apiserver_request_total{{{labels}}} {count}");
        }
        text
    }
}

/// Names come from the URL: what was not found is counted together, or there would be no end of it.
fn labels(attributes: &Attributes, user: &str, code: u16) -> String {
    let Attributes {
        verb,
        group,
        version,
        resource,
        subresource,
        ..
    } = attributes;
    let verb = verb.as_str().to_uppercase();
    let [group, version, resource, subresource] = if code == 404 {
        [""; 4]
    } else {
        [&**group, &**version, &**resource, &**subresource]
    };
    format!(
        "verb={verb:?},group={group:?},version={version:?},resource={resource:?},subresource={subresource:?},code=\"{code}\",user={user:?}"
    )
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::request::info::Asked;

    #[test]
    fn requests_are_counted_and_users_beyond_the_limit_are_counted_together() {
        let attributes = |uri: &str| {
            let (parts, ()) = Request::builder().uri(uri).body(()).unwrap().into_parts();
            Asked::read(&parts).unwrap().attributes
        };
        let metrics = Metrics::default();
        let pods = attributes("/api/v1/namespaces/a/pods/p");
        for _ in 0..3 {
            metrics.count(&pods, "ann", 200);
        }
        metrics.count(&attributes("/api/v1/nonsense"), "ann", 404);
        for number in 0..10_000 {
            metrics.count(&pods, &format!("user-{number}"), 200);
        }
        let text = metrics.text();
        let line = |labels: &str| {
            text.lines()
                .find(|line| line.contains(labels))
                .map(str::to_owned)
        };
        assert!(
            line("resource=\"pods\",subresource=\"\",code=\"200\",user=\"ann\"} 3").is_some(),
            "{text}"
        );
        assert!(line("resource=\"\",subresource=\"\",code=\"404\",user=\"ann\"} 1").is_some());
        assert!(line("resource=\"pods\",subresource=\"\",code=\"200\",user=\"\"}").is_some());
        assert!(text.lines().count() < 2 * MOST);
    }
}
