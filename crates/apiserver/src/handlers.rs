//! The way of a request: understood, recorded, authenticated, authorized, served, counted. This is
//! the only place where all of them meet.

pub(crate) mod aggregated;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod discovery;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod openapi;
pub(crate) mod patch;
pub(crate) mod respond;
pub(crate) mod scale;
pub(crate) mod status;
pub(crate) mod update;
pub(crate) mod warnings;
pub(crate) mod watch;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT, WARNING},
    request::Parts,
};

use crate::authn::Decision;
use crate::authn::user::User;
use crate::pipeline;
use crate::registry::Served;
use crate::request::info::{Asked, Attributes, Verb};
use crate::request::negotiation::Form;
use crate::server::Inner;
use crate::testing::fault_injection::Trouble;
use crate::testing::request_log::Open;
use crate::transport::request_body::Place;
use crate::transport::response_body::Body;
use crate::transport::service::Lost;
use status::ApiError;

/// A request on a resource with all that is known about it.
pub(crate) struct Cx<'a> {
    pub(crate) inner: &'a Arc<Inner>,
    pub(crate) asked: &'a Asked,
    pub(crate) user: &'a User,
    pub(crate) parts: &'a Parts,
    pub(crate) served: Arc<Served>,
    pub(crate) body: Bytes,
    /// The room that the body takes.
    _place: Place,
    /// The revision that reads show, where a test wants the past.
    pub(crate) stale: Option<u64>,
    warnings: Mutex<Vec<String>>,
}

impl Cx<'_> {
    pub(crate) fn attributes(&self) -> &Attributes {
        &self.asked.attributes
    }

    /// Tells the client something beside the answer.
    pub(crate) fn warn(&self, text: impl Into<String>) {
        self.warnings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(text.into());
    }

    pub(crate) fn not_found(&self, name: &str) -> ApiError {
        ApiError::not_found(&self.served.group, &self.served.plural, name)
    }
}

/// Serves one request. `who` is given where the door knows; else the headers have to say.
pub(crate) async fn serve<B>(
    inner: &Arc<Inner>,
    who: Option<&User>,
    request: Request<B>,
) -> Result<Response<Body>, Lost>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (parts, body) = request.into_parts();
    let asked = match Asked::read(&parts) {
        Ok(asked) => asked,
        Err(error) => return Ok(failure(&parts, &error)),
    };
    let agent = parts
        .headers
        .get(USER_AGENT)
        .and_then(|agent| agent.to_str().ok())
        .unwrap_or_default();
    let user = match who {
        Some(user) => Ok(user.clone()),
        None => inner.auth.authenticate(&parts),
    };
    let user = user.and_then(|user| inner.auth.impersonated(user, &parts));
    let name = user.as_ref().map_or("", |user| &user.name);
    let mut open = inner
        .records
        .open(name, &parts.uri, agent, &asked.attributes);
    let user = match user {
        Ok(user) => user,
        Err(error) => return Ok(counted(inner, &asked, "", open, failure(&parts, &error))),
    };
    let (mut lost, mut stale) = (false, None);
    for trouble in inner.faults.next(&asked.attributes, &user) {
        match trouble {
            Trouble::Fail(error) => {
                return Ok(counted(
                    inner,
                    &asked,
                    &user.name,
                    open,
                    failure(&parts, &error),
                ));
            }
            Trouble::LoseAnswer => lost = true,
            Trouble::Wait(gate) => gate.pass().await,
            Trouble::Stale(revision) => stale = Some(revision),
        }
    }
    let outcome = dispatch(inner, &asked, &user, &parts, body, stale, &mut open).await;
    let response = outcome.unwrap_or_else(|error| failure(&parts, &error));
    let response = counted(inner, &asked, &user.name, open, response);
    if lost { Err(Lost) } else { Ok(response) }
}

/// Counts an answer, and records its code unless it is a watch that goes on.
fn counted(
    inner: &Inner,
    asked: &Asked,
    user: &str,
    open: Option<Open>,
    response: Response<Body>,
) -> Response<Body> {
    let code = response.status().as_u16();
    inner.metrics.count(&asked.attributes, user, code);
    if let Some(mut open) = open {
        open.answered(code);
    }
    response
}

async fn dispatch<B>(
    inner: &Arc<Inner>,
    asked: &Asked,
    user: &User,
    parts: &Parts,
    body: B,
    stale: Option<u64>,
    open: &mut Option<Open>,
) -> Result<Response<Body>, ApiError>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let attributes = &asked.attributes;
    if let Decision::Deny(why) = inner.auth.authorize(user, attributes) {
        return Err(denied(user, attributes, &why));
    }
    if !attributes.is_resource {
        return discovery::answer(inner, asked, parts);
    }
    let kinds = inner.registry.now();
    let found = kinds.find(&attributes.group, &attributes.version, &attributes.resource);
    let missing = || kinds.missing(&attributes.group);
    let served = found.ok_or_else(missing)?.clone();
    if !attributes.subresource.is_empty() && served.subresource(&attributes.subresource).is_none() {
        let of_custom =
            served.custom.is_some() && matches!(&*attributes.subresource, "status" | "scale");
        let named = || ApiError::not_found(&served.group, &served.plural, &attributes.name);
        return Err(if of_custom { named() } else { missing() });
    }
    // A namespaced resource without a namespace in the path can only be looked at as a whole.
    let misplaced = match (served.namespaced, attributes.namespace.is_empty()) {
        (true, true) => asked.named,
        (false, false) => attributes.resource != "namespaces",
        _ => false,
    };
    if misplaced {
        return Err(missing());
    }
    let (body, place) = match parts.method {
        Method::GET | Method::HEAD => (Bytes::new(), None),
        _ => inner.bodies.read(body).await?,
    };
    let cx = Cx {
        inner,
        asked,
        user,
        parts,
        served,
        body,
        _place: place,
        stale,
        warnings: Mutex::default(),
    };
    if let Some(warning) = cx.served.deprecation() {
        cx.warn(warning);
    }
    check_verb(&cx)?;
    if let Some(extension) = inner.extension(&attributes.group, &attributes.version) {
        return aggregated::answer(&cx, extension).await;
    }
    if !attributes.verb.reads() {
        pipeline::check_options(&cx)?;
    }
    let mut response = match attributes.verb {
        Verb::Get => get::get(&cx).await,
        Verb::List => list::list(&cx).await,
        Verb::Watch => watch::watch(&cx, open).await,
        Verb::Create => create::create(&cx).await,
        Verb::Update => update::update(&cx).await,
        Verb::Patch => patch::patch(&cx).await,
        Verb::Delete => delete::delete(&cx).await,
        Verb::DeleteCollection => delete::delete_collection(&cx).await,
        Verb::Other(_) => Err(ApiError::method_not_allowed()),
    }
    .unwrap_or_else(|error| failure(parts, &error));
    for warning in warnings::headers(
        &cx.warnings
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
    ) {
        response.headers_mut().append(WARNING, warning);
    }
    Ok(response)
}

/// Whether the verb is served at this path.
fn check_verb(cx: &Cx<'_>) -> Result<(), ApiError> {
    let (attributes, served) = (cx.attributes(), &cx.served);
    let verb = attributes.verb;
    let everywhere = served.namespaced && attributes.namespace.is_empty();
    let misplaced = match verb {
        Verb::Create if cx.asked.named && attributes.subresource.is_empty() => {
            if !served.allows("", "get") {
                return Err(ApiError::no_resource());
            }
            true
        }
        Verb::Create | Verb::DeleteCollection => everywhere,
        Verb::Update | Verb::Patch => !cx.asked.named,
        _ => false,
    };
    if misplaced || !served.allows(&attributes.subresource, verb.as_str()) {
        return Err(ApiError::method_not_allowed());
    }
    Ok(())
}

/// A refusal in the words of the real server.
fn denied(user: &User, attributes: &Attributes, why: &str) -> ApiError {
    let Attributes {
        verb,
        group,
        resource,
        subresource,
        namespace,
        name,
        path,
        ..
    } = attributes;
    let verb = verb.as_str();
    let user = &user.name;
    let reason = if why.is_empty() {
        String::new()
    } else {
        format!(": {why}")
    };
    if !attributes.is_resource {
        return ApiError::forbidden(
            "",
            "",
            "",
            &format!("User {user:?} cannot {verb} path {path:?}{reason}"),
        );
    }
    let full = if subresource.is_empty() {
        resource.clone()
    } else {
        format!("{resource}/{subresource}")
    };
    let place = if namespace.is_empty()
        || resource == "namespaces"
            && group.is_empty()
            && !subresource.is_empty()
            && namespace.is_empty()
    {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace {namespace:?}")
    };
    let why = format!(
        "User {user:?} cannot {verb} resource {full:?} in API group {group:?} {place}{reason}"
    );
    ApiError::forbidden(group, resource, name, &why)
}

/// A failure as an answer, in the form that is wanted for answers.
fn failure(parts: &Parts, error: &ApiError) -> Response<Body> {
    let (kind, text) = if error.plain {
        (
            "text/plain; charset=utf-8",
            error.message.clone().into_bytes(),
        )
    } else if Form::wanted(&parts.headers).is_ok_and(|form| form.yaml) {
        (
            "application/yaml",
            yaml::emit(&error.to_value())
                .unwrap_or_default()
                .into_bytes(),
        )
    } else {
        (
            "application/json",
            serde_json::to_vec(&error.to_value()).unwrap_or_default(),
        )
    };
    let mut response = Response::new(Body::full(text));
    *response.status_mut() =
        StatusCode::from_u16(error.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Some(seconds) = error
        .details
        .as_ref()
        .map(|details| details.retry_after)
        .filter(|&seconds| seconds > 0)
    {
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
