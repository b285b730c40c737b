//! Templates processed by a cluster: built into the embedded API server, and aggregated beside the
//! real one.
#![allow(clippy::unwrap_used, reason = "a scenario may panic")]

mod home;
mod kubectl;
mod processing;

use std::process::ExitCode;

use testkit::{Suite, scenarios};

fn main() -> ExitCode {
    Suite::on_kubernetes(scenarios![
        processing::a_template_that_is_posted_comes_back_filled_in,
        processing::a_stored_template_takes_values_alone,
        processing::what_is_wrong_is_refused_with_its_place,
        processing::nobody_processes_without_the_right_to,
        processing::the_group_is_discovered_with_its_types,
        kubectl::kubectl_processes_and_lists_templates,
    ])
    .also_on("embedded", home::embedded)
    .main()
}
