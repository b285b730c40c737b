//! The only place that writes to a cluster or asks it: apply, patch, delete, get and list, with
//! errors in classes that say when to try again.

use std::time::Duration;

use http::{Method, Request, header};
use kube::Client;
use serde_json::{Value, json};

use crate::Metrics;
use objects::{Key, Resource};

/// The longest that a request may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many objects a page of a list has.
const PAGE: usize = 500;
/// The form of an answer that has metadata alone.
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// A cluster, as one field manager.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    manager: String,
    metrics: Metrics,
}

/// Why a request did not go well.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Somebody else changed it, or owns what we would write.
    #[error("{0}")]
    Conflict(String),
    /// It is not there, or its kind is not.
    #[error("{0}")]
    NotFound(String),
    /// The API server would never take it so.
    #[error("{0}")]
    Refused(String),
    /// We may not do it.
    #[error("{0}")]
    Forbidden(String),
    /// The API server cannot be reached, or has trouble of its own.
    #[error("{0}")]
    Unavailable(String),
}

impl Error {
    /// One word for programs.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Conflict(_) => "Conflict",
            Self::NotFound(_) => "NotFound",
            Self::Refused(_) => "Refused",
            Self::Forbidden(_) => "Forbidden",
            Self::Unavailable(_) => "Unavailable",
        }
    }
}

/// A text as a value of a query.
fn escaped(text: &str) -> String {
    let is_safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    text.bytes()
        .map(|byte| {
            if is_safe(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        let kube::Error::Api(status) = error else {
            return Self::Unavailable(unanswered(&error));
        };
        let message = status.message.clone();
        match status.code {
            // What does not fit into the store is no trouble of the server's own.
            500 if message.contains("request is too large") => Self::Refused(message),
            404 => Self::NotFound(message),
            409 => Self::Conflict(message),
            401 | 403 => Self::Forbidden(message),
            400 | 405 | 406 | 413 | 415 | 422 => Self::Refused(message),
            _ => Self::Unavailable(message),
        }
    }
}

/// What is told of a request that was not answered: the last cause is the one that somebody can
/// mend.
pub fn unanswered(error: &kube::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    format!("the API server does not answer: {cause}")
}

impl Cluster {
    /// A cluster that is written to as `manager`.
    pub fn new(client: Client, manager: &str) -> Self {
        Self {
            client,
            manager: manager.to_owned(),
            metrics: Metrics::default(),
        }
    }

    /// The same, counting what it asks.
    #[must_use]
    pub fn counted(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }
    }

    /// The client itself, for watches.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Server-side apply. With `force` fields that others own become ours.
    pub async fn apply(
        &self,
        resource: &Resource,
        object: &Value,
        force: bool,
    ) -> Result<Value, Error> {
        let path = resource.path(&Key::of(object));
        let query = format!("?fieldManager={}&force={force}", self.manager);
        self.send(
            ("apply", resource),
            Method::PATCH,
            &format!("{path}{query}"),
            "application/apply-patch+yaml",
            object,
        )
        .await
    }

    /// Creates an object.
    pub async fn create(&self, resource: &Resource, object: &Value) -> Result<Value, Error> {
        let path = resource.collection(&Key::of(object).namespace);
        let path = format!("{path}?fieldManager={}", self.manager);
        self.send(
            ("create", resource),
            Method::POST,
            &path,
            "application/json",
            object,
        )
        .await
    }

    /// Replaces an object as it was at its resource version. One that has changed since is a
    /// conflict.
    pub async fn replace(&self, resource: &Resource, object: &Value) -> Result<Value, Error> {
        let path = format!(
            "{}?fieldManager={}",
            resource.path(&Key::of(object)),
            self.manager
        );
        self.send(
            ("update", resource),
            Method::PUT,
            &path,
            "application/json",
            object,
        )
        .await
    }

    /// A JSON merge patch of an object, or of a part of it such as `status`.
    pub async fn merge(
        &self,
        resource: &Resource,
        key: &Key,
        part: &str,
        patch: &Value,
    ) -> Result<Value, Error> {
        let mut path = resource.path(key);
        if !part.is_empty() {
            path = format!("{path}/{part}");
        }
        let path = format!("{path}?fieldManager={}", self.manager);
        self.send(
            ("patch", resource),
            Method::PATCH,
            &path,
            "application/merge-patch+json",
            patch,
        )
        .await
    }

    /// Deletes the object with this uid. One that is gone already, or has become another, is as
    /// good.
    pub async fn delete(
        &self,
        resource: &Resource,
        key: &Key,
        uid: &str,
        propagation: &str,
    ) -> Result<(), Error> {
        let preconditions = if uid.is_empty() {
            json!({})
        } else {
            json!({ "uid": uid })
        };
        match self
            .send_delete(resource, key, &preconditions, propagation)
            .await
        {
            Err(Error::Conflict(_)) => Ok(()),
            outcome => outcome,
        }
    }

    /// Deletes the object with this uid as it was at a resource version. One that has changed since
    /// is a conflict.
    pub async fn delete_unchanged(
        &self,
        resource: &Resource,
        key: &Key,
        uid: &str,
        revision: &str,
    ) -> Result<(), Error> {
        let preconditions = json!({ "uid": uid, "resourceVersion": revision });
        self.send_delete(resource, key, &preconditions, "Background")
            .await
    }

    async fn send_delete(
        &self,
        resource: &Resource,
        key: &Key,
        preconditions: &Value,
        propagation: &str,
    ) -> Result<(), Error> {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions",
            "propagationPolicy": propagation, "preconditions": preconditions,
        });
        match self
            .send(
                ("delete", resource),
                Method::DELETE,
                &resource.path(key),
                "application/json",
                &options,
            )
            .await
        {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// An object, if it is there.
    pub async fn get(&self, resource: &Resource, key: &Key) -> Result<Option<Value>, Error> {
        match self
            .send(
                ("get", resource),
                Method::GET,
                &resource.path(key),
                "",
                &Value::Null,
            )
            .await
        {
            Ok(object) => Ok(Some(object)),
            Err(Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The objects in a namespace, or of the whole cluster, up to a limit (none is no limit).
    pub async fn list(
        &self,
        resource: &Resource,
        namespace: &str,
        limit: Option<usize>,
    ) -> Result<Vec<Value>, Error> {
        let query = limit
            .map(|limit| format!("?limit={limit}"))
            .unwrap_or_default();
        self.items(resource, namespace, &query).await
    }

    /// The metadata of all objects in a namespace, or of the cluster, in pages: who only has to
    /// know whose they are does not make the API server and this process hold all of them as a
    /// whole.
    pub async fn list_metadata(
        &self,
        resource: &Resource,
        namespace: &str,
    ) -> Result<Vec<Value>, Error> {
        let (mut found, mut token) = (Vec::new(), String::new());
        loop {
            let mut path = format!("{}?limit={PAGE}", resource.collection(namespace));
            if !token.is_empty() {
                path = format!("{path}&continue={}", escaped(&token));
            }
            let mut list = self
                .request(
                    ("list", resource),
                    Method::GET,
                    &path,
                    ("", METADATA),
                    &Value::Null,
                )
                .await?;
            for mut item in list["items"]
                .as_array_mut()
                .map(std::mem::take)
                .unwrap_or_default()
            {
                item["apiVersion"] = resource.gvk.api_version().to_string().into();
                item["kind"] = resource.gvk.kind.as_str().into();
                found.push(item);
            }
            match list["metadata"]["continue"].as_str() {
                Some(next) if !next.is_empty() => token = next.to_owned(),
                _ => return Ok(found),
            }
        }
    }

    /// A few objects that are in other namespaces than this one.
    pub async fn list_elsewhere(
        &self,
        resource: &Resource,
        than: &str,
        limit: usize,
    ) -> Result<Vec<Value>, Error> {
        self.items(
            resource,
            "",
            &format!("?fieldSelector=metadata.namespace%21%3D{than}&limit={limit}"),
        )
        .await
    }

    /// The objects in a namespace with a label, `key=value`.
    pub async fn list_labelled(
        &self,
        resource: &Resource,
        namespace: &str,
        label: &str,
    ) -> Result<Vec<Value>, Error> {
        let label = label.replace('/', "%2F").replace('=', "%3D");
        self.items(resource, namespace, &format!("?labelSelector={label}"))
            .await
    }

    async fn items(
        &self,
        resource: &Resource,
        namespace: &str,
        query: &str,
    ) -> Result<Vec<Value>, Error> {
        let path = format!("{}{query}", resource.collection(namespace));
        let mut list = self
            .send(("list", resource), Method::GET, &path, "", &Value::Null)
            .await?;
        Ok(list["items"]
            .as_array_mut()
            .map(std::mem::take)
            .unwrap_or_default())
    }

    /// Asks for a part of an object to be made, such as a token of a ServiceAccount.
    pub async fn create_part(
        &self,
        resource: &Resource,
        key: &Key,
        part: &str,
        body: &Value,
    ) -> Result<Value, Error> {
        let path = format!("{}/{part}", resource.path(key));
        self.send(
            ("create", resource),
            Method::POST,
            &path,
            "application/json",
            body,
        )
        .await
    }

    async fn send(
        &self,
        (verb, resource): (&str, &Resource),
        method: Method,
        path: &str,
        content: &str,
        body: &Value,
    ) -> Result<Value, Error> {
        self.request(
            (verb, resource),
            method,
            path,
            (content, "application/json"),
            body,
        )
        .await
    }

    async fn request(
        &self,
        (verb, resource): (&str, &Resource),
        method: Method,
        path: &str,
        (content, accept): (&str, &str),
        body: &Value,
    ) -> Result<Value, Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::ACCEPT, accept);
        let body = match body {
            Value::Null => Vec::new(),
            body => {
                request = request.header(header::CONTENT_TYPE, content);
                body.to_string().into_bytes()
            }
        };
        let request = request
            .body(body)
            .map_err(|error| Error::Refused(error.to_string()))?;
        let answer =
            match tokio::time::timeout(PATIENCE, self.client.request::<Value>(request)).await {
                Ok(answer) => answer.map_err(Error::from),
                Err(_) => Err(Error::Unavailable(format!(
                    "the API server did not answer within {} s",
                    PATIENCE.as_secs()
                ))),
            };
        let outcome = answer.as_ref().map_or_else(Error::reason, |_| "Ok");
        let labels = [
            ("verb", verb),
            ("resource", &*resource.to_string()),
            ("outcome", outcome),
        ];
        self.metrics.count(
            "cairn_api_calls_total",
            "Requests to the API server, watches aside.",
            &labels,
        );
        answer
    }
}
