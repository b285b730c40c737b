//! What the API server says when it refuses an object, without the whole values that it prints, and
//! with what to do about a field that cannot change.

use serde_json::Value;

/// A value that is longer says nothing to whoever reads the message.
const LONG: usize = 60;

const VALUE: &str = "Invalid value: ";

/// What the API server says of objects of which only some fields may ever change.
const FIXED: [&str; 2] = [
    "field is immutable",
    "updates to statefulset spec for fields other than",
];

/// A refusal of an object for people: long values are cut, and of what can never be applied is said
/// what can.
pub fn refusal(message: &str, object: &Value) -> String {
    let short = without_values(message);
    if !FIXED.iter().any(|fixed| message.contains(fixed)) {
        return short;
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (
        text(&object["kind"]).to_lowercase(),
        text(&object["metadata"]["name"]),
    );
    let place = match text(&object["metadata"]["namespace"]) {
        namespace if namespace.is_empty() => String::new(),
        namespace => format!(" -n {namespace}"),
    };
    format!(
        "{short}; give it a name that changes with what changed, such as one that ends in `{{{{ .spec.image | sha256sum | \
         trunc 8 }}}}`, or delete it, so that it is made anew: `kubectl delete {kind}/{name}{place}`"
    )
}

fn without_values(message: &str) -> String {
    let mut short = String::new();
    let mut rest = message;
    while let Some((before, value)) = rest.split_once(VALUE) {
        short.push_str(before);
        short.push_str(VALUE);
        let end = value_end(value);
        let shown: String = value[..end].chars().take(LONG).collect();
        short.push_str(&shown);
        if shown.len() < end {
            short.push_str("...");
        }
        rest = &value[end..];
    }
    short.push_str(rest);
    short
}

/// Where a value ends, in JSON or as Go prints it: at the first colon that is in no brackets and no
/// quotes. What never ends was cut by somebody else.
fn value_end(value: &str) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, letter) in value.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && value[at + 1..].starts_with(' ') => return at,
            _ => {}
        }
    }
    value.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::refusal;

    #[test]
    fn a_refusal_keeps_its_path_and_its_reason_and_says_what_to_do_about_what_cannot_change() {
        let template = json!({ "metadata": { "labels": { "a": "b: c]" } }, "spec": { "containers": ["x".repeat(500)] } });
        let job =
            json!({ "kind": "Job", "metadata": { "name": "pay-migrate", "namespace": "shop" } });
        let anew = "give it a name that changes with what changed, such as one that ends in `{{ .spec.image | sha256sum \
            | trunc 8 }}`, or delete it, so that it is made anew: `kubectl delete job/pay-migrate -n shop`";
        let go = format!(
            "v1.LabelSelector{{MatchLabels:map[string]string{{\"app\":\"{}\"}}}}",
            "y".repeat(90)
        );
        for (message, expected) in [
            (
                format!("Job.batch \"pay-migrate\" is invalid: spec.template: Invalid value: {template}: field is immutable"),
                format!(
                    "Job.batch \"pay-migrate\" is invalid: spec.template: Invalid value: \
                     {{\"metadata\":{{\"labels\":{{\"a\":\"b: c]\"}}}},\"spec\":{{\"containers\":[\"...: field is immutable; {anew}"
                ),
            ),
            (
                format!("X \"a\" is invalid: [spec.a: Invalid value: {go}: field is immutable, spec.b: Invalid value: 3: no]"),
                format!(
                    "X \"a\" is invalid: [spec.a: Invalid value: {}...: field is immutable, spec.b: Invalid value: 3: no]; {anew}",
                    &go[..60]
                ),
            ),
            (
                "S \"a\" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden"
                    .to_owned(),
                format!(
                    "S \"a\" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are \
                     forbidden; {anew}"
                ),
            ),
            ("X \"a\" is invalid: a: Invalid value: \"b: c\": no".to_owned(), "X \"a\" is invalid: a: Invalid value: \"b: c\": no".to_owned()),
            (format!("a: Invalid value: {{{}", "z".repeat(99)), format!("a: Invalid value: {{{}...", "z".repeat(59))),
            ("admission webhook denied the request".to_owned(), "admission webhook denied the request".to_owned()),
        ] {
            assert_eq!(refusal(&message, &job), expected);
        }
    }
}
