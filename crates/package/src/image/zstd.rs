//! Reading what was compressed by Zstandard: frame after frame, past those that hold nothing of the
//! content, as some tools append them.

use std::io::{self, Chain, Cursor, Read};

use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::StreamingDecoder;

/// The source of a frame: the four bytes that were read ahead, and the rest.
type Source<R> = Chain<Cursor<[u8; 4]>, R>;

/// Decompresses what it reads from another reader. Memory is bounded by the window of a frame,
/// which the decoder bounds.
pub(super) struct Reader<R: Read> {
    state: State<R>,
}

enum State<R: Read> {
    Between(R),
    Inside(Box<StreamingDecoder<Source<R>, FrameDecoder>>),
    End,
}

impl<R: Read> Reader<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            state: State::Between(inner),
        }
    }
}

impl<R: Read> Read for Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            // Whatever goes wrong, there is nothing more to read after it.
            match std::mem::replace(&mut self.state, State::End) {
                State::End => return Ok(0),
                State::Between(inner) => self.state = begin(inner)?,
                State::Inside(mut frame) => match frame.read(buffer)? {
                    0 => self.state = State::Between(frame.into_inner().into_inner().1),
                    count => {
                        self.state = State::Inside(frame);
                        return Ok(count);
                    }
                },
            }
        }
    }
}

/// Begins the next frame.
fn begin<R: Read>(mut inner: R) -> io::Result<State<R>> {
    let mut magic = [0; 4];
    match inner.read(&mut magic[..1])? {
        0 => return Ok(State::End),
        _ => inner.read_exact(&mut magic[1..])?,
    }
    // A frame to be skipped: its length follows.
    if u32::from_le_bytes(magic) & 0xFFFF_FFF0 == 0x184D_2A50 {
        let mut length = [0; 4];
        inner.read_exact(&mut length)?;
        let length = u64::from(u32::from_le_bytes(length));
        let skipped = io::copy(&mut inner.by_ref().take(length), &mut io::sink())?;
        return if skipped == length {
            Ok(State::Between(inner))
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        };
    }
    let frame = StreamingDecoder::new(Cursor::new(magic).chain(inner)).map_err(io::Error::other)?;
    Ok(State::Inside(Box::new(frame)))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::Reader;

    fn read(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut out = Vec::new();
        Reader::new(bytes)
            .take(1 << 20)
            .read_to_end(&mut out)
            .map(|_| out)
    }

    #[test]
    fn frames_follow_each_other_and_some_are_skipped() {
        let frame = |text: &str| compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        let skipped = [
            &0x184D_2A5E_u32.to_le_bytes()[..],
            &3_u32.to_le_bytes()[..],
            b"xyz",
        ]
        .concat();
        let all = [
            &skipped[..],
            &frame("one ")[..],
            &skipped[..],
            &frame("two")[..],
            &skipped[..],
        ]
        .concat();
        assert_eq!(read(&all).unwrap(), b"one two");
        assert_eq!(read(b"").unwrap(), b"");
        for cut in 1..all.len() {
            // Cut anywhere, it ends: with less, or with an error, and never with something else.
            if let Ok(part) = read(&all[..cut]) {
                assert!(b"one two".starts_with(&part[..]), "{cut}");
            }
        }
        assert!(read(b"text").is_err());
    }
}
