//! Which objects of a list or a watch are wanted, by their labels and fields.

use objects::selector::{FieldSelector, LabelSelector};

use crate::handlers::status::ApiError;
use crate::registry::Served;
use crate::request::info::QueryPairs;
use crate::storage::Entry;

/// Selectors by labels and by fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
    name: Option<String>,
}

/// By what the objects of built-in tables can be selected beside their names.
const FIELDS: [(&str, &[&str]); 10] = [
    (
        "certificatesigningrequests.certificates.k8s.io",
        &["spec.signerName"],
    ),
    (
        "events",
        &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
    ),
    ("jobs.batch", &["status.successful"]),
    ("namespaces", &["status.phase", "name"]),
    ("nodes", &["spec.unschedulable"]),
    (
        "pods",
        &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
    ),
    ("replicasets.apps", &["status.replicas"]),
    ("replicationcontrollers", &["status.replicas"]),
    ("secrets", &["type"]),
    ("services", &["spec.clusterIP", "spec.type"]),
];

impl Selection {
    /// Reads the selectors of a query; `name` is that of a watch on one object.
    pub(crate) fn read(
        served: &Served,
        query: &QueryPairs,
        name: Option<&str>,
    ) -> Result<Self, ApiError> {
        let refused =
            |error: objects::selector::SelectorError| ApiError::bad_request(error.to_string());
        let labels = LabelSelector::parse(query.get("labelSelector").unwrap_or_default())
            .map_err(refused)?;
        let fields = FieldSelector::parse(query.get("fieldSelector").unwrap_or_default())
            .map_err(refused)?;
        match &served.custom {
            Some(custom) => {
                let own: Vec<&str> = custom.selectable.iter().map(String::as_str).collect();
                fields.check(&own).map_err(refused)?;
            }
            None => {
                let own = FIELDS.iter().find(|(table, _)| *table == &*served.table);
                fields
                    .check(own.map_or(&[], |(_, fields)| fields))
                    .map_err(refused)?;
            }
        }
        Ok(Self {
            labels,
            fields,
            name: name.map(str::to_owned),
        })
    }

    /// Whether everything is wanted.
    pub(crate) fn is_everything(&self) -> bool {
        self.name.is_none() && self.labels.is_everything() && self.fields.is_everything()
    }

    /// Whether an object is wanted.
    pub(crate) fn wants(&self, entry: &Entry) -> bool {
        if self.is_everything() {
            return true;
        }
        // Of many objects only as much is read as the question needs.
        let head = entry.head();
        self.name
            .as_deref()
            .is_none_or(|name| head["metadata"]["name"] == name)
            && (self.labels.is_everything() || self.labels.matches_object(&head))
            && (self.fields.is_everything() || self.fields.matches_object(&entry.value()))
    }
}
