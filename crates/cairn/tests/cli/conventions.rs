//! What every verb has in common: an example in its help, `-o` with the same words, no colour
//! without a terminal.

use crate::support::{example, root};
use crate::{Outcome, cairn};

/// Every command that can be typed, and what its help says.
fn verbs() -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    let mut waiting = vec![Vec::new()];
    while let Some(words) = waiting.pop() {
        let args: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let help = Outcome::from(cairn(&args).output().expect("cairn runs"));
        assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""), "{args:?}");
        let listed = help
            .stdout
            .split_once("\nCommands:\n")
            .map(|(_, rest)| rest);
        let lines = listed
            .unwrap_or_default()
            .lines()
            .take_while(|line| line.starts_with("  "));
        // A long description goes on below itself, further to the right.
        let names = lines
            .filter(|line| !line.starts_with("   "))
            .filter_map(|line| line.split_whitespace().next())
            .filter(|name| *name != "help");
        let inner: Vec<Vec<String>> = names
            .map(|name| [words.clone(), vec![name.to_string()]].concat())
            .collect();
        if inner.is_empty() {
            found.push((words, help.stdout));
        }
        waiting.extend(inner);
    }
    assert!(found.len() >= 17, "only {} verbs", found.len());
    found
}

#[test]
fn the_help_of_every_verb_has_examples_of_that_verb() {
    for (words, help) in verbs() {
        let examples = help
            .split_once("\nExamples:\n")
            .map(|(_, rest)| rest)
            .unwrap_or_default();
        let call = format!("cairn {}", words.join(" "));
        assert!(
            examples.lines().any(|line| line.contains(&call)),
            "`{call} --help` has no example of it:\n{help}"
        );
    }
}

/// The first line of a help that is broken where it need not be, or goes on at the left edge below
/// something indented.
fn ragged(help: &str, width: usize) -> Option<String> {
    let lines: Vec<&str> = help.lines().collect();
    let pairs = lines
        .windows(2)
        .filter(|pair| !pair[1].is_empty() && !pair[1].starts_with(' '));
    let is_ragged = |pair: &&[&str]| {
        let next = pair[1].split(' ').next().unwrap_or_default();
        let fits = pair[0].chars().count() + 1 + next.chars().count() <= width;
        !pair[0].is_empty() && (fits || pair[0].starts_with(' '))
    };
    pairs.filter(is_ragged).map(|pair| pair.join("\n")).next()
}

#[test]
fn no_help_is_broken_where_it_need_not_be() {
    let groups = [vec![], vec!["template".to_owned()]];
    for words in verbs().into_iter().map(|(words, _)| words).chain(groups) {
        let called = format!("cairn {} --help", words.join(" "));
        let [narrow, wide] = [80, 100].map(|width| {
            let mut call = cairn(
                &words
                    .iter()
                    .map(String::as_str)
                    .chain(["--help"])
                    .collect::<Vec<_>>(),
            );
            let help = Outcome::from(
                call.env("COLUMNS", width.to_string())
                    .output()
                    .expect("cairn runs"),
            )
            .stdout;
            assert_eq!(ragged(&help, width), None, "`{called}` at {width}:\n{help}");
            let examples = help
                .split_once("\nExamples:\n")
                .map(|(_, rest)| rest)
                .unwrap_or_default();
            examples
                .lines()
                .filter(|line| line.starts_with(' '))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        assert_eq!(
            narrow, wide,
            "`{called}` breaks lines that are meant to be typed"
        );
    }
}

#[test]
fn a_help_that_is_broken_where_it_need_not_be_is_found() {
    for (help, found) in [
        ("One two\nthree.", true),
        ("One two three\nfour five.", false),
        ("One two three\n\nfour.", false),
        ("Examples:\n  cairn up", false),
        ("  cairn up shop\n--ephemeral", true),
    ] {
        assert_eq!(ragged(help, 16).is_some(), found, "{help}");
    }
}

/// Verbs without `-o`, and why.
const WITHOUT_OUTPUT: [(&str, &str); 5] = [
    ("completions", "what it prints is a script, for a shell"),
    ("demo", "it is a show, for people"),
    (
        "stack-manager",
        "it runs until it is ended, and tells by its log",
    ),
    (
        "template-stack-manager",
        "it runs until it is ended, and tells by its log",
    ),
    (
        "up",
        "it runs until it is ended; what it knows, its API says",
    ),
];

#[test]
fn every_verb_that_reports_something_can_do_so_for_programs() {
    for (words, help) in verbs() {
        let verb = words.join(" ");
        let has = ["FORMAT", "FILE|FORMAT", "DIR|FORMAT"];
        let has = has
            .iter()
            .any(|value| help.contains(&format!("-o, --output <{value}>")));
        let exception = WITHOUT_OUTPUT.iter().find(|(name, _)| *name == verb);
        assert!(
            has != exception.is_some(),
            "`cairn {verb}` {}\n{help}",
            match exception {
                Some((_, why)) => format!("has `-o`, though {why}"),
                None => "has no `-o`".to_owned(),
            }
        );
    }
}

#[test]
fn an_output_that_does_not_exist_is_answered_with_those_that_do() {
    let mut count = 0;
    for (words, help) in verbs()
        .iter()
        .filter(|(_, help)| help.contains("-o, --output <FORMAT>"))
    {
        let args: Vec<&str> = words
            .iter()
            .map(String::as_str)
            .chain(["-o", "xml"])
            .collect();
        let found = Outcome::from(cairn(&args).output().expect("cairn runs"));
        assert_eq!(
            (found.code, found.stdout.as_str()),
            (Some(2), ""),
            "{args:?}"
        );
        let told = found.stderr.contains("[possible values: json, yaml");
        assert!(
            told,
            "{args:?} does not name what there is:\n{}\n{help}",
            found.stderr
        );
        count += 1;
    }
    assert!(count >= 15, "only {count} verbs have -o");
}

#[test]
fn what_is_for_programs_is_what_it_says() {
    let package = root().join("examples/web-application");
    let shop = package.join("shop.yaml");
    let (package, shop) = (
        package.to_str().expect("a path"),
        shop.to_str().expect("a path"),
    );
    let service = format!(
        "{package}/.registry/templates/webapplication.platform.example.org/v1alpha1/service.yaml:spec"
    );
    for args in [
        &["validate", package][..],
        &["test", package],
        &["render", package, "-f", shop],
        &["unpack", package],
        &["explain", &service, "-f", shop],
        &["eval", "-e", "{{ .a }}", "--reads"],
    ] {
        let run = |format: &str| {
            let args = [args, &["-o", format]].concat();
            let found = Outcome::from(cairn(&args).output().expect("cairn runs"));
            assert_eq!(
                (found.code, found.stderr.as_str()),
                (Some(0), ""),
                "{args:?}"
            );
            found.stdout
        };
        let json = run("json");
        serde_json::from_str::<serde_json::Value>(&json)
            .unwrap_or_else(|error| panic!("{args:?}: {error}: {json}"));
        for document in
            yaml::documents(&run("yaml")).unwrap_or_else(|error| panic!("{args:?}: {error}"))
        {
            yaml::parse_strict(&document.text).unwrap_or_else(|error| panic!("{args:?}: {error}"));
        }
    }
}

#[test]
fn names_are_written_as_kubectl_writes_them() {
    let place = example("web-application");
    let dir = place.path().to_str().expect("a path");
    let shop = format!("{dir}/shop.yaml");
    for (args, names) in [
        (
            &["unpack", dir, "-o", "name"][..],
            "customresourcedefinition.apiextensions.k8s.io/webapplications.platform.example.org\n\
             stack.stacks.crossplane.io/\n",
        ),
        (
            &["render", dir, "-f", &shop, "--simulate", "-o", "name"],
            "configmap/shop\nservice/shop\ndeployment.apps/shop\ningress.networking.k8s.io/shop\n\
             horizontalpodautoscaler.autoscaling/shop\n",
        ),
    ] {
        let found = Outcome::from(cairn(args).output().expect("cairn runs"));
        assert_eq!(
            (found.code, found.stdout.as_str()),
            (Some(0), names),
            "{args:?}"
        );
    }
}
