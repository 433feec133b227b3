//! Where the bytes of a base image come from.

use std::io;

/// Something of a known length that can be read anywhere. Files are made one of these by those who may open files.
pub trait Source {
    /// How many bytes there are.
    fn length(&self) -> u64;

    /// Fills the buffer from this offset, or fails.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// A part of it, in memory; the caller bounds the length.
    fn part(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let end = offset.checked_add(length as u64).filter(|end| *end <= self.length());
        if end.is_none() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut buffer = vec![0; length];
        self.read_at(offset, &mut buffer)?;
        Ok(buffer)
    }
}

impl Source for [u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let part = start.checked_add(buffer.len()).and_then(|end| self.get(start..end));
        buffer.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn length(&self) -> u64 {
        (**self).length()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        (**self).read_at(offset, buffer)
    }
}
