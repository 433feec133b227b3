//! Connections that make pauses: whoever sends or fetches megabytes lets others in between.
//!
//! Decrypting what has arrived of a large body takes milliseconds. The runtime would do all of it in one go, while somebody's
//! small request waits for the same thread. So each stretch of bytes spends all that the runtime lets a task do at once: it
//! has to come again. The kernel is asked for nothing here: on a busy machine each pause would cost a turn of everybody
//! else, and a large list seconds. Whoever takes much makes room for others in [`crate::turns`].

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::coop;

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

    /// Counts what went, and ends the task's turn at the end of a stretch. To say once that nothing is ready would not do:
    /// whoever encrypts has a buffer, and would come again at once.
    fn count<T>(&mut self, context: &mut Context<'_>, outcome: &Poll<io::Result<T>>, bytes: impl FnOnce(&T) -> usize) {
        match outcome {
            Poll::Ready(Ok(went)) => self.left = self.left.saturating_sub(bytes(went)),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.left = STRETCH,
        }
        if self.left == 0 {
            self.left = STRETCH;
            spend_turn(context);
        }
    }
}

/// Uses up what the runtime lets the task do before others have their turn. Outside of tasks there is no limit to it.
fn spend_turn(context: &mut Context<'_>) {
    /// More than the runtime allows.
    const STEPS: usize = 1024;
    for _ in 0..STEPS {
        match coop::poll_proceed(context) {
            Poll::Ready(step) => step.made_progress(),
            Poll::Pending => return,
        }
    }
}

impl<Connection: AsyncRead + Unpin> AsyncRead for Paced<Connection> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.connection).poll_read(context, buffer);
        self.count(context, &outcome, |()| buffer.filled().len() - before);
        outcome
    }
}

impl<Connection: AsyncWrite + Unpin> AsyncWrite for Paced<Connection> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.connection).poll_write(context, bytes);
        self.count(context, &outcome, |bytes| *bytes);
        outcome
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.connection).poll_write_vectored(context, pieces);
        self.count(context, &outcome, |bytes| *bytes);
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
    use std::pin::pin;

    use tokio::io::{AsyncReadExt as _, duplex};

    use super::*;

    /// What goes through before the runtime asks for a pause, by somebody who tries again and again.
    fn in_one_turn(context: &mut Context<'_>, mut piece: impl FnMut(&mut Context<'_>) -> Poll<usize>) -> usize {
        let (mut all, mut refusals) = (0, 0);
        while refusals < 3 && all < 10 * STRETCH {
            match piece(context) {
                Poll::Ready(bytes) => all += bytes,
                Poll::Pending => refusals += 1,
            }
        }
        all
    }

    #[tokio::test]
    async fn a_turn_ends_with_a_stretch() {
        const PIECE: usize = 16 * 1024;
        let (near, mut far) = duplex(100 * STRETCH);
        let mut near = pin!(Paced::new(near));
        for _ in 0..3 {
            let written = std::future::poll_fn(|context| {
                Poll::Ready(in_one_turn(context, |context| {
                    near.as_mut().poll_write(context, &[7; PIECE]).map(Result::unwrap)
                }))
            });
            assert_eq!(written.await, STRETCH);
            tokio::task::yield_now().await;
        }
        let mut read = vec![0; 3 * STRETCH];
        far.read_exact(&mut read).await.unwrap();
        assert!(read.iter().all(|byte| *byte == 7));

        let (near, far) = duplex(100 * STRETCH);
        let mut near = pin!(near);
        for _ in 0..20 {
            tokio::io::AsyncWriteExt::write_all(&mut near, &vec![7; STRETCH]).await.unwrap();
        }
        let mut far = pin!(Paced::new(far));
        for _ in 0..3 {
            let read = std::future::poll_fn(|context| {
                Poll::Ready(in_one_turn(context, |context| {
                    let mut bytes = [0; PIECE];
                    let mut buffer = ReadBuf::new(&mut bytes);
                    far.as_mut().poll_read(context, &mut buffer).map(|outcome| {
                        outcome.unwrap();
                        buffer.filled().len()
                    })
                }))
            });
            assert_eq!(read.await, STRETCH);
            tokio::task::yield_now().await;
        }
    }
}
