//! Passwords derived from a master password, a user and a site by the Master Password algorithm.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const SCOPE: &[u8] = b"com.lyndir.masterpassword";

const LONG: [&str; 21] = [
    "CvcvnoCvcvCvcv",
    "CvcvCvcvnoCvcv",
    "CvcvCvcvCvcvno",
    "CvccnoCvcvCvcv",
    "CvccCvcvnoCvcv",
    "CvccCvcvCvcvno",
    "CvcvnoCvccCvcv",
    "CvcvCvccnoCvcv",
    "CvcvCvccCvcvno",
    "CvcvnoCvcvCvcc",
    "CvcvCvcvnoCvcc",
    "CvcvCvcvCvccno",
    "CvccnoCvccCvcv",
    "CvccCvccnoCvcv",
    "CvccCvccCvcvno",
    "CvcvnoCvccCvcc",
    "CvcvCvccnoCvcc",
    "CvcvCvccCvccno",
    "CvccnoCvcvCvcc",
    "CvccCvcvnoCvcc",
    "CvccCvcvCvccno",
];

/// Shapes of a kind of password, each letter naming a set of characters.
fn shapes(kind: &[u8]) -> Option<&'static [&'static str]> {
    Some(match kind {
        b"maximum" => &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"],
        b"long" => &LONG,
        b"medium" => &["CvcnoCvc", "CvcCvcno"],
        b"short" => &["Cvcn"],
        b"basic" => &["aaanaaan", "aannaaan", "aaannaaa"],
        b"pin" => &["nnnn"],
        _ => return None,
    })
}

fn characters(set: u8) -> &'static [u8] {
    match set {
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

/// sprig's `derivePassword`; an unknown kind gives sprig's error as text. Takes 32 MiB and a good
/// part of a second.
#[must_use]
pub fn derive_password(
    counter: u32,
    kind: &[u8],
    password: &[u8],
    user: &[u8],
    site: &[u8],
) -> Vec<u8> {
    let Some(shapes) = shapes(kind) else {
        return [b"cannot find password template ", kind].concat();
    };
    let sized = |text: &[u8]| [&(text.len() as u32).to_be_bytes(), text].concat();
    let mut key = [0; 64];
    let derived = scrypt::Params::new(15, 8, 2)
        .map_err(|error| error.to_string())
        .and_then(|params| {
            let salt = [SCOPE, &sized(user)].concat();
            scrypt::scrypt(password, &salt, &params, &mut key).map_err(|error| error.to_string())
        })
        .and_then(|()| Hmac::<Sha256>::new_from_slice(&key).map_err(|error| error.to_string()));
    let mut mac = match derived {
        Ok(mac) => mac,
        Err(error) => return format!("failed to derive password: {error}").into_bytes(),
    };
    mac.update(&[SCOPE, &sized(site), &counter.to_be_bytes()].concat());
    let seed = mac.finalize().into_bytes();
    let shape = shapes[usize::from(seed[0]) % shapes.len()];
    shape
        .bytes()
        .zip(&seed[1..])
        .map(|(set, &byte)| {
            let set = characters(set);
            set[usize::from(byte) % set.len()]
        })
        .collect()
}
