//! Subjects and alternative names.
//!
//! A subject is written in the fixed order and shape of the stock signers: all values of an attribute in one set, then
//! the common name. Attributes that are not listed here never get from a request into a certificate; one of them would
//! name a user's uid.

use std::fmt;
use std::net::IpAddr;

use x509_parser::extensions::GeneralName;
use x509_parser::x509::X509Name;

use crate::{Error, der};

/// The object identifier of a user's uid in a subject.
pub(crate) const UID: [u64; 7] = [1, 3, 6, 1, 4, 1, 57683];
const UID_LAST: u64 = 2;

const COMMON_NAME: u64 = 3;
const SERIAL_NUMBER: u64 = 5;
/// Country, organization, unit, locality, province, street and postal code, in the order in which they are written.
const LISTS: [u64; 7] = [6, 10, 11, 7, 8, 9, 17];
const ORGANIZATION_PLACE: usize = 1;
const UNIT_PLACE: usize = 2;

/// Most attributes of a subject and most alternative names that are read.
const MAX_ENTRIES: usize = 1000;

/// Whom a certificate is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The common name: a user's or server's name.
    pub common_name: String,
    lists: [Vec<String>; 7],
    serial_number: String,
    uids: Vec<String>,
}

impl Subject {
    /// A subject with a common name and organizations, which are the groups of a user.
    pub fn new(common_name: impl Into<String>, organizations: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut subject = Self { common_name: common_name.into(), ..Self::default() };
        subject.lists[ORGANIZATION_PLACE] = organizations.into_iter().map(Into::into).collect();
        subject
    }

    /// The same subject with organizational units.
    #[must_use]
    pub fn with_units(mut self, units: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.lists[UNIT_PLACE] = units.into_iter().map(Into::into).collect();
        self
    }

    /// Whether both name the same, in whatever order: certificates keep the values of an attribute sorted.
    pub fn is_same_as(&self, other: &Self) -> bool {
        let sorted = |subject: &Self| {
            let mut subject = subject.clone();
            subject.lists.iter_mut().chain([&mut subject.uids]).for_each(|list| list.sort());
            subject
        };
        sorted(self) == sorted(other)
    }

    /// The organizations: a user's groups.
    pub fn organizations(&self) -> &[String] {
        &self.lists[ORGANIZATION_PLACE]
    }

    pub(crate) fn uids(&self) -> &[String] {
        &self.uids
    }

    pub(crate) fn read(name: &X509Name<'_>) -> Result<Self, Error> {
        let mut subject = Self::default();
        for (count, attribute) in name.iter_attributes().enumerate() {
            if count >= MAX_ENTRIES {
                return Err(Error::Malformed { what: "subject", why: "too many attributes".into() });
            }
            let Some(numbers) = attribute.attr_type().iter() else {
                continue;
            };
            let numbers: Vec<u64> = numbers.collect();
            let text = || {
                let error = |_| Error::Malformed { what: "subject", why: "an attribute is no text".into() };
                attribute.as_str().map(str::to_owned).map_err(error)
            };
            match &*numbers {
                [2, 5, 4, COMMON_NAME] => subject.common_name = text()?,
                [2, 5, 4, SERIAL_NUMBER] => subject.serial_number = text()?,
                [2, 5, 4, last] => {
                    if let Some(place) = LISTS.iter().position(|number| number == last) {
                        subject.lists[place].push(text()?);
                    }
                }
                [prefix @ .., UID_LAST] if *prefix == UID => subject.uids.push(text()?),
                _ => {}
            }
        }
        Ok(subject)
    }

    pub(crate) fn to_der(&self) -> Vec<u8> {
        let attribute =
            |number: u64, value: &str| der::sequence(&[der::object_identifier(&[2, 5, 4, number]), der::text(value)]);
        let mut names = Vec::new();
        for (number, values) in LISTS.into_iter().zip(&self.lists) {
            if !values.is_empty() {
                names.push(der::set_of(values.iter().map(|value| attribute(number, value)).collect()));
            }
        }
        for (number, value) in [(COMMON_NAME, &self.common_name), (SERIAL_NUMBER, &self.serial_number)] {
            if !value.is_empty() {
                names.push(der::set_of(vec![attribute(number, value)]));
            }
        }
        der::sequence(&names)
    }
}

/// Another name of a certificate's subject.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AlternativeName {
    /// A host name, maybe with a leading `*.`.
    Dns(String),
    /// An address.
    Ip(IpAddr),
    /// A mail address.
    Email(String),
    /// A URI.
    Uri(String),
}

impl AlternativeName {
    /// Takes text that reads as an address for one, and any other for a host name.
    pub fn host(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Dns(text.to_owned()), Self::Ip)
    }

    pub(crate) fn read_all(names: &[GeneralName<'_>]) -> Result<Vec<Self>, Error> {
        let malformed = |why: &str| Error::Malformed { what: "subject alternative names", why: why.into() };
        if names.len() > MAX_ENTRIES {
            return Err(malformed("too many names"));
        }
        let mut read = Vec::with_capacity(names.len());
        for name in names {
            read.push(match name {
                GeneralName::DNSName(text) => Self::Dns((*text).to_owned()),
                GeneralName::RFC822Name(text) => Self::Email((*text).to_owned()),
                GeneralName::URI(text) => Self::Uri((*text).to_owned()),
                GeneralName::IPAddress(bytes) => {
                    if let Ok(four) = <[u8; 4]>::try_from(*bytes) {
                        Self::Ip(four.into())
                    } else if let Ok(sixteen) = <[u8; 16]>::try_from(*bytes) {
                        Self::Ip(sixteen.into())
                    } else {
                        return Err(malformed("an address has neither 4 nor 16 bytes"));
                    }
                }
                _ => continue,
            });
        }
        Ok(read)
    }

    /// The content of the extension. The kinds come in the order in which the stock signers write them.
    pub(crate) fn encode_all(names: &[Self]) -> Vec<u8> {
        let rank = |name: &&Self| match name {
            Self::Dns(_) => 0,
            Self::Email(_) => 1,
            Self::Ip(_) => 2,
            Self::Uri(_) => 3,
        };
        let mut sorted: Vec<&Self> = names.iter().collect();
        sorted.sort_by_key(rank);
        let encoded: Vec<Vec<u8>> = sorted
            .into_iter()
            .map(|name| match name {
                Self::Email(text) => der::implicit(1, text.as_bytes()),
                Self::Dns(text) => der::implicit(2, text.as_bytes()),
                Self::Uri(text) => der::implicit(6, text.as_bytes()),
                Self::Ip(IpAddr::V4(address)) => der::implicit(7, &address.octets()),
                Self::Ip(IpAddr::V6(address)) => der::implicit(7, &address.octets()),
            })
            .collect();
        der::sequence(&encoded)
    }

    /// The text of a name that must be plain ASCII, which everything but an address must.
    pub(crate) fn is_encodable(&self) -> bool {
        match self {
            Self::Dns(text) | Self::Email(text) | Self::Uri(text) => text.is_ascii() && !text.is_empty(),
            Self::Ip(_) => true,
        }
    }
}

impl fmt::Display for AlternativeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(text) | Self::Email(text) | Self::Uri(text) => f.write_str(text),
            Self::Ip(address) => fmt::Display::fmt(address, f),
        }
    }
}
