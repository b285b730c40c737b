//! A Kubernetes API server for one machine: in the process as a tower service, or over HTTPS on a
//! port. It stores and serves objects as the real one does; it runs nothing, and it knows nothing
//! of stacks.
//!
//! ```
//! # async fn demo() -> Result<(), Box<dyn std::error::Error>> {
//! use apiserver::{Options, Server, User};
//!
//! let server = Server::start(Options::default()).await?;
//! let _service = server.in_process_service(Some(User::admin())); // for `kube::Client::new`
//! server.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod admission;
mod authn;
mod authz;
mod clock;
mod codec;
mod controllers;
mod defaults;
mod handlers;
mod metrics;
mod pipeline;
mod printers;
mod random;
mod recorded;
pub mod registry;
mod request;
mod server;
pub mod storage;
mod testing;
mod transport;
mod validation;

pub use authn::user::User;
pub use handlers::aggregated::{Answer, Call, Extension};
pub use handlers::status::{ApiError, Cause, Details};
pub use request::info::{Attributes, Verb};
pub use server::{Options, Server, StartError};
pub use testing::fault_injection::{Fault, FaultPlan, Filter, Gate, Trouble};
pub use testing::request_log::RequestRecord;
pub use transport::listener::Listener;
pub use transport::request_body::Limits;
pub use transport::response_body::Body;
pub use transport::service::{InProcessService, Lost};
