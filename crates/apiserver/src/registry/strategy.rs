//! What differs from one built-in resource to another in how it is created, changed and deleted.

use super::Served;

/// Tables whose objects count the changes of their specs.
const GENERATIONS: [&str; 33] = [
    "customresourcedefinitions.apiextensions.k8s.io",
    "cronjobs.batch",
    "daemonsets.apps",
    "deployments.apps",
    "deviceclasses.resource.k8s.io",
    "devicetaintrules.resource.k8s.io",
    "endpointslices.discovery.k8s.io",
    "flowschemas.flowcontrol.apiserver.k8s.io",
    "ingressclasses.networking.k8s.io",
    "ingresses.networking.k8s.io",
    "ipaddresses.networking.k8s.io",
    "jobs.batch",
    "mutatingadmissionpolicies.admissionregistration.k8s.io",
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "networkpolicies.networking.k8s.io",
    "poddisruptionbudgets.policy",
    "pods",
    "podtemplates",
    "priorityclasses.scheduling.k8s.io",
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    "replicasets.apps",
    "replicationcontrollers",
    "resourceclaims.resource.k8s.io",
    "resourceslices.resource.k8s.io",
    "servicecidrs.networking.k8s.io",
    "statefulsets.apps",
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "volumeattachments.storage.k8s.io",
    "leasecandidates.coordination.k8s.io",
    "podcertificaterequests.certificates.k8s.io",
];

/// Tables whose deletion answers with the object that was deleted.
const RETURNED: [&str; 17] = [
    "csidrivers.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "deviceclasses.resource.k8s.io",
    "devicetaintrules.resource.k8s.io",
    "namespaces",
    "persistentvolumeclaims",
    "persistentvolumes",
    "pods",
    "podtemplates",
    "resourceclaims.resource.k8s.io",
    "resourceclaimtemplates.resource.k8s.io",
    "resourcequotas",
    "resourceslices.resource.k8s.io",
    "serviceaccounts",
    "services",
    "storageclasses.storage.k8s.io",
    "volumeattachments.storage.k8s.io",
];

/// Tables whose objects are created by an update of what is not there.
const CREATED_BY_UPDATE: [&str; 11] = [
    "clusterrolebindings.rbac.authorization.k8s.io",
    "clusterroles.rbac.authorization.k8s.io",
    "endpoints",
    "events",
    "leasecandidates.coordination.k8s.io",
    "leases.coordination.k8s.io",
    "limitranges",
    "rolebindings.rbac.authorization.k8s.io",
    "roles.rbac.authorization.k8s.io",
    "runtimeclasses.node.k8s.io",
    "services",
];

/// Tables whose objects are updated only by those who say which revision they have seen.
const CONDITIONAL: [&str; 16] = [
    "clustertrustbundles.certificates.k8s.io",
    "csidrivers.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "csistoragecapacities.storage.k8s.io",
    "customresourcedefinitions.apiextensions.k8s.io",
    "leasecandidates.coordination.k8s.io",
    "leases.coordination.k8s.io",
    "mutatingadmissionpolicies.admissionregistration.k8s.io",
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "poddisruptionbudgets.policy",
    "runtimeclasses.node.k8s.io",
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "volumeattachments.storage.k8s.io",
];

/// Whether changes of the spec are counted in `metadata.generation`.
pub(crate) fn counts_generations(served: &Served) -> bool {
    served.custom.is_some() || GENERATIONS.contains(&&*served.table)
}

/// Whether a deletion answers with the object.
pub(crate) fn returns_deleted(table: &str) -> bool {
    RETURNED.contains(&table)
}

/// Whether an update creates what is not there.
pub(crate) fn creates_on_update(served: &Served) -> bool {
    served.custom.is_none() && CREATED_BY_UPDATE.contains(&&*served.table)
}

/// Whether an update has to say which revision it changes.
pub(crate) fn needs_revision(served: &Served) -> bool {
    served.custom.is_some() || CONDITIONAL.contains(&&*served.table)
}
