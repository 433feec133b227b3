//! What the agent did to a host, step by step, written down before each step is done. Only an append-only file and the
//! files that were replaced are kept; what a step does is not known here.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use serde::{Deserialize, Serialize};

use crate::root::{Owner, Root};
use crate::step::{Before, Step};

/// The directory of the journal and of all else that the agent keeps.
pub const DIRECTORY: &str = "/var/lib/roost/agent";
/// The directory above it, which is removed if nothing else is in it.
const ABOVE: &str = "/var/lib/roost";
/// A journal that is being thrown away.
const GONE: &str = "/var/lib/roost/agent.gone";
/// The journal.
const FILE: &str = "/var/lib/roost/agent/journal";
/// Where replaced files lie.
const KEPT: &str = "/var/lib/roost/agent/kept";
/// A journal of a real host has a few hundred lines.
const LARGEST: u64 = 64 << 20;

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The disk failed, or is full.
    #[error("cannot use the journal {}", DIRECTORY)]
    File(#[from] io::Error),
    /// The journal was changed by someone else.
    #[error("the journal {FILE} is damaged in line {line}; this host cannot be put back by itself")]
    Damaged {
        /// The line.
        line: usize,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Begin {
        number: u64,
        step: Step,
        before: Before,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<String>,
    },
    Done {
        number: u64,
        added: Vec<String>,
    },
    Undone {
        number: u64,
    },
}

/// A step that was begun and not undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number, which also names what was kept for it.
    pub number: u64,
    /// The step.
    pub step: Step,
    /// What was before.
    pub before: Before,
    /// Whether it came to its end.
    pub done: bool,
    /// Packages that came with it.
    pub added: Vec<String>,
    /// The subject of what was asked for, where links led elsewhere.
    pub asked: Option<String>,
}

/// The journal.
#[derive(Debug)]
pub struct Journal {
    root: Root,
    entries: Vec<Entry>,
    next: u64,
}

impl Journal {
    /// Reads the journal of a host, if it has one.
    pub fn open(root: &Root) -> Result<Option<Self>, JournalError> {
        if root.exists(GONE) {
            root.remove_whole(GONE)?;
        }
        if !root.exists(DIRECTORY) {
            // A cut may have come between the two directories.
            if root.exists(ABOVE) {
                root.remove_empty(ABOVE)?;
            }
            return Ok(None);
        }
        let mut journal = Self { root: root.clone(), entries: Vec::new(), next: 0 };
        journal.read()?;
        Ok(Some(journal))
    }

    /// Reads the journal of a host, or begins one.
    pub fn open_or_begin(root: &Root) -> Result<Self, JournalError> {
        if let Some(journal) = Self::open(root)? {
            root.make_directory(KEPT)?;
            return Ok(journal);
        }
        root.make_directory(ABOVE)?;
        root.make_directory(DIRECTORY)?;
        root.set_mode_and_owner(DIRECTORY, 0o700, Owner::own())?;
        root.make_directory(KEPT)?;
        Ok(Self { root: root.clone(), entries: Vec::new(), next: 0 })
    }

    fn read(&mut self) -> Result<(), JournalError> {
        let path = self.root.at(FILE);
        let length = match std::fs::metadata(&path) {
            Ok(found) => found.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if length > LARGEST {
            return Err(JournalError::Damaged { line: 0 });
        }
        let bytes = std::fs::read(&path)?;
        // A line without its end was cut off while it was written; the step had not begun.
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        for (number, line) in bytes[..whole].split(|&byte| byte == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            let line = serde_json::from_slice(line).map_err(|_| JournalError::Damaged { line: number + 1 })?;
            self.take(line);
        }
        if whole < bytes.len() {
            self.root.change()?;
            let file = OpenOptions::new().write(true).open(&path)?;
            file.set_len(whole as u64)?;
            self.root.sync(&file)?;
        }
        Ok(())
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Begin { number, step, before, asked } => {
                self.next = self.next.max(number + 1);
                match self.entries.iter_mut().find(|entry| entry.number == number) {
                    Some(entry) => (entry.step, entry.done) = (step, false),
                    None => self.entries.push(Entry { number, step, before, done: false, added: Vec::new(), asked }),
                }
            }
            Line::Done { number, added } => {
                if let Some(entry) = self.entries.iter_mut().find(|entry| entry.number == number) {
                    entry.done = true;
                    entry.added.extend(added);
                }
            }
            Line::Undone { number } => self.entries.retain(|entry| entry.number != number),
        }
    }

    fn append(&mut self, line: Line) -> Result<(), JournalError> {
        let mut bytes = serde_json::to_vec(&line).map_err(io::Error::other)?;
        bytes.push(b'\n');
        let is_new = !self.root.exists(FILE);
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(self.root.at(FILE))?;
        if let Err(error) = self.root.change() {
            file.write_all(&bytes[..bytes.len() / 2])?;
            return Err(error.into());
        }
        file.write_all(&bytes)?;
        self.root.sync(&file)?;
        if is_new {
            self.root.sync_parent(FILE)?;
        }
        self.take(line);
        Ok(())
    }

    /// The steps that were begun and not undone, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The step that changed the same thing before.
    pub fn find(&self, step: &Step) -> Option<&Entry> {
        let subject = step.subject();
        self.entries.iter().find(|entry| entry.step.subject() == subject)
    }

    /// The step that was asked for in the same words before, wherever links led it then. They may lead elsewhere by now:
    /// that step may have replaced one of them.
    pub(crate) fn asked(&self, step: &Step) -> Option<&Step> {
        let subject = step.subject();
        self.entries.iter().find(|entry| entry.asked.as_ref() == Some(&subject)).map(|entry| &entry.step)
    }

    /// The number of the next new step.
    pub(crate) fn next_number(&self) -> u64 {
        self.next
    }

    /// Where the file that a step replaced lies.
    pub(crate) fn kept(number: u64) -> String {
        format!("{KEPT}/{number}")
    }

    /// Writes down that a step begins. After this, it can be undone.
    pub(crate) fn begin(
        &mut self,
        number: u64,
        step: Step,
        before: Before,
        asked: Option<String>,
    ) -> Result<(), JournalError> {
        self.append(Line::Begin { number, step, before, asked })
    }

    /// Writes down that a step came to its end.
    pub(crate) fn done(&mut self, number: u64, added: Vec<String>) -> Result<(), JournalError> {
        self.append(Line::Done { number, added })
    }

    /// Writes down that a step is undone, and forgets what was kept for it.
    pub(crate) fn undone(&mut self, number: u64) -> Result<(), JournalError> {
        self.append(Line::Undone { number })?;
        self.root.remove(&Self::kept(number))?;
        Ok(())
    }

    /// Throws the journal away, when nothing is left to undo.
    pub(crate) fn discard(self) -> Result<(), JournalError> {
        self.root.rename(DIRECTORY, GONE)?;
        self.root.remove_whole(GONE)?;
        self.root.remove_empty(ABOVE)?;
        Ok(())
    }
}
