//! Talks to OCI registries: which image a tag means, what is in it, and putting one there. It keeps
//! what it pulled by registry, repository, credential and digest, believes nothing that does not
//! match its digest, goes nowhere that the operator has not allowed, and knows nothing of clusters.

mod auth;
mod client;
mod connect;
mod credentials;
mod error;
mod hosts;
mod http;
mod proxy;
mod pull;
mod push;
mod reach;
mod retry;
mod store;

pub use client::{Client, LAYER_BYTES, Options, PULL_TIMEOUT, Progress};
pub use credentials::{Credential, Credentials};
pub use error::Error;
pub use hosts::HostPattern;
pub use proxy::Proxies;
pub use pull::{Downloaded, Pulled, Resolved};
pub use push::Pushed;
pub use reach::Reach;
pub use store::{STORE_BYTES, Store};
