//! Templates with parameters: objects with references to values, in the dialect of parentheses
//! (`$(NAME)`, `$((NAME))`) or that of OpenShift (`${NAME}`, `${{NAME}}`). Everything happens on
//! the parsed tree, so that no value can add structure; random numbers come in from outside, and
//! nothing is created.
//!
//! ```
//! use serde_json::json;
//! use templates::{Given, process};
//!
//! let template = json!({
//!     "apiVersion": "v1", "kind": "Template",
//!     "objects": [{"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": "$((COUNT))"}}],
//!     "parameters": [{"name": "COUNT", "value": "2"}],
//! });
//! let processed = process(template, &Given::default(), &mut || Ok(4)).unwrap();
//! assert_eq!(processed.into_list()["items"][0]["spec"]["replicas"], json!(2));
//! ```

mod arguments;
mod check;
mod claim;
mod dialect;
mod dotenv;
mod environment;
mod export;
mod fields;
mod generate;
mod instance;
mod label;
mod parameter;
mod parametrize;
mod pods;
mod problem;
mod process;
mod reference;
mod revise;
mod store;
mod substitute;
mod template;
mod trail;

pub use arguments::{Arguments, Source};
pub use check::check;
pub use claim::Claim;
pub use dialect::Dialect;
pub use dotenv::dotenv;
pub use export::{Cleaned, clean, is_machinery, wrap};
pub use generate::{GenerateError, generate};
pub use instance::{instance_labels, selector_of};
pub use parameter::{Kind, Parameter};
pub use parametrize::{Wish, parametrize};
pub use problem::{Problem, Severity};
pub use process::{Given, Origin, Processed, Used, process};
pub use reference::{Form, Reference, references};
pub use store::to_store;
pub use template::{Template, is_template};

/// Sixty-four random bits, or why there are none. They have to be unpredictable: passwords are made
/// of them.
pub type Random<'r> = &'r mut dyn FnMut() -> Result<u64, String>;
