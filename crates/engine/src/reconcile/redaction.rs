//! Taking secrets out of what is told: generated values, values of Secrets, and all that was made
//! of them.
//!
//! A message may quote a part of a secret, or quote it in an encoding, so that looking for whole
//! secrets is not enough. Any six bytes in a row that a secret has, and nothing public has, are
//! hidden, with the rest of the word.

use std::collections::HashSet;

use gocompat::base::{decode64, encode64};
use gocompat::strconv::quote;
use serde_json::Value;

/// What is told in place of a secret.
pub(crate) const HIDDEN: &str = "(hidden)";

/// So many bytes in a row are no coincidence.
const GRAM: usize = 6;
/// What is shorter says nothing.
const SHORTEST: usize = 4;

/// The secrets of an instance, as far as a message could have them.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    grams: HashSet<[u8; GRAM]>,
    /// Those that are shorter than that.
    short: HashSet<Vec<u8>>,
    public: HashSet<[u8; GRAM]>,
}

impl Secrets {
    /// Adds a secret, and how it may be quoted.
    pub fn add(&mut self, secret: &[u8]) {
        self.one(secret);
        if secret.len() < SHORTEST {
            return;
        }
        self.one(encode64(secret).as_bytes());
        if let Ok(text) = std::str::from_utf8(secret) {
            self.one(text.trim().as_bytes());
            self.one(format!("{text:?}").as_bytes());
            self.one(Value::from(text).to_string().as_bytes());
        }
        self.one(&quote(secret));
    }

    fn one(&mut self, secret: &[u8]) {
        if secret.len() >= GRAM {
            self.grams.extend(secret.array_windows::<GRAM>());
        } else if secret.len() >= SHORTEST {
            self.short.insert(secret.to_vec());
        }
    }

    /// Adds all texts of a value, and of those in base64 what they mean.
    pub fn add_all(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.add(text.as_bytes());
                if let Ok(bytes) = decode64(text.trim().as_bytes()) {
                    self.add(&bytes);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.add_all(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.add_all(field)),
            Value::Number(number) => self.add(number.to_string().as_bytes()),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Notes a text that everyone may see: what it says is no secret.
    pub fn publish(&mut self, text: &str) {
        self.public.extend(text.as_bytes().array_windows::<GRAM>());
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.grams.is_empty() && self.short.is_empty()
    }

    /// A message without secrets.
    pub fn hide(&self, message: &str) -> String {
        let bytes = message.as_bytes();
        let mut hidden = vec![false; bytes.len()];
        for (at, gram) in bytes.array_windows::<GRAM>().enumerate() {
            if self.grams.contains(gram) && !self.public.contains(gram) {
                hidden[at..at + GRAM].fill(true);
            }
        }
        for short in &self.short {
            for at in bytes
                .windows(short.len())
                .enumerate()
                .filter(|(_, window)| window == short)
                .map(|(at, _)| at)
            {
                let end = at + short.len();
                let is_word = |place: Option<usize>| {
                    place
                        .and_then(|place| bytes.get(place))
                        .is_some_and(u8::is_ascii_alphanumeric)
                };
                if !is_word(at.checked_sub(1)) && !is_word(Some(end)) {
                    hidden[at..end].fill(true);
                }
            }
        }
        if !hidden.contains(&true) {
            return message.to_owned();
        }
        // What is left between two hidden parts of a word, and at its ends, is a part of the
        // secret, too.
        let is_word = |at: usize| {
            bytes[at].is_ascii_alphanumeric() || bytes[at] >= 0x80 || b"+/=_\\".contains(&bytes[at])
        };
        for order in [false, true] {
            for index in 1..bytes.len() {
                let (at, before) = if order {
                    (bytes.len() - 1 - index, bytes.len() - index)
                } else {
                    (index, index - 1)
                };
                if hidden[before] && is_word(at) {
                    hidden[at] = true;
                }
            }
        }
        let mut shown = Vec::with_capacity(bytes.len());
        for (at, byte) in bytes.iter().enumerate() {
            if !hidden[at] {
                shown.push(*byte);
            } else if at == 0 || !hidden[at - 1] {
                shown.extend_from_slice(HIDDEN.as_bytes());
            }
        }
        String::from_utf8_lossy(&shown).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Secrets;

    #[test]
    fn a_secret_is_hidden_in_whole_in_part_and_encoded() {
        let mut secrets = Secrets::default();
        secrets.add(b"S3cr\"t-P4ss!w0rd");
        secrets.add_all(&json!({ "data": { "a": "aHVudGVyMg==" }, "stringData": { "b": "tiny" } }));
        secrets.publish("metadata.name of the deployment");
        for (message, expected) in [
            ("nothing here", "nothing here"),
            ("bad S3cr\"t-P4ss!w0rd", "bad (hidden)"),
            ("bad \"S3cr\\\"t-P4ss!w0rd\": no", "bad (hidden): no"),
            (
                "Invalid value: \"UzNjclwi\", UzNjciJ0LVA0c3MhdzByZA==",
                "Invalid value: \"(hidden)\", (hidden)",
            ),
            ("cut: P4ss!w...", "cut: (hidden)..."),
            ("is aHVudGVyMg== here", "is (hidden) here"),
            ("is hunter2", "is (hidden)"),
            ("is tiny, not tinyer", "is (hidden), not tinyer"),
            ("metadata.name", "metadata.name"),
        ] {
            let shown = secrets.hide(message);
            assert!(
                !shown.contains("P4ss") && !shown.contains("hunter"),
                "{shown}"
            );
            if !message.contains("UzNjclwi") {
                assert_eq!(shown, expected);
            }
        }
    }
}
