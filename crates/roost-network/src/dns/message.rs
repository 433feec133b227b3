//! Messages of DNS: a bounded reader of questions and answers, and a writer. RFC 1035, and the size of RFC 6891.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What every client takes over UDP.
pub const SMALLEST: usize = 512;
/// What we take and send over UDP at most, so that no packet is cut up on the way.
const LARGEST_DATAGRAM: u16 = 1232;
/// A message over TCP has its length in two bytes.
const LARGEST_MESSAGE: usize = u16::MAX as usize;
const HEADER: usize = 12;
/// A name is no longer than this, by the standard.
const LONGEST_NAME: usize = 255;
/// Names may point to earlier parts of a message; more often than this nobody does.
const MOST_JUMPS: usize = 32;
/// Records of an answer that are read.
const MOST_RECORDS: usize = 512;

/// Kinds of records.
pub mod kind {
    /// An address of IPv4.
    pub const A: u16 = 1;
    /// Who answers for a zone.
    pub const NS: u16 = 2;
    /// Another name.
    pub const CNAME: u16 = 5;
    /// What a zone is.
    pub const SOA: u16 = 6;
    /// The name of an address.
    pub const PTR: u16 = 12;
    /// Any text.
    pub const TXT: u16 = 16;
    /// An address of IPv6.
    pub const AAAA: u16 = 28;
    /// A host and port that serve.
    pub const SRV: u16 = 33;
    /// How large an answer may be.
    pub(super) const OPT: u16 = 41;
    /// The internet.
    pub(super) const IN: u16 = 1;
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// What the client knows it by.
    pub id: u16,
    /// The name without the last dot, in lower case; none where it has bytes that no host name has.
    pub name: Option<String>,
    /// The kind of records that is asked for.
    pub kind: u16,
    /// Whether it is about the internet.
    pub is_internet: bool,
    /// Whether it is a plain question, and neither an update nor a notification.
    pub is_plain: bool,
    wants_recursion: bool,
    question: Vec<u8>,
    /// How large a datagram the client takes, if it says so.
    size: Option<u16>,
}

impl Query {
    /// Reads a message; none where it is no question that could be answered at all.
    pub fn read(message: &[u8]) -> Option<Self> {
        let flags = number(message, 2)?;
        // One question; an answer is none.
        if flags & 0x8000 != 0 || number(message, 4)? != 1 {
            return None;
        }
        let (name, end) = name(message, HEADER)?;
        let question = message.get(HEADER..end + 4)?.to_vec();
        let mut query = Self {
            id: number(message, 0)?,
            name,
            kind: number(message, end)?,
            is_internet: number(message, end + 2)? == kind::IN,
            is_plain: flags & 0x7800 == 0,
            wants_recursion: flags & 0x0100 != 0,
            question,
            size: None,
        };
        let mut at = end + 4;
        let records = usize::from(number(message, 6)?) + usize::from(number(message, 8)?);
        let additional = usize::from(number(message, 10)?);
        for index in 0..(records + additional).min(MOST_RECORDS) {
            let Some((record, next)) = raw(message, at) else { break };
            if index >= records && record.kind == kind::OPT {
                query.size = Some(record.class);
            }
            at = next;
        }
        Some(query)
    }

    /// Whether a message answers this question under another id.
    pub fn is_answered_by(&self, message: &[u8], id: u16) -> bool {
        let question = message.get(HEADER..HEADER + self.question.len());
        number(message, 0) == Some(id)
            && number(message, 2).is_some_and(|flags| flags & 0x8000 != 0)
            && question.is_some_and(|question| question.eq_ignore_ascii_case(&self.question))
    }

    /// How large an answer by datagram may be.
    pub fn limit(&self) -> usize {
        self.size.map_or(SMALLEST, |size| usize::from(size.clamp(512, LARGEST_DATAGRAM)))
    }

    /// A question about another name, with an id of its own.
    pub fn about(name: &str, kind: u16, id: u16) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(HEADER + name.len() + 6);
        for word in [id, 0x0100, 1, 0, 0, 0] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(spelt(name)?);
        bytes.extend(kind.to_be_bytes());
        bytes.extend(kind::IN.to_be_bytes());
        Some(bytes)
    }
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// An address.
    Address(IpAddr),
    /// Another name.
    Alias(String),
    /// The name of an address.
    Pointer(String),
    /// Who answers for a zone.
    Server(String),
    /// A host and port that serve.
    Service {
        /// Its share of the clients.
        weight: u16,
        /// The port.
        port: u16,
        /// The host.
        target: String,
    },
    /// What a zone is.
    Authority {
        /// Who answers for it.
        server: String,
        /// Who is responsible, written as a name.
        responsible: String,
        /// Its version.
        serial: u32,
    },
    /// Any text.
    Text(String),
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Whose.
    pub name: String,
    /// For how many seconds it may be remembered.
    pub lifetime: u32,
    /// What it says.
    pub data: Data,
}

/// How a question was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With what there is, which may be nothing of this kind.
    Good,
    /// Something went wrong; another time it may not.
    Failed,
    /// There is no such name.
    NoName,
    /// Nobody answers that here.
    NotImplemented,
    /// Not for this client.
    Refused,
}

impl Outcome {
    fn code(self) -> u16 {
        match self {
            Self::Good => 0,
            Self::Failed => 2,
            Self::NoName => 3,
            Self::NotImplemented => 4,
            Self::Refused => 5,
        }
    }
}

/// Writes an answer of at most `limit` bytes. One that does not fit has as many records as do, and says so.
pub fn encode(query: &Query, outcome: Outcome, is_authority: bool, sections: [&[Record]; 3], limit: usize) -> Vec<u8> {
    let mut flags = 0x8080 | outcome.code();
    flags |= if is_authority { 0x0400 } else { 0 };
    flags |= if query.wants_recursion { 0x0100 } else { 0 };
    let mut bytes = Vec::with_capacity(SMALLEST);
    for word in [query.id, flags, 1, 0, 0, 0] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(&query.question);
    let size = query.size.map(|_| size_record());
    let limit = limit.min(LARGEST_MESSAGE).saturating_sub(size.map_or(0, |size| size.len()));
    let mut counts = [0_u16; 3];
    'all: for (section, count) in sections.iter().zip(&mut counts) {
        for record in *section {
            let before = bytes.len();
            if !write(&mut bytes, record, query) {
                bytes.truncate(before);
                continue;
            }
            if bytes.len() > limit {
                bytes.truncate(before);
                flags |= 0x0200;
                break 'all;
            }
            *count += 1;
        }
    }
    if let Some(size) = size {
        bytes.extend(size);
        counts[2] += 1;
    }
    bytes[2..4].copy_from_slice(&flags.to_be_bytes());
    for (index, count) in counts.iter().enumerate() {
        bytes[6 + 2 * index..8 + 2 * index].copy_from_slice(&count.to_be_bytes());
    }
    bytes
}

fn size_record() -> [u8; 11] {
    let mut record = [0; 11];
    record[1..3].copy_from_slice(&kind::OPT.to_be_bytes());
    record[3..5].copy_from_slice(&LARGEST_DATAGRAM.to_be_bytes());
    record
}

/// False where the record has a name that cannot be written.
fn write(bytes: &mut Vec<u8>, record: &Record, query: &Query) -> bool {
    if query.name.as_deref() == Some(record.name.as_str()) {
        // The question's own name, in the spelling of the client.
        bytes.extend([0xc0, 0x0c]);
    } else {
        let Some(name) = spelt(&record.name) else { return false };
        bytes.extend(name);
    }
    let Some((kind, data)) = data(&record.data) else { return false };
    bytes.extend(kind.to_be_bytes());
    bytes.extend(kind::IN.to_be_bytes());
    bytes.extend(record.lifetime.to_be_bytes());
    let Ok(length) = u16::try_from(data.len()) else { return false };
    bytes.extend(length.to_be_bytes());
    bytes.extend(data);
    true
}

fn data(data: &Data) -> Option<(u16, Vec<u8>)> {
    Some(match data {
        Data::Address(IpAddr::V4(address)) => (kind::A, address.octets().to_vec()),
        Data::Address(IpAddr::V6(address)) => (kind::AAAA, address.octets().to_vec()),
        Data::Alias(name) => (kind::CNAME, spelt(name)?),
        Data::Pointer(name) => (kind::PTR, spelt(name)?),
        Data::Server(name) => (kind::NS, spelt(name)?),
        Data::Service { weight, port, target } => {
            let mut bytes: Vec<u8> = [0, *weight, *port].iter().flat_map(|word| word.to_be_bytes()).collect();
            bytes.extend(spelt(target)?);
            (kind::SRV, bytes)
        }
        Data::Authority { server, responsible, serial } => {
            let mut bytes = spelt(server)?;
            bytes.extend(spelt(responsible)?);
            for word in [*serial, 7200, 1800, 86400, super::answer::LIFETIME] {
                bytes.extend(word.to_be_bytes());
            }
            (kind::SOA, bytes)
        }
        Data::Text(text) => {
            let mut bytes = vec![u8::try_from(text.len()).ok()?];
            bytes.extend(text.as_bytes());
            (kind::TXT, bytes)
        }
    })
}

/// A name as the wire has it; none where it is none.
fn spelt(name: &str) -> Option<Vec<u8>> {
    let name = name.trim_end_matches('.');
    let mut bytes = Vec::with_capacity(name.len() + 2);
    for label in name.split('.').filter(|_| !name.is_empty()) {
        let length = u8::try_from(label.len()).ok().filter(|length| (1..=63).contains(length))?;
        bytes.push(length);
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    (bytes.len() <= LONGEST_NAME).then_some(bytes)
}

/// What a resolver answered, as far as it goes on to clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// What it is the answer to.
    pub id: u16,
    /// Whether it was cut off, so that it has to be asked for over TCP.
    pub is_truncated: bool,
    /// Addresses and aliases; all else is left out.
    pub records: Vec<Record>,
    /// Whether the resolver found anything out, be it that there is no such name.
    pub is_good: bool,
}

impl Upstream {
    /// Reads an answer; none where it is none.
    pub fn read(message: &[u8]) -> Option<Self> {
        let flags = number(message, 2)?;
        if flags & 0x8000 == 0 {
            return None;
        }
        let mut at = HEADER;
        for _ in 0..number(message, 4)?.min(16) {
            at = name(message, at)?.1 + 4;
        }
        let mut records = Vec::new();
        for _ in 0..usize::from(number(message, 6)?).min(MOST_RECORDS) {
            let Some((found, next)) = raw(message, at) else { break };
            let record = || {
                let data = match found.kind {
                    kind::A => Data::Address(Ipv4Addr::from(<[u8; 4]>::try_from(found.data).ok()?).into()),
                    kind::AAAA => Data::Address(Ipv6Addr::from(<[u8; 16]>::try_from(found.data).ok()?).into()),
                    kind::CNAME => Data::Alias(name(message, next - found.data.len())?.0?),
                    _ => return None,
                };
                Some(Record { name: name(message, at)?.0?, lifetime: found.lifetime, data })
            };
            records.extend(record());
            at = next;
        }
        let is_good = matches!(flags & 0xf, 0 | 3);
        Some(Self { id: number(message, 0)?, is_truncated: flags & 0x0200 != 0, records, is_good })
    }
}

/// The same message with another id.
pub fn with_id(message: &[u8], id: u16) -> Vec<u8> {
    let mut bytes = message.to_vec();
    if let Some(start) = bytes.get_mut(..2) {
        start.copy_from_slice(&id.to_be_bytes());
    }
    bytes
}

struct Raw<'a> {
    kind: u16,
    class: u16,
    lifetime: u32,
    data: &'a [u8],
}

/// The record at a place, and the place after it.
fn raw(message: &[u8], at: usize) -> Option<(Raw<'_>, usize)> {
    let (_, end) = name(message, at)?;
    let length = usize::from(number(message, end + 8)?);
    let data = message.get(end + 10..end + 10 + length)?;
    let lifetime = u32::from(number(message, end + 4)?) << 16 | u32::from(number(message, end + 6)?);
    Some((Raw { kind: number(message, end)?, class: number(message, end + 2)?, lifetime, data }, end + 10 + length))
}

fn number(message: &[u8], at: usize) -> Option<u16> {
    let bytes = message.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes([bytes[0], bytes[1]]))
}

/// The name at a place in lower case, none of it where it is no host's, and the place after it.
fn name(message: &[u8], at: usize) -> Option<(Option<String>, usize)> {
    let (mut at, mut end) = (at, None);
    let mut text = String::new();
    let (mut is_plain, mut length) = (true, 0);
    for _ in 0..=MOST_JUMPS + LONGEST_NAME {
        let head = usize::from(*message.get(at)?);
        match head {
            0 => return Some((is_plain.then_some(text), end.unwrap_or(at + 1))),
            1..=63 => {
                let label = message.get(at + 1..at + 1 + head)?;
                length += head + 1;
                if length > LONGEST_NAME {
                    return None;
                }
                if !text.is_empty() {
                    text.push('.');
                }
                for byte in label {
                    is_plain &= byte.is_ascii_graphic() && *byte != b'.';
                    text.push(char::from(byte.to_ascii_lowercase()));
                }
                at += 1 + head;
            }
            192..=255 => {
                let target = (head & 0x3f) << 8 | usize::from(*message.get(at + 1)?);
                end = end.or(Some(at + 2));
                // Names only point backwards, so that none goes round in circles.
                if target >= at {
                    return None;
                }
                at = target;
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Data, Outcome, Query, Record, Upstream, encode, kind};

    fn question(name: &str, kind: u16) -> Query {
        Query::read(&Query::about(name, kind, 7).unwrap()).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let query = question("Web.Default.svc.cluster.local", kind::A);
        assert_eq!(query.name.as_deref(), Some("web.default.svc.cluster.local"));
        let records = [
            Record { name: "web.default.svc.cluster.local".into(), lifetime: 5, data: Data::Alias("a.b".into()) },
            Record { name: "a.b".into(), lifetime: 5, data: Data::Address("10.0.0.1".parse().unwrap()) },
            Record { name: "a.b".into(), lifetime: 5, data: Data::Address("fd00::1".parse().unwrap()) },
        ];
        let bytes = encode(&query, Outcome::Good, true, [&records, &[], &[]], 512);
        let read = Upstream::read(&bytes).unwrap();
        assert_eq!((read.id, read.is_truncated, read.is_good), (7, false, true));
        assert_eq!(read.records, records);
    }

    #[test]
    fn what_does_not_fit_is_said_to() {
        let query = question("a.b", kind::A);
        let record = |number: u8| Record {
            name: format!("{number}.{}", "x".repeat(60)),
            lifetime: 5,
            data: Data::Address([10, 0, 0, number].into()),
        };
        let records: Vec<Record> = (0..50).map(record).collect();
        let bytes = encode(&query, Outcome::Good, true, [&records, &[], &[]], query.limit());
        assert!(bytes.len() <= 512);
        let read = Upstream::read(&bytes).unwrap();
        assert!(read.is_truncated && !read.records.is_empty() && read.records.len() < 50);
    }

    #[test]
    fn clients_say_how_much_they_take() {
        let mut bytes = Query::about("a.b", kind::A, 1).unwrap();
        bytes[11] = 1;
        bytes.extend([0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0]);
        let query = Query::read(&bytes).unwrap();
        assert_eq!(query.limit(), 1232);
        let answer = encode(&query, Outcome::NoName, true, [&[], &[], &[]], query.limit());
        assert_eq!(answer[11], 1);
    }

    #[test]
    fn hostile_messages_are_no_questions() {
        let good = Query::about("a.b", kind::A, 1).unwrap();
        for length in 0..good.len() {
            assert_eq!(Query::read(&good[..length]), None, "{length}");
        }
        let mut circle = good.clone();
        circle[12..14].copy_from_slice(&[0xc0, 12]);
        assert_eq!(Query::read(&circle), None);
        let mut long = good[..12].to_vec();
        for _ in 0..10 {
            long.push(40);
            long.extend([b'a'; 40]);
        }
        long.extend([0, 0, 1, 0, 1]);
        assert_eq!(Query::read(&long), None);
        let mut odd = good.clone();
        odd[13] = b'.';
        assert_eq!(Query::read(&odd).unwrap().name, None);
        assert_eq!(Query::about(&"a".repeat(64), kind::A, 1), None);
    }
}
