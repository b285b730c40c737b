//! The command lines of the three programs.

use std::path::Path;

use super::{
    Options,
    pki::{PROXY, Pki},
};

/// Every request at its receipt and its end, without bodies.
pub(crate) const AUDIT_POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
"omitStages": ["ResponseStarted"], "rules": [{"level": "Metadata"}]}"#;

/// Where etcd listens, in the cluster's directory.
pub(crate) const ETCD_SOCKET: &str = "etcd.sock";

/// etcd, for the API server alone: its sockets are files in a directory that only this user can
/// enter.
pub(crate) fn etcd(options: &Options, dir: &Path) -> Vec<String> {
    let socket = |name: &str| format!("unix://{}", dir.join(name).display());
    // Must be given and look like a network address, but a single member has nobody to use it.
    let nowhere = "http://127.0.0.1:2380";
    let mut flags = vec![
        "--name=e0".into(),
        format!("--data-dir={}", dir.join("etcd").display()),
        format!("--listen-client-urls={}", socket(ETCD_SOCKET)),
        format!("--advertise-client-urls={nowhere}"),
        format!("--listen-peer-urls={}", socket("peer.sock")),
        format!("--initial-advertise-peer-urls={nowhere}"),
        format!("--initial-cluster=e0={nowhere}"),
        "--log-level=warn".into(),
    ];
    if !options.durable {
        // The data goes with the cluster: nobody needs it to survive a power cut.
        flags.push("--unsafe-no-fsync".into());
    }
    flags
}

/// kube-apiserver.
pub(crate) fn apiserver(
    options: &Options,
    dir: &Path,
    logs: &Path,
    pki: &Pki,
    port: u16,
) -> Vec<String> {
    let file = |name: &str| pki.path(name).display().to_string();
    let mut flags = vec![
        format!("--etcd-servers=unix://{}", dir.join(ETCD_SOCKET).display()),
        "--bind-address=127.0.0.1".into(),
        "--advertise-address=127.0.0.1".into(),
        format!("--secure-port={port}"),
        format!("--cert-dir={}", dir.join("apiserver").display()),
        format!("--tls-cert-file={}", file("apiserver.crt")),
        format!("--tls-private-key-file={}", file("apiserver.key")),
        format!("--client-ca-file={}", file("ca.crt")),
        "--authorization-mode=Node,RBAC".into(),
        "--enable-admission-plugins=NodeRestriction".into(),
        "--allow-privileged=true".into(),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
        format!("--service-account-key-file={}", file("accounts.pub")),
        format!(
            "--service-account-signing-key-file={}",
            file("accounts.key")
        ),
        "--service-cluster-ip-range=10.96.0.0/16".into(),
        "--endpoint-reconciler-type=none".into(),
        format!("--requestheader-client-ca-file={}", file("front-ca.crt")),
        format!("--requestheader-allowed-names={PROXY}"),
        "--requestheader-username-headers=X-Remote-User".into(),
        "--requestheader-group-headers=X-Remote-Group".into(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
        format!("--proxy-client-cert-file={}", file("proxy.crt")),
        format!("--proxy-client-key-file={}", file("proxy.key")),
        format!(
            "--audit-policy-file={}",
            dir.join("audit-policy.json").display()
        ),
        format!("--audit-log-path={}", logs.join("audit.jsonl").display()),
        // An event is on disk before the request goes on, and no rotation moves the file away.
        "--audit-log-mode=blocking".into(),
        "--audit-log-maxsize=100000".into(),
    ];
    flags.extend(options.apiserver_flags.iter().cloned());
    flags
}

/// kube-controller-manager, which serves nothing, so that it needs no port.
pub(crate) fn controller_manager(options: &Options, dir: &Path, pki: &Pki) -> Vec<String> {
    let kubeconfig = dir
        .join("controller-manager.kubeconfig")
        .display()
        .to_string();
    vec![
        format!("--kubeconfig={kubeconfig}"),
        format!("--authentication-kubeconfig={kubeconfig}"),
        format!("--authorization-kubeconfig={kubeconfig}"),
        "--secure-port=0".into(),
        "--leader-elect=false".into(),
        format!("--controllers={}", options.controllers.join(",")),
        "--use-service-account-credentials=true".into(),
        format!(
            "--service-account-private-key-file={}",
            pki.path("accounts.key").display()
        ),
        format!("--root-ca-file={}", pki.path("ca.crt").display()),
        "--kube-api-qps=200".into(),
        "--kube-api-burst=400".into(),
    ]
}
