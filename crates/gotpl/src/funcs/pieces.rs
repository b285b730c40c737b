//! Texts that functions cut, indent or rewrite in place without losing which piece came from where.
//!
//! A text made by `include` is woven of pieces. A function that only cuts it or puts space between
//! its lines can say for every byte of the result which piece it belongs to; this is where that is
//! worked out, for all of them.

use std::ops::Range;

use crate::func::{Call, Fault};
use crate::trace::Piece;
use crate::value::{Kind, Text, Value};

/// The text at `index` reduced to `range`, which must lie within it.
pub(super) fn cut<'a>(call: &Call<'_, '_, 'a>, index: usize, range: Range<usize>) -> Value<'a> {
    let text = call.shared_text(index);
    let woven = pieces(call, index).map(|pieces| clip(pieces, &range));
    let value = match text {
        text if range == (0..text.len()) => Value::of(Kind::Text(text)),
        Text::Borrowed(bytes) => Value::borrowed(bytes.get(range).unwrap_or_default()),
        Text::Shared(bytes) => Value::text(bytes.get(range).unwrap_or_default()),
    };
    weave(call, value, index, woven)
}

/// The text at `index` with `width` spaces before every line, and before all of it `lead`.
pub(super) fn indent<'a>(
    call: &Call<'_, '_, 'a>,
    index: usize,
    width: i64,
    lead: &[u8],
) -> Result<Value<'a>, Fault> {
    let Ok(width) = usize::try_from(width) else {
        return Err("strings: negative Repeat count".into());
    };
    let text = call.text(index);
    let breaks = memchr::memchr_iter(b'\n', text).count();
    call.cx().charge((breaks + 1).saturating_mul(width))?;
    let mut out = Vec::with_capacity(lead.len() + text.len() + (breaks + 1) * width);
    out.extend_from_slice(lead);
    out.resize(out.len() + width, b' ');
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\n', rest) {
        out.extend_from_slice(&rest[..=at]);
        out.resize(out.len() + width, b' ');
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    let woven = pieces(call, index).map(|mut pieces| {
        let mut start = 0;
        for piece in &mut pieces {
            let end = start + piece.len;
            // The space after a line break belongs to whatever broke the line.
            piece.len += width
                * memchr::memchr_iter(b'\n', text.get(start..end).unwrap_or_default()).count();
            start = end;
        }
        let head = Piece {
            len: lead.len() + width,
            mark: 0,
            under: 0,
            spot: call.frame.spot(),
            written: false,
        };
        pieces.insert(0, head);
        pieces
    });
    Ok(weave(call, Value::text(out), index, woven))
}

/// A text of as many bytes as the one at `index`, each in the place of the old one.
pub(super) fn rewritten<'a>(call: &Call<'_, '_, 'a>, index: usize, out: Vec<u8>) -> Value<'a> {
    let mut woven = pieces(call, index).filter(|_| out.len() == call.text(index).len());
    woven
        .iter_mut()
        .flatten()
        .for_each(|piece| piece.written = false);
    weave(call, Value::text(out), index, woven)
}

/// The text at `index` between two others.
pub(super) fn wrapped<'a>(
    call: &Call<'_, '_, 'a>,
    index: usize,
    out: Vec<u8>,
    side: usize,
) -> Value<'a> {
    let woven = pieces(call, index)
        .filter(|_| out.len() == call.text(index).len() + 2 * side)
        .map(|mut pieces| {
            let edge = Piece {
                len: side,
                mark: 0,
                under: 0,
                spot: call.frame.spot(),
                written: false,
            };
            pieces.iter_mut().for_each(|piece| piece.written = false);
            pieces.insert(0, edge);
            pieces.push(edge);
            pieces
        });
    weave(call, Value::text(out), index, woven)
}

/// The pieces of a woven argument.
fn pieces<'a>(call: &Call<'_, '_, 'a>, index: usize) -> Option<Vec<Piece<'a>>> {
    let mark = call.args.get(index)?.mark;
    let tracer = call.cx().tracer()?;
    tracer
        .is_woven(mark)
        .then(|| tracer.pieces(mark, call.text(index).len(), call.frame.spot()))
}

fn clip<'a>(mut pieces: Vec<Piece<'a>>, range: &Range<usize>) -> Vec<Piece<'a>> {
    let mut start = 0;
    for piece in &mut pieces {
        let end = start + piece.len;
        // Pieces that are cut away stay with no length: what they read still had a say in the text.
        let len = end.min(range.end).saturating_sub(start.max(range.start));
        piece.written &= len == piece.len;
        piece.len = len;
        start = end;
    }
    pieces
}

/// The value with its pieces; what the other arguments depend on, each piece does.
fn weave<'a>(
    call: &Call<'_, '_, 'a>,
    value: Value<'a>,
    index: usize,
    pieces: Option<Vec<Piece<'a>>>,
) -> Value<'a> {
    let Some(mut pieces) = pieces else {
        return value;
    };
    for (other, argument) in call
        .args
        .iter()
        .enumerate()
        .filter(|(_, argument)| argument.mark != 0)
    {
        if other != index
            && let Some(mut tracer) = call.cx().tracer()
        {
            for piece in &mut pieces {
                piece.mark = tracer.join(piece.mark, argument.mark);
                piece.written = false;
            }
        }
    }
    let mark = call
        .cx()
        .tracer()
        .map_or(0, |mut tracer| tracer.weave(pieces));
    value.marked(mark)
}

/// A text of values, each where it says with its index, and of text of the author between them.
pub(super) fn put_together<'a>(
    call: &Call<'_, '_, 'a>,
    out: Vec<u8>,
    spots: Vec<(Range<usize>, usize)>,
    values: &[Value<'a>],
) -> Value<'a> {
    let mut weaver = Weaver::new(call);
    let mut start = 0;
    for (range, index) in spots {
        weaver.push(call, range.start - start, None);
        weaver.push(call, range.len(), values.get(index));
        start = range.end;
    }
    weaver.push(call, out.len() - start, None);
    weaver.weave(call, out)
}

/// The pieces of a text that is put together of arguments and of text between them, in a watched
/// run that guesses nothing.
pub(super) struct Weaver<'a>(Option<Vec<Piece<'a>>>);

impl<'a> Weaver<'a> {
    pub fn new(call: &Call<'_, '_, 'a>) -> Self {
        let weaves = call.cx().tracer().is_some_and(|tracer| !tracer.guesses());
        Weaver(weaves.then(Vec::new))
    }

    /// The next `len` bytes depend on a value; if they are its text, as its pieces do.
    pub fn push(&mut self, call: &Call<'_, '_, 'a>, len: usize, value: Option<&Value<'a>>) {
        let Some(pieces) = &mut self.0 else {
            return;
        };
        let spot = call.frame.spot();
        let mark = match value {
            Some(value) if matches!(value.kind, Kind::Text(_)) => value.mark,
            Some(value) => call.cx().deep_mark(value),
            None => 0,
        };
        if let Some(tracer) = call.cx().tracer() {
            let found = tracer.pieces(mark, len, spot);
            pieces.extend(found.into_iter().map(|piece| Piece {
                written: false,
                ..piece
            }));
        }
    }

    /// The next bytes are those of a part of an argument.
    pub fn push_part(&mut self, call: &Call<'_, '_, 'a>, value: &Value<'a>, range: Range<usize>) {
        let (Some(pieces), Kind::Text(text)) = (&mut self.0, &value.kind) else {
            return;
        };
        if let Some(tracer) = call.cx().tracer() {
            let found = clip(
                tracer.pieces(value.mark, text.len(), call.frame.spot()),
                &range,
            );
            pieces.extend(found.into_iter().map(|piece| Piece {
                written: false,
                ..piece
            }));
        }
    }

    /// The whole text; not woven if it says of too few or too many bytes what they depend on, or if
    /// Go's word for nothing was printed, which belongs to the whole.
    pub fn weave(self, call: &Call<'_, '_, 'a>, out: Vec<u8>) -> Value<'a> {
        let len = out.len();
        let value = Value::text(out);
        match (self.0, call.cx().tracer()) {
            (Some(pieces), Some(mut tracer))
                if pieces.iter().map(|piece| piece.len).sum::<usize>() == len
                    && pieces.iter().any(|piece| piece.mark != 0)
                    && !call.cx().has_nils() =>
            {
                value.marked(tracer.weave(pieces))
            }
            _ => value,
        }
    }
}
