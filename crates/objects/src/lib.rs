//! Kubernetes objects as values: field paths, kinds, names that were nearly right, and structural schemas with what the
//! API server does by them. It talks to no cluster and knows nothing of stacks.
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

pub mod apply;
mod builtin;
pub mod check;
pub mod fields;
mod go;
mod gvk;
pub mod name;
pub mod patch;
mod path;
mod schema;
pub mod selector;
pub mod shape;
mod suggest;
pub mod typed;

pub use builtin::{Builtin, builtin, builtin_kind, builtins};
pub use gvk::{ApiVersion, Gvk};
pub use name::is_subdomain;
pub use path::{Path, Step};
pub use schema::{Additional, Bounds, Flaw, Invalid, Lookup, Missing, Pattern, Schema, Type, object_meta};
pub use suggest::nearest;
