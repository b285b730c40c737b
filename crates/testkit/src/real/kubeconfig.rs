//! Kubeconfigs, written as JSON, which is YAML too.

use std::path::Path;

use anyhow::{Context, Result};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;

use super::pki::{Pair, write_private};

/// Writes the kubeconfig of a client with a certificate.
pub(crate) fn write(path: &Path, server: &str, ca_pem: &str, client: &Pair) -> Result<()> {
    let (certificate, key) = client.base64();
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cairn-test", "cluster": {
            "server": server, "certificate-authority-data": STANDARD.encode(ca_pem),
        }}],
        "users": [{"name": "user", "user": {"client-certificate-data": certificate, "client-key-data": key}}],
        "contexts": [{"name": "cairn-test", "context": {"cluster": "cairn-test", "user": "user"}}],
        "current-context": "cairn-test",
    });
    if path.exists() {
        std::fs::remove_file(path)?;
    }
    write_private(path, &config.to_string())
        .with_context(|| format!("cannot write {}", path.display()))
}
