//! The kinds that every Kubernetes cluster has, with their resource names and scopes. Not the kinds
//! of any CRD.

use crate::gvk::Gvk;

/// A kind that every cluster has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// The group; empty for the core group.
    pub group: &'static str,
    /// A version that is served.
    pub version: &'static str,
    /// The kind, as objects write it.
    pub kind: &'static str,
    /// The name of the resource in URLs and roles.
    pub plural: &'static str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

impl Builtin {
    /// Group, version and kind.
    pub fn gvk(&self) -> Gvk {
        Gvk::new(self.group, self.version, self.kind)
    }

    /// Whether `name` is the kind, the plural or the singular; case does not count.
    pub fn is_called(&self, name: &str) -> bool {
        self.kind.eq_ignore_ascii_case(name) || self.plural.eq_ignore_ascii_case(name)
    }
}

/// All of them.
pub fn builtins() -> &'static [Builtin] {
    KINDS
}

/// The kind with this group and version that is called `name` (kind, plural or singular).
pub fn builtin(name: &str, group: &str, version: &str) -> Option<&'static Builtin> {
    KINDS
        .iter()
        .find(|kind| kind.group == group && kind.version == version && kind.is_called(name))
}

/// The kind that objects of this sort are.
pub fn builtin_kind(gvk: &Gvk) -> Option<&'static Builtin> {
    KINDS.iter().find(|kind| {
        kind.group == gvk.group && kind.version == gvk.version && kind.kind == gvk.kind
    })
}

const fn namespaced(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Builtin {
    Builtin {
        group,
        version,
        kind,
        plural,
        namespaced: true,
    }
}

const fn cluster(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Builtin {
    Builtin {
        group,
        version,
        kind,
        plural,
        namespaced: false,
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";
const NETWORKING: &str = "networking.k8s.io";
const STORAGE: &str = "storage.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

const KINDS: &[Builtin] = &[
    namespaced("", "v1", "Binding", "bindings"),
    cluster("", "v1", "ComponentStatus", "componentstatuses"),
    namespaced("", "v1", "ConfigMap", "configmaps"),
    namespaced("", "v1", "Endpoints", "endpoints"),
    namespaced("", "v1", "Event", "events"),
    namespaced("", "v1", "LimitRange", "limitranges"),
    cluster("", "v1", "Namespace", "namespaces"),
    cluster("", "v1", "Node", "nodes"),
    cluster("", "v1", "PersistentVolume", "persistentvolumes"),
    namespaced("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    namespaced("", "v1", "Pod", "pods"),
    namespaced("", "v1", "PodTemplate", "podtemplates"),
    namespaced("", "v1", "ReplicationController", "replicationcontrollers"),
    namespaced("", "v1", "ResourceQuota", "resourcequotas"),
    namespaced("", "v1", "Secret", "secrets"),
    namespaced("", "v1", "Service", "services"),
    namespaced("", "v1", "ServiceAccount", "serviceaccounts"),
    cluster(
        ADMISSION,
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
    ),
    cluster(
        ADMISSION,
        "v1",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
    ),
    cluster(
        ADMISSION,
        "v1",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
    ),
    cluster(
        ADMISSION,
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
    ),
    cluster(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    ),
    cluster("apiregistration.k8s.io", "v1", "APIService", "apiservices"),
    namespaced("apps", "v1", "ControllerRevision", "controllerrevisions"),
    namespaced("apps", "v1", "DaemonSet", "daemonsets"),
    namespaced("apps", "v1", "Deployment", "deployments"),
    namespaced("apps", "v1", "ReplicaSet", "replicasets"),
    namespaced("apps", "v1", "StatefulSet", "statefulsets"),
    cluster("authentication.k8s.io", "v1", "TokenReview", "tokenreviews"),
    namespaced(
        "authorization.k8s.io",
        "v1",
        "LocalSubjectAccessReview",
        "localsubjectaccessreviews",
    ),
    cluster(
        "authorization.k8s.io",
        "v1",
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
    ),
    cluster(
        "authorization.k8s.io",
        "v1",
        "SubjectAccessReview",
        "subjectaccessreviews",
    ),
    namespaced(
        "autoscaling",
        "v1",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
    ),
    namespaced(
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
    ),
    namespaced("batch", "v1", "CronJob", "cronjobs"),
    namespaced("batch", "v1", "Job", "jobs"),
    cluster(
        "certificates.k8s.io",
        "v1",
        "CertificateSigningRequest",
        "certificatesigningrequests",
    ),
    namespaced("coordination.k8s.io", "v1", "Lease", "leases"),
    namespaced("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
    namespaced("events.k8s.io", "v1", "Event", "events"),
    cluster(
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "FlowSchema",
        "flowschemas",
    ),
    cluster(
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
    ),
    namespaced(NETWORKING, "v1", "Ingress", "ingresses"),
    cluster(NETWORKING, "v1", "IngressClass", "ingressclasses"),
    namespaced(NETWORKING, "v1", "NetworkPolicy", "networkpolicies"),
    cluster("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses"),
    namespaced(
        "policy",
        "v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
    ),
    cluster(RBAC, "v1", "ClusterRole", "clusterroles"),
    cluster(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings"),
    namespaced(RBAC, "v1", "Role", "roles"),
    namespaced(RBAC, "v1", "RoleBinding", "rolebindings"),
    cluster(
        "scheduling.k8s.io",
        "v1",
        "PriorityClass",
        "priorityclasses",
    ),
    cluster(STORAGE, "v1", "CSIDriver", "csidrivers"),
    cluster(STORAGE, "v1", "CSINode", "csinodes"),
    namespaced(STORAGE, "v1", "CSIStorageCapacity", "csistoragecapacities"),
    cluster(STORAGE, "v1", "StorageClass", "storageclasses"),
    cluster(STORAGE, "v1", "VolumeAttachment", "volumeattachments"),
];

#[cfg(test)]
mod tests {
    use super::{KINDS, builtin, builtin_kind};

    #[test]
    fn a_kind_is_found_under_each_of_its_names() {
        for (name, group, version, kind) in [
            ("deployment", "apps", "v1", Some("Deployment")),
            ("Deployments", "apps", "v1", Some("Deployment")),
            ("configmap", "", "v1", Some("ConfigMap")),
            ("configmaps", "", "v1", Some("ConfigMap")),
            ("ingresses", "networking.k8s.io", "v1", Some("Ingress")),
            ("deployment", "apps", "v1beta1", None),
            ("redis", "example.org", "v1", None),
        ] {
            assert_eq!(
                builtin(name, group, version).map(|kind| kind.kind),
                kind,
                "{name}.{group}/{version}"
            );
        }
    }

    #[test]
    fn every_kind_is_there_once() {
        for (index, kind) in KINDS.iter().enumerate() {
            assert_eq!(builtin_kind(&kind.gvk()), Some(kind));
            assert_eq!(
                KINDS.iter().position(|other| other.gvk() == kind.gvk()),
                Some(index),
                "{}",
                kind.gvk()
            );
        }
    }
}
