//! Reads anchors, aliases, tags and directives.

use std::borrow::Cow;

use crate::chars::{byte, is_blank, is_blank_or_end, is_break_or_end, is_word, width};
use crate::error::Error;
use crate::scanner::Scanner;
use crate::token::{Kind, Token};

impl<'a> Scanner<'a> {
    /// Reads `&name`.
    pub(crate) fn scan_anchor(&mut self) -> Result<Token<'a>, Error> {
        self.scan_name(Kind::Anchor)
    }

    /// Reads `*name`.
    pub(crate) fn scan_alias(&mut self) -> Result<Token<'a>, Error> {
        self.scan_name(Kind::Alias)
    }

    fn scan_name(&mut self, kind: Kind) -> Result<Token<'a>, Error> {
        let start = self.mark();
        self.pos += 1;
        let name = self.scan_word();
        let follows = matches!(
            byte(self.bytes, self.pos),
            b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
        );
        if name.is_empty() || !(follows || is_blank_or_end(self.bytes, self.pos)) {
            return Err(self.error("did not find expected alphabetic or numeric character"));
        }
        Ok(self.scalar(kind, start, self.pos, Cow::Borrowed(name)))
    }

    fn scan_word(&mut self) -> &'a str {
        let from = self.pos;
        while is_word(byte(self.bytes, self.pos)) {
            self.pos += 1;
        }
        &self.text[from..self.pos]
    }

    fn skip_blanks(&mut self) {
        while is_blank(self.bytes, self.pos) {
            self.pos += 1;
        }
    }

    /// Reads `!suffix`, `!!suffix`, `!handle!suffix` or `!<uri>`.
    pub(crate) fn scan_tag(&mut self) -> Result<Token<'a>, Error> {
        let start = self.mark();
        let (handle, suffix) = if byte(self.bytes, self.pos + 1) == b'<' {
            self.pos += 2;
            let uri = self.scan_uri("")?;
            if byte(self.bytes, self.pos) != b'>' {
                return Err(self.error("did not find the expected '>'"));
            }
            self.pos += 1;
            ("", uri)
        } else {
            let handle = self.scan_handle(false)?;
            if handle.len() > 1 && handle.ends_with('!') {
                (handle, self.scan_uri("")?)
            } else {
                // What looked like a handle was the beginning of the suffix of the primary handle
                // `!`.
                match self.scan_uri(handle)? {
                    suffix if suffix.is_empty() => ("", handle.to_owned()),
                    suffix => ("!", suffix),
                }
            }
        };
        if !is_blank_or_end(self.bytes, self.pos) {
            return Err(self.error("did not find expected whitespace or line break"));
        }
        let mut token = self.scalar(Kind::Tag, start, self.pos, Cow::Borrowed(handle));
        token.suffix = Some(suffix.into());
        Ok(token)
    }

    fn scan_handle(&mut self, directive: bool) -> Result<&'a str, Error> {
        let from = self.pos;
        if byte(self.bytes, from) != b'!' {
            return Err(self.error("did not find expected '!'"));
        }
        self.pos += 1;
        self.scan_word();
        if byte(self.bytes, self.pos) == b'!' {
            self.pos += 1;
        } else if directive && self.pos > from + 1 {
            return Err(self.error("did not find expected '!'"));
        }
        Ok(&self.text[from..self.pos])
    }

    /// Reads the rest of a URI of which `head`, without its first byte, has been read already.
    fn scan_uri(&mut self, head: &str) -> Result<String, Error> {
        let from = self.pos;
        let mut uri: Vec<u8> = head.bytes().skip(1).collect();
        loop {
            match byte(self.bytes, self.pos) {
                b'%' => self.scan_uri_escape(&mut uri)?,
                b if is_word(b) || b";/?:@&=+$,.!~*'()[]".contains(&b) => {
                    uri.push(b);
                    self.pos += 1;
                }
                _ => break,
            }
        }
        if head.is_empty() && self.pos == from {
            return Err(self.error("did not find expected tag URI"));
        }
        Ok(String::from_utf8_lossy(&uri).into_owned())
    }

    /// Reads the escaped octets of one character.
    fn scan_uri_escape(&mut self, uri: &mut Vec<u8>) -> Result<(), Error> {
        let mut left = 0;
        loop {
            let digit = |at| char::from(byte(self.bytes, at)).to_digit(16);
            let octet = match (
                byte(self.bytes, self.pos),
                digit(self.pos + 1),
                digit(self.pos + 2),
            ) {
                (b'%', Some(high), Some(low)) => (high << 4 | low) as u8,
                _ => return Err(self.error("did not find URI escaped octet")),
            };
            if left == 0 {
                if matches!(octet, 0x80..=0xBF | 0xF8..=0xFF) {
                    return Err(self.error("found an incorrect leading UTF-8 octet"));
                }
                left = width(octet);
            } else if octet & 0xC0 != 0x80 {
                return Err(self.error("found an incorrect trailing UTF-8 octet"));
            }
            uri.push(octet);
            self.pos += 3;
            left -= 1;
            if left == 0 {
                return Ok(());
            }
        }
    }

    /// Reads a `%YAML` or `%TAG` line.
    pub(crate) fn scan_directive(&mut self) -> Result<Token<'a>, Error> {
        let start = self.mark();
        self.pos += 1;
        let name = self.scan_word();
        if name.is_empty() {
            return Err(self.error("could not find expected directive name"));
        }
        if !is_blank_or_end(self.bytes, self.pos) {
            return Err(self.error("found unexpected non-alphabetical character"));
        }
        let mut token = match name {
            "YAML" => {
                let version = self.scan_version()?;
                let mut token = Token::mere(Kind::VersionDirective, start, self.pos as u32);
                token.version = version;
                token
            }
            "TAG" => {
                let (handle, prefix) = self.scan_tag_directive()?;
                let mut token = Token::mere(Kind::TagDirective, start, self.pos as u32);
                token.value = Cow::Borrowed(handle);
                token.suffix = Some(prefix.into());
                token
            }
            _ => return Err(self.error("found unknown directive name")),
        };
        token.end = self.pos as u32;
        self.skip_blanks();
        if byte(self.bytes, self.pos) == b'#' {
            self.skip_comment();
        }
        if !is_break_or_end(self.bytes, self.pos) {
            return Err(self.error("did not find expected comment or line break"));
        }
        self.skip_break();
        Ok(token)
    }

    fn scan_version(&mut self) -> Result<(u8, u8), Error> {
        self.skip_blanks();
        let major = self.scan_version_number()?;
        if byte(self.bytes, self.pos) != b'.' {
            return Err(self.error("did not find expected digit or '.' character"));
        }
        self.pos += 1;
        Ok((major, self.scan_version_number()?))
    }

    fn scan_version_number(&mut self) -> Result<u8, Error> {
        let from = self.pos;
        let mut number = 0;
        while byte(self.bytes, self.pos).is_ascii_digit() {
            if self.pos - from == 2 {
                return Err(self.error("found extremely long version number"));
            }
            number = number * 10 + (self.bytes[self.pos] - b'0');
            self.pos += 1;
        }
        if self.pos == from {
            return Err(self.error("did not find expected version number"));
        }
        Ok(number)
    }

    fn scan_tag_directive(&mut self) -> Result<(&'a str, String), Error> {
        self.skip_blanks();
        let handle = self.scan_handle(true)?;
        if !is_blank(self.bytes, self.pos) {
            return Err(self.error("did not find expected whitespace"));
        }
        self.skip_blanks();
        let prefix = self.scan_uri("")?;
        if !is_blank_or_end(self.bytes, self.pos) {
            return Err(self.error("did not find expected whitespace or line break"));
        }
        Ok((handle, prefix))
    }
}
