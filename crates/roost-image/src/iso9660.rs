//! Reading ISO 9660: where a file of the image lies. Every number is an outsider's and is checked before it is used.

use std::io;

use crate::source::Source;

/// The size of a logical block; no CD has another.
pub const SECTOR: u64 = 2048;

/// The primary descriptor follows the system area of 16 sectors, and others follow it.
const FIRST_DESCRIPTOR: u64 = 16;
/// A real image has three or four descriptors.
const MOST_DESCRIPTORS: u64 = 64;
/// A directory of a boot image has a few dozen entries; a megabyte would hold ten thousand.
const LARGEST_DIRECTORY: u64 = 1 << 20;
/// ISO 9660 itself allows eight levels.
const DEEPEST_PATH: usize = 16;

const DIRECTORY_FLAG: u8 = 0x02;
const MORE_EXTENTS_FLAG: u8 = 0x80;

/// Why an image could not be read.
#[derive(Debug, thiserror::Error)]
pub enum IsoError {
    /// The bytes could not be had.
    #[error("the image cannot be read")]
    Read(#[from] io::Error),
    /// There is no ISO 9660 here.
    #[error("this is no ISO 9660 image")]
    NotIso,
    /// A directory points outside of the image or is not one.
    #[error("the directory of the image is broken at byte {0}")]
    Directory(u64),
    /// A path is deeper than any image has them.
    #[error("the path {0:?} is too deep")]
    TooDeep(String),
    /// A file is cut into several extents, which only files beyond 4 GiB need.
    #[error("{0:?} has several extents, which is not supported")]
    SeveralExtents(String),
    /// A file is larger than anybody expects of it.
    #[error("{path:?} has {length} bytes, more than {most}")]
    TooLarge {
        /// The file.
        path: String,
        /// Its size.
        length: u64,
        /// The most that is read.
        most: u64,
    },
}

/// A run of bytes of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first byte.
    pub offset: u64,
    /// How many.
    pub length: u64,
}

/// A file or directory of the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name: Rock Ridge's where there is one, else the plain one without version.
    pub name: String,
    /// The plain name, which is what short names are compared with.
    short: String,
    /// Where it lies.
    pub extent: Extent,
    /// Whether it is a directory.
    pub is_directory: bool,
    several_extents: bool,
}

impl Entry {
    /// Names are equal in any case, and those of eight and three characters are cut as `mkisofs` cuts them.
    fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
            || self.short.eq_ignore_ascii_case(name)
            || self.short.eq_ignore_ascii_case(&shortened(name))
    }
}

fn shortened(name: &str) -> String {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    let stem = cut(stem, 8);
    if extension.is_empty() { stem } else { format!("{stem}.{}", cut(extension, 3)) }
}

/// The volume that an image holds.
#[derive(Clone, Debug)]
pub struct Volume {
    label: String,
    root: Extent,
    boot_catalog: Option<u64>,
}

impl Volume {
    /// Reads the descriptors.
    pub fn open<S: Source + ?Sized>(image: &S) -> Result<Self, IsoError> {
        let mut primary = None;
        let mut boot_catalog = None;
        for sector in FIRST_DESCRIPTOR..FIRST_DESCRIPTOR + MOST_DESCRIPTORS {
            let Ok(bytes) = image.part(sector * SECTOR, SECTOR as usize) else { return Err(IsoError::NotIso) };
            if &bytes[1..6] != b"CD001" {
                return Err(IsoError::NotIso);
            }
            match bytes[0] {
                0 if bytes[7..].starts_with(b"EL TORITO SPECIFICATION") => {
                    boot_catalog = Some(u64::from(little_endian(&bytes, 71)) * SECTOR);
                }
                1 if primary.is_none() => primary = Some(bytes),
                255 => break,
                _ => {}
            }
        }
        let primary = primary.ok_or(IsoError::NotIso)?;
        let label = String::from_utf8_lossy(&primary[40..72]).trim_end_matches([' ', '\0']).to_owned();
        let root = extent(&primary[156..190]);
        Ok(Self { label, root, boot_catalog })
    }

    /// The volume's name.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Where the El Torito catalogue lies, if the image boots.
    pub fn boot_catalog(&self) -> Option<u64> {
        self.boot_catalog
    }

    /// What the root directory holds.
    pub fn root<S: Source + ?Sized>(&self, image: &S) -> Result<Vec<Entry>, IsoError> {
        entries(image, self.root)
    }

    /// What a directory holds.
    pub fn list<S: Source + ?Sized>(&self, image: &S, directory: &Entry) -> Result<Vec<Entry>, IsoError> {
        entries(image, directory.extent)
    }

    /// The entry of a path like `images/pxeboot/vmlinuz`.
    pub fn find<S: Source + ?Sized>(&self, image: &S, path: &str) -> Result<Option<Entry>, IsoError> {
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        if names.len() > DEEPEST_PATH {
            return Err(IsoError::TooDeep(path.to_owned()));
        }
        let mut directory = self.root;
        for (depth, name) in names.iter().enumerate() {
            let Some(entry) = entries(image, directory)?.into_iter().find(|entry| entry.is_called(name)) else {
                return Ok(None);
            };
            if depth + 1 == names.len() {
                return Ok(Some(entry));
            }
            if !entry.is_directory {
                return Ok(None);
            }
            directory = entry.extent;
        }
        Ok(None)
    }

    /// Where a file lies; nothing when there is none of this path.
    pub fn file<S: Source + ?Sized>(&self, image: &S, path: &str) -> Result<Option<Extent>, IsoError> {
        match self.find(image, path)? {
            Some(entry) if entry.several_extents => Err(IsoError::SeveralExtents(path.to_owned())),
            Some(entry) if !entry.is_directory => Ok(Some(entry.extent)),
            _ => Ok(None),
        }
    }

    /// A small file, in memory.
    pub fn read<S: Source + ?Sized>(&self, image: &S, path: &str, most: u64) -> Result<Option<Vec<u8>>, IsoError> {
        let Some(extent) = self.file(image, path)? else { return Ok(None) };
        if extent.length > most {
            return Err(IsoError::TooLarge { path: path.to_owned(), length: extent.length, most });
        }
        Ok(Some(image.part(extent.offset, extent.length as usize)?))
    }
}

fn little_endian(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

/// The extent of a directory record of at least 33 bytes.
fn extent(record: &[u8]) -> Extent {
    let attributes = u64::from(record[1]);
    Extent {
        offset: (u64::from(little_endian(record, 2)) + attributes) * SECTOR,
        length: u64::from(little_endian(record, 10)),
    }
}

fn entries<S: Source + ?Sized>(image: &S, directory: Extent) -> Result<Vec<Entry>, IsoError> {
    let broken = || IsoError::Directory(directory.offset);
    if directory.length > LARGEST_DIRECTORY {
        return Err(broken());
    }
    let bytes = image.part(directory.offset, directory.length as usize).map_err(|_| broken())?;
    let mut found = Vec::new();
    for sector in bytes.chunks(SECTOR as usize) {
        let mut rest = sector;
        // Records do not cross sectors; a length of zero ends one.
        while let Some(&length) = rest.first().filter(|length| **length != 0) {
            let record = rest.get(..usize::from(length)).filter(|record| record.len() > 33).ok_or_else(broken)?;
            rest = &rest[usize::from(length)..];
            let identifier = record.get(33..33 + usize::from(record[32])).ok_or_else(broken)?;
            if matches!(identifier, [] | [0 | 1]) {
                continue;
            }
            found.push(entry(image, record, identifier).ok_or_else(broken)?);
        }
    }
    Ok(found)
}

fn entry<S: Source + ?Sized>(image: &S, record: &[u8], identifier: &[u8]) -> Option<Entry> {
    let extent = extent(record);
    if extent.offset.checked_add(extent.length)? > image.length() {
        return None;
    }
    let text = String::from_utf8_lossy(identifier);
    let short = text.split(';').next().unwrap_or_default().trim_end_matches('.').to_owned();
    let system_use = 33 + identifier.len() + usize::from(identifier.len().is_multiple_of(2));
    let name = rock_ridge_name(record.get(system_use..).unwrap_or_default()).unwrap_or_else(|| short.clone());
    let is_directory = record[25] & DIRECTORY_FLAG != 0;
    Some(Entry { name, short, extent, is_directory, several_extents: record[25] & MORE_EXTENTS_FLAG != 0 })
}

/// The name that Rock Ridge gives, if all of it is in the record.
fn rock_ridge_name(mut fields: &[u8]) -> Option<String> {
    let mut name = Vec::new();
    while let [first, second, length, _version, ..] = *fields {
        let field = fields.get(..usize::from(length)).filter(|field| field.len() >= 4)?;
        fields = &fields[usize::from(length)..];
        if (first, second) == (b'N', b'M') {
            let flags = *field.get(4)?;
            name.extend_from_slice(&field[5..]);
            if flags & 1 == 0 {
                break;
            }
        }
    }
    if name.is_empty() { None } else { String::from_utf8(name).ok() }
}
