//! The keys and certificates of one cluster, made for it and gone with it.

use std::{
    fs, io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use base64::{Engine, engine::general_purpose::STANDARD};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};

/// The name in the certificate of those who may speak for others.
pub(crate) const PROXY: &str = "front-proxy-client";

/// A certificate and its key, as PEM.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Pair {
    /// As kubeconfigs carry them.
    pub(crate) fn base64(&self) -> (String, String) {
        (
            STANDARD.encode(&self.certificate),
            STANDARD.encode(&self.key),
        )
    }
}

/// Everything, with the files that the programs read.
pub(crate) struct Pki {
    /// The authority's certificate as DER, for clients.
    pub(crate) ca_der: Vec<u8>,
    /// The same as PEM.
    pub(crate) ca_pem: String,
    /// The admin.
    pub(crate) admin: Pair,
    /// The controller manager.
    pub(crate) controller_manager: Pair,
    /// Whoever holds it may name the user of a request in a header. This is how there can be a
    /// client for any user with any groups, whom the API server takes for that very user.
    pub(crate) proxy: Pair,
    dir: PathBuf,
}

impl Pki {
    /// Makes all of them and writes the files.
    pub(crate) fn create(dir: &Path) -> Result<Self> {
        let ca = authority("cairn-test-ca")?;
        let front = authority("cairn-test-front-proxy-ca")?;
        let names = [
            "localhost",
            "127.0.0.1",
            "10.96.0.1",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
        ];
        let server = leaf(&ca, "kube-apiserver", "", &names)?;
        let accounts = KeyPair::generate()?;
        let pki = Self {
            ca_der: ca.der().to_vec(),
            ca_pem: ca.pem(),
            admin: leaf(&ca, "admin", "system:masters", &[])?,
            controller_manager: leaf(&ca, "system:kube-controller-manager", "", &[])?,
            proxy: leaf(&front, PROXY, "", &[])?,
            dir: dir.to_owned(),
        };
        fs::create_dir(dir).with_context(|| format!("cannot create {}", dir.display()))?;
        for (name, text) in [
            ("ca.crt", &pki.ca_pem),
            ("front-ca.crt", &front.pem()),
            ("apiserver.crt", &server.certificate),
            ("apiserver.key", &server.key),
            ("proxy.crt", &pki.proxy.certificate),
            ("proxy.key", &pki.proxy.key),
            ("accounts.key", &accounts.serialize_pem()),
            ("accounts.pub", &accounts.public_key_pem()),
        ] {
            write_private(&pki.path(name), text).with_context(|| format!("cannot write {name}"))?;
        }
        Ok(pki)
    }

    /// The path of one of the files.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

/// Writes a file that only this user can read.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    io::Write::write_all(&mut file, text.as_bytes())
}

fn authority(name: &str) -> Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = CertificateParams::default();
    params.distinguished_name = subject(name, "");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

/// A server's certificate if it has host names, else a client's.
fn leaf(
    issuer: &CertifiedIssuer<'_, KeyPair>,
    name: &str,
    group: &str,
    hosts: &[&str],
) -> Result<Pair> {
    let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
    let usage = if hosts.is_empty() {
        ExtendedKeyUsagePurpose::ClientAuth
    } else {
        ExtendedKeyUsagePurpose::ServerAuth
    };
    let mut params = CertificateParams::new(hosts)?;
    params.distinguished_name = subject(name, group);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, issuer)?;
    Ok(Pair {
        certificate: certificate.pem(),
        key: key.serialize_pem(),
    })
}

fn subject(name: &str, group: &str) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    if !group.is_empty() {
        subject.push(DnType::OrganizationName, group);
    }
    subject.push(DnType::CommonName, name);
    subject
}
