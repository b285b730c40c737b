//! X.509 certificates with the fields and extensions sprig gives them.

use std::net::IpAddr;

use sha2::{Digest as _, Sha256};

use super::super::base::decode64;
use super::super::duration::{Duration, HOUR};
use super::super::time::Time;
use super::der::{self, OCTET_STRING, OID, Reader, SEQUENCE};
use super::key::{KeyError, PrivateKey, bits_of};
use super::{Random, pem};

/// A certificate and its private key, both PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate.
    pub cert: String,
    /// The key.
    pub key: String,
}

/// What a certificate is for.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Common name of the subject.
    pub common_name: &'a [u8],
    /// IP addresses it is valid for.
    pub ips: &'a [&'a [u8]],
    /// DNS names it is valid for.
    pub dns_names: &'a [&'a [u8]],
    /// From when.
    pub not_before: &'a Time,
    /// For how many days.
    pub days: i64,
}

/// Why there is no certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertError {
    /// Not an address.
    #[error("error parsing ip: {0}")]
    Ip(String),
    /// The key given for the new certificate cannot be used.
    #[error("parsing private key: {0}")]
    Key(KeyError),
    /// The authority's key, or that of a custom certificate, cannot be used.
    #[error("error parsing private key: {0}")]
    SignerKey(KeyError),
    /// No key could be made.
    #[error("error generating key: {0}")]
    Generate(KeyError),
    /// The authority's certificate is no PEM.
    #[error("unable to decode certificate")]
    NoCertificate,
    /// The authority's certificate cannot be read.
    #[error("error parsing certificate: decodedSignerCert.Bytes: x509: malformed certificate")]
    SignerCertificate,
    /// A custom certificate cannot be read.
    #[error("error parsing certificate: decodedCert.Bytes: x509: malformed certificate")]
    CustomCertificate,
    /// A custom certificate is not base 64.
    #[error("unable to decode base64 certificate")]
    CertificateBase64,
    /// A custom key is not base 64.
    #[error("unable to decode base64 private key")]
    KeyBase64,
    /// The authority's key is not that of its certificate.
    #[error(
        "error creating certificate: x509: provided PrivateKey doesn't match parent's PublicKey"
    )]
    KeyMismatch,
    /// A DNS name beyond ASCII.
    #[error("error creating certificate: x509: {0} cannot be encoded as an IA5String")]
    DnsName(String),
    /// A validity that no date can express.
    #[error("error creating certificate: cannot represent time as GeneralizedTime")]
    Validity,
}

/// What is known of the certificate that signs.
struct Issuer {
    subject: Vec<u8>,
    key_id: Option<Vec<u8>>,
}

/// sprig's `genCA`.
///
/// # Errors
/// A validity beyond any date, or no random bytes.
pub fn gen_ca(request: &Request<'_>, random: Random<'_>) -> Result<Certificate, CertError> {
    let key = PrivateKey::generate(random).map_err(CertError::Generate)?;
    self_signed(request, &key, true, random)
}

/// sprig's `genCAWithKey`.
///
/// # Errors
/// As [`gen_ca`], and keys that cannot be used.
pub fn gen_ca_with_key(
    request: &Request<'_>,
    key: &[u8],
    random: Random<'_>,
) -> Result<Certificate, CertError> {
    self_signed(
        request,
        &PrivateKey::from_pem(key).map_err(CertError::Key)?,
        true,
        random,
    )
}

/// sprig's `genSelfSignedCert`.
///
/// # Errors
/// As [`gen_ca`], and names and addresses that are none.
pub fn gen_self_signed_cert(
    request: &Request<'_>,
    random: Random<'_>,
) -> Result<Certificate, CertError> {
    let key = PrivateKey::generate(random).map_err(CertError::Generate)?;
    self_signed(request, &key, false, random)
}

/// sprig's `genSelfSignedCertWithKey`.
///
/// # Errors
/// As [`gen_self_signed_cert`], and keys that cannot be used.
pub fn gen_self_signed_cert_with_key(
    request: &Request<'_>,
    key: &[u8],
    random: Random<'_>,
) -> Result<Certificate, CertError> {
    self_signed(
        request,
        &PrivateKey::from_pem(key).map_err(CertError::Key)?,
        false,
        random,
    )
}

/// sprig's `genSignedCert`.
///
/// # Errors
/// As [`gen_self_signed_cert`], and an authority that cannot sign.
pub fn gen_signed_cert(
    request: &Request<'_>,
    authority: &Certificate,
    random: Random<'_>,
) -> Result<Certificate, CertError> {
    let key = PrivateKey::generate(random).map_err(CertError::Generate)?;
    signed(request, authority, &key, random)
}

/// sprig's `genSignedCertWithKey`.
///
/// # Errors
/// As [`gen_signed_cert`], and keys that cannot be used.
pub fn gen_signed_cert_with_key(
    request: &Request<'_>,
    authority: &Certificate,
    key: &[u8],
    random: Random<'_>,
) -> Result<Certificate, CertError> {
    signed(
        request,
        authority,
        &PrivateKey::from_pem(key).map_err(CertError::Key)?,
        random,
    )
}

/// sprig's `buildCustomCert`: checks a certificate and a key given as base 64 of PEM.
///
/// # Errors
/// What is not base 64, PEM, a certificate or a key.
pub fn build_custom_cert(cert: &[u8], key: &[u8]) -> Result<Certificate, CertError> {
    let cert = decode64(cert).map_err(|_| CertError::CertificateBase64)?;
    let key = decode64(key).map_err(|_| CertError::KeyBase64)?;
    let (_, data) = pem::decode(&cert).ok_or(CertError::NoCertificate)?;
    read_certificate(&data).ok_or(CertError::CustomCertificate)?;
    PrivateKey::from_pem(&key).map_err(CertError::SignerKey)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Certificate {
        cert: text(cert),
        key: text(key),
    })
}

fn self_signed(
    request: &Request<'_>,
    key: &PrivateKey,
    authority: bool,
    random: Random<'_>,
) -> Result<Certificate, CertError> {
    let issuer = Issuer {
        subject: subject(request.common_name),
        key_id: None,
    };
    create(request, key, &issuer, key, authority, random)
}

fn signed(
    request: &Request<'_>,
    authority: &Certificate,
    key: &PrivateKey,
    random: Random<'_>,
) -> Result<Certificate, CertError> {
    let (_, data) = pem::decode(authority.cert.as_bytes()).ok_or(CertError::NoCertificate)?;
    let (issuer, public) = read_certificate(&data).ok_or(CertError::SignerCertificate)?;
    let signer = PrivateKey::from_pem(authority.key.as_bytes()).map_err(CertError::SignerKey)?;
    let certificate = create(request, key, &issuer, &signer, false, random)?;
    if bits_of(&public) != Some(signer.public_bits().as_slice()) {
        return Err(CertError::KeyMismatch);
    }
    Ok(certificate)
}

fn create(
    request: &Request<'_>,
    key: &PrivateKey,
    issuer: &Issuer,
    signer: &PrivateKey,
    authority: bool,
    random: Random<'_>,
) -> Result<Certificate, CertError> {
    let names = alternative_names(request)?;
    let mut serial = [0; 16];
    random(&mut serial);
    let days = Duration(HOUR.wrapping_mul(24).wrapping_mul(request.days));
    let validity = [
        date(request.not_before)?,
        date(&request.not_before.add(days))?,
    ]
    .concat();
    let subject = subject(request.common_name);
    let extensions = extensions(&subject, &names, key, issuer, authority);
    let algorithm = signer.signature_algorithm();
    let body = der::group(
        SEQUENCE,
        &[
            &der::element(0xa0, &der::integer(&[2])),
            &der::integer(&serial),
            &algorithm,
            &issuer.subject,
            &der::element(SEQUENCE, &validity),
            &subject,
            &key.public_info(),
            &der::element(0xa3, &der::element(SEQUENCE, &extensions)),
        ],
    );
    let signature = der::bits(&signer.sign(&body));
    let whole = der::group(SEQUENCE, &[&body, &algorithm, &signature]);
    Ok(Certificate {
        cert: pem::encode("CERTIFICATE", &whole),
        key: key.to_pem(),
    })
}

/// A name that consists of a common name, or of nothing.
fn subject(common_name: &[u8]) -> Vec<u8> {
    if common_name.is_empty() {
        return der::element(SEQUENCE, b"");
    }
    let printable = |byte: &u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(byte);
    let tag = if common_name.iter().all(printable) {
        0x13
    } else {
        0x0c
    };
    let text = String::from_utf8_lossy(common_name);
    let pair = der::group(
        SEQUENCE,
        &[
            &der::element(OID, &[0x55, 4, 3]),
            &der::element(tag, text.as_bytes()),
        ],
    );
    der::element(SEQUENCE, &der::element(0x31, &pair))
}

/// A date as certificates write it: two digits of the year up to 2049, else four.
fn date(time: &Time) -> Result<Vec<u8>, CertError> {
    let time = time.in_zone(super::super::zone::Zone::Utc);
    match time.year() {
        1950..2050 => Ok(der::element(0x17, &time.format(b"060102150405Z"))),
        0..10_000 => Ok(der::element(0x18, &time.format(b"20060102150405Z"))),
        _ => Err(CertError::Validity),
    }
}

fn alternative_names(request: &Request<'_>) -> Result<Vec<u8>, CertError> {
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut addresses = Vec::new();
    for &ip in request.ips {
        let text = lossy(ip);
        let address: IpAddr = text.parse().map_err(|_| CertError::Ip(text))?;
        addresses.extend(match address.to_canonical() {
            IpAddr::V4(address) => der::element(0x87, &address.octets()),
            IpAddr::V6(address) => der::element(0x87, &address.octets()),
        });
    }
    let mut out = Vec::new();
    for &name in request.dns_names {
        if !name.is_ascii() {
            return Err(CertError::DnsName(format!("\"{}\"", lossy(name))));
        }
        out.extend(der::element(0x82, name));
    }
    out.extend(addresses);
    Ok(out)
}

/// The extensions in Go's order.
fn extensions(
    subject: &[u8],
    names: &[u8],
    key: &PrivateKey,
    issuer: &Issuer,
    authority: bool,
) -> Vec<u8> {
    // Digital signature and key encipherment, for an authority also certificate signing.
    let usage: &[u8] = if authority {
        &[3, 2, 2, 0xa4]
    } else {
        &[3, 2, 5, 0xa0]
    };
    // TLS servers and clients.
    let purposes = [1, 2]
        .map(|purpose| der::element(OID, &[0x2b, 6, 1, 5, 5, 7, 3, purpose]))
        .concat();
    let constraints: &[u8] = if authority { &[1, 1, 0xff] } else { &[] };
    let mut out = [
        extension(&[0x55, 0x1d, 0x0f], true, usage),
        extension(
            &[0x55, 0x1d, 0x25],
            false,
            &der::element(SEQUENCE, &purposes),
        ),
        extension(
            &[0x55, 0x1d, 0x13],
            true,
            &der::element(SEQUENCE, constraints),
        ),
    ]
    .concat();
    if authority {
        let id = &Sha256::digest(key.public_bits())[..20];
        out.extend(extension(
            &[0x55, 0x1d, 0x0e],
            false,
            &der::element(OCTET_STRING, id),
        ));
    }
    if let Some(id) = issuer.key_id.as_ref().filter(|_| issuer.subject != subject) {
        out.extend(extension(
            &[0x55, 0x1d, 0x23],
            false,
            &der::element(SEQUENCE, &der::element(0x80, id)),
        ));
    }
    if !names.is_empty() {
        let nameless = subject.len() == 2;
        out.extend(extension(
            &[0x55, 0x1d, 0x11],
            nameless,
            &der::element(SEQUENCE, names),
        ));
    }
    out
}

fn extension(id: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let flag: &[u8] = if critical { &[1, 1, 0xff] } else { &[] };
    der::group(
        SEQUENCE,
        &[
            &der::element(OID, id),
            flag,
            &der::element(OCTET_STRING, value),
        ],
    )
}

/// The subject and key identifier of a certificate, and its public key information.
fn read_certificate(data: &[u8]) -> Option<(Issuer, Vec<u8>)> {
    let mut whole = Reader::new(data);
    let mut outer = whole.take(SEQUENCE)?.reader();
    if !whole.is_empty() {
        return None;
    }
    let mut body = outer.take(SEQUENCE)?.reader();
    outer.take(SEQUENCE)?;
    outer.take(der::BIT_STRING)?;
    body.optional(0xa0);
    body.take(der::INTEGER)?;
    // Algorithm, issuer and validity.
    for _ in 0..3 {
        body.take(SEQUENCE)?;
    }
    let subject = body.take(SEQUENCE)?.raw.to_vec();
    let public = body.take(SEQUENCE)?.raw.to_vec();
    body.optional(0x81);
    body.optional(0x82);
    let mut key_id = None;
    if let Some(extensions) = body.optional(0xa3) {
        let mut extensions = extensions.reader().take(SEQUENCE)?.reader();
        while let Some(extension) = extensions.optional(SEQUENCE) {
            let mut fields = extension.reader();
            let id = fields.take(OID)?.content;
            fields.optional(1);
            let value = fields.take(OCTET_STRING)?;
            if id == [0x55, 0x1d, 0x0e] {
                key_id = Some(value.reader().take(OCTET_STRING)?.content.to_vec());
            }
        }
    }
    Some((Issuer { subject, key_id }, public))
}
