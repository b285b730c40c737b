//! What a kubeconfig leads to: an address, whom to trust, and who the client is.

use std::{net::SocketAddr, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::Value;

/// Where to connect to, and how.
#[derive(Clone)]
pub struct Target {
    pub address: SocketAddr,
    pub tls: Arc<ClientConfig>,
    /// A bearer token; a client without one has a certificate.
    pub token: Option<String>,
}

impl Target {
    /// Reads the first cluster and the first user.
    pub fn read(kubeconfig: &str) -> Self {
        let config = yaml::parse(&std::fs::read_to_string(kubeconfig).unwrap()).unwrap();
        let (cluster, user) = (
            &config["clusters"][0]["cluster"],
            &config["users"][0]["user"],
        );
        let decoded = |value: &Value| STANDARD.decode(value.as_str().unwrap()).unwrap();
        let mut roots = RootCertStore::empty();
        let authority = decoded(&cluster["certificate-authority-data"]);
        roots
            .add(CertificateDer::from_pem_slice(&authority).unwrap())
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        let tls = tls.with_root_certificates(roots);
        let token = user["token"].as_str().map(str::to_owned);
        let tls = if token.is_some() {
            tls.with_no_client_auth()
        } else {
            let certificate =
                CertificateDer::from_pem_slice(&decoded(&user["client-certificate-data"])).unwrap();
            let key = PrivateKeyDer::from_pem_slice(&decoded(&user["client-key-data"])).unwrap();
            tls.with_client_auth_cert(vec![certificate], key).unwrap()
        };
        let server = cluster["server"].as_str().unwrap();
        let address = server.strip_prefix("https://").unwrap().parse().unwrap();
        Self {
            address,
            tls: Arc::new(tls),
            token,
        }
    }
}
