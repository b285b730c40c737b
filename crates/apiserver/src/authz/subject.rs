//! The names and groups that mean something to the server: masters, service accounts, nodes,
//! nobody.

use objects::is_subdomain;
use serde_json::{Map, Value};

use crate::authn::user::User;

/// The group whose members may do everything.
pub(crate) const MASTERS: &str = "system:masters";
/// The group of everybody who showed who they are.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of everybody who did not.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of everybody who did not.
pub(crate) const ANONYMOUS: &str = "system:anonymous";
/// What the user names of service accounts begin with.
const ACCOUNT: &str = "system:serviceaccount:";
/// The group of all service accounts; with a namespace after a colon, of those in it.
const ACCOUNTS: &str = "system:serviceaccounts";

/// Whoever did not say who they are.
pub(crate) fn anonymous() -> User {
    User {
        name: ANONYMOUS.to_owned(),
        groups: vec![UNAUTHENTICATED.to_owned()],
        ..User::default()
    }
}

/// A service account as a user.
pub(crate) fn account(namespace: &str, name: &str, uid: &str) -> User {
    let mut groups = account_groups(namespace);
    groups.push(AUTHENTICATED.to_owned());
    User {
        name: account_name(namespace, name),
        uid: uid.to_owned(),
        groups,
        ..User::default()
    }
}

/// A user as reviews show it, without what is empty.
pub(crate) fn shown(user: &User) -> Value {
    let mut fields = Map::new();
    if !user.name.is_empty() {
        fields.insert("username".to_owned(), user.name.clone().into());
    }
    if !user.uid.is_empty() {
        fields.insert("uid".to_owned(), user.uid.clone().into());
    }
    if !user.groups.is_empty() {
        fields.insert("groups".to_owned(), user.groups.clone().into());
    }
    if !user.extra.is_empty() {
        let extra = user
            .extra
            .iter()
            .map(|(key, values)| (key.clone(), Value::from(values.clone())));
        fields.insert("extra".to_owned(), extra.collect::<Map<_, _>>().into());
    }
    fields.into()
}

/// The user name of a service account.
pub(crate) fn account_name(namespace: &str, name: &str) -> String {
    format!("{ACCOUNT}{namespace}:{name}")
}

/// The groups that a service account is in because of where it is.
pub(crate) fn account_groups(namespace: &str) -> Vec<String> {
    vec![ACCOUNTS.to_owned(), format!("{ACCOUNTS}:{namespace}")]
}

/// The namespace and the name of the service account with this user name, if it is one.
pub(crate) fn account_of(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(ACCOUNT)?.split_once(':')?;
    let label = namespace.len() <= 63 && !namespace.contains('.') && is_subdomain(namespace);
    (label && is_subdomain(name)).then_some((namespace, name))
}

/// The name of the node with this user name, if it is one.
pub(crate) fn node_of(user: &str) -> Option<&str> {
    user.strip_prefix("system:node:")
        .filter(|name| is_subdomain(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_well_formed_names_are_service_accounts_or_nodes() {
        let table = [
            (
                "system:serviceaccount:default:robot",
                Some(("default", "robot")),
            ),
            (
                "system:serviceaccount:default:a.b-c",
                Some(("default", "a.b-c")),
            ),
            ("system:serviceaccount:default:", None),
            ("system:serviceaccount::robot", None),
            ("system:serviceaccount:default:a:b", None),
            ("system:serviceaccount:Default:robot", None),
            ("system:serviceaccount:default", None),
            ("robot", None),
        ];
        for (name, expect) in table {
            assert_eq!(account_of(name), expect, "{name}");
        }
        assert_eq!(node_of("system:node:a.b"), Some("a.b"));
        assert_eq!(node_of("system:node:"), None);
        assert_eq!(node_of("system:node:\u{e9}\u{e9}"), None);
    }

    #[test]
    fn a_user_is_shown_without_what_is_empty() {
        let mut user = User::new("ann", &["crew"]);
        user.extra.insert("scopes".to_owned(), vec!["a".to_owned()]);
        let groups = ["crew", "system:authenticated"];
        let expect =
            serde_json::json!({"username": "ann", "groups": groups, "extra": {"scopes": ["a"]}});
        assert_eq!(shown(&user), expect);
        assert_eq!(shown(&User::default()), serde_json::json!({}));
    }
}
