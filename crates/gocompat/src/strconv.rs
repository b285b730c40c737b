//! Go's `strconv`: quoting and unquoting of strings, and numbers to and from text.
//! Strings are bytes, as they are in Go, and need not be UTF-8.

mod float;
mod number;
mod quote;

pub use float::{format_float, parse_float};
pub use number::{NumError, NumErrorKind, atoi, format_int, parse_bool, parse_int, parse_uint};
pub use quote::{
    Unit, can_backquote, quote, quote_rune, quote_rune_to_ascii, quote_to_ascii, unquote,
    unquote_char,
};
