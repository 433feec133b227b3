//! Bytes in and out. Without TLS the kernel sends file ranges itself; with it they pass through a small buffer.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use roost_image::Source as _;
use rustix::io::Errno;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;

use crate::base_file::BaseFile;
use crate::limits::Limits;

/// What the kernel sends before somebody else has its turn.
const TURN: u64 = 4 << 20;
/// What is read from a file at once for TLS.
const BLOCK: u64 = 256 << 10;
const READ_SIZE: usize = 4096;
/// How long, and how many reads, a client that was told no is heard out.
const GOODBYE: Duration = Duration::from_secs(1);
const MOST_IGNORED: usize = 64;

/// A connection.
pub(crate) enum Wire {
    Plain(Arc<TcpStream>),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Wire {
    /// Waits for bytes and puts them behind those that are there. Nothing came when the client has ended.
    pub(crate) async fn read(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        buffer.reserve(READ_SIZE);
        match self {
            Self::Plain(stream) => loop {
                stream.readable().await?;
                match stream.try_read_buf(buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    result => return result,
                }
            },
            Self::Tls(stream) => stream.read_buf(buffer).await,
        }
    }

    /// Sends bytes of memory.
    pub(crate) async fn write(&mut self, mut bytes: &[u8], limits: &Limits) -> io::Result<()> {
        match self {
            Self::Plain(stream) => {
                while !bytes.is_empty() {
                    timeout(limits.stalled, stream.writable()).await??;
                    match stream.try_write(bytes) {
                        Ok(written) => bytes = &bytes[written..],
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(())
            }
            Self::Tls(stream) => {
                while !bytes.is_empty() {
                    let written = timeout(limits.stalled, stream.write(bytes)).await??;
                    bytes = &bytes[written..];
                }
                Ok(())
            }
        }
    }

    /// Sends what may still lie here.
    pub(crate) async fn flush(&mut self, limits: &Limits) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(stream) => timeout(limits.stalled, stream.flush()).await?,
        }
    }

    /// Says goodbye, and hears the client out: a connection that ends with unread bytes takes the last answer with it.
    pub(crate) async fn close(&mut self) {
        let goodbye = async {
            match self {
                Self::Plain(stream) => {
                    if let Some(stream) = Arc::get_mut(stream) {
                        stream.shutdown().await?;
                    }
                }
                Self::Tls(stream) => stream.shutdown().await?,
            }
            let mut ignored = BytesMut::new();
            for _ in 0..MOST_IGNORED {
                ignored.clear();
                if self.read(&mut ignored).await? == 0 {
                    break;
                }
            }
            io::Result::Ok(())
        };
        let _ = timeout(GOODBYE, goodbye).await;
    }

    /// Sends a range of a file. Disks are waited for elsewhere, by at most so many at once as `readers` has places.
    pub(crate) async fn send(
        &mut self,
        file: &Arc<BaseFile>,
        mut offset: u64,
        length: u64,
        readers: &Semaphore,
        limits: &Limits,
    ) -> io::Result<()> {
        let end = offset + length;
        if let Self::Plain(stream) = self {
            while offset < end {
                timeout(limits.stalled, stream.writable()).await??;
                let _turn = readers.acquire().await.map_err(io::Error::other)?;
                let (stream, file) = (Arc::clone(stream), Arc::clone(file));
                let turn = (end - offset).min(TURN);
                offset += elsewhere(move || send_turn(&stream, &file, offset, turn)).await?;
            }
            return Ok(());
        }
        let mut block = vec![0; length.min(BLOCK) as usize];
        while offset < end {
            block.truncate((end - offset).min(BLOCK) as usize);
            // What lies in memory is taken at once; only a disk is waited for elsewhere.
            if !file.read_cached(offset, &mut block) {
                let _turn = readers.acquire().await.map_err(io::Error::other)?;
                let file = Arc::clone(file);
                block = elsewhere(move || file.read_at(offset, &mut block).map(|()| block)).await?;
            }
            self.write(&block, limits).await?;
            offset += block.len() as u64;
        }
        Ok(())
    }
}

/// Sends until the turn is over or the client takes no more, and says how much that was.
fn send_turn(stream: &TcpStream, file: &BaseFile, offset: u64, turn: u64) -> io::Result<u64> {
    let mut at = offset;
    while at < offset + turn {
        let rest = (offset + turn - at) as usize;
        let sent = stream.try_io(Interest::WRITABLE, || {
            let mut position = at;
            loop {
                match rustix::fs::sendfile(stream, file, Some(&mut position), rest) {
                    Err(Errno::INTR) => {}
                    result => return result.map_err(io::Error::from),
                }
            }
        });
        match sent {
            // The file was cut under us; the client must not take this for the end of the image.
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(sent) => at += sent as u64,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(at - offset)
}

async fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
