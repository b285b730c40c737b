//! Generated values and values of Secrets never reach a message, however they are turned and wherever they fail.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod support;

use engine::carry::Failure;
use engine::{Context, Observed, Plan, Seed, decide, hidden, plan, tell};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::instance;

const SECRET: &str =
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .metadata.name }}-keys\nstringData:\n  p: x\n";

fn observed(secret: &str) -> Observed {
    let object = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "web-keys", "namespace": "default", "uid": "uid-keys" },
        "data": { "p": gotpl::go::base::encode64(secret.as_bytes()) },
    });
    Observed::from([("keys".to_string(), object)])
}

fn stack(web: &str) -> engine::Compiled {
    let mut stack =
        support::stack(&[("keys", SECRET), ("web", web), ("status", "error: {{ .errors.web | toJson }}\n")]);
    stack.depends_on.push(api::key::Reference::parse("secret/v1").unwrap());
    let (compiled, problems) = engine::compile(&stack);
    compiled.unwrap_or_else(|| panic!("{}", support::lines(&problems)))
}

/// All that a plan says.
fn said(plan: &Plan) -> String {
    let problems = plan.problems.iter().map(|problem| problem.problem.to_string());
    let holds = plan.holds.iter().flat_map(|hold| hold.waits.iter().map(ToString::to_string));
    let events = plan.events.iter().map(|event| event.message.clone());
    let status = plan.status.iter().map(Value::to_string);
    let unready = plan.unready.iter().map(|unready| unready.message.clone());
    problems.chain(holds).chain(events).chain(status).chain(unready).collect::<Vec<_>>().join("\n")
}

fn planned(web: &str, secret: &str, spec: &Value) -> Plan {
    let seed = Seed::new(*b"a seed for tests");
    let context = Context::new("demo", &seed);
    plan(&stack(web).kinds[0], &instance(spec), &observed(secret), &context)
}

const HEAD: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .metadata.name }}\nspec:\n";

#[test]
fn what_the_author_says_is_told_without_the_secret_in_it() {
    for (fail, expected) in [
        ("{{ fail (printf \"bad %s!\" (.keys.data.p | b64dec)) }}", "bad (hidden)!"),
        ("{{ fail (printf \"bad %s of %s\" (.keys.data.p | b64dec | upper) .metadata.name) }}", "bad (hidden) of web"),
        ("{{ $p := .keys.data.p | b64dec }}{{ required (print \"no \" $p) .status.url }}", "no (hidden)"),
        ("{{ fail (cat \"n\" (.keys.data.p | b64dec | len)) }}", "n (hidden)"),
        ("{{ fail (generated \"a\" \"randAlphaNum\" 20) }}", "(hidden)"),
        ("{{ fail (print \"x \" (randNumeric 2)) }}", "x (hidden)"),
        ("{{ fail (htpasswd \"u\" \"p\" | printf \"<%s>\") }}", "<(hidden)>"),
        ("{{ $c := genCA \"x\" 1 }}{{ fail (print \"key \" $c.Key) }}", "key (hidden)"),
        ("{{ fail (.keys.data.p | b64dec | splitList \"-\" | first) }}", "(hidden)"),
        ("{{ fail (print \"name \" .keys.metadata.name) }}", "name web-keys"),
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
    let web = if end.starts_with("{{") { format!("{bare}{end}\n{HEAD}  b: 1\n") } else { format!("{bare}{HEAD}{end}") };
    let mut stack =
        support::stack(&[("keys", SECRET), ("web", &web), ("status", "error: {{ .errors.web | toJson }}\n")]);
    stack.depends_on.push(api::key::Reference::parse("secret/v1").unwrap());
    let (Some(compiled), _) = engine::compile(&stack) else { return Ok(()) };
    let (kind, seed) = (&compiled.kinds[0], Seed::new(*b"a seed for tests"));
    let context = Context::new("demo", &seed);
    let (instance, observed) = (instance(&json!({})), observed(secret));
    let plan = plan(kind, &instance, &observed, &context);
    // Of a plan that has no problem, the API server may still say what it likes of an object.
    let echo = plan.applies.iter().filter(|apply| apply.template == "web").map(|apply| {
        let message = format!("Deployment is invalid: spec: Invalid value: {}: no", apply.object["spec"]);
        hidden(kind, &instance, &observed, &context, ("web", &apply.object), &message)
    });
    let said = said(&plan) + &echo.collect::<String>();
    let encoded = gotpl::go::base::encode64(secret.as_bytes());
    let shapes =
        [secret.to_owned(), secret.to_uppercase(), secret.to_lowercase(), encoded, secret.chars().rev().collect()];
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
    let config = ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() };
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
    let web = format!("{HEAD}  a: {{{{ .keys.data.p | b64dec | quote }}}}\n  b: {{{{ randAlphaNum 30 | upper }}}}\n");
    let mut stack = support::stack(&[("keys", keys), ("web", &web)]);
    stack.depends_on.push(api::key::Reference::parse("secret/v1").unwrap());
    let (compiled, problems) = engine::compile(&stack);
    let compiled = compiled.unwrap_or_else(|| panic!("{}", support::lines(&problems)));
    let (kind, seed) = (&compiled.kinds[0], Seed::new(*b"a seed for tests"));
    let context = Context::new("demo", &seed);
    let instance = instance(&json!({ "image": "a \"private\" thing" }));
    let observed = observed("hunter2-hunter2");
    let plan = decide(kind, &instance, &observed, &context, None);
    for apply in &plan.applies {
        let fields = ["spec", "stringData"].map(|field| apply.object[field].clone());
        for value in fields.iter().filter_map(Value::as_object).flat_map(|fields| fields.values()) {
            let text = value.as_str().unwrap();
            for quoted in [
                text.to_owned(),
                format!("{text:?}"),
                gotpl::go::base::encode64(text.as_bytes()),
                format!("map[string]string{{\"p\":{value}}}"),
                text.chars().take(9).collect(),
            ] {
                let message =
                    format!("{} \"web\" is invalid: spec.a: Invalid value: {quoted}: no", apply.object["kind"]);
                let told = hidden(kind, &instance, &observed, &context, (&apply.template, &apply.object), &message);
                assert_eq!(leaks(&told, text), None, "{told}");
                assert!(told.contains("(hidden)"), "{told}");
                assert!(told.contains("is invalid: spec.a: Invalid value: "), "{told}");
                let failure = Failure { template: apply.template.clone(), reason: "ApplyFailed", message: told };
                let plan = tell(kind, &instance, &observed, &context, plan.clone(), &[failure]);
                assert_eq!(leaks(&said(&plan), text), None, "{}", said(&plan));
            }
        }
    }
}

#[test]
fn a_secret_that_is_not_yaml_is_told_without_its_values() {
    let keys = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .metadata.name }}-keys\nstringData:\n  p: {{ .spec.image }}\n";
    let mut stack = support::stack(&[("keys", keys)]);
    stack.depends_on.push(api::key::Reference::parse("secret/v1").unwrap());
    let (compiled, problems) = engine::compile(&stack);
    let compiled = compiled.unwrap_or_else(|| panic!("{}", support::lines(&problems)));
    let seed = Seed::new(*b"a seed for tests");
    let context = Context::new("demo", &seed);
    for image in
        ["12345678", "{private-value", "private: thing", "\"private-value", "private\n---\nthing", "private\nthing: x"]
    {
        let plan = plan(&compiled.kinds[0], &instance(&json!({ "image": image })), &Observed::new(), &context);
        assert!(!plan.problems.is_empty(), "{image}");
        assert_eq!(leaks(&said(&plan), image), None, "{}", said(&plan));
    }
}
