//! Private keys: making P-256 and Ed25519 ones, and reading those and RSA ones from PEM.

use num_bigint::BigUint;
use p256::ecdsa::{Signature, SigningKey, signature::Signer};
use sha2::{Digest as _, Sha256};

use super::der::{self, BIT_STRING, INTEGER, OCTET_STRING, OID, Reader, SEQUENCE};
use super::{Random, pem};

/// Content of the object identifiers used here.
pub(crate) const EC_PUBLIC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const RSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];
/// What PKCS #1 puts before a SHA-256 digest.
const SHA256_INFO: &[u8] = &[
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05,
    0x00, 0x04, 0x20,
];
const NULL: &[u8] = &[0x05, 0x00];
/// Bits beyond which an RSA key is refused, for the time it would take.
const MAX_RSA_BITS: u64 = 8192;

/// Why a key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no PEM block.
    #[error("no PEM data in input")]
    NoPem,
    /// The block holds something else.
    #[error("no private key data in PEM block of type {0}")]
    NotPrivate(String),
    /// The block's kind is of no known algorithm.
    #[error("invalid private key type {0}")]
    Kind(String),
    /// A PKCS #8 block that cannot be read.
    #[error("decoding PEM as PKCS#8: {0}")]
    Pkcs8(&'static str),
    /// An RSA block that cannot be read.
    #[error("parsing RSA private key from PEM: {0}")]
    Rsa(&'static str),
    /// An EC block that cannot be read.
    #[error("parsing EC private key from PEM: {0}")]
    Ec(&'static str),
    /// The source of random bytes yields no key.
    #[error("no usable random bytes")]
    Random,
}

/// A private key that can sign certificates.
pub(crate) enum PrivateKey {
    Ec(Box<SigningKey>),
    Ed25519(Box<ed25519_dalek::SigningKey>),
    Rsa(RsaKey),
}

/// An RSA key: modulus, public and private exponent, and the PKCS #1 form it came in.
pub(crate) struct RsaKey {
    modulus: BigUint,
    public: BigUint,
    private: BigUint,
    encoded: Vec<u8>,
}

/// sprig's `genPrivateKey`: PEM of a new key. `rsa`, `dsa` and none give an ECDSA key as `ecdsa`
/// does; an unknown kind gives sprig's error as text.
///
/// # Errors
/// A source of random bytes that only yields bytes which are no key.
pub fn gen_private_key(kind: &[u8], random: Random<'_>) -> Result<String, KeyError> {
    match kind {
        b"" | b"rsa" | b"dsa" | b"ecdsa" => Ok(PrivateKey::generate(random)?.to_pem()),
        b"ed25519" => {
            let mut seed = [0; 32];
            random(&mut seed);
            Ok(
                PrivateKey::Ed25519(Box::new(ed25519_dalek::SigningKey::from_bytes(&seed)))
                    .to_pem(),
            )
        }
        _ => Ok(format!("Unknown type {}", String::from_utf8_lossy(kind))),
    }
}

impl PrivateKey {
    /// A new P-256 key.
    pub(crate) fn generate(random: Random<'_>) -> Result<Self, KeyError> {
        // Almost every 32 bytes are a key, so a source that fails this often is broken.
        for _ in 0..16 {
            let mut bytes = [0; 32];
            random(&mut bytes);
            if let Ok(key) = SigningKey::from_slice(&bytes) {
                return Ok(Self::Ec(Box::new(key)));
            }
        }
        Err(KeyError::Random)
    }

    /// Reads a PEM block of PKCS #8, PKCS #1 or SEC 1.
    pub(crate) fn from_pem(text: &[u8]) -> Result<Self, KeyError> {
        let (kind, data) = pem::decode(text).ok_or(KeyError::NoPem)?;
        if kind == "PRIVATE KEY" {
            return Self::from_pkcs8(&data);
        }
        match kind.strip_suffix(" PRIVATE KEY") {
            None => Err(KeyError::NotPrivate(kind)),
            Some("RSA") => RsaKey::read(&data).map(Self::Rsa).map_err(KeyError::Rsa),
            Some("EC") => read_ec(&data, None).map_err(KeyError::Ec),
            Some(_) => Err(KeyError::Kind(kind)),
        }
    }

    fn from_pkcs8(data: &[u8]) -> Result<Self, KeyError> {
        let malformed = KeyError::Pkcs8("malformed private key");
        let parts = || {
            let mut fields = Reader::new(data).take(SEQUENCE)?.reader();
            fields.take(INTEGER)?;
            let mut algorithm = fields.take(SEQUENCE)?.reader();
            let kind = algorithm.take(OID)?.content;
            let curve = algorithm.optional(OID).map(|curve| curve.content);
            Some((kind, curve, fields.take(OCTET_STRING)?.content))
        };
        let (kind, curve, key) = parts().ok_or(malformed)?;
        match kind {
            RSA => RsaKey::read(key).map(Self::Rsa).map_err(KeyError::Pkcs8),
            EC_PUBLIC_KEY => read_ec(key, curve).map_err(KeyError::Pkcs8),
            ED25519 => {
                let seed = Reader::new(key)
                    .take(OCTET_STRING)
                    .and_then(|seed| <[u8; 32]>::try_from(seed.content).ok());
                let seed = seed.ok_or(KeyError::Pkcs8("x509: invalid Ed25519 private key"))?;
                Ok(Self::Ed25519(Box::new(
                    ed25519_dalek::SigningKey::from_bytes(&seed),
                )))
            }
            _ => Err(KeyError::Pkcs8(
                "x509: PKCS#8 wrapping contained private key with unknown algorithm",
            )),
        }
    }

    /// The PEM form sprig writes: SEC 1, PKCS #1 or PKCS #8.
    pub(crate) fn to_pem(&self) -> String {
        match self {
            Self::Ed25519(key) => {
                let algorithm = der::element(SEQUENCE, &der::element(OID, ED25519));
                let seed = der::element(OCTET_STRING, &der::element(OCTET_STRING, &key.to_bytes()));
                pem::encode(
                    "PRIVATE KEY",
                    &der::group(SEQUENCE, &[&der::integer(&[0]), &algorithm, &seed]),
                )
            }
            Self::Rsa(key) => pem::encode("RSA PRIVATE KEY", &key.encoded),
            Self::Ec(key) => {
                let curve = der::element(0xa0, &der::element(OID, P256));
                let public = der::element(0xa1, &der::bits(&self.public_bits()));
                let secret = der::element(OCTET_STRING, &key.to_bytes());
                pem::encode(
                    "EC PRIVATE KEY",
                    &der::group(SEQUENCE, &[&der::integer(&[1]), &secret, &curve, &public]),
                )
            }
        }
    }

    /// The public key itself: a point, or modulus and exponent.
    pub(crate) fn public_bits(&self) -> Vec<u8> {
        match self {
            Self::Ed25519(key) => key.verifying_key().to_bytes().to_vec(),
            Self::Ec(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            Self::Rsa(key) => {
                let (modulus, exponent) = (key.modulus.to_bytes_be(), key.public.to_bytes_be());
                der::group(
                    SEQUENCE,
                    &[&der::integer(&modulus), &der::integer(&exponent)],
                )
            }
        }
    }

    /// The public key with its algorithm, as certificates hold it.
    pub(crate) fn public_info(&self) -> Vec<u8> {
        let algorithm = match self {
            Self::Ec(_) => der::group(
                SEQUENCE,
                &[&der::element(OID, EC_PUBLIC_KEY), &der::element(OID, P256)],
            ),
            Self::Ed25519(_) => der::element(SEQUENCE, &der::element(OID, ED25519)),
            Self::Rsa(_) => der::group(SEQUENCE, &[&der::element(OID, RSA), NULL]),
        };
        der::group(SEQUENCE, &[&algorithm, &der::bits(&self.public_bits())])
    }

    /// The algorithm of [`PrivateKey::sign`].
    pub(crate) fn signature_algorithm(&self) -> Vec<u8> {
        match self {
            Self::Ec(_) => der::element(SEQUENCE, &der::element(OID, ECDSA_SHA256)),
            Self::Ed25519(_) => der::element(SEQUENCE, &der::element(OID, ED25519)),
            Self::Rsa(_) => der::group(SEQUENCE, &[&der::element(OID, RSA_SHA256), NULL]),
        }
    }

    /// Signs `data`, by way of its SHA-256 digest unless Ed25519 has its own, always to the same
    /// result.
    pub(crate) fn sign(&self, data: &[u8]) -> Vec<u8> {
        match self {
            Self::Ec(key) => {
                let signature: Signature = key.sign(data);
                let bytes = signature.to_bytes();
                let (r, s) = bytes.split_at(bytes.len() / 2);
                der::group(SEQUENCE, &[&der::integer(r), &der::integer(s)])
            }
            Self::Ed25519(key) => key.sign(data).to_bytes().to_vec(),
            Self::Rsa(key) => key.sign(data),
        }
    }
}

fn read_ec(data: &[u8], curve: Option<&[u8]>) -> Result<PrivateKey, &'static str> {
    let parts = || {
        let mut fields = Reader::new(data).take(SEQUENCE)?.reader();
        fields.take(INTEGER)?;
        let secret = fields.take(OCTET_STRING)?.content;
        let named = fields
            .optional(0xa0)
            .and_then(|field| field.reader().take(OID));
        Some((secret, named.map(|named| named.content)))
    };
    let (secret, named) = parts().ok_or("x509: failed to parse EC private key")?;
    if curve.or(named) != Some(P256) {
        return Err("x509: unknown elliptic curve");
    }
    let start = secret.len().saturating_sub(32);
    let mut padded = [0; 32];
    padded[32 - (secret.len() - start)..].copy_from_slice(&secret[start..]);
    let key = SigningKey::from_slice(&padded)
        .map_err(|_| "x509: invalid elliptic curve private key value")?;
    Ok(PrivateKey::Ec(Box::new(key)))
}

impl RsaKey {
    fn read(data: &[u8]) -> Result<Self, &'static str> {
        let numbers = || {
            let mut fields = Reader::new(data).take(SEQUENCE)?.reader();
            fields.take(INTEGER)?;
            let mut number = || {
                fields
                    .take(INTEGER)
                    .map(|field| BigUint::from_bytes_be(field.content))
            };
            Some([number()?, number()?, number()?, number()?, number()?])
        };
        let [modulus, public, private, first, second] =
            numbers().ok_or("x509: failed to parse RSA private key")?;
        let sized = (1024..=MAX_RSA_BITS).contains(&modulus.bits()) && private < modulus;
        if !sized || &first * &second != modulus {
            return Err("crypto/rsa: invalid modulus");
        }
        Ok(Self {
            modulus,
            public,
            private,
            encoded: data.to_vec(),
        })
    }

    /// PKCS #1 v1.5.
    fn sign(&self, data: &[u8]) -> Vec<u8> {
        let size = self.modulus.bits().div_ceil(8) as usize;
        let tail = [&[0], SHA256_INFO, Sha256::digest(data).as_slice()].concat();
        let mut block = vec![0xff; size];
        block[..2].copy_from_slice(&[0, 1]);
        let at = size - tail.len();
        block[at..].copy_from_slice(&tail);
        let signed = BigUint::from_bytes_be(&block)
            .modpow(&self.private, &self.modulus)
            .to_bytes_be();
        [vec![0; size - signed.len()], signed].concat()
    }
}

/// The public key bits of a certificate's public key information.
pub(crate) fn bits_of(info: &[u8]) -> Option<&[u8]> {
    let mut fields = Reader::new(info).take(SEQUENCE)?.reader();
    fields.take(SEQUENCE)?;
    fields.take(BIT_STRING)?.content.get(1..)
}
