//! Two connections joined, one of them with TLS: bytes go both ways until one side ends.

use std::io;
use std::net::{Shutdown, TcpStream};

use rustix::event::{PollFd, PollFlags, poll};

use crate::https::{Tls, keep_alive};

/// What waits to be written to either side at most.
const CHUNK: usize = 16 * 1024;

/// Bytes on their way to one side.
#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    written: usize,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.written == self.bytes.len()
    }

    fn fill(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.written = 0;
    }

    /// Writes as much as the other side takes now.
    fn flush(&mut self, stream: &mut impl io::Write) -> io::Result<()> {
        while !self.is_empty() {
            match stream.write(&self.bytes[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// What a read brought: bytes, nothing yet, or the end.
fn read(stream: &mut impl io::Read, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match stream.read(buffer) {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        // Servers that end without a word are common.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Some(0)),
        Err(error) => Err(error),
    }
}

/// Copies both ways until either side ends.
pub(super) fn join(mut server: Tls, mut kubelet: &TcpStream) -> io::Result<()> {
    server.sock.set_nonblocking(true)?;
    kubelet.set_nonblocking(true)?;
    kubelet.set_nodelay(true)?;
    keep_alive(&server.sock)?;
    let (mut to_server, mut to_kubelet) = (Waiting::default(), Waiting::default());
    let mut buffer = [0; CHUNK];
    let (mut is_over, mut is_silent) = (false, false);
    loop {
        let mut is_moving = false;
        if !is_over && to_kubelet.is_empty() {
            match read(&mut server, &mut buffer)? {
                Some(0) => is_over = true,
                Some(count) => {
                    to_kubelet.fill(&buffer[..count]);
                    is_moving = true;
                }
                None => {}
            }
        }
        if !is_silent && to_server.is_empty() {
            match read(&mut kubelet, &mut buffer)? {
                Some(0) => is_silent = true,
                Some(count) => {
                    to_server.fill(&buffer[..count]);
                    is_moving = true;
                }
                None => {}
            }
        }
        to_kubelet.flush(&mut kubelet)?;
        to_server.flush(&mut server)?;
        while server.conn.wants_write() {
            match server.conn.write_tls(&mut server.sock) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let is_written = to_server.is_empty() && !server.conn.wants_write();
        if is_over && to_kubelet.is_empty() || is_silent && is_written {
            server.conn.send_close_notify();
            let _ = server.conn.write_tls(&mut server.sock);
            let _ = server.sock.shutdown(Shutdown::Both);
            return Ok(());
        }
        if !is_moving {
            wait(&server, kubelet, &to_server, &to_kubelet)?;
        }
    }
}

/// Waits until one of the sides can go on.
fn wait(server: &Tls, kubelet: &TcpStream, to_server: &Waiting, to_kubelet: &Waiting) -> io::Result<()> {
    let flags = |reads: bool, writes: bool| {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, reads);
        flags.set(PollFlags::OUT, writes);
        flags
    };
    let server_writes = server.conn.wants_write() || !to_server.is_empty();
    let mut sides = [
        PollFd::new(&server.sock, flags(to_kubelet.is_empty(), server_writes)),
        PollFd::new(kubelet, flags(to_server.is_empty(), !to_kubelet.is_empty())),
    ];
    match poll(&mut sides, None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
