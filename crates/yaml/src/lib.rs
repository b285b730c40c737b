//! YAML read and written exactly as Kubernetes does: every answer, error texts included, is that of
//! `sigs.k8s.io/yaml` v1.6.0 (tools/yaml-oracle compares). It is not a general YAML library: a
//! value is JSON, only the first document of a text is read, and comments are lost.
//!
//! Where it knowingly differs: nesting is limited far sooner ([`Limits`]); a byte order mark inside
//! the text is just a character, where Go sometimes skips the wrong one after it; keys that only
//! differ in type (`1` and `"1"`) resolve to the last, where Go picks one at random, and keys whose
//! natural order runs in circles (`v1`, `v10`, `v1beta1`, `v2`) keep one order, where Go does not.
//!
//! ```
//! let value = yaml::parse("replicas: 0o3\nenabled: yes\n").unwrap();
//! assert_eq!(value, serde_json::json!({ "replicas": 3, "enabled": true }));
//! assert_eq!(yaml::emit(&value).unwrap(), "enabled: true\nreplicas: 3\n");
//! assert_eq!(yaml::parse("a: b: c").unwrap_err().to_string(), "yaml: mapping values are not allowed in this context");
//! ```

mod analysis;
mod chars;
mod cursor;
mod decode;
mod documents;
mod emitter;
mod error;
mod exact;
mod gojson;
mod gosyntax;
mod letters;
mod limits;
mod misread;
mod natural;
mod number;
mod parser;
mod resolve;
mod scan_block;
mod scan_scalar;
mod scan_tag;
mod scanner;
mod spans;
mod timestamp;
mod token;
mod tree;

pub use documents::{Document, documents};
pub use emitter::{emit, emit_pretty, emit_pretty_to, emit_to};
pub use error::Error;
pub use limits::Limits;
pub use misread::{MisreadKey, misread_keys};
use serde_json::Value;
pub use spans::{Found, Scalar, Span, Spanned, Spans, Step, parse_spanned, parse_spanned_with};

/// Reads the first document of `text`; the last of several equal keys wins. No document at all is
/// null.
pub fn parse(text: &str) -> Result<Value, Error> {
    parse_with(text, &Limits::default())
}

/// Reads the first document of `text`; the same key twice in one mapping is an error.
pub fn parse_strict(text: &str) -> Result<Value, Error> {
    parse_strict_with(text, &Limits::default())
}

/// Reads the first document of `text` as a person means it and as kubectl takes it: the same key
/// twice in one mapping is an error, but a key may override one that a merge (`<<`) brings, which
/// Go's strict way of reading refuses.
pub fn parse_written(text: &str) -> Result<Value, Error> {
    let error = match parse_strict(text) {
        Err(error) if text.contains("<<") => error,
        answer => return answer,
    };
    let spanned = parse_spanned(text)?;
    let merge = Step::from("<<");
    let mut seen = std::collections::BTreeSet::new();
    let mut keys = spanned
        .spans
        .scalars()
        .into_iter()
        .filter(|key| key.is_key && !key.path.contains(&merge));
    let repeated = keys.any(|key| !seen.insert(key.path.clone()));
    if repeated {
        Err(error)
    } else {
        Ok(spanned.value)
    }
}

/// Reads as [`parse`] does, within other limits.
pub fn parse_with(text: &str, limits: &Limits) -> Result<Value, Error> {
    let read = parser::parse(text, limits).and_then(|tree| decode::decode(&tree, limits, false));
    read.map_err(|error| error.in_bytes(text))
}

/// Reads as [`parse_strict`] does, within other limits.
pub fn parse_strict_with(text: &str, limits: &Limits) -> Result<Value, Error> {
    let read = parser::parse(text, limits).and_then(|tree| decode::decode(&tree, limits, true));
    read.map_err(|error| error.in_bytes(text))
}
