//! The body of an answer: whole, in pieces that were there already, or a stream of events.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// What fills a body as it goes.
pub(crate) trait Source: Send {
    /// The next piece; none at the end.
    fn poll_piece(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

/// The body of an answer.
pub struct Body(Kind);

enum Kind {
    Pieces { pieces: VecDeque<Bytes>, left: u64 },
    Stream(Pin<Box<dyn Source>>),
}

impl Body {
    /// Nothing.
    pub fn empty() -> Self {
        Self::pieces(VecDeque::new())
    }

    /// One piece.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        Self::pieces(VecDeque::from([bytes.into()]))
    }

    /// Pieces that are there already, one after the other.
    pub fn pieces(pieces: VecDeque<Bytes>) -> Self {
        let left = pieces.iter().map(|piece| piece.len() as u64).sum();
        Self(Kind::Pieces { pieces, left })
    }

    pub(crate) fn stream(source: impl Source + 'static) -> Self {
        Self(Kind::Stream(Box::pin(source)))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.get_mut().0 {
            Kind::Pieces { pieces, left } => Poll::Ready(pieces.pop_front().map(|piece| {
                *left -= piece.len() as u64;
                Ok(Frame::data(piece))
            })),
            Kind::Stream(source) => source
                .as_mut()
                .poll_piece(cx)
                .map(|piece| piece.map(|piece| Ok(Frame::data(piece)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Kind::Pieces { pieces, .. } if pieces.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Pieces { left, .. } => SizeHint::with_exact(*left),
            Kind::Stream(_) => SizeHint::default(),
        }
    }
}
