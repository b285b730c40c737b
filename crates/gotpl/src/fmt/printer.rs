//! Printing one value under one verb.

use crate::exec::{Cx, MORE_STACK, RED_ZONE};
use crate::func::Fault;
use crate::object::{Field, Object};
use crate::value::{Element, Kind, List, Value, Width};
use gocompat::strconv;
use gocompat::unicode::{is_print, push_rune, rune_count, runes};

/// The flags of a verb, and where it prints to.
pub(super) struct Printer<'p, 'o, 'a> {
    cx: &'p Cx<'a>,
    pub out: &'o mut Vec<u8>,
    pub width: Option<usize>,
    pub precision: Option<usize>,
    pub minus: bool,
    pub plus: bool,
    pub sharp: bool,
    pub space: bool,
    pub zero: bool,
    /// `%#v`.
    pub go_syntax: bool,
    /// `%+v`.
    pub field_names: bool,
    /// Inside `%!d(type=...)`: what is shown there is shown bare.
    erring: bool,
    depth: usize,
    /// How much of the output has been counted as work.
    counted: usize,
}

/// The units of work of one element of a list or dict.
const ELEMENT: u64 = 50;

const LOWER: &[u8; 17] = b"0123456789abcdefx";
const UPPER: &[u8; 17] = b"0123456789ABCDEFX";

impl<'p, 'o, 'a> Printer<'p, 'o, 'a> {
    pub fn new(cx: &'p Cx<'a>, out: &'o mut Vec<u8>) -> Self {
        Printer {
            cx,
            out,
            width: None,
            precision: None,
            minus: false,
            plus: false,
            sharp: false,
            space: false,
            zero: false,
            go_syntax: false,
            field_names: false,
            erring: false,
            depth: 0,
            counted: 0,
        }
    }

    pub fn clear(&mut self) {
        (self.width, self.precision) = (None, None);
        (self.minus, self.plus, self.sharp, self.space, self.zero) =
            (false, false, false, false, false);
        (self.go_syntax, self.field_names) = (false, false);
    }

    /// A value handed to a printing function.
    pub fn argument(&mut self, value: &Value<'a>, verb: char) -> Result<(), Fault> {
        if value.is_nil() {
            self.cx.prints_nil(value);
            match verb {
                'T' | 'v' => self.pad(b"<nil>")?,
                _ => self.bad_verb(value, verb)?,
            }
            return Ok(());
        }
        if verb == 'T' {
            return self.text(value.type_name().as_bytes(), 's', value);
        }
        self.value(value, verb)
    }

    fn value(&mut self, value: &Value<'a>, verb: char) -> Result<(), Fault> {
        // `%w` is for errors, and there are none: a list is refused as a whole, not element by
        // element.
        if verb == 'w' && matches!(value.kind, Kind::List(_) | Kind::Map(_) | Kind::Object(_)) {
            return self.bad_verb(value, verb);
        }
        match &value.kind {
            Kind::Missing | Kind::Nil => {
                self.cx.prints_nil(value);
                self.out.extend_from_slice(if self.go_syntax {
                    b"interface {}(nil)"
                } else {
                    b"<nil>"
                });
                Ok(())
            }
            Kind::Unknown => match verb {
                'q' => self.text(super::UNKNOWN.as_bytes(), verb, value),
                _ => self.pad(super::UNKNOWN.as_bytes()),
            },
            Kind::Bool(truth) => match verb {
                't' | 'v' => self.pad(if *truth { b"true" } else { b"false" }),
                _ => self.bad_verb(value, verb),
            },
            Kind::Int(number, width) => self.integer(*number, *width, verb, value),
            Kind::Float(number) => self.float_verb(*number, verb, value),
            Kind::Complex(number) => self.complex(number.0, number.1, verb, value),
            Kind::Text(text) => self.text(text, verb, value),
            Kind::List(list) => self.nested(|printer| printer.list(list, verb)),
            Kind::Map(map) => self.nested(|printer| {
                printer.open(&value.type_name(), b"map[");
                if printer.go_syntax && map.is_nil() {
                    printer.out.pop();
                    printer.out.extend_from_slice(b"(nil)");
                    return Ok(());
                }
                for (index, (key, entry)) in printer.cx.entries(map).iter().enumerate() {
                    printer.element(index)?;
                    printer.value(&Value::of(Kind::Text(key.clone())), verb)?;
                    printer.out.push(b':');
                    printer.value(entry, verb)?;
                }
                printer.close();
                Ok(())
            }),
            Kind::Object(object) => self.object(object, verb, value),
        }
    }

    fn nested(&mut self, inside: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        let limit = self.cx.limits().nesting;
        if self.depth >= limit {
            return Err(Fault::limit(format!(
                "exceeded the limit of {limit} nested lists and dicts"
            )));
        }
        self.cx.fits(self.out.len())?;
        self.depth += 1;
        let result = stacker::maybe_grow(RED_ZONE, MORE_STACK, || inside(self));
        self.depth -= 1;
        result
    }

    fn open(&mut self, type_name: &str, plain: &[u8]) {
        if self.go_syntax {
            self.out.extend_from_slice(type_name.as_bytes());
            self.out.push(b'{');
        } else {
            self.out.extend_from_slice(plain);
        }
    }

    /// Begins an element, after what came before it was counted.
    fn element(&mut self, index: usize) -> Result<(), Fault> {
        let made = self.out.len().saturating_sub(self.counted);
        self.counted = self.out.len();
        self.cx.work(ELEMENT + made as u64)?;
        self.cx.fits(self.out.len())?;
        self.separator(index);
        Ok(())
    }

    fn separator(&mut self, index: usize) {
        if index > 0 {
            self.out
                .extend_from_slice(if self.go_syntax { b", " } else { b" " });
        }
    }

    fn close(&mut self) {
        self.out.push(if self.go_syntax { b'}' } else { b']' });
    }

    fn list(&mut self, list: &List<'a>, verb: char) -> Result<(), Fault> {
        if list.element() == Element::Byte && matches!(verb, 's' | 'q' | 'x' | 'X') {
            let bytes: Vec<u8> = self.cx.items(list).iter().map(byte_of).collect();
            return self.text(&bytes, verb, &Value::of(Kind::List(list.clone())));
        }
        self.open(&Value::of(Kind::List(list.clone())).type_name(), b"[");
        if self.go_syntax && list.is_nil() {
            self.out.pop();
            self.out.extend_from_slice(b"(nil)");
            return Ok(());
        }
        for index in 0..list.len() {
            self.element(index)?;
            if let Some(item) = self.cx.item(list, index) {
                self.value(&item, verb)?;
            }
        }
        self.close();
        Ok(())
    }

    fn object(&mut self, object: &Object, verb: char, value: &Value<'a>) -> Result<(), Fault> {
        if !self.erring
            && !self.go_syntax
            && matches!(verb, 'v' | 's' | 'x' | 'X' | 'q')
            && let Some(text) = object.string()
        {
            return self.text(text.as_bytes(), verb, value);
        }
        if !self.erring
            && self.go_syntax
            && let Some(text) = object.go_syntax()
        {
            let cut = self.cut(text.as_bytes());
            return self.pad(cut);
        }
        if let Some(number) = object.integer() {
            return self.integer(number, Width::Int64, verb, value);
        }
        let Some(fields) = object.fields() else {
            return self.pad(object.string().unwrap_or_default().as_bytes());
        };
        if verb == 'p' && !object.is_pointer() {
            return self.bad_verb(value, verb);
        }
        let name = object.type_name();
        if object.is_pointer() {
            self.out.push(b'&');
        }
        self.open(name.trim_start_matches('*'), b"{");
        for (index, (name, field)) in fields.iter().enumerate() {
            self.separator(index);
            if self.go_syntax || self.field_names {
                self.out.extend_from_slice(name.as_bytes());
                self.out.push(b':');
            }
            match field {
                Field::Value(field) => self.value(field, verb)?,
                Field::NilPointer(type_name) => self.nil_pointer(type_name, verb)?,
            }
        }
        self.out.push(b'}');
        Ok(())
    }

    fn nil_pointer(&mut self, type_name: &str, verb: char) -> Result<(), Fault> {
        match verb {
            'v' if self.go_syntax => {
                self.out
                    .extend_from_slice(format!("({type_name})(nil)").as_bytes());
                Ok(())
            }
            'v' => self.pad(b"<nil>"),
            'b' | 'o' | 'd' | 'x' | 'X' => {
                self.integer(0, Width::Uint64, verb, &Value::of(Kind::Nil))
            }
            _ => {
                self.out.extend_from_slice(b"%!");
                push_rune(self.out, verb);
                self.out
                    .extend_from_slice(format!("({type_name}=").as_bytes());
                self.pad(b"<nil>")?;
                self.out.push(b')');
                Ok(())
            }
        }
    }

    /// A verb that does not fit: the complaint stands in the text.
    fn bad_verb(&mut self, value: &Value<'a>, verb: char) -> Result<(), Fault> {
        let outer = std::mem::replace(&mut self.erring, true);
        self.out.extend_from_slice(b"%!");
        push_rune(self.out, verb);
        self.out.push(b'(');
        if value.is_nil() {
            self.out.extend_from_slice(b"<nil>");
        } else {
            self.out.extend_from_slice(value.type_name().as_bytes());
            self.out.push(b'=');
            self.value(value, 'v')?;
        }
        self.out.push(b')');
        self.erring = outer;
        Ok(())
    }

    // Padding.

    fn fill(&mut self, count: usize) -> Result<(), Fault> {
        self.cx.charge(count)?;
        let byte = if self.zero && !self.minus { b'0' } else { b' ' };
        self.out.resize(self.out.len() + count, byte);
        Ok(())
    }

    fn pad(&mut self, text: &[u8]) -> Result<(), Fault> {
        let Some(width) = self.width.filter(|width| *width > 0) else {
            self.out.extend_from_slice(text);
            return Ok(());
        };
        let fill = width.saturating_sub(rune_count(text));
        if !self.minus {
            self.fill(fill)?;
        }
        self.out.extend_from_slice(text);
        if self.minus {
            self.fill(fill)?;
        }
        Ok(())
    }

    fn pad_with_spaces(&mut self, text: &[u8]) -> Result<(), Fault> {
        let zero = std::mem::replace(&mut self.zero, false);
        let result = self.pad(text);
        self.zero = zero;
        result
    }

    // Strings.

    fn text(&mut self, text: &[u8], verb: char, value: &Value<'a>) -> Result<(), Fault> {
        match verb {
            'v' if self.go_syntax => self.quoted(text),
            'v' | 's' => {
                let cut = self.cut(text);
                self.pad(cut)
            }
            'q' => self.quoted(text),
            'x' => self.hex_bytes(text, LOWER),
            'X' => self.hex_bytes(text, UPPER),
            _ => self.bad_verb(value, verb),
        }
    }

    fn cut<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let Some(precision) = self.precision else {
            return text;
        };
        match runes(text).nth(precision) {
            Some(item) => &text[..item.at],
            None => text,
        }
    }

    fn quoted(&mut self, text: &[u8]) -> Result<(), Fault> {
        let text = self.cut(text);
        if self.sharp && strconv::can_backquote(text) {
            let raw = [b"`", text, b"`"].concat();
            return self.pad(&raw);
        }
        let quoted = if self.plus {
            strconv::quote_to_ascii(text)
        } else {
            strconv::quote(text)
        };
        self.pad(&quoted)
    }

    fn hex_bytes(&mut self, text: &[u8], digits: &[u8; 17]) -> Result<(), Fault> {
        let text = &text[..self
            .precision
            .map_or(text.len(), |precision| precision.min(text.len()))];
        let mut out = Vec::with_capacity(text.len() * 2);
        for (index, byte) in text.iter().enumerate() {
            if index > 0 && self.space {
                out.push(b' ');
            }
            if self.sharp && (index == 0 || self.space) {
                out.extend_from_slice(&[b'0', digits[16]]);
            }
            out.extend_from_slice(&[
                digits[usize::from(byte >> 4)],
                digits[usize::from(byte & 15)],
            ]);
        }
        if text.is_empty() {
            if let Some(width) = self.width {
                self.fill(width)?;
            }
            return Ok(());
        }
        self.pad(&out)
    }

    // Numbers.

    fn integer(
        &mut self,
        number: i64,
        width: Width,
        verb: char,
        value: &Value<'a>,
    ) -> Result<(), Fault> {
        let signed = !width.unsigned();
        let bits = number.cast_unsigned();
        match verb {
            'v' if self.go_syntax && !signed => {
                let sharp = std::mem::replace(&mut self.sharp, true);
                let result = self.digits(bits, 16, signed, verb, LOWER);
                self.sharp = sharp;
                result
            }
            'v' | 'd' => self.digits(bits, 10, signed, verb, LOWER),
            'b' => self.digits(bits, 2, signed, verb, LOWER),
            'o' | 'O' => self.digits(bits, 8, signed, verb, LOWER),
            'x' => self.digits(bits, 16, signed, verb, LOWER),
            'X' => self.digits(bits, 16, signed, verb, UPPER),
            'c' => {
                let mut text = Vec::new();
                push_rune(&mut text, rune(bits));
                self.pad(&text)
            }
            'q' => {
                let rune = rune(bits) as u32;
                let text = if self.plus {
                    strconv::quote_rune_to_ascii(rune)
                } else {
                    strconv::quote_rune(rune)
                };
                self.pad(&text)
            }
            'U' => self.code_point(bits),
            _ => self.bad_verb(value, verb),
        }
    }

    fn code_point(&mut self, bits: u64) -> Result<(), Fault> {
        let digits = self
            .precision
            .filter(|precision| *precision > 4)
            .unwrap_or(4);
        self.cx.charge(digits)?;
        let mut text = format!("U+{bits:0digits$X}").into_bytes();
        if self.sharp
            && let Some(rune) = u32::try_from(bits)
                .ok()
                .and_then(char::from_u32)
                .filter(|rune| is_print(*rune))
        {
            text.extend_from_slice(b" '");
            push_rune(&mut text, rune);
            text.push(b'\'');
        }
        self.pad_with_spaces(&text)
    }

    fn digits(
        &mut self,
        bits: u64,
        base: u64,
        signed: bool,
        verb: char,
        digits: &[u8; 17],
    ) -> Result<(), Fault> {
        let negative = signed && bits.cast_signed() < 0;
        let mut rest = if negative { bits.wrapping_neg() } else { bits };
        let mut least = 0;
        if let Some(precision) = self.precision {
            least = precision;
            if precision == 0 && rest == 0 {
                let zero = std::mem::replace(&mut self.zero, false);
                let result = self.fill(self.width.unwrap_or(0));
                self.zero = zero;
                return result;
            }
        } else if self.zero
            && !self.minus
            && let Some(width) = self.width
        {
            least = width.saturating_sub(usize::from(negative || self.plus || self.space));
        }
        self.cx.charge(least)?;
        let mut text = Vec::with_capacity(24);
        loop {
            text.push(digits[(rest % base) as usize]);
            rest /= base;
            if rest == 0 {
                break;
            }
        }
        while text.len() < least {
            text.push(b'0');
        }
        if self.sharp {
            match base {
                2 => text.extend_from_slice(b"b0"),
                8 if text.last() != Some(&b'0') => text.push(b'0'),
                16 => text.extend_from_slice(&[digits[16], b'0']),
                _ => {}
            }
        }
        if verb == 'O' {
            text.extend_from_slice(b"o0");
        }
        if negative {
            text.push(b'-');
        } else if self.plus {
            text.push(b'+');
        } else if self.space {
            text.push(b' ');
        }
        text.reverse();
        self.pad_with_spaces(&text)
    }

    fn float_verb(&mut self, number: f64, verb: char, value: &Value<'a>) -> Result<(), Fault> {
        match verb {
            'v' => self.float(number, 'g', -1),
            'b' | 'g' | 'G' | 'x' | 'X' => self.float(number, verb, -1),
            'f' | 'F' | 'e' | 'E' => self.float(number, if verb == 'F' { 'f' } else { verb }, 6),
            _ => self.bad_verb(value, verb),
        }
    }

    fn complex(
        &mut self,
        real: f64,
        imaginary: f64,
        verb: char,
        value: &Value<'a>,
    ) -> Result<(), Fault> {
        if !matches!(
            verb,
            'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E'
        ) {
            return self.bad_verb(value, verb);
        }
        let plus = self.plus;
        self.out.push(b'(');
        self.float_verb(real, verb, value)?;
        self.plus = true;
        self.float_verb(imaginary, verb, value)?;
        self.out.extend_from_slice(b"i)");
        self.plus = plus;
        Ok(())
    }

    fn float(&mut self, number: f64, verb: char, precision: i32) -> Result<(), Fault> {
        let precision = self.precision.map_or(precision, |precision| {
            i32::try_from(precision).unwrap_or(i32::MAX)
        });
        self.cx.charge(usize::try_from(precision).unwrap_or(0))?;
        let mut text = strconv::format_float(number, verb as u8, precision, 64).into_bytes();
        if !matches!(text.first(), Some(b'-' | b'+')) {
            text.insert(0, b'+');
        }
        if self.space && text[0] == b'+' && !self.plus {
            text[0] = b' ';
        }
        if let Some(b'I' | b'N') = text.get(1) {
            if text[1] == b'N' && !self.space && !self.plus {
                text.remove(0);
            }
            return self.pad_with_spaces(&text);
        }
        if self.sharp && verb != 'b' {
            sharpen(&mut text, verb, precision);
        }
        if self.plus || text[0] != b'+' {
            if self.zero
                && !self.minus
                && let Some(width) = self.width
                && width > text.len()
            {
                self.out.push(text[0]);
                self.fill(width - text.len())?;
                self.out.extend_from_slice(&text[1..]);
                return Ok(());
            }
            return self.pad(&text);
        }
        self.pad(&text[1..])
    }
}

/// Restores the decimal point and the trailing zeros that `%#g` keeps. The sign is at the front.
fn sharpen(text: &mut Vec<u8>, verb: char, precision: i32) {
    let mut digits = match verb {
        'g' | 'G' | 'x' => {
            if precision == -1 {
                6
            } else {
                precision
            }
        }
        _ => 0,
    };
    let hex = matches!(verb, 'x' | 'X');
    let exponent = |byte: &u8| matches!(byte, b'p' | b'P') || (!hex && matches!(byte, b'e' | b'E'));
    let tail_at = text.iter().position(exponent).unwrap_or(text.len());
    let tail = text.split_off(tail_at);
    let mut seen = false;
    for byte in text[1..].iter().filter(|byte| **byte != b'.') {
        seen |= *byte != b'0';
        digits -= i32::from(seen);
    }
    if !text.contains(&b'.') {
        if text.len() == 2 && text[1] == b'0' {
            digits -= 1;
        }
        text.push(b'.');
    }
    text.resize(text.len() + usize::try_from(digits).unwrap_or(0), b'0');
    text.extend_from_slice(&tail);
}

fn rune(bits: u64) -> char {
    u32::try_from(bits)
        .ok()
        .and_then(char::from_u32)
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn byte_of(value: &Value<'_>) -> u8 {
    match value.kind {
        Kind::Int(byte, _) => byte as u8,
        _ => 0,
    }
}
