//! What can be typed of a controller while it runs: where it answers, whether it waits for its
//! turn, and its log.

use std::net::SocketAddr;

use clap::Args;

/// How a controller runs.
#[derive(Args, Debug)]
pub(crate) struct Serving {
    /// Where to answer /healthz, /readyz and /metrics
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// Work only while holding a Lease in the namespace, so that several can run
    #[arg(long)]
    pub leader_elect: bool,

    /// How long a Lease holds whose holder is silent, before another takes it
    #[arg(long, value_name = "SECONDS", default_value = "15", value_parser = clap::value_parser!(u32).range(3..))]
    pub lease_duration: u32,

    #[command(flatten)]
    pub log: Log,
}

/// How a log is written.
#[derive(Args, Debug)]
pub(crate) struct Log {
    /// Write the log as JSON
    #[arg(long)]
    pub log_json: bool,
}
