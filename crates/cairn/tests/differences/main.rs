//! `cairn diff` on clusters that nobody else manages, the embedded API server always and the real
//! one with `cargo xtask cluster-test`; and `cairn up` as the real kubectl sees it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a scenario may panic"
)]

mod diff;
mod kubectl;
#[path = "../support/running.rs"]
mod running;
mod shared;
#[path = "../support/mod.rs"]
mod support;

use std::process::ExitCode;

use testkit::{Suite, embedded, scenarios};

fn main() -> ExitCode {
    Suite::on_kubernetes(scenarios![
        diff::what_would_change_is_told_and_nothing_is_changed,
        diff::what_is_not_installed_is_all_new,
        shared::what_a_change_of_a_shared_crd_does_to_whom_is_told,
        shared::what_is_not_the_installs_to_change_is_rejected_as_the_stack_manager_would,
    ])
    .also_on("embedded", embedded)
    // It brings its own control plane, and is here since kubectl is built beside the real one.
    .with_only(
        "kubernetes",
        scenarios![kubectl::a_person_with_kubectl_uses_a_control_plane_of_their_own],
    )
    .main()
}
