//! `metadata.managedFields`: read, kept and written.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Change;
use crate::fields::{FieldSet, FieldsError};
use crate::go;

/// The most managers that got their fields by updates; the oldest beyond are made one.
const MOST_UPDATERS: usize = 10;
/// The manager of what the oldest updates did.
const ANCIENT: &str = "ancient-changes";

/// What a manager did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// It applied.
    Apply,
    /// It created, updated or patched.
    Update,
}

impl Operation {
    /// The word that managed fields use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// What tells managers apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manager {
    /// The name.
    pub name: Arc<str>,
    /// What it did.
    pub operation: Operation,
    /// The `apiVersion` of an updater; an applier is the same in all versions, and has none here.
    pub version: Arc<str>,
    /// The subresource; empty for the object itself.
    pub subresource: Arc<str>,
}

impl Manager {
    /// The one who applies.
    pub fn applier(change: &Change<'_>) -> Self {
        Self::new(change.manager, Operation::Apply, "", change.subresource)
    }

    /// The one who updates.
    pub fn updater(change: &Change<'_>) -> Self {
        Self::new(
            change.manager,
            Operation::Update,
            change.version,
            change.subresource,
        )
    }

    fn new(name: &str, operation: Operation, version: &str, subresource: &str) -> Self {
        let name = if name.is_empty() { "unknown" } else { name };
        Self {
            name: name.into(),
            operation,
            version: version.into(),
            subresource: subresource.into(),
        }
    }

    /// What the API server sorts managers by.
    fn identifier(&self) -> String {
        let mut text = format!(
            "{{\"manager\":{},\"operation\":\"{}\"",
            go::json_string(&self.name),
            self.operation.as_str()
        );
        for (name, value) in [
            ("apiVersion", &self.version),
            ("subresource", &self.subresource),
        ] {
            if !value.is_empty() {
                text.push_str(&format!(",\"{name}\":{}", go::json_string(value)));
            }
        }
        text.push('}');
        text
    }
}

/// Managed fields that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManagedError {
    /// Neither `Apply` nor `Update`.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// No `apiVersion`.
    #[error("apiVersion must not be empty")]
    Version,
    /// No `fieldsType`.
    #[error("missing fieldsType in managed fields entry {0}")]
    NoType(usize),
    /// A `fieldsType` other than `FieldsV1`.
    #[error("invalid fieldsType {0:?} in managed fields entry {1}")]
    Type(String, usize),
    /// A set of fields that is none.
    #[error("error decoding set: {0}")]
    Fields(#[from] FieldsError),
}

/// One manager and what it manages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Managed<'v> {
    pub manager: Manager,
    /// The `apiVersion` that the fields are of.
    pub version: Arc<str>,
    pub time: Option<Arc<str>>,
    pub fields: FieldSet,
    /// How the fields are written, while they are as they were read.
    pub written: Option<&'v Value>,
}

/// Who manages what of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Managers<'v> {
    pub(super) all: Vec<Managed<'v>>,
}

impl<'v> Managers<'v> {
    /// Those of an object.
    pub fn of(object: &'v Value) -> Result<Self, ManagedError> {
        let entries = object
            .pointer("/metadata/managedFields")
            .and_then(Value::as_array);
        let mut managers = Self::default();
        for (index, entry) in entries.into_iter().flatten().enumerate() {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
            let operation = match text("operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return Err(ManagedError::Operation),
            };
            let version: Arc<str> = text("apiVersion").into();
            if version.is_empty() {
                return Err(ManagedError::Version);
            }
            match text("fieldsType") {
                "FieldsV1" => {}
                "" => return Err(ManagedError::NoType(index)),
                other => return Err(ManagedError::Type(other.to_owned(), index)),
            }
            let fields = match entry.get("fieldsV1") {
                None | Some(Value::Null) => FieldSet::new(),
                Some(fields) => FieldSet::from_value(fields)?,
            };
            let manager = Manager {
                name: text("manager").into(),
                operation,
                version: if operation == Operation::Update {
                    version.clone()
                } else {
                    Arc::default()
                },
                subresource: text("subresource").into(),
            };
            let time = entry.get("time").and_then(Value::as_str).map(Arc::from);
            let written = entry.get("fieldsV1").filter(|fields| fields.is_object());
            managers.set(Managed {
                manager,
                version,
                time,
                fields,
                written,
            });
        }
        Ok(managers)
    }

    /// Whether nobody manages anything.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What a manager manages.
    pub fn fields(&self, manager: &Manager) -> Option<&FieldSet> {
        self.all
            .iter()
            .find(|managed| managed.manager == *manager)
            .map(|managed| &managed.fields)
    }

    /// All managers with what they manage.
    pub fn iter(&self) -> impl Iterator<Item = (&Manager, &FieldSet)> {
        self.all
            .iter()
            .map(|managed| (&managed.manager, &managed.fields))
    }

    pub(super) fn take(&mut self, manager: &Manager) -> Option<Managed<'v>> {
        let at = self
            .all
            .iter()
            .position(|managed| managed.manager == *manager)?;
        Some(self.all.remove(at))
    }

    pub(super) fn set(&mut self, managed: Managed<'v>) {
        match self
            .all
            .iter_mut()
            .find(|other| other.manager == managed.manager)
        {
            Some(other) => *other = managed,
            None => self.all.push(managed),
        }
    }

    pub(super) fn touch(&mut self, manager: &Manager, now: &str) {
        if let Some(managed) = self
            .all
            .iter_mut()
            .find(|managed| managed.manager == *manager)
        {
            managed.time = Some(now.into());
        }
    }

    pub(super) fn sort_by_identifier(&mut self) {
        self.all
            .sort_by_cached_key(|managed| managed.manager.identifier());
    }

    /// Makes one of the oldest updaters while there are too many.
    pub(super) fn cap(&mut self) {
        let updaters = self
            .all
            .iter()
            .filter(|managed| managed.manager.operation == Operation::Update)
            .count();
        if updaters <= MOST_UPDATERS {
            return;
        }
        let mut oldest: Vec<Manager> = {
            let mut updaters: Vec<&Managed<'_>> = self
                .all
                .iter()
                .filter(|managed| managed.manager.operation == Operation::Update)
                .collect();
            updaters
                .sort_by_cached_key(|managed| (managed.time.clone(), managed.manager.identifier()));
            updaters
                .into_iter()
                .map(|managed| managed.manager.clone())
                .collect()
        };
        let mut excess = updaters - MOST_UPDATERS;
        // Each version has its own bucket, whose first manager waits for a second before it is made
        // one.
        let mut first: Vec<(Arc<str>, Manager)> = Vec::new();
        for manager in oldest.drain(..) {
            if excess == 0 {
                return;
            }
            let Some(version) = self
                .all
                .iter()
                .find(|managed| managed.manager == manager)
                .map(|one| one.version.clone())
            else {
                continue;
            };
            let Some((_, first)) = first.iter().find(|(of, _)| *of == version) else {
                first.push((version, manager));
                continue;
            };
            let bucket = Manager::new(ANCIENT, Operation::Update, &version, "");
            if self.fields(&bucket).is_none()
                && let Some(old) = self.take(first)
            {
                self.set(Managed {
                    manager: bucket.clone(),
                    ..old
                });
            }
            if bucket == manager {
                excess -= 1;
                continue;
            }
            if let Some(merged) = self.take(&manager)
                && let Some(bucket) = self
                    .all
                    .iter_mut()
                    .find(|managed| managed.manager == bucket)
            {
                bucket.fields = merged.fields.union(&bucket.fields);
                bucket.time = merged.time;
                bucket.written = None;
                excess -= 1;
            }
        }
    }

    /// Writes them into an object, in the order of the API server.
    pub(super) fn store(mut self, object: &mut Value) {
        self.all.sort_by(|one, other| {
            (one.manager.operation.cmp(&other.manager.operation))
                .then_with(|| one.time.cmp(&other.time))
                .then_with(|| one.manager.name.cmp(&other.manager.name))
                .then_with(|| one.version.cmp(&other.version))
                .then_with(|| one.manager.subresource.cmp(&other.manager.subresource))
        });
        let Some(object) = object.as_object_mut() else {
            return;
        };
        if self.all.is_empty() {
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
            return;
        }
        let entries = self.all.iter().map(Managed::to_value).collect();
        let metadata = object
            .entry("metadata")
            .or_insert_with(|| Value::Object(Map::new()));
        if metadata.is_null() {
            *metadata = Value::Object(Map::new());
        }
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("managedFields".to_owned(), entries);
        }
    }
}

impl Managed<'_> {
    fn to_value(&self) -> Value {
        let mut entry = Map::new();
        let mut put = |name: &str, value: &str| {
            if !value.is_empty() {
                entry.insert(name.to_owned(), value.into());
            }
        };
        put("manager", &self.manager.name);
        put("operation", self.manager.operation.as_str());
        put("apiVersion", &self.version);
        put("time", self.time.as_deref().unwrap_or_default());
        put("fieldsType", "FieldsV1");
        put("subresource", &self.manager.subresource);
        let fields = self
            .written
            .cloned()
            .unwrap_or_else(|| self.fields.to_value());
        entry.insert("fieldsV1".to_owned(), fields);
        Value::Object(entry)
    }
}
