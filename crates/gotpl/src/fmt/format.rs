//! Reading a `printf` format: flags, widths, precisions and argument indexes.

use std::ops::Range;

use crate::exec::Cx;
use crate::fmt::printer::Printer;
use crate::func::Fault;
use crate::value::{Kind, Value};
use gocompat::unicode::{decode_rune, push_rune};

/// Beyond this a width or precision is a mistake.
const TOO_LARGE: i64 = 1_000_000;

/// `fmt.Sprintf`. In a watched run, the bytes that each verb printed, and the index of its value,
/// go to `verbs`.
pub(crate) fn sprintf<'a>(
    cx: &Cx<'a>,
    format: &[u8],
    values: &[Value<'a>],
    out: &mut Vec<u8>,
    verbs: &mut Vec<(Range<usize>, usize)>,
) -> Result<(), Fault> {
    let mut state = State {
        format,
        values,
        at: 0,
        argument: 0,
        reordered: false,
        good_index: true,
    };
    let mut printer = Printer::new(cx, out);
    while state.at < format.len() {
        let rest = &format[state.at..];
        let plain = rest
            .iter()
            .position(|byte| *byte == b'%')
            .unwrap_or(rest.len());
        printer.out.extend_from_slice(&rest[..plain]);
        state.at += plain;
        if state.at >= format.len() {
            break;
        }
        state.at += 1;
        printer.clear();
        let start = printer.out.len();
        if let Some(index) = state.verb(&mut printer)?
            && cx.watched()
        {
            verbs.push((start..printer.out.len(), index));
        }
    }
    if !state.reordered && state.argument < values.len() {
        printer.clear();
        printer.out.extend_from_slice(b"%!(EXTRA ");
        for (index, value) in values[state.argument..].iter().enumerate() {
            if index > 0 {
                printer.out.extend_from_slice(b", ");
            }
            if value.is_nil() {
                cx.prints_nil(value);
                printer.out.extend_from_slice(b"<nil>");
            } else {
                printer.out.extend_from_slice(value.type_name().as_bytes());
                printer.out.push(b'=');
                printer.argument(value, 'v')?;
            }
        }
        printer.out.push(b')');
    }
    Ok(())
}

struct State<'f, 'a> {
    format: &'f [u8],
    values: &'f [Value<'a>],
    at: usize,
    argument: usize,
    reordered: bool,
    good_index: bool,
}

impl<'a> State<'_, 'a> {
    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    /// One verb with all that precedes it; the percent sign is past. Answers which value it
    /// printed.
    fn verb(&mut self, printer: &mut Printer<'_, '_, 'a>) -> Result<Option<usize>, Fault> {
        self.good_index = true;
        self.flags(printer);
        let mut after_index = self.index();
        if self.peek() == Some(b'*') {
            self.at += 1;
            let width = self.next_integer();
            if width.is_none() {
                printer.out.extend_from_slice(b"%!(BADWIDTH)");
            }
            printer.width = width.map(|width| width.unsigned_abs() as usize);
            if width.is_some_and(|width| width < 0) {
                printer.minus = true;
                printer.zero = false;
            }
            after_index = false;
        } else {
            printer.width = self.number();
            if after_index && printer.width.is_some() {
                self.good_index = false;
            }
        }
        if self.at + 1 < self.format.len() && self.peek() == Some(b'.') {
            self.at += 1;
            if after_index {
                self.good_index = false;
            }
            after_index = self.index();
            if self.peek() == Some(b'*') {
                self.at += 1;
                let precision = self.next_integer().filter(|precision| *precision >= 0);
                if precision.is_none() {
                    printer.out.extend_from_slice(b"%!(BADPREC)");
                }
                printer.precision = precision.map(|precision| precision as usize);
                after_index = false;
            } else {
                printer.precision = Some(self.number().unwrap_or(0));
            }
        }
        if !after_index {
            self.index();
        }
        if self.at >= self.format.len() {
            printer.out.extend_from_slice(b"%!(NOVERB)");
            return Ok(None);
        }
        let (verb, size) = decode_rune(&self.format[self.at..]);
        self.at += size;
        if verb == '%' {
            printer.out.push(b'%');
            return Ok(None);
        }
        if !self.good_index || self.argument >= self.values.len() {
            printer.out.extend_from_slice(b"%!");
            push_rune(printer.out, verb);
            printer.out.extend_from_slice(if self.good_index {
                b"(MISSING)"
            } else {
                b"(BADINDEX)"
            });
            return Ok(None);
        }
        if verb == 'v' || verb == 'w' {
            printer.go_syntax = std::mem::take(&mut printer.sharp);
            printer.field_names = std::mem::take(&mut printer.plus);
        }
        let index = self.argument;
        self.argument += 1;
        printer.argument(&self.values[index], verb)?;
        Ok(Some(index))
    }

    fn flags(&mut self, printer: &mut Printer<'_, '_, 'a>) {
        while let Some(flag) = self.peek() {
            match flag {
                b'#' => printer.sharp = true,
                b'0' => printer.zero = true,
                b'+' => printer.plus = true,
                b'-' => printer.minus = true,
                b' ' => printer.space = true,
                _ => return,
            }
            self.at += 1;
        }
    }

    /// An argument index such as `[3]`, if one stands here.
    fn index(&mut self) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.reordered = true;
        let rest = &self.format[self.at..];
        let close = if rest.len() < 3 {
            None
        } else {
            rest.iter().position(|byte| *byte == b']')
        };
        let Some(close) = close else {
            self.at += 1;
            self.good_index = false;
            return false;
        };
        let digits = &rest[1..close];
        self.at += close + 1;
        let number = parse_digits(digits).filter(|(_, used)| *used == digits.len() && *used > 0);
        match number {
            Some((number, _)) if number >= 1 && number - 1 < self.values.len() => {
                self.argument = number - 1;
                true
            }
            number => {
                self.good_index = false;
                number.is_some()
            }
        }
    }

    fn number(&mut self) -> Option<usize> {
        let rest = &self.format[self.at..];
        match parse_digits(rest) {
            Some((_, 0)) => None,
            Some((number, used)) => {
                self.at += used;
                Some(number)
            }
            None => {
                self.at = self.format.len();
                None
            }
        }
    }

    fn next_integer(&mut self) -> Option<i64> {
        let value = self.values.get(self.argument)?;
        self.argument += 1;
        match &value.kind {
            Kind::Int(value, _) if (-TOO_LARGE..=TOO_LARGE).contains(value) => Some(*value),
            _ => None,
        }
    }
}

/// The number at the start and how many digits it has; nothing if it is absurdly long.
fn parse_digits(text: &[u8]) -> Option<(usize, usize)> {
    let mut number = 0;
    let mut used = 0;
    while let Some(digit) = text.get(used).filter(|byte| byte.is_ascii_digit()) {
        if number > TOO_LARGE as usize {
            return None;
        }
        number = number * 10 + usize::from(digit - b'0');
        used += 1;
    }
    Some((number, used))
}
