//! The controllers on a cluster: the embedded API server always, and the real one with `cargo xtask
//! cluster-test`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a scenario may panic, and prints what it measured"
)]

mod actor;
mod attacks_budget;
mod attacks_cluster_stacks;
mod attacks_crds;
mod attacks_credentials;
mod attacks_fairness;
mod attacks_identity;
mod attacks_limits;
mod attacks_ours;
mod attacks_removal;
mod attacks_values;
mod cluster_wide;
mod drift;
mod hand_made;
mod installs;
mod instances;
mod instances_examples;
mod instances_follow;
mod instances_left;
mod instances_pruned;
mod instances_ready;
mod instances_status;
mod instances_sweep;
mod instances_trouble;
mod instances_ways;
mod manager;
mod mishap;
mod permitted;
mod rivals;
mod started;
mod upgrades;

use std::process::ExitCode;

use testkit::{Suite, embedded, scenarios};

fn main() -> ExitCode {
    Suite::on_kubernetes(scenarios![
        installs::an_install_becomes_ready_with_everything_in_place,
        installs::a_package_with_a_deep_schema_becomes_ready_as_soon_as_any_other,
        installs::a_stack_may_do_what_its_kinds_need_and_no_more,
        installs::looking_at_what_is_in_place_costs_no_request,
        installs::an_uninstall_takes_instances_rights_and_types_along,
        installs::two_namespaces_share_a_type,
        installs::people_use_new_types_by_their_persona,
        installs::trouble_is_told_and_heals,
        upgrades::a_bad_upgrade_changes_nothing_and_a_good_one_all,
        upgrades::what_a_package_no_longer_says_of_its_type_is_gone_in_the_same_version_too,
        upgrades::a_type_that_the_server_refuses_is_told_and_changes_nothing,
        upgrades::a_tag_that_moved_is_told_and_not_followed,
        upgrades::an_upgrade_that_drops_a_type_waits_for_its_objects_or_leaves_them_behind,
        drift::every_object_that_was_made_is_put_back,
        drift::a_type_changed_by_hand_is_put_back,
        drift::a_type_that_somebody_made_their_own_holds_up_no_uninstall,
        cluster_wide::a_stack_of_the_whole_cluster_lives_and_goes,
        cluster_wide::a_package_for_the_cluster_is_not_installed_into_a_namespace,
        hand_made::a_stack_by_hand_waits_for_its_type_runs_and_goes,
        hand_made::a_stack_that_is_refused_what_it_runs_by_says_so_and_heals,
        hand_made::a_stack_by_hand_gets_nothing_by_claiming_it,
        rivals::a_second_install_of_a_kind_waits_and_takes_over_what_the_first_leaves,
        rivals::what_another_stack_serves_is_not_deleted_with_a_stack,
        rivals::a_stack_that_may_not_run_is_in_nobodys_way,
        rivals::a_cluster_install_takes_the_place_of_those_of_namespaces_which_resume_after_it,
        rivals::a_takeover_keeps_drawn_values_and_takes_away_what_templates_no_longer_say,
        attacks_crds::no_user_of_a_namespace_changes_the_crd_of_another_install,
        attacks_crds::a_group_that_was_taken_first_is_given_back_by_a_cluster_install,
        attacks_crds::no_stack_of_a_namespace_holds_up_a_cluster_install,
        attacks_identity::a_stacks_account_gets_no_secret_token_or_lease_that_it_did_not_ask_for,
        attacks_identity::a_refused_stack_with_a_finalizer_of_its_users_deletes_nothing,
        attacks_identity::an_object_that_its_user_labels_as_the_managers_is_left_alone,
        attacks_identity::an_account_that_exists_already_is_neither_seized_nor_deleted,
        attacks_identity::a_role_that_exists_already_is_named_in_a_condition_and_not_overwritten,
        attacks_identity::a_planted_seed_is_never_used,
        attacks_identity::a_stack_with_a_long_name_runs_and_goes,
        attacks_identity::what_is_added_to_roles_and_bindings_is_removed,
        attacks_identity::an_edited_stack_of_an_install_gets_no_permissions_by_it,
        attacks_cluster_stacks::a_cluster_stack_has_a_namespace_of_its_own_and_seizes_none,
        attacks_cluster_stacks::a_cluster_stack_that_is_limited_to_namespaces_acts_in_those_alone,
        attacks_ours::no_copy_of_a_child_is_deleted_by_prune_rename_or_teardown,
        attacks_ours::what_stands_where_a_template_renders_is_applied_to_or_reported_and_never_deleted,
        attacks_ours::what_a_backup_tool_restored_is_applied_to_and_not_deleted,
        attacks_ours::leftovers_are_named_in_a_condition_and_nothing_else_happens,
        attacks_ours::no_copy_of_a_child_outside_of_namespaces_is_deleted,
        attacks_ours::an_object_of_another_namespace_is_never_a_child,
        attacks_credentials::no_template_makes_a_secret_with_the_credentials_of_others,
        attacks_credentials::a_seed_that_is_missing_or_damaged_is_never_replaced_without_consent,
        attacks_credentials::a_cluster_stack_reaches_the_namespaces_that_it_is_limited_to_however_they_are_listed,
        attacks_removal::a_stack_that_never_served_a_kind_deletes_none_of_its_objects,
        attacks_removal::what_a_status_claims_is_no_reason_to_delete_anything,
        attacks_removal::objects_of_one_namespace_wake_up_no_stack_of_another,
        attacks_limits::instances_that_make_two_of_themselves_end_at_the_depth,
        attacks_limits::chains_of_instances_end_at_the_depth_whatever_ties_them,
        attacks_limits::growth_ends_at_the_number_of_instances_whatever_their_depth_says,
        attacks_limits::the_oldest_instances_are_served_and_others_when_there_is_room,
        instances_follow::a_stack_that_does_not_compile_is_not_ready_and_warns,
        instances_follow::a_crd_that_changes_under_a_stack_by_hand_is_followed_at_once,
        instances_follow::a_status_that_comes_out_empty_is_cleared,
        instances_follow::the_first_status_is_no_reason_to_look_again,
        instances_follow::fields_taken_inside_a_map_of_objects_are_put_back,
        attacks_fairness::fifty_installs_that_hang_on_slow_registries_hold_up_nobody_else,
        attacks_fairness::templates_that_cost_too_much_get_a_verdict_and_hold_up_nobody_else,
        attacks_fairness::packages_that_wait_to_be_unpacked_are_as_few_as_pulls_of_a_namespace,
        attacks_fairness::a_costly_package_costs_the_same_however_many_install_it,
        attacks_fairness::a_wrong_tag_breaks_no_other_tenants_install_of_the_same_image,
        instances::an_instance_becomes_ready_with_six_calls_and_stays_so_with_none,
        instances::a_child_that_drifts_is_put_back_and_what_others_added_stays,
        instances::an_object_of_somebody_else_is_never_seized,
        instances::a_stack_changes_live_and_a_bad_one_changes_nothing,
        instances::an_instance_goes_after_its_children_in_reverse_order,
        instances::an_instance_that_no_longer_renders_can_be_deleted,
        instances_ready::an_instance_is_ready_once_its_workload_is_and_replicas_cost_no_writes,
        instances_examples::every_example_converges_and_goes,
        instances_examples::plus_one_grows_once_per_resync,
        started::what_a_new_stack_begins_with_becomes_ready,
        started::what_manifests_become_is_taken_by_the_server,
        attacks_budget::an_instance_over_budget_says_so_and_others_of_its_stack_go_on,
        attacks_budget::a_stack_over_budget_says_so_and_what_it_made_stays,
        attacks_budget::costly_instances_of_one_namespace_hold_up_no_other_of_the_same_stack,
        instances_trouble::a_bad_edit_leaves_two_hundred_instances_as_they_were,
        instances_trouble::a_child_refused_by_validation_is_told_and_heals,
        instances_pruned::what_is_to_go_goes_while_another_child_is_refused,
        instances_pruned::what_a_refused_child_may_still_need_stays_and_is_told,
        instances_status::a_status_changed_by_hand_is_put_back_and_that_of_others_costs_nothing,
        instances_trouble::a_kind_that_may_not_be_watched_is_told_and_heals,
        instances_trouble::a_child_refused_by_rights_is_told_and_heals,
        instances_ways::a_kind_that_does_not_exist_yet_is_waited_for,
        instances_trouble::a_status_that_outgrows_the_object_ends_in_a_clear_error,
        instances_ways::a_new_field_with_a_default_is_never_missing,
        instances_ways::a_status_field_that_a_new_image_brings_is_written,
        instances_ways::a_kind_that_loses_its_templates_loses_what_they_made,
        instances_ways::a_paused_instance_is_left_alone,
        instances_ways::a_child_with_the_policy_orphan_stays,
        instances_left::an_instance_deleted_without_its_children_leaves_them_and_a_new_one_takes_them_up,
        instances_left::children_let_go_while_nobody_looked_stay,
        instances_ways::an_instance_of_the_whole_cluster_has_children_in_namespaces_and_outside,
        instances_ways::stacks_make_instances_of_other_stacks_and_all_of_it_goes,
        attacks_values::a_value_of_an_instance_adds_nothing_to_the_objects_made_of_it,
        attacks_values::generated_values_are_in_nothing_that_is_said,
    ])
    .also_on("embedded", embedded)
    .with_only("kubernetes", scenarios![instances_trouble::a_child_refused_by_a_policy_is_told_and_heals])
    .with_only(
        "embedded",
        scenarios![
            attacks_identity::a_seed_that_is_lost_is_told_and_never_replaced_without_consent,
            instances_trouble::a_child_refused_by_a_played_policy_is_told_and_heals,
            instances_ways::watches_that_break_off_or_come_too_late_lose_nothing,
            instances_sweep::whatever_write_fails_an_instance_ends_the_same,
            instances_sweep::whatever_answer_is_lost_an_instance_ends_the_same,
            instances_sweep::wherever_its_manager_dies_an_instance_ends_the_same,
            instances_sweep::whatever_read_is_stale_an_instance_ends_the_same,
        ],
    )
    .main()
}
