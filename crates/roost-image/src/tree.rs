//! A tree of files to be written as an image, whose contents may lie in files that nobody copies.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::iso9660::Extent;

/// What a file of the tree holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<F> {
    /// These bytes.
    Bytes(Bytes),
    /// A part of a file.
    Part(F, Extent),
}

impl<F> Content<F> {
    /// How long it is.
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Part(_, extent) => extent.length,
        }
    }
}

/// Which firmware starts an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Firmware {
    /// The old one, which loads four sectors and runs them.
    Bios,
    /// UEFI, which reads the file as a FAT file system.
    Uefi,
}

/// A file that firmware starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boot {
    /// Which firmware.
    pub firmware: Firmware,
    /// The file in the tree.
    pub path: String,
}

/// The files of an image.
#[derive(Clone, Debug)]
pub struct Tree<F> {
    /// The volume's name, 32 characters at most.
    pub label: String,
    /// The files by path, without a leading slash.
    pub files: BTreeMap<String, Content<F>>,
    /// What firmware starts, the first one for those who look no further.
    pub boot: Vec<Boot>,
}

/// A directory of the tree; directories are known by their index.
#[derive(Default)]
pub(crate) struct Directory {
    pub(crate) parent: usize,
    pub(crate) name: String,
    pub(crate) directories: Vec<usize>,
    /// Name and path of each file.
    pub(crate) files: Vec<(String, String)>,
}

impl<F> Tree<F> {
    /// All directories, the root first, then level by level, as ISO 9660 numbers them.
    pub(crate) fn directories(&self) -> Vec<Directory> {
        let mut paths: BTreeSet<(usize, &str)> = BTreeSet::new();
        for path in self.files.keys() {
            paths.extend(path.match_indices('/').enumerate().map(|(depth, (end, _))| (depth + 1, &path[..end])));
        }
        let mut all = vec![Directory::default()];
        let mut known = BTreeMap::from([("", 0)]);
        for (_, path) in paths {
            let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
            let (parent, own) = (known[parent], all.len());
            known.insert(path, own);
            all.push(Directory { parent, name: name.to_owned(), ..Directory::default() });
            all[parent].directories.push(own);
        }
        for path in self.files.keys() {
            let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
            all[known[parent]].files.push((name.to_owned(), path.clone()));
        }
        all
    }
}
