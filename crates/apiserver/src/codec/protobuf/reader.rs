//! Protobuf as bytes: numbers of fields, and their values. It knows no types.

/// Reads one message.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

/// The value of a field.
#[derive(Clone, Copy)]
pub(super) enum Wire<'a> {
    /// A number of any length.
    Number(u64),
    /// Eight bytes.
    Fixed(u64),
    /// Text, bytes or a message.
    Bytes(&'a [u8]),
}

impl<'a> Wire<'a> {
    /// Its bytes, if it has any.
    pub(super) fn bytes(&self) -> Result<&'a [u8], String> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err("proto: wrong wireType".to_owned()),
        }
    }

    /// Its number, if it is one.
    pub(super) fn number(&self) -> Result<u64, String> {
        match self {
            Self::Number(number) | Self::Fixed(number) => Ok(*number),
            Self::Bytes(_) => Err("proto: wrong wireType".to_owned()),
        }
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field; nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Wire<'a>)>, String> {
        let Some(tag) = self.number()? else {
            return Ok(None);
        };
        let number = u32::try_from(tag >> 3).map_err(|_| "proto: illegal tag")?;
        let value = match tag & 7 {
            0 => Wire::Number(self.number()?.ok_or("unexpected EOF")?),
            1 => Wire::Fixed(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = self.number()?.ok_or("unexpected EOF")?;
                Wire::Bytes(self.take(usize::try_from(length).map_err(|_| "unexpected EOF")?)?)
            }
            5 => Wire::Number(u32::from_le_bytes(self.array()?).into()),
            other => return Err(format!("proto: illegal wireType {other}")),
        };
        if number == 0 {
            return Err("proto: illegal tag 0".to_owned());
        }
        Ok(Some((number, value)))
    }

    /// A number in as many bytes as it needs; nothing at the end.
    pub(super) fn number(&mut self) -> Result<Option<u64>, String> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(Some(number));
            }
        }
        Err("proto: integer overflow".to_owned())
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or("unexpected EOF")?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.take(N)?
            .try_into()
            .map_err(|_| "unexpected EOF".to_owned())
    }
}
