//! The rules that the proposal leaves open, and everything that is refused: a table each.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use serde_json::{Value, json};
use templates::{Dialect, Given, Problem, Processed, process};

fn random() -> impl FnMut() -> Result<u64, String> {
    let mut bits = 0_u64;
    move || {
        bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
        Ok(bits)
    }
}

fn run(text: &str, given: &Given) -> Result<Processed, Vec<Problem>> {
    process(yaml::parse(text).unwrap(), given, &mut random())
}

fn told(text: &str, given: &Given) -> Vec<String> {
    match run(text, given) {
        Ok(processed) => panic!("{text}\nbecame {:?}", processed.objects()),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

/// A template of parentheses with parameters `A: a` and `NUM: "2"` around objects.
fn parentheses(objects: &str) -> String {
    format!(
        "kind: Template\napiVersion: templates.stacks.crossplane.io/v1alpha1\nparameters:\n- {{name: A, value: a}}\n\
         - {{name: NUM, value: '2'}}\nobjects:\n{objects}"
    )
}

fn braces(objects: &str) -> String {
    parentheses(objects).replace(
        "templates.stacks.crossplane.io/v1alpha1",
        "template.openshift.io/v1",
    )
}

fn object(text: &str, given: &Given) -> Value {
    run(text, given)
        .unwrap_or_else(|problems| panic!("{text}\n{problems:?}"))
        .objects()[0]
        .clone()
}

#[test]
fn everything_wrong_is_told_at_once_with_its_place_and_a_way_out() {
    let none = Given::default();
    let template = "kind: Template\napiVersion: v1\n";
    for (text, given, expected) in [
        (
            "[]".to_owned(),
            &none,
            &["a template is a mapping, and this is a list"][..],
        ),
        (
            "kind: Pod\napiVersion: v1\n".to_owned(),
            &none,
            &["kind: this is a Pod, not a Template (a template has `kind: Template`)"],
        ),
        (
            "a: 1\n".to_owned(),
            &none,
            &["kind: this is no template: it has no kind (a template has `kind: Template`)"],
        ),
        (
            "kind: Template\napiversion: v1\n".to_owned(),
            &none,
            &["apiversion: `apiversion` is misspelt (write `apiVersion`)"],
        ),
        (
            "kind: Template\napiVersion: v2\n".to_owned(),
            &none,
            &[
                "apiVersion: the apiVersion `v2` has no templates that are known here (it is one of \
               templates.stacks.crossplane.io/v1alpha1, template.openshift.io/v1, v1)",
            ],
        ),
        (
            template.to_owned(),
            &none,
            &[
                "objects: a template has `objects`, the list of what it makes (an empty list is fine: `objects: []`)",
            ],
        ),
        (
            format!(
                "{template}objects: [1, {{}}, {{kind: ''}}, {{kind: List, items: []}}]\nlabels: {{a: 1}}\nmessage: []\n"
            ),
            &none,
            &[
                "objects[0]: an object is a mapping, and this is the number 1",
                "objects[1]: the object has no kind",
                "objects[2].kind: a kind is a text that is not empty, and this is an empty text",
                "objects[3].kind: a List inside of a template cannot be labelled as one object (put its items into `objects` themselves)",
                "message: a message is a text, and this is a list (write it in quotes, so that it is taken as it stands)",
                "labels.a: the value of a label is a text, and this is the number 1 (write it in quotes, so that it is taken as it stands)",
            ],
        ),
        (
            format!(
                "{template}objects: []\nparameters:\n- 1\n- {{value: x}}\n- {{name: A-B}}\n- {{name: C, value: 2}}\n\
                 - {{name: D, required: 'yes'}}\n- {{name: E, type: float}}\n- {{name: C}}\n"
            ),
            &none,
            &[
                "parameters[0]: a parameter is a mapping, and this is the number 1",
                "parameters[1].name: a parameter needs a name",
                "parameters[2].name: `A-B` cannot be the name of a parameter (it consists of letters A-Z, a-z, digits and _)",
                "parameters[3].value: `value` of the parameter C is a text, and this is the number 2 (write it in quotes, so that it is taken as it stands)",
                "parameters[4].required: `required` is true or false, and this is a text (write it without quotes)",
                "parameters[5].type: `float` is no type of a parameter (it is string, int, bool or base64)",
                "parameters[4].name: the parameter C is declared twice, first as parameters[1] (keep one of them)",
            ],
        ),
        (
            format!(
                "{template}objects: []\nparameters:\n- {{name: PASSWORD, required: true}}\n- {{name: COUNT, type: int, value: many}}\n\
                 - {{name: SWITCH, type: boolean}}\n- {{name: KEY, type: base64, value: '?'}}\n"
            ),
            &Given::values([
                ("SWITCH", "True"),
                ("PASWORD", "x"),
                ("other", "x"),
                ("SWITCH", "x"),
            ]),
            &[
                "the template has no parameter PASWORD (is PASSWORD meant?)",
                "the template has no parameter other (it has PASSWORD, COUNT, SWITCH, KEY)",
                "the parameter SWITCH was given more than once",
                "parameters[0]: the parameter PASSWORD is required and has no value (give one with `-p PASSWORD=VALUE`)",
                "parameters[1].value: the parameter COUNT is of type int, and `many` is no whole number",
                "parameters[2]: the parameter SWITCH is of type bool, and `x` is neither `true` nor `false`",
                "parameters[3].value: the parameter KEY is of type base64, and `?` is not base64",
            ],
        ),
        (
            parentheses("- {kind: A, name: $(A), other: '${A}'}"),
            &none,
            &[
                "objects[0].name: the template writes references in two ways: `$(A)` here, and `${A}` at objects[0].other (write all \
               of them in one way, or say which one is meant by the annotation `templates.stacks.crossplane.io/dialect: \
               parentheses` or `braces`)",
            ],
        ),
        (
            parentheses("- {kind: A, data: {$(A): 1, a: 2}}"),
            &none,
            &[
                "objects[0].data.a: the keys `$(A)` and `a` both become `a` (give other values, or write other keys)",
            ],
        ),
        (
            parentheses(
                "- {kind: A, metadata: {labels: 1}}\n- {kind: A, metadata: []}\nlabels: {x: w}",
            ),
            &none,
            &[
                "objects[0].metadata.labels: the template's labels cannot be put here: `labels` is a mapping, and this is the number 1",
                "objects[1].metadata: the template's labels cannot be put here: `metadata` is a mapping, and this is a list",
            ],
        ),
        (
            parentheses("- {kind: A}\nlabels: {$(A): ok, a: x}"),
            &none,
            &[
                "labels.a: the keys `$(A)` and `a` both become `a` (give other values, or write other keys)",
            ],
        ),
        (
            format!(
                "{template}objects: []\nparameters: [{{name: A, generate: expression, from: '[a-z]{{4}}'}}]\nmessage: $(A)\n"
            ),
            &none,
            &[
                "parameters[0].generate: the parameter A wants its value generated, which only OpenShift's templates do (take \
               `generate` away and mark it `required: true`, or write references as `${A}`)",
            ],
        ),
        (
            format!(
                "{template}objects: []\nparameters:\n- {{name: A, generate: magic}}\n- {{name: B, generate: expression, from: '[z-a]{{3}}'}}\n\
                 - {{name: C, generate: expression, from: '[a-z]{{256}}'}}\n"
            ),
            &none,
            &[
                "parameters[0].generate: the parameter A wants the generator `magic`, which there is not (the only one is `expression`)",
                "parameters[1].from: the parameter B cannot be generated: `[z-a]` has the range `z-a`, which goes backwards (ranges go by the order a-z, A-Z, 0-9)",
                "parameters[2].from: the parameter C cannot be generated: `[a-z]{256}` asks for 256 characters (ask for 1 to 255)",
            ],
        ),
        (
            parentheses("- {kind: A, deep: [{x: $(A)}, {w: $(A)$(A)$(A)$(A)}]}"),
            &Given {
                budget: 3,
                ..Given::values([("A", "12")])
            },
            &["objects[0].deep[1].w: the values take too much room, here at the latest"],
        ),
    ] {
        assert_eq!(told(&text, given), expected, "{text}");
    }
    let problems = told(&parentheses("- {kind: A}\nlabels: {'a b': 'c d'}"), &none);
    assert!(
        problems.len() == 2
            && problems[0].starts_with("labels.a b: `a b` cannot be the key of a label: "),
        "{problems:?}"
    );
}

#[test]
fn a_variable_of_the_same_name_is_refused_only_where_the_kubelet_would_read_it() {
    let pod = |container: &str| {
        parentheses(&format!(
            "- {{kind: Pod, apiVersion: v1, spec: {{containers: [{container}]}}}}"
        ))
    };
    for (container, clash) in [
        // The proposal's own example: a variable does not see itself.
        ("{env: [{name: A, value: $(A)}]}", None),
        (
            "{env: [{name: A, value: $(A)}, {name: URL, value: 'http://$(A)'}], args: [$(A)]}",
            None,
        ),
        (
            "{env: [{name: A, value: other}, {name: B, value: $(A)}]}",
            Some("env[1].value"),
        ),
        (
            "{env: [{name: B, value: $(A)}, {name: A, value: other}]}",
            None,
        ),
        (
            "{env: [{name: A, value: other}], command: [run, $(A)]}",
            Some("command[1]"),
        ),
        (
            "{env: [{name: A, value: other}], args: [$(A)]}",
            Some("args[0]"),
        ),
        ("{env: [{name: A, value: other}], args: [$((A))]}", None),
        ("{env: [{name: A, value: other}], args: [$$(A)]}", None),
        (
            "{env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}], args: [$(A)]}",
            Some("args[0]"),
        ),
        (
            "{env: [{name: A, value: other}], volumeMounts: [{subPathExpr: $(A)}]}",
            Some("volumeMounts[0].subPathExpr"),
        ),
        (
            "{env: [{name: A, value: other}], livenessProbe: {exec: {command: [$(A)]}}}",
            Some("livenessProbe.exec.command[0]"),
        ),
        (
            "{env: [{name: A, value: other}], image: $(A), volumeMounts: [{mountPath: $(A)}]}",
            None,
        ),
        ("{env: [{name: A, value: other}]}, {args: [$(A)]}", None),
    ] {
        let outcome = run(&pod(container), &Given::default());
        let path = outcome.err().map(|problems| problems[0].path.to_string());
        let expected = clash.map(|clash| format!("objects[0].spec.containers[0].{clash}"));
        assert_eq!(path, expected, "{container}");
    }
    let text = pod("{env: [{name: A, value: other}], args: ['$(A)']}").replace("$(A)", "${A}");
    assert!(
        run(&text, &Given::default()).is_ok(),
        "braces mean nothing to the kubelet"
    );
}

#[test]
fn an_escaped_reference_keeps_what_the_kubelet_will_take_away() {
    let text = parentheses(
        "- {kind: Pod, apiVersion: v1, metadata: {name: $$(A)}, spec: {containers: [{args: [$$(A), $$(B)], image: $$(A)}]}}",
    );
    let pod = object(&text, &Given::default());
    assert_eq!(pod["metadata"]["name"], "$(A)");
    assert_eq!(
        pod["spec"]["containers"][0],
        json!({"args": ["$$(A)", "$$(B)"], "image": "$(A)"})
    );
}

#[test]
fn strict_mode_finds_references_that_nobody_can_mean() {
    let strict = Given {
        strict: true,
        ..Given::default()
    };
    let text = parentheses(
        "- {kind: Pod, apiVersion: v1, metadata: {name: $(AA)}, spec: {containers: [{env: [{name: B, value: x}], args: [$(B), $(C)]}]}}",
    );
    assert_eq!(
        told(&text, &strict),
        [
            "objects[0].metadata.name: `$(AA)` is neither a parameter nor a variable that could be seen here (is `A` meant?)",
            "objects[0].spec.containers[0].args[1]: `$(C)` is neither a parameter nor a variable that could be seen here (is `A` meant?)",
        ]
    );
    assert_eq!(
        object(&text, &Given::default())["metadata"]["name"],
        "$(AA)"
    );
}

#[test]
fn a_whole_number_stays_one_or_the_reason_is_told() {
    const BEYOND: &str = "its value is beyond the numbers of 64 bits";
    const ZERO: &str = "its value begins with a zero";
    for (written, value, expected) in [
        (
            "$((NUM))",
            "18446744073709551615",
            Ok(json!(18_446_744_073_709_551_615_u64)),
        ),
        ("$((NUM))", "-9223372036854775808", Ok(json!(i64::MIN))),
        ("$((NUM))", "-0", Ok(json!(0))),
        ("$((NUM))", "18446744073709551616", Err(BEYOND)),
        ("$((NUM))", "99999999999999999999", Err(BEYOND)),
        ("$((NUM))", "-9223372036854775809", Err(BEYOND)),
        ("$((NUM))", "007", Err(ZERO)),
        ("$((NUM))", "-01", Err(ZERO)),
        // Text has room for any digits, and what is optional may have no value at all.
        (
            "$(NUM)",
            "99999999999999999999",
            Ok(json!("99999999999999999999")),
        ),
        ("$(NUM)", "007", Ok(json!("007"))),
        ("a-$((NUM))", "007", Ok(json!("a-007"))),
        ("$((NUM))", "", Ok(json!(""))),
    ] {
        let text = parentheses(&format!("- {{kind: A, x: '{written}'}}"))
            .replace("name: NUM", "name: NUM, type: int");
        let given = Given::values([("NUM", value)]);
        match expected {
            Ok(expected) => assert_eq!(object(&text, &given)["x"], expected, "{written} {value}"),
            Err(why) => {
                let what = format!("the parameter NUM is to be a number here, and {why}");
                let expected = format!("objects[0].x: {what} (write `$(NUM)` where text is meant)");
                assert_eq!(told(&text, &given), [expected], "{written} {value}");
            }
        }
    }
    // OpenShift has no types, so there it is a word and no mistake.
    let text = braces("- {kind: A, x: '${{NUM}}'}").replace("name: NUM", "name: NUM, type: int");
    let processed = run(&text, &Given::values([("NUM", "007")])).unwrap();
    assert_eq!(processed.objects()[0]["x"], "007");
    let told: Vec<String> = processed.warnings.iter().map(ToString::to_string).collect();
    let what = "the parameter NUM is to be a number here, and its value begins with a zero";
    assert_eq!(
        told,
        [format!(
            "objects[0].x: {what} (write `${{NUM}}` where text is meant)"
        )]
    );
}

#[test]
fn labels_go_to_objects_pods_and_selectors_together_or_not_at_all() {
    let labels = "\nlabels: {app: t, tier: $(A)}";
    let both = json!({"app": "t", "tier": "a"});
    for (object_text, pointer, expected) in [
        (
            "{kind: ConfigMap, apiVersion: v1}",
            "/metadata/labels",
            both.clone(),
        ),
        (
            "{kind: ConfigMap, apiVersion: v1, metadata: {labels: {app: own, x: w, num: 1}}}",
            "/metadata/labels",
            json!({"app": "t", "tier": "a", "x": "w", "num": 1}),
        ),
        (
            "{kind: Deployment, apiVersion: apps/v1, spec: {selector: {matchLabels: {x: w}}, template: {metadata: {labels: {x: w}}}}}",
            "/spec",
            json!({"selector": {"matchLabels": {"x": "w", "app": "t", "tier": "a"}},
                "template": {"metadata": {"labels": {"x": "w", "app": "t", "tier": "a"}}}}),
        ),
        (
            "{kind: StatefulSet, apiVersion: apps/v1, spec: {selector: {matchExpressions: [{key: x, operator: Exists}]}, template: {}}}",
            "/spec",
            json!({"selector": {"matchExpressions": [{"key": "x", "operator": "Exists"}], "matchLabels": both},
                "template": {"metadata": {"labels": both}}}),
        ),
        (
            "{kind: ReplicationController, apiVersion: v1, spec: {selector: {x: w}, template: {}}}",
            "/spec/selector",
            json!({"x": "w", "app": "t", "tier": "a"}),
        ),
        (
            "{kind: Job, apiVersion: batch/v1, spec: {template: {}}}",
            "/spec",
            json!({"template": {"metadata": {"labels": both}}}),
        ),
        (
            "{kind: CronJob, apiVersion: batch/v1, spec: {jobTemplate: {spec: {template: {}}}}}",
            "/spec/jobTemplate/spec",
            json!({"template": {"metadata": {"labels": both}}}),
        ),
        (
            "{kind: Service, apiVersion: v1, spec: {selector: {x: w}}}",
            "/spec/selector",
            json!({"x": "w", "app": "t", "tier": "a"}),
        ),
        (
            "{kind: Service, apiVersion: v1, spec: {selector: {}}}",
            "/spec/selector",
            json!({}),
        ),
        (
            "{kind: Service, apiVersion: v1, spec: {type: ExternalName}}",
            "/spec",
            json!({"type": "ExternalName"}),
        ),
        (
            "{kind: PodDisruptionBudget, apiVersion: policy/v1, spec: {selector: {matchLabels: {x: w}}}}",
            "/spec/selector/matchLabels",
            json!({"x": "w", "app": "t", "tier": "a"}),
        ),
        (
            "{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, spec: {podSelector: {}}}",
            "/spec/podSelector",
            json!({}),
        ),
        // No template, so the selector stays as it is too.
        (
            "{kind: Deployment, apiVersion: apps/v1, spec: {selector: {matchLabels: {x: w}}}}",
            "/spec/selector/matchLabels",
            json!({"x": "w"}),
        ),
        (
            "{kind: Deployment, apiVersion: example.org/v1, spec: {selector: {matchLabels: {x: w}}, template: {}}}",
            "/spec",
            json!({"selector": {"matchLabels": {"x": "w"}}, "template": {}}),
        ),
        (
            "{kind: PersistentVolumeClaim, apiVersion: v1, spec: {selector: {matchLabels: {x: w}}}}",
            "/spec/selector",
            json!({"matchLabels": {"x": "w"}}),
        ),
        (
            "{kind: Deployment, apiVersion: apps/v1, spec: {selector: {matchLabels: {x: w}}, template: {spec: {nodeSelector: {x: w}}}}}",
            "/spec/template/spec/nodeSelector",
            json!({"x": "w"}),
        ),
    ] {
        let object = object(
            &parentheses(&format!("- {object_text}{labels}")),
            &Given::default(),
        );
        assert_eq!(
            object.pointer(pointer),
            Some(&expected),
            "{object_text}: {object}"
        );
        assert_eq!(object["metadata"]["labels"]["app"], "t", "{object_text}");
    }
    let text = "- {kind: Deployment, apiVersion: apps/v1, spec: {selector: {matchLabels: {x: w}}, template: {}}}\nlabels: {x: z}";
    let spec = json!({"selector": {"matchLabels": {"x": "w"}}, "template": {}});
    let keep = Given {
        keep_selectors: true,
        ..Given::default()
    };
    let annotated = format!(
        "{}\nmetadata: {{annotations: {{templates.stacks.crossplane.io/selectors: keep}}}}",
        parentheses(text)
    );
    for (text, given) in [
        (braces(text), &Given::default()),
        (parentheses(text), &keep),
        (annotated, &Given::default()),
    ] {
        let object = object(&text, given);
        assert_eq!(
            (&object["spec"], &object["metadata"]["labels"]),
            (&spec, &json!({"x": "z"})),
            "{text}"
        );
    }
    let wrong = parentheses(
        "- {kind: Deployment, apiVersion: apps/v1, spec: {selector: [], template: {}}}\nlabels: {x: z}",
    );
    assert_eq!(
        told(&wrong, &Given::default()),
        ["objects[0].spec.selector: a selector is a mapping, and this is a list"]
    );
}

#[test]
fn labels_that_are_given_win_and_marks_stay_on_the_objects() {
    let text = parentheses(
        "- {kind: Deployment, apiVersion: apps/v1, spec: {selector: {matchLabels: {x: w}}, template: {}}}\nlabels: {a: own, b: own}",
    );
    let label = |key: &str, value: &str| [(key.to_owned(), value.to_owned())].into();
    let given = Given {
        labels: label("a", "given"),
        marks: label("m", "n"),
        ..Given::default()
    };
    let processed = run(&text, &given).unwrap();
    let deployment = &processed.objects()[0];
    assert_eq!(
        deployment["metadata"]["labels"],
        json!({"a": "given", "b": "own", "m": "n"})
    );
    assert_eq!(
        deployment["spec"]["selector"]["matchLabels"],
        json!({"a": "given", "b": "own", "x": "w"})
    );
    assert_eq!(
        processed.into_template()["labels"],
        json!({"a": "given", "b": "own"})
    );
}

#[test]
fn openshifts_dialect_is_openshifts() {
    for (object_text, expected) in [
        (
            "{kind: A, x: '${A}${NUM}', w: '${{NUM}}', z: ' ${{NUM}}'}",
            json!({"kind": "A", "x": "a2", "w": 2, "z": " ${{NUM}}"}),
        ),
        (
            "{kind: A, x: '$${A}', w: '${B} $(A)'}",
            json!({"kind": "A", "x": "$a", "w": "${B} $(A)"}),
        ),
        (
            "{kind: A, '${A}': '${{A}}', '${{NUM}}': 1}",
            json!({"kind": "A", "a": "a", "2": 1}),
        ),
        (
            "{kind: '${A}', metadata: {namespace: fixed}}",
            json!({"kind": "a", "metadata": {}}),
        ),
        (
            "{kind: A, metadata: {namespace: 'x-${A}'}}",
            json!({"kind": "A", "metadata": {"namespace": "x-a"}}),
        ),
        (
            "{kind: A, metadata: {namespace: '${UNKNOWN}'}}",
            json!({"kind": "A", "metadata": {"namespace": "${UNKNOWN}"}}),
        ),
        (
            "{kind: A, metadata: {namespace: 'p-${{A}}'}}",
            json!({"kind": "A", "metadata": {}}),
        ),
        (
            "{kind: Route, apiVersion: v1}",
            json!({"kind": "Route", "apiVersion": "route.openshift.io/v1"}),
        ),
        (
            "{kind: Service, apiVersion: v1}",
            json!({"kind": "Service", "apiVersion": "v1"}),
        ),
        (
            "{kind: DeploymentConfig, apiVersion: v1}",
            json!({"kind": "DeploymentConfig", "apiVersion": "apps.openshift.io/v1"}),
        ),
        (
            "{kind: Role, apiVersion: rbac.authorization.k8s.io/v1}",
            json!({"kind": "Role", "apiVersion": "rbac.authorization.k8s.io/v1"}),
        ),
        (
            "{kind: A, big: 9223372036854775807, none: null}",
            json!({"kind": "A", "big": 9_223_372_036_854_775_807_i64, "none": null}),
        ),
    ] {
        assert_eq!(
            object(&braces(&format!("- {object_text}")), &Given::default()),
            expected,
            "{object_text}"
        );
    }
    for (value, expected) in [
        ("{\"a\": [1, null]}", json!({"a": [1, null]})),
        (" 7 ", json!(7)),
        ("1e3", json!(1000.0)),
        ("007", json!("007")),
        (".5", json!(".5")),
        ("+1", json!("+1")),
        ("", json!("")),
        ("null", json!(null)),
    ] {
        let object = object(
            &braces("- {kind: A, list: ['${{A}}']}"),
            &Given::values([("A", value)]),
        );
        assert_eq!(object["list"][0], expected, "{value}");
    }
}

#[test]
fn one_pass_never_reads_what_it_has_written() {
    let given = Given::values([("A", "${NUM}"), ("NUM", "${A}")]);
    let object = object(&braces("- {kind: K, x: '${A} ${NUM}'}"), &given);
    assert_eq!(object["x"], "${NUM} ${A}");
}

#[test]
fn generated_values_give_way_to_given_ones_and_satisfy_required() {
    let text = "kind: Template\napiVersion: v1\nmessage: 'log in as ${U}:${P}'\nobjects: [{kind: A, p: '${P}'}]\nparameters:\n\
                - {name: U, generate: expression, from: 'user[A-Z0-9]{3}', required: true}\n\
                - {name: P, generate: expression, from: '[a-zA-Z0-9]{16}', required: true}\n";
    let processed = run(text, &Given::values([("U", "me")])).unwrap();
    let password = processed.used[1].value.clone();
    assert!(password.len() == 16 && processed.objects()[0]["p"] == password.as_str());
    assert_eq!(
        processed.message(),
        Some(&*format!("log in as me:{password}"))
    );
    assert_eq!(
        run(text, &Given::values([("U", "")])).unwrap_err()[0]
            .parameter
            .as_deref(),
        Some("U")
    );
    let given = run(text, &Given::values([("P", "x")])).unwrap();
    assert_eq!(given.into_template()["parameters"][1]["value"], "x");
}

#[test]
fn the_dialect_is_said_by_annotation_version_or_references() {
    let template = |version: &str, annotation: &str, text: &str| {
        format!(
            "kind: Template\napiVersion: {version}\nmetadata: {{annotations: {{{annotation}}}}}\nobjects: [{{kind: A, x: '{text}'}}]\n\
             parameters: [{{name: A, value: a}}]\n"
        )
    };
    let says = "templates.stacks.crossplane.io/dialect: ";
    for (version, annotation, text, dialect, expected) in [
        ("v1", "", "$(A)", Dialect::Parentheses, "a"),
        ("v1", "", "${A}", Dialect::Braces, "a"),
        (
            "v1",
            "",
            "${A} $(NAMESPACE)",
            Dialect::Braces,
            "a $(NAMESPACE)",
        ),
        ("v1", "", "x", Dialect::Parentheses, "x"),
        (
            "template.openshift.io/v1",
            "",
            "$(A)",
            Dialect::Braces,
            "$(A)",
        ),
        (
            "template.openshift.io/v1",
            &format!("{says}parentheses"),
            "$(A)",
            Dialect::Parentheses,
            "a",
        ),
        (
            "v1",
            &format!("{says}braces"),
            "$(A) ${A}",
            Dialect::Braces,
            "$(A) a",
        ),
        (
            "templates.stacks.crossplane.io/v1alpha1",
            "",
            "${A}",
            Dialect::Braces,
            "a",
        ),
    ] {
        let processed = run(&template(version, annotation, text), &Given::default()).unwrap();
        assert_eq!(
            (processed.dialect, &processed.objects()[0]["x"]),
            (dialect, &json!(expected)),
            "{version} {text}"
        );
        let again = process(
            processed.clone().into_template(),
            &Given::default(),
            &mut random(),
        )
        .unwrap();
        assert_eq!(
            again.dialect, dialect,
            "a result is in the dialect of its template"
        );
    }
    let wrong = template("v1", &format!("{says}curly"), "x");
    let told = told(&wrong, &Given::default());
    assert_eq!(
        told[0],
        "metadata.annotations.templates.stacks.crossplane.io/dialect: `curly` is no dialect (it is `parentheses` or `braces`)"
    );
}

#[test]
fn values_for_no_parameter_can_be_let_pass() {
    let given = Given {
        ignore_unknown: true,
        ..Given::values([("NO", "x"), ("A", "b")])
    };
    assert_eq!(
        object(&parentheses("- {kind: A, x: $(A)}"), &given)["x"],
        "b"
    );
}

#[test]
fn types_are_advice_in_openshifts_dialect_which_has_none() {
    let text = braces("- {kind: A, x: '${A}'}").replace("{name: A, ", "{name: A, type: int, ");
    let processed = run(&text, &Given::default()).unwrap();
    assert_eq!(
        processed.warnings[0].to_string(),
        "parameters[0].value: the parameter A is of type int, and `a` is no whole number"
    );
}
