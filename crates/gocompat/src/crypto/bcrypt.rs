//! bcrypt hashes of cost 10 with a given salt, and `htpasswd` lines made of them.

use blowfish::Blowfish;

const COST: u32 = 10;
const MAX_PASSWORD: usize = 72;
const ALPHABET: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// The hash of a password; one of more than 72 bytes gives sprig's error as text.
#[must_use]
pub fn bcrypt(password: &[u8], salt: [u8; 16]) -> String {
    if password.len() > MAX_PASSWORD {
        return "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes"
            .to_owned();
    }
    let key = [password, b"\0"].concat();
    let mut state = Blowfish::bc_init_state();
    state.salted_expand_key(&salt, &key);
    for _ in 0..1 << COST {
        state.bc_expand_key(&key);
        state.bc_expand_key(&salt);
    }
    // "OrpheanBeholderScryDoubt", encrypted 64 times; the last byte is left out by convention.
    let mut hash = Vec::with_capacity(24);
    for pair in [
        [0x4f72_7068, 0x6561_6e42],
        [0x6568_6f6c, 0x6465_7253],
        [0x6372_7944, 0x6f75_6274],
    ] {
        let words = (0..64).fold(pair, |pair, _| state.bc_encrypt(pair));
        hash.extend(words.iter().flat_map(|word: &u32| word.to_be_bytes()));
    }
    format!("$2a${COST:02}${}{}", encode(&salt), encode(&hash[..23]))
}

/// A line of an htpasswd file; a colon in the name gives sprig's error as text.
#[must_use]
pub fn htpasswd(username: &[u8], password: &[u8], salt: [u8; 16]) -> Vec<u8> {
    if username.contains(&b':') {
        return [b"invalid username: ", username].concat();
    }
    [username, b":", bcrypt(password, salt).as_bytes()].concat()
}

/// bcrypt's own base 64, without padding.
fn encode(data: &[u8]) -> String {
    let mut out = String::new();
    for chunk in data.chunks(3) {
        let bits = chunk
            .iter()
            .zip([16, 8, 0])
            .fold(0_u32, |bits, (&byte, shift)| {
                bits | u32::from(byte) << shift
            });
        for index in 0..=chunk.len() {
            out.push(char::from(
                ALPHABET[(bits >> (18 - 6 * index) & 63) as usize],
            ));
        }
    }
    out
}
