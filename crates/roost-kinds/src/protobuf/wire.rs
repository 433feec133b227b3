//! Tags, numbers and lengths: what protobuf is made of below the meaning of its fields.

use super::ProtobufError;

const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const BYTES: u8 = 2;
const GROUP: u8 = 3;
const END_GROUP: u8 = 4;
const FIXED32: u8 = 5;

/// The payload of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    /// Something that no built-in kind has; it is passed over.
    Other(u8),
}

impl Payload<'_> {
    pub(super) fn wire(self) -> u8 {
        match self {
            Payload::Varint(_) => VARINT,
            Payload::Fixed64(_) => FIXED64,
            Payload::Bytes(_) => BYTES,
            Payload::Other(wire) => wire,
        }
    }
}

/// A message that is read field by field.
pub(super) struct Message<'a> {
    rest: &'a [u8],
    /// What it is called in complaints.
    name: &'static str,
}

impl<'a> Message<'a> {
    pub(super) fn new(bytes: &'a [u8], name: &'static str) -> Self {
        Self { rest: bytes, name }
    }

    /// The next field's number and payload.
    pub(super) fn field(&mut self) -> Result<Option<(u32, Payload<'a>)>, ProtobufError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let wire = (tag & 7) as u8;
        let number = (tag >> 3) as i32;
        if wire == END_GROUP {
            return Err(ProtobufError::EndOfGroup { message: self.name });
        }
        if number <= 0 {
            return Err(ProtobufError::Tag { message: self.name, number, wire: tag });
        }
        let payload = match wire {
            VARINT => Payload::Varint(self.varint()?),
            FIXED64 => Payload::Fixed64(u64::from_le_bytes(self.array()?)),
            BYTES => Payload::Bytes(self.bytes()?),
            GROUP => {
                self.skip_group()?;
                Payload::Other(wire)
            }
            FIXED32 => {
                self.array::<4>()?;
                Payload::Other(wire)
            }
            _ => return Err(ProtobufError::IllegalWire(wire)),
        };
        Ok(Some((number as u32, payload)))
    }

    /// Reads a number, such as one of a packed list.
    pub(super) fn varint(&mut self) -> Result<u64, ProtobufError> {
        let mut number = 0;
        for (index, &byte) in self.rest.iter().enumerate() {
            if index == 10 {
                return Err(ProtobufError::Overflow);
            }
            number |= u64::from(byte & 0x7f) << (7 * index as u32);
            if byte < 0x80 {
                self.rest = &self.rest[index + 1..];
                return Ok(number);
            }
        }
        Err(if self.rest.len() >= 10 { ProtobufError::Overflow } else { ProtobufError::End })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn array<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], ProtobufError> {
        let (bytes, rest) = self.rest.split_first_chunk::<LENGTH>().ok_or(ProtobufError::End)?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn bytes(&mut self) -> Result<&'a [u8], ProtobufError> {
        let length = usize::try_from(self.varint()?).map_err(|_| ProtobufError::End)?;
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(ProtobufError::End)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn skip_group(&mut self) -> Result<(), ProtobufError> {
        let mut depth = 1_usize;
        while depth > 0 {
            match (self.varint()? & 7) as u8 {
                VARINT => drop(self.varint()?),
                FIXED64 => drop(self.array::<8>()?),
                BYTES => drop(self.bytes()?),
                GROUP => depth += 1,
                END_GROUP => depth -= 1,
                FIXED32 => drop(self.array::<4>()?),
                wire => return Err(ProtobufError::IllegalWire(wire)),
            }
        }
        Ok(())
    }
}

fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn tag(out: &mut Vec<u8>, number: u32, wire: u8) {
    push_varint(out, u64::from(number) << 3 | u64::from(wire));
}

/// Writes a number field.
pub(super) fn varint(out: &mut Vec<u8>, number: u32, value: i64) {
    tag(out, number, VARINT);
    push_varint(out, value as u64);
}

/// Writes a floating-point field.
pub(super) fn double(out: &mut Vec<u8>, number: u32, value: f64) {
    tag(out, number, FIXED64);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Writes a field of bytes.
pub(super) fn bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    tag(out, number, BYTES);
    push_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Writes a field of bytes whose length is known only afterwards. One byte is set aside for the length; long payloads
/// move over to make room for the rest of it.
pub(super) fn nested(out: &mut Vec<u8>, number: u32, write: impl FnOnce(&mut Vec<u8>)) {
    tag(out, number, BYTES);
    let start = out.len();
    out.push(0);
    write(out);
    let length = out.len() - start - 1;
    if length < 0x80 {
        out[start] = length as u8;
        return;
    }
    let mut prefix = [0_u8; 10];
    let mut size = 0;
    let mut rest = length;
    while rest >= 0x80 {
        prefix[size] = rest as u8 | 0x80;
        rest >>= 7;
        size += 1;
    }
    prefix[size] = rest as u8;
    size += 1;
    let end = out.len();
    out.resize(end + size - 1, 0);
    out.copy_within(start + 1..end, start + size);
    out[start..start + size].copy_from_slice(&prefix[..size]);
}
