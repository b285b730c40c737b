//! What is known of a template with branches before there is an instance: each text that it can
//! print has to be YAML.

mod support;

use engine::compile;
use support::{config_map, lines, stack};

#[test]
fn what_stands_in_a_branch_is_checked_and_what_can_never_be_printed_is_not() {
    for (why, data, expected) in [
        (
            "a quote that is left open, and a branch elsewhere",
            "\"x\n# {{ if .spec.on }}x{{ end }}",
            "a.yaml:",
        ),
        (
            "a branch that is no YAML",
            "x{{ if .spec.on }}\n   w: z{{ end }}",
            "a.yaml:7:",
        ),
        (
            "the other side",
            "x{{ if .spec.on }}\n  w: z{{ else }}\n   w: z{{ end }}",
            "a.yaml:8:",
        ),
        (
            "a turn of a loop",
            "x{{ range .spec.hosts }}\n   w: {{ .name }}{{ end }}",
            "a.yaml:7:",
        ),
        (
            "sound sides",
            "x{{ if .spec.on }}\n  w: z{{ else }}\n  w: 'z'{{ end }}",
            "",
        ),
        (
            "sides that never stand together",
            "{{ if .spec.on }}\"a\"{{ end }}{{ if not .spec.on }}\"b\"{{ end }}",
            "",
        ),
        (
            "cases that never stand together",
            "{{ if eq .spec.image \"a\" }}\"a\"{{ end }}{{ if eq .spec.image \"b\" }}\"b\"{{ end }}",
            "",
        ),
        (
            "a variable that says the contrary",
            "{{ $off := not .spec.on }}{{ if .spec.on }}'a'{{ end }}{{ if $off }}'b'{{ end }}",
            "",
        ),
        (
            "what is opened and closed alike",
            "{{ if .spec.on }}[{{ end }}a{{ if .spec.on }}]{{ end }}",
            "",
        ),
        (
            "a condition inside of another",
            "x{{ with .spec.extra }}{{ if eq .a 1 }}\n   w: z{{ end }}{{ end }}",
            "a.yaml:7:",
        ),
        (
            "lines of any shape",
            "{{ if .spec.on }}{{ toYaml .spec.extra | nindent 4 }}{{ end }}",
            "",
        ),
        (
            "an unknown field on one side",
            "x\n{{ if .spec.on }}dta: {}{{ else }}dta: []{{ end }}",
            "no field `dta`",
        ),
    ] {
        let (_, problems) = compile(&stack(&[("a", &config_map("a", data))]));
        let shown = lines(&problems);
        assert!(
            shown.contains(expected) && shown.is_empty() == expected.is_empty(),
            "{why}: {shown}"
        );
    }
}

#[test]
fn a_part_of_a_character_is_told_where_it_is_printed() {
    let half = "a.yaml:6:";
    for (why, data, expected) in [
        ("cut", r#""{{ "é" | trunc 1 }}""#, half),
        (
            "cut before an unknown part",
            "\"{{ \"é\" | trunc 1 }}\"\n  b: \"€\"€€{{ .spec.image }}€€",
            half,
        ),
        (
            "cut before a partial",
            "\"{{ \"日本\" | trunc 4 }}\"\n  c: x€€\n{{ include \"lib\" \"a\" . }}",
            half,
        ),
        (
            "cut in a branch",
            r#"{{ if .spec.on }}"{{ "é" | trunc 1 }}"{{ else }}b{{ end }}"#,
            half,
        ),
        (
            "two halves of one",
            r#""{{ "é" | trunc 1 }}{{ "é" | substr 1 2 }}{{ .spec.on | default 1 }}""#,
            "",
        ),
        (
            "a field that may be cut",
            r#""{{ .metadata.name | trunc 1 }}""#,
            "",
        ),
    ] {
        let (_, problems) = compile(&stack(&[
            ("a", &config_map("a", data)),
            ("lib/a.tpl", "x: é\n"),
        ]));
        let shown = lines(&problems);
        assert!(
            shown.contains(expected) && shown.is_empty() == expected.is_empty(),
            "{why}: {shown}"
        );
    }
}

#[test]
fn a_stack_may_make_what_it_depends_on_and_nothing_else() {
    let object = |api_version: &str, kind: &str| {
        format!(
            "apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {{{{ .metadata.name }}}}\n"
        )
    };
    let depends = "but app.yaml does not say that it depends on it";
    for (why, depends_on, cluster, (api_version, kind), error, expected) in [
        (
            "a Secret",
            "job.batch/v1",
            false,
            ("v1", "Secret"),
            true,
            depends,
        ),
        (
            "a ConfigMap",
            "job.batch/v1",
            false,
            ("v1", "ConfigMap"),
            true,
            depends,
        ),
        (
            "a Lease",
            "job.batch/v1",
            false,
            ("coordination.k8s.io/v1", "Lease"),
            true,
            depends,
        ),
        (
            "the same in other namespaces",
            "job.batch/v1",
            true,
            ("v1", "ConfigMap"),
            true,
            depends,
        ),
        (
            "the Secrets of all",
            "job.batch/v1",
            true,
            ("v1", "Secret"),
            true,
            "`--allow-types secrets`",
        ),
        (
            "depended on everywhere",
            "configmap/v1",
            true,
            ("v1", "ConfigMap"),
            false,
            "",
        ),
        (
            "in another version",
            "horizontalpodautoscaler.autoscaling/v2",
            false,
            ("autoscaling/v1", "HorizontalPodAutoscaler"),
            false,
            "",
        ),
        (
            "any of a group",
            "*.apps/v1",
            false,
            ("apps/v1", "Deployment"),
            false,
            "",
        ),
        (
            "something else",
            "job.batch/v1",
            false,
            ("apps/v1", "Deployment"),
            true,
            depends,
        ),
        (
            "an account",
            "serviceaccount/v1",
            false,
            ("v1", "ServiceAccount"),
            true,
            "no stack may make a ServiceAccount",
        ),
    ] {
        let mut stack = stack(&[("a", &object(api_version, kind))]);
        stack.depends_on = api::key::Reference::parse(depends_on).into_iter().collect();
        stack.scope = if cluster {
            api::PermissionScope::Cluster
        } else {
            api::PermissionScope::Namespaced
        };
        let (compiled, problems) = compile(&stack);
        let shown = lines(&problems);
        assert!(
            shown.contains(expected) && shown.is_empty() == expected.is_empty(),
            "{why}: {shown}"
        );
        assert_eq!(compiled.is_none(), error, "{why}: {shown}");
        stack.all_dependencies = false;
        let (_, problems) = compile(&stack);
        assert!(
            !lines(&problems).contains(depends),
            "{why}: {}",
            lines(&problems)
        );
    }
}

#[test]
fn a_secret_that_is_a_credential_is_an_error_where_that_is_certain() {
    let secret = |more: &str| {
        format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{{{ .metadata.name }}}}\n{more}")
    };
    for (why, text, place) in [
        (
            "a token",
            secret("type: kubernetes.io/service-account-token\n"),
            "a.yaml:5:7",
        ),
        (
            "in quotes",
            secret("type: \"bootstrap.kubernetes.io/token\"\n"),
            "a.yaml:5:7",
        ),
        (
            "put together",
            secret("type: {{ print \"kubernetes.io/\" \"service-account-token\" }}\n"),
            "a.yaml:5",
        ),
        (
            "of an account",
            secret("  annotations: {kubernetes.io/service-account.name: default}\n"),
            "a.yaml:5:17",
        ),
        (
            "of an account of the instance's choice",
            secret("  annotations:\n    kubernetes.io/service-account.name: \"{{ .spec.on }}\"\n"),
            "a.yaml:6:5",
        ),
        ("another", secret("type: kubernetes.io/tls\n"), ""),
        (
            "of the instance's choice",
            secret("type: \"{{ .spec.on }}\"\n"),
            "",
        ),
    ] {
        let mut stack = stack(&[("a", &text)]);
        stack.depends_on = api::key::Reference::parse("secret/v1")
            .into_iter()
            .collect();
        let (compiled, problems) = compile(&stack);
        let shown = lines(&problems);
        assert_eq!(compiled.is_none(), !place.is_empty(), "{why}: {shown}");
        assert!(
            shown.contains("no stack may make a Secret") != place.is_empty(),
            "{why}: {shown}"
        );
        assert!(shown.contains(place), "{why}: {shown}");
    }
}

#[test]
fn what_is_included_at_a_wrong_depth_is_told_where_it_is_included() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  labels: {{- include \"lib\" \"labels\" . | nindent 2 }}\n";
    let (_, problems) = compile(&stack(&[
        ("a", text),
        ("lib/labels", "team: {{ .metadata.name }}"),
    ]));
    let shown = lines(&problems);
    assert!(
        shown.starts_with("a.yaml:5:15: `metadata` has no field `team`"),
        "{shown}"
    );
    assert!(
        shown.contains("lib/labels.tpl:1:1") && shown.contains("nindent"),
        "{shown}"
    );
}
