//! Base 64 and base 32 in their standard alphabets with padding, decoding with Go's tolerance and
//! error texts.

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Where a text stops being base 64 or base 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("illegal base{base} data at input byte {at}")]
pub struct BaseError {
    base: u8,
    at: usize,
}

/// How a base groups bytes into characters.
struct Base {
    alphabet: &'static [u8],
    /// Bits of one character.
    bits: u32,
    /// Characters of a full group.
    group: usize,
}

const SIXTY_FOUR: Base = Base {
    alphabet: BASE64,
    bits: 6,
    group: 4,
};
const THIRTY_TWO: Base = Base {
    alphabet: BASE32,
    bits: 5,
    group: 8,
};

/// Base 64 with padding.
#[must_use]
pub fn encode64(data: &[u8]) -> String {
    SIXTY_FOUR.encode(data)
}

/// Base 32 with padding.
#[must_use]
pub fn encode32(data: &[u8]) -> String {
    THIRTY_TWO.encode(data)
}

/// Reads base 64; line breaks are skipped, padding is required.
///
/// # Errors
/// The offset of what does not belong, as Go counts it.
pub fn decode64(text: &[u8]) -> Result<Vec<u8>, BaseError> {
    let fail = |at: usize| BaseError { base: 64, at };
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    loop {
        let mut values = [0_u32; 4];
        let mut count = 0;
        let mut ended = false;
        while count < 4 {
            let Some(&byte) = text.get(at) else {
                if count == 0 {
                    return Ok(out);
                }
                return Err(fail(at - count));
            };
            at += 1;
            if let Some(value) = SIXTY_FOUR.value(byte) {
                values[count] = value;
                count += 1;
                continue;
            }
            match byte {
                b'\r' | b'\n' => continue,
                b'=' => {}
                _ => return Err(fail(at - 1)),
            }
            // Padding stands only at the end, two or one of it.
            match count {
                0 | 1 => return Err(fail(at - 1)),
                2 => {
                    at = skip_lines(text, at);
                    match text.get(at) {
                        None => return Err(fail(text.len())),
                        Some(b'=') => at += 1,
                        Some(_) => return Err(fail(at - 1)),
                    }
                }
                _ => {}
            }
            ended = true;
            break;
        }
        let bits = values[0] << 18 | values[1] << 12 | values[2] << 6 | values[3];
        let bytes = [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8];
        out.extend_from_slice(&bytes[..count * 3 / 4]);
        if ended {
            at = skip_lines(text, at);
            return if at < text.len() {
                Err(fail(at))
            } else {
                Ok(out)
            };
        }
    }
}

fn skip_lines(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b'\r' | b'\n')) {
        at += 1;
    }
    at
}

/// Reads base 32; line breaks are skipped, padding is required.
///
/// # Errors
/// The offset of what does not belong, line breaks not counted, as Go counts it.
pub fn decode32(text: &[u8]) -> Result<Vec<u8>, BaseError> {
    let solid: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    let fail = |at: usize| BaseError { base: 32, at };
    let mut out = Vec::with_capacity(solid.len() / 8 * 5);
    let mut at = 0;
    while at < solid.len() {
        let mut bits = 0_u64;
        let mut count = 0;
        while count < 8 {
            let Some(&byte) = solid.get(at + count) else {
                return Err(fail(at));
            };
            if byte == b'=' && count >= 2 && solid.len() - at - count <= 8 {
                break;
            }
            let value = THIRTY_TWO.value(byte).ok_or_else(|| fail(at + count))?;
            bits |= u64::from(value) << (35 - 5 * count);
            count += 1;
        }
        let bytes = bits.to_be_bytes();
        out.extend_from_slice(&bytes[3..3 + count * 5 / 8]);
        if count < 8 {
            check_padding(&solid, at, count).map_err(fail)?;
            return Ok(out);
        }
        at += 8;
    }
    Ok(out)
}

/// Checks the padding after `count` characters of the group at `at`; an error is the offending
/// offset.
fn check_padding(solid: &[u8], at: usize, count: usize) -> Result<(), usize> {
    let rest = &solid[at + count + 1..];
    if rest.len() + count < 7 {
        return Err(solid.len());
    }
    for (offset, byte) in rest.iter().take(7 - count).enumerate() {
        if *byte != b'=' {
            return Err(at + count + offset);
        }
    }
    // Only whole numbers of bytes may be cut off.
    if matches!(count, 1 | 3 | 6) {
        return Err(at + count);
    }
    Ok(())
}

impl Base {
    fn encode(&self, data: &[u8]) -> String {
        let mut out = String::with_capacity(data.len() * 8 / self.bits as usize + self.group);
        let (mut held, mut bits) = (0_u32, 0);
        for &byte in data {
            held = held << 8 | u32::from(byte);
            bits += 8;
            while bits >= self.bits {
                bits -= self.bits;
                out.push(self.letter(held >> bits));
            }
        }
        if bits > 0 {
            out.push(self.letter(held << (self.bits - bits)));
        }
        while !out.len().is_multiple_of(self.group) {
            out.push('=');
        }
        out
    }

    fn letter(&self, value: u32) -> char {
        char::from(self.alphabet[(value & ((1 << self.bits) - 1)) as usize])
    }

    fn value(&self, byte: u8) -> Option<u32> {
        self.alphabet
            .iter()
            .position(|&letter| letter == byte)
            .map(|at| at as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_padded_to_whole_groups() {
        for (data, want64, want32) in [
            ("", "", ""),
            ("f", "Zg==", "MY======"),
            ("fo", "Zm8=", "MZXQ===="),
            ("foo", "Zm9v", "MZXW6==="),
            ("foob", "Zm9vYg==", "MZXW6YQ="),
            ("fooba", "Zm9vYmE=", "MZXW6YTB"),
        ] {
            assert_eq!(
                (
                    encode64(data.as_bytes()).as_str(),
                    encode32(data.as_bytes()).as_str()
                ),
                (want64, want32)
            );
            assert_eq!(decode64(want64.as_bytes()).as_deref(), Ok(data.as_bytes()));
            assert_eq!(decode32(want32.as_bytes()).as_deref(), Ok(data.as_bytes()));
        }
        assert_eq!(decode64(b"Zm\r\n9v\n").as_deref(), Ok(&b"foo"[..]));
    }

    #[test]
    fn errors_tell_the_offset_go_tells() {
        for (text, at) in [
            ("Z", 0),
            ("Zg", 0),
            ("Zg=", 3),
            ("Zm9vZ", 4),
            ("Zm9v!", 4),
            ("Zg==x", 4),
            ("=", 0),
            ("Zg=x", 2),
        ] {
            assert_eq!(
                decode64(text.as_bytes()).map_err(|error| error.to_string()),
                Err(format!("illegal base64 data at input byte {at}")),
                "{text}"
            );
        }
        for (text, at) in [
            ("M", 0),
            ("MY", 0),
            ("MY=====", 7),
            ("MZX=====", 3),
            ("my======", 0),
            ("MY===x==", 4),
        ] {
            assert_eq!(
                decode32(text.as_bytes()).map_err(|error| error.to_string()),
                Err(format!("illegal base32 data at input byte {at}")),
                "{text}"
            );
        }
    }
}
