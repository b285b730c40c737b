//! Templates processed over HTTP: the API group `processing.stacks.crossplane.io`, whose answers
//! are the same inside of the embedded API server and as an aggregated server beside a real one. It
//! stores and creates nothing.

mod authority;
mod caller;
mod discovery;
mod permission;
mod processing;
mod registration;
mod server;
mod status;

pub use authority::{Authority, AuthorityError};
pub use discovery::{openapi, resources};
pub use processing::{Question, answer};
pub use registration::{Place, Registration};
pub use server::{Options, Server, StartError};

/// A code of HTTP's and the object to answer with.
pub type Answer = (u16, serde_json::Value);
