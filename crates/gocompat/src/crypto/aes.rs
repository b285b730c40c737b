//! AES-256-CBC as sprig applies it: the password, cut or padded with zeros to 32 bytes, is the key.

use aes::Aes256;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};

use super::super::base::{BaseError, decode64, encode64};

const BLOCK: usize = 16;

/// Why a text was not decrypted; where sprig panics, the text is that of the panic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AesError {
    /// Not base 64.
    #[error(transparent)]
    Base64(#[from] BaseError),
    /// Shorter than the initialisation vector.
    #[error("runtime error: slice bounds out of range [:16] with capacity {0}")]
    TooShort(usize),
    /// Not a whole number of blocks.
    #[error("crypto/cipher: input not full blocks")]
    PartialBlock,
    /// No block at all after the initialisation vector.
    #[error("runtime error: index out of range [-1]")]
    Empty,
    /// The padding is longer than the text, most likely because of a wrong password.
    #[error("runtime error: slice bounds out of range [:-{0}]")]
    Padding(usize),
}

fn cipher(password: &[u8]) -> Aes256 {
    let mut key = [0; 32];
    let length = password.len().min(key.len());
    key[..length].copy_from_slice(&password[..length]);
    Aes256::new(&key.into())
}

/// Encrypts with the given initialisation vector, which comes first in the result; nothing stays
/// nothing.
#[must_use]
pub fn encrypt_aes(password: &[u8], text: &[u8], vector: [u8; BLOCK]) -> String {
    if text.is_empty() {
        return String::new();
    }
    let cipher = cipher(password);
    let padding = BLOCK - text.len() % BLOCK;
    let mut padded = text.to_vec();
    padded.resize(text.len() + padding, padding as u8);
    let mut out = vector.to_vec();
    let mut before = vector;
    for (index, &byte) in padded.iter().enumerate() {
        before[index % BLOCK] ^= byte;
        if index % BLOCK == BLOCK - 1 {
            let mut block = before.into();
            cipher.encrypt_block(&mut block);
            before = block.into();
            out.extend_from_slice(&before);
        }
    }
    encode64(&out)
}

/// Decrypts what [`encrypt_aes`] made.
///
/// # Errors
/// What is not base 64, not whole blocks, or padded impossibly.
pub fn decrypt_aes(password: &[u8], text: &[u8]) -> Result<Vec<u8>, AesError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let data = decode64(text)?;
    let (vector, body) = data
        .split_first_chunk::<BLOCK>()
        .ok_or(AesError::TooShort(data.len()))?;
    let (blocks, rest) = body.as_chunks::<BLOCK>();
    if !rest.is_empty() {
        return Err(AesError::PartialBlock);
    }
    let cipher = cipher(password);
    let mut out = Vec::with_capacity(body.len());
    let mut before = vector;
    for block in blocks {
        let mut plain = (*block).into();
        cipher.decrypt_block(&mut plain);
        out.extend(plain.iter().zip(before).map(|(byte, mask)| byte ^ mask));
        before = block;
    }
    let padding = usize::from(*out.last().ok_or(AesError::Empty)?);
    let length = out
        .len()
        .checked_sub(padding)
        .ok_or_else(|| AesError::Padding(padding - out.len()))?;
    out.truncate(length);
    Ok(out)
}
