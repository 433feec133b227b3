//! Owns the reasons why a journal cannot be opened, each with what to do about it.

use std::io;
use std::path::PathBuf;

/// Why a store cannot be opened. Nothing was changed by trying.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process, or another handle in this one, has the store open. Stop it, or use another directory.
    #[error("the store in {} is in use by {holder}; stop that process or choose another directory", directory.display())]
    Locked {
        /// The directory of the store.
        directory: PathBuf,
        /// The process and since when it has the store open, as it wrote them down.
        holder: String,
    },
    /// A file is not what was written. Acknowledged writes would be lost by going on, so a person has to decide.
    #[error(
        "{} is damaged at byte {offset}: {problem}. Nothing was changed. Restore the directory from a backup, or check the \
         disk and copy the directory before trying anything else", file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where in the file.
        offset: u64,
        /// What was found and what was expected.
        problem: String,
    },
    /// A file was written by a newer version.
    #[error(
        "{} has format version {found}, this program reads up to version {known}; use the version that wrote it, or a newer \
         one", file.display()
    )]
    UnknownFormat {
        /// The file.
        file: PathBuf,
        /// The version it says.
        found: u32,
        /// The newest version that this program reads.
        known: u32,
    },
    /// The operating system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// A journal outside of this machine could not be read.
    #[error("{0}")]
    Remote(String),
}

impl OpenError {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    pub(crate) fn damaged(file: impl Into<PathBuf>, offset: u64, problem: impl Into<String>) -> Self {
        Self::Damaged { file: file.into(), offset, problem: problem.into() }
    }
}
