//! The `cairn` program on a cluster: the embedded API server always, and the real one with `cargo
//! xtask cluster-test`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a scenario may panic, and prints what it measured"
)]

mod attacks_local;
mod attacks_registry;
mod elections;
mod noninterference;
mod processes;
#[path = "../support/registry.rs"]
mod registry;
mod templates;

use std::process::ExitCode;

use testkit::{Suite, embedded, scenarios};

fn main() -> ExitCode {
    Suite::on_kubernetes(scenarios![
        attacks_local::what_a_local_user_plants_in_the_temporary_directory_never_runs_as_root,
        attacks_registry::a_tenant_gets_no_private_package_runs_no_program_and_has_no_more_than_its_limits,
        attacks_registry::instances_beyond_the_limit_of_a_namespace_wait_until_there_is_room,
        noninterference::a_victim_is_served_alike_with_and_without_an_attacker,
        elections::of_several_managers_one_works_and_another_takes_over,
        processes::a_stack_runs_as_a_process_with_its_own_rights_and_ends_with_its_manager,
        templates::a_library_is_stored_and_used_from_another_namespace,
        templates::a_stored_template_becomes_an_instance_and_goes,
        templates::what_cannot_be_applied_is_told_before_anything_is,
        templates::what_others_made_is_told_before_anything_is_written_and_stays_as_it_is,
    ])
    .also_on("embedded", embedded)
    .with_only("kubernetes", scenarios![templates::the_template_server_is_a_program_that_registers_itself])
    .main()
}
