//! Number literals: a literal holds its value under every type that can represent it, as Go's
//! constants do.

use gocompat::strconv::{Unit, parse_float, parse_int, parse_uint, unquote_char};

/// A number as written, and what it can be used as.
#[derive(Debug, Clone)]
pub(crate) struct Number {
    pub text: Box<str>,
    pub int: Option<i64>,
    pub uint: Option<u64>,
    pub float: Option<f64>,
    pub complex: Option<(f64, f64)>,
}

impl Number {
    pub fn parse(text: &str) -> Result<Number, String> {
        let mut number = Number {
            text: text.into(),
            int: None,
            uint: None,
            float: None,
            complex: None,
        };
        if let Some(imaginary) = text.strip_suffix('i')
            && let Ok(value) = parse_float(imaginary.as_bytes(), 64)
        {
            number.set_complex(0.0, value);
            return Ok(number);
        }
        number.uint = parse_uint(text.as_bytes(), 0, 64).ok();
        number.int = parse_int(text.as_bytes(), 0, 64).ok();
        if number.int == Some(0) {
            number.uint = number.uint.or(Some(0));
        }
        if let Some(int) = number.int {
            number.float = Some(int as f64);
        } else if let Some(uint) = number.uint {
            number.float = Some(uint as f64);
        } else if let Ok(float) = parse_float(text.as_bytes(), 64) {
            if !text.contains(['.', 'e', 'E', 'p', 'P']) {
                return Err(format!("integer overflow: {text:?}"));
            }
            number.float = Some(float);
            number.int = exact_int(float);
            number.uint = exact_uint(float);
        }
        if number.float.is_none() {
            return Err(format!("illegal number syntax: {text:?}"));
        }
        Ok(number)
    }

    /// A character constant, quotes included.
    pub fn parse_char(text: &str) -> Result<Number, String> {
        let body = &text.as_bytes()[1..];
        let (unit, used) = unquote_char(body, b'\'').ok_or("invalid syntax")?;
        if &body[used..] != b"'" {
            return Err(format!("malformed character constant: {text}"));
        }
        let rune = match unit {
            Unit::Byte(byte) => u32::from(byte),
            Unit::Rune(rune) => u32::from(rune),
        };
        Ok(Number {
            text: text.into(),
            int: Some(i64::from(rune)),
            uint: Some(u64::from(rune)),
            float: Some(f64::from(rune)),
            complex: None,
        })
    }

    /// A sum such as `1+2i`.
    pub fn parse_complex(text: &str) -> Result<Number, String> {
        let bytes = text.as_bytes();
        let is_split = |at: &usize| {
            matches!(bytes[*at], b'+' | b'-')
                && !matches!(bytes[*at - 1], b'e' | b'E' | b'p' | b'P')
        };
        let split = (1..bytes.len())
            .rev()
            .find(is_split)
            .ok_or("syntax error scanning complex number")?;
        let part = |part: &[u8]| {
            parse_float(part, 64).map_err(|_| "syntax error scanning complex number".to_string())
        };
        let (real, imaginary) = (
            part(&bytes[..split])?,
            part(&bytes[split..bytes.len() - 1])?,
        );
        let mut number = Number {
            text: text.into(),
            int: None,
            uint: None,
            float: None,
            complex: None,
        };
        number.set_complex(real, imaginary);
        Ok(number)
    }

    fn set_complex(&mut self, real: f64, imaginary: f64) {
        self.complex = Some((real, imaginary));
        if imaginary == 0.0 {
            self.float = Some(real);
            self.int = exact_int(real);
            self.uint = exact_uint(real);
        }
    }
}

fn exact_int(float: f64) -> Option<i64> {
    let int = float as i64;
    (int as f64 == float && float < 9.3e18).then_some(int)
}

fn exact_uint(float: f64) -> Option<u64> {
    let uint = float as u64;
    (uint as f64 == float && float < 1.9e19).then_some(uint)
}
