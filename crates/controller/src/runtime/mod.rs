//! The controller runtime: the API client, informers, the work queue, worker pools, leader
//! election, metrics and health.

pub(crate) mod client;
pub(crate) mod fair_lanes;
pub(crate) mod health;
pub(crate) mod informer;
pub(crate) mod leader;
pub(crate) mod metrics;
pub(crate) mod raw_object;
pub(crate) mod work_queue;
pub(crate) mod worker_pool;
