//! sprig's encodings and checksums.

use Flow::Compute;
use Param::Text;

use sha1::Sha1;
use sha2::digest::Digest;
use sha2::{Sha256, Sha512};

use super::entry::fixed;
use crate::func::{Flow, Func, Param};
use crate::go::base::{decode32, decode64, encode32, encode64};
use crate::value::Value;

// What does not decode gives the reason as its text, and no failure.
pub(crate) const TABLE: &[Func] = &[
    fixed("b64enc", &[Text], Compute, |call| Ok(Value::text(encode64(call.text(0))))),
    fixed("b64dec", &[Text], Compute, |call| {
        Ok(Value::text(decode64(call.text(0)).unwrap_or_else(|error| error.to_string().into_bytes())))
    }),
    fixed("b32enc", &[Text], Compute, |call| Ok(Value::text(encode32(call.text(0))))),
    fixed("b32dec", &[Text], Compute, |call| {
        Ok(Value::text(decode32(call.text(0)).unwrap_or_else(|error| error.to_string().into_bytes())))
    }),
    fixed("sha1sum", &[Text], Compute, |call| Ok(Value::text(hash::<Sha1>(call.text(0))))),
    fixed("sha256sum", &[Text], Compute, |call| Ok(Value::text(hash::<Sha256>(call.text(0))))),
    fixed("sha512sum", &[Text], Compute, |call| Ok(Value::text(hash::<Sha512>(call.text(0))))),
    fixed("adler32sum", &[Text], Compute, |call| Ok(Value::text(adler2::adler32_slice(call.text(0)).to_string()))),
];

/// A checksum in hexadecimal.
fn hash<D: Digest>(text: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 0x0f)]);
    D::digest(text).iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}
