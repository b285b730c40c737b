//! The Service `kubernetes` in the namespace `default`, by which pods find the API server in every
//! cluster, and its endpoints, which say where this server listens. Whatever is deleted of it, or
//! changed, is there again at once.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use serde_json::{Value, json};

use super::driver::Follower;
use super::writes;
use super::writes::uid_of;
use crate::registry::table_name;
use crate::server::Inner;
use crate::storage::{Event, Key};
use crate::{clock, random};

const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";
/// The first address of the network of services.
const ADDRESS: &str = "10.96.0.1";
/// The port that Kubernetes listens on where nothing else is said.
const PORT: u16 = 6443;
const SLICES: (&str, &str) = ("discovery.k8s.io", "endpointslices");

/// Follows the Service and its endpoints.
pub(crate) struct OwnService {
    inner: Arc<Inner>,
    slices: Arc<str>,
    changed: bool,
}

impl OwnService {
    pub(crate) fn new(inner: &Arc<Inner>) -> Self {
        Self {
            inner: inner.clone(),
            slices: table_name(SLICES.0, SLICES.1),
            changed: true,
        }
    }
}

impl Follower for OwnService {
    fn note(&mut self, event: &Event) {
        let key = &event.key;
        let is_kind =
            || matches!(&*key.resource, "services" | "endpoints") || key.resource == self.slices;
        self.changed |= key.name() == NAME && key.namespace() == NAMESPACE && is_kind();
    }

    async fn work(&mut self) {
        if std::mem::take(&mut self.changed) {
            settle(&self.inner).await;
        }
    }
}

/// Puts everything in place. The endpoints are there once somebody listens.
pub(crate) async fn settle(inner: &Inner) {
    let store = &inner.store;
    let address = inner.address();
    let services = Key::new(&table_name("", "services"), NAMESPACE, NAME);
    if store.get(&services).is_none() {
        // A broken journal is told to clients; here it only means that the object is missing.
        _ = writes::make(store, &services, service(address)).await;
    }
    let Some(address) = address else { return };
    let slices = Key::new(&table_name(SLICES.0, SLICES.1), NAMESPACE, NAME);
    let endpoints_key = Key::new(&table_name("", "endpoints"), NAMESPACE, NAME);
    for (key, wanted) in [
        (endpoints_key, endpoints(address)),
        (slices, slice(address)),
    ] {
        let Some(entry) = store.get(&key) else {
            _ = writes::make(store, &key, wanted).await;
            continue;
        };
        let restore = |object: &mut Value| {
            let mut changed = false;
            for field in ["subsets", "endpoints", "ports", "addressType"] {
                if let Some(right) = wanted
                    .get(field)
                    .filter(|right| object.get(field) != Some(right))
                {
                    object[field] = right.clone();
                    changed = true;
                }
            }
            changed
        };
        _ = writes::change(store, &key, uid_of(&entry.value()), restore).await;
    }
}

fn metadata(labels: &Value) -> Value {
    json!({
        "name": NAME, "namespace": NAMESPACE, "uid": random::uuid(), "creationTimestamp": clock::now(), "labels": labels,
    })
}

/// The Service, as the real server makes it.
pub(crate) fn service(address: Option<SocketAddr>) -> Value {
    let port = address.map_or(PORT, |address| address.port());
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": metadata(&json!({"component": "apiserver", "provider": "kubernetes"})),
        "spec": {
            "clusterIP": ADDRESS, "clusterIPs": [ADDRESS], "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack", "sessionAffinity": "None", "type": "ClusterIP",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
        },
        "status": {"loadBalancer": {}},
    })
}

fn endpoints(address: SocketAddr) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Endpoints",
        "metadata": metadata(&json!({"endpointslice.kubernetes.io/skip-mirror": "true"})),
        "subsets": [{
            "addresses": [{"ip": address.ip().to_string()}],
            "ports": [{"name": "https", "port": address.port(), "protocol": "TCP"}],
        }],
    })
}

fn slice(address: SocketAddr) -> Value {
    let family = match address.ip() {
        IpAddr::V4(_) => "IPv4",
        IpAddr::V6(_) => "IPv6",
    };
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": metadata(&json!({"kubernetes.io/service-name": NAME})),
        "addressType": family,
        "endpoints": [{"addresses": [address.ip().to_string()], "conditions": {"ready": true}}],
        "ports": [{"name": "https", "port": address.port(), "protocol": "TCP"}],
    })
}
