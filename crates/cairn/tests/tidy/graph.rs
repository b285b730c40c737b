//! Rules about who uses whom, from what cargo itself says of the workspace.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use serde_json::Value;

use crate::{
    assert_complains, assert_none,
    policy::{HARMLESS, IO, JOINT, JSON_FEATURES, PURE, SHELLS, TESTKIT, XTASK},
    root,
};

/// The workspace: each member with the crates it names, and whether only for its tests.
#[derive(Default)]
struct Workspace {
    members: BTreeMap<String, Vec<(String, bool)>>,
    json_features: BTreeSet<String>,
}

impl Workspace {
    fn read() -> Self {
        let metadata = cargo(&[
            "metadata",
            "--format-version=1",
            "--filter-platform",
            &host(),
        ]);
        let metadata: Value = serde_json::from_str(&metadata).expect("cargo metadata is JSON");
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let members: BTreeSet<String> = list(&metadata["workspace_members"])
            .iter()
            .map(text)
            .collect();
        let mut workspace = Self::default();
        let mut names = BTreeMap::new();
        for package in list(&metadata["packages"]) {
            let (id, name) = (text(&package["id"]), text(&package["name"]));
            if members.contains(&id) {
                let uses = list(&package["dependencies"]);
                let uses = uses
                    .iter()
                    .map(|used| (text(&used["name"]), used["kind"] == "dev"))
                    .collect();
                workspace.members.insert(name.clone(), uses);
            }
            names.insert(id, name);
        }
        for node in list(&metadata["resolve"]["nodes"]) {
            if names
                .get(&text(&node["id"]))
                .is_some_and(|name| name == "serde_json")
            {
                workspace
                    .json_features
                    .extend(list(&node["features"]).iter().map(text));
            }
        }
        workspace
    }
}

/// What cargo says, without the network if it can: only who tests one crate alone may lack
/// another's dependencies.
fn cargo(args: &[&str]) -> String {
    let ask = |more: &[&str]| {
        Command::new(env!("CARGO"))
            .args(args)
            .args(more)
            .current_dir(root())
            .output()
            .expect("cargo runs")
    };
    let mut output = ask(&["--offline"]);
    if !output.status.success() {
        output = ask(&[]);
    }
    assert!(
        output.status.success(),
        "cargo {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("cargo speaks UTF-8")
}

/// The platform this runs on: crates for others need not have been fetched.
fn host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().expect("rustc runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.lines()
        .find_map(|line| line.strip_prefix("host: "))
        .expect("rustc names its host")
        .to_owned()
}

/// Every crate that a crate reaches, with the features it has when built for that crate alone.
fn reached(name: &str) -> BTreeSet<String> {
    let tree = cargo(&[
        "tree", "-p", name, "-e", "normal", "--prefix", "none", "--format", "{p}",
    ]);
    tree.lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

fn every_crate_has_a_place(workspace: &Workspace) -> Vec<String> {
    let known = |name: &&String| {
        let name = name.as_str();
        [JOINT, TESTKIT, XTASK].contains(&name)
            || SHELLS.contains(&name)
            || PURE.iter().any(|pure| pure.name == name)
    };
    let unknown = workspace.members.keys().filter(|name| !known(name));
    unknown
        .map(|name| format!("{name} is neither pure nor a shell: give it a place in the policy"))
        .collect()
}

fn pure_crates_name_only_what_they_may(workspace: &Workspace) -> Vec<String> {
    let mut complaints = Vec::new();
    for pure in &PURE {
        for (used, dev) in workspace.members.get(pure.name).into_iter().flatten() {
            let lower = PURE
                .iter()
                .any(|other| other.name == used && other.level < pure.level);
            if !dev && !lower && !pure.dependencies.contains(&used.as_str()) {
                complaints.push(format!("{} is pure and may not use {used}", pure.name));
            }
        }
    }
    complaints
}

fn a_pure_crate_reaches_no_io(name: &str, reached: &BTreeSet<String>) -> Vec<String> {
    let harmless = |found: &str| {
        HARMLESS
            .iter()
            .any(|(pure, what, _)| *pure == name && *what == found)
    };
    let found = IO
        .iter()
        .filter(|io| reached.contains(**io) && !harmless(io));
    found
        .map(|io| format!("{name} is pure, but reaches {io}: see `cargo tree -p {name} -i {io}`"))
        .collect()
}

fn shells_do_not_use_shells(workspace: &Workspace) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, uses) in &workspace.members {
        for (used, dev) in uses {
            let shells = SHELLS.contains(&name.as_str()) && SHELLS.contains(&used.as_str());
            if shells || used == JOINT || used == XTASK {
                complaints.push(format!(
                    "{name} may not use {used}: shells meet in {JOINT} alone"
                ));
            }
            if used == TESTKIT && !dev {
                complaints.push(format!("{name} may use {used} in its tests only"));
            }
        }
    }
    complaints
}

fn json_is_read_plainly(workspace: &Workspace) -> Vec<String> {
    let found = JSON_FEATURES
        .iter()
        .filter(|feature| workspace.json_features.contains(**feature));
    found
        .map(|feature| format!("something turns on serde_json's {feature}: see `cargo tree -i serde_json -e features`"))
        .collect()
}

#[test]
fn the_workspace_keeps_the_rules_of_dependency() {
    let workspace = Workspace::read();
    assert!(
        workspace.members.contains_key(JOINT) && !workspace.json_features.is_empty(),
        "the facts were read"
    );
    let mut complaints = every_crate_has_a_place(&workspace);
    complaints.extend(pure_crates_name_only_what_they_may(&workspace));
    complaints.extend(shells_do_not_use_shells(&workspace));
    complaints.extend(json_is_read_plainly(&workspace));
    for pure in PURE
        .iter()
        .filter(|pure| workspace.members.contains_key(pure.name))
    {
        let reached = reached(pure.name);
        assert!(
            reached.contains(pure.name),
            "the tree of {} was read",
            pure.name
        );
        complaints.extend(a_pure_crate_reaches_no_io(pure.name, &reached));
    }
    assert_none(&complaints);
}

/// A workspace of one crate that names another.
fn using(name: &str, used: &str, dev: bool) -> Workspace {
    let members = BTreeMap::from([(name.to_owned(), vec![(used.to_owned(), dev)])]);
    Workspace {
        members,
        json_features: BTreeSet::new(),
    }
}

#[test]
fn a_crate_without_a_place_is_noticed() {
    assert_complains(
        &every_crate_has_a_place(&using("attic", "yaml", false)),
        "attic is neither",
    );
    assert_none(&every_crate_has_a_place(&using(
        "yaml",
        "serde_json",
        false,
    )));
}

#[test]
fn a_pure_crate_with_a_new_dependency_is_noticed() {
    for used in ["tokio", "cairn", "engine", "gotpl"] {
        assert_complains(
            &pure_crates_name_only_what_they_may(&using("gotpl", used, false)),
            used,
        );
    }
    assert_none(&pure_crates_name_only_what_they_may(&using(
        "gotpl", "tokio", true,
    )));
    assert_none(&pure_crates_name_only_what_they_may(&using(
        "gotpl", "yaml", false,
    )));
}

#[test]
fn a_pure_crate_that_reaches_io_is_noticed() {
    let tree = |names: &[&str]| {
        names
            .iter()
            .map(|&name| name.to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_complains(
        &a_pure_crate_reaches_no_io("api", &tree(&["api", "kube", "mio"])),
        "reaches mio",
    );
    assert_none(&a_pure_crate_reaches_no_io(
        "api",
        &tree(&["api", "kube", "kube-core"]),
    ));
    assert!(
        reached(TESTKIT).contains("tokio"),
        "what is reached through others is seen"
    );
}

#[test]
fn a_shell_that_uses_a_shell_is_noticed() {
    for (name, used, dev) in [
        ("web", "controller", false),
        ("web", "apiserver", true),
        ("web", "cairn", true),
        ("cairn", "testkit", false),
    ] {
        assert_complains(&shells_do_not_use_shells(&using(name, used, dev)), used);
    }
    for (name, used, dev) in [
        ("cairn", "web", false),
        ("web", "testkit", true),
        ("web", "engine", false),
    ] {
        assert_none(&shells_do_not_use_shells(&using(name, used, dev)));
    }
}

#[test]
fn a_feature_that_changes_json_is_noticed() {
    let with = |feature: &str| Workspace {
        json_features: BTreeSet::from([feature.to_owned()]),
        ..Workspace::default()
    };
    assert_complains(
        &json_is_read_plainly(&with("preserve_order")),
        "preserve_order",
    );
    assert_none(&json_is_read_plainly(&with("raw_value")));
}
