//! Requests as an API server's audit log records them, one JSON event a line, and their counts.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::{ErrorKind, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result};
use serde::Deserialize;

/// One request, as the API server understood it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The user it was authorized as.
    pub user: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// The API group, empty for the core.
    pub group: String,
    /// The resource in the plural, empty for requests such as discovery.
    pub resource: String,
    /// Such as `status`, else empty.
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

/// How many requests there were of each kind, by user, verb, resource and subresource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(pub BTreeMap<(String, String, String, String), usize>);

impl Tally {
    /// Counts requests.
    pub fn of<'a>(requests: impl IntoIterator<Item = &'a Request>) -> Self {
        let mut counts = BTreeMap::new();
        for request in requests {
            let Request {
                user,
                verb,
                resource,
                subresource,
                ..
            } = request.clone();
            *counts
                .entry((user, verb, resource, subresource))
                .or_default() += 1;
        }
        Self(counts)
    }

    /// The count of one kind; `widgets/status` names a subresource.
    pub fn count(&self, user: &str, verb: &str, resource: &str) -> usize {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let key = (
            user.to_owned(),
            verb.to_owned(),
            resource.to_owned(),
            subresource.to_owned(),
        );
        self.0.get(&key).copied().unwrap_or(0)
    }
}

/// A growing audit log, read on from where the last reading ended.
pub(crate) struct AuditLog {
    path: PathBuf,
    read: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    offset: u64,
    requests: Vec<Request>,
    /// Where the requests that are under way are, by audit ID.
    open: HashMap<String, usize>,
}

impl AuditLog {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read: Mutex::default(),
        }
    }

    /// All requests but the first `from`.
    pub(crate) fn requests(&self, from: usize) -> Result<Vec<Request>> {
        let mut progress = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = self
            .fresh(progress.offset)
            .with_context(|| format!("cannot read {}", self.path.display()))?;
        progress.take(&fresh)?;
        Ok(progress.requests.get(from..).unwrap_or_default().to_vec())
    }

    fn fresh(&self, offset: u64) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match File::open(&self.path) {
            Ok(mut file) => {
                file.seek(SeekFrom::Start(offset))?;
                file.read_to_end(&mut bytes)?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(bytes)
    }
}

impl Progress {
    /// Takes the whole lines; the rest of a line that is being written waits for the next time.
    fn take(&mut self, fresh: &[u8]) -> Result<()> {
        for line in fresh
            .split_inclusive(|&byte| byte == b'\n')
            .filter(|line| line.ends_with(b"\n"))
        {
            self.offset += line.len() as u64;
            let event: Event = serde_json::from_slice(line).with_context(|| {
                format!(
                    "a line of the audit log is no event: {}",
                    String::from_utf8_lossy(line)
                )
            })?;
            self.event(event);
        }
        Ok(())
    }

    /// A request counts from its receipt, which is on record before it is served, so before a test
    /// sees the answer.
    fn event(&mut self, event: Event) {
        let code = event.response_status.map(|status| status.code);
        match event.stage.as_str() {
            "RequestReceived" => {
                self.open.insert(event.audit_id, self.requests.len());
                self.requests.push(event.request);
            }
            "ResponseComplete" | "Panic" => match self.open.remove(&event.audit_id) {
                Some(index) => self.requests[index].code = code,
                // One that failed to authenticate has no receipt.
                None => self.requests.push(Request {
                    code,
                    ..event.request
                }),
            },
            _ => {}
        }
    }
}

#[derive(Deserialize)]
#[serde(from = "RawEvent")]
struct Event {
    audit_id: String,
    stage: String,
    response_status: Option<Status>,
    request: Request,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    code: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawEvent {
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    #[serde(default)]
    user: User,
    impersonated_user: Option<User>,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectRef,
    response_status: Option<Status>,
}

#[derive(Default, Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

impl From<RawEvent> for Event {
    fn from(raw: RawEvent) -> Self {
        let object = raw.object_ref;
        let request = Request {
            user: raw.impersonated_user.unwrap_or(raw.user).username,
            verb: raw.verb,
            group: object.api_group,
            resource: object.resource,
            subresource: object.subresource,
            namespace: object.namespace,
            name: object.name,
            uri: raw.request_uri,
            user_agent: raw.user_agent,
            code: None,
        };
        Self {
            audit_id: raw.audit_id,
            stage: raw.stage,
            response_status: raw.response_status,
            request,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, stage: &str, verb: &str, resource: &str, rest: &str) -> String {
        format!(
            r#"{{"auditID":"{id}","stage":"{stage}","verb":"{verb}","requestURI":"/u","user":{{"username":"ann"}},"objectRef":{{"resource":"{resource}","subresource":"status"}}{rest}}}"#
        ) + "\n"
    }

    #[test]
    fn a_request_counts_once_and_gains_its_code_when_answered() {
        let mut progress = Progress::default();
        progress
            .take(line("1", "RequestReceived", "get", "widgets", "").as_bytes())
            .unwrap();
        assert_eq!(progress.requests.len(), 1);
        assert_eq!(progress.requests[0].code, None);
        let done = line(
            "1",
            "ResponseComplete",
            "get",
            "widgets",
            r#","responseStatus":{"code":403}"#,
        );
        let (head, tail) = done.split_at(done.len() / 2);
        progress.take(head.as_bytes()).unwrap();
        assert_eq!(progress.requests[0].code, None, "half a line is not taken");
        progress.take(format!("{head}{tail}").as_bytes()).unwrap();
        assert_eq!(progress.requests.len(), 1);
        assert_eq!(progress.requests[0].code, Some(403));
        let all = Tally::of(&progress.requests);
        assert_eq!(all.count("ann", "get", "widgets/status"), 1);
        for other in [
            ("bob", "get", "widgets/status"),
            ("ann", "list", "widgets/status"),
            ("ann", "get", "widgets"),
        ] {
            assert_eq!(all.count(other.0, other.1, other.2), 0, "{other:?}");
        }
    }

    #[test]
    fn an_impersonated_request_is_the_impersonated_users() {
        let mut progress = Progress::default();
        let text = line(
            "1",
            "ResponseComplete",
            "get",
            "x",
            r#","impersonatedUser":{"username":"bob"}"#,
        );
        progress.take(text.as_bytes()).unwrap();
        assert_eq!(progress.requests[0].user, "bob");
    }

    #[test]
    fn a_log_that_is_not_there_yet_is_empty_and_garbage_is_an_error() {
        assert!(
            AuditLog::new(Path::new("/no/such/log"))
                .requests(0)
                .unwrap()
                .is_empty()
        );
        assert!(Progress::default().take(b"nonsense\n").is_err());
    }

    #[test]
    fn reading_from_beyond_the_end_gives_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit");
        std::fs::write(&path, line("1", "RequestReceived", "get", "x", "")).unwrap();
        let log = AuditLog::new(&path);
        assert_eq!(log.requests(0).unwrap().len(), 1);
        assert_eq!(log.requests(1).unwrap().len(), 0);
        assert_eq!(log.requests(7).unwrap().len(), 0);
    }
}
