//! sprig's cryptography, deterministic: whatever is random comes in as bytes or from the caller's
//! source, times too. Keys are ECDSA P-256 where sprig makes RSA or DSA ones, since those cost
//! seconds; given RSA keys are used as they are.

mod aes;
mod bcrypt;
mod cert;
mod der;
mod digest;
mod key;
mod password;
mod pem;

pub use aes::{AesError, decrypt_aes, encrypt_aes};
pub use bcrypt::{bcrypt, htpasswd};
pub use cert::{
    CertError, Certificate, Request, build_custom_cert, gen_ca, gen_ca_with_key,
    gen_self_signed_cert, gen_self_signed_cert_with_key, gen_signed_cert, gen_signed_cert_with_key,
};
pub use digest::{adler32sum, sha1sum, sha256sum, sha512sum};
pub use key::{KeyError, gen_private_key};
pub use password::derive_password;

/// Fills a slice with random bytes.
pub type Random<'a> = &'a mut dyn FnMut(&mut [u8]);

#[cfg(test)]
mod tests;
