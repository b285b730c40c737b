//! What is known of a field: its number, its name in JSON, and how Go writes it in both.

use serde_json::Value;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A text.
    Text,
    /// A whole number.
    Int,
    /// A truth value.
    Bool,
    /// A fraction.
    Double,
    /// Bytes, which JSON has in base64.
    Bytes,
    /// A message of its own.
    Message,
    /// A time to the second.
    Time,
    /// A time to the microsecond.
    MicroTime,
    /// A duration in nanoseconds.
    Duration,
    /// A quantity, which is a text.
    Quantity,
    /// A whole number or a text.
    IntOrString,
    /// JSON as it is.
    Json,
    /// A message that is a list of texts in JSON.
    List,
    /// A schema or a list.
    OrArray,
    /// A schema or a truth value.
    OrBool,
}

/// A field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) name: Box<str>,
    pub(super) what: What,
    pub(super) repeated: bool,
    pub(super) map: bool,
    pub(super) inline: bool,
    /// The type of the message, if it holds one.
    pub(super) message: usize,
    pointer: bool,
    omit_empty: bool,
    omit_zero: bool,
}

impl Field {
    /// Reads `[number, name, what, marks, message]`.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let what = match value[2].as_str()? {
            "string" => What::Text,
            "int" => What::Int,
            "bool" => What::Bool,
            "double" => What::Double,
            "bytes" => What::Bytes,
            "message" => What::Message,
            "time" => What::Time,
            "microtime" => What::MicroTime,
            "duration" => What::Duration,
            "quantity" => What::Quantity,
            "intorstring" => What::IntOrString,
            "json" => What::Json,
            "list" => What::List,
            "orarray" => What::OrArray,
            "orbool" => What::OrBool,
            _ => return None,
        };
        let marks = value[3].as_str()?;
        Some(Self {
            number: u32::try_from(value[0].as_u64()?).ok()?,
            name: value[1].as_str()?.into(),
            what,
            repeated: marks.contains('r'),
            map: marks.contains('m'),
            inline: marks.contains('i'),
            message: value[4]
                .as_u64()
                .and_then(|number| usize::try_from(number).ok())
                .unwrap_or_default(),
            pointer: marks.contains('p'),
            omit_empty: marks.contains('o'),
            omit_zero: marks.contains('z'),
        })
    }

    /// Whether Go writes such a value into JSON. On the wire there is also what is only there
    /// because it is zero.
    pub(super) fn keeps(&self, value: &Value) -> bool {
        if self.pointer {
            return true;
        }
        let is_zero = match value {
            Value::Null => true,
            Value::Bool(truth) => !truth,
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            // Structures are never empty to Go, only zero.
            Value::Object(fields) => return !(self.omit_zero && fields.is_empty()),
        };
        !is_zero || !(self.omit_empty || self.omit_zero)
    }
}
