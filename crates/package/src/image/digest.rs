//! A SHA-256 digest in the spelling of registries.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// A text that is no digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadDigest(String);

impl fmt::Display for BadDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "`{}` is no digest: it is `sha256:` and 64 hexadecimal digits",
            self.0.escape_debug()
        )
    }
}

impl std::error::Error for BadDigest {}

impl Digest {
    /// The digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest that a finished hash stands for.
    pub fn from_hash(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// The digits alone, as file names use them.
    pub fn hex(&self) -> String {
        use fmt::Write;
        let mut text = String::with_capacity(64);
        for byte in self.0 {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Digest {
    type Err = BadDigest;

    fn from_str(text: &str) -> Result<Self, BadDigest> {
        let bad = || BadDigest(text.chars().take(100).collect());
        let digits = text
            .strip_prefix("sha256:")
            .filter(|digits| digits.len() == 64)
            .ok_or_else(bad)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            let digit = |of: u8| match of {
                b'0'..=b'9' => Ok(of - b'0'),
                b'a'..=b'f' => Ok(of - b'a' + 10),
                _ => Err(bad()),
            };
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    #[test]
    fn a_digest_reads_as_it_is_written_and_nothing_else_does() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), empty);
        assert_eq!(empty.parse(), Ok(Digest::of(b"")));
        let upper = empty.to_uppercase();
        for bad in [
            "",
            "sha256:",
            "sha512:00",
            &empty[7..],
            &empty[..70],
            &upper,
            "sha256:é",
            &format!("{empty}0"),
        ] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }
}
