//! A Kubernetes API server for one machine: in the process as a tower service, or over HTTPS on a port. It stores and
//! serves objects as the real one does; it runs nothing, and it knows nothing of stacks.
//!
//! ```
//! # async fn demo() -> Result<(), Box<dyn std::error::Error>> {
//! use apiserver::{Options, Server, User};
//!
//! let server = Server::start(Options::default()).await?;
//! let _service = server.door(Some(User::admin())); // for `kube::Client::new`
//! server.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod auth;
mod bodies;
mod body;
mod builtin;
mod captured;
mod clock;
mod discovery;
mod door;
mod extension;
mod faults;
mod inside;
pub mod kinds;
mod listener;
mod metrics;
mod negotiate;
mod openapi;
mod random;
mod record;
mod request;
mod respond;
mod serve;
mod server;
mod status;
pub mod store;
mod strategy;
mod table;
mod user;
mod verbs;
mod warnings;
mod watching;
mod wire;

pub use bodies::Limits;
pub use body::Body;
pub use door::{Door, Lost};
pub use extension::{Answer, Call, Extension};
pub use faults::{Fault, FaultPlan, Filter, Gate, Trouble};
pub use listener::Listener;
pub use record::RequestRecord;
pub use request::{Attributes, Verb};
pub use server::{Options, Server, StartError};
pub use status::{ApiError, Cause, Details};
pub use user::User;
