//! Cluster roles that gather the rules of others by labels.

use std::sync::Arc;

use objects::selector::LabelSelector;
use serde_json::Value;

use super::driver::Follower;
use super::writes;
use super::writes::{key_of, uid_of};
use crate::registry::table_name;
use crate::storage::{Entry, Event, Query, Store};

/// Follows the cluster roles.
pub(crate) struct Roles {
    store: Arc<Store>,
    table: Arc<str>,
    stirred: bool,
}

impl Roles {
    /// Looks at all cluster roles once.
    pub(crate) fn new(store: &Arc<Store>) -> Self {
        Self {
            store: store.clone(),
            table: table_name("rbac.authorization.k8s.io", "clusterroles"),
            stirred: true,
        }
    }
}

impl Follower for Roles {
    fn note(&mut self, event: &Event) {
        self.stirred |= event.key.resource == self.table;
    }

    async fn work(&mut self) {
        while std::mem::take(&mut self.stirred) {
            let query = Query {
                resource: &self.table,
                ..Query::default()
            };
            let roles = self
                .store
                .list(&query, |_| true)
                .unwrap_or_default()
                .entries;
            let values: Vec<Arc<Value>> = roles.iter().map(Entry::value).collect();
            for (role, value) in roles.iter().zip(&values) {
                let Some(rules) = gathered(value, values.iter().map(|value| &**value)) else {
                    continue;
                };
                if value["rules"] == rules {
                    continue;
                }
                let write = |object: &mut Value| {
                    let changed = object["rules"] != rules;
                    object["rules"] = rules.clone();
                    changed
                };
                // The change is heard of as any other, so a role that gathers from this one
                // follows.
                _ = writes::change(
                    &self.store,
                    &key_of(&self.table, role),
                    uid_of(value),
                    write,
                )
                .await;
            }
        }
    }
}

/// Gives every role of a set the rules that it gathers, those that gather from one another
/// included.
pub(crate) fn gather_all(roles: &mut [Value]) {
    // Each turn settles at least one more role, unless they gather from each other in a circle.
    for _ in 0..roles.len() {
        let mut changed = false;
        for index in 0..roles.len() {
            if let Some(rules) = gathered(&roles[index], roles.iter())
                .filter(|rules| roles[index]["rules"] != *rules)
            {
                roles[index]["rules"] = rules;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

/// The rules that a role gathers; none if it does not gather any.
fn gathered<'a>(role: &Value, all: impl Iterator<Item = &'a Value>) -> Option<Value> {
    let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array()?;
    let selectors: Vec<LabelSelector> = selectors
        .iter()
        .filter_map(|selector| LabelSelector::from_value(selector).ok().flatten())
        .collect();
    let own = &role["metadata"]["name"];
    let mut chosen: Vec<&Value> = all
        .filter(|other| other["metadata"]["name"] != *own)
        .filter(|other| {
            selectors
                .iter()
                .any(|selector| selector.matches_object(other))
        })
        .collect();
    chosen.sort_by_key(|other| other["metadata"]["name"].as_str().unwrap_or_default());
    let mut rules: Vec<Value> = Vec::new();
    for rule in chosen
        .iter()
        .filter_map(|other| other["rules"].as_array())
        .flatten()
    {
        if !rules.contains(rule) {
            rules.push(rule.clone());
        }
    }
    // A role without rules says so in one way only.
    Some(if rules.is_empty() {
        Value::Null
    } else {
        rules.into()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_are_gathered_by_labels_once_and_in_order() {
        let rule = |verb: &str| json!({"verbs": [verb], "apiGroups": [""], "resources": ["pods"]});
        let role = |name: &str, labels: Value, rules: Vec<Value>| json!({"metadata": {"name": name, "labels": labels}, "rules": rules});
        let all = [
            role("b", json!({"a": "yes"}), vec![rule("list"), rule("get")]),
            role("a", json!({"a": "yes"}), vec![rule("get")]),
            role("c", json!({"a": "no"}), vec![rule("delete")]),
            role("d", json!({"extra": "x"}), vec![rule("watch")]),
            json!({"metadata": {"name": "sum", "labels": {"a": "yes"}}, "rules": [rule("create")], "aggregationRule": {
                "clusterRoleSelectors": [{"matchLabels": {"a": "yes"}}, {"matchExpressions": [{"key": "extra", "operator": "Exists"}]}]}}),
        ];
        assert_eq!(
            gathered(&all[4], all.iter()),
            Some(json!([rule("get"), rule("list"), rule("watch")]))
        );
        assert_eq!(gathered(&all[0], all.iter()), None);
        let top = json!({"metadata": {"name": "top"}, "aggregationRule": {
            "clusterRoleSelectors": [{"matchLabels": {"sum": "yes"}}]}});
        let mut chain = vec![top];
        chain.extend(all);
        chain[5]["metadata"]["labels"] = json!({"sum": "yes"});
        gather_all(&mut chain);
        assert_eq!(
            chain[0]["rules"],
            json!([rule("get"), rule("list"), rule("watch")])
        );
    }
}
