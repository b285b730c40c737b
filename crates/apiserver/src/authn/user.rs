//! Who a request is from.

use std::collections::BTreeMap;

/// A subject that was authenticated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The groups.
    pub groups: Vec<String>,
    /// The uid, for those that have one.
    pub uid: String,
    /// Whatever else is known.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user with groups; `system:authenticated` is added.
    pub fn new(name: &str, groups: &[&str]) -> Self {
        let mut groups: Vec<String> = groups.iter().map(|&group| group.to_owned()).collect();
        if !groups.iter().any(|group| group == "system:authenticated") {
            groups.push("system:authenticated".to_owned());
        }
        Self {
            name: name.to_owned(),
            groups,
            ..Self::default()
        }
    }

    /// The one whom nothing is denied.
    pub fn admin() -> Self {
        Self::new("admin", &["system:masters"])
    }

    /// Whether it is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }
}
