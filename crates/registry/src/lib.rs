//! Talks to OCI registries: which image a tag means, what is in it, and putting one there. It keeps what it pulled by
//! digest, believes nothing that does not match its digest, and knows nothing of clusters.

mod auth;
mod client;
mod credentials;
mod error;
mod http;
mod pull;
mod push;
mod store;

pub use client::{Client, Options, Progress};
pub use credentials::{Credential, Credentials};
pub use error::Error;
pub use pull::{Pulled, Resolved};
pub use push::Pushed;
pub use store::Store;
