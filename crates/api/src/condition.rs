//! Conditions: what holds of an object, in the shape that all of Kubernetes uses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The types of conditions.
pub mod conditions {
    /// The object can be used: its controller is really there, its children are.
    pub const READY: &str = "Ready";
    /// The last pass over an instance wrote what its templates say.
    pub const SYNCED: &str = "Synced";
    /// What is installed is what the install asks for. `Ready` says whether what is installed can
    /// be used, also when an upgrade was refused.
    pub const UP_TO_DATE: &str = "UpToDate";
    /// It is known which package, by digest, an install means.
    pub const PACKAGE_RESOLVED: &str = "PackageResolved";
    /// The tag of the package still means what is installed. It is there once a tag has moved.
    pub const PACKAGE_CURRENT: &str = "PackageCurrent";
    /// The package was pulled, verified and read.
    pub const UNPACKED: &str = "Unpacked";
    /// Everything the package depends on is served.
    pub const DEPENDENCIES_SATISFIED: &str = "DependenciesSatisfied";
    /// The API server serves all CRDs of the package.
    pub const CRDS_ESTABLISHED: &str = "CRDsEstablished";
    /// The CRDs that an upgrade no longer brings are gone. It is there once one had objects and
    /// stayed for them.
    pub const DROPPED_CRDS_GONE: &str = "DroppedCRDsGone";
    /// The controller of the stack runs.
    pub const CONTROLLER_AVAILABLE: &str = "ControllerAvailable";
}

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Status {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Nobody can tell.
    Unknown,
}

/// Something that holds of an object, or does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What holds, such as `Ready`.
    pub r#type: String,
    /// Whether it does.
    pub status: Status,
    /// Why, as one CamelCase word for programs.
    pub reason: String,
    /// Why, for people.
    #[serde(default)]
    pub message: String,
    /// When the status last changed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_transition_time: String,
    /// The generation of the object that this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// Puts a condition among others, in the place of the one with its type. The time stays where the
/// status does. Answers whether anything has changed.
pub fn set_condition(all: &mut Vec<Condition>, mut condition: Condition) -> bool {
    match all
        .iter_mut()
        .find(|other| other.r#type == condition.r#type)
    {
        Some(old) => {
            if old.status == condition.status {
                condition
                    .last_transition_time
                    .clone_from(&old.last_transition_time);
            }
            let changed = *old != condition;
            *old = condition;
            changed
        }
        None => {
            all.push(condition);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Condition, Status, conditions, set_condition};

    fn ready(status: Status, reason: &str, time: &str) -> Condition {
        Condition {
            r#type: conditions::READY.into(),
            status,
            reason: reason.into(),
            message: String::new(),
            last_transition_time: time.into(),
            observed_generation: Some(1),
        }
    }

    #[test]
    fn the_time_moves_only_with_the_status() {
        let mut all = Vec::new();
        assert!(set_condition(
            &mut all,
            ready(Status::False, "Creating", "1")
        ));
        assert!(
            !set_condition(&mut all, ready(Status::False, "Creating", "2")),
            "nothing has changed"
        );
        assert!(set_condition(
            &mut all,
            ready(Status::False, "Waiting", "3")
        ));
        assert_eq!(all, [ready(Status::False, "Waiting", "1")]);
        assert!(set_condition(
            &mut all,
            ready(Status::True, "Available", "4")
        ));
        assert_eq!(all, [ready(Status::True, "Available", "4")]);
    }

    #[test]
    fn a_condition_is_written_in_the_standard_shape() {
        let json = serde_json::to_value(ready(Status::True, "Available", "t")).unwrap();
        assert_eq!(
            json,
            serde_json::json!({ "type": "Ready", "status": "True", "reason": "Available", "message": "",
                "lastTransitionTime": "t", "observedGeneration": 1 })
        );
    }
}
