//! Kubernetes objects as values: field paths, kinds, names that were nearly right, and structural
//! schemas with what the API server does by them; patches, server-side apply and selectors. It
//! talks to no cluster and knows nothing of stacks.
//!
//! ```
//! use objects::Schema;
//! use serde_json::json;
//!
//! let (schema, flaws) = Schema::read(&json!({
//!     "type": "object",
//!     "properties": { "spec": { "type": "object", "properties": { "creamer": { "type": "string", "default": "none" } } } },
//! }));
//! assert!(flaws.is_empty());
//! let mut breakfast = json!({ "kind": "Breakfast", "spec": { "sugar": 2 } });
//! assert!(schema.admit(&mut breakfast).is_empty());
//! assert_eq!(breakfast, json!({ "kind": "Breakfast", "spec": { "creamer": "none" } }));
//! ```
//!
//! Objects are applied by their shape:
//!
//! ```
//! use objects::apply::{Change, apply};
//! use objects::fields::FieldSet;
//! use objects::shape::Shapes;
//! use serde_json::json;
//!
//! let shapes = Shapes::deduced();
//! let (now, reset) = ("2026-01-01T00:00:00Z", FieldSet::new());
//! let cook = Change { manager: "cook", version: "v1", subresource: "", now, shape: shapes.root(), reset: &reset };
//! let breakfast = json!({ "apiVersion": "v1", "kind": "Breakfast", "spec": { "sugar": 2 } });
//! let served = apply(None, &breakfast, &cook, false)?.object;
//!
//! let guest = Change { manager: "guest", ..cook };
//! let sweeter = json!({ "apiVersion": "v1", "kind": "Breakfast", "spec": { "sugar": 3 } });
//! let conflict = apply(Some(&served), &sweeter, &guest, false).unwrap_err();
//! assert_eq!(conflict.to_string(), "Apply failed with 1 conflict: conflict with \"cook\": .spec.sugar");
//! # Ok::<(), objects::apply::ApplyError>(())
//! ```

pub mod apply;
mod builtin;
pub mod check;
pub mod fields;
mod go;
mod gvk;
pub mod name;
pub mod patch;
mod path;
mod resource;
mod schema;
pub mod selector;
pub mod shape;
mod suggest;
pub mod typed;

pub use builtin::{Builtin, builtin, builtin_kind, builtins};
pub use gvk::{ApiVersion, Gvk};
pub use name::is_subdomain;
pub use path::{Path, Step};
pub use resource::{Key, Resource};
pub use schema::{
    Additional, Bounds, BrokenRule, Evaluation, Flaw, Invalid, Lookup, Missing, Pattern, RuleFault,
    Rules, Schema, Type, object_meta, openapi_schema,
};
pub use suggest::nearest;
