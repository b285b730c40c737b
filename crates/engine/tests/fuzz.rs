//! A bounded fuzz run on stable: templates of stacks, cut up and put together again from a seed.

#[path = "../../../fuzz/bodies/stack.rs"]
mod body;

/// Pieces that templates are made of, whole and broken.
const PIECES: &[&str] = &[
    "apiVersion: v1\n",
    "kind: ConfigMap\n",
    "kind: Secret\n",
    "metadata:\n",
    "  name: {{ .metadata.name }}-a\n",
    "  name: web-b\n",
    "  name: {{ .spec.image }}\n",
    "data:\n",
    "  v: {{ .spec.image }}\n",
    "  v: {{ .b.status.ip }}\n",
    "  v: {{ .a.status.ip | default 1 }}\n",
    "{{ if .c.status.ip }}",
    "{{ if .spec.on }}",
    "{{ else }}",
    "{{ end }}",
    "{{ range .spec.hosts }}",
    "---\n",
    "{{ with .a }}",
    "\n",
    "  x: {{ toYaml . | nindent 4 }}\n",
    "  x: {{ .c.metadata.labels }}\n",
    "{{ define \"t\" }}",
    "{{ template \"t\" . }}",
    "\u{0}",
    "\u{0}",
    "status: {{ .errors.a }}\n",
    "ip: {{ .b.status.ip }}\n",
    "{{ $x := .b }}",
    "{{ $x.status.ip }}",
    "{{ fail \"no\" }}",
    "  - a\n",
    "{a: [",
    "\t",
    "{{ randAlphaNum 5 }}",
    "{{ generated \"x\" \"randAlphaNum\" 3 }}",
    "{{ include \"t\" . }}",
    "{{ tpl .spec.image . }}",
    "é: ",
    "{{- ",
    " -}}",
    "{{ set . \"a\" 1 }}",
    "{{ lookup \"v1\" \"Pod\" \"\" \"\" }}",
    "  labels: {a: b}\n",
    "  namespace: other\n",
];

#[test]
fn no_stack_made_from_pieces_panics_or_deletes_what_waits() {
    let runs = std::env::var("CAIRN_FUZZ_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok())
        .unwrap_or(1_500);
    let mut state = std::env::var("CAIRN_FUZZ_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0x2545_f491_4f6c_dd1d_u64);
    let mut next = |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % end as u64) as usize
    };
    let whole =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .metadata.name }}-a\ndata:\n";
    for _ in 0..runs {
        let mut text = String::new();
        for _ in 0..1 + next(14) {
            // Mostly whole beginnings, or next to nothing would compile.
            text.push_str(if next(4) == 0 {
                whole
            } else {
                PIECES[next(PIECES.len())]
            });
        }
        let bytes = text.clone().into_bytes();
        assert!(
            std::panic::catch_unwind(|| body::stack(&bytes)).is_ok(),
            "this input broke it: {text:?}"
        );
    }
}
