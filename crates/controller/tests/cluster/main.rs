//! The controllers on a cluster: the embedded API server always, and the real one with `cargo xtask cluster-test`.
#![allow(clippy::unwrap_used, reason = "a scenario may panic")]

mod actor;
mod cluster_wide;
mod drift;
mod hand_made;
mod installs;
mod instances;
mod instances_examples;
mod instances_sweep;
mod manager;
mod mishap;
mod started;
mod upgrades;

use std::process::ExitCode;

use testkit::{Suite, embedded, scenarios};

fn main() -> ExitCode {
    Suite::on_kubernetes(scenarios![
        installs::an_install_becomes_ready_with_everything_in_place,
        installs::a_stack_may_do_what_its_kinds_need_and_no_more,
        installs::looking_at_what_is_in_place_costs_no_request,
        installs::an_uninstall_takes_instances_rights_and_types_along,
        installs::two_namespaces_share_a_type,
        installs::people_use_new_types_by_their_persona,
        installs::trouble_is_told_and_heals,
        upgrades::a_bad_upgrade_changes_nothing_and_a_good_one_all,
        upgrades::a_tag_that_moved_is_told_and_not_followed,
        upgrades::a_type_that_an_upgrade_drops_stays_while_it_has_objects,
        drift::every_object_that_was_made_is_put_back,
        cluster_wide::a_stack_of_the_whole_cluster_lives_and_goes,
        cluster_wide::a_package_for_the_cluster_is_not_installed_into_a_namespace,
        hand_made::a_stack_by_hand_waits_for_its_type_runs_and_goes,
        hand_made::a_stack_by_hand_gets_nothing_by_claiming_it,
        instances::an_instance_becomes_ready_with_six_calls_and_stays_so_with_none,
        instances::a_child_that_drifts_is_put_back_and_what_others_added_stays,
        instances::an_object_of_somebody_else_is_never_seized,
        instances::a_stack_changes_live_and_a_bad_one_changes_nothing,
        instances::an_instance_goes_after_its_children_in_reverse_order,
        instances::an_instance_that_no_longer_renders_can_be_deleted,
        instances_examples::every_example_converges_and_goes,
        instances_examples::plus_one_grows_once_per_resync,
        started::what_a_new_stack_begins_with_becomes_ready,
        started::what_manifests_become_is_taken_by_the_server,
    ])
    .also_on("embedded", embedded)
    .with_only(
        "embedded",
        scenarios![
            instances_sweep::whatever_write_fails_an_instance_ends_the_same,
            instances_sweep::whatever_answer_is_lost_an_instance_ends_the_same,
            instances_sweep::wherever_its_manager_dies_an_instance_ends_the_same,
        ],
    )
    .main()
}
