//! The scenarios of the testkit itself: that a cluster is what the other suites take it for.
//! They run on the embedded API server, and by `cargo xtask cluster-test` on a real cluster too.

mod audit;
mod controllers;
mod custom_resources;
mod guard;
mod real;
mod subjects;

use std::process::ExitCode;

use testkit::{Suite, scenarios};

fn main() -> ExitCode {
    Suite::on_kubernetes(scenarios![
        audit::requests_are_counted_by_verb_resource_subresource_and_user,
        audit::refused_and_conflicting_requests_are_on_record_with_their_codes,
        audit::a_watch_counts_while_it_is_open,
        controllers::cluster_roles_are_aggregated,
        controllers::deleting_a_namespace_deletes_what_is_in_it,
        custom_resources::live_from_definition_to_cascading_deletion,
        custom_resources::a_foreground_deletion_waits_for_the_dependents,
        custom_resources::what_the_schema_forbids_is_refused,
        guard::rights::a_refusal_says_who_cannot_do_what_where,
        guard::rights::rules_reach_subresources_names_and_selected_names,
        guard::rights::nobody_grants_more_than_they_have,
        guard::rights::bad_roles_and_bindings_are_refused,
        guard::rights::only_those_who_may_act_as_others,
        guard::rights::reviews_tell_who_may_do_what,
        guard::rights::the_first_roles_are_those_of_kubernetes,
        guard::tokens::a_token_is_good_for_its_audience_while_its_account_and_its_secret_are_there,
        guard::tokens::a_secret_holds_the_token_of_its_account_and_goes_with_it,
        guard::owners::what_is_owned_goes_with_its_last_owner,
        guard::owners::in_the_foreground_owners_wait_even_in_a_circle,
        guard::owners::scopes_decide_who_can_own_whom,
        guard::namespaces::a_namespace_goes_once_nothing_is_left_in_it,
        guard::namespaces::a_namespace_is_kept_by_whoever_finalizes_it,
        guard::namespaces::every_namespace_keeps_its_account_and_its_certificate,
        subjects::a_user_may_do_what_its_group_is_granted_and_no_more,
        subjects::a_service_account_may_do_what_its_role_grants_and_no_more,
        subjects::without_good_credentials_nobody_is_let_in,
        subjects::tests_do_not_see_each_others_scenes,
    ])
    .also_on("embedded", testkit::embedded)
    .with_only(
        "kubernetes",
        scenarios![
            controllers::a_deployment_gets_its_replica_set_and_pods,
            controllers::a_job_gets_its_pod,
            real::the_server_says_the_pinned_version,
            real::kubectl_works_with_the_kubeconfig,
            real::a_taken_port_is_no_obstacle,
            real::a_killed_owner_leaves_no_process_and_no_file,
        ],
    )
    .main()
}
