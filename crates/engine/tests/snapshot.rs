//! A whole plan, as the controllers get it.

mod support;

use engine::Observed;
use serde_json::json;
use support::{compiled, config_map, instance, live, planned};

#[test]
fn a_plan_holds_owned_objects_waits_deletes_and_a_status() {
    let compiled = compiled(&[
        ("app", &config_map("app", "{{ .db.status.ip }}")),
        ("db", &config_map("db", "{{ .spec.image }}")),
        (
            "off",
            &format!(
                "{{{{ if .spec.on }}}}{}{{{{ end }}}}",
                config_map("off", "x")
            ),
        ),
        ("status", "url: http://{{ .db.status.ip }}\ncount: 1\n"),
    ]);
    let mut observed = Observed::new();
    observed.insert("off".to_string(), live("off", &json!({})));
    let plan = planned(
        &compiled,
        &instance(&json!({"image": "nginx", "on": false})),
        &observed,
    );
    insta::assert_snapshot!(yaml::emit(&serde_json::to_value(&plan).unwrap()).unwrap(), @r#"
    applies:
    - object:
        apiVersion: v1
        data:
          v: nginx
        kind: ConfigMap
        metadata:
          labels:
            stacks.crossplane.io/stack: demo
            stacks.crossplane.io/template: db
          name: web-db
          namespace: default
          ownerReferences:
          - apiVersion: example.org/v1
            blockOwnerDeletion: true
            controller: true
            kind: App
            name: web
            uid: u1
      template: db
    deletes:
    - apiVersion: v1
      kind: ConfigMap
      name: web-off
      namespace: default
      template: "off"
      uid: uid-off
    events: []
    holds:
    - for:
      - path: db.status.ip
        place:
          column: 12
          file: app.yaml
          line: 6
      template: app
    problems: []
    status:
      conditions:
      - message: ""
        observedGeneration: 3
        reason: Rendered
        status: "True"
        type: Synced
      - message: app waits for db.status.ip (app.yaml:6:12)
        observedGeneration: 3
        reason: Waiting
        status: "False"
        type: Ready
      count: 1
    "#);
}
