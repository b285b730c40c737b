//! What is right and wrong in roles and bindings, and what is filled in. Whether somebody may write
//! them is not its business.

use objects::{
    name::{NameRule, label_key_errors, label_value_errors},
    selector::LabelSelector,
};
use serde_json::{Value, json};

use super::rbac_index::GROUP;
use crate::authz::rbac_index::Kind;
use crate::handlers::status::Cause;

/// Fills in what an object leaves out: the groups of a binding, and that a role has no rules.
pub(crate) fn fill_in(kind: Kind, object: &mut Value) {
    if matches!(kind, Kind::Role | Kind::ClusterRole) {
        if let Some(fields) = object.as_object_mut() {
            fields.entry("rules").or_insert(Value::Null);
        }
        return;
    }
    let empty = |value: &Value| value["apiGroup"].as_str().unwrap_or_default().is_empty();
    if let Some(reference) = object.get_mut("roleRef")
        && reference.is_object()
        && empty(reference)
    {
        reference["apiGroup"] = GROUP.into();
    }
    for subject in object
        .get_mut("subjects")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if subject.is_object()
            && empty(subject)
            && matches!(subject["kind"].as_str(), Some("User" | "Group"))
        {
            subject["apiGroup"] = GROUP.into();
        }
    }
}

/// Everything that is wrong with an object, or with changing it to what it is.
pub(crate) fn problems(kind: Kind, old: Option<&Value>, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    match kind {
        Kind::Role | Kind::ClusterRole => {
            for (place, rule) in new["rules"].as_array().into_iter().flatten().enumerate() {
                rule_problems(kind, rule, &format!("rules[{place}]"), &mut causes);
            }
            if kind == Kind::ClusterRole && new["aggregationRule"].is_object() {
                aggregation_problems(&new["aggregationRule"], &mut causes);
            }
        }
        Kind::RoleBinding | Kind::ClusterRoleBinding => {
            reference_problems(kind, &new["roleRef"], &mut causes);
            for (place, subject) in new["subjects"].as_array().into_iter().flatten().enumerate() {
                subject_problems(kind, subject, &format!("subjects[{place}]"), &mut causes);
            }
            if let Some(old) = old {
                let parts = |value: &Value| {
                    ["apiGroup", "kind", "name"]
                        .map(|field| text(&value["roleRef"], field).to_owned())
                };
                if parts(old) != parts(new) {
                    let [group, kind, name] = parts(new);
                    let value = json!({"APIGroup": group, "Kind": kind, "Name": name});
                    causes.push(Cause::invalid("roleRef", &value, "cannot change roleRef"));
                }
            }
        }
    }
    causes
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn rule_problems(kind: Kind, rule: &Value, path: &str, causes: &mut Vec<Cause>) {
    let filled = |field: &str| {
        rule[field]
            .as_array()
            .is_some_and(|items| !items.is_empty())
    };
    if !filled("verbs") {
        causes.push(Cause::required(
            &format!("{path}.verbs"),
            "verbs must contain at least one value",
        ));
    }
    if filled("nonResourceURLs") {
        let path = format!("{path}.nonResourceURLs");
        let urls = &rule["nonResourceURLs"];
        if kind == Kind::Role {
            causes.push(Cause::invalid(
                &path,
                urls,
                "namespaced rules cannot apply to non-resource URLs",
            ));
        }
        if filled("apiGroups") || filled("resources") || filled("resourceNames") {
            let why = "rules cannot apply to both regular resources and non-resource URLs";
            causes.push(Cause::invalid(&path, urls, why));
        }
        return;
    }
    if !filled("apiGroups") {
        causes.push(Cause::required(
            &format!("{path}.apiGroups"),
            "resource rules must supply at least one api group",
        ));
    }
    if !filled("resources") {
        causes.push(Cause::required(
            &format!("{path}.resources"),
            "resource rules must supply at least one resource",
        ));
    }
}

fn aggregation_problems(rule: &Value, causes: &mut Vec<Cause>) {
    let path = "aggregationRule.clusterRoleSelectors";
    let selectors = rule["clusterRoleSelectors"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    if selectors.is_empty() {
        causes.push(Cause::required(
            path,
            "at least one clusterRoleSelector required if aggregationRule is non-nil",
        ));
    }
    for (place, selector) in selectors.iter().enumerate() {
        let path = format!("{path}[{place}]");
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            let (path, value) = (
                format!("{path}.matchLabels"),
                value.as_str().unwrap_or_default(),
            );
            causes.extend(
                label_key_errors(key)
                    .iter()
                    .map(|why| Cause::invalid(&path, &json!(key), why)),
            );
            causes.extend(
                label_value_errors(value)
                    .iter()
                    .map(|why| Cause::invalid(&path, &json!(value), why)),
            );
        }
        for (part, expression) in selector["matchExpressions"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            expression_problems(
                expression,
                &format!("{path}.matchExpressions[{part}]"),
                causes,
            );
        }
        if LabelSelector::from_value(selector).is_err() {
            causes.push(Cause::invalid(
                &path,
                &Value::Null,
                "invalid label selector.",
            ));
        }
    }
}

fn expression_problems(expression: &Value, path: &str, causes: &mut Vec<Cause>) {
    let values = expression["values"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    match text(expression, "operator") {
        "In" | "NotIn" if values.is_empty() => {
            let why = "must be specified when `operator` is 'In' or 'NotIn'";
            causes.push(Cause::required(&format!("{path}.values"), why));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            causes.push(Cause::forbidden(&format!("{path}.values"), why));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            let path = format!("{path}.operator");
            causes.push(Cause::invalid(
                &path,
                &json!(other),
                "not a valid selector operator",
            ));
        }
    }
    let key = text(expression, "key");
    let wrong = label_key_errors(key);
    causes.extend(
        wrong
            .iter()
            .map(|why| Cause::invalid(&format!("{path}.key"), &json!(key), why)),
    );
    for (place, value) in values.iter().filter_map(Value::as_str).enumerate() {
        let path = format!("{path}.values[{place}]");
        causes.extend(
            label_value_errors(value)
                .iter()
                .map(|why| Cause::invalid(&path, &json!(value), why)),
        );
    }
}

fn reference_problems(kind: Kind, reference: &Value, causes: &mut Vec<Cause>) {
    let group = text(reference, "apiGroup");
    // An absent reference is an empty one with its group filled in.
    if group != GROUP && reference.is_object() {
        causes.push(Cause::unsupported(
            "roleRef.apiGroup",
            &json!(group),
            &[GROUP],
        ));
    }
    let kinds: &[&str] = if kind == Kind::RoleBinding {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    if !kinds.contains(&text(reference, "kind")) {
        causes.push(Cause::unsupported(
            "roleRef.kind",
            &json!(text(reference, "kind")),
            kinds,
        ));
    }
    let name = text(reference, "name");
    if name.is_empty() {
        causes.push(Cause::required("roleRef.name", ""));
    }
    let wrong = NameRule::PathSegment.errors(name);
    causes.extend(
        wrong
            .iter()
            .map(|why| Cause::invalid("roleRef.name", &json!(name), why)),
    );
}

fn subject_problems(kind: Kind, subject: &Value, path: &str, causes: &mut Vec<Cause>) {
    let (name, group) = (text(subject, "name"), text(subject, "apiGroup"));
    if name.is_empty() {
        causes.push(Cause::required(&format!("{path}.name"), ""));
    }
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                let path = format!("{path}.name");
                let wrong = NameRule::Subdomain.errors(name);
                causes.extend(
                    wrong
                        .iter()
                        .map(|why| Cause::invalid(&path, &json!(name), why)),
                );
            }
            if !group.is_empty() {
                causes.push(Cause::unsupported(
                    &format!("{path}.apiGroup"),
                    &json!(group),
                    &[""],
                ));
            }
            if kind == Kind::ClusterRoleBinding && text(subject, "namespace").is_empty() {
                causes.push(Cause::required(&format!("{path}.namespace"), ""));
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                causes.push(Cause::unsupported(
                    &format!("{path}.apiGroup"),
                    &json!(group),
                    &[GROUP],
                ));
            }
        }
        other => causes.push(Cause::unsupported(
            &format!("{path}.kind"),
            &json!(other),
            &["ServiceAccount", "User", "Group"],
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_wrong_is_said_in_the_real_servers_words() {
        let table: Vec<(Kind, Value, &[&str])> = vec![
            (
                Kind::Role,
                json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
                &[],
            ),
            (
                Kind::Role,
                json!({"rules": [{"apiGroups": [""], "resources": ["pods"]}]}),
                &["rules[0].verbs: Required value: verbs must contain at least one value"],
            ),
            (
                Kind::Role,
                json!({"rules": [{"verbs": ["get"], "apiGroups": [""], "nonResourceURLs": ["/x"]}]}),
                &[
                    r#"rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs"#,
                    r#"rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs"#,
                ],
            ),
            (
                Kind::ClusterRole,
                json!({"rules": [{"verbs": ["get"]}]}),
                &[
                    "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                    "rules[0].resources: Required value: resource rules must supply at least one resource",
                ],
            ),
            (
                Kind::ClusterRole,
                json!({"aggregationRule": {}}),
                &[
                    "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
                ],
            ),
            (
                Kind::RoleBinding,
                json!({}),
                &[
                    r#"roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole""#,
                    "roleRef.name: Required value",
                ],
            ),
            (
                Kind::ClusterRoleBinding,
                json!({"roleRef": {"kind": "Role", "name": "x"}, "subjects": [{"kind": "ServiceAccount", "name": "x"}]}),
                &[
                    r#"roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole""#,
                    "subjects[0].namespace: Required value",
                ],
            ),
            (
                Kind::RoleBinding,
                json!({"roleRef": {"kind": "Nope", "name": "x/y", "apiGroup": "z"},
                    "subjects": [{"kind": "Thing", "name": "x"}, {"kind": "User"}, {"kind": "ServiceAccount", "name": "x", "apiGroup": "g"}]}),
                &[
                    r#"roleRef.apiGroup: Unsupported value: "z": supported values: "rbac.authorization.k8s.io""#,
                    r#"roleRef.kind: Unsupported value: "Nope": supported values: "Role", "ClusterRole""#,
                    r#"roleRef.name: Invalid value: "x/y": may not contain '/'"#,
                    r#"subjects[0].kind: Unsupported value: "Thing": supported values: "ServiceAccount", "User", "Group""#,
                    "subjects[1].name: Required value",
                    r#"subjects[2].apiGroup: Unsupported value: "g": supported values: """#,
                ],
            ),
        ];
        for (kind, mut object, expect) in table {
            fill_in(kind, &mut object);
            let found: Vec<String> = problems(kind, None, &object)
                .iter()
                .map(|cause| format!("{}: {}", cause.field, cause.message))
                .collect();
            assert_eq!(found, expect, "{object}");
        }
    }

    #[test]
    fn a_binding_keeps_its_role() {
        let mut old = json!({"roleRef": {"kind": "Role", "name": "x"}});
        let mut new = json!({"roleRef": {"kind": "Role", "name": "z"}});
        fill_in(Kind::RoleBinding, &mut old);
        fill_in(Kind::RoleBinding, &mut new);
        let causes = problems(Kind::RoleBinding, Some(&old), &new);
        let message = r#"Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"z"}: cannot change roleRef"#;
        assert_eq!(
            causes,
            [Cause::new("FieldValueInvalid", "roleRef", message)]
        );
        assert_eq!(problems(Kind::RoleBinding, Some(&new), &new), []);
    }
}
