//! Reviews: questions about who may do what and who somebody is, asked as objects that nobody
//! stores.

use serde_json::{Map, Value, json};

use super::rbac_index::{Decision, Index};
use super::subject;
use crate::authn::user::User;
use crate::authz::attributes::{About, Question, Resource};
use crate::authz::rbac_rule::Rule;
use crate::handlers::status::{ApiError, Cause};
use crate::request::info::Attributes;

/// The group of questions about rights.
const AUTHORIZATION: &str = "authorization.k8s.io";

/// Answers a question about rights; none if the resource is no such review.
pub(crate) fn about_rights(
    index: &Index,
    user: &User,
    attributes: &Attributes,
    object: &Value,
) -> Option<Result<Value, ApiError>> {
    if attributes.group != AUTHORIZATION || !attributes.subresource.is_empty() {
        return None;
    }
    Some(match &*attributes.resource {
        "selfsubjectaccessreviews" => own_access(index, user, object),
        "subjectaccessreviews" => access(index, object),
        "localsubjectaccessreviews" => local_access(index, &attributes.namespace, object),
        "selfsubjectrulesreviews" => own_rules(index, user, object),
        _ => return None,
    })
}

/// Answers who asks.
pub(crate) fn about_self(user: &User, now: &str) -> Value {
    json!({
        "kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {"creationTimestamp": now},
        "status": {"userInfo": subject::shown(user)},
    })
}

fn own_access(index: &Index, user: &User, object: &Value) -> Result<Value, ApiError> {
    let mut causes = Vec::new();
    attribute_problems(&object["spec"], &mut causes);
    metadata_problems(object, &mut causes);
    refuse(causes)?;
    Ok(answered(
        "SelfSubjectAccessReview",
        object,
        decide(index, user, &object["spec"]),
    ))
}

fn access(index: &Index, object: &Value) -> Result<Value, ApiError> {
    let mut causes = Vec::new();
    subject_problems(&object["spec"], &mut causes);
    metadata_problems(object, &mut causes);
    refuse(causes)?;
    let user = asked_for(&object["spec"]);
    Ok(answered(
        "SubjectAccessReview",
        object,
        decide(index, &user, &object["spec"]),
    ))
}

fn local_access(index: &Index, namespace: &str, object: &Value) -> Result<Value, ApiError> {
    let spec = &object["spec"];
    let mut causes = Vec::new();
    subject_problems(spec, &mut causes);
    let own = spec["resourceAttributes"]["namespace"]
        .as_str()
        .unwrap_or_default();
    if spec["resourceAttributes"].is_object() && own != namespace {
        let path = "spec.resourceAttributes.namespace";
        causes.push(Cause::invalid(
            path,
            &json!(own),
            "must match metadata.namespace",
        ));
    }
    if spec["nonResourceAttributes"].is_object() {
        let value = shown_path(&spec["nonResourceAttributes"]);
        causes.push(Cause::invalid(
            "spec.nonResourceAttributes",
            &value,
            "disallowed on this kind of request",
        ));
    }
    refuse(causes)?;
    let user = asked_for(spec);
    let mut object = object.clone();
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    object["metadata"]["namespace"] = namespace.into();
    Ok(answered(
        "LocalSubjectAccessReview",
        &object,
        decide(index, &user, spec),
    ))
}

fn own_rules(index: &Index, user: &User, object: &Value) -> Result<Value, ApiError> {
    let namespace = object["spec"]["namespace"].as_str().unwrap_or_default();
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let rules = index.rules_for(user, namespace);
    let resources: Vec<Value> = rules.iter().filter_map(Rule::resource_part).collect();
    let urls: Vec<Value> = rules.iter().filter_map(Rule::url_part).collect();
    Ok(json!({
        "kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": {},
        "status": {"resourceRules": resources, "nonResourceRules": urls, "incomplete": false},
    }))
}

fn answered(kind: &str, object: &Value, decision: Decision) -> Value {
    let mut status = json!({"allowed": decision.allowed});
    if !decision.reason.is_empty() {
        status["reason"] = decision.reason.into();
    }
    let metadata = if object["metadata"].is_object() {
        object["metadata"].clone()
    } else {
        json!({})
    };
    json!({
        "kind": kind, "apiVersion": "authorization.k8s.io/v1", "metadata": metadata, "spec": object["spec"],
        "status": status,
    })
}

/// Reviews are refused without a kind and a name, since the real server does not know them there.
fn refuse(causes: Vec<Cause>) -> Result<(), ApiError> {
    if causes.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid(AUTHORIZATION, "", "", causes))
    }
}

fn attribute_problems(spec: &Value, causes: &mut Vec<Cause>) {
    match (
        spec["resourceAttributes"].is_object(),
        spec["nonResourceAttributes"].is_object(),
    ) {
        (true, true) => {
            let value = shown_path(&spec["nonResourceAttributes"]);
            let why = "cannot be specified in combination with resourceAttributes";
            causes.push(Cause::invalid("spec.nonResourceAttributes", &value, why));
        }
        (false, false) => {
            let why =
                "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            causes.push(Cause::invalid("spec.resourceAttributes", &Value::Null, why));
        }
        _ => {}
    }
}

fn subject_problems(spec: &Value, causes: &mut Vec<Cause>) {
    attribute_problems(spec, causes);
    let nobody = spec["user"].as_str().unwrap_or_default().is_empty();
    if nobody && spec["groups"].as_array().is_none_or(Vec::is_empty) {
        causes.push(Cause::invalid(
            "spec.user",
            &json!(""),
            "at least one of user or group must be specified",
        ));
    }
}

fn metadata_problems(object: &Value, causes: &mut Vec<Cause>) {
    let given = object["metadata"].as_object().into_iter().flatten();
    let given: Map<String, Value> = given
        .filter(|(name, value)| *name != "managedFields" && !value.is_null() && *value != "")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if !given.is_empty() {
        causes.push(Cause::invalid("metadata", &given.into(), "must be empty"));
    }
}

fn shown_path(attributes: &Value) -> Value {
    let text = |field: &str| attributes[field].as_str().unwrap_or_default();
    json!({"Path": text("path"), "Verb": text("verb")})
}

fn asked_for(spec: &Value) -> User {
    let text = |field: &str| spec[field].as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| {
        let items = value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        items.map(str::to_owned).collect::<Vec<_>>()
    };
    let extra = spec["extra"].as_object().into_iter().flatten();
    User {
        name: text("user"),
        uid: text("uid"),
        groups: list(&spec["groups"]),
        extra: extra
            .map(|(key, values)| (key.to_lowercase(), list(values)))
            .collect(),
    }
}

fn decide(index: &Index, user: &User, spec: &Value) -> Decision {
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let text = |value: &'_ Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    if path.is_object() {
        let (verb, path) = (text(path, "verb"), text(path, "path"));
        return index.decide(
            user,
            &Question {
                verb: &verb,
                about: About::Path(&path),
            },
        );
    }
    let parts = [
        "verb",
        "group",
        "resource",
        "subresource",
        "namespace",
        "name",
    ]
    .map(|field| text(resource, field));
    let [verb, group, resource, subresource, namespace, name] = &parts;
    index.decide(
        user,
        &Question::of(
            verb,
            Resource {
                group,
                resource,
                subresource,
                namespace,
                name,
            },
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authz::rbac_index::Kind;
    use crate::request::info::Verb;

    fn ask(user: &User, resource: &str, object: &Value) -> Result<Value, String> {
        let mut index = Index::default();
        let rules = json!({"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
            {"verbs": ["get"], "nonResourceURLs": ["/version"]}]});
        index.note(Kind::ClusterRole, "", "r", Some(&rules));
        let binding = json!({"roleRef": {"kind": "ClusterRole", "name": "r"}, "subjects": [{"kind": "User", "name": "ann"}]});
        index.note(Kind::ClusterRoleBinding, "", "b", Some(&binding));
        let attributes = Attributes {
            verb: Verb::Create,
            is_resource: true,
            group: AUTHORIZATION.to_owned(),
            version: "v1".to_owned(),
            resource: resource.to_owned(),
            subresource: String::new(),
            namespace: if resource.starts_with("local") {
                "g1".to_owned()
            } else {
                String::new()
            },
            name: String::new(),
            path: String::new(),
        };
        about_rights(&index, user, &attributes, object)
            .unwrap()
            .map_err(|error| error.message)
    }

    #[test]
    fn a_review_says_whether_and_why() {
        let (ann, admin) = (User::new("ann", &[]), User::admin());
        let why = r#"RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "ann""#;
        let pods = json!({"verb": "get", "resource": "pods", "namespace": "g1"});
        let list = json!({"verb": "list", "resource": "pods", "namespace": "g1"});
        let own = "selfsubjectaccessreviews";
        let table = [
            (
                &ann,
                own,
                json!({"resourceAttributes": pods}),
                json!({"allowed": true, "reason": why}),
            ),
            (
                &ann,
                own,
                json!({"resourceAttributes": list}),
                json!({"allowed": false}),
            ),
            (
                &admin,
                own,
                json!({"resourceAttributes": list}),
                json!({"allowed": true}),
            ),
            (
                &ann,
                own,
                json!({"nonResourceAttributes": {"verb": "get", "path": "/version"}}),
                json!({"allowed": true, "reason": why}),
            ),
            (
                &admin,
                "subjectaccessreviews",
                json!({"user": "ann", "resourceAttributes": pods}),
                json!({"allowed": true, "reason": why}),
            ),
            (
                &admin,
                "subjectaccessreviews",
                json!({"groups": ["system:masters"], "resourceAttributes": list}),
                json!({"allowed": true}),
            ),
            (
                &admin,
                "localsubjectaccessreviews",
                json!({"user": "ann", "resourceAttributes": pods}),
                json!({"allowed": true, "reason": why}),
            ),
        ];
        for (user, resource, spec, status) in table {
            let answer = ask(user, resource, &json!({"spec": spec})).unwrap();
            assert_eq!(answer["status"], status, "{resource} {spec}");
            assert_eq!(answer["spec"], spec);
        }
    }

    #[test]
    fn a_bad_review_is_refused_in_the_real_servers_words() {
        let (own, other, local) = (
            "selfsubjectaccessreviews",
            "subjectaccessreviews",
            "localsubjectaccessreviews",
        );
        let table = [
            (
                own,
                json!({}),
                "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
            ),
            (
                own,
                json!({"resourceAttributes": {"verb": "list"}, "nonResourceAttributes": {"path": "/"}}),
                r#"spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":""}: cannot be specified in combination with resourceAttributes"#,
            ),
            (
                other,
                json!({"resourceAttributes": {"verb": "list"}}),
                r#"spec.user: Invalid value: "": at least one of user or group must be specified"#,
            ),
            (
                local,
                json!({"user": "ann", "resourceAttributes": {"namespace": "g2"}}),
                r#"spec.resourceAttributes.namespace: Invalid value: "g2": must match metadata.namespace"#,
            ),
            (
                local,
                json!({"user": "ann", "nonResourceAttributes": {"verb": "get", "path": "/x"}}),
                r#"spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request"#,
            ),
        ];
        for (resource, spec, expect) in table {
            let message = ask(&User::admin(), resource, &json!({"spec": spec})).unwrap_err();
            assert_eq!(
                message,
                format!(".authorization.k8s.io \"\" is invalid: {expect}")
            );
        }
        let message = ask(
            &User::admin(),
            "selfsubjectrulesreviews",
            &json!({"spec": {}}),
        )
        .unwrap_err();
        assert_eq!(message, "no namespace on request");
    }

    #[test]
    fn the_rules_of_oneself_are_listed() {
        let answer = ask(
            &User::new("ann", &[]),
            "selfsubjectrulesreviews",
            &json!({"spec": {"namespace": "x"}}),
        )
        .unwrap();
        let expect = json!({
            "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/version"]}],
            "incomplete": false,
        });
        assert_eq!(answer["status"], expect);
    }
}
