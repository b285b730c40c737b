//! What a fuzzer does with bytes that may be YAML: reads them in every way, and writes and reads
//! again what was read. Nothing may panic, and what is written has to mean what was read. Used by
//! `cargo fuzz` and by `cargo test`.

use serde_json::Value;

/// Reads the bytes as text, if they are.
pub fn yaml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let value = yaml::parse(text);
    let strict = yaml::parse_strict(text);
    if let (Ok(value), Ok(strict)) = (&value, &strict) {
        assert_eq!(value, strict, "strictness refuses, it does not change");
    }
    let spanned = yaml::parse_spanned(text);
    assert_eq!(value.is_ok(), spanned.is_ok(), "positions change nothing");
    if let Ok(documents) = yaml::documents(text) {
        for document in documents {
            let _ = yaml::parse(&document.text);
        }
    }
    if let Ok(value) = value {
        assert!(
            spanned.is_ok_and(|spanned| spanned.value == value),
            "positions change nothing"
        );
        written_reads_back(&value);
    }
}

fn written_reads_back(value: &Value) {
    let pretty = yaml::emit_pretty(value);
    let Ok(text) = yaml::emit(value) else { return };
    // Go writes the key `<<` plain and would take it for a merge when reading.
    if text.contains("<<:") {
        return;
    }
    // Go itself loses some characters on the way through JSON, so the first writing settles the
    // value.
    let settled = yaml::parse(&text).expect("what is written can be read");
    let again = yaml::emit(&settled).expect("what was written once can be written again");
    assert_eq!(
        yaml::parse(&again).ok().as_ref(),
        Some(&settled),
        "{text:?}"
    );
    // The third generation of go-yaml writes tabs into literal blocks, which the second cannot read
    // back.
    if settled == *value && !text.contains("\\t") {
        assert_eq!(
            yaml::parse(&pretty).ok().as_ref(),
            Some(value),
            "{pretty:?}"
        );
    }
}
