//! Random identifiers and numbers.

/// A random version 4 UUID.
pub(crate) fn uuid() -> String {
    let mut bytes = [0_u8; 16];
    fill(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let number = u128::from_be_bytes(bytes);
    let digits = format!("{number:032x}");
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
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

/// Fills with random bytes. Where the system has none, the time has to do: names need not be secret.
fn fill(bytes: &mut [u8]) {
    if getrandom::fill(bytes).is_err() {
        let now = jiff::Timestamp::now().as_nanosecond().to_le_bytes();
        for (byte, part) in bytes.iter_mut().zip(now.iter().cycle()) {
            *byte = *part;
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn identifiers_have_their_shape_and_differ() {
        let (one, other) = (super::uuid(), super::uuid());
        assert_ne!(one, other);
        assert_eq!((one.len(), one.as_bytes()[14], one.matches('-').count()), (36, b'4', 4), "{one}");
        assert_ne!(super::number(), super::number());
    }
}
