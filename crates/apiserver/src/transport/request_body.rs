//! The bodies of requests: read whole, within a time, and all together within some memory, however
//! many connections there are.

use std::{pin::pin, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::handlers::status::ApiError;

/// The largest body that is read.
const LARGEST: usize = 3 << 20;

/// How much clients may ask of the server at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long the body of a request may take to come.
    pub body_time: Duration,
    /// The most bytes of bodies that are held at once, of all requests together.
    pub body_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_time: Duration::from_secs(60),
            body_bytes: 128 << 20,
        }
    }
}

/// The room that is left for bodies.
pub(crate) struct Bodies {
    time: Duration,
    room: Arc<Semaphore>,
}

/// A place in memory, which is free again once this is dropped.
pub(crate) type Place = Option<OwnedSemaphorePermit>;

impl Bodies {
    pub(crate) fn new(limits: Limits) -> Self {
        let bytes = limits.body_bytes.min(Semaphore::MAX_PERMITS);
        Self {
            time: limits.body_time,
            room: Arc::new(Semaphore::new(bytes)),
        }
    }

    /// The whole body, unless it is too large, too slow, or there is no room for it. The place is
    /// to be kept as long as the body.
    pub(crate) async fn read<B>(&self, body: B) -> Result<(Bytes, Place), ApiError>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let late = || {
            ApiError::other(
                408,
                "Timeout",
                "the body of the request did not come in time".to_owned(),
            )
        };
        timeout(self.time, self.collect(body))
            .await
            .map_err(|_| late())?
    }

    async fn collect<B>(&self, body: B) -> Result<(Bytes, Place), ApiError>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut body = pin!(body);
        let (mut place, mut first, mut all) = (Place::None, Bytes::new(), BytesMut::new());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                ApiError::bad_request(format!("cannot read the body: {}", error.into()))
            })?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            let size = first.len().max(all.len()) + data.len();
            if size > LARGEST {
                return Err(ApiError::too_large(LARGEST));
            }
            let more = u32::try_from(data.len()).unwrap_or(u32::MAX);
            let Ok(more) = self.room.clone().try_acquire_many_owned(more) else {
                let message =
                    "the server holds as many bytes of requests as it may, please try again later";
                return Err(ApiError::too_many(message));
            };
            match &mut place {
                Some(place) => place.merge(more),
                None => place = Some(more),
            }
            // Most bodies come in one piece, which need not be copied.
            if first.is_empty() {
                first = data;
            } else {
                if all.is_empty() {
                    all.extend_from_slice(&first);
                }
                all.extend_from_slice(&data);
            }
        }
        Ok((if all.is_empty() { first } else { all.freeze() }, place))
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{Full, StreamBody};

    use super::*;

    fn pieces(
        pieces: &[usize],
    ) -> impl http_body::Body<Data = Bytes, Error = std::convert::Infallible> + Send + use<> {
        let frames: Vec<_> = pieces
            .iter()
            .map(|size| Ok(http_body::Frame::data(vec![b'x'; *size].into())))
            .collect();
        StreamBody::new(futures::stream::iter(frames))
    }

    #[tokio::test]
    async fn bodies_have_room_until_there_is_none_and_leave_it_to_others() {
        let bodies = Bodies::new(Limits {
            body_bytes: 4 << 20,
            ..Limits::default()
        });
        for (sizes, wanted) in [
            (&[][..], Ok(0)),
            (&[5], Ok(5)),
            (&[0, 3, 4, 0, 5], Ok(12)),
            (&[LARGEST, 1], Err(413)),
            (&[LARGEST], Ok(LARGEST)),
        ] {
            let read = bodies
                .read(pieces(sizes))
                .await
                .map(|(bytes, _)| bytes.len())
                .map_err(|error| error.code);
            assert_eq!(read, wanted, "{sizes:?}");
        }
        let first = bodies.read(pieces(&[1 << 20, 2 << 20])).await.unwrap();
        let second = bodies.read(pieces(&[1 << 20])).await.unwrap();
        assert_eq!(bodies.read(pieces(&[1])).await.unwrap_err().code, 429);
        assert_eq!(
            bodies.read(Full::new(Bytes::new())).await.unwrap().0.len(),
            0
        );
        drop(first);
        assert!(bodies.read(pieces(&[1 << 20, 2 << 20])).await.is_ok());
        drop(second);
    }
}
