//! The status of an instance: never held back as a whole, and silent about what is not known.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use engine::Observed;
use serde_json::{Value, json};
use support::{compiled, config_map, instance, live, planned};

fn status(template: &str, db: Option<Value>, own: Value) -> Value {
    let compiled = compiled(&[
        ("db", &config_map("db", "{{ .spec.image }}")),
        ("status", template),
    ]);
    let mut observed = Observed::new();
    if let Some(status) = db {
        observed.insert("db".to_string(), live("db", &status));
    }
    let mut instance = instance(&json!({"image": "nginx"}));
    instance["status"] = own;
    let mut status = planned(&compiled, &instance, &observed).status.unwrap();
    status.as_object_mut().unwrap().remove("conditions");
    status
}

#[test]
fn a_field_whose_text_is_not_known_is_left_out() {
    for (why, template, db, own, expected) in [
        (
            "known",
            "url: http://{{ .db.status.ip }}\n",
            Some(json!({"ip": "1.2.3.4"})),
            json!({}),
            json!({"url": "http://1.2.3.4"}),
        ),
        (
            "field missing",
            "url: http://{{ .db.status.ip }}\ncount: 1\n",
            Some(json!({})),
            json!({}),
            json!({"count": 1}),
        ),
        (
            "sibling missing",
            "count: 1\nurl: {{ .db.status.ip }}\n",
            None,
            json!({}),
            json!({"count": 1}),
        ),
        (
            "a function fails over it",
            "url: {{ upper .db.status.ip }}\ncount: 1\n",
            None,
            json!({}),
            json!({"count": 1}),
        ),
        (
            "Go's word for nothing",
            "output: {{ printf \"%s+\" .status.output }}\nurl: {{ .status.url }}\ncount: 1\n",
            None,
            json!({}),
            json!({"count": 1}),
        ),
        (
            "a branch on missing is false",
            "{{ if .db.status.ip }}url: there{{ else }}count: 2{{ end }}\n",
            None,
            json!({}),
            json!({"count": 2}),
        ),
        (
            "a default is an answer",
            "url: {{ .db.status.ip | default \"none\" }}\n",
            None,
            json!({}),
            json!({"url": "none"}),
        ),
        (
            "own status grows",
            "output: \"+ {{ .status.output }}\"\n",
            None,
            json!({}),
            json!({"output": "+ "}),
        ),
        (
            "own status grows on",
            "output: \"+ {{ .status.output }}\"\n",
            None,
            json!({"output": "+ "}),
            json!({"output": "+ + "}),
        ),
        (
            "unknown fields are pruned",
            "url: x\nnonsense: 1\n",
            None,
            json!({}),
            json!({"url": "x"}),
        ),
    ] {
        assert_eq!(status(template, db, own), expected, "{why}");
    }
}

#[test]
fn errors_of_templates_can_be_told_in_the_status() {
    let compiled = compiled(&[
        ("db", &config_map("db", "{{ .spec.image }}")),
        ("status", "error: {{ .errors.db | quote }}\n"),
    ]);
    let plan = planned(&compiled, &instance(&json!({})), &Observed::new());
    let status = plan.status.unwrap();
    assert!(
        status["error"]
            .as_str()
            .unwrap()
            .contains("`.spec.image` is not set"),
        "{status}"
    );
    assert_eq!(status["conditions"][0]["reason"], "RenderFailed");
}

#[test]
fn conditions_say_how_it_goes() {
    let compiled = compiled(&[
        ("app", &config_map("app", "{{ .db.status.ip }}")),
        ("db", &config_map("db", "x")),
    ]);
    let ready = |observed: &Observed| {
        let plan = planned(&compiled, &instance(&json!({})), observed);
        let ready = plan.status.unwrap()["conditions"][1].clone();
        (
            ready["status"].as_str().unwrap().to_string(),
            ready["reason"].as_str().unwrap().to_string(),
            ready["message"].as_str().unwrap().to_string(),
        )
    };
    let mut observed = Observed::new();
    let (status, reason, message) = ready(&observed);
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Waiting"));
    assert_eq!(message, "app waits for db.status.ip (app.yaml:6:12)");
    observed.insert("db".to_string(), live("db", &json!({"ip": "x"})));
    assert_eq!(ready(&observed).1, "Creating");
    observed.insert(
        "app".to_string(),
        live(
            "app",
            &json!({"conditions": [{"type": "Ready", "status": "False"}]}),
        ),
    );
    assert_eq!(ready(&observed).1, "ChildNotReady");
    observed.insert(
        "app".to_string(),
        live(
            "app",
            &json!({"conditions": [{"type": "Ready", "status": "True"}]}),
        ),
    );
    assert_eq!(ready(&observed).0, "True");
}

fn ready_of(templates: &[(&str, &str)], observed: &Observed) -> (String, String) {
    let mut instance =
        instance(&json!({"image": "nginx", "hosts": [{"name": "a"}, {"name": "b"}]}));
    instance["metadata"]["generation"] = json!(3);
    let plan = planned(&compiled(templates), &instance, observed);
    let ready = plan.status.unwrap()["conditions"][1].clone();
    let unready = plan
        .unready
        .map(|unready| unready.message)
        .unwrap_or_default();
    assert_eq!(
        ready["message"],
        json!(unready),
        "the plan says the same where there is no condition"
    );
    (
        ready["status"].as_str().unwrap().to_string(),
        ready["message"].as_str().unwrap().to_string(),
    )
}

#[test]
fn an_instance_is_ready_when_its_workloads_have_said_so_and_names_the_first_that_has_not() {
    let template = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: '{{ .metadata.name }}-app'}\n\
                    spec: {replicas: 2}\n";
    let app = |status: Value| {
        let mut object = live("app", &status);
        object["apiVersion"] = json!("apps/v1");
        object["kind"] = json!("Deployment");
        object["metadata"]["generation"] = json!(1);
        object["spec"] = json!({"replicas": 2});
        ready_of(
            &[("app", template)],
            &Observed::from([("app".to_string(), object)]),
        )
    };
    let told = |status: &str, message: &str| (status.to_string(), message.to_string());
    let waits = told(
        "False",
        "app: its 2 replicas are not all ready and up to date",
    );
    let missing = ready_of(&[("app", template)], &Observed::new());
    assert_eq!(
        missing,
        told("False", "app: Deployment/web-app is not there yet")
    );
    assert_eq!(app(json!(null)), waits);
    assert_eq!(
        app(json!({"observedGeneration": 1, "updatedReplicas": 2, "readyReplicas": 1})),
        waits
    );
    let all = json!({"observedGeneration": 1, "updatedReplicas": 2, "readyReplicas": 2});
    assert_eq!(app(all), told("True", ""));
}

#[test]
fn one_of_several_is_named_and_another_instance_of_the_stack_has_to_have_spoken() {
    let template = "{{ range .spec.hosts }}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .name }}'}\n{{ end }}";
    let map = |name: &str, ready: &str| {
        let mut object = live(
            name,
            &json!({"conditions": [{"type": "Ready", "status": ready, "reason": "R"}]}),
        );
        object["metadata"]["name"] = json!(name);
        object
    };
    let observed = Observed::from([(
        "all".to_string(),
        json!([map("a", "True"), map("b", "False")]),
    )]);
    let found = ready_of(&[("all", template)], &observed);
    assert_eq!(
        found,
        (
            "False".to_string(),
            "all: ConfigMap/b: it says Ready=False (R)".to_string()
        )
    );

    let template = "{{ if ne .metadata.name \"last\" }}apiVersion: example.org/v1\nkind: App\n\
                    metadata: {name: '{{ .metadata.name }}-sub'}\n{{ end }}";
    let inner = |status: Value| {
        let mut object = live("sub", &status);
        object["apiVersion"] = json!("example.org/v1");
        object["kind"] = json!("App");
        object["metadata"]["generation"] = json!(1);
        ready_of(
            &[("sub", template)],
            &Observed::from([("sub".to_string(), object)]),
        )
    };
    assert_eq!(
        inner(json!({"url": "u"})).1,
        "sub: it has not said yet whether it is ready"
    );
    assert_eq!(
        inner(json!({"conditions": [{"type": "Ready", "status": "True"}]})).0,
        "True"
    );
}

#[test]
fn a_field_that_is_pending_keeps_what_it_says_and_one_that_is_absent_goes() {
    let own = json!({"url": "old", "output": "older"});
    // The child is there and has not said it yet.
    let found = status(
        "url: {{ .db.status.endpoint }}\noutput: x\n",
        Some(json!({})),
        own.clone(),
    );
    assert_eq!(
        (&found["url"], &found["output"]),
        (&json!("old"), &json!("x"))
    );
    // It is to be there.
    let found = status("url: {{ .db.status.endpoint }}\n", None, own.clone());
    assert_eq!(
        (found.get("url"), found.get("output")),
        (Some(&json!("old")), None)
    );
    // Nothing was said before.
    let found = status("url: {{ .db.status.endpoint }}\n", None, json!({}));
    assert_eq!(found.get("url"), None);
    // It is the instance that does not say it.
    let found = status(
        "url: {{ .spec.extra.none }}\n",
        Some(json!({})),
        own.clone(),
    );
    assert_eq!(found.get("url"), None);
    let found = status("url: {{ .errors.db }}\n", Some(json!({})), own);
    assert_eq!(found.get("url"), None);
}
