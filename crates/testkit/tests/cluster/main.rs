//! The scenarios of the testkit itself: that a cluster is what the other suites take it for.
//! They run on the embedded API server, and by `cargo xtask cluster-test` on a real cluster too.

mod audit;
mod controllers;
mod custom_resources;
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
