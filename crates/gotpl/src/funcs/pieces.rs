//! Texts that functions cut, indent or rewrite in place without losing which piece came from where.
//!
//! A text made by `include` is woven of pieces. A function that only cuts it or puts space between its lines can say
//! for every byte of the result which piece it belongs to; this is where that is worked out, for all of them.

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
pub(super) fn indent<'a>(call: &Call<'_, '_, 'a>, index: usize, width: i64, lead: &[u8]) -> Result<Value<'a>, Fault> {
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
            piece.len += width * memchr::memchr_iter(b'\n', text.get(start..end).unwrap_or_default()).count();
            start = end;
        }
        let head = Piece { len: lead.len() + width, mark: 0, under: 0, spot: call.frame.spot() };
        pieces.insert(0, head);
        pieces
    });
    Ok(weave(call, Value::text(out), index, woven))
}

/// A text of as many bytes as the one at `index`, each in the place of the old one.
pub(super) fn rewritten<'a>(call: &Call<'_, '_, 'a>, index: usize, out: Vec<u8>) -> Value<'a> {
    let woven = pieces(call, index).filter(|_| out.len() == call.text(index).len());
    weave(call, Value::text(out), index, woven)
}

/// The text at `index` between two others.
pub(super) fn wrapped<'a>(call: &Call<'_, '_, 'a>, index: usize, out: Vec<u8>, side: usize) -> Value<'a> {
    let woven = pieces(call, index).filter(|_| out.len() == call.text(index).len() + 2 * side).map(|mut pieces| {
        let edge = Piece { len: side, mark: 0, under: 0, spot: call.frame.spot() };
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
    tracer.is_woven(mark).then(|| tracer.pieces(mark, call.text(index).len(), call.frame.spot()))
}

fn clip<'a>(mut pieces: Vec<Piece<'a>>, range: &Range<usize>) -> Vec<Piece<'a>> {
    let mut start = 0;
    for piece in &mut pieces {
        let end = start + piece.len;
        // Pieces that are cut away stay with no length: what they read still had a say in the text.
        piece.len = end.min(range.end).saturating_sub(start.max(range.start));
        start = end;
    }
    pieces
}

/// The value with its pieces; what the other arguments depend on, each piece does.
fn weave<'a>(call: &Call<'_, '_, 'a>, value: Value<'a>, index: usize, pieces: Option<Vec<Piece<'a>>>) -> Value<'a> {
    let Some(mut pieces) = pieces else {
        return value;
    };
    for (other, argument) in call.args.iter().enumerate().filter(|(_, argument)| argument.mark != 0) {
        if other != index
            && let Some(mut tracer) = call.cx().tracer()
        {
            for piece in &mut pieces {
                piece.mark = tracer.join(piece.mark, argument.mark);
            }
        }
    }
    let mark = call.cx().tracer().map_or(0, |mut tracer| tracer.weave(pieces));
    value.marked(mark)
}
