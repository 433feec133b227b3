//! Connections that make pauses: whoever sends or fetches megabytes lets others in between.
//!
//! Decrypting what has arrived of a large body takes milliseconds. The runtime would do all of it in one go, while somebody's
//! small request waits for the same thread. The kernel is asked for nothing here: on a busy machine each pause would cost a
//! turn of everybody else, and a large list seconds. Whoever takes much gives the processor away in [`crate::turns`].

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes between two pauses: a few hundredths of a millisecond.
const STRETCH: usize = 64 * 1024;

/// A connection whose bytes come and go in stretches.
#[derive(Debug)]
pub(crate) struct Paced<Connection> {
    connection: Connection,
    /// Bytes that may go in either direction before the next pause.
    left: usize,
}

impl<Connection> Paced<Connection> {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection, left: STRETCH }
    }

    /// Waits at the end of a stretch until others had their turn.
    fn pause(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.left > 0 {
            return Poll::Ready(());
        }
        self.left = STRETCH;
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Counts what went; a connection that has to wait makes its pause.
    fn count<T>(&mut self, outcome: &Poll<io::Result<T>>, bytes: impl FnOnce(&T) -> usize) {
        match outcome {
            Poll::Ready(Ok(went)) => self.left = self.left.saturating_sub(bytes(went)),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.left = STRETCH,
        }
    }
}

impl<Connection: AsyncRead + Unpin> AsyncRead for Paced<Connection> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.pause(context));
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.connection).poll_read(context, buffer);
        self.count(&outcome, |()| buffer.filled().len() - before);
        outcome
    }
}

impl<Connection: AsyncWrite + Unpin> AsyncWrite for Paced<Connection> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.pause(context));
        let outcome = Pin::new(&mut self.connection).poll_write(context, bytes);
        self.count(&outcome, |bytes| *bytes);
        outcome
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.pause(context));
        let outcome = Pin::new(&mut self.connection).poll_write_vectored(context, pieces);
        self.count(&outcome, |bytes| *bytes);
        outcome
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn others_have_their_turn_between_stretches() {
        let turns = std::sync::Arc::new(AtomicUsize::new(0));
        let counted = std::sync::Arc::clone(&turns);
        let other = tokio::spawn(async move {
            loop {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        let sent = vec![7; 10 * STRETCH];
        let (mut read, mut buffer) = (Paced::new(sent.as_slice()), [0; 4096]);
        for piece in sent.chunks(buffer.len()) {
            read.read_exact(&mut buffer[..piece.len()]).await.unwrap();
            assert_eq!(buffer[..piece.len()], *piece);
        }
        let of_reading = turns.load(Ordering::Relaxed);
        assert!(of_reading >= 9, "{of_reading} turns");

        let mut written = Paced::new(Vec::new());
        for stretch in sent.chunks(STRETCH) {
            written.write_all(stretch).await.unwrap();
        }
        assert_eq!(written.connection, sent);
        assert!(turns.load(Ordering::Relaxed) >= of_reading + 9);
        other.abort();
    }
}
