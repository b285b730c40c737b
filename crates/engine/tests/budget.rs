//! Stacks that cost too much: compiling and rendering end by a budget, with a verdict that names
//! what spent it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

#[allow(dead_code, reason = "each test uses its own part")]
#[path = "../../../fuzz/bodies/seeded.rs"]
mod seeded;
#[path = "../../../fuzz/bodies/spent.rs"]
mod spent;
mod support;

use std::cell::Cell;
use std::time::Duration;

use engine::budget::{self, Limits, Meter, Over};
use engine::{Context, Observed, Plan, Problem, Seed, compile, compile_within, decide, plan, tell};
use seeded::Seeded;
use serde_json::json;
use spent::Spent;
use support::{compiled, config_map, instance, live, stack, words};

const SHA: &str = "{{ $n := \"\" }}{{ $s := repeat 10000000 \"a\" }}{{ range until 700 }}{{ $n = sha256sum $s | trunc 10 }}{{ end }}{{ $n }}";
const HAS: &str =
    "{{ $l := until 100000 }}{{ range until 100000 }}{{ if has -1 $l }}x{{ end }}{{ end }}";
const BCRYPT: &str = "{{ range until 10000 }}{{ $_ := bcrypt \"x\" }}{{ end }}";

fn told(problems: &[Problem]) -> &Problem {
    let [problem] = problems else {
        panic!("{problems:?}")
    };
    assert!(problem.what.contains("over budget: "), "{problem}");
    problem
}

#[test]
fn the_stacks_of_the_review_do_not_compile_and_say_why() {
    for (attack, function) in [(SHA, "sha256sum"), (HAS, "has"), (BCRYPT, "bcrypt")] {
        let limits = Limits {
            work: 300_000_000,
            ..budget::COMPILE
        };
        let meter = Meter::new(limits);
        let stack = stack(&[
            ("a", &config_map("a", "1")),
            ("b", &config_map("b", attack)),
        ]);
        let spent = Spent::start();
        let (compiled, problems) = compile_within(&stack, &|_| None, &meter);
        assert!(compiled.is_none());
        assert!(spent.time() < Duration::from_secs(60), "{:?}", spent.time());
        let problem = told(&problems);
        let place = problem.place.as_ref().unwrap();
        assert_eq!(
            (place.file.as_str(), place.line),
            ("b.yaml", 6),
            "{problem}"
        );
        let what = format!("error calling {function}: over budget: ");
        assert!(
            problem.what.starts_with(&what)
                && problem.what.ends_with(" of 300000000 units of work spent"),
            "{problem}"
        );
        assert!(
            problem
                .hint
                .as_ref()
                .unwrap()
                .starts_with("let it loop less"),
            "{problem}"
        );
        assert!(matches!(meter.over(), Some(Over::Work(_, 300_000_000))));
    }
}

/// Whichever template it is in, whatever it calls, however it is dressed up: one problem, at the
/// template that did it.
#[test]
fn in_every_variant_the_costly_template_is_named_and_nothing_else_is_said() {
    let attacks = [
        "{{ range until 100000 }}{{ $_ := until 1000 | toJson | sha1sum }}{{ end }}",
        "{{ range until 100000 }}{{ $_ := regexFindAll \"a*\" (repeat 1000 \"ab\") -1 }}{{ end }}",
        "{{ $l := until 3000 }}{{ range until 100000 }}{{ $_ := sortAlpha $l }}{{ end }}",
        "{{ $l := until 3000 }}{{ range until 100000 }}{{ $_ := deepEqual $l $l }}{{ end }}",
        "{{ range until 100000 }}{{ $_ := genPrivateKey \"ecdsa\" }}{{ end }}",
        "{{ range until 100000 }}{{ range until 1000 }}{{ end }}{{ end }}",
        "{{ range until 100000 }}{{ $_ := tpl (print \"{{ 1 }}\" .) $ }}{{ end }}",
        "{{ range until 9999 }}{{ range until 9999 }}{{ with . }}{{ . }}{{ end }}{{ end }}{{ end }}",
        "{{ range until 100000 }}{{ $_ := derivePassword 1 \"long\" \"p\" \"u\" \"s\" }}{{ end }}",
        "{{ $s := repeat 100000 \"a: 1\\n\" }}{{ range until 1000 }}{{ $_ := fromYaml $s }}{{ end }}",
        "{{ range until 100000 }}{{ $_ := semverCompare \"^1 || ^2 || ^3\" \"1.2.3\" }}{{ end }}",
        "{{ $d := dict }}{{ range until 3000 }}{{ $_ := set $d (print .) . }}{{ end }}{{ range until 100000 }}{{ $_ := deepCopy $d }}{{ end }}",
    ];
    for variant in 0..60_u64 {
        let mut random = Seeded(0x2545_f491_4f6c_dd1d ^ variant.wrapping_mul(0x51_7cc1));
        let attack = attacks[random.below(attacks.len())];
        let attack = match random.below(4) {
            0 => format!("{{{{ if .spec.on }}}}{attack}{{{{ end }}}}"),
            1 => format!("{{{{ with .spec.image }}}}{attack}{{{{ end }}}}"),
            2 => format!("{{{{ range .spec.hosts }}}}{attack}{{{{ end }}}}"),
            _ => attack.to_string(),
        };
        let names = ["a", "b", "c", "status"];
        let costly = names[random.below(names.len())];
        let templates: Vec<(&str, String)> = names
            .iter()
            .map(|name| match (*name == costly, *name) {
                (true, "status") => (*name, format!("url: x\noutput: {attack}\n")),
                (false, "status") => (*name, "url: x\n".to_string()),
                (true, name) => (name, config_map(name, &attack)),
                (false, name) => (name, config_map(name, "1")),
            })
            .collect();
        let templates: Vec<(&str, &str)> = templates
            .iter()
            .map(|(name, text)| (*name, text.as_str()))
            .collect();
        let limits = Limits {
            work: 20_000_000,
            bytes: 32 << 20,
            ..budget::COMPILE
        };
        let meter = Meter::new(limits);
        let spent = Spent::start();
        let (compiled, problems) = compile_within(&stack(&templates), &|_| None, &meter);
        assert!(
            spent.time() < Duration::from_secs(20),
            "variant {variant}: {:?} for {attack}",
            spent.time()
        );
        assert!(
            compiled.is_none() && meter.over().is_some(),
            "variant {variant}: {attack}"
        );
        let place = told(&problems).place.as_ref().unwrap();
        assert_eq!(
            place.file,
            format!("{costly}.yaml"),
            "variant {variant}: {attack}"
        );
    }
}

#[test]
fn a_compile_ends_by_the_clock_too() {
    let asked = Cell::new(0);
    let clock = || {
        asked.set(asked.get() + 1);
        Duration::from_secs(asked.get())
    };
    let meter = Meter::new(Limits {
        time: Duration::from_secs(3),
        ..budget::COMPILE
    })
    .timed(&clock);
    let (compiled, problems) =
        compile_within(&stack(&[("b", &config_map("b", HAS))]), &|_| None, &meter);
    assert!(compiled.is_none());
    assert!(
        told(&problems)
            .what
            .ends_with("over budget: 4.0 of 3.0 seconds spent"),
        "{problems:?}"
    );
    assert!(matches!(meter.over(), Some(Over::Time(..))));
}

/// What is costly for some instances only is found when one of them is rendered.
fn costly_for_large() -> Vec<(&'static str, String)> {
    let attack = "{{ range until (int .spec.size) }}{{ $_ := until 1000 }}{{ end }}x";
    vec![
        ("a", config_map("a", "x")),
        ("b", config_map("b", attack)),
        ("c", config_map("c", "{{ .b.data.v }}")),
    ]
}

fn rendered(size: u64, observed: &Observed) -> Plan {
    let templates = costly_for_large();
    let templates: Vec<(&str, &str)> = templates
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let compiled = compiled(&templates);
    let seed = Seed::new(*b"a seed for tests");
    let context = Context {
        limits: Limits {
            work: 10_000_000,
            ..budget::RENDER
        },
        ..Context::new("demo", &seed)
    };
    plan(
        &compiled.kinds[0],
        &instance(&json!({"size": size})),
        observed,
        &context,
    )
}

#[test]
fn an_instance_that_costs_too_much_keeps_what_it_has_and_says_why() {
    assert_eq!(
        words(&rendered(3, &Observed::new()))[..2],
        ["apply a", "apply b"]
    );
    let there: Observed = ["a", "b", "c", "old"]
        .map(|name| (name.to_string(), live(name, &json!({}))))
        .into_iter()
        .collect();
    let plan = rendered(100_000, &there);
    assert!(plan.deletes.is_empty(), "{plan:?}");
    assert_eq!(
        plan.applies
            .iter()
            .map(|apply| apply.template.as_str())
            .collect::<Vec<_>>(),
        ["a"]
    );
    let [problem] = plan.problems.as_slice() else {
        panic!("{:?}", plan.problems)
    };
    assert_eq!(problem.template, "b");
    assert!(
        problem.problem.to_string().starts_with("b.yaml:6:"),
        "{}",
        problem.problem
    );
    assert!(
        problem
            .problem
            .what
            .contains(" of 10000000 units of work spent"),
        "{}",
        problem.problem
    );
    let condition = &plan.status.as_ref().unwrap()["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["status"]),
        (&json!("Synced"), &json!("False")),
        "{condition}"
    );
    assert!(
        condition["message"]
            .as_str()
            .unwrap()
            .contains("over budget: "),
        "{condition}"
    );
    assert!(
        plan.events
            .iter()
            .any(|event| event.message.contains("over budget: ")),
        "{:?}",
        plan.events
    );
}

#[test]
fn the_template_that_spent_most_is_named_where_another_was_the_last_straw() {
    let first = "{{ range until (int .spec.size) }}{{ $_ := until 1000 }}{{ end }}x";
    let last = "{{ range until 1000 }}{{ $_ := until 100 }}{{ end }}x";
    let compiled = compiled(&[
        ("a", &config_map("a", first)),
        ("b", &config_map("b", last)),
    ]);
    let seed = Seed::new(*b"a seed for tests");
    let cost = |size: u64| {
        let meter = Meter::new(budget::RENDER);
        let context = Context {
            meter: Some(&meter),
            ..Context::new("demo", &seed)
        };
        decide(
            &compiled.kinds[0],
            &instance(&json!({"size": size})),
            &Observed::new(),
            &context,
            None,
        );
        meter.work()
    };
    let limits = Limits {
        work: cost(1_000) - 1_000,
        ..budget::RENDER
    };
    let context = Context {
        limits,
        ..Context::new("demo", &seed)
    };
    let plan = decide(
        &compiled.kinds[0],
        &instance(&json!({"size": 1_000})),
        &Observed::new(),
        &context,
        None,
    );
    let [problem] = plan.problems.as_slice() else {
        panic!("{:?}", plan.problems)
    };
    assert_eq!(problem.template, "b");
    assert!(
        problem
            .problem
            .hint
            .as_ref()
            .unwrap()
            .starts_with("`a.yaml` has spent most of it, "),
        "{}",
        problem.problem
    );
    // The status has a budget of its own, and so says what is wrong.
    let told = tell(
        &compiled.kinds[0],
        &instance(&json!({"size": 1_000})),
        &Observed::new(),
        &context,
        plan,
        &[],
    );
    assert_eq!(told.status.unwrap()["conditions"][0]["status"], "False");
}

/// What people write is far from its budget: all that the examples bring is compiled for less than
/// a hundredth.
#[test]
fn usual_stacks_spend_little() {
    let meter = Meter::new(budget::COMPILE);
    let templates: Vec<(String, String)> = (0..30)
        .map(|index| {
            (
                format!("t{index}"),
                config_map(&format!("t{index}"), "{{ .spec.image | quote }}"),
            )
        })
        .collect();
    let templates: Vec<(&str, &str)> = templates
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let (compiled, problems) = compile_within(&stack(&templates), &|_| None, &meter);
    assert!(compiled.is_some(), "{problems:?}");
    assert!(
        meter.work() < budget::COMPILE.work / 100,
        "{}",
        meter.work()
    );
    assert!(
        meter.bytes() < budget::COMPILE.bytes / 100,
        "{}",
        meter.bytes()
    );
    assert!(compile(&stack(&templates)).0.is_some());
}
