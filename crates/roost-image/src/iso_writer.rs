//! Writing ISO 9660 with Rock Ridge names and El Torito, as a layout: what is large stays in its file.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::iso9660::SECTOR;
use crate::layout::{Layout, Segment};
use crate::tree::{Content, Directory, Firmware, Tree};

/// Descriptors begin behind the system area: primary, boot record, terminator.
const PRIMARY_SECTOR: u64 = 16;
const DESCRIPTORS: u64 = 3;
/// BIOS loads this many virtual sectors of 512 bytes, and what it loaded loads the rest.
const BIOS_SECTORS: u16 = 4;
/// ISO 9660 counts the length of a file in 32 bits.
const LARGEST_FILE: u64 = u32::MAX as u64;

/// Why a tree cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// What firmware shall start is not in the tree.
    #[error("{0:?} shall be started and is not in the tree")]
    NoBootFile(String),
    /// A name or label that cannot be written.
    #[error("{0:?} cannot be a name in an image")]
    Name(String),
    /// A file beyond what ISO 9660 can count.
    #[error("{0:?} is too large for an image")]
    TooLarge(String),
}

/// A written tree: its layout, and where each file begins.
#[derive(Clone, Debug)]
pub struct Written<F> {
    /// The image.
    pub layout: Layout<F>,
    /// The first byte of each file, by path.
    pub offsets: BTreeMap<String, u64>,
}

impl<F: Clone> Tree<F> {
    /// The image of this tree. The same tree makes the same bytes.
    pub fn write(&self) -> Result<Written<F>, WriteError> {
        self.check()?;
        let directories = self.directories();
        let names: Vec<Names> = directories.iter().map(|directory| Names::of(&directories, directory)).collect();
        let sizes: Vec<u64> = names.iter().enumerate().map(|(index, names)| names.size(index == 0)).collect();
        let plain = plain_names(&names);
        let path_table_size: u64 = plain.iter().map(|name| path_record_length(name)).sum();
        let path_table_sectors = path_table_size.div_ceil(SECTOR);

        let path_tables = PRIMARY_SECTOR + DESCRIPTORS;
        let catalog = path_tables + 2 * path_table_sectors;
        let mut sector = catalog + 1;
        let mut places = Vec::with_capacity(directories.len());
        for size in &sizes {
            places.push(Place { sector, length: *size });
            sector += size / SECTOR;
        }
        let mut files = BTreeMap::new();
        for (path, content) in &self.files {
            files.insert(path.as_str(), Place { sector, length: content.length() });
            sector += content.length().div_ceil(SECTOR);
        }

        let mut head = vec![0; (PRIMARY_SECTOR * SECTOR) as usize];
        let root = places[0];
        head.extend(self.primary(sector, root, path_table_size, path_tables, path_table_sectors));
        head.extend(boot_record(catalog));
        head.extend(descriptor(255));
        for big_endian in [false, true] {
            head.extend(path_table(&directories, &plain, &places, big_endian));
            pad(&mut head);
        }
        head.extend(self.catalog(&files)?);
        for (index, directory) in directories.iter().enumerate() {
            let parent = places[directory.parent];
            head.extend(names[index].records(index == 0, places[index], parent, &places, &files));
        }

        let mut layout = Layout::default();
        layout.push(Segment::Bytes(head.into()));
        for content in self.files.values() {
            let length = content.length();
            match content {
                Content::Bytes(bytes) => layout.push(Segment::Bytes(bytes.clone())),
                Content::Part(file, extent) => {
                    layout.push(Segment::File { file: file.clone(), offset: extent.offset, length });
                }
            }
            layout.push(Segment::Bytes(Bytes::from(vec![0; (length.next_multiple_of(SECTOR) - length) as usize])));
        }
        let offsets = files.iter().map(|(path, place)| ((*path).to_owned(), place.sector * SECTOR)).collect();
        Ok(Written { layout, offsets })
    }

    fn check(&self) -> Result<(), WriteError> {
        let printable = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if self.label.len() > 32 || !printable(&self.label) {
            return Err(WriteError::Name(self.label.clone()));
        }
        for (path, content) in &self.files {
            let plain = |name: &str| !name.is_empty() && name.len() <= 100 && printable(name);
            if !path.split('/').all(plain) {
                return Err(WriteError::Name(path.clone()));
            }
            if content.length() > LARGEST_FILE {
                return Err(WriteError::TooLarge(path.clone()));
            }
        }
        Ok(())
    }

    fn primary(&self, sectors: u64, root: Place, table_size: u64, tables: u64, table_sectors: u64) -> Vec<u8> {
        let mut bytes = descriptor(1);
        bytes[8..72].fill(b' ');
        bytes[40..40 + self.label.len()].copy_from_slice(self.label.as_bytes());
        put(&mut bytes, 80, &both_32(sectors));
        put(&mut bytes, 120, &both_16(1));
        put(&mut bytes, 124, &both_16(1));
        put(&mut bytes, 128, &both_16(SECTOR as u16));
        put(&mut bytes, 132, &both_32(table_size));
        put(&mut bytes, 140, &(tables as u32).to_le_bytes());
        put(&mut bytes, 148, &((tables + table_sectors) as u32).to_be_bytes());
        put(&mut bytes, 156, &record(&[0], root, true, &[]));
        bytes[190..813].fill(b' ');
        for date in [813, 830, 847, 864] {
            bytes[date..date + 16].fill(b'0');
        }
        bytes[881] = 1;
        bytes
    }

    /// The El Torito catalogue: a validation entry, the first image, and a section for each other.
    fn catalog(&self, files: &BTreeMap<&str, Place>) -> Result<Vec<u8>, WriteError> {
        let mut bytes = Vec::new();
        for (index, boot) in self.boot.iter().enumerate() {
            let place = files.get(boot.path.as_str()).ok_or_else(|| WriteError::NoBootFile(boot.path.clone()))?;
            let (platform, sectors) = match boot.firmware {
                Firmware::Bios => (0x00, BIOS_SECTORS),
                Firmware::Uefi => {
                    (0xef, u16::try_from(place.length.div_ceil(SECTOR) * (SECTOR / 512)).unwrap_or(u16::MAX))
                }
            };
            let mut header = [0; 32];
            if index == 0 {
                header[0] = 0x01;
                header[1] = platform;
                header[30..32].copy_from_slice(&[0x55, 0xaa]);
                let sum =
                    header.chunks(2).fold(0_u16, |sum, pair| sum.wrapping_add(u16::from_le_bytes([pair[0], pair[1]])));
                header[28..30].copy_from_slice(&0_u16.wrapping_sub(sum).to_le_bytes());
            } else {
                header[0] = if index + 1 == self.boot.len() { 0x91 } else { 0x90 };
                header[1] = platform;
                header[2] = 1;
            }
            let mut entry = [0; 32];
            entry[0] = 0x88;
            entry[6..8].copy_from_slice(&sectors.to_le_bytes());
            entry[8..12].copy_from_slice(&(place.sector as u32).to_le_bytes());
            bytes.extend(header);
            bytes.extend(entry);
        }
        bytes.resize(SECTOR as usize, 0);
        Ok(bytes)
    }
}

/// Where something lies, in sectors, and how many bytes it has.
#[derive(Clone, Copy)]
struct Place {
    sector: u64,
    length: u64,
}

enum Target {
    Directory(usize),
    File(String),
}

/// The entries of a directory by the plain name that they get, in the order that ISO 9660 wants.
struct Names(BTreeMap<String, (String, Target)>);

impl Names {
    fn of(all: &[Directory], directory: &Directory) -> Self {
        let mut names = BTreeMap::new();
        let mut add = |name: &str, target: Target, is_directory: bool| {
            let mut plain = short(name, is_directory, None);
            let mut number = 0;
            while names.contains_key(&plain) {
                plain = short(name, is_directory, Some(number));
                number += 1;
            }
            names.insert(plain, (name.to_owned(), target));
        };
        for index in &directory.directories {
            add(&all[*index].name, Target::Directory(*index), true);
        }
        for (name, path) in &directory.files {
            add(name, Target::File(path.clone()), false);
        }
        Self(names)
    }

    /// The plain names are stored without version, which comes here.
    fn lengths(&self, is_root: bool) -> Vec<usize> {
        let fields = |extra: Vec<u8>, identifier: usize| record_length(identifier, extra.len());
        let mut lengths = vec![fields(own_fields(is_root), 1), fields(permissions(true), 1)];
        lengths.extend(self.0.iter().map(|(plain, (name, target))| {
            let is_directory = matches!(target, Target::Directory(_));
            fields(named_fields(name, is_directory), identifier(plain, is_directory).len())
        }));
        lengths
    }

    /// How many bytes the directory has: whole sectors, and no record crosses one.
    fn size(&self, is_root: bool) -> u64 {
        let mut at = 0;
        for length in self.lengths(is_root) {
            at = begin_of_next(at, length) + length;
        }
        (at as u64).next_multiple_of(SECTOR)
    }

    fn records(
        &self,
        is_root: bool,
        own: Place,
        parent: Place,
        directories: &[Place],
        files: &BTreeMap<&str, Place>,
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut add = |record: Vec<u8>| {
            bytes.resize(begin_of_next(bytes.len(), record.len()), 0);
            bytes.extend(record);
        };
        add(record(&[0], own, true, &own_fields(is_root)));
        add(record(&[1], parent, true, &permissions(true)));
        for (plain, (name, target)) in &self.0 {
            let (place, is_directory) = match target {
                Target::Directory(index) => (directories[*index], true),
                Target::File(path) => (files[path.as_str()], false),
            };
            add(record(&identifier(plain, is_directory), place, is_directory, &named_fields(name, is_directory)));
        }
        pad(&mut bytes);
        bytes
    }
}

fn begin_of_next(at: usize, length: usize) -> usize {
    let sector = SECTOR as usize;
    if at % sector + length > sector { at.next_multiple_of(sector) } else { at }
}

fn identifier(plain: &str, is_directory: bool) -> Vec<u8> {
    if is_directory { plain.as_bytes().to_vec() } else { format!("{plain};1").into_bytes() }
}

/// A name of eight and three characters, with a number at its end when the first choice is taken.
fn short(name: &str, is_directory: bool, number: Option<usize>) -> String {
    let plain = |text: &str, most: usize| -> String {
        let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
        text.chars().take(most).map(letter).collect()
    };
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !is_directory => (stem, extension),
        _ => (name, ""),
    };
    let stem = match number {
        None => plain(stem, 8),
        Some(number) => format!("{}{number:03}", plain(stem, 5)),
    };
    if is_directory { stem } else { format!("{stem}.{}", plain(extension, 3)) }
}

/// One directory record.
fn record(identifier: &[u8], place: Place, is_directory: bool, system_use: &[u8]) -> Vec<u8> {
    let length = record_length(identifier.len(), system_use.len());
    let mut bytes = vec![0; 33];
    bytes[0] = length as u8;
    put(&mut bytes, 2, &both_32(place.sector));
    put(&mut bytes, 10, &both_32(place.length));
    // The first day of 1980: the image does not depend on when it was made, and older firmware knows no earlier day.
    put(&mut bytes, 18, &[80, 1, 1, 0, 0, 0, 0]);
    bytes[25] = if is_directory { 2 } else { 0 };
    put(&mut bytes, 28, &both_16(1));
    bytes[32] = identifier.len() as u8;
    bytes.extend_from_slice(identifier);
    if identifier.len().is_multiple_of(2) {
        bytes.push(0);
    }
    bytes.extend_from_slice(system_use);
    bytes.resize(length, 0);
    bytes
}

fn record_length(identifier: usize, system_use: usize) -> usize {
    (33 + identifier + usize::from(identifier.is_multiple_of(2)) + system_use).next_multiple_of(2)
}

/// The system use fields of a directory's own entry; the root's say that Rock Ridge is spoken here.
fn own_fields(is_root: bool) -> Vec<u8> {
    let mut fields = Vec::new();
    if is_root {
        fields.extend([b'S', b'P', 7, 1, 0xbe, 0xef, 0]);
    }
    fields.extend(permissions(true));
    if is_root {
        fields.extend([b'E', b'R', 18, 1, 10, 0, 0, 1]);
        fields.extend(b"RRIP_1991A");
    }
    fields
}

fn permissions(is_directory: bool) -> Vec<u8> {
    let (mode, links) = if is_directory { (0o040_555, 2) } else { (0o100_444, 1) };
    let mut field = vec![b'P', b'X', 36, 1];
    for number in [mode, links, 0, 0] {
        field.extend(both_32(number));
    }
    field
}

fn named_fields(name: &str, is_directory: bool) -> Vec<u8> {
    let mut fields = permissions(is_directory);
    fields.extend([b'N', b'M', 5 + name.len() as u8, 1, 0]);
    fields.extend(name.as_bytes());
    fields
}

fn descriptor(kind: u8) -> Vec<u8> {
    let mut bytes = vec![0; SECTOR as usize];
    bytes[0] = kind;
    put(&mut bytes, 1, b"CD001\x01");
    bytes
}

fn boot_record(catalog: u64) -> Vec<u8> {
    let mut bytes = descriptor(0);
    put(&mut bytes, 7, b"EL TORITO SPECIFICATION");
    put(&mut bytes, 71, &(catalog as u32).to_le_bytes());
    bytes
}

/// The plain name of each directory; the root's is one byte of zero.
fn plain_names(names: &[Names]) -> Vec<String> {
    let mut plain = vec!["\0".to_owned(); names.len()];
    for (name, (_, target)) in names.iter().flat_map(|names| &names.0) {
        if let Target::Directory(index) = target {
            plain[*index].clone_from(name);
        }
    }
    plain
}

fn path_record_length(name: &str) -> u64 {
    (8 + name.len().next_multiple_of(2)) as u64
}

fn path_table(directories: &[Directory], plain: &[String], places: &[Place], big_endian: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for ((directory, name), place) in directories.iter().zip(plain).zip(places) {
        let (sector, parent) = (place.sector as u32, directory.parent as u16 + 1);
        bytes.extend([name.len() as u8, 0]);
        if big_endian {
            bytes.extend(sector.to_be_bytes());
            bytes.extend(parent.to_be_bytes());
        } else {
            bytes.extend(sector.to_le_bytes());
            bytes.extend(parent.to_le_bytes());
        }
        bytes.extend(name.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(2), 0);
    }
    bytes
}

fn both_16(number: u16) -> [u8; 4] {
    let mut bytes = [0; 4];
    bytes[..2].copy_from_slice(&number.to_le_bytes());
    bytes[2..].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn both_32(number: u64) -> [u8; 8] {
    let number = number as u32;
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&number.to_le_bytes());
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn put(bytes: &mut [u8], at: usize, part: &[u8]) {
    bytes[at..at + part.len()].copy_from_slice(part);
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(SECTOR as usize), 0);
}
