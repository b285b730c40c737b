//! What a URL and a method ask for. Kubernetes' URLs are regular, so this is all the routing there
//! is.

use http::{Method, request::Parts};
use percent_encoding::percent_decode_str;

use crate::handlers::status::ApiError;

/// What is to be done; also the word that RBAC, metrics and records use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// One object.
    Get,
    /// Many objects.
    List,
    /// Changes as they happen.
    Watch,
    /// A new object.
    Create,
    /// An object as a whole.
    Update,
    /// A part of an object.
    Patch,
    /// One object is to go.
    Delete,
    /// Many objects are to go.
    DeleteCollection,
    /// Nothing of the API's: the method in lower case.
    Other(&'static str),
}

impl Verb {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other(word) => word,
        }
    }

    /// Whether it only looks.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

/// What a request is about, as authorization sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// What is to be done.
    pub verb: Verb,
    /// Whether it is about a resource; else only the path counts.
    pub is_resource: bool,
    /// The API group; empty for the core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The resource in the plural.
    pub resource: String,
    /// Such as `status`; else empty.
    pub subresource: String,
    /// The namespace; empty for the cluster, or for all namespaces.
    pub namespace: String,
    /// The object's name, also where a list selects one by `metadata.name`; else empty.
    pub name: String,
    /// The path of the URL.
    pub path: String,
}

/// A request's path and query, understood.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What it is about.
    pub attributes: Attributes,
    /// The query.
    pub query: QueryPairs,
    /// Whether the name was in the path; a list may select one by field.
    pub named: bool,
}

/// The query of a URL, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryPairs(Vec<(String, String)>);

impl QueryPairs {
    /// Decodes a query.
    pub fn parse(query: &str) -> Self {
        let decode = |text: &str| {
            let spaced = text.replace('+', " ");
            percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
        };
        let pairs = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (decode(name), decode(value))
            });
        Self(pairs.collect())
    }

    /// The first value of a parameter; none if it is absent or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// Whether the parameter is there, even if it is empty.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// All values of a parameter.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// A switch. As in the original, being there is enough unless it says no.
    pub fn flag(&self, name: &str) -> bool {
        self.has(name) && !matches!(self.get(name), Some("false" | "0"))
    }
}

impl Asked {
    /// Reads the method and the URL.
    ///
    /// # Errors
    ///
    /// If a part of the path is no UTF-8.
    pub fn read(parts: &Parts) -> Result<Self, ApiError> {
        let path = parts.uri.path();
        let query = QueryPairs::parse(parts.uri.query().unwrap_or(""));
        let segments = segments(path)?;
        let mut attributes = Attributes {
            verb: Verb::Other(method_word(&parts.method)),
            is_resource: false,
            group: String::new(),
            version: String::new(),
            resource: String::new(),
            subresource: String::new(),
            namespace: String::new(),
            name: String::new(),
            path: path.to_owned(),
        };
        let words: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (group, version, words) = match &*words {
            ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
            ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
            _ => {
                return Ok(Self {
                    attributes,
                    query,
                    named: false,
                });
            }
        };
        attributes.is_resource = true;
        attributes.group = group.to_owned();
        attributes.version = version.to_owned();
        let (watched, words) = match words {
            ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
            words => (false, words),
        };
        let (namespace, words) = match words {
            // A namespace and its subresources are objects themselves.
            ["namespaces", name] => (*name, words),
            ["namespaces", name, "status" | "finalize"] => (*name, words),
            ["namespaces", name, rest @ ..] if !rest.is_empty() => (*name, rest),
            words => ("", words),
        };
        attributes.namespace = namespace.to_owned();
        let mut words = words.iter();
        let mut take = || {
            words
                .next()
                .map(|word| (*word).to_owned())
                .unwrap_or_default()
        };
        attributes.resource = take();
        attributes.name = take();
        attributes.subresource = take();
        let named = !attributes.name.is_empty();
        let watched = watched || query.flag("watch");
        attributes.verb = match (&parts.method, named) {
            (&Method::GET | &Method::HEAD, true)
                if watched && attributes.subresource.is_empty() =>
            {
                Verb::Watch
            }
            (&Method::GET | &Method::HEAD, true) => Verb::Get,
            (&Method::GET | &Method::HEAD, false) if watched => Verb::Watch,
            (&Method::GET | &Method::HEAD, false) => Verb::List,
            (&Method::POST, _) => Verb::Create,
            (&Method::PUT, _) => Verb::Update,
            (&Method::PATCH, _) => Verb::Patch,
            (&Method::DELETE, true) => Verb::Delete,
            (&Method::DELETE, false) => Verb::DeleteCollection,
            (other, _) => Verb::Other(method_word(other)),
        };
        if !named
            && matches!(
                attributes.verb,
                Verb::List | Verb::Watch | Verb::DeleteCollection
            )
            && let Some(name) = query.get("fieldSelector").and_then(selected_name)
        {
            name.clone_into(&mut attributes.name);
        }
        Ok(Self {
            attributes,
            query,
            named,
        })
    }

    /// Whether nothing is to be kept.
    pub fn dry_run(&self) -> bool {
        self.query.all("dryRun").any(|value| value == "All")
    }
}

/// The name that a field selector asks for, if it asks for exactly one.
fn selected_name(selector: &str) -> Option<&str> {
    let names = selector
        .split(',')
        .filter_map(|part| part.strip_prefix("metadata.name="));
    names
        .map(|name| name.strip_prefix('=').unwrap_or(name))
        .find(|name| !name.is_empty() && !name.contains('\\'))
}

fn segments(path: &str) -> Result<Vec<String>, ApiError> {
    let parts = path.split('/').filter(|part| !part.is_empty());
    let decoded = parts.map(|part| {
        percent_decode_str(part)
            .decode_utf8()
            .map(std::borrow::Cow::into_owned)
    });
    decoded
        .collect::<Result<_, _>>()
        .map_err(|_| ApiError::bad_request("the path of the request is not UTF-8"))
}

fn method_word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "get",
        Method::HEAD => "head",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        Method::OPTIONS => "options",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests;
