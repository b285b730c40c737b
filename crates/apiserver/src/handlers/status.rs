//! Failures as the API server words them: `Status` objects with a reason, a code, details and
//! causes.

use serde_json::{Map, Value, json};

/// Why a request was not served. It becomes a `Status` object.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    /// The HTTP status.
    pub code: u16,
    /// The word for programs, such as `NotFound`; may be empty.
    pub reason: &'static str,
    /// The sentence for people.
    pub message: String,
    /// What it is about; none where the server leaves the field out.
    pub details: Option<Box<Details>>,
    /// Answer with this plain text instead of a `Status`: some paths are not the API's.
    pub plain: bool,
}

/// What a failure is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The object's name.
    pub name: String,
    /// The API group.
    pub group: String,
    /// The resource in the plural, or the kind where an object was invalid.
    pub kind: String,
    /// The object's uid.
    pub uid: String,
    /// Everything that was wrong.
    pub causes: Vec<Cause>,
    /// When to try again; zero for nothing said.
    pub retry_after: u32,
}

/// One thing that was wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// Such as `FieldValueInvalid`.
    pub reason: String,
    /// What is wrong, without the field.
    pub message: String,
    /// Where.
    pub field: String,
}

/// A resource as messages name it: `pods`, `deployments.apps`.
fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    }
}

impl ApiError {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            plain: false,
        }
    }

    fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        let details = Details {
            group: group.into(),
            kind: kind.into(),
            name: name.into(),
            ..Details::default()
        };
        self.details = Some(Box::new(details));
        self
    }

    /// There is no such object.
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {name:?} not found", qualified(resource, group));
        Self::new(404, "NotFound", message).about(group, resource, name)
    }

    /// There is no such path.
    pub fn no_page() -> Self {
        Self {
            plain: true,
            ..Self::new(404, "NotFound", "404 page not found\n")
        }
    }

    /// There is no such group, version or resource.
    pub fn no_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self {
            details: Some(Box::default()),
            ..Self::new(404, "NotFound", message)
        }
    }

    /// The path is there, the method is not.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self {
            details: Some(Box::default()),
            ..Self::new(405, "MethodNotAllowed", message)
        }
    }

    /// There is such an object already.
    pub fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", qualified(resource, group));
        Self::new(409, "AlreadyExists", message).about(group, resource, name)
    }

    /// The object is not as the client thought.
    pub fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {why}",
            qualified(resource, group)
        );
        Self::new(409, "Conflict", message).about(group, resource, name)
    }

    /// The usual conflict: somebody else was quicker.
    pub fn modified(group: &str, resource: &str, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(group, resource, name, why)
    }

    /// Others manage fields that were to be applied.
    pub fn apply_conflict(message: String, causes: Vec<Cause>) -> Self {
        let details = Details {
            causes,
            ..Details::default()
        };
        Self {
            details: Some(Box::new(details)),
            ..Self::new(409, "Conflict", message)
        }
    }

    /// The object is not valid, and why.
    pub fn invalid(group: &str, kind: &str, name: &str, causes: Vec<Cause>) -> Self {
        let text = |cause: &Cause| format!("{}: {}", cause.field, cause.message);
        let all: Vec<String> = causes.iter().map(text).collect();
        let why = match &*all {
            [one] => one.clone(),
            _ => format!("[{}]", all.join(", ")),
        };
        let message = format!("{} {name:?} is invalid: {why}", qualified(kind, group));
        let mut error = Self::new(422, "Invalid", message).about(group, kind, name);
        if let Some(details) = &mut error.details {
            details.causes = causes;
        }
        error
    }

    /// A patch does not fit the object.
    pub fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self {
            details: Some(Box::default()),
            ..Self::new(422, "Invalid", message)
        }
    }

    /// The request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// Whoever asks may not; `why` is the whole reason after the colon.
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = if resource.is_empty() {
            format!("forbidden: {why}")
        } else if name.is_empty() {
            format!("{} is forbidden: {why}", qualified(resource, group))
        } else {
            format!(
                "{} {name:?} is forbidden: {why}",
                qualified(resource, group)
            )
        };
        Self::new(403, "Forbidden", message).about(group, resource, name)
    }

    /// It is not known who asks.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// What was asked for is older than what is remembered.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// None of the accepted formats can be had; `spoken` if one could be, with other contents.
    pub fn not_acceptable(offers: &[&str], spoken: bool) -> Self {
        if !spoken {
            let message = format!(
                "406: Not Acceptable\n\nAvailable representations: {}, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
                offers.join(", ")
            );
            return Self {
                details: Some(Box::default()),
                ..Self::new(406, "NotAcceptable", message)
            };
        }
        let message = format!(
            "only the following media types are accepted: {}",
            offers.join(", ")
        );
        Self::new(406, "NotAcceptable", message)
    }

    /// The body is in a format that cannot be read.
    pub fn unsupported_media_type(offers: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            offers.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// The body is larger than what is read.
    pub fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// Too many at once; try again.
    pub fn too_many(message: impl Into<String>) -> Self {
        let details = Details {
            retry_after: 1,
            ..Details::default()
        };
        Self {
            details: Some(Box::new(details)),
            ..Self::new(429, "TooManyRequests", message)
        }
    }

    /// Something is wrong with the server itself.
    pub fn internal(message: impl std::fmt::Display) -> Self {
        let message = message.to_string();
        let cause = Cause {
            message: message.clone(),
            ..Cause::default()
        };
        let details = Details {
            causes: vec![cause],
            ..Details::default()
        };
        Self {
            details: Some(Box::new(details)),
            ..Self::new(
                500,
                "InternalError",
                format!("Internal error occurred: {message}"),
            )
        }
    }

    /// A revision that is still to come was asked for.
    pub fn too_large_version(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let cause = Cause {
            reason: "ResourceVersionTooLarge".to_owned(),
            message: "Too large resource version".to_owned(),
            field: String::new(),
        };
        let details = Details {
            causes: vec![cause],
            retry_after: 1,
            ..Details::default()
        };
        Self {
            details: Some(Box::new(details)),
            ..Self::new(504, "Timeout", message)
        }
    }

    /// Any other failure, such as one that a test wants.
    pub fn other(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(code, reason, message)
    }

    /// The same with one more cause.
    #[must_use]
    pub fn with_cause(mut self, cause: Cause) -> Self {
        self.details.get_or_insert_default().causes.push(cause);
        self
    }

    /// The `Status` object.
    pub fn to_value(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            status["details"] = details.to_value();
        }
        status
    }
}

impl From<objects::name::Cause> for Cause {
    fn from(cause: objects::name::Cause) -> Self {
        Self {
            reason: cause.reason.as_str().to_owned(),
            message: cause.message,
            field: cause.field,
        }
    }
}

impl Details {
    /// As JSON, without what is empty.
    pub fn to_value(&self) -> Value {
        let mut fields = Map::new();
        for (name, value) in [
            ("name", &self.name),
            ("group", &self.group),
            ("kind", &self.kind),
            ("uid", &self.uid),
        ] {
            if !value.is_empty() {
                fields.insert(name.to_owned(), value.as_str().into());
            }
        }
        if !self.causes.is_empty() {
            fields.insert(
                "causes".to_owned(),
                self.causes.iter().map(Cause::to_value).collect(),
            );
        }
        if self.retry_after > 0 {
            fields.insert("retryAfterSeconds".to_owned(), self.retry_after.into());
        }
        fields.into()
    }
}

impl Cause {
    /// A cause from its three parts.
    pub fn new(reason: &str, field: &str, message: impl Into<String>) -> Self {
        Self {
            reason: reason.to_owned(),
            message: message.into(),
            field: field.to_owned(),
        }
    }

    /// A field that has to be there.
    pub fn required(field: &str, why: &str) -> Self {
        let message = if why.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {why}")
        };
        Self::new("FieldValueRequired", field, message)
    }

    /// A field with a wrong value.
    pub fn invalid(field: &str, value: &Value, why: &str) -> Self {
        Self::new(
            "FieldValueInvalid",
            field,
            format!("Invalid value: {value}: {why}"),
        )
    }

    /// A field with none of the values that it takes.
    pub fn unsupported(field: &str, value: &Value, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        let message = format!(
            "Unsupported value: {value}: supported values: {}",
            supported.join(", ")
        );
        Self::new("FieldValueNotSupported", field, message)
    }

    /// A field that may not be there, or may not change.
    pub fn forbidden(field: &str, why: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {why}"))
    }

    fn to_value(&self) -> Value {
        let mut fields = Map::new();
        for (name, value) in [
            ("reason", &self.reason),
            ("message", &self.message),
            ("field", &self.field),
        ] {
            if !value.is_empty() {
                fields.insert(name.to_owned(), value.as_str().into());
            }
        }
        fields.into()
    }
}
