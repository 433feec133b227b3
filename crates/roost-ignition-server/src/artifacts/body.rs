//! A file on its way, piece by piece.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, SizeHint};
use tokio::fs::File;
use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep};

/// How much of a file is in memory at once.
const PIECE: usize = 128 << 10;
/// A kubelet over a slow line takes minutes; who needs longer holds the place of another.
const TIMEOUT: Duration = Duration::from_mins(30);

/// What is left of a file.
pub(crate) struct FileBody {
    file: File,
    left: u64,
    piece: BytesMut,
    deadline: Pin<Box<Sleep>>,
    /// Its place among those that fetch at the same time.
    _place: OwnedSemaphorePermit,
}

impl FileBody {
    pub(super) fn new(file: File, length: u64, place: OwnedSemaphorePermit) -> Self {
        Self { file, left: length, piece: BytesMut::new(), deadline: Box::pin(sleep(TIMEOUT)), _place: place }
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        if this.left == 0 {
            return Poll::Ready(None);
        }
        if this.deadline.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into())));
        }
        let length = PIECE.min(usize::try_from(this.left).unwrap_or(PIECE));
        this.piece.resize(length, 0);
        let mut buffer = ReadBuf::new(&mut this.piece);
        ready!(Pin::new(&mut this.file).poll_read(context, &mut buffer))?;
        let count = buffer.filled().len();
        if count == 0 {
            return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
        }
        this.left -= count as u64;
        Poll::Ready(Some(Ok(Frame::data(this.piece.split_to(count).freeze()))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
