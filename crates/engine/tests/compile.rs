//! What compiling tells an author: all problems at once, each with its place and a way out.

mod support;

use engine::{Shape, compile};
use support::{config_map, lines, stack};

#[test]
fn every_mistake_has_a_place_and_a_hint() {
    let cm = |data: &str| config_map("a", data);
    let name_from_spec = "apiVersion: v1\nkind: {{ .spec.image }}\nmetadata:\n  name: x\n";
    for (why, templates, expected) in [
        ("a typo in a path", vec![("a", cm("{{ .spec.imgae }}"))], "a.yaml:6:14: `.spec.imgae` does not exist: "),
        ("a typo suggests the field", vec![("a", cm("{{ .spec.imgae }}"))], "(did you mean `image`?)"),
        ("a typo in a loop", vec![("a", cm("{{ range .spec.hosts }}{{ .nmae }}{{ end }}"))], "`.spec.hosts[*].nmae` does not exist"),
        ("a typo in metadata", vec![("a", cm("{{ .metadata.nmae }}"))], "(did you mean `name`?)"),
        ("an unknown root", vec![("a", cm("{{ .sepc.image }}"))], "(did you mean `spec`?)"),
        ("a sibling's name", vec![("a", cm("{{ .databse.status.x }}")), ("database", config_map("d", "x"))], "(did you mean `database`?)"),
        ("a sibling's name with a dash", vec![("a", cm("{{ .webconfig.status.x }}")), ("web-config", config_map("d", "x"))], "(did you mean `(index . \"web-config\")`?)"),
        ("a name that is like none, beside one with a dash", vec![("a", cm("{{ .nothing.status.x }}")), ("web-config", config_map("d", "x"))], "`.status`, `(index . \"web-config\")`)"),
        ("a dash in a path", vec![("a", cm("{{ .web-config.data.x }}")), ("web-config", config_map("d", "x"))], "(a name with a dash is read with `index`: `(index . \"web-config\").data.x`)"),
        ("a dash further down in a path", vec![("a", cm("{{ $.spec.extra.a-b.c | quote }}"))], "`(index $.spec.extra \"a-b\").c`)"),
        ("open fields are not judged", vec![("a", cm("{{ .spec.extra.anything.goes }}"))], ""),
        ("an unknown function", vec![("a", cm("{{ uper \"x\" }}"))], "a.yaml:6:9: function \"uper\" not defined (did you mean `upper`?)"),
        ("a function left out", vec![("a", cm("{{ env \"HOME\" }}"))], "left out on purpose"),
        ("lookup", vec![("a", cm("{{ lookup \"v1\" \"Pod\" \"\" \"\" }}"))], "`lookup` is not available"),
        ("too many arguments", vec![("a", cm("{{ upper \"a\" \"b\" }}"))], "a.yaml:6:9: `upper` takes 1 arguments, not 2"),
        ("a template that is not there", vec![("a", cm("{{ include \"lables\" . }}")), ("x/labels", "{{ define \"labels\" }}{{ end }}".to_string())], "there is no template \"lables\" to include (did you mean \"labels\"?)"),
        ("a partial without its folder", vec![("a", cm("{{ include \"labels\" . }}")), ("x/labels", "a: b".to_string())], "(did you mean `include \"x\" \"labels\" .`?)"),
        ("another language's else", vec![("a", cm("{{ if .spec.on }}{{ elseif .spec.image }}{{ end }}"))], "(write `else if`)"),
        ("the instance inside of a with", vec![("a", cm("{{ with .spec.image }}{{ .metadata.name }}{{ end }}"))], "(`.` is `.spec.image` here: write `$.metadata.name`)"),
        ("a chart inside of a with", vec![("a", cm("{{ with .spec.image }}{{ .Values.name }}{{ end }}"))], "this is no chart"),
        ("a kind that depends on the spec", vec![("a", name_from_spec.to_string())], "a.yaml:2:"),
        ("no kind", vec![("a", "apiVersion: v1\nmetadata:\n  name: x\n".to_string())], "kind is missing"),
        ("no name", vec![("a", "apiVersion: v1\nkind: ConfigMap\n".to_string())], "metadata.name is missing"),
        ("a name in a line, beside what is no YAML yet", vec![("a", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .metadata.name }}\", labels: {a: b}}\ndata: {a: [{{ range $i, $host := .spec.hosts }}{{ if $i }}, {{ end }}\"{{ $host.name }}\"{{ end }}]}\n".to_string())], ""),
        ("a name in braces over two lines, beside what is no YAML yet", vec![("a", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .metadata.name }}\",\n  labels: {a: b}}\ndata: {a: [{{ range $i, $host := .spec.hosts }}{{ if $i }}, {{ end }}\"{{ $host.name }}\"{{ end }}]}\n".to_string())], ""),
        ("nothing at all", vec![("a", "# nothing\n".to_string())], "the template makes nothing"),
        ("two kinds", vec![("a", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: x}\n".to_string())], "a template makes objects of one kind"),
        ("a circle", vec![("a", cm("{{ .b.status.x }}")), ("b", config_map("b", "{{ .a.status.x }}"))], "a.yaml:6:9: none of these can be made first: `a` reads `.b.status.x` (a.yaml:6:9), `b` reads `.a.status.x` (b.yaml:6:9)"),
        ("a guarded circle is none", vec![("a", cm("{{ .b.status.x | default 1 }}")), ("b", config_map("b", "{{ .a.status.x }}"))], ""),
        ("reading itself is no circle", vec![("a", cm("{{ .a.status.x }}"))], ""),
        ("a reserved name", vec![("spec", config_map("a", "x"))], "a template cannot be called \"spec\""),
        ("a list read as one object", vec![("hosts", "{{ range .spec.hosts }}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .name }}\"}\n{{ end }}".to_string()), ("a", cm("{{ .hosts.status }}"))], "`.hosts` is a list"),
        ("an error that always happens", vec![("a", cm("{{ fail \"no\" }}"))], "a.yaml:6:9: no"),
        ("an error that may happen", vec![("a", cm("{{ if .spec.on }}{{ fail \"no\" }}{{ end }}"))], ""),
        ("an unclosed action", vec![("a", "apiVersion: {{ .spec\n".to_string())], "a.yaml:1:13: the `{{` that begins here has no `}}`"),
        ("an action that runs into the next", vec![("a", cm("{{ .spec.image\n  w: {{ .spec.size }}"))], "a.yaml:6:6: the `{{` that begins here has no `}}`"),
        ("a block without an end", vec![("a", cm("x\n{{ if .spec.on }}{{ range .spec.hosts }}{{ end }}"))], "a.yaml:7:1: the `if` that begins here has no `{{ end }}`"),
        ("errors of no template", vec![("a", cm("x")), ("status", "error: {{ .errors.b }}\n".to_string())], "(did you mean `.errors.a`?)"),
    ] {
        let templates: Vec<(&str, &str)> = templates.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let (compiled, problems) = compile(&stack(&templates));
        let shown = lines(&problems);
        if expected.is_empty() {
            assert!(compiled.is_some() && problems.is_empty(), "{why}: {shown}");
        } else {
            assert!(compiled.is_none(), "{why}");
            assert!(shown.contains(expected), "{why}: {shown}");
        }
    }
}

#[test]
fn several_problems_are_told_at_once() {
    let (_, problems) = compile(&stack(&[
        ("a", &config_map("a", "{{ .spec.imgae }}{{ .spec.szie }}")),
        ("b", &config_map("b", "{{ uper 1 }}")),
        ("c", "kind: X\n"),
    ]));
    assert!(problems.len() >= 4, "{}", lines(&problems));
}

#[test]
fn the_name_decides_between_one_object_and_a_collection() {
    let doc = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n");
    for (why, text, shape) in [
        ("a constant", doc("fixed"), Shape::One),
        ("the instance's name", doc("{{ .metadata.name }}-x"), Shape::One),
        ("its uid, cut", doc("app-{{ .metadata.uid | trunc 5 }}"), Shape::One),
        (
            "through printf",
            doc("{{ printf \"%s-%s\" .metadata.namespace .metadata.name | trunc 63 | trimSuffix \"-\" }}"),
            Shape::One,
        ),
        ("from the spec", doc("{{ .spec.image }}"), Shape::Collection),
        ("partly from the spec", doc("{{ .metadata.name }}-{{ .spec.size }}"), Shape::Collection),
        ("from a sibling-like choice", doc("{{ if .spec.on }}a{{ else }}b{{ end }}"), Shape::Collection),
        ("a condition around it all", format!("{{{{ if .spec.on }}}}{}{{{{ end }}}}", doc("x")), Shape::One),
        (
            "a condition elsewhere in it",
            format!("{}data:\n  x: {{{{ if .spec.on }}}}1{{{{ else }}}}2{{{{ end }}}}\n", doc("x")),
            Shape::One,
        ),
        (
            "labels that depend on the spec",
            format!("{}  labels:\n    a: {{{{ .spec.image }}}}\n", doc("x")),
            Shape::One,
        ),
        ("a loop", format!("{{{{ range .spec.hosts }}}}---\n{}{{{{ end }}}}", doc("{{ .name }}")), Shape::Collection),
        ("an included name", doc("{{ include \"full\" . }}"), Shape::One),
        (
            "two sides, one name",
            format!("{{{{ if .spec.on }}}}{0}---\n{{{{ else }}}}{0}{{{{ end }}}}", doc("x")),
            Shape::One,
        ),
        (
            "JSON",
            "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"{{ .metadata.name }}\"}}"
                .to_string(),
            Shape::One,
        ),
    ] {
        let templates =
            [("a", text.as_str()), ("x/helpers", "{{ define \"full\" }}{{ .metadata.name }}-full{{ end }}")];
        let (compiled, problems) = compile(&stack(&templates));
        let compiled = compiled.unwrap_or_else(|| panic!("{why}: {}", lines(&problems)));
        assert_eq!(compiled.kinds[0].children[0].shape, shape, "{why}:\n{text}");
    }
}

#[test]
fn what_is_computed_from_a_field_is_not_taken_for_the_field() {
    for text in [
        "{{ $sizes := dict \"small\" (dict \"cpu\" \"1\") }}{{ (index $sizes .spec.image).cpu | quote }}",
        "{{ $sizes := fromYaml \"{small: {cpu: 1}}\" }}{{ with index $sizes .spec.image }}{{ .cpu | quote }}{{ end }}",
        "{{ get (get (dict \"a\" (dict \"b\" \"c\")) .spec.image) \"b\" | quote }}",
        "{{ (index (list (dict \"a\" \"b\")) (int .spec.size)).a | quote }}",
        "{{ printf \"%dMi\" (mul .spec.size 256) }}",
        "{{ printf \"%.1f\" .spec.size }}",
        "{{ $all := merge (deepCopy .spec) (dict \"more\" \"1\") }}{{ $all.more | quote }}",
        "{{ (mergeOverwrite (dict \"more\" \"1\") .spec).more | quote }}",
        "{{ $_ := set .spec \"more\" \"1\" }}{{ .spec.more | quote }}",
        "{{ range concat .spec.hosts (list (dict \"more\" \"h\")) }}{{ .more | default \"x\" }}{{ end }}",
        "{{ range append .spec.hosts (dict \"more\" \"h\") }}{{ .more | default \"x\" }}{{ end }}",
        "x{{ range $key, $value := dict .spec.image \"v\" }}{{ $key }}{{ $value }}{{ end }}",
        "{{ $d := dict }}{{ range .spec.hosts }}{{ $_ := set $d .name \"x\" }}{{ end }}\n  {{- range $k, $v := $d }}\n  {{ $k }}: {{ $v | quote }}\n  {{- end }}\n  last: x",
    ] {
        let template = config_map("a", text);
        let (compiled, problems) = compile(&stack(&[("a", &template)]));
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(
            compiled.is_some() && told.is_empty(),
            "{template}\n{told:#?}"
        );
    }
}

#[test]
fn a_kind_that_makes_itself_whatever_its_fields_say_is_a_problem() {
    let app = |name: &str| {
        format!("apiVersion: example.org/v1\nkind: App\nmetadata: {{name: '{name}'}}\n")
    };
    let another = app("{{ .metadata.name }}-sub");
    let under = |condition: &str| format!("{{{{ {condition} }}}}\n{another}{{{{ end }}}}\n");
    for (template, expected) in [
        (another.clone(), true),
        (format!("{{{{ $name := .spec.image }}}}\n{another}"), true),
        (
            format!("{another}spec: {{image: '{{{{ if .spec.on }}}}a{{{{ end }}}}'}}\n"),
            true,
        ),
        (under("if .spec.on"), false),
        (under("if not .spec.on"), false),
        (under("if lt (len .metadata.name) 20"), false),
        (under("with .spec.image"), false),
        (under("range .spec.hosts"), false),
        (under("if .cm.data"), false),
    ] {
        let cm = config_map("cm", "x");
        let (_, problems) = compile(&stack(&[("sub", &template), ("cm", &cm)]));
        let said = lines(&problems);
        assert_eq!(
            said.contains("each App makes another App"),
            expected,
            "{template}\n{said}"
        );
    }
}

#[test]
fn kinds_that_make_each_other_whatever_their_fields_say_are_a_problem() {
    let make = |kind: &str| {
        format!(
            "apiVersion: example.org/v1\nkind: {kind}\nmetadata: {{name: '{{{{ .metadata.name }}}}x'}}\n"
        )
    };
    let template = |kind: &str| engine::Source {
        file: format!("{kind}.yaml"),
        text: make(kind),
    };
    let mut all = stack(&[("next", &make("Two"))]);
    let mut other = stack(&[]).kinds.remove(0);
    other.gvk.kind = "Two".to_owned();
    let mut third = stack(&[]).kinds.remove(0);
    third.gvk.kind = "Three".to_owned();
    other.templates.insert("next".to_owned(), template("Three"));
    all.kinds.extend([other, third]);
    assert!(!lines(&compile(&all).1).contains("never ends"));
    all.kinds[2]
        .templates
        .insert("next".to_owned(), template("App"));
    let said = lines(&compile(&all).1);
    assert!(
        said.contains("each App makes another App through Two, Three, whatever its fields say"),
        "{said}"
    );
    assert!(
        said.contains("each Three makes another Three through App, Two"),
        "{said}"
    );
}
