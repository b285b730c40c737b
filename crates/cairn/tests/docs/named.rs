//! What the pages name exists, and what exists and has to be named is: metrics, tests, parts of the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::root;

/// Tests that come with changes on their way: the page names them already.
const AWAITED: &[&str] = &[
    "a_digest_is_no_permission_to_have_a_private_package",
    "a_group_that_was_taken_first_is_given_back_by_a_cluster_install",
    "a_planted_seed_is_never_used",
    "a_pull_secret_runs_no_program",
    "a_refused_stack_with_a_finalizer_of_its_users_deletes_nothing",
    "a_registry_does_not_send_the_client_to_other_machines_of_the_private_network",
    "a_role_that_exists_already_is_named_in_a_condition_and_not_overwritten",
    "a_stacks_account_gets_no_secret_token_or_lease_that_it_did_not_ask_for",
    "a_tenant_gets_no_private_package_runs_no_program_and_has_no_more_than_its_limits",
    "a_token_that_no_header_can_hold_is_refused_and_not_taken_for_none",
    "a_value_of_an_instance_adds_nothing_to_the_objects_made_of_it",
    "a_wrong_tag_breaks_no_other_tenants_install_of_the_same_image",
    "an_account_that_exists_already_is_neither_seized_nor_deleted",
    "an_edited_stack_of_an_install_gets_no_permissions_by_it",
    "an_instance_that_costs_too_much_keeps_what_it_has_and_says_why",
    "an_object_of_another_namespace_is_never_a_child",
    "an_object_that_its_user_labels_as_the_managers_is_left_alone",
    "fifty_installs_that_hang_on_slow_registries_hold_up_nobody_else",
    "generated_values_are_in_nothing_that_is_said",
    "instances_that_make_two_of_themselves_end_at_the_depth",
    "it_ends_while_a_template_without_end_is_compiled_or_rendered",
    "no_copy_of_a_child_is_deleted_by_prune_rename_or_teardown",
    "no_stack_of_a_namespace_holds_up_a_cluster_install",
    "no_user_of_a_namespace_changes_the_crd_of_another_install",
    "nothing_of_an_answers_body_is_in_an_error",
    "the_stacks_of_the_review_do_not_compile_and_say_why",
    "what_is_added_to_roles_and_bindings_is_removed",
    "what_stands_where_a_template_renders_is_applied_to_or_reported_and_never_deleted",
    "whatever_a_function_is_given_in_a_loop_takes_no_longer_than_its_budget_allows",
    "work_ends_by_its_budget_while_others_go_on",
];

/// All Rust files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    found
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect("a page")
}

/// The words of a text that consist of these characters and begin so.
fn words(text: &str, beginning: &str) -> BTreeSet<String> {
    let part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = text.split(|letter| !part(letter)).filter(|word| word.starts_with(beginning));
    words.map(str::to_owned).collect()
}

/// What is in double quotes in a source.
fn literals(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

#[test]
fn every_metric_is_documented_and_every_documented_one_is_a_metric() {
    let mut named = BTreeSet::new();
    for file in files(&root().join("crates")) {
        let is_source = file.components().any(|part| part.as_os_str() == "src");
        let text = fs::read_to_string(&file).expect("a source");
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let metrics = literals(text).filter(|name| name.starts_with("cairn_") && words(name, "cairn_").len() == 1);
        named.extend(metrics.filter(|name| is_source && *name != "cairn_").map(str::to_owned));
    }
    assert!(named.len() >= 9, "{named:?}");
    let table: String = page("docs/operations.md").lines().filter(|line| line.starts_with("| `cairn_")).collect();
    assert_eq!(words(&table, "cairn_"), named, "the table of metrics in docs/operations.md and the sources");
}

#[test]
fn every_test_that_the_security_page_names_exists() {
    let page = page("docs/security.md");
    let rows =
        page.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---") && !line.contains("| held by |"));
    let mut tests = BTreeSet::new();
    for file in files(&root().join("crates")) {
        let text = fs::read_to_string(&file).expect("a source");
        tests.extend(text.lines().filter_map(|line| {
            let name = line.trim_start().trim_start_matches("pub ").trim_start_matches("async ").strip_prefix("fn ")?;
            Some(name.split('(').next()?.to_owned())
        }));
    }
    let mut count = 0;
    for row in rows {
        let held = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        let names: Vec<&str> = held.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test holds this: {row}");
        for name in names {
            count += 1;
            assert!(tests.contains(name) || AWAITED.contains(&name), "there is no test {name}");
        }
    }
    assert!(count >= 40, "only {count} tests are named");
}

/// `crate::name` of a page, where `crate` is one of ours.
fn paths(text: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for word in text.split(|letter: char| !(letter.is_ascii_alphanumeric() || "_:".contains(letter))) {
        let mut parts = word.split("::");
        if let (Some(first), Some(second)) = (parts.next(), parts.next())
            && !second.is_empty()
            && root().join("crates").join(first).is_dir()
        {
            found.insert((first.to_owned(), second.to_owned()));
        }
    }
    found
}

#[test]
fn every_part_that_the_architecture_names_exists() {
    let named = paths(&page("ARCHITECTURE.md"));
    assert!(named.len() >= 8, "{named:?}");
    for (owner, name) in named {
        let source = root().join("crates").join(&owner).join("src");
        let module = source.join(format!("{name}.rs")).exists() || source.join(&name).is_dir();
        let declares = |text: &str| {
            ["fn", "struct", "enum", "trait", "type"].iter().any(|kind| {
                let start = format!("pub {kind} {name}");
                text.match_indices(&start).any(|(at, _)| {
                    !text[at + start.len()..].starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_')
                })
            })
        };
        let item = || files(&source).iter().any(|file| declares(&fs::read_to_string(file).expect("a source")));
        assert!(module || item(), "ARCHITECTURE.md names {owner}::{name}, which does not exist");
    }
}
