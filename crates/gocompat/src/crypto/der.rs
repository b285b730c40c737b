//! Just enough DER to write certificates and keys and to read them back. Reading never trusts a
//! length.

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const OID: u8 = 0x06;
pub(crate) const SEQUENCE: u8 = 0x30;

/// An element with its tag and length.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len();
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let bytes = length.to_be_bytes();
        let bytes = &bytes[bytes.iter().position(|&byte| byte != 0).unwrap_or(0)..];
        out.push(0x80 | bytes.len() as u8);
        out.extend_from_slice(bytes);
    }
    out.extend_from_slice(content);
    out
}

/// An element made of others.
pub(crate) fn group(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    element(tag, &parts.concat())
}

/// A positive integer from its bytes, most significant first.
pub(crate) fn integer(bytes: &[u8]) -> Vec<u8> {
    let start = bytes
        .iter()
        .position(|&byte| byte != 0)
        .unwrap_or(bytes.len());
    let digits = &bytes[start..];
    if digits.first().is_none_or(|&byte| byte >= 0x80) {
        element(INTEGER, &[&[0], digits].concat())
    } else {
        element(INTEGER, digits)
    }
}

/// A bit string of whole bytes.
pub(crate) fn bits(bytes: &[u8]) -> Vec<u8> {
    element(BIT_STRING, &[&[0], bytes].concat())
}

/// An element read: its tag, its content, and all of its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element<'a> {
    pub(crate) tag: u8,
    pub(crate) content: &'a [u8],
    pub(crate) raw: &'a [u8],
}

/// Reads elements one after another.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }

    /// The next element, if there is a whole one.
    pub(crate) fn next(&mut self) -> Option<Element<'a>> {
        let [tag, first, after @ ..] = self.rest else {
            return None;
        };
        let (length, header) = if *first < 0x80 {
            (usize::from(*first), 2)
        } else {
            let count = usize::from(first & 0x7f);
            let bytes = after.get(..count).filter(|_| (1..=4).contains(&count))?;
            (
                bytes
                    .iter()
                    .fold(0, |sum, &byte| sum << 8 | usize::from(byte)),
                2 + count,
            )
        };
        let (raw, rest) = self.rest.split_at_checked(header.checked_add(length)?)?;
        self.rest = rest;
        Some(Element {
            tag: *tag,
            content: &raw[header..],
            raw,
        })
    }

    /// The next element if it has this tag.
    pub(crate) fn take(&mut self, tag: u8) -> Option<Element<'a>> {
        self.next().filter(|element| element.tag == tag)
    }

    /// The next element if it has this tag; another is left in place.
    pub(crate) fn optional(&mut self, tag: u8) -> Option<Element<'a>> {
        if self.rest.first() == Some(&tag) {
            self.next()
        } else {
            None
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

impl<'a> Element<'a> {
    /// The elements inside.
    pub(crate) fn reader(&self) -> Reader<'a> {
        Reader::new(self.content)
    }
}
