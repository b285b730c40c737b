//! Checksums as text.

use sha2::Digest as _;

/// SHA-1 in hexadecimal.
#[must_use]
pub fn sha1sum(data: &[u8]) -> String {
    hex(&sha1::Sha1::digest(data))
}

/// SHA-256 in hexadecimal.
#[must_use]
pub fn sha256sum(data: &[u8]) -> String {
    hex(&sha2::Sha256::digest(data))
}

/// SHA-512 in hexadecimal.
#[must_use]
pub fn sha512sum(data: &[u8]) -> String {
    hex(&sha2::Sha512::digest(data))
}

/// Adler-32 in decimal.
#[must_use]
pub fn adler32sum(data: &[u8]) -> String {
    adler2::adler32_slice(data).to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
