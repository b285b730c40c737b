//! Whether a use of a template may write over an object that is there already: over what it made
//! itself, and over what somebody hands over, never over another use's. The managers of fields do
//! not tell: what is written as `stringData` is kept as `data`, so that nobody is in the way where
//! a password is replaced.

use api::labels::MANAGED_BY;
use api::template::{INSTANCE, INSTANCE_NAMESPACE};
use objects::Path;
use serde_json::Value;

use crate::problem::Problem;

/// A use of a template that wants to write objects.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'c> {
    /// Its name.
    pub instance: &'c str,
    /// The namespace that the name is one of.
    pub namespace: &'c str,
    /// Whether it may take over what no use has made.
    pub force: bool,
}

impl Claim<'_> {
    /// Why it may not write over a live object, if it may not. `shown` is the object for a
    /// sentence, `place` where the template has it.
    pub fn objection(&self, live: &Value, shown: &str, place: Path) -> Option<Problem> {
        let metadata = &live["metadata"];
        let label = |name: &str| metadata["labels"][name].as_str();
        let Some(instance) = label(INSTANCE) else {
            let what = format!(
                "{shown} is there already, and no template made it: {}",
                maker(metadata)
            );
            let hint = "give the object another name, or take it over with `--force-conflicts`: \
                        `cairn template delete` then deletes it too";
            return (!self.force).then(|| Problem::at(place, what).hint(hint));
        };
        let namespace = label(INSTANCE_NAMESPACE)
            .or(metadata["namespace"].as_str())
            .unwrap_or(self.namespace);
        if (instance, namespace) == (self.instance, self.namespace) {
            return None;
        }
        let of = if namespace == self.namespace {
            String::new()
        } else {
            format!(" of the namespace {namespace}")
        };
        let what = format!("{shown} belongs to the instance {instance}{of}");
        let hint = format!(
            "give the object another name: names with a parameter in them let a template be used more than once; or end \
             the other one first: `cairn template delete {instance} -n {namespace}`"
        );
        Some(Problem::at(place, what).hint(hint))
    }
}

/// Who made an object, as far as it says so.
fn maker(metadata: &Value) -> String {
    let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
    if let Some(owner) = owners
        .clone()
        .find(|owner| owner["controller"] == true)
        .or(owners.clone().next())
    {
        let text = |field: &str| owner[field].as_str().unwrap_or_default();
        return format!(
            "it belongs to {}/{}",
            text("kind").to_lowercase(),
            text("name")
        );
    }
    if let Some(tool) = metadata["labels"][MANAGED_BY]
        .as_str()
        .filter(|tool| !tool.is_empty())
    {
        return format!("{tool} manages it");
    }
    let entries = metadata["managedFields"].as_array().into_iter().flatten();
    let mut managers: Vec<&str> = entries
        .filter_map(|entry| entry["manager"].as_str())
        .collect();
    managers.sort_unstable();
    managers.dedup();
    match managers.as_slice() {
        [] => "it does not say who did".to_owned(),
        [one] => format!("{one} manages it"),
        several => format!("{} manage it", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use objects::Path;
    use serde_json::{Value, json};

    use super::Claim;

    #[test]
    fn a_use_writes_over_its_own_objects_and_over_others_only_if_they_are_nobodys_and_it_is_told_to()
     {
        let made = |instance: &str, namespace: &str| {
            json!({"namespace": "team", "labels": {
                "templates.stacks.crossplane.io/instance": instance,
                "templates.stacks.crossplane.io/instance-namespace": namespace,
            }})
        };
        let old = |instance: &str| json!({"namespace": "team", "labels": {"templates.stacks.crossplane.io/instance": instance}});
        let managed = |managers: &[&str]| {
            let entries: Vec<Value> = managers
                .iter()
                .map(|manager| json!({"manager": manager}))
                .collect();
            json!({"managedFields": entries})
        };
        let foreign =
            |who: &str| format!("secret/db is there already, and no template made it: {who}");
        let others = |of: &str| format!("secret/db belongs to the instance {of}");
        for (metadata, expected, if_forced) in [
            (made("one", "team"), None, None),
            (old("one"), None, None),
            (
                made("two", "team"),
                Some(others("two")),
                Some(others("two")),
            ),
            (old("two"), Some(others("two")), Some(others("two"))),
            (
                made("one", "far"),
                Some(others("one of the namespace far")),
                Some(others("one of the namespace far")),
            ),
            (json!({}), Some(foreign("it does not say who did")), None),
            (
                managed(&["kubectl-create"]),
                Some(foreign("kubectl-create manages it")),
                None,
            ),
            (
                managed(&["b", "a", "b"]),
                Some(foreign("a, b manage it")),
                None,
            ),
            (
                json!({"labels": {"app.kubernetes.io/managed-by": "Helm"}}),
                Some(foreign("Helm manages it")),
                None,
            ),
            (
                json!({"ownerReferences": [{"kind": "A", "name": "a"}, {"kind": "Web", "name": "w", "controller": true}]}),
                Some(foreign("it belongs to web/w")),
                None,
            ),
        ] {
            let live = json!({"metadata": metadata});
            for (force, expected) in [(false, expected), (true, if_forced)] {
                let claim = Claim {
                    instance: "one",
                    namespace: "team",
                    force,
                };
                let told = claim
                    .objection(&live, "secret/db", Path::root())
                    .map(|problem| problem.what);
                assert_eq!(told, expected, "{force} {live}");
            }
        }
    }
}
