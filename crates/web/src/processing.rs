//! The two questions: a template with its values, and values for a stored template. Nothing is
//! created by either.

use api::template::{GROUP, KIND, PARAMETERS_KIND, PLURAL};
use bytes::Bytes;
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};
use templates::{Arguments, Dialect, Given, Source, process};

use crate::Answer;
use crate::status::{failure, invalid, passed_on};

/// What was asked, by somebody who may.
#[derive(Clone, Debug)]
pub struct Question {
    /// The namespace that stored templates are looked up in.
    pub namespace: String,
    /// The stored template whose parameters the body has; none if the body is the template.
    pub stored: Option<String>,
    /// What the URL says after its question mark: `result=list`, `strict=true`, `dialect=braces`,
    /// `selectors=keep`.
    pub query: String,
    /// The body, JSON or YAML.
    pub body: Bytes,
}

/// Answers with the processed template, or the list of its objects if that was wanted.
pub async fn answer(client: &Client, question: Question) -> Answer {
    match processed(client, &question).await {
        Ok(value) => (201, value),
        Err(failure) => failure,
    }
}

async fn processed(client: &Client, question: &Question) -> Result<Value, Answer> {
    let wishes = Wishes::read(&question.query)?;
    let body = read(&question.body)?;
    let (template, values) = match &question.stored {
        None => (body, Vec::new()),
        Some(name) => {
            let arguments = match body {
                // Values may all be the template's own.
                Value::Null => Arguments::default(),
                body => Arguments::read(&body)
                    .map_err(|problems| invalid(PARAMETERS_KIND, name, &problems))?,
            };
            check_name(&arguments, &question.namespace, name)?;
            (
                stored(client, &question.namespace, name).await?,
                arguments.values,
            )
        }
    };
    let name = template["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let given = Given {
        values,
        ..wishes.given
    };
    let mut random =
        || getrandom::u64().map_err(|error| format!("there are no random numbers: {error}"));
    let processed = process(template, &given, &mut random)
        .map_err(|problems| invalid(KIND, &name, &problems))?;
    Ok(if wishes.list {
        processed.into_list()
    } else {
        processed.into_template()
    })
}

/// Values may name the template they are for, and then it is this one.
fn check_name(arguments: &Arguments, namespace: &str, name: &str) -> Result<(), Answer> {
    match &arguments.template {
        Some(Source::Name(other)) if other != name && *other != format!("{namespace}/{name}") => {
            let message =
                format!("the values are for the template {other:?}, and the URL names {name:?}");
            Err(failure(400, "BadRequest", &message))
        }
        Some(Source::File(_)) => Err(failure(
            400,
            "BadRequest",
            "a server reads no files: leave `file` out",
        )),
        _ => Ok(()),
    }
}

fn read(body: &Bytes) -> Result<Value, Answer> {
    let bad = |what: String| {
        failure(
            400,
            "BadRequest",
            &format!("the body cannot be read: {what}"),
        )
    };
    let text = std::str::from_utf8(body).map_err(|error| bad(error.to_string()))?;
    // JSON first: its errors are about JSON. Clients that send a file as it is say nothing of YAML.
    if text.trim_start().starts_with('{') {
        match serde_json::from_str(text) {
            Ok(value) => return Ok(value),
            Err(error) if text.trim_end().ends_with('}') => return Err(bad(error.to_string())),
            Err(_) => {}
        }
    }
    yaml::parse_strict(text).map_err(|error| bad(error.to_string()))
}

async fn stored(client: &Client, namespace: &str, name: &str) -> Result<Value, Answer> {
    let kind = GroupVersionKind::gvk(GROUP, api::VERSION, KIND);
    let resource = ApiResource::from_gvk_with_plural(&kind, PLURAL);
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    let object = api.get(name).await.map_err(|error| passed_on(&error))?;
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(metadata) = value["metadata"].as_object_mut() {
        // The result is no stored object.
        for field in [
            "managedFields",
            "resourceVersion",
            "uid",
            "generation",
            "creationTimestamp",
        ] {
            metadata.remove(field);
        }
    }
    Ok(value)
}

/// What the query asks for.
struct Wishes {
    list: bool,
    given: Given,
}

impl Wishes {
    fn read(query: &str) -> Result<Wishes, Answer> {
        let mut wishes = Wishes {
            list: false,
            given: Given::default(),
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (name, value) {
                ("result", "template") | ("strict", "false") => {}
                ("result", "list") => wishes.list = true,
                ("strict", "true") => wishes.given.strict = true,
                ("selectors", "keep") => wishes.given.keep_selectors = true,
                ("dialect", name) if Dialect::named(name).is_some() => {
                    wishes.given.dialect = Dialect::named(name);
                }
                ("result" | "strict" | "selectors" | "dialect", _) => {
                    let message = format!("{name}={value} makes no sense: {}", wanted(name));
                    return Err(failure(400, "BadRequest", &message));
                }
                // What all requests may have, such as `fieldManager`, changes nothing here.
                _ => {}
            }
        }
        Ok(wishes)
    }
}

fn wanted(name: &str) -> &'static str {
    match name {
        "result" => "it is list or template",
        "strict" => "it is true or false",
        "selectors" => "it is keep",
        _ => "it is parentheses or braces",
    }
}

/// What every answer of the API has to have.
pub(crate) fn unknown_path() -> Answer {
    failure(
        404,
        "NotFound",
        "the server could not find the requested resource",
    )
}

/// The path is known, the method is not.
pub(crate) fn unknown_method() -> Answer {
    failure(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    )
}

/// Health, for whoever asks.
pub(crate) fn healthy() -> Answer {
    (200, json!("ok"))
}
