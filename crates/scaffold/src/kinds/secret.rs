//! What becomes of Secrets: values that can be drawn are drawn for each instance, everything else
//! stays outside. No value is ever copied.

use serde_json::Value;
use yaml::Step;

use crate::manifests::split::Piece;
use crate::rewrite::field_meaning::{Sense, sense, texts};
use engine::Problem;

/// Words in the names of values that anything random serves as.
const DRAWN: [&str; 6] = ["password", "passwd", "pwd", "salt", "secret", "token"];

/// Whether an object is a Secret.
pub(crate) fn is_secret(piece: &Piece) -> bool {
    piece.gvk.group.is_empty() && piece.gvk.kind == "Secret"
}

/// A Secret whose values are drawn, or why it is left out.
pub(crate) fn drawn(piece: &Piece) -> Result<Piece, String> {
    let keys = keys(&piece.value);
    let kind = piece.value["type"].as_str().unwrap_or("Opaque");
    let odd: Vec<&str> = keys
        .iter()
        .map(String::as_str)
        .filter(|key| !is_drawn(key))
        .collect();
    if kind != "Opaque" || !odd.is_empty() {
        return Err(match odd.as_slice() {
            [] => format!("nothing of the type {kind} can be drawn"),
            odd => format!(
                "{} cannot be drawn, and no value of a Secret belongs into a package",
                odd.join(", ")
            ),
        });
    }
    let mut value = piece.value.clone();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("stringData");
        fields.insert(
            "data".into(),
            keys.iter()
                .map(|key| (key.clone(), Value::from("")))
                .collect(),
        );
    }
    // The text is made of the object without its values, so that none can stay behind in a comment
    // either.
    let mut drawn = piece.clone();
    drawn.text = Piece::emitted(&value);
    drawn.value = value;
    Ok(drawn)
}

/// A word on a Secret that is left out.
pub(crate) fn left(piece: &Piece, why: &str, pieces: &[Piece]) -> Problem {
    let refers = |other: &Piece| {
        let mut found = Vec::new();
        texts(&other.value, &mut Vec::new(), &mut found);
        let named = found.iter().filter(|(_, text)| *text == piece.name());
        named
            .into_iter()
            .any(|(path, _)| sense(other, path) == Sense::Object(Some("Secret".to_string())))
    };
    let hint = if pieces.iter().any(refers) {
        format!(
            "keep it beside the stack: all instances use the Secret {}",
            piece.name()
        )
    } else {
        "nothing among the manifests refers to it by a field".to_string()
    };
    Problem::at(
        piece.place(),
        format!("{} is left out: {why}", piece.title()),
    )
    .warning()
    .hint(hint)
}

/// What stands in the template for a value of a Secret.
pub(crate) fn action(template: &str, path: &[Step]) -> Option<String> {
    match path {
        [Step::Key(data), Step::Key(key)] if &**data == "data" => {
            let name = Value::from(format!("{template}.{key}"));
            Some(format!(
                "{{{{ generated {name} \"randAlphaNum\" 32 | b64enc }}}}"
            ))
        }
        _ => None,
    }
}

/// The names of a Secret's values.
pub(crate) fn keys(secret: &Value) -> Vec<String> {
    let fields = ["data", "stringData"]
        .iter()
        .filter_map(|field| secret[*field].as_object());
    let mut keys: Vec<String> = fields.flat_map(|fields| fields.keys().cloned()).collect();
    keys.sort();
    keys.dedup();
    keys
}

fn is_drawn(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    DRAWN.iter().any(|word| key.contains(word)) || (key.ends_with("key") && !key.contains("public"))
}
