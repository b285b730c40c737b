//! Random identifiers and numbers. They need not be secret; what has to be is asked of the system.

use std::sync::{Mutex, PoisonError};

/// A random version 4 UUID.
pub(crate) fn uuid() -> String {
    let mut bytes = [0_u8; 16];
    fill(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let number = u128::from_be_bytes(bytes);
    let digits = format!("{number:032x}");
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ]
    .join("-")
}

/// A random number.
pub(crate) fn number() -> u64 {
    let mut bytes = [0_u8; 8];
    fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// Five characters that make up no word, for the end of a name.
pub(crate) fn suffix() -> String {
    objects::name::generate_name("", number())
}

/// Random bytes that were not given away yet: asking the system costs as much for one as for many.
static POOL: Mutex<Vec<u8>> = Mutex::new(Vec::new());
/// How many are asked for at once.
const POOLED: usize = 1024;

/// Fills with random bytes, of which none is given away twice. Where the system has none, the time
/// has to do: names need not be secret.
fn fill(bytes: &mut [u8]) {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if pool.len() < bytes.len() {
        pool.resize(POOLED, 0);
        if getrandom::fill(&mut pool).is_err() {
            pool.clear();
        }
    }
    match pool.len().checked_sub(bytes.len()) {
        Some(left) => {
            bytes.copy_from_slice(&pool[left..]);
            pool.truncate(left);
        }
        None => {
            let now = jiff::Timestamp::now().as_nanosecond().to_le_bytes();
            for (byte, part) in bytes.iter_mut().zip(now.iter().cycle()) {
                *byte = *part;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn identifiers_have_their_shape_and_differ() {
        let (one, other) = (super::uuid(), super::uuid());
        assert_ne!(one, other);
        assert_eq!(
            (one.len(), one.as_bytes()[14], one.matches('-').count()),
            (36, b'4', 4),
            "{one}"
        );
        assert_ne!(super::number(), super::number());
        let many: std::collections::HashSet<u64> = (0..10_000).map(|_| super::number()).collect();
        assert_eq!(many.len(), 10_000);
    }
}
