//! sprig's encodings and checksums.

use Flow::Compute;
use Param::Text;

use super::entry::fixed;
use crate::func::{Flow, Func, Param};
use crate::value::Value;
use gocompat::base::{decode32, decode64, encode32, encode64};
use gocompat::crypto::{adler32sum, sha1sum, sha256sum, sha512sum};

// What does not decode gives the reason as its text, and no failure.
pub(crate) const TABLE: &[Func] = &[
    fixed("b64enc", &[Text], Compute, |call| {
        Ok(Value::text(encode64(call.text(0))))
    }),
    fixed("b64dec", &[Text], Compute, |call| {
        Ok(Value::text(
            decode64(call.text(0)).unwrap_or_else(|error| error.to_string().into_bytes()),
        ))
    }),
    fixed("b32enc", &[Text], Compute, |call| {
        Ok(Value::text(encode32(call.text(0))))
    }),
    fixed("b32dec", &[Text], Compute, |call| {
        Ok(Value::text(
            decode32(call.text(0)).unwrap_or_else(|error| error.to_string().into_bytes()),
        ))
    }),
    fixed("sha1sum", &[Text], Compute, |call| {
        Ok(Value::text(sha1sum(call.text(0))))
    }),
    fixed("sha256sum", &[Text], Compute, |call| {
        Ok(Value::text(sha256sum(call.text(0))))
    }),
    fixed("sha512sum", &[Text], Compute, |call| {
        Ok(Value::text(sha512sum(call.text(0))))
    }),
    fixed("adler32sum", &[Text], Compute, |call| {
        Ok(Value::text(adler32sum(call.text(0))))
    }),
];
