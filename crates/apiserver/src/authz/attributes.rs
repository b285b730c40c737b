//! What somebody wants to do, as rules are asked about it, and how a refusal is worded. It decides
//! nothing.

use crate::authn::user::User;
use crate::handlers::status::ApiError;
use crate::request::info::Attributes;

/// A verb, and what it is to be done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question<'a> {
    /// Such as `get`, `impersonate` or `bind`.
    pub verb: &'a str,
    /// What it is about.
    pub about: About<'a>,
}

/// What is to be done something to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About<'a> {
    /// A resource, or an object of it.
    Resource(Resource<'a>),
    /// A path that is not a resource's.
    Path(&'a str),
}

/// A resource, or an object of it; what is not said is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resource<'a> {
    /// The API group.
    pub group: &'a str,
    /// The resource in the plural.
    pub resource: &'a str,
    /// Such as `status`.
    pub subresource: &'a str,
    /// The namespace; empty for the cluster, or for all namespaces.
    pub namespace: &'a str,
    /// The object.
    pub name: &'a str,
}

impl<'a> From<&'a Attributes> for Question<'a> {
    fn from(attributes: &'a Attributes) -> Self {
        let about = if attributes.is_resource {
            About::Resource(Resource {
                group: &attributes.group,
                resource: &attributes.resource,
                subresource: &attributes.subresource,
                namespace: &attributes.namespace,
                name: &attributes.name,
            })
        } else {
            About::Path(&attributes.path)
        };
        Self {
            verb: attributes.verb.as_str(),
            about,
        }
    }
}

impl<'a> Question<'a> {
    /// A question about a resource.
    pub(crate) fn of(verb: &'a str, resource: Resource<'a>) -> Self {
        Self {
            verb,
            about: About::Resource(resource),
        }
    }

    /// The namespace it is about; empty for none.
    pub(crate) fn namespace(&self) -> &'a str {
        match self.about {
            About::Resource(resource) => resource.namespace,
            About::Path(_) => "",
        }
    }

    /// The same with another verb.
    #[must_use]
    pub(crate) fn with_verb<'b>(&self, verb: &'b str) -> Question<'b>
    where
        'a: 'b,
    {
        Question {
            verb,
            about: self.about,
        }
    }

    /// The refusal, with a reason if there is more to say.
    pub(crate) fn refusal(&self, user: &User, reason: &str) -> ApiError {
        let (name, verb) = (&user.name, self.verb);
        let more = if reason.is_empty() {
            String::new()
        } else {
            format!(": {reason}")
        };
        match self.about {
            About::Path(path) => ApiError::forbidden(
                "",
                "",
                "",
                &format!("User {name:?} cannot {verb} path {path:?}{more}"),
            ),
            About::Resource(Resource {
                group,
                resource,
                subresource,
                namespace,
                name: object,
            }) => {
                let slash = if subresource.is_empty() { "" } else { "/" };
                let place = if namespace.is_empty() {
                    "at the cluster scope".to_owned()
                } else {
                    format!("in the namespace {namespace:?}")
                };
                let why = format!(
                    "User {name:?} cannot {verb} resource \"{resource}{slash}{subresource}\" in API group {group:?} {place}{more}"
                );
                ApiError::forbidden(group, resource, object, &why)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_worded_as_the_real_server_does() {
        let x = User::new("x", &[]);
        let resource = |group, resource, subresource, namespace, name| {
            About::Resource(Resource {
                group,
                resource,
                subresource,
                namespace,
                name,
            })
        };
        let table = [
            (
                "list",
                resource("", "pods", "", "y", ""),
                "",
                r#"pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "y""#,
            ),
            (
                "get",
                resource("", "pods", "log", "y", "p"),
                "",
                r#"pods "p" is forbidden: User "x" cannot get resource "pods/log" in API group "" in the namespace "y""#,
            ),
            (
                "watch",
                resource("apps", "deployments", "", "", ""),
                "",
                r#"deployments.apps is forbidden: User "x" cannot watch resource "deployments" in API group "apps" at the cluster scope"#,
            ),
            (
                "list",
                resource("", "secrets", "", "y", ""),
                "RBAC: gone",
                r#"secrets is forbidden: User "x" cannot list resource "secrets" in API group "" in the namespace "y": RBAC: gone"#,
            ),
            (
                "get",
                About::Path("/foo"),
                "",
                r#"forbidden: User "x" cannot get path "/foo""#,
            ),
        ];
        for (verb, about, reason, expect) in table {
            let error = Question { verb, about }.refusal(&x, reason);
            assert_eq!(
                (error.code, error.reason, &*error.message),
                (403, "Forbidden", expect)
            );
        }
    }
}
