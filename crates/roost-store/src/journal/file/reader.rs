//! Owns reading frames from a file, and telling a torn end from damage.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::header::{FILE_HEADER_BYTES, FORMAT_VERSION, FileHeader};
use crate::Revision;
use crate::journal::OpenError;
use crate::journal::frame::{FRAME_HEADER_BYTES, FRAME_MAX_BYTES, FrameHeader, find_frames};

/// Reading ahead so much makes loading one long sequential read.
const BUFFER_BYTES: usize = 1 << 20;

/// A file being read, frame by frame.
pub(super) struct FrameReader {
    input: BufReader<File>,
    pub(super) path: PathBuf,
    pub(super) header: FileHeader,
    length: u64,
    offset: u64,
    payload: Vec<u8>,
}

/// One valid frame.
pub(super) struct Frame<'a> {
    pub(super) header: FrameHeader,
    pub(super) payload: &'a [u8],
    /// Where the frame begins.
    pub(super) offset: u64,
}

/// What lies after the last valid frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// Nothing but space that was reserved.
    Clean,
    /// The remains of frames whose writing was cut short: nobody was told that they are durable.
    Torn,
    /// A later frame says that what is here was durable when it was written.
    Damaged { later_frame: u64 },
}

impl FrameReader {
    /// Opens a file and checks its header against what its name promises.
    pub(super) fn open(path: &Path, magic: [u8; 8], revision: u64) -> Result<Self, OpenError> {
        let file = File::open(path).map_err(OpenError::io("open", path))?;
        let length = file.metadata().map_err(OpenError::io("read", path))?.len();
        let mut input = BufReader::with_capacity(BUFFER_BYTES, file);
        let mut bytes = [0; FILE_HEADER_BYTES];
        if length < FILE_HEADER_BYTES as u64 {
            return Err(OpenError::damaged(path, length, "the file ends inside its header"));
        }
        input.read_exact(&mut bytes).map_err(OpenError::io("read", path))?;
        if bytes[..8] != magic {
            return Err(OpenError::damaged(path, 0, "the file does not begin as a file of the store does"));
        }
        let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        let header = FileHeader::decode(&bytes);
        // A newer version may lay out the rest of the header, its checksum included, in another way.
        if version > FORMAT_VERSION {
            return Err(OpenError::UnknownFormat { file: path.into(), found: version, known: FORMAT_VERSION });
        }
        let Some(header) = header.filter(|header| header.version == FORMAT_VERSION) else {
            return Err(OpenError::damaged(path, 0, "the checksum of the header does not fit"));
        };
        if header.revision != revision {
            let problem = format!("its name says revision {revision}, its header {}", header.revision);
            return Err(OpenError::damaged(path, 28, problem));
        }
        Ok(Self { input, path: path.into(), header, length, offset: FILE_HEADER_BYTES as u64, payload: Vec::new() })
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next frame; none when what is here is no valid frame.
    pub(super) fn next(&mut self) -> Result<Option<Frame<'_>>, OpenError> {
        let offset = self.offset;
        let header = self.read_frame().map_err(OpenError::io("read", &self.path))?;
        Ok(header.map(|header| Frame { header, payload: &self.payload, offset }))
    }

    fn read_frame(&mut self) -> io::Result<Option<FrameHeader>> {
        let rest = self.length - self.offset;
        if rest < FRAME_HEADER_BYTES as u64 {
            return Ok(None);
        }
        let mut bytes = [0; FRAME_HEADER_BYTES];
        self.input.read_exact(&mut bytes)?;
        let Some(header) = FrameHeader::decode(&bytes, self.header.salt) else { return Ok(None) };
        let length = header.length as usize;
        if length > FRAME_MAX_BYTES || length as u64 > rest - FRAME_HEADER_BYTES as u64 {
            return Ok(None);
        }
        self.payload.resize(length, 0);
        self.input.read_exact(&mut self.payload)?;
        if crc32c::crc32c_append(self.header.salt, &self.payload) != header.payload_checksum {
            return Ok(None);
        }
        self.offset += (FRAME_HEADER_BYTES + length) as u64;
        Ok(Some(header))
    }

    /// Looks at what follows after `next` found nothing where this revision belongs.
    pub(super) fn tail(&mut self, expected: Revision) -> Result<Tail, OpenError> {
        self.read_tail(expected).map_err(OpenError::io("read", &self.path))
    }

    fn read_tail(&mut self, expected: Revision) -> io::Result<Tail> {
        let mut clean = true;
        let mut window = Vec::new();
        let mut window_start = self.offset;
        self.input.seek(SeekFrom::Start(self.offset))?;
        loop {
            let kept = window.len();
            let read = self.input.by_ref().take(BUFFER_BYTES as u64).read_to_end(&mut window)?;
            if read == 0 {
                return Ok(if clean { Tail::Clean } else { Tail::Torn });
            }
            clean = clean && window[kept..].iter().all(|byte| *byte == 0);
            // The frame that begins right here is the one that was found invalid, by its payload if not by its header.
            let skip = usize::from(window_start == self.offset);
            let searched = if clean { &[] } else { &window[skip.min(window.len())..] };
            let later = find_frames(searched, self.header.salt).find(|(_, frame)| frame.durable() >= expected);
            if let Some((position, _)) = later {
                return Ok(Tail::Damaged { later_frame: window_start + (skip + position) as u64 });
            }
            // A header can lie across two windows.
            let consumed = window.len().saturating_sub(FRAME_HEADER_BYTES - 1);
            window.drain(..consumed);
            window_start += consumed as u64;
        }
    }
}
