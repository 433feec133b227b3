//! What a config puts on a host, as its reader sees it: files, directories, links, units and users.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use serde_json::Value;

use crate::config::Config;
use crate::data_url::{self, DataUrlError};

/// Unpacked contents of one file; a kilobyte of gzip can claim to be a gigabyte.
const MAX_CONTENTS: usize = 64 << 20;

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

fn flag(value: &Value, name: &str) -> Option<bool> {
    value.get(name).and_then(Value::as_bool)
}

fn mode(value: &Value) -> Option<u32> {
    value.get("mode").and_then(Value::as_u64).and_then(|mode| u32::try_from(mode).ok())
}

/// Who owns a file: a number or a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner<'a> {
    /// The number.
    Id(u32),
    /// The name, to be looked up on the host.
    Name(&'a str),
}

fn owner<'a>(value: &'a Value, field: &str) -> Option<Owner<'a>> {
    let owner = value.get(field)?;
    match owner.get("id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok()) {
        Some(id) => Some(Owner::Id(id)),
        None => text(owner, "name").map(Owner::Name),
    }
}

macro_rules! node_accessors {
    () => {
        /// Where it lies.
        pub fn path(&self) -> &'a str {
            text(self.0, "path").unwrap_or_default()
        }

        /// Whether what lies there already is replaced.
        pub fn overwrite(&self) -> Option<bool> {
            flag(self.0, "overwrite")
        }

        /// The owning user; root when none is named.
        pub fn user(&self) -> Option<Owner<'a>> {
            owner(self.0, "user")
        }

        /// The owning group; root when none is named.
        pub fn group(&self) -> Option<Owner<'a>> {
            owner(self.0, "group")
        }
    };
}

/// A file.
#[derive(Clone, Copy)]
pub struct File<'a>(&'a Value);

impl<'a> File<'a> {
    node_accessors!();

    /// The mode; 0644 when none is given.
    pub fn mode(&self) -> Option<u32> {
        mode(self.0)
    }

    /// The URL of the contents, which may be a `data:` URL; none for a file that is only made sure of.
    pub fn source(&self) -> Option<&'a str> {
        self.0.get("contents").and_then(|contents| text(contents, "source"))
    }

    /// What the contents are checked with, as `sha256-…` or `sha512-…`.
    pub fn verification(&self) -> Option<&'a str> {
        self.0.get("contents")?.get("verification").and_then(|verification| text(verification, "hash"))
    }

    /// Whether the contents, as fetched, are compressed with gzip.
    pub fn is_compressed(&self) -> bool {
        self.0.get("contents").and_then(|contents| text(contents, "compression")) == Some("gzip")
    }

    /// The contents, where the config carries them; empty where it names none.
    pub fn contents(&self) -> Result<Vec<u8>, DataUrlError> {
        self.0.get("contents").map_or(Ok(Vec::new()), resource)
    }

    /// What is appended to the contents, piece by piece, where the config carries it.
    pub fn appended(&self) -> impl Iterator<Item = Result<Vec<u8>, DataUrlError>> + 'a {
        self.0.get("append").and_then(Value::as_array).into_iter().flatten().map(resource)
    }
}

/// The bytes of a resource that carries them itself.
fn resource(value: &Value) -> Result<Vec<u8>, DataUrlError> {
    let Some(source) = text(value, "source").filter(|source| !source.is_empty()) else { return Ok(Vec::new()) };
    let bytes = data_url::decode(source)?;
    if text(value, "compression") != Some("gzip") {
        return Ok(bytes);
    }
    let mut unpacked = Vec::new();
    let limit = MAX_CONTENTS as u64 + 1;
    MultiGzDecoder::new(bytes.as_slice())
        .take(limit)
        .read_to_end(&mut unpacked)
        .map_err(|_| DataUrlError::Compression)?;
    if unpacked.len() > MAX_CONTENTS { Err(DataUrlError::TooLarge { limit: MAX_CONTENTS }) } else { Ok(unpacked) }
}

/// A directory.
#[derive(Clone, Copy)]
pub struct Directory<'a>(&'a Value);

impl<'a> Directory<'a> {
    node_accessors!();

    /// The mode; 0755 when none is given.
    pub fn mode(&self) -> Option<u32> {
        mode(self.0)
    }
}

/// A symbolic or hard link.
#[derive(Clone, Copy)]
pub struct Link<'a>(&'a Value);

impl<'a> Link<'a> {
    node_accessors!();

    /// Where it points.
    pub fn target(&self) -> &'a str {
        text(self.0, "target").unwrap_or_default()
    }

    /// Whether it is a hard link.
    pub fn is_hard(&self) -> bool {
        flag(self.0, "hard").unwrap_or(false)
    }
}

/// A systemd unit.
#[derive(Clone, Copy)]
pub struct Unit<'a>(&'a Value);

impl<'a> Unit<'a> {
    /// The name, such as `kubelet.service`.
    pub fn name(&self) -> &'a str {
        text(self.0, "name").unwrap_or_default()
    }

    /// The unit file; none where the unit is the system's own.
    pub fn contents(&self) -> Option<&'a str> {
        text(self.0, "contents")
    }

    /// Whether it is enabled or disabled; neither when it says nothing.
    pub fn enabled(&self) -> Option<bool> {
        flag(self.0, "enabled")
    }

    /// Whether it is masked.
    pub fn is_masked(&self) -> bool {
        flag(self.0, "mask").unwrap_or(false)
    }

    /// Additions to the unit file.
    pub fn dropins(&self) -> impl Iterator<Item = Dropin<'a>> + 'a {
        self.0
            .get("dropins")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|value| Dropin { name: text(value, "name").unwrap_or_default(), contents: text(value, "contents") })
    }
}

/// An addition to a unit file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropin<'a> {
    /// The file's name, which ends with `.conf`.
    pub name: &'a str,
    /// The file's text.
    pub contents: Option<&'a str>,
}

/// A user and the keys that open its account.
#[derive(Clone, Copy)]
pub struct User<'a>(&'a Value);

impl<'a> User<'a> {
    /// The account's name.
    pub fn name(&self) -> &'a str {
        text(self.0, "name").unwrap_or_default()
    }

    /// The public keys.
    pub fn ssh_keys(&self) -> impl Iterator<Item = &'a str> + 'a {
        self.0.get("sshAuthorizedKeys").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// All fields, as the spec names them.
    pub fn fields(&self) -> &'a Value {
        self.0
    }
}

impl Config {
    fn items(&self, section: &str, list: &str) -> impl Iterator<Item = &Value> + '_ {
        self.section(section).and_then(|section| section.get(list)).and_then(Value::as_array).into_iter().flatten()
    }

    /// The files, in the order in which they are written.
    pub fn files(&self) -> impl Iterator<Item = File<'_>> + '_ {
        self.items("storage", "files").map(File)
    }

    /// The file at a path.
    pub fn file(&self, path: &str) -> Option<File<'_>> {
        self.files().find(|file| file.path() == path)
    }

    /// The directories.
    pub fn directories(&self) -> impl Iterator<Item = Directory<'_>> + '_ {
        self.items("storage", "directories").map(Directory)
    }

    /// The links.
    pub fn links(&self) -> impl Iterator<Item = Link<'_>> + '_ {
        self.items("storage", "links").map(Link)
    }

    /// The systemd units.
    pub fn units(&self) -> impl Iterator<Item = Unit<'_>> + '_ {
        self.items("systemd", "units").map(Unit)
    }

    /// A systemd unit by name.
    pub fn unit(&self, name: &str) -> Option<Unit<'_>> {
        self.units().find(|unit| unit.name() == name)
    }

    /// The users.
    pub fn users(&self) -> impl Iterator<Item = User<'_>> + '_ {
        self.items("passwd", "users").map(User)
    }

    /// Whether hosts need disks, filesystems or kernel arguments of this config, which only a first boot can give.
    pub fn needs_first_boot(&self) -> bool {
        ["disks", "filesystems", "luks", "raid"].iter().any(|list| self.items("storage", list).next().is_some())
            || self.section("kernelArguments").is_some()
    }
}
