//! The finalizers that the stack manager puts onto objects, in a list that others write, too.

use serde_json::{Value, json};

use super::StackManager;
use crate::Error;
use objects::{Key, Resource};

impl StackManager {
    /// Puts a finalizer onto an object.
    pub(super) async fn hold(
        &self,
        resource: &Resource,
        key: &Key,
        live: &Value,
        finalizer: &str,
    ) -> Result<(), Error> {
        match is_held(live, finalizer) {
            true => Ok(()),
            false => {
                self.finalize(resource, key, live, |fresh| held(fresh, finalizer))
                    .await
            }
        }
    }

    /// Takes a finalizer off an object, which may be gone already.
    pub(super) async fn release(
        &self,
        resource: &Resource,
        key: &Key,
        live: &Value,
        finalizer: &str,
    ) -> Result<(), Error> {
        if !is_held(live, finalizer) {
            return Ok(());
        }
        match self
            .finalize(resource, key, live, |fresh| released(fresh, finalizer))
            .await
        {
            Err(Error::NotFound(_)) => Ok(()),
            outcome => outcome,
        }
    }

    /// Changes the finalizers of an object. Others write that list, too, and a status that we wrote
    /// meanwhile makes the version that we know stale: both are read anew, since a list of one time
    /// with a version of another loses what came in between.
    async fn finalize(
        &self,
        resource: &Resource,
        key: &Key,
        live: &Value,
        patch: impl Fn(&Value) -> Option<Value>,
    ) -> Result<(), Error> {
        let fresh = self.parts.tenant.get(resource, key).await?;
        let Some(fresh) = fresh.filter(|fresh| fresh["metadata"]["uid"] == live["metadata"]["uid"])
        else {
            return Err(Error::NotFound(format!("{key} is gone")));
        };
        match patch(&fresh) {
            Some(patch) => self
                .parts
                .tenant
                .merge(resource, key, "", &patch)
                .await
                .map(|_| ()),
            None => Ok(()),
        }
    }
}

fn finalizers_of(object: &Value) -> Vec<Value> {
    object["metadata"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

fn is_held(object: &Value, finalizer: &str) -> bool {
    finalizers_of(object).iter().any(|held| held == finalizer)
}

/// The patch that puts a finalizer onto an object as it is now; none if it is there.
fn held(fresh: &Value, finalizer: &str) -> Option<Value> {
    let mut all = finalizers_of(fresh);
    all.push(json!(finalizer));
    (!is_held(fresh, finalizer)).then(|| finalized(fresh, &all))
}

/// The patch that takes a finalizer off an object as it is now; none if it is not there.
fn released(fresh: &Value, finalizer: &str) -> Option<Value> {
    let mut all = finalizers_of(fresh);
    all.retain(|held| held != finalizer);
    is_held(fresh, finalizer).then(|| finalized(fresh, &all))
}

fn finalized(fresh: &Value, all: &[Value]) -> Value {
    json!({ "metadata": { "finalizers": all, "resourceVersion": fresh["metadata"]["resourceVersion"] } })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{held, released};

    #[test]
    fn a_finalizer_that_somebody_has_just_put_onto_an_object_stays() {
        let object =
            |all: &[&str]| json!({ "metadata": { "finalizers": all, "resourceVersion": "7" } });
        for (fresh, with, without) in [
            (vec![], Some(vec!["own"]), None),
            (vec!["theirs"], Some(vec!["theirs", "own"]), None),
            (vec!["own"], None, Some(vec![])),
            (vec!["own", "theirs"], None, Some(vec!["theirs"])),
        ] {
            let fresh = object(&fresh);
            assert_eq!(held(&fresh, "own"), with.as_deref().map(object), "{fresh}");
            assert_eq!(
                released(&fresh, "own"),
                without.as_deref().map(object),
                "{fresh}"
            );
        }
    }
}
