//! The types of kinds, for merging, checking and keeping track of fields. Those of built-in kinds
//! are read when a group and version is first written to, since all together they would take more
//! memory than a server at rest.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use objects::{Gvk, Schema, shape::Shapes};
use serde_json::Value;

use super::Served;
use crate::recorded;

type Read = HashMap<(String, String), Option<Arc<Shapes>>>;

impl Served {
    /// The types that its kind is made of; none if nothing is known of them.
    pub(crate) fn shapes(&self) -> Option<Arc<Shapes>> {
        match &self.custom {
            Some(custom) => Some(custom.shapes.clone()),
            None => self
                .types
                .get_or_init(|| builtin(&self.group, &self.version))
                .clone(),
        }
    }
}

/// The recorded types of a group and version.
pub(crate) fn builtin(group: &str, version: &str) -> Option<Arc<Shapes>> {
    static READ: LazyLock<Mutex<Read>> = LazyLock::new(Mutex::default);
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let load = || recorded(group, version).map(|types| Arc::new(Shapes::openapi(&types)));
    read.entry((group.to_owned(), version.to_owned()))
        .or_insert_with(load)
        .clone()
}

/// What Kubernetes says of one of its own kinds; none if it has no such kind.
pub fn builtin_schema(gvk: &Gvk) -> Option<Schema> {
    objects::openapi_schema(&recorded(&gvk.group, &gvk.version)?, gvk)
}

fn recorded(group: &str, version: &str) -> Option<Value> {
    let path = if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    };
    recorded::value(&format!("schemas/{path}"))
}
