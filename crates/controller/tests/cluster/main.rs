//! The controllers on a cluster: the embedded API server always, and the real one with `cargo xtask cluster-test`.
#![allow(clippy::unwrap_used, reason = "a scenario may panic")]

mod installs;
mod manager;

use std::process::ExitCode;

use testkit::{Suite, embedded, scenarios};

fn main() -> ExitCode {
    Suite::on_kubernetes(scenarios![
        installs::an_install_becomes_ready_with_everything_in_place,
        installs::a_stack_may_do_what_its_kinds_need_and_no_more,
        installs::what_drifts_is_put_back,
        installs::looking_at_what_is_in_place_costs_no_request,
        installs::an_uninstall_takes_instances_rights_and_types_along,
        installs::two_namespaces_share_a_type,
        installs::a_bad_upgrade_changes_nothing_and_a_good_one_all,
        installs::people_use_new_types_by_their_persona,
        installs::trouble_is_told_and_heals,
    ])
    .also_on("embedded", embedded)
    .main()
}
