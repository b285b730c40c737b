//! Values that are no messages to JSON.

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::{Number, Value};

use super::{
    field::What,
    reader::{Reader, Wire},
};

/// The zero of Go's time, in seconds.
const ZERO_TIME: i64 = -62_135_596_800;

/// A text; what is no UTF-8 is replaced, as Go does when it writes JSON.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A number as it is written: negative ones are the large ones.
pub(super) fn int(number: u64) -> Value {
    number.cast_signed().into()
}

/// A value by what it is.
pub(super) fn read(what: What, value: Wire<'_>) -> Result<Value, String> {
    Ok(match what {
        What::Text => text(value.bytes()?).into(),
        What::Int => int(value.number()?),
        What::Bool => (value.number()? != 0).into(),
        What::Double => {
            Number::from_f64(f64::from_bits(value.number()?)).map_or(Value::Null, Value::Number)
        }
        What::Bytes => STANDARD.encode(value.bytes()?).into(),
        What::Time => time(value.bytes()?, false)?,
        What::MicroTime => time(value.bytes()?, true)?,
        What::Duration => format!("{}ns", first(value.bytes()?)?.0.cast_signed()).into(),
        What::Quantity => {
            let found = inner(value.bytes()?)?;
            if found.is_empty() {
                "0".into()
            } else {
                text(found).into()
            }
        }
        What::IntOrString => int_or_string(value.bytes()?)?,
        What::Json => match inner(value.bytes()?)? {
            [] => Value::Null,
            raw => serde_json::from_slice(raw)
                .map_err(|error| format!("a part is no JSON: {error}"))?,
        },
        What::List => {
            let (mut items, mut reader) = (Vec::new(), Reader::new(value.bytes()?));
            while let Some((number, value)) = reader.next()? {
                if number == 1 {
                    items.push(text(value.bytes()?).into());
                }
            }
            Value::Array(items)
        }
        What::Message | What::OrArray | What::OrBool => {
            return Err("a message is no plain value".to_owned());
        }
    })
}

/// The numbers of the first two fields.
fn first(bytes: &[u8]) -> Result<(u64, u64), String> {
    let (mut one, mut two, mut reader) = (0, 0, Reader::new(bytes));
    while let Some((number, value)) = reader.next()? {
        match number {
            1 => one = value.number()?,
            2 => two = value.number()?,
            _ => {}
        }
    }
    Ok((one, two))
}

/// The bytes of the first field.
fn inner(bytes: &[u8]) -> Result<&[u8], String> {
    let (mut found, mut reader) = (&[][..], Reader::new(bytes));
    while let Some((number, value)) = reader.next()? {
        if number == 1 {
            found = value.bytes()?;
        }
    }
    Ok(found)
}

/// A time; Go's zero is no time.
fn time(bytes: &[u8], micro: bool) -> Result<Value, String> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (seconds, nanos) = first(bytes)?;
    let nanos =
        i32::try_from(nanos.cast_signed()).map_err(|_| "a time has too many nanoseconds")?;
    let seconds = seconds.cast_signed();
    if seconds == ZERO_TIME && nanos == 0 {
        return Ok(Value::Null);
    }
    let time = Timestamp::new(seconds, nanos).map_err(|_| "a time is out of range")?;
    let format = if micro {
        "%Y-%m-%dT%H:%M:%S.%6fZ"
    } else {
        "%Y-%m-%dT%H:%M:%SZ"
    };
    Ok(time.strftime(format).to_string().into())
}

fn int_or_string(bytes: &[u8]) -> Result<Value, String> {
    let (mut is_text, mut number, mut string, mut reader) =
        (false, 0, String::new(), Reader::new(bytes));
    while let Some((field, value)) = reader.next()? {
        match field {
            1 => is_text = value.number()? != 0,
            2 => number = value.number()?,
            3 => string = text(value.bytes()?),
            _ => {}
        }
    }
    Ok(if is_text { string.into() } else { int(number) })
}
