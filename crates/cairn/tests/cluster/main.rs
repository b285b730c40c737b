//! The `cairn` program on a cluster: the embedded API server always, and the real one with `cargo xtask cluster-test`.
#![allow(clippy::unwrap_used, reason = "a scenario may panic")]

mod processes;
mod shelf;

use std::process::ExitCode;

use testkit::{Suite, embedded, scenarios};

fn main() -> ExitCode {
    Suite::on_kubernetes(scenarios![processes::a_stack_runs_as_a_process_with_its_own_rights_and_ends_with_its_manager])
        .also_on("embedded", embedded)
        .main()
}
