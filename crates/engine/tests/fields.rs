//! What can be told of fields before there is an instance, and what is told of those that an
//! instance lacks.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use engine::{Context, Observed, Report, Rule, Seed, compile, simulate};
use serde_json::json;
use support::{compiled, config_map, instance, lines, planned, stack};

#[test]
fn what_is_certain_of_a_status_is_checked_before_there_is_an_instance() {
    for (why, status, expected) in [
        ("a known field", "url: {{ .db.status.ip }}\n", ""),
        (
            "an unknown field",
            "url: x\nulr: y\n",
            "status.yaml:2:1: `status` has no field `ulr`: the API server drops it",
        ),
        (
            "an unknown field suggests",
            "ulr: y\n",
            "(did you mean `url`?)",
        ),
        (
            "in a branch",
            "{{ if .spec.on }}\nulr: y\n{{ end }}\n",
            "status.yaml:2:1: `status` has no field `ulr`",
        ),
        (
            "a wrong type",
            "count: many\n",
            "status.yaml:1:8: the API server would refuse this status: status.count: ",
        ),
        (
            "a wrong type in a branch",
            "{{ if .spec.on }}count: many{{ end }}\n",
            "status.yaml:1:25: the API server would",
        ),
        ("a text without quotes", "url: 7\n", "(write it in quotes)"),
        (
            "a number in quotes",
            "count: \"7\"\n",
            "(write it without quotes)",
        ),
        ("an unknown type", "count: {{ .spec.image }}\n", ""),
        (
            "a part of an unknown text",
            "url: http://{{ .spec.image }}/\ncount: {{ .spec.size }}\n",
            "",
        ),
        (
            "both sides",
            "{{ if .spec.on }}\ncount: 1\n{{ else }}\ncount: 2\n{{ end }}\n",
            "",
        ),
        (
            "both sides in a line",
            "count: {{ if .spec.on }}7{{ else }}-7{{ end }}\n",
            "",
        ),
        (
            "more in a branch",
            "count: 7{{ if .spec.on }} of 9{{ end }}\n",
            "",
        ),
        (
            "bad YAML",
            "url: x\ncount 1\n",
            "status.yaml:2:1: the text is not YAML: could not find expected ':'",
        ),
        (
            "a colon",
            "url: a: b\n",
            "status.yaml:1:7: the text is not YAML: mapping values are not allowed",
        ),
        (
            "bad YAML of something unknown",
            "{{ toYaml .spec.extra }}\nurl: x\n",
            "",
        ),
        (
            "a list",
            "- url: x\n",
            "status.yaml:1:1: the status is no mapping",
        ),
        (
            "a word",
            "ready\n",
            "status.yaml:1:1: the status is no mapping",
        ),
        ("nothing", "# nothing\n", ""),
        ("all of something", "{{ toYaml .db.status }}\n", ""),
        (
            "a key that is a truth",
            "on: x\nurl: x\n",
            "status.yaml:1:1: YAML reads the key `on` as `true`",
        ),
        (
            "conditions of its own",
            "conditions:\n- {type: Ready, status: \"True\"}\n",
            "",
        ),
    ] {
        let (_, problems) = compile(&stack(&[
            ("db", &config_map("db", "x")),
            ("status", status),
        ]));
        let shown = lines(&problems);
        assert!(
            shown.contains(expected) && shown.is_empty() == expected.is_empty(),
            "{why}: {shown}"
        );
    }
}

#[test]
fn a_step_that_leads_nowhere_is_told_what_stands_before_it() {
    for (data, expected) in [
        (
            "{{ .spec.image.tag }}",
            "(it is a single value: print it as `.spec.image`)",
        ),
        (
            "{{ .spec.hosts.name }}",
            "(`{{ range .spec.hosts }}{{ .name }}{{ end }}`, or one item: `(index .spec.hosts 0).name`)",
        ),
        ("{{ range .spec.size }}{{ . }}{{ end }}", ""),
        ("{{ .spec.colour }}", "(add the field to the CRD's schema)"),
    ] {
        let (_, problems) = compile(&stack(&[("a", &config_map("a", data))]));
        assert!(
            lines(&problems).contains(expected),
            "{data}: {}",
            lines(&problems)
        );
    }
}

#[test]
fn a_field_that_some_instances_lack_is_warned_of_where_all_print_it() {
    for (why, data, warned) in [
        ("printed always", "{{ .spec.image }}", true),
        (
            "guarded",
            "{{ if .spec.image }}{{ .spec.image }}{{ end }}",
            false,
        ),
        (
            "only if something else",
            "{{ if .spec.on }}{{ .spec.image }}{{ end }}",
            false,
        ),
        ("answered for", "{{ .spec.image | default \"x\" }}", false),
        ("open", "{{ .spec.extra.anything }}", false),
        (
            "in a loop",
            "{{ range .spec.hosts }}{{ .name }}{{ end }}",
            false,
        ),
        ("of metadata", "{{ .metadata.name }}", false),
    ] {
        let (compiled, problems) = compile(&stack(&[("a", &config_map("a", data))]));
        let shown = lines(&problems);
        assert!(compiled.is_some(), "{why}: {shown}");
        assert_eq!(
            shown.contains("is not set in every instance"),
            warned,
            "{why}: {shown}"
        );
    }
}

#[test]
fn a_field_that_is_not_set_is_named_as_its_author_and_the_schema_know_it() {
    for (data, expected) in [
        (
            "{{ .spec.image }}",
            "`.spec.image` is not set (set it in the instance, give it a default in the CRD, or write `.spec.image | default ...`)",
        ),
        (
            "{{ range .spec.hosts }}{{ .name }}{{ end }}",
            "`.spec.hosts[0].name` is not set (set it in the instance, give `spec.hosts[].name` a default in the CRD, or write `.name | default ...`)",
        ),
    ] {
        let compiled = compiled(&[("a", &config_map("a", data))]);
        let plan = planned(
            &compiled,
            &instance(&json!({"hosts": [{}]})),
            &Observed::new(),
        );
        assert_eq!(plan.problems.len(), 1, "{data}");
        let told = plan.problems[0].problem.to_string();
        assert!(told.ends_with(expected), "{told}");
    }
}

#[test]
fn a_status_that_is_refused_or_broken_leaves_everything_as_it_is() {
    for (why, status, expected) in [
        (
            "refused",
            "url: x\ncount: {{ .spec.image }}\n",
            "status.yaml:2:11: the API server would refuse this status",
        ),
        (
            "broken",
            "url: x\n{{ if .spec.image }}count: {{ if eq .spec.image \"nginx\" }}x: x{{ end }}{{ end }}\n",
            "status.yaml:2:60: the rendered status is not YAML",
        ),
        (
            "a list",
            "{{ if .spec.image }}- a{{ end }}\n",
            "status.yaml:1:21: the rendered status is no mapping",
        ),
    ] {
        let compiled = compiled(&[("db", &config_map("db", "x")), ("status", status)]);
        let mut object = instance(&json!({"image": "nginx"}));
        object["status"] =
            json!({"url": "before", "conditions": [{"type": "Ready", "status": "True"}]});
        let plan = planned(&compiled, &object, &Observed::new());
        let told = plan
            .problems
            .iter()
            .map(|problem| problem.problem.to_string())
            .collect::<Vec<_>>()
            .join("\n");
        assert!(told.contains(expected), "{why}: {told}");
        let status = plan.status.unwrap();
        assert_eq!(
            (&status["url"], status.get("count")),
            (&json!("before"), None),
            "{why}"
        );
        assert_eq!(
            status["conditions"][1]["reason"], "RenderFailed",
            "{why}: {status}"
        );
    }
}

#[test]
fn a_simulation_tells_what_controllers_report_and_when() {
    let compiled = compiled(&[
        ("app", &config_map("app", "{{ .db.status.ip }}")),
        ("db", &config_map("db", "x")),
    ]);
    let seed = Seed::new(*b"a seed for tests");
    let context = Context::new("demo", &seed);
    let status = json!({"ip": "10.0.0.1"});
    let rules = [Rule {
        child: "db".to_string(),
        status: status.clone(),
    }];
    let simulation = simulate(
        &compiled.kinds[0],
        &instance(&json!({})),
        Observed::new(),
        &rules,
        &context,
    );
    let passes: Vec<_> = simulation
        .passes
        .iter()
        .map(|pass| (pass.changed.clone(), pass.reports.clone()))
        .collect();
    let report = Report {
        child: "db".to_string(),
        status,
    };
    assert_eq!(passes[0], (vec!["db".to_string()], vec![report]));
    assert_eq!(passes[1], (vec!["app".to_string()], vec![]));
    assert!(simulation.settled);
}
