//! Who has to do with a CRD: by the groups of the kinds that an install or a Stack brings and
//! depends on, so that a CRD that changes wakes up those alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use api::StackSpec;

use super::Work;

/// The API groups that each has to do with. Who is not listed may have to do with any.
#[derive(Debug, Default)]
pub(super) struct Interests(Mutex<BTreeMap<Work, BTreeSet<String>>>);

impl Interests {
    /// Remembers what something has to do with; none means that this is not known.
    pub(super) fn set(&self, work: Work, groups: Option<BTreeSet<String>>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match groups {
            Some(groups) => all.insert(work, groups),
            None => all.remove(&work),
        };
    }

    /// Whether something may have to do with a CRD, which is called `<plural>.<group>`.
    pub(super) fn concerns(&self, work: &Work, crd: &str) -> bool {
        let group = crd.split_once('.').map_or("", |(_, group)| group);
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(work).is_none_or(|groups| groups.contains(group))
    }
}

/// The groups of the kinds that a Stack owns, has templates for and depends on. What reads as the
/// name of a kind before a group may also be the first part of the group.
pub(super) fn groups(spec: &StackSpec) -> BTreeSet<String> {
    let owned = spec
        .customresourcedefinitions
        .iter()
        .map(|kind| kind.api_version.as_str());
    let depended = spec
        .app
        .depends_on
        .iter()
        .map(|dependency| dependency.crd.as_str());
    let templates = spec
        .templates
        .keys()
        .chain(spec.template_status.keys())
        .map(String::as_str);
    let domains = owned
        .chain(depended)
        .chain(templates)
        .map(|text| text.split('/').next().unwrap_or_default());
    let both =
        domains.flat_map(|domain| [Some(domain), domain.split_once('.').map(|(_, group)| group)]);
    both.flatten().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use api::Stack;
    use serde_json::json;

    use super::{Interests, Work, groups};
    use objects::Key;

    #[test]
    fn a_crd_wakes_up_those_who_have_to_do_with_its_group_and_those_not_known() {
        let stack: Stack = serde_json::from_value(json!({
            "apiVersion": api::API_VERSION, "kind": "Stack", "metadata": { "name": "a" },
            "spec": {
                "customresourcedefinitions": [{ "kind": "Redis", "apiVersion": "own.example.org/v1" }],
                "dependsOn": [{ "crd": "db.other.org/v1" }, { "crd": "*.all.org/v1" }, { "crd": "configmap/v1" }],
            },
        }))
        .unwrap();
        let interests = Interests::default();
        let (known, unknown) = (
            Work::Stack(Key::new("team", "a")),
            Work::Stack(Key::new("team", "b")),
        );
        interests.set(known.clone(), Some(groups(&stack.spec)));
        for (crd, expected) in [
            ("redises.own.example.org", true),
            ("dbs.other.org", true),
            ("others.other.org", true),
            ("things.all.org", true),
            ("things.db.other.org", true),
            ("redises.evil.example.org", false),
            // An owned kind may be written as `own.example.org/v1`, whose group is the rest.
            ("things.example.org", true),
            ("x", false),
        ] {
            assert_eq!(interests.concerns(&known, crd), expected, "{crd}");
            assert!(interests.concerns(&unknown, crd));
        }
        interests.set(known.clone(), None);
        assert!(interests.concerns(&known, "x"));
    }
}
