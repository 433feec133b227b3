//! Bodies of messages, read whole: with a limit, and in little more memory than what came of them.
//!
//! A piece of a body is a part of the buffer that the connection read it into, and keeps all of that buffer alive. Whoever
//! sends single bytes would have a server keep kilobytes for each, so no more than one piece is ever kept.

use std::pin::pin;

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt as _;

/// Why there is no whole body.
#[derive(Debug, thiserror::Error)]
pub enum ReadError<E: std::fmt::Display> {
    /// More came than is wanted.
    #[error("length limit exceeded")]
    TooLong,
    /// The rest did not come.
    #[error("{0}")]
    Broken(E),
}

/// What came of a body so far.
#[derive(Debug, Default)]
pub struct Whole {
    /// All of it, as long as it is one piece: most bodies come so, and are not copied.
    only: Bytes,
    /// All of it, once it is more.
    joined: Vec<u8>,
}

impl Whole {
    /// Adds what came next.
    pub fn push(&mut self, piece: Bytes) {
        if self.length() == 0 {
            self.only = piece;
        } else if !piece.is_empty() {
            self.joined.extend_from_slice(&std::mem::take(&mut self.only));
            self.joined.extend_from_slice(&piece);
        }
    }

    /// How much came.
    pub fn length(&self) -> usize {
        self.only.len() + self.joined.len()
    }

    /// All of it.
    pub fn into_bytes(self) -> Bytes {
        if self.joined.is_empty() { self.only } else { self.joined.into() }
    }
}

/// Reads a body that must not be longer than this.
pub async fn read<B>(body: B, longest: usize) -> Result<Bytes, ReadError<B::Error>>
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Display,
{
    let mut body = pin!(body);
    if body.size_hint().lower() > longest as u64 {
        return Err(ReadError::TooLong);
    }
    let mut whole = Whole::default();
    while let Some(frame) = body.frame().await {
        // Trailers are nothing.
        whole.push(frame.map_err(ReadError::Broken)?.into_data().unwrap_or_default());
        if whole.length() > longest {
            return Err(ReadError::TooLong);
        }
    }
    Ok(whole.into_bytes())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http_body::Frame;
    use http_body_util::{Full, StreamBody};

    use super::*;

    /// A buffer of a connection, which knows how many there are.
    struct Buffer(Arc<AtomicUsize>);

    impl Buffer {
        fn new(alive: &Arc<AtomicUsize>) -> Buffer {
            alive.fetch_add(1, Ordering::Relaxed);
            Buffer(Arc::clone(alive))
        }
    }

    impl AsRef<[u8]> for Buffer {
        fn as_ref(&self) -> &[u8] {
            b"x"
        }
    }

    impl Drop for Buffer {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn single_bytes_cost_no_more_than_a_small_multiple() {
        const LENGTH: usize = 3 * 1024 * 1024;
        let alive = Arc::default();
        let mut whole = Whole::default();
        for length in 1..=LENGTH {
            whole.push(Bytes::from_owner(Buffer::new(&alive)));
            assert_eq!(whole.length(), length);
            assert!(alive.load(Ordering::Relaxed) <= 1, "buffers are kept");
            assert!(whole.joined.capacity() <= 2 * length + 8);
        }
        assert!(whole.into_bytes() == vec![b'x'; LENGTH]);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn one_piece_is_not_copied() {
        let piece = Bytes::from(vec![b'x'; 1000]);
        let mut whole = Whole::default();
        for piece in [Bytes::new(), piece.clone(), Bytes::new()] {
            whole.push(piece);
        }
        assert_eq!(whole.into_bytes().as_ptr(), piece.as_ptr());
        assert!(Whole::default().into_bytes().is_empty());
    }

    fn in_pieces(pieces: &[&'static [u8]]) -> impl Body<Data = Bytes, Error = Infallible> {
        let frames: Vec<_> = pieces.iter().map(|piece| Ok(Frame::data(Bytes::from_static(piece)))).collect();
        StreamBody::new(futures::stream::iter(frames))
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_its_limit() {
        assert_eq!(read(in_pieces(&[b"ab", b"", b"c"]), 3).await.unwrap(), "abc");
        assert_eq!(read(in_pieces(&[]), 0).await.unwrap(), "");
        assert!(matches!(read(in_pieces(&[b"ab", b"c"]), 2).await, Err(ReadError::TooLong)));
        assert!(matches!(read(Full::new(Bytes::from("abc")), 2).await, Err(ReadError::TooLong)));
    }
}
