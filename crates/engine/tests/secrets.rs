//! Generated values and values of Secrets never reach a message, however they are turned and
//! wherever they fail.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod support;

use engine::budget::{Limits, Meter};
use engine::children::desired::Failure;
use engine::{Context, Observed, Plan, Seed, decide, hidden, plan, tell};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::instance;

const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .metadata.name }}-keys\nstringData:\n  p: x\n";

fn observed(secret: &str) -> Observed {
    let object = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "web-keys", "namespace": "default", "uid": "uid-keys" },
        "data": { "p": gocompat::base::encode64(secret.as_bytes()) },
    });
    Observed::from([("keys".to_string(), object)])
}

fn stack(web: &str) -> engine::Compiled {
    let mut stack = support::stack(&[
        ("keys", SECRET),
        ("web", web),
        ("status", "error: {{ .errors.web | toJson }}\n"),
    ]);
    stack
        .depends_on
        .push(api::key::Reference::parse("secret/v1").unwrap());
    let (compiled, problems) = engine::compile(&stack);
    compiled.unwrap_or_else(|| panic!("{}", support::lines(&problems)))
}

/// All that a plan says.
fn said(plan: &Plan) -> String {
    let problems = plan
        .problems
        .iter()
        .map(|problem| problem.problem.to_string());
    let holds = plan
        .holds
        .iter()
        .flat_map(|hold| hold.waits.iter().map(ToString::to_string));
    let events = plan.events.iter().map(|event| event.message.clone());
    let status = plan.status.iter().map(Value::to_string);
    let unready = plan.unready.iter().map(|unready| unready.message.clone());
    problems
        .chain(holds)
        .chain(events)
        .chain(status)
        .chain(unready)
        .collect::<Vec<_>>()
        .join("\n")
}

fn planned(web: &str, secret: &str, spec: &Value) -> Plan {
    let seed = Seed::new(*b"a seed for tests");
    let context = Context::new("demo", &seed);
    plan(
        &stack(web).kinds[0],
        &instance(spec),
        &observed(secret),
        &context,
    )
}

const HEAD: &str =
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .metadata.name }}\nspec:\n";

#[test]
fn what_the_author_says_is_told_without_the_secret_in_it() {
    for (fail, expected) in [
        (
            "{{ fail (printf \"bad %s!\" (.keys.data.p | b64dec)) }}",
            "bad (hidden)!",
        ),
        (
            "{{ fail (printf \"bad %s of %s\" (.keys.data.p | b64dec | upper) .metadata.name) }}",
            "bad (hidden) of web",
        ),
        (
            "{{ $p := .keys.data.p | b64dec }}{{ required (print \"no \" $p) .status.url }}",
            "no (hidden)",
        ),
        (
            "{{ fail (cat \"n\" (.keys.data.p | b64dec | len)) }}",
            "n (hidden)",
        ),
        (
            "{{ fail (generated \"a\" \"randAlphaNum\" 20) }}",
            "(hidden)",
        ),
        ("{{ fail (print \"x \" (randNumeric 2)) }}", "x (hidden)"),
        (
            "{{ fail (htpasswd \"u\" \"p\" | printf \"<%s>\") }}",
            "<(hidden)>",
        ),
        (
            "{{ $c := genCA \"x\" 1 }}{{ fail (print \"key \" $c.Key) }}",
            "key (hidden)",
        ),
        (
            "{{ fail (.keys.data.p | b64dec | splitList \"-\" | first) }}",
            "(hidden)",
        ),
        (
            "{{ fail (print \"name \" .keys.metadata.name) }}",
            "name web-keys",
        ),
        ("{{ fail (print \"image \" .spec.image) }}", "image nginx"),
    ] {
        let plan = planned(
            &format!("{{{{ if .spec.image }}}}{fail}{{{{ end }}}}\n{HEAD}  a: 1\n"),
            "hunter2-hunter2",
            &json!({ "image": "nginx" }),
        );
        assert_eq!(plan.problems.len(), 1, "{fail}");
        assert_eq!(plan.problems[0].problem.what, expected, "{fail}");
    }
}

/// What may become of a secret.
const TURNS: &[&str] = &[
    "$p",
    "($p | upper)",
    "($p | lower)",
    "($p | b64enc)",
    "($p | quote)",
    "($p | squote)",
    "($p | toJson)",
    "($p | toYaml)",
    "(printf \"a-%s-b\" $p)",
    "(printf \"%q\" $p)",
    "($p | trunc 12)",
    "($p | substr 3 20)",
    "($p | reverse)",
    "($p | sha256sum)",
    "(list \"a\" $p | join \"/\")",
    "(dict \"k\" $p).k",
    "(first (keys (dict $p 1)))",
    "($p | replace \"a\" \"b\")",
    "(tpl \"{{ . }}\" $p)",
    "($p | splitList \"-\" | last)",
    "(regexReplaceAll \"[0-9]\" $p \"x\")",
    "(index (list $p) 0)",
    "(dict \"k\" $p | toJson)",
    "(dict \"k\" (list $p) | toYaml)",
    "($p | b64enc | b64enc)",
    "(ternary $p \"\" true)",
    "(default \"\" $p)",
    "(coalesce \"\" $p)",
    "(merge (dict) (dict \"k\" $p)).k",
    "(fromYaml (dict \"k\" $p | toYaml)).k",
    "($p | nospace)",
    "($p | title)",
    "($p | swapcase)",
    "(cat \"x\" $p)",
    "($p | wrap 5)",
    "($p | urlquery)",
    "($p | html)",
    "($p | toString)",
    "(htpasswd \"user\" ($p | trunc 40))",
];

/// Where it may end: `@` is the secret.
const ENDS: &[&str] = &[
    "{{ fail @ }}",
    "{{ fail (printf \"no: %s\" @) }}",
    "{{ required @ .status.url }}",
    "{{ fail (printf \"no: %v\" (list @)) }}",
    "{{ fail (print (dict @ 1)) }}",
    "{{ @ | mustToDate \"2006\" }}",
    "{{ semver @ }}",
    "{{ mustRegexMatch (print \"[\" @) \"x\" }}",
    "{{ include @ . }}",
    "{{ tpl (print \"{{ \" @ \" }}\") . }}",
    "{{ index .spec @ }}",
    "{{ index .keys.data @ }}",
    "{{ (index .keys.data @).x.y }}",
    "{{ range @ }}{{ end }}",
    "{{ (@).field }}",
    "{{ mustFromJson @ }}",
    "{{ add1 (mustToJson @) | fail }}",
    "{{ template \"x\" (fail @) }}",
    "  a: {{ @ }}: b: c\n",
    "  a: [ {{ @ }}\n",
    "  a: \"{{ @ }}\n",
    "--- {{ @ }}\n",
    "  {{ @ | quote }}: 1\n  {{ @ | quote }}: 2\n",
    "metadata: {{ @ | quote }}\n",
    "{{ @ | trim }}: 1\n",
];

/// Whether a message has six bytes in a row of a secret.
fn leaks(message: &str, secret: &str) -> Option<String> {
    secret
        .as_bytes()
        .windows(6)
        .filter_map(|part| std::str::from_utf8(part).ok())
        .find(|part| message.contains(part))
        .map(str::to_owned)
}

fn clean(turn: &str, end: &str, secret: &str) -> Result<(), String> {
    let bare = "{{- $p := .keys.data.p | b64dec -}}\n";
    let end = end.replace('@', turn);
    let web = if end.starts_with("{{") {
        format!("{bare}{end}\n{HEAD}  b: 1\n")
    } else {
        format!("{bare}{HEAD}{end}")
    };
    let mut stack = support::stack(&[
        ("keys", SECRET),
        ("web", &web),
        ("status", "error: {{ .errors.web | toJson }}\n"),
    ]);
    stack
        .depends_on
        .push(api::key::Reference::parse("secret/v1").unwrap());
    let (Some(compiled), _) = engine::compile(&stack) else {
        return Ok(());
    };
    let (kind, seed) = (&compiled.kinds[0], Seed::new(*b"a seed for tests"));
    let context = Context::new("demo", &seed);
    let (instance, observed) = (instance(&json!({})), observed(secret));
    let plan = plan(kind, &instance, &observed, &context);
    // Of a plan that has no problem, the API server may still say what it likes of an object.
    let echo = plan
        .applies
        .iter()
        .filter(|apply| apply.template == "web")
        .map(|apply| {
            let message = format!(
                "Deployment is invalid: spec: Invalid value: {}: no",
                apply.object["spec"]
            );
            hidden(
                kind,
                &instance,
                &observed,
                &context,
                ("web", &apply.object),
                &message,
            )
        });
    let said = said(&plan) + &echo.collect::<String>();
    let encoded = gocompat::base::encode64(secret.as_bytes());
    let shapes = [
        secret.to_owned(),
        secret.to_uppercase(),
        secret.to_lowercase(),
        encoded,
        secret.chars().rev().collect(),
    ];
    match shapes.iter().find_map(|shape| leaks(&said, shape)) {
        Some(part) => Err(format!("{part:?} of {secret:?} by {end:?} is in: {said}")),
        None => Ok(()),
    }
}

#[test]
fn no_part_of_a_secret_is_in_anything_that_a_plan_says() {
    for (at, turn) in TURNS.iter().enumerate() {
        for end in ENDS.iter().skip(at % 5).step_by(5) {
            clean(turn, end, "hUnt-8sK2#xq!Zw9-pLmb7").unwrap();
        }
    }
    let config = ProptestConfig {
        cases: 150,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let rng = proptest::test_runner::TestRng::deterministic_rng(config.rng_algorithm);
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(config, rng);
    let strategy = (0..TURNS.len(), 0..TURNS.len(), 0..ENDS.len(), "[!-~]{8,40}");
    runner
        .run(&strategy, |(turn, then, end, secret)| {
            let turn = TURNS[then].replace("$p", TURNS[turn]);
            clean(&turn, ENDS[end], &secret).map_err(TestCaseError::fail)
        })
        .unwrap();
}

#[test]
fn refusals_are_told_without_the_secrets_of_the_object() {
    let keys = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .metadata.name }}-keys\n\
                stringData:\n  p: {{ generated \"a\" \"randAlphaNum\" 24 }}\n  q: {{ .spec.image | quote }}\n  r: authors-own-secret\n";
    let web = format!(
        "{HEAD}  a: {{{{ .keys.data.p | b64dec | quote }}}}\n  b: {{{{ randAlphaNum 30 | upper }}}}\n"
    );
    let mut stack = support::stack(&[("keys", keys), ("web", &web)]);
    stack
        .depends_on
        .push(api::key::Reference::parse("secret/v1").unwrap());
    let (compiled, problems) = engine::compile(&stack);
    let compiled = compiled.unwrap_or_else(|| panic!("{}", support::lines(&problems)));
    let (kind, seed) = (&compiled.kinds[0], Seed::new(*b"a seed for tests"));
    let context = Context::new("demo", &seed);
    let instance = instance(&json!({ "image": "a \"private\" thing" }));
    let observed = observed("hunter2-hunter2");
    let plan = decide(kind, &instance, &observed, &context, None);
    for apply in &plan.applies {
        let fields = ["spec", "stringData"].map(|field| apply.object[field].clone());
        for value in fields
            .iter()
            .filter_map(Value::as_object)
            .flat_map(|fields| fields.values())
        {
            let text = value.as_str().unwrap();
            for quoted in [
                text.to_owned(),
                format!("{text:?}"),
                gocompat::base::encode64(text.as_bytes()),
                format!("map[string]string{{\"p\":{value}}}"),
                text.chars().take(9).collect(),
            ] {
                let message = format!(
                    "{} \"web\" is invalid: spec.a: Invalid value: {quoted}: no",
                    apply.object["kind"]
                );
                let told = hidden(
                    kind,
                    &instance,
                    &observed,
                    &context,
                    (&apply.template, &apply.object),
                    &message,
                );
                assert_eq!(leaks(&told, text), None, "{told}");
                assert!(told.contains("(hidden)"), "{told}");
                assert!(
                    told.contains("is invalid: spec.a: Invalid value: "),
                    "{told}"
                );
                let failure = Failure {
                    template: apply.template.clone(),
                    reason: "ApplyFailed",
                    message: told,
                };
                let plan = tell(
                    kind,
                    &instance,
                    &observed,
                    &context,
                    plan.clone(),
                    &[failure],
                );
                assert_eq!(leaks(&said(&plan), text), None, "{}", said(&plan));
            }
        }
    }
}

#[test]
fn a_secret_that_is_not_yaml_is_told_without_its_values() {
    let keys = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .metadata.name }}-keys\nstringData:\n  p: {{ .spec.image }}\n";
    let mut stack = support::stack(&[("keys", keys)]);
    stack
        .depends_on
        .push(api::key::Reference::parse("secret/v1").unwrap());
    let (compiled, problems) = engine::compile(&stack);
    let compiled = compiled.unwrap_or_else(|| panic!("{}", support::lines(&problems)));
    let seed = Seed::new(*b"a seed for tests");
    let context = Context::new("demo", &seed);
    for image in [
        "12345678",
        "{private-value",
        "private: thing",
        "\"private-value",
        "private\n---\nthing",
        "private\nthing: x",
    ] {
        let plan = plan(
            &compiled.kinds[0],
            &instance(&json!({ "image": image })),
            &Observed::new(),
            &context,
        );
        assert!(!plan.problems.is_empty(), "{image}");
        assert_eq!(leaks(&said(&plan), image), None, "{}", said(&plan));
    }
}

/// What a template may do before it comes to the secret: cheap to write, and costly.
const COSTS: &[&str] = &[
    "{{ range until (int .spec.size) }}{{ $x := sha256sum \"x\" }}{{ end }}",
    "{{ $l := until 300 }}{{ range until (int .spec.size) }}{{ $x := has -1 $l }}{{ end }}",
    "{{ $s := repeat (int .spec.size) \"a\" }}{{ range until 50 }}{{ $x := sha256sum $s }}{{ end }}",
    "{{ $x := regexMatch (print \"(a|b)*\" (repeat (int (div .spec.size 5)) \"a\")) (repeat 200 \"a\") }}",
    "{{ $x := list }}{{ range $i := until (int .spec.size) }}{{ $x = append $x $i }}{{ end }}",
    "{{ $x := dict }}{{ range $i := until (int .spec.size) }}{{ $_ := set $x (toString $i) $i }}{{ end }}",
    "",
];

/// The same, with functions that take long in themselves: they go with few of the goals.
const SLOW: &[&str] = &[
    "{{ $ca := genCA \"x\" 1 }}",
    "{{ $hash := bcrypt \"x\" }}",
    "{{ $hash := htpasswd \"u\" \"x\" }}",
];

/// Where the secret `$p` goes, from the name on: into an object that the API server may quote, or
/// into one that cannot be.
const GOALS: &[&str] = &[
    "\nspec:\n  a: {{ $p | quote }}\n",
    "\nspec:\n  {{ $p | quote }}: 1\n",
    "-{{ $p }}_\nspec: {a: 1}\n",
    "-{{ print $p \"!\" | quote }}\nspec: {a: 1}\n",
    "\n  namespace: {{ $p | quote }}\nspec: {a: 1}\n",
    "\nspec:\n  a: {{ print $p .spec.image }}\n",
    "\nspec:\n  a: {{ tpl (print \"{{ range until 3000 }}{{ end }}\" $p) . | quote }}\n",
    "\nspec:\n  a: {{ if .spec.image }}{{ fail (print \"no: \" $p) }}{{ end }}\n",
];

/// What such a template begins with.
const BEGIN: &str =
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .metadata.name }}";

/// With any budget: a message that cannot be checked within it is withheld.
#[test]
fn no_secret_is_told_whatever_the_template_costs_and_however_small_the_budget_is() {
    let seed = Seed::new(*b"a seed for tests");
    let mut all: Vec<(&str, &str)> = COSTS
        .iter()
        .flat_map(|cost| GOALS.iter().map(move |goal| (*cost, *goal)))
        .collect();
    all.extend(SLOW.iter().map(|cost| (*cost, GOALS[0])));
    for (index, (cost, goal)) in all.into_iter().enumerate() {
        let number = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let secret = format!("hUnt8sK2{number:x}{number}");
        let origin = [
            ".keys.data.p | b64dec",
            "generated \"pw\" \"randAlphaNum\" 24",
        ][index / 3 % 2];
        let turns = [
            "$p",
            "($p | upper)",
            "($p | b64enc)",
            "(printf \"x-%s\" $p)",
            "(list $p | first)",
        ];
        let turn = turns[index % turns.len()];
        let web = format!("{{{{- $p := {origin} }}}}{{{{ $p = {turn} }}}}{cost}\n{BEGIN}{goal}");
        let compiled = stack(&web);
        let (kind, spec) = (
            &compiled.kinds[0],
            json!({ "image": ": b: c", "size": 100 + index * 7 % 400 }),
        );
        let (instance, observed) = (instance(&spec), observed(&secret));
        let full = Context::new("demo", &seed);
        let made = decide(kind, &instance, &observed, &full, None);
        let object = made
            .applies
            .iter()
            .find(|apply| apply.template == "web")
            .map(|apply| apply.object.clone());
        let shown = object
            .as_ref()
            .map(|object| object["spec"].to_string())
            .unwrap_or_default();
        let generated = generated(&instance, &full);
        let meter = Meter::new(full.limits.clone());
        decide(
            kind,
            &instance,
            &observed,
            &Context {
                meter: Some(&meter),
                ..full.clone()
            },
            None,
        );
        let whole = meter.work();
        let shares: &[u64] = if SLOW.contains(&cost) {
            &[0, 5]
        } else {
            &[0, 5, 9, 10, 12, 19, 21, 50]
        };
        for share in shares {
            let limits = Limits {
                work: (whole * share / 10).max(1),
                ..full.limits.clone()
            };
            let context = Context {
                limits,
                ..full.clone()
            };
            let planned = plan(kind, &instance, &observed, &context);
            let mut told = said(&planned);
            if let Some(object) = &object {
                let path = format!(
                    "spec.{}",
                    object["spec"].as_object().unwrap().keys().next().unwrap()
                );
                for message in [
                    format!("Deployment \"web\" is invalid: {path}: Invalid value: {shown}: no"),
                    format!(
                        "Deployment \"web\" is invalid: [{path}: Required value: {shown}, {path}: Forbidden: {shown}]"
                    ),
                    format!("admission webhook denied the request: {shown}"),
                ] {
                    told += &hidden(
                        kind,
                        &instance,
                        &observed,
                        &context,
                        ("web", object),
                        &message,
                    );
                    told += "\n";
                }
            }
            for secret in [&secret, &generated] {
                let encoded = gocompat::base::encode64(secret.as_bytes());
                for shape in [secret.clone(), secret.to_uppercase(), encoded] {
                    let leaked = leaks(&told, &shape);
                    assert_eq!(
                        leaked, None,
                        "variant {index}, {share}/10 of the budget, {web}: {told}"
                    );
                }
            }
        }
    }
}

/// What `generated "pw"` is for an instance.
fn generated(instance: &Value, context: &Context<'_>) -> String {
    let compiled = stack(&format!(
        "{HEAD}  a: {{{{ generated \"pw\" \"randAlphaNum\" 24 }}}}\n"
    ));
    let plan = decide(
        &compiled.kinds[0],
        instance,
        &observed("hunter2-hunter2"),
        context,
        None,
    );
    plan.applies
        .iter()
        .find_map(|apply| apply.object["spec"]["a"].as_str())
        .unwrap()
        .to_owned()
}

#[test]
fn a_message_that_is_withheld_still_names_the_field_and_the_fault() {
    let seed = Seed::new(*b"a seed for tests");
    let compiled = stack(&format!(
        "{{{{- $p := generated \"pw\" \"randAlphaNum\" 24 }}}}{{{{ $x := bcrypt \"a\" }}}}\n{HEAD}  a: {{{{ $p }}}}\n"
    ));
    let (kind, instance, observed) = (
        &compiled.kinds[0],
        instance(&json!({})),
        observed("hunter2-hunter2"),
    );
    let full = Context::new("demo", &seed);
    let plan = decide(kind, &instance, &observed, &full, None);
    let object = &plan
        .applies
        .iter()
        .find(|apply| apply.template == "web")
        .unwrap()
        .object;
    let context = Context {
        limits: Limits {
            work: 1_000_000,
            ..full.limits.clone()
        },
        ..full
    };
    let told = |message: &str| {
        hidden(
            kind,
            &instance,
            &observed,
            &context,
            ("web", object),
            message,
        )
    };
    let why = "; the message is withheld, because finding the secret values in it went over budget";
    for (message, expected) in [
        (
            "Deployment \"web\" is invalid: spec.a: Invalid value: \"hunter2\": no",
            ": spec.a: Invalid value",
        ),
        (
            "Deployment \"web\" is invalid: spec.hunter2: Forbidden: field is immutable",
            ": spec.(hidden): Forbidden, field is immutable",
        ),
        (
            "Deployment \"web\" is invalid: [spec[3].a: Too long: may not be, spec: Required value]",
            ": spec[3].a: Required value, Too long",
        ),
        (
            "Deployment \"web\" is invalid: spec[123456]: Required value",
            ": spec.(hidden): Required value",
        ),
        ("admission webhook \"hunter2\" denied the request", ""),
    ] {
        assert_eq!(
            told(message),
            format!("Deployment was not applied{expected}{why}")
        );
    }
}
