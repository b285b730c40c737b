//! What a package would change in a cluster: in its types and templates, and in what each instance
//! becomes. Everything is read or tried without being kept; nothing is written.

mod harmless;
mod instance;
mod package;
mod placed;
mod show;
mod templates;
mod text;

use serde::Serialize;
use serde_json::Value;

pub(crate) use crate::cluster::dry_run::Reader;
pub(crate) use harmless::harmless;
pub(crate) use instance::{Asked, compare};
pub(crate) use show::{show, summary};

/// What would change for one stack.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Difference {
    /// `namespace/name` of the Stack; none if nothing of it is installed.
    pub stack: Option<String>,
    /// Its install, as kubectl is told of it.
    #[serde(skip)]
    pub install: String,
    /// What of the package is new.
    pub package: Vec<Change>,
    pub instances: Vec<Instance>,
    /// What should be known though it changes nothing.
    pub notes: Vec<String>,
    /// Whether what breaks is to be installed all the same.
    #[serde(skip)]
    pub allowed: bool,
}

/// How something changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    Create,
    Update,
    Delete,
    /// It waits for something, and stays as it is.
    Hold,
    /// The cluster would not take it, or it cannot be rendered.
    Refuse,
}

impl Action {
    pub fn word(self) -> &'static str {
        match self {
            Action::Create => "create",
            Action::Update => "update",
            Action::Delete => "delete",
            Action::Hold => "hold",
            Action::Refuse => "refused",
        }
    }

    /// Whether an object is not what it was.
    pub fn changes(self) -> bool {
        matches!(self, Action::Create | Action::Update | Action::Delete)
    }
}

/// A change of a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Change {
    pub action: Action,
    /// `field spec.replicas of Redis (example.org/v1)`, `template redis.example.org/v1 service`.
    pub what: String,
    /// What it was and is, in a few words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub how: String,
    /// The changed lines.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// Who can allow it, if it is refused.
    #[serde(skip)]
    pub remedy: Remedy,
}

/// Who can allow a change that the stack manager refuses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// No annotation helps: the message says what does.
    #[default]
    None,
    /// An annotation on the install.
    Install,
    /// An administrator, by annotating this CRD.
    Crd(String),
}

/// What becomes of an instance.
#[derive(Debug, Serialize)]
pub(crate) struct Instance {
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    pub name: String,
    pub objects: Vec<Object>,
}

/// What becomes of an object. Values are without secrets.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Object {
    pub action: Action,
    /// The template that makes it; `status` for the status of the instance itself.
    pub template: String,
    pub api_version: String,
    pub kind: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// Why it waits or is refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

impl Difference {
    /// Whether anything is not what it was.
    pub fn is_any(&self) -> bool {
        !self.package.is_empty() || self.objects().any(|object| object.action.changes())
    }

    /// Whether something would be refused.
    pub fn is_refused(&self) -> bool {
        self.breaks() || self.objects().any(|object| object.action == Action::Refuse)
    }

    /// Whether a type would change so that the stack manager refuses it.
    pub fn breaks(&self) -> bool {
        !self.allowed
            && self
                .package
                .iter()
                .any(|change| change.action == Action::Refuse)
    }

    /// Whether all that is refused of its types can be allowed by annotating the install.
    pub fn may_be_allowed(&self) -> bool {
        let mut refused = self
            .package
            .iter()
            .filter(|change| change.action == Action::Refuse);
        self.breaks() && refused.all(|change| change.remedy == Remedy::Install)
    }

    /// Leaves out what would become of instances while a type is refused: until it is allowed
    /// nothing does. What the instances themselves would refuse stays, since it says whom the type
    /// would break.
    pub fn stay(&mut self) {
        if self.breaks() {
            for instance in &mut self.instances {
                instance
                    .objects
                    .retain(|object| object.action == Action::Refuse);
            }
        }
    }

    /// Instances of which something is refused.
    pub fn refused(&self) -> usize {
        let refuses = |instance: &&Instance| {
            instance
                .objects
                .iter()
                .any(|object| object.action == Action::Refuse)
        };
        self.instances.iter().filter(refuses).count()
    }

    /// Instances of which something changes, and nothing is refused.
    pub fn changed(&self) -> usize {
        let refuses = |instance: &Instance| {
            instance
                .objects
                .iter()
                .any(|object| object.action == Action::Refuse)
        };
        let changes = |instance: &&Instance| {
            instance
                .objects
                .iter()
                .any(|object| object.action.changes())
        };
        self.instances
            .iter()
            .filter(changes)
            .filter(|instance| !refuses(instance))
            .count()
    }

    fn objects(&self) -> impl Iterator<Item = &Object> {
        self.instances.iter().flat_map(|instance| &instance.objects)
    }
}
