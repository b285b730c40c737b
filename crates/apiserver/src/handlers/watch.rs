//! Changes as they happen: what is there first, if wanted, then every event, and bookmarks in
//! between.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Response, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, Sleep, sleep_until},
};

use super::status::{ApiError, Cause};
use super::{Cx, respond};
use crate::pipeline::selection::Selection;
use crate::printers;
use crate::registry::Served;
use crate::request::info::QueryPairs;
use crate::request::negotiation::{As, Form};
use crate::storage::{Entry, Event, Query, Watcher};
use crate::testing::request_log::Open;
use crate::transport::response_body::{Body, Source};

/// How often a quiet watch is told how far it is.
const BOOKMARKS: Duration = Duration::from_secs(60);
/// How long a watch goes on that does not say.
const DEFAULT_LIFE: Duration = Duration::from_secs(2400);
/// The forms of events that the real server offers.
const STREAMS: [&str; 2] = [
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];
/// The annotation of the bookmark after which everything is new.
const INITIAL_END: &str = "k8s.io/initial-events-end";

/// Begins a watch. The record of it stays open as long as the watch.
pub(crate) async fn watch(
    cx: &Cx<'_>,
    open: &mut Option<Open>,
) -> Result<Response<Body>, ApiError> {
    let form = Form::wanted(&cx.parts.headers)?;
    let query = &cx.asked.query;
    let named = cx.asked.named.then_some(&*cx.attributes().name);
    let selection = Selection::read(&cx.served, query, named)?;
    let (start, mark_end) = start(query)?;
    if form.yaml {
        return Err(ApiError::not_acceptable(&STREAMS, true));
    }
    let store = &cx.inner.store;
    let namespace = if cx.served.namespaced {
        cx.attributes().namespace.clone()
    } else {
        String::new()
    };
    let current = store.revision();
    let mut first = Vec::new();
    let from = match start {
        Start::From(revision) => revision,
        Start::Everything => {
            let all = Query {
                resource: &cx.served.table,
                namespace: &namespace,
                ..Query::default()
            };
            let listing = store.list(&all, |entry| selection.wants(entry));
            let listing = listing.map_err(|gone| ApiError::expired(gone.to_string()))?;
            store
                .settled(listing.revision)
                .await
                .map_err(ApiError::internal)?;
            first = listing.entries;
            listing.revision
        }
        Start::Now => current,
    };
    let seconds = query
        .get("timeoutSeconds")
        .and_then(|text| text.parse().ok())
        .filter(|&seconds: &u64| seconds > 0);
    let life = seconds.map_or(DEFAULT_LIFE, |seconds| {
        Duration::from_secs(seconds.min(86_400))
    });
    let end = Instant::now() + life;
    let mut watching = Watching {
        watcher: store.watch(&cx.served.table, from).ok(),
        told: Teller {
            served: cx.served.clone(),
            selection,
            namespace,
            form,
            headed: false,
            include: printers::Include::read(query.get("includeObject"))?,
        },
        waiting: Vec::new(),
        bookmarks: query
            .flag("allowWatchBookmarks")
            .then(|| Box::pin(sleep_until(Instant::now() + BOOKMARKS))),
        end: Box::pin(sleep_until(end)),
        ending: cx.inner.ending.subscribe(),
        _open: open.take().map(|mut open| {
            open.answered(200);
            open
        }),
    };
    for entry in &first {
        watching.told.tell("ADDED", entry, &mut watching.waiting);
    }
    if mark_end && watching.bookmarks.is_some() {
        watching.told.bookmark(from, true, &mut watching.waiting);
    }
    if watching.watcher.is_none() {
        let gone = ApiError::expired(format!(
            "too old resource version: {from} ({})",
            store.oldest()
        ));
        let event = json!({"type": "ERROR", "object": gone.to_value()});
        watching
            .waiting
            .extend_from_slice(format!("{event}\n").as_bytes());
    }
    let mut response = Response::new(Body::stream(Steps {
        step: Step::Idle(Box::new(watching)),
    }));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

enum Start {
    /// After a revision.
    From(u64),
    /// With everything that is there.
    Everything,
    /// With what happens from now on.
    Now,
}

fn revision(text: &str) -> Result<u64, ApiError> {
    text.parse().map_err(|_| {
        let why =
            format!("Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax");
        ApiError::other(500, "", format!("resourceVersion: {why}"))
    })
}

/// Where the watch begins, and whether the end of the first events is marked.
fn start(query: &QueryPairs) -> Result<(Start, bool), ApiError> {
    let version = query.get("resourceVersion").unwrap_or_default();
    let matching = query.get("resourceVersionMatch").unwrap_or_default();
    let forbidden = |field: &str, why: &str| {
        ApiError::invalid(
            "meta.k8s.io",
            "ListOptions",
            "",
            vec![Cause::forbidden(field, why)],
        )
    };
    if query.has("sendInitialEvents") {
        if matching.is_empty() {
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            return Err(forbidden("resourceVersionMatch", why));
        }
        if matching != "NotOlderThan" {
            let message =
                format!("Unsupported value: {matching:?}: supported values: \"NotOlderThan\"");
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            let causes = vec![
                Cause::forbidden("resourceVersionMatch", why),
                Cause::new("FieldValueNotSupported", "resourceVersionMatch", message),
            ];
            return Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", causes));
        }
        let seen = if matches!(version, "" | "0") {
            None
        } else {
            Some(revision(version)?)
        };
        if query.flag("sendInitialEvents") {
            return Ok((Start::Everything, true));
        }
        return Ok((seen.map_or(Start::Now, Start::From), false));
    }
    if !matching.is_empty() {
        let why =
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        return Err(forbidden("resourceVersionMatch", why));
    }
    match version {
        "" | "0" => Ok((Start::Everything, false)),
        version => Ok((Start::From(revision(version)?), false)),
    }
}

/// A watch that goes on.
struct Watching {
    /// None once it has to end, because something it should tell is forgotten.
    watcher: Option<Watcher>,
    told: Teller,
    /// What is to be sent.
    waiting: Vec<u8>,
    bookmarks: Option<Pin<Box<Sleep>>>,
    end: Pin<Box<Sleep>>,
    ending: watch::Receiver<bool>,
    _open: Option<Open>,
}

impl Watching {
    /// The next events as text; nothing at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if !self.waiting.is_empty() {
                return Some(std::mem::take(&mut self.waiting).into());
            }
            let watcher = self.watcher.as_mut()?;
            let bookmark = async {
                match &mut self.bookmarks {
                    Some(bookmarks) => bookmarks.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                _ = self.ending.wait_for(|&ending| ending) => return None,
                batch = watcher.next() => match batch {
                    Ok(batch) => {
                        for event in &batch.events {
                            self.told.event(event, &mut self.waiting);
                        }
                    }
                    Err(gone) => {
                        let gone = ApiError::expired(format!("too old resource version: {} ({})", gone.asked, gone.oldest));
                        let event = json!({"type": "ERROR", "object": gone.to_value()});
                        self.waiting.extend_from_slice(format!("{event}\n").as_bytes());
                        self.watcher = None;
                    }
                },
                () = bookmark => {
                    let told = watcher.told();
                    self.told.bookmark(told, false, &mut self.waiting);
                    if let Some(bookmarks) = &mut self.bookmarks {
                        bookmarks.as_mut().reset(Instant::now() + BOOKMARKS);
                    }
                }
                () = &mut self.end => {
                    // The client goes on from where it really is.
                    self.watcher = None;
                }
            }
        }
    }
}

/// Puts events into the form that is wanted.
struct Teller {
    served: Arc<Served>,
    selection: Selection,
    namespace: String,
    form: Form,
    /// Whether the columns of a table have been told.
    headed: bool,
    include: printers::Include,
}

impl Teller {
    /// Tells of a change, unless it is of no concern: an object may come into view or leave it.
    fn event(&mut self, event: &Event, out: &mut Vec<u8>) {
        if !self.namespace.is_empty() && event.key.namespace() != self.namespace {
            return;
        }
        let was = event
            .before
            .as_ref()
            .is_some_and(|entry| self.selection.wants(entry));
        let is = !event.deleted && self.selection.wants(&event.entry);
        match (was, is) {
            (false, true) => self.tell("ADDED", &event.entry, out),
            (true, true) => self.tell("MODIFIED", &event.entry, out),
            (true, false) if event.deleted => self.tell("DELETED", &event.entry, out),
            (true, false) => {
                // It is told as it was when it was last in view.
                let Some(before) = &event.before else { return };
                let mut last = (*before.value()).clone();
                last["metadata"]["resourceVersion"] = event.revision.to_string().into();
                self.tell("DELETED", &Entry::new(last, event.revision), out);
            }
            (false, false) => {}
        }
    }

    fn tell(&mut self, what: &str, entry: &Entry, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(what.as_bytes());
        out.extend_from_slice(b"\",\"object\":");
        if self.form.what == As::Whole && self.served.is_stored {
            out.extend_from_slice(&entry.bytes);
        } else {
            let object = self.formed(respond::shown(&self.served, &entry.value()));
            _ = serde_json::to_writer(&mut *out, &object);
        }
        out.extend_from_slice(b"}\n");
    }

    fn formed(&mut self, object: Value) -> Value {
        match self.form.what {
            As::Whole | As::Discovery => object,
            As::Metadata => respond::metadata(&object),
            As::Table => {
                let meta = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
                let mut table = printers::table(
                    &self.served,
                    std::slice::from_ref(&object),
                    &meta,
                    self.include,
                );
                if std::mem::replace(&mut self.headed, true) {
                    table["columnDefinitions"] = Value::Null;
                }
                table
            }
        }
    }

    fn bookmark(&mut self, revision: u64, end: bool, out: &mut Vec<u8>) {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if end {
            metadata["annotations"] = json!({INITIAL_END: "true"});
        }
        let object = match self.form.what {
            As::Metadata => {
                json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
            }
            As::Table => {
                json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": null, "rows": []})
            }
            As::Whole | As::Discovery => {
                json!({"kind": self.served.kind, "apiVersion": self.served.api_version(), "metadata": metadata})
            }
        };
        let event = json!({"type": "BOOKMARK", "object": object});
        out.extend_from_slice(format!("{event}\n").as_bytes());
    }
}

type Running = Pin<Box<dyn Future<Output = (Box<Watching>, Option<Bytes>)> + Send>>;

/// A watch as the body of an answer.
struct Steps {
    step: Step,
}

enum Step {
    Idle(Box<Watching>),
    Running(Running),
    Done,
}

impl Source for Steps {
    fn poll_piece(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            match std::mem::replace(&mut self.step, Step::Done) {
                Step::Idle(mut watching) => {
                    self.step = Step::Running(Box::pin(async move {
                        let piece = watching.next().await;
                        (watching, piece)
                    }));
                }
                Step::Running(mut running) => match running.as_mut().poll(cx) {
                    Poll::Ready((watching, Some(piece))) => {
                        self.step = Step::Idle(watching);
                        return Poll::Ready(Some(piece));
                    }
                    Poll::Ready((_, None)) => return Poll::Ready(None),
                    Poll::Pending => {
                        self.step = Step::Running(running);
                        return Poll::Pending;
                    }
                },
                Step::Done => return Poll::Ready(None),
            }
        }
    }
}
