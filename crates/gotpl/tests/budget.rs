//! Templates that cost too much end, and soon: every function has a cost, and what it takes stands
//! in proportion to it.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may panic"
)]

#[allow(dead_code, reason = "each test uses its own part")]
#[path = "../../../fuzz/bodies/seeded.rs"]
mod seeded;
#[path = "../../../fuzz/bodies/spent.rs"]
mod spent;

use std::collections::BTreeSet;
use std::time::Duration;

use gotpl::{
    Cost, Error, ErrorKind, Func, Input, Library, Limits, Meter, Over, Param, Run, Set, Still,
    Watch,
};
use seeded::Seeded;
use serde_json::{Value, json};
use spent::Spent;

/// What a unit of work may take here: about a nanosecond where it counts, and far more without
/// optimization.
const UNIT: Duration = Duration::from_nanos(if cfg!(debug_assertions) { 150 } else { 5 });
/// What any run may take beside.
const START: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1_500 } else { 300 });

fn allowed(work: u64) -> Duration {
    START + UNIT * u32::try_from(work).unwrap_or(u32::MAX)
}

fn run(
    template: &str,
    data: &Value,
    meter: &Meter<'_>,
    watch: Watch<'_>,
) -> Result<Vec<u8>, Box<Error>> {
    let mut set = Set::new();
    set.parse("part", "{{ . }}")?;
    set.parse("main", template)?;
    let run = Run {
        host: &Still,
        meter: Some(meter),
        watch,
        ..Run::new(&set)
    };
    run.execute("main", &Input::new(data))
        .map(|output| output.text)
}

#[test]
fn every_function_has_a_cost() {
    for library in [Library::Builtin, Library::Sprig, Library::Helm] {
        for func in gotpl::functions(library) {
            assert_ne!(
                func.cost,
                Cost::UNKNOWN,
                "{} has no cost: state it in cost.rs",
                func.name
            );
            assert!(func.cost.call > 0, "{}", func.name);
        }
    }
}

#[test]
fn the_templates_of_the_review_are_over_budget_at_their_place() {
    for (template, (line, column), function) in [
        (
            "{{ $n := \"\" }}\n{{ $s := repeat 10000000 \"a\" }}{{ range until 700 }}{{ $n = sha256sum $s | trunc 10 }}{{ end }}",
            (2, 60),
            "sha256sum",
        ),
        (
            "{{ $l := until 100000 }}{{ range until 100000 }}{{ if has -1 $l }}x{{ end }}{{ end }}",
            (1, 54),
            "has",
        ),
        (
            "a: 1\n{{ range until 10000 }}{{ $_ := bcrypt \"x\" }}{{ end }}",
            (2, 32),
            "bcrypt",
        ),
    ] {
        let meter = Meter::default();
        let spent = Spent::start();
        let error = run(template, &json!({}), &meter, Watch::Lightly).expect_err(template);
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(matches!(error.over(), Some(Over::Work(..))), "{error}");
        let place = error.places().last().unwrap();
        assert_eq!(
            (place.source.as_str(), place.line, place.column),
            ("main", line, Some(column)),
            "{error}"
        );
        let (begin, end) = (
            format!("error calling {function}: over budget: 2"),
            " of 2000000000 units of work spent",
        );
        assert!(
            error.message().starts_with(&begin) && error.message().ends_with(end),
            "{error}"
        );
        assert!(
            spent.time() < allowed(meter.work()) / 4,
            "{:?} {error}",
            spent.time()
        );
    }
}

/// The data of the variants: each kind of thing that a function can be given much of.
fn data(random: &mut Seeded) -> Value {
    let size = [1_000, 30_000, 1_000_000][random.below(3)];
    let word = [
        "a", "é", "a b\n", "1", "x: 1\n", "[", "{{ . }}", "<", "%d", "\u{0}", "\\", "aB-", ",",
        "a.",
    ];
    let word = word[random.below(word.len())];
    let text = word.repeat(size / word.len());
    let count = size / 10;
    let list: Vec<Value> = match random.below(3) {
        0 => (0..count).map(Value::from).collect(),
        1 => (0..count)
            .map(|index| json!(format!("{index:0>40}")))
            .collect(),
        _ => (0..count / 10)
            .map(|index| json!({"a": [index, "b"]}))
            .collect(),
    };
    let dict: serde_json::Map<String, Value> = (0..count)
        .map(|index| (format!("{word}{index}"), json!({"a": index})))
        .collect();
    let mut deep = json!(1);
    for _ in 0..500 {
        deep = json!({"a": deep, "b": [1, 2]});
    }
    let expression = [
        "(a|b)*a(a|b){15}",
        ".*[^a]|a",
        "(a*)*b",
        "[[:alpha:]]{1,500}",
        "a",
    ][random.below(5)];
    let version = ["^1.2", ">=1.0.0 || 2.x || 3.x", "1 - 2"][random.below(3)];
    json!({"text": text, "list": list, "dict": dict, "deep": deep, "expression": expression, "version": version})
}

/// An argument for a parameter, as a template writes it.
fn argument(random: &mut Seeded, param: Param) -> &'static str {
    let texts = [
        ".text",
        ".text",
        ".text",
        ".expression",
        ".version",
        "\"part\"",
        "\"b\"",
    ];
    let numbers = ["0", "1", "7", "1000", "-3"];
    match param {
        Param::Text => texts[random.below(texts.len())],
        Param::Int | Param::Int64 | Param::Uint32 => numbers[random.below(4)],
        Param::Float => "0.5",
        Param::Bool => "true",
        Param::List => ".list",
        Param::Map => [".dict", ".deep", "."][random.below(3)],
        Param::Object("time.Time") => "now",
        Param::Object(_) => "(genCA \"x\" 1)",
        Param::Any | Param::Value => match random.below(6) {
            0 => ".list",
            1 => ".dict",
            2 => ".deep",
            3 => numbers[random.below(5)],
            _ => texts[random.below(texts.len())],
        },
    }
}

fn call(random: &mut Seeded, func: &Func) -> String {
    let more = func
        .rest
        .into_iter()
        .flat_map(|rest| [rest; 3])
        .take(random.below(4));
    let params: Vec<Param> = func.params.iter().copied().chain(more).collect();
    let arguments = params
        .into_iter()
        .map(|param| format!(" {}", argument(random, param)));
    format!("{}{}", func.name, arguments.collect::<String>())
}

/// In each of 60 variants every twentieth function is called in a loop, with much of everything,
/// watched in some way.
#[test]
fn whatever_a_function_is_given_in_a_loop_takes_no_longer_than_its_budget_allows() {
    let limits = Limits {
        work: 1_500_000,
        bytes: 8 << 20,
        ..Limits::default()
    };
    let mut called: BTreeSet<&str> = BTreeSet::new();
    for variant in 0..60_usize {
        let mut random = Seeded(0x9e37_79b9_7f4a_7c15 ^ (variant as u64).wrapping_mul(0x51_7cc1));
        let data = data(&mut random);
        for (_, func) in gotpl::functions(Library::Helm)
            .enumerate()
            .filter(|(index, _)| index % 20 == variant % 20)
        {
            let template = format!(
                "{{{{ range until 5000 }}}}{{{{ $_ := {} }}}}{{{{ end }}}}",
                call(&mut random, func)
            );
            let all = |_: &gotpl::Path| gotpl::Known::Wholly;
            let watch = [Watch::Lightly, Watch::Closely, Watch::Guessing(&all)][random.below(3)];
            let meter = Meter::new(limits.clone());
            let spent = Spent::start();
            let result = run(&template, &data, &meter, watch);
            let time = spent.time();
            let told = result
                .as_ref()
                .map_or_else(ToString::to_string, |_| "well".to_string());
            let told: String = told.chars().take(200).collect();
            assert!(
                time < allowed(limits.work),
                "variant {variant}: {time:?} for {template}: {told}"
            );
            called.insert(func.name);
            if let Err(error) = &result
                && let Some(over) = error.over()
            {
                assert!(
                    error.places().last().is_some_and(|place| place.line == 1),
                    "variant {variant}: {template}"
                );
                assert!(
                    told.contains("over budget: ") || told.len() == 200,
                    "{over:?} {told}"
                );
            }
        }
    }
    assert_eq!(
        called,
        gotpl::functions(Library::Helm)
            .map(|func| func.name)
            .collect(),
        "every function was called"
    );
}

#[test]
fn what_is_no_function_costs_too() {
    let many =
        |each: &dyn Fn(usize) -> String, count: usize| (0..count).map(each).collect::<String>();
    let variables = many(&|index| format!("{{{{ $v{index} := {index} }}}}"), 3_000);
    let fields = format!("${}", ".a".repeat(5_000));
    let words = " 0".repeat(5_000);
    let branches = many(
        &|index| {
            format!("{{{{ if eq $.x {index} }}}}{{{{ $s = print $s $.a{index} }}}}{{{{ end }}}}")
        },
        400,
    );
    let dict: Value = (0..50_000)
        .map(|index| (index.to_string(), json!(1)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let data = json!({"dict": dict, "text": "a".repeat(1_000_000), "x": 7});
    for template in [
        format!("{variables}{{{{ range until 300000 }}}}{{{{ $_ := $v0 }}}}{{{{ end }}}}"),
        format!("{{{{ range until 300000 }}}}{{{{ $_ := {fields} }}}}{{{{ end }}}}"),
        format!("{{{{ range until 300000 }}}}{{{{ $_ := or{words} }}}}{{{{ end }}}}"),
        format!("{{{{ $s := \"\" }}}}{{{{ range until 300000 }}}}{branches}{{{{ end }}}}"),
        format!("{{{{ range until 300000 }}}}{}{{{{ end }}}}", "text".repeat(5_000)),
        "{{ define \"a\" }}{{ range until 9 }}{{ template \"a\" . }}{{ end }}{{ end }}{{ template \"a\" }}".to_string(),
        "{{ range until 300000 }}{{ range $.dict }}{{ break }}{{ end }}{{ end }}".to_string(),
        "{{ range until 300000 }}{{ tpl (print \"{{ 1 }}\" .) $ }}{{ end }}".to_string(),
        "{{ $t := .text }}{{ range until 300000 }}{{ if eq $t (print $t \"\") }}{{ end }}{{ end }}".to_string(),
        "{{ $l := list }}{{ range until 300000 }}{{ $l = append $l . }}{{ end }}".to_string(),
        "{{ $d := dict }}{{ range until 300000 }}{{ $_ := set $d (print .) $d }}{{ $_ := keys $d }}{{ end }}"
            .to_string(),
    ] {
        let nothing = |path: &gotpl::Path| if path.0.is_empty() { gotpl::Known::Partly } else { gotpl::Known::Not };
        for watch in [Watch::Lightly, Watch::Closely, Watch::Guessing(&nothing)] {
            let limits = Limits { work: 10_000_000, ..Limits::default() };
            let meter = Meter::new(limits);
            let guessing = matches!(watch, Watch::Guessing(_));
            let spent = Spent::start();
            let result = run(&template, &data, &meter, watch);
            let shown: String = template.chars().rev().take(120).collect::<Vec<_>>().into_iter().rev().collect();
            assert!(spent.time() < allowed(10_000_000), "{:?}: {shown}", spent.time());
            match result {
                Err(error) => assert_eq!(error.kind(), ErrorKind::Limit, "{shown}"),
                Ok(_) => assert!(guessing, "{shown}"),
            }
        }
    }
}

#[test]
fn time_ends_a_run_even_inside_of_a_function() {
    let asked = std::cell::Cell::new(0_u32);
    let clock = || {
        asked.set(asked.get() + 1);
        Duration::from_millis(u64::from(asked.get()) * 100)
    };
    let limits = Limits {
        time: Duration::from_millis(450),
        ..Limits::default()
    };
    let meter = Meter::new(limits).timed(&clock);
    let data = json!({"list": (0..400_000).collect::<Vec<_>>()});
    let error = run("\n {{ has -1 .list }}", &data, &meter, Watch::Lightly).unwrap_err();
    assert_eq!(
        error.over(),
        Some(Over::Time(
            Duration::from_millis(500),
            Duration::from_millis(450)
        ))
    );
    assert_eq!(
        error.message(),
        "error calling has: over budget: 0.5 of 0.5 seconds spent"
    );
    assert_eq!(
        error
            .places()
            .last()
            .map(|place| (place.line, place.column)),
        Some((2, Some(4)))
    );
}

#[test]
fn runs_that_share_a_meter_share_a_budget() {
    let meter = Meter::new(Limits {
        work: 1_000_000,
        ..Limits::default()
    });
    let template = "{{ range until 3000 }}{{ end }}";
    assert_eq!(
        run(template, &json!({}), &meter, Watch::Lightly).unwrap(),
        b""
    );
    let first = meter.work();
    assert!((300_000..700_000).contains(&first), "{first}");
    let error = std::iter::repeat_with(|| run(template, &json!({}), &meter, Watch::Lightly))
        .find_map(Result::err);
    assert!(
        matches!(error.unwrap().over(), Some(Over::Work(spent, 1_000_000)) if spent > 1_000_000)
    );
}
