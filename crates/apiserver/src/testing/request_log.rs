//! What was asked, for tests that count requests.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use crate::request::info::Attributes;

/// One request as the server understood it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestRecord {
    /// The user it was authorized as.
    pub user: String,
    /// `get`, `list`, `watch`, `create`...
    pub verb: String,
    /// The API group; empty for the core.
    pub group: String,
    /// The resource in the plural; empty for requests such as discovery.
    pub resource: String,
    /// Such as `status`; else empty.
    pub subresource: String,
    /// The namespace, if any.
    pub namespace: String,
    /// The object's name, if the request had one.
    pub name: String,
    /// Path and query.
    pub uri: String,
    /// What the client said it is.
    pub user_agent: String,
    /// The HTTP status it was answered with; none while it is under way.
    pub code: Option<u16>,
}

/// The latest requests, as many as were asked for.
#[derive(Debug)]
pub(crate) struct Records {
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    records: VecDeque<RequestRecord>,
    /// How many came before the first that is kept.
    dropped: usize,
}

/// Writes the code of a request when it is known.
#[derive(Debug)]
pub(crate) struct Open {
    records: Arc<Records>,
    number: usize,
    code: u16,
}

impl Records {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            kept: Mutex::default(),
        })
    }

    /// A request begins.
    pub(crate) fn open(
        self: &Arc<Self>,
        user: &str,
        uri: &http::Uri,
        agent: &str,
        attributes: &Attributes,
    ) -> Option<Open> {
        if self.most == 0 {
            return None;
        }
        let record = RequestRecord {
            user: user.to_owned(),
            verb: attributes.verb.as_str().to_owned(),
            group: attributes.group.clone(),
            resource: attributes.resource.clone(),
            subresource: attributes.subresource.clone(),
            namespace: attributes.namespace.clone(),
            name: attributes.name.clone(),
            uri: uri.to_string(),
            user_agent: agent.to_owned(),
            code: None,
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.records.len() == self.most {
            kept.records.pop_front();
            kept.dropped += 1;
        }
        kept.records.push_back(record);
        let number = kept.dropped + kept.records.len() - 1;
        Some(Open {
            records: self.clone(),
            number,
            code: 0,
        })
    }

    /// All requests but the first `from` ever.
    pub(crate) fn from(&self, from: usize) -> Vec<RequestRecord> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.records
            .iter()
            .skip(from.saturating_sub(kept.dropped))
            .cloned()
            .collect()
    }
}

impl Open {
    /// The code that is written when this is dropped.
    pub(crate) fn answered(&mut self, code: u16) {
        self.code = code;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut kept = self
            .records
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let index = self.number.checked_sub(kept.dropped);
        if let Some(record) = index.and_then(|index| kept.records.get_mut(index)) {
            record.code = Some(self.code);
        }
    }
}
