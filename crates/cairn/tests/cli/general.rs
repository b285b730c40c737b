//! What holds for all verbs: help, version, completions, and command lines that make no sense.

use std::process::Stdio;

use crate::{Outcome, cairn, fed};

#[test]
fn help_is_a_result_and_names_every_verb_with_examples_where_they_help() {
    for (args, parts) in [
        (
            &["--help"][..],
            &["Usage: cairn", "demo", "eval", "completions"][..],
        ),
        (
            &["help", "eval"],
            &[
                "--missing-key",
                "--jsonl",
                "Examples:",
                "cairn eval -t page.tpl -d values.yaml",
            ],
        ),
        (&["eval", "--help"], &["Examples:", "--reads"]),
        (&["demo", "-h"], &["--exit"]),
        (&["--version"], &["cairn 0."]),
    ] {
        let found = Outcome::from(cairn(args).output().expect("cairn runs"));
        assert_eq!(
            (found.code, found.stderr.as_str()),
            (Some(0), ""),
            "{args:?}"
        );
        for part in parts {
            assert!(
                found.stdout.contains(part),
                "{args:?} lacks {part:?}:\n{}",
                found.stdout
            );
        }
    }
}

#[test]
fn a_command_line_that_makes_no_sense_ends_with_2_and_says_what_is_wrong_on_standard_error() {
    for (args, part) in [
        (&[][..], "Usage: cairn"),
        (&["bogus"], "unrecognized subcommand 'bogus'"),
        (&["evl"], "'eval'"),
        (&["eval"], "--template <FILE>"),
        (&["eval", "--no-such-option"], "--no-such-option"),
        (
            &["eval", "-e", "x", "--missing-key", "perhaps"],
            "[possible values: default, zero, error]",
        ),
        (
            &["eval", "-e", "x", "--funcs", "all"],
            "[possible values: builtin, sprig, helm]",
        ),
        (&["eval", "-e", "x", "--delims", "<<"], "--delims"),
        (&["eval", "--jsonl", "-e", "x"], "cannot be used with"),
        (&["eval", "--jsonl", "--reads"], "cannot be used with"),
        (
            &["eval", "-t", "-", "-d", "-"],
            "only one of the files can be standard input",
        ),
        (&["completions", "tcsh"], "possible values"),
    ] {
        let found = Outcome::from(cairn(args).output().expect("cairn runs"));
        assert_eq!(
            (found.code, found.stdout.as_str()),
            (Some(2), ""),
            "{args:?}"
        );
        assert!(
            found.stderr.contains(part),
            "{args:?} does not say {part:?}:\n{}",
            found.stderr
        );
    }
}

#[test]
fn there_are_completions_for_every_common_shell() {
    for (shell, part) in [
        ("bash", "complete -F _cairn"),
        ("zsh", "#compdef cairn"),
        ("fish", "complete -c cairn"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let found = Outcome::from(cairn(&["completions", shell]).output().expect("cairn runs"));
        assert_eq!(
            (found.code, found.stderr.as_str()),
            (Some(0), ""),
            "{shell}"
        );
        assert!(
            found.stdout.contains(part) && found.stdout.contains("missing-key"),
            "{shell}"
        );
    }
}

#[test]
fn bash_offers_directories_where_a_directory_can_stand_and_options_after_a_dash() {
    let place = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(place.path().join("shop")).expect("a directory");
    std::fs::write(place.path().join("shop.yaml"), "").expect("a file");
    let script = r#"source <("$0" completions bash); COMP_WORDS=(cairn "$1" "$2"); COMP_CWORD=2
        _cairn cairn "$2" "$1"; echo "${COMPREPLY[@]}""#;
    for (verb, word, expected) in [
        ("up", "", "shop"),
        ("validate", "sh", "shop"),
        ("diff", "", "shop"),
        ("up", "--ep", "--ephemeral"),
    ] {
        let mut bash = std::process::Command::new("bash");
        bash.args(["-c", script, env!("CARGO_BIN_EXE_cairn"), verb, word])
            .current_dir(place.path());
        // Where there is no bash, nobody completes with it.
        let Ok(output) = bash.output() else { return };
        assert_eq!(
            String::from_utf8_lossy(&output.stdout).trim(),
            expected,
            "{verb} {word:?}"
        );
    }
}

#[test]
fn a_kubeconfig_that_is_not_there_is_told_with_the_variable_that_names_it() {
    let place = tempfile::tempdir().expect("a directory");
    for (named, expected) in [
        (
            "nope.yaml",
            "error: the variable KUBECONFIG names nope.yaml, which is not there\nhint: `unset KUBECONFIG`",
        ),
        (
            "a.yaml:b.yaml",
            "error: the variable KUBECONFIG names a.yaml, b.yaml, none of which is there\n",
        ),
    ] {
        let output = cairn(&["list"])
            .current_dir(place.path())
            .env("KUBECONFIG", named)
            .output()
            .expect("cairn runs");
        let found = Outcome::from(output);
        assert_eq!(found.code, Some(1), "{}", found.stderr);
        assert!(found.stderr.starts_with(expected), "{}", found.stderr);
    }
}

#[test]
fn errors_are_not_coloured_when_nobody_watches() {
    let found = Outcome::from(fed(&["eval", "-e", "{{"], b""));
    assert!(
        found.stderr.starts_with("error: ") && !found.stderr.contains('\u{1b}'),
        "{}",
        found.stderr
    );
}

#[test]
fn a_reader_that_stops_listening_is_no_error() {
    let mut child = cairn(&["eval", "-e", "{{ range 200000 }}a line of text\n{{ end }}"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cairn starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("cairn ends");
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}

#[test]
fn as_a_plugin_of_kubectl_it_says_how_it_is_called() {
    let directory = tempfile::tempdir().expect("a directory");
    let plugin = directory.path().join("kubectl-cairn");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_cairn"), &plugin).expect("a link");
    for (args, part) in [
        (&["--help"][..], "Usage: kubectl cairn <"),
        (&["install", "-h"], "Usage: kubectl cairn install "),
    ] {
        let found = Outcome::from(
            std::process::Command::new(&plugin)
                .args(args)
                .output()
                .expect("cairn runs"),
        );
        assert_eq!(found.code, Some(0), "{}", found.stderr);
        assert!(found.stdout.contains(part), "{}", found.stdout);
    }
}

#[test]
fn who_names_the_wrong_directory_or_no_instance_is_told_where_to_go() {
    let place = tempfile::tempdir().expect("a directory");
    let run = |args: &[&str]| {
        let mut command = cairn(args);
        command
            .current_dir(place.path())
            .env_remove("KUBECONFIG")
            .env("HOME", place.path());
        Outcome::from(command.output().expect("cairn runs"))
    };
    assert_eq!(
        run(&["validate"]).stderr.lines().last(),
        Some("hint: `cairn init NAME` starts one")
    );
    assert_eq!(run(&["init", "shop"]).code, Some(0));
    let template = "shop/.registry/templates/shop.example.org/v1alpha1/service.yaml";
    let names = "configmap/shop\nservice/shop\n";
    for (args, code, stdout, stderr) in [
        (
            &["up", "shopp"][..],
            1,
            "",
            "error: shopp is no directory\nhint: here is a package: shop\n",
        ),
        (&["test", "./"], 1, "", "hint: here is a package: shop\n"),
        (
            &["build", "shop/tests"],
            1,
            "",
            &format!(
                "hint: it is a part of the package {}",
                place.path().display()
            ),
        ),
        (&["test", "shop/tests"], 0, "ok   shop: ", ""),
        (
            &["validate", "shop/.registry/templates"],
            0,
            "shop: ok (1 CRD, 3 templates)\n",
            "",
        ),
        (
            &["render", "shop/.registry", "-o", "name"],
            0,
            names,
            "with the instance shop/shop.yaml\n",
        ),
        (
            &["list"],
            1,
            "",
            "or start a cluster on this machine: `cairn up`\n",
        ),
        (
            &["explain", "service:spec"],
            1,
            "",
            "in the directory of its package (here is a package: shop)\n",
        ),
        (
            &["explain", "shop/service:spec.ports[0].port"],
            0,
            "spec.ports[0].port: 80\n",
            "shop/shop.yaml\n",
        ),
        (
            &["explain", &format!("{template}:spec.ports[0].port")],
            0,
            "spec.ports[0].port: 80\n",
            "shop/shop.yaml\n",
        ),
        (
            &["render", "shop", "-o", "name"],
            0,
            names,
            "with the instance shop/shop.yaml\n",
        ),
    ] {
        let found = run(args);
        assert_eq!(found.code, Some(code), "{args:?}: {found:?}");
        assert!(
            found.stdout.starts_with(stdout) && found.stderr.contains(stderr),
            "{args:?}: {found:?}"
        );
    }

    // Who is inside of a package means it, and one that lies among its tests is another.
    crate::support::copy(
        &place.path().join("shop/.registry"),
        &place.path().join("shop/tests/other"),
    );
    for (inside, args, stdout) in [
        ("shop/tests", &["test"][..], "ok   shop: "),
        ("shop/.registry", &["test", "."], "ok   shop: "),
        (
            "shop/.registry/templates",
            &["validate"],
            "../..: ok (1 CRD, 3 templates)\n",
        ),
        ("shop", &["validate", "tests/other"], "tests/other: "),
    ] {
        let mut command = cairn(args);
        let found = Outcome::from(
            command
                .current_dir(place.path().join(inside))
                .output()
                .expect("cairn runs"),
        );
        assert!(
            found.stdout.starts_with(stdout),
            "{inside}: {args:?}: {found:?}"
        );
    }
    std::fs::remove_dir_all(place.path().join("shop/tests/other")).expect("it goes");

    // A place that an editor finds, from where the command was called.
    let text = std::fs::read_to_string(place.path().join(template)).expect("a template");
    std::fs::write(
        place.path().join(template),
        text.replace(".metadata.name", ".metadata.nam"),
    )
    .expect("saved");
    for args in [
        &["validate", "shop"][..],
        &["render", "shop"],
        &["test", "shop"],
        &["build", "shop"],
    ] {
        let found = run(args);
        assert!(
            found.stderr.starts_with(&format!("error: {template}:4:")),
            "{args:?}: {found:?}"
        );
    }
}

#[test]
fn an_api_server_that_is_gone_is_told_with_the_cause_and_what_to_do() {
    let place = tempfile::tempdir().expect("a directory");
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port");
    let config = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
         clusters: [{{name: a, cluster: {{server: 'http://{free}'}}}}]\nusers: [{{name: a, user: {{token: t}}}}]\n"
    );
    std::fs::write(place.path().join("config"), config).expect("a kubeconfig");
    let package = crate::support::root().join("examples/redis");
    let package = package.to_str().expect("a path");
    for args in [
        &["list"][..],
        &["install", "a/b:1"],
        &["trace", "shop", "shop"],
        &["diff", package],
        &["template", "list"],
        &["stack-manager", "--listen", "127.0.0.1:0"],
    ] {
        let mut command = cairn(args);
        command
            .arg("--kubeconfig")
            .arg(place.path().join("config"))
            .env("HOME", place.path());
        let found = Outcome::from(command.output().expect("cairn runs"));
        let told = "error: the API server does not answer: Connection refused (os error 111)\nhint: is it running?";
        assert!(
            found.code == Some(1) && found.stderr.contains(told),
            "{args:?}: {found:?}"
        );
    }
}
