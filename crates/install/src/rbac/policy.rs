//! What any package may ask for, whatever it says: the bound that an administrator sets on kinds.

use api::is_never_granted;
use objects::builtins;

/// Kinds by name: `deployments.apps`, `*.example.org`, `configmaps` of the core group, or `*` for
/// all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    resource: String,
    group: Option<String>,
}

impl Pattern {
    /// Reads a pattern, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let sound = |part: &str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
        };
        let (resource, group) = match text.split_once('.') {
            Some((resource, group)) => (resource, Some(group.to_owned())),
            None if text == "*" => ("*", None),
            None => (text, Some(String::new())),
        };
        let group_sound = group
            .as_deref()
            .is_none_or(|group| group.is_empty() || sound(group));
        if (resource == "*" || sound(resource)) && group_sound {
            Ok(Self {
                resource: resource.to_ascii_lowercase(),
                group,
            })
        } else {
            Err(format!(
                "`{text}` names no kinds: write `deployments.apps`, `*.example.org`, `configmaps` or `*`"
            ))
        }
    }

    fn matches(&self, group: &str, resource: &str) -> bool {
        self.group.as_deref().is_none_or(|own| own == group)
            && (self.resource == "*" || self.resource == resource)
    }

    fn names(&self, group: &str, resource: &str) -> bool {
        self.group.as_deref() == Some(group) && self.resource == resource
    }
}

/// What packages may ask for.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// The kinds that may be asked for; none given means the usual ones.
    pub allow: Vec<Pattern>,
}

/// A kind that a package asks for and may not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kind, as `resource.group`.
    pub kind: String,
    /// Why.
    pub why: &'static str,
}

/// Kubernetes' own kinds that stacks usually make.
const USUAL: [(&str, &[&str]); 8] = [
    (
        "",
        &[
            "configmaps",
            "endpoints",
            "events",
            "persistentvolumeclaims",
            "pods",
            "podtemplates",
            "replicationcontrollers",
            "secrets",
            "services",
        ],
    ),
    (
        "apps",
        &[
            "controllerrevisions",
            "daemonsets",
            "deployments",
            "replicasets",
            "statefulsets",
        ],
    ),
    ("autoscaling", &["horizontalpodautoscalers"]),
    ("batch", &["cronjobs", "jobs"]),
    ("coordination.k8s.io", &["leases"]),
    ("discovery.k8s.io", &["endpointslices"]),
    ("networking.k8s.io", &["ingresses", "networkpolicies"]),
    ("policy", &["poddisruptionbudgets"]),
];

impl Policy {
    /// Whether a stack may have a kind, or all of a group (`*`); `cluster_wide` if it would have it
    /// in every namespace.
    pub fn check(&self, group: &str, resource: &str, cluster_wide: bool) -> Result<(), Refusal> {
        let refuse = |why| {
            let kind = if group.is_empty() {
                resource.to_owned()
            } else {
                format!("{resource}.{group}")
            };
            Err(Refusal { kind, why })
        };
        // A subresource such as `serviceaccounts/token` counts as its resource.
        let whole = resource.split('/').next().unwrap_or_default();
        let all_core = group.is_empty() && whole == "*";
        if is_never_granted(group, whole) || all_core || group == "*" {
            return refuse("no stack may have it, since it could give itself more rights with it");
        }
        if self.allow.is_empty() {
            if group == api::GROUP {
                return refuse("stacks do not install stacks");
            }
            if !usual(group, whole) {
                return refuse("it is not among the kinds of Kubernetes that stacks may have here");
            }
        } else if !self
            .allow
            .iter()
            .any(|pattern| pattern.matches(group, whole))
        {
            return refuse("it is not among the kinds that stacks may have here");
        }
        // Whoever reads the Secrets of all namespaces is everybody. Only who writes it down wants
        // it.
        let named = self.allow.iter().any(|pattern| pattern.names(group, whole));
        if cluster_wide && group.is_empty() && whole == "secrets" && !named {
            return refuse(
                "a stack of the whole cluster may not have the Secrets of all namespaces",
            );
        }
        Ok(())
    }
}

/// Whether stacks usually may have a kind: all that Kubernetes itself does not define, and some
/// that it does.
fn usual(group: &str, resource: &str) -> bool {
    let own: Vec<_> = builtins()
        .iter()
        .filter(|kind| kind.group == group)
        .collect();
    let listed = |resource: &str| {
        USUAL
            .iter()
            .any(|(known, kinds)| *known == group && kinds.contains(&resource))
    };
    match resource {
        _ if own.is_empty() => !is_reserved(group),
        "*" => own.iter().all(|kind| listed(kind.plural)),
        resource => listed(resource),
    }
}

/// Groups that Kubernetes itself defines, or did once, and whose kinds we do not know. Others that
/// end like its own are of projects beside it, such as `gateway.networking.k8s.io`, whose kinds
/// come by CRDs.
const RESERVED: [&str; 10] = [
    "admission.k8s.io",
    "auditregistration.k8s.io",
    "authorization.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "imagepolicy.k8s.io",
    "internal.apiserver.k8s.io",
    "node.k8s.io",
    "resource.k8s.io",
    "storagemigration.k8s.io",
];

fn is_reserved(group: &str) -> bool {
    !group.contains('.') || RESERVED.contains(&group)
}

#[cfg(test)]
mod tests {
    use super::{Pattern, Policy};

    fn policy(patterns: &[&str]) -> Policy {
        Policy {
            allow: patterns
                .iter()
                .map(|text| Pattern::parse(text).unwrap())
                .collect(),
        }
    }

    #[test]
    fn a_stack_may_have_other_stacks_kinds_and_usual_ones_but_nothing_to_rise_by() {
        let usual = policy(&[]);
        for (group, resource, allowed) in [
            ("example.org", "redises", true),
            ("example.org", "*", true),
            ("gateway.networking.x-k8s.io", "gateways", true),
            ("apps", "deployments", true),
            ("apps", "*", true),
            ("batch", "jobs", true),
            ("", "configmaps", true),
            ("", "secrets", true),
            ("", "*", false),
            ("", "nodes", false),
            ("", "namespaces", false),
            ("", "persistentvolumes", false),
            ("", "serviceaccounts", false),
            ("", "serviceaccounts/token", false),
            ("rbac.authorization.k8s.io", "clusterroles", false),
            ("rbac.authorization.k8s.io", "*", false),
            (
                "admissionregistration.k8s.io",
                "mutatingwebhookconfigurations",
                false,
            ),
            ("apiextensions.k8s.io", "customresourcedefinitions", false),
            ("apiregistration.k8s.io", "apiservices", false),
            ("certificates.k8s.io", "certificatesigningrequests", false),
            ("stacks.crossplane.io", "stackinstalls", false),
            ("storage.k8s.io", "storageclasses", false),
            ("networking.k8s.io", "*", false),
            ("gateway.networking.k8s.io", "httproutes", true),
            ("gateway.networking.k8s.io", "*", true),
            ("snapshot.storage.k8s.io", "volumesnapshots", true),
            ("metrics.k8s.io", "pods", true),
            ("flowcontrol.apiserver.k8s.io", "flowschemas", false),
            ("resource.k8s.io", "deviceclasses", false),
            ("node.k8s.io", "runtimeclasses", false),
            ("scheduling.k8s.io", "priorityclasses", false),
            ("authorization.k8s.io", "subjectaccessreviews", false),
            ("extensions", "ingresses", false),
            ("*", "*", false),
        ] {
            assert_eq!(
                usual.check(group, resource, false).is_ok(),
                allowed,
                "{resource}.{group}"
            );
        }
    }

    #[test]
    fn a_list_opens_what_it_names_and_nothing_to_rise_by() {
        let list = policy(&[
            "*.example.org",
            "configmaps",
            "stackinstalls.stacks.crossplane.io",
        ]);
        for (group, resource, allowed) in [
            ("example.org", "redises", true),
            ("", "configmaps", true),
            ("stacks.crossplane.io", "stackinstalls", true),
            ("", "pods", false),
            ("other.org", "things", false),
        ] {
            assert_eq!(
                list.check(group, resource, false).is_ok(),
                allowed,
                "{resource}.{group}"
            );
        }
        let all = policy(&["*"]);
        assert!(all.check("storage.k8s.io", "storageclasses", false).is_ok());
        for (group, resource) in [
            ("rbac.authorization.k8s.io", "roles"),
            ("", "serviceaccounts"),
            ("*", "*"),
        ] {
            assert!(
                all.check(group, resource, false).is_err(),
                "{resource}.{group}"
            );
        }
    }

    #[test]
    fn the_secrets_of_all_namespaces_need_a_word_of_their_own() {
        for (patterns, allowed) in [(&[][..], false), (&["*"], false), (&["*", "secrets"], true)] {
            assert_eq!(
                policy(patterns).check("", "secrets", true).is_ok(),
                allowed,
                "{patterns:?}"
            );
            assert!(policy(patterns).check("", "secrets", false).is_ok());
            assert!(policy(patterns).check("", "configmaps", true).is_ok());
        }
    }

    #[test]
    fn a_pattern_names_kinds_or_is_refused() {
        for bad in ["", ".example.org", "a b", "deployments.", "a/b", "**"] {
            assert_eq!(Pattern::parse(bad).is_err(), bad != "deployments.", "{bad}");
        }
    }
}
