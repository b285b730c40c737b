//! Acting as somebody else: what the headers ask for, and whether whoever asks may. First by the
//! constrained ways of Kubernetes 1.36 (`impersonate:<mode>` together with
//! `impersonate-on:<mode>:<verb>`), then by the old one.

use std::collections::BTreeMap;

use http::HeaderMap;
use percent_encoding::percent_decode_str;

use super::user::User;
use super::{Question, Resource};
use crate::authz::rbac_index::Decision;
use crate::authz::subject;
use crate::authz::subject::{account_groups, account_of, node_of};
use crate::handlers::status::ApiError;

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA: &str = "impersonate-extra-";
/// The group of the verb's resources.
const AUTHENTICATION: &str = "authentication.k8s.io";
/// Where nodes are told from the tokens of their pods.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

/// The ways to act as somebody, in the order they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A service account acts as the node its pod is on.
    AssociatedNode,
    /// Anybody acts as a node.
    ArbitraryNode,
    /// Anybody acts as a service account.
    ServiceAccount,
    /// Anybody acts as anybody else.
    UserInfo,
    /// Anybody acts as anybody, whatever they then do.
    Legacy,
}

impl Mode {
    const ALL: [Self; 5] = [
        Self::AssociatedNode,
        Self::ArbitraryNode,
        Self::ServiceAccount,
        Self::UserInfo,
        Self::Legacy,
    ];

    const fn word(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    /// Whether it is about such users at all.
    fn fits(self, wanted: &User, requestor: &User) -> bool {
        let bare = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        match self {
            Self::AssociatedNode => {
                let own = requestor.extra.get(NODE_NAME).map(Vec::as_slice);
                let node = node_of(&wanted.name);
                bare && account_of(&requestor.name).is_some()
                    && node.is_some_and(|node| matches!(own, Some([own]) if own == node))
            }
            Self::ArbitraryNode => bare && node_of(&wanted.name).is_some(),
            Self::ServiceAccount => bare && account_of(&wanted.name).is_some(),
            Self::UserInfo => node_of(&wanted.name).is_none() && account_of(&wanted.name).is_none(),
            Self::Legacy => true,
        }
    }
}

/// Whom the headers ask to act as; none if they do not.
pub(crate) fn wanted(headers: &HeaderMap) -> Result<Option<User>, ApiError> {
    if !headers
        .keys()
        .any(|name| name.as_str().starts_with("impersonate-"))
    {
        return Ok(None);
    }
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let first = |name: &str| headers.get(name).map(text).unwrap_or_default();
    let mut user = User {
        name: first(USER),
        uid: first(UID),
        ..User::default()
    };
    user.groups = headers.get_all(GROUP).iter().map(text).collect();
    for name in headers.keys() {
        let Some(key) = name.as_str().strip_prefix(EXTRA) else {
            continue;
        };
        let key = percent_decode_str(key)
            .decode_utf8()
            .map_or_else(|_| key.to_owned(), std::borrow::Cow::into_owned);
        user.extra
            .entry(key)
            .or_default()
            .extend(headers.get_all(name).iter().map(text));
    }
    if user.name.is_empty() {
        let other = !user.uid.is_empty() || !user.groups.is_empty() || !user.extra.is_empty();
        return if other {
            Err(nameless(&user))
        } else {
            Ok(None)
        };
    }
    Ok(Some(user))
}

/// The real server shows the user as Go prints a struct.
fn nameless(user: &User) -> ApiError {
    let list = |items: &[String]| {
        let items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
        format!("[]string{{{}}}", items.join(", "))
    };
    let groups = if user.groups.is_empty() {
        "[]string(nil)".to_owned()
    } else {
        list(&user.groups)
    };
    let extra = if user.extra.is_empty() {
        "map[string][]string(nil)".to_owned()
    } else {
        let pairs: Vec<String> = user
            .extra
            .iter()
            .map(|(key, values)| format!("{key:?}:{}", list(values)))
            .collect();
        format!("map[string][]string{{{}}}", pairs.join(", "))
    };
    ApiError::bad_request(format!(
        "requested &user.DefaultInfo{{Name:\"\", UID:{:?}, Groups:{groups}, Extra:{extra}}} without impersonating a user name",
        user.uid
    ))
}

/// The user that is acted as, and in which way. `last` is the way that worked before: its refusal
/// is the one to tell.
pub(crate) fn allowed(
    wanted: &User,
    requestor: &User,
    question: &Question<'_>,
    last: Option<Mode>,
    decide: &dyn Fn(&User, &Question<'_>) -> Decision,
) -> Result<(User, Mode), ApiError> {
    let mut refusal = None;
    let others = Mode::ALL.into_iter().filter(|mode| Some(*mode) != last);
    for mode in last
        .into_iter()
        .chain(others)
        .filter(|mode| mode.fits(wanted, requestor))
    {
        let check = Check {
            mode,
            requestor,
            decide,
        };
        match check.on(question).and_then(|()| check.user(wanted)) {
            Ok(user) => return Ok((user, mode)),
            Err(error) => drop(refusal.get_or_insert(error)),
        }
    }
    Err(refusal.unwrap_or_else(|| ApiError::internal("all impersonation modes failed")))
}

struct Check<'a> {
    mode: Mode,
    requestor: &'a User,
    decide: &'a dyn Fn(&User, &Question<'_>) -> Decision,
}

impl Check<'_> {
    fn ask(&self, question: &Question<'_>) -> Result<(), ApiError> {
        let Decision { allowed, reason } = (self.decide)(self.requestor, question);
        if allowed {
            Ok(())
        } else {
            Err(question.refusal(self.requestor, &reason))
        }
    }

    /// Whether the request itself may be made in this way.
    fn on(&self, question: &Question<'_>) -> Result<(), ApiError> {
        if self.mode == Mode::Legacy {
            return Ok(());
        }
        self.ask(&question.with_verb(&format!(
            "impersonate-on:{}:{}",
            self.mode.word(),
            question.verb
        )))
    }

    /// Whether all parts of the user may be taken on.
    fn user(&self, wanted: &User) -> Result<User, ApiError> {
        let legacy = self.mode == Mode::Legacy;
        let verb = if legacy {
            "impersonate".to_owned()
        } else {
            format!("impersonate:{}", self.mode.word())
        };
        let base = if legacy { "" } else { AUTHENTICATION };
        let about = |group, resource, name| Resource {
            group,
            resource,
            name,
            ..Resource::default()
        };
        let mut user = wanted.clone();
        match (account_of(&wanted.name), node_of(&wanted.name)) {
            (Some((namespace, name)), _) => {
                if wanted.groups.is_empty() {
                    user.groups = account_groups(namespace);
                }
                self.ask(&Question::of(
                    &verb,
                    Resource {
                        namespace,
                        ..about(base, "serviceaccounts", name)
                    },
                ))?;
            }
            (None, Some(node)) if !legacy => {
                user.groups = vec!["system:nodes".to_owned()];
                let name = if self.mode == Mode::AssociatedNode {
                    "*"
                } else {
                    node
                };
                self.ask(&Question::of(&verb, about(base, "nodes", name)))?;
            }
            _ => self.ask(&Question::of(&verb, about(base, "users", &wanted.name)))?,
        }
        if !wanted.uid.is_empty() {
            self.ask(&Question::of(
                &verb,
                about(AUTHENTICATION, "uids", &wanted.uid),
            ))?;
        }
        for group in &wanted.groups {
            let question = Question::of(&verb, about(base, "groups", group));
            if !legacy && group == subject::MASTERS {
                return Err(question.refusal(
                    self.requestor,
                    "impersonating the system:masters group is not allowed",
                ));
            }
            self.ask(&question)?;
        }
        self.extra(&verb, &wanted.extra)?;
        let group = if user.name == subject::ANONYMOUS {
            subject::UNAUTHENTICATED
        } else {
            subject::AUTHENTICATED
        };
        let stranger = user.is_in(subject::UNAUTHENTICATED);
        if !stranger && !user.is_in(group) {
            user.groups.push(group.to_owned());
        }
        Ok(user)
    }

    fn extra(&self, verb: &str, extra: &BTreeMap<String, Vec<String>>) -> Result<(), ApiError> {
        for (key, values) in extra {
            for value in values {
                let about = Resource {
                    group: AUTHENTICATION,
                    resource: "userextras",
                    subresource: key,
                    name: value,
                    ..Resource::default()
                };
                self.ask(&Question::of(verb, about))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::authz::rbac_index::{Index, Kind};

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (
                http::HeaderName::from_static(name),
                http::HeaderValue::from_static(value),
            )
        };
        let mut headers = HeaderMap::new();
        for (name, value) in pairs.iter().map(pair) {
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn headers_say_whom_to_act_as() {
        assert_eq!(wanted(&headers(&[("accept", "x")])), Ok(None));
        let pairs = [
            (USER, "ann"),
            (GROUP, "g1"),
            (GROUP, "g2"),
            (UID, "u"),
            ("impersonate-extra-acme.com%2fproject", "w"),
            ("impersonate-extra-scopes", "a"),
            ("impersonate-extra-scopes", "b"),
        ];
        let user = wanted(&headers(&pairs)).unwrap().unwrap();
        assert_eq!(
            (&*user.name, &*user.uid, user.groups),
            ("ann", "u", vec!["g1".to_owned(), "g2".to_owned()])
        );
        assert_eq!(
            json!(user.extra),
            json!({"acme.com/project": ["w"], "scopes": ["a", "b"]})
        );
        for (pairs, shown) in [
            (
                &[(GROUP, "g")][..],
                r#"UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)"#,
            ),
            (
                &[("impersonate-extra-o", "x")],
                r#"UID:"", Groups:[]string(nil), Extra:map[string][]string{"o":[]string{"x"}}"#,
            ),
            (
                &[(UID, "x")],
                r#"UID:"x", Groups:[]string(nil), Extra:map[string][]string(nil)"#,
            ),
        ] {
            let error = wanted(&headers(pairs)).unwrap_err();
            let message = format!(
                "requested &user.DefaultInfo{{Name:\"\", {shown}}} without impersonating a user name"
            );
            assert_eq!((error.code, error.message), (400, message));
        }
    }

    #[test]
    fn only_those_who_may_act_as_others() {
        let mut index = Index::default();
        let legacy = json!({"rules": [
            {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users", "groups", "serviceaccounts"], "resourceNames": ["kim", "crew", "robot"]},
            {"verbs": ["impersonate"], "apiGroups": [AUTHENTICATION], "resources": ["userextras/scopes", "uids"]}]});
        let constrained = json!({"rules": [
            {"verbs": ["impersonate:user-info"], "apiGroups": [AUTHENTICATION], "resources": ["users"]},
            {"verbs": ["impersonate-on:user-info:list"], "apiGroups": [""], "resources": ["pods"]}]});
        for (name, role) in [("old", legacy), ("new", constrained)] {
            index.note(Kind::ClusterRole, "", name, Some(&role));
            let binding = json!({"roleRef": {"kind": "ClusterRole", "name": name}, "subjects": [{"kind": "User", "name": name}]});
            index.note(Kind::ClusterRoleBinding, "", name, Some(&binding));
        }
        let on = r#"pods is forbidden: User "old" cannot impersonate-on:user-info:list resource "pods" in API group "" at the cluster scope"#;
        let other = r#"groups "other" is forbidden: User "old" cannot impersonate resource "groups" in API group "" at the cluster scope"#;
        let table = [
            (
                "old",
                "list",
                &[(USER, "kim")][..],
                None,
                Ok("kim [system:authenticated]"),
            ),
            (
                "old",
                "list",
                &[(USER, "kim"), (GROUP, "crew")],
                None,
                Ok("kim [crew system:authenticated]"),
            ),
            (
                "old",
                "list",
                &[(USER, "kim"), (GROUP, "other")],
                None,
                Err(on),
            ),
            (
                "old",
                "list",
                &[(USER, "kim"), (GROUP, "other")],
                Some(Mode::Legacy),
                Err(other),
            ),
            (
                "old",
                "list",
                &[(USER, "system:serviceaccount:n:robot")],
                None,
                Ok(
                    "system:serviceaccount:n:robot [system:serviceaccounts system:serviceaccounts:n system:authenticated]",
                ),
            ),
            (
                "old",
                "list",
                &[(USER, "kim"), (UID, "7"), ("impersonate-extra-scopes", "x")],
                None,
                Ok("kim [system:authenticated]"),
            ),
            (
                "new",
                "list",
                &[(USER, "ann")],
                None,
                Ok("ann [system:authenticated]"),
            ),
            (
                "new",
                "get",
                &[(USER, "ann")],
                None,
                Err(
                    r#"pods is forbidden: User "new" cannot impersonate-on:user-info:get resource "pods" in API group "" at the cluster scope"#,
                ),
            ),
        ];
        for (who, verb, pairs, last, expect) in table {
            let asked = wanted(&headers(pairs)).unwrap().unwrap();
            let question = Question::of(
                verb,
                Resource {
                    resource: "pods",
                    ..Resource::default()
                },
            );
            let decide = |user: &User, question: &Question<'_>| index.decide(user, question);
            let found = allowed(&asked, &User::new(who, &[]), &question, last, &decide);
            let found = found.map(|(user, _)| format!("{} [{}]", user.name, user.groups.join(" ")));
            let found = found.as_deref().map_err(|error| &*error.message);
            assert_eq!(found, expect, "{who} {pairs:?}");
        }
        let nobody = wanted(&headers(&[(USER, subject::ANONYMOUS)]))
            .unwrap()
            .unwrap();
        let question = Question::of("list", Resource::default());
        let decide = |user: &User, question: &Question<'_>| index.decide(user, question);
        let (user, _) = allowed(&nobody, &User::admin(), &question, None, &decide).unwrap();
        assert_eq!(user.groups, [subject::UNAUTHENTICATED]);
    }
}
