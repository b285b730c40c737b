//! What the server shows of itself: a certificate from files, or one of an authority of its own.

use std::path::Path;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// A file could not be read.
    #[error("cannot read {0}: {1}")]
    File(String, String),
    /// Keys or certificates make no sense.
    #[error("keys and certificates cannot be used: {0}")]
    Keys(String),
}

/// A certificate with its key, and the authority that clients have to trust for it.
#[derive(Clone)]
pub struct Authority {
    certificate: String,
    key: String,
    ca: String,
}

impl Authority {
    /// A new authority, and a certificate of it for these host names.
    ///
    /// # Errors
    ///
    /// If no key can be made, or a name is none.
    pub fn new(hosts: &[String]) -> Result<Self, AuthorityError> {
        let bad = |error: rcgen::Error| AuthorityError::Keys(error.to_string());
        let mut own = CertificateParams::default();
        own.distinguished_name = named("cairn-template-server-ca");
        own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        own.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let ca =
            CertifiedIssuer::self_signed(own, KeyPair::generate().map_err(bad)?).map_err(bad)?;
        let mut params = CertificateParams::new(hosts.to_vec()).map_err(bad)?;
        params.distinguished_name = named("cairn-template-server");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(bad)?;
        let certificate = params.signed_by(&key, &ca).map_err(bad)?.pem();
        Ok(Self {
            certificate,
            key: key.serialize_pem(),
            ca: ca.pem(),
        })
    }

    /// A certificate and its key from files; the authority is the one in a third, or the
    /// certificate itself.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn from_files(
        certificate: &Path,
        key: &Path,
        ca: Option<&Path>,
    ) -> Result<Self, AuthorityError> {
        let read = |path: &Path| {
            let bad = |error: std::io::Error| {
                AuthorityError::File(path.display().to_string(), error.to_string())
            };
            std::fs::read_to_string(path).map_err(bad)
        };
        let certificate = read(certificate)?;
        let ca = ca
            .map(read)
            .transpose()?
            .unwrap_or_else(|| certificate.clone());
        Ok(Self {
            certificate,
            key: read(key)?,
            ca,
        })
    }

    /// The authority as PEM, for those who call.
    pub fn ca_pem(&self) -> &str {
        &self.ca
    }

    /// How connections are encrypted. Whoever speaks for others has to show a certificate of
    /// `callers`.
    pub(crate) fn config(&self, callers: &str) -> Result<ServerConfig, AuthorityError> {
        let bad = |error: &dyn std::fmt::Display| AuthorityError::Keys(error.to_string());
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(self.certificate.as_bytes()).collect();
        let chain = chain.map_err(|error| bad(&error))?;
        let key =
            PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(|error| bad(&error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| bad(&error))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(callers.as_bytes()) {
            roots
                .add(certificate.map_err(|error| bad(&error))?)
                .map_err(|error| bad(&error))?;
        }
        let builder = if roots.is_empty() {
            builder.with_no_client_auth()
        } else {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = verifier
                .allow_unauthenticated()
                .build()
                .map_err(|error| bad(&error))?;
            builder.with_client_cert_verifier(verifier)
        };
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|error| bad(&error))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut named = DistinguishedName::new();
    named.push(DnType::CommonName, name);
    named
}
