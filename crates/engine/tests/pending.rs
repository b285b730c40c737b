//! Pending is not absent: the table of what becomes of a template whose inputs are not all there.

mod support;

use engine::Observed;
use serde_json::{Value, json};
use support::{compiled, config_map, instance, live, planned, words};

/// Plans template `app` beside `db`, with what is observed of each.
fn case(app: &str, db: Option<Value>, own: bool) -> Vec<String> {
    let compiled = compiled(&[("app", app), ("db", &config_map("db", "x"))]);
    let mut observed = Observed::new();
    if let Some(status) = db {
        observed.insert("db".to_string(), live("db", &status));
    }
    if own {
        observed.insert("app".to_string(), live("app", &json!({})));
    }
    let plan = planned(&compiled, &instance(&json!({"image": "nginx"})), &observed);
    words(&plan)
        .into_iter()
        .filter(|word| word != "apply db")
        .collect()
}

#[test]
fn what_was_read_decides_what_becomes_of_a_template() {
    let (there, not_there) = (Some(json!({"ip": "10.0.0.1"})), Some(json!({})));
    let plain = |data: &str| config_map("app", data);
    let guarded = |open: &str| format!("{{{{ {open} }}}}{}{{{{ end }}}}", config_map("app", "x"));
    for (why, app, db, own, expected) in [
        (
            "nothing missing",
            plain("{{ .db.status.ip }}"),
            there.clone(),
            false,
            "apply app",
        ),
        (
            "own spec in the text",
            plain("{{ .spec.size }}"),
            None,
            false,
            "fail app: app.yaml:6:14: `.spec.size` is not set (set it in the instance, give it a default in the CRD, or write `.spec.size | default ...`)",
        ),
        (
            "own spec with a default",
            plain("{{ .spec.size | default 1 | quote }}"),
            None,
            false,
            "apply app",
        ),
        (
            "own spec in a condition",
            plain("{{ if .spec.on }}a{{ else }}b{{ end }}"),
            None,
            false,
            "apply app",
        ),
        (
            "own status",
            plain("\"+ {{ .status.output }}\""),
            None,
            false,
            "apply app",
        ),
        (
            "itself",
            plain("\"{{ .app.metadata.annotations }}\""),
            None,
            false,
            "apply app",
        ),
        (
            "sibling not there, in the text",
            plain("{{ .db.status.ip }}"),
            None,
            false,
            "wait app for db.status.ip (app.yaml:6:12)",
        ),
        (
            "sibling not there, with a default, first time",
            plain("{{ .db.status.ip | default \"none\" }}"),
            None,
            false,
            "apply app",
        ),
        (
            "sibling not there, with a default, already made",
            plain("{{ .db.status.ip | default \"none\" }}"),
            None,
            true,
            "wait app for db.status.ip (app.yaml:6:12)",
        ),
        (
            "sibling not there, around the document",
            guarded("if .db.status.ip"),
            None,
            false,
            "wait app for db.status.ip (app.yaml:1:10)",
        ),
        (
            "field missing, in the text",
            plain("{{ .db.status.ip }}"),
            not_there.clone(),
            false,
            "wait app for db.status.ip (app.yaml:6:12)",
        ),
        (
            "field missing, already made",
            plain("{{ .db.status.ip }}"),
            not_there.clone(),
            true,
            "wait app for db.status.ip (app.yaml:6:12)",
        ),
        (
            "field missing, under printf",
            plain("{{ printf \"%s:80\" .db.status.ip }}"),
            not_there.clone(),
            false,
            "wait app for db.status.ip (app.yaml:6:27)",
        ),
        (
            "field missing, under quote",
            plain("{{ quote .db.status.ip }}"),
            not_there.clone(),
            false,
            "wait app for db.status.ip (app.yaml:6:18)",
        ),
        (
            "field missing, under upper, which fails",
            plain("{{ upper .db.status.ip }}"),
            not_there.clone(),
            false,
            "wait app for db.status.ip (app.yaml:6:18)",
        ),
        (
            "field missing, under index, which fails",
            plain("{{ index .db.status.list 0 }}"),
            not_there.clone(),
            false,
            "wait app for db.status.list (app.yaml:6:18)",
        ),
        (
            "field missing, under toYaml",
            plain("{{ toYaml .db.status.ip }}"),
            not_there.clone(),
            false,
            "wait app for db.status.ip (app.yaml:6:19)",
        ),
        (
            "field missing, with a default",
            plain("{{ .db.status.ip | default \"none\" }}"),
            not_there.clone(),
            true,
            "apply app",
        ),
        (
            "field missing, dug for",
            plain("{{ dig \"status\" \"ip\" \"none\" .db }}"),
            not_there.clone(),
            false,
            "apply app",
        ),
        (
            "field missing, asked for with hasKey",
            guarded("if hasKey .db.status \"ip\""),
            not_there.clone(),
            true,
            "delete app",
        ),
        (
            "field missing, asked for with empty",
            guarded("if not (empty .db.status.ip)"),
            not_there.clone(),
            true,
            "delete app",
        ),
        (
            "field missing, only a condition, text left",
            plain("{{ if .db.status.ip }}a{{ else }}b{{ end }}"),
            not_there.clone(),
            false,
            "apply app",
        ),
        (
            "field missing, a condition around the document",
            guarded("if .db.status.ip"),
            not_there.clone(),
            true,
            "wait app for db.status.ip (app.yaml:1:10)",
        ),
        (
            "field missing, with around the document",
            guarded("with .db.status.ip"),
            not_there.clone(),
            true,
            "wait app for db.status.ip (app.yaml:1:12)",
        ),
        (
            "field missing, eq around the document",
            guarded("if eq .db.status.ip \"x\""),
            not_there.clone(),
            true,
            "wait app for db.status.ip (app.yaml:1:13)",
        ),
        (
            "field missing, through tpl",
            plain("{{ tpl \"{{ .db.status.net.ip }}\" . }}"),
            not_there.clone(),
            false,
            "wait app for db.status.net (app.yaml:6:9)",
        ),
        (
            "field missing, got from what is got",
            plain("{{ get (get .db.status \"net\") \"ip\" }}"),
            not_there.clone(),
            false,
            "wait app for db.status.net (app.yaml:6:14)",
        ),
        (
            "field missing, indexed twice",
            plain("{{ index .db \"status\" \"net\" \"ip\" }}"),
            not_there.clone(),
            false,
            "wait app for db.status.net (app.yaml:6:9)",
        ),
        (
            "field missing, a field of what is dug for",
            plain("{{ (dig \"status\" \"net\" \"\" .db).ip }}"),
            not_there.clone(),
            false,
            "wait app for db.status.net (app.yaml:6:10)",
        ),
        (
            "sibling not there, got from what is got",
            plain("{{ get (get .db \"status\") \"ip\" }}"),
            None,
            false,
            "wait app for db (app.yaml:6:18)",
        ),
        (
            "field null, under printf",
            plain("{{ printf \"%s\" .db.status.ip }}"),
            Some(json!({"ip": null})),
            false,
            "wait app for db.status.ip (app.yaml:6:24)",
        ),
        (
            "itself, under printf",
            plain("{{ printf \"%v\" .app.status.ip }}"),
            None,
            false,
            "fail app: app.yaml:6:25: `.app.status.ip` is nil, and `printf` would print `<nil>` for it (write `.app.status.ip | default ...`, or put it under an `if`)",
        ),
        (
            "own status, printed and hidden",
            plain("{{ toString .status.output | b64enc }}"),
            None,
            false,
            "fail app: app.yaml:6:25: `.status.output` is nil, and `toString` would print `<nil>` for it (write `.status.output | default ...`, or put it under an `if`)",
        ),
        (
            "own status, printed and compared",
            plain("{{ eq (print .status.output) \"<nil>\" | quote }}"),
            None,
            false,
            "apply app",
        ),
        (
            "field missing, merged into a dict",
            plain("{{ (merge (dict \"a\" 1) .db.status.net).ip }}"),
            not_there.clone(),
            false,
            "wait app for db.status.net (app.yaml:6:32)",
        ),
        (
            "own switch around the document",
            guarded("if .spec.on"),
            not_there.clone(),
            true,
            "delete app",
        ),
        (
            "all of the data, a sibling missing",
            plain("{{ toJson . | quote }}"),
            None,
            false,
            "wait app for db (app.yaml:6:9)",
        ),
    ] {
        let expected: &[&str] = if expected.is_empty() {
            &[]
        } else {
            &[expected]
        };
        assert_eq!(case(&app, db, own), expected, "{why}:\n{app}");
    }
}

#[test]
fn a_sibling_that_its_own_inputs_switch_off_is_a_fact() {
    let db = format!(
        "{{{{ if .spec.on }}}}{}{{{{ end }}}}",
        config_map("db", "x")
    );
    let app = config_map(
        "app",
        "{{ with .db }}{{ .status.ip }}{{ else }}none{{ end }}",
    );
    let compiled = compiled(&[("app", &app), ("db", &db)]);
    let plan = planned(
        &compiled,
        &instance(&json!({"on": false})),
        &Observed::new(),
    );
    assert_eq!(words(&plan), ["apply app"]);
    assert_eq!(plan.applies[0].object["data"]["v"], "none");
    let plan = planned(&compiled, &instance(&json!({"on": true})), &Observed::new());
    assert_eq!(words(&plan), ["apply db", "apply app"]);
}

#[test]
fn a_fact_that_is_nil_is_never_printed_as_such() {
    let db = format!(
        "{{{{ if .spec.on }}}}{}{{{{ end }}}}",
        config_map("db", "x")
    );
    for (data, expected) in [
        ("\"{{ .db.status.ip }}\"", "apply app"),
        (
            "{{ .db.status.ip | default \"none\" | printf \"%s\" }}",
            "apply app",
        ),
        (
            "{{ if .db }}{{ printf \"%s\" .db.status.ip }}{{ end }}",
            "apply app",
        ),
        (
            "{{ printf \"%s:80\" .db.status.ip }}",
            "fail app: app.yaml:6:27: `.db.status.ip` is nil, and `printf` would print `<nil>` for it (write `.db.status.ip | default ...`, or put it under an `if`)",
        ),
        (
            "{{ upper .db.status.ip }}",
            "fail app: app.yaml:6:18: invalid value; expected string (`.db.status.ip` is nil here: write `.db.status.ip | default ...`, or put it under an `if`)",
        ),
    ] {
        let compiled = compiled(&[("app", &config_map("app", data)), ("db", &db)]);
        let plan = planned(
            &compiled,
            &instance(&json!({"on": false})),
            &Observed::new(),
        );
        assert_eq!(words(&plan), [expected], "{data}");
    }
}

#[test]
fn children_are_made_after_those_they_read_and_deleted_before() {
    let on = |name: &str, data: &str| {
        format!(
            "{{{{ if .spec.on }}}}{}{{{{ end }}}}",
            config_map(name, data)
        )
    };
    let compiled = compiled(&[
        ("a", &on("a", "{{ .b.status.ip }}")),
        ("b", &on("b", "{{ .c.status.ip }}")),
        ("c", &on("c", "x")),
    ]);
    let names: Vec<_> = compiled.kinds[0]
        .children
        .iter()
        .map(|child| child.name.as_str())
        .collect();
    assert_eq!(names, ["c", "b", "a"]);
    let observed: Observed = ["a", "b", "c"]
        .iter()
        .map(|name| ((*name).to_string(), live(name, &json!({"ip": "x"}))))
        .collect();
    assert_eq!(
        words(&planned(
            &compiled,
            &instance(&json!({"on": true})),
            &observed
        )),
        ["apply c", "apply b", "apply a"]
    );
    assert_eq!(
        words(&planned(
            &compiled,
            &instance(&json!({"on": false})),
            &observed
        )),
        ["delete a", "delete b", "delete c"]
    );
}

#[test]
fn a_collection_makes_what_its_list_says_and_drops_the_rest() {
    let hosts = "{{ range .spec.hosts }}---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ $.metadata.name }}-{{ .name }}\n{{ end }}";
    let count = config_map("count", "{{ len .hosts | quote }}");
    let compiled = compiled(&[("hosts", hosts), ("count", &count)]);
    assert_eq!(
        compiled.kinds[0].child("hosts").unwrap().shape,
        engine::Shape::Collection
    );
    let mut observed = Observed::new();
    observed.insert(
        "hosts".to_string(),
        json!([live("a", &json!({})), live("old", &json!({}))]),
    );
    let plan = planned(
        &compiled,
        &instance(&json!({"hosts": [{"name": "a"}, {"name": "b"}]})),
        &observed,
    );
    let names: Vec<_> = plan
        .applies
        .iter()
        .map(|apply| apply.object["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["web-a", "web-b", "web-count"]);
    assert_eq!(
        plan.deletes
            .iter()
            .map(|delete| delete.name.as_str())
            .collect::<Vec<_>>(),
        ["web-old"]
    );
    assert_eq!(plan.deletes[0].uid, "uid-old");
    assert_eq!(
        plan.applies[2].object["data"]["v"], "2",
        "siblings see what is observed"
    );
    let plan = planned(&compiled, &instance(&json!({})), &observed);
    assert_eq!(
        plan.deletes.len(),
        2,
        "an absent list of the user's is an empty one"
    );
}

#[test]
fn a_template_that_left_the_stack_takes_its_objects_along_once_all_others_are_known() {
    let waiting = compiled(&[
        ("app", &config_map("app", "{{ .db.status.ip }}")),
        ("db", &config_map("db", "x")),
    ]);
    let mut observed = Observed::new();
    observed.insert("old".to_string(), live("old", &json!({})));
    assert_eq!(
        words(&planned(&waiting, &instance(&json!({})), &observed)),
        ["apply db", "wait app for db.status.ip (app.yaml:6:12)"]
    );
    observed.insert("db".to_string(), live("db", &json!({"ip": "x"})));
    assert_eq!(
        words(&planned(&waiting, &instance(&json!({})), &observed)),
        ["apply db", "apply app", "delete old"]
    );
}

#[test]
fn what_reads_nothing_that_changed_is_not_rendered_again() {
    let templates = [
        ("config", config_map("config", "{{ .spec.image }}")),
        (
            "reader",
            config_map("reader", "{{ .config.metadata.name }}"),
        ),
        (
            "itself",
            config_map("itself", "{{ .itself.status.ip | default \"none\" }}"),
        ),
    ];
    let templates: Vec<(&str, &str)> = templates
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let compiled = compiled(&templates);
    let seed = engine::Seed::new(*b"a seed for tests");
    let context = engine::Context::new("demo", &seed);
    let (kind, instance) = (&compiled.kinds[0], instance(&json!({"image": "nginx"})));
    let same = |plan: &engine::Plan| -> Vec<String> {
        plan.applies
            .iter()
            .filter(|apply| apply.is_same)
            .map(|apply| apply.template.clone())
            .collect()
    };
    let of = |names: &[&str]| -> Observed {
        names
            .iter()
            .map(|name| ((*name).to_owned(), live(name, &json!({}))))
            .collect()
    };
    let mut then = of(&[]);
    let mut before = engine::decide(kind, &instance, &then, &context, None);
    assert_eq!(same(&before), [""; 0]);
    for (children, expected) in [
        (&["config", "itself"][..], &["config"][..]),
        (&["config", "itself"], &["config", "itself", "reader"]),
        (
            &["config", "itself", "reader"],
            &["config", "itself", "reader"],
        ),
        (&["itself", "reader"], &["config", "itself"]),
    ] {
        let now = of(children);
        before = engine::decide(kind, &instance, &now, &context, Some((before, &then)));
        let mut found = same(&before);
        found.sort();
        assert_eq!(found, expected, "with {children:?}");
        then = now;
    }
}

#[test]
fn a_key_that_yaml_reads_as_something_else_is_told_if_an_action_printed_it() {
    let printed =
        "x\n  {{- range $k, $v := .spec.extra }}\n  {{ $k }}: {{ $v | quote }}\n  {{- end }}";
    let quoted = printed.replace("{{ $k }}", "{{ $k | quote }}");
    let told = "YAML reads the key `no` as `false`";
    for (why, data, extra, expected) in [
        ("a truth", printed, json!({ "no": "1" }), told),
        (
            "a number",
            printed,
            json!({ "1.10": "1" }),
            "YAML reads the key `1.10` as `1.1`",
        ),
        ("a number as it is", printed, json!({ "8080": "1" }), ""),
        ("a text", printed, json!({ "a": "1" }), ""),
        ("in quotes", &quoted, json!({ "no": "1" }), ""),
        (
            "as somebody wrote it",
            "x\n  on: \"{{ .spec.image }}\"",
            json!({}),
            "",
        ),
    ] {
        let compiled = compiled(&[("a", &config_map("a", data))]);
        let plan = planned(
            &compiled,
            &instance(&json!({ "image": "nginx", "extra": extra })),
            &Observed::new(),
        );
        let words = words(&plan).join("\n");
        assert_eq!(
            words.starts_with("fail a: a.yaml:"),
            !expected.is_empty(),
            "{why}: {words}"
        );
        assert!(words.contains(expected), "{why}: {words}");
    }
}
