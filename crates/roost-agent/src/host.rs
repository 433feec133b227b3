//! Doing steps and undoing them, with the journal in between: observe, write down, do, write down.

use std::fs::Metadata;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;

use crate::journal::{Entry, Journal, JournalError};
use crate::root::{Owner, Root};
use crate::step::{Before, Step};
use crate::system::{System, SystemError};

/// Why a step could not be done or undone. Both can be tried again.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A file could not be changed.
    #[error("cannot {step}")]
    File {
        /// The step.
        step: String,
        /// What the system said.
        source: io::Error,
    },
    /// The host did not do what it was told.
    #[error("cannot {step}")]
    System {
        /// The step.
        step: String,
        /// What it said.
        source: SystemError,
    },
    /// Something is in the way that cannot be put aside.
    #[error("cannot {step}: a directory is there, or has to be")]
    InTheWay {
        /// The step.
        step: String,
    },
}

/// A host that is being changed.
#[derive(Debug)]
pub struct Host<S> {
    /// Its files.
    pub root: Root,
    /// All else.
    pub system: S,
    /// What was done to it.
    pub journal: Journal,
}

impl<S: System> Host<S> {
    /// Does a step and writes it down, with the subject that was asked for where that is another one. Says whether
    /// anything changed.
    pub fn perform(
        &mut self,
        step: &Step,
        asked: Option<&str>,
        contents: Option<&mut dyn Read>,
    ) -> Result<bool, StepError> {
        let known = self.journal.find(step).cloned();
        let is_directory = |step: &Step| matches!(step, Step::Directory { .. });
        // A file may become a link and the other way round; a directory has things in it.
        if known.as_ref().is_some_and(|entry| is_directory(&entry.step) != is_directory(step)) {
            return Err(StepError::InTheWay { step: step.to_string() });
        }
        let entry = match known {
            Some(entry) if entry.step == *step && entry.done && self.holds(step) => return Ok(false),
            Some(mut entry) => {
                if entry.step != *step {
                    self.journal.begin(entry.number, step.clone(), entry.before.clone(), None)?;
                    entry.done = false;
                }
                entry
            }
            None => {
                let number = self.journal.next_number();
                let before = self.observe(step, number)?;
                let asked = asked.map(str::to_owned);
                self.journal.begin(number, step.clone(), before.clone(), asked.clone())?;
                Entry { number, step: step.clone(), before, done: false, added: Vec::new(), asked }
            }
        };
        let added = self.act(step, &entry.before, contents)?;
        if !entry.done || !added.is_empty() {
            self.journal.done(entry.number, added)?;
        }
        Ok(true)
    }

    /// Whether a step that was done once still holds, so that nothing has to be done again.
    fn holds(&mut self, step: &Step) -> bool {
        match step {
            Step::Claim { .. } | Step::Keep { .. } | Step::Running { .. } | Step::Network | Step::Containers => true,
            Step::Packages { .. } | Step::Module { .. } | Step::Enable { .. } | Step::Setting { .. } => false,
            Step::Start { unit } => self.system.unit(unit).is_ok_and(|state| state.active),
            Step::Directory { path, .. } => self.root.look(path).is_some_and(|found| found.is_dir()),
            Step::Link { path, target, hard, .. } => {
                let leads = std::fs::read_link(self.root.at(path));
                *hard && self.root.exists(path) || leads.is_ok_and(|leads| leads.to_string_lossy() == *target)
            }
            Step::File { path, digest, mode, owner } => {
                let as_wanted =
                    |found: &Metadata| found.is_file() && found.mode() & 0o7777 == *mode && owner_of(found) == *owner;
                self.root.look(path).as_ref().is_some_and(as_wanted)
                    && std::fs::File::open(self.root.at(path))
                        .and_then(|mut file| crate::digest::of(&mut file))
                        .is_ok_and(|found| found == *digest)
            }
        }
    }

    fn observe(&mut self, step: &Step, number: u64) -> Result<Before, StepError> {
        let kept = Journal::kept(number);
        let file = |source| StepError::File { step: step.to_string(), source };
        let told = |source| StepError::System { step: step.to_string(), source };
        Ok(match step {
            Step::Claim { path } => {
                if self.root.exists(path) {
                    Before::Something
                } else {
                    Before::Nothing
                }
            }
            Step::Keep { path } if self.root.exists(path) => {
                self.root.keep_copy(path, &kept).map_err(file)?;
                Before::Kept
            }
            Step::Keep { .. } | Step::Containers => Before::Nothing,
            Step::Directory { path, .. } => match self.root.look(path) {
                None => Before::Nothing,
                Some(found) if found.is_dir() => {
                    Before::Directory { mode: found.mode() & 0o7777, owner: owner_of(&found) }
                }
                Some(_) => self.put_aside(path, &kept).map_err(file)?,
            },
            Step::File { path, .. } | Step::Link { path, .. } => match self.root.look(path) {
                None => Before::Nothing,
                Some(found) if found.is_dir() => return Err(StepError::InTheWay { step: step.to_string() }),
                Some(_) => self.put_aside(path, &kept).map_err(file)?,
            },
            Step::Packages { manager, .. } => {
                Before::Packages { installed: self.system.installed(*manager).map_err(told)? }
            }
            Step::Module { name } => Before::Module { present: self.system.has_module(name).map_err(told)? },
            Step::Setting { key, .. } => Before::Setting { value: self.system.setting(key).map_err(told)? },
            Step::Running { unit } | Step::Enable { unit, .. } | Step::Start { unit } => {
                let state = self.system.unit(unit).map_err(told)?;
                Before::Unit { enabled: state.enabled, active: state.active }
            }
            Step::Network => Before::Network(self.system.network().map_err(told)?),
        })
    }

    fn put_aside(&self, path: &str, kept: &str) -> io::Result<Before> {
        self.root.keep(path, kept)?;
        Ok(Before::Kept)
    }

    fn act(&mut self, step: &Step, before: &Before, contents: Option<&mut dyn Read>) -> Result<Vec<String>, StepError> {
        let file = |source| StepError::File { step: step.to_string(), source };
        let told = |source| StepError::System { step: step.to_string(), source };
        match step {
            Step::Claim { .. }
            | Step::Keep { .. }
            | Step::Running { .. }
            | Step::Network
            | Step::Containers
            | Step::Setting { value: None, .. } => {}
            Step::Directory { path, mode, owner } => {
                if *before == Before::Kept && !self.root.look(path).is_some_and(|found| found.is_dir()) {
                    self.root.remove(path).map_err(file)?;
                }
                self.root.make_directory(path).map_err(file)?;
                self.root.set_mode_and_owner(path, *mode, *owner).map_err(file)?;
            }
            Step::File { path, mode, owner, .. } => {
                let nothing: &mut dyn Read = &mut io::empty();
                self.root.write(path, contents.unwrap_or(nothing), *mode, *owner).map_err(file)?;
            }
            Step::Link { path, target, hard: false, owner } => self.root.link(path, target, *owner).map_err(file)?,
            Step::Link { path, target, hard: true, .. } => self.root.hard_link(path, target).map_err(file)?,
            Step::Packages { manager, names } => return self.install(step, before, *manager, names),
            Step::Module { name } => self.system.load_module(name).map_err(told)?,
            Step::Setting { key, value: Some(value) } => self.system.set_setting(key, value).map_err(told)?,
            Step::Enable { unit, enabled } => self.system.set_enabled(unit, *enabled).map_err(told)?,
            Step::Start { unit } => self.system.restart(unit).map_err(told)?,
        }
        Ok(Vec::new())
    }

    fn install(
        &mut self,
        step: &Step,
        before: &Before,
        manager: crate::software::Manager,
        names: &[String],
    ) -> Result<Vec<String>, StepError> {
        let told = |source| StepError::System { step: step.to_string(), source };
        let present = self.system.installed(manager).map_err(told)?;
        // A package that is there may be half configured; only a step that came to its end says that none is.
        let is_done = self.journal.find(step).is_some_and(|entry| entry.done);
        if !is_done || names.iter().any(|name| !present.contains(name)) {
            self.system.install(manager, names).map_err(told)?;
        }
        let installed = self.system.installed(manager).map_err(told)?;
        let Before::Packages { installed: earlier } = before else { return Ok(Vec::new()) };
        let known: &[String] = self.journal.find(step).map_or(&[], |entry| &entry.added);
        Ok(installed.into_iter().filter(|name| !earlier.contains(name) && !known.contains(name)).collect())
    }

    /// Undoes everything, the last step first, and throws the journal away. Says what could not be removed because
    /// somebody else put something into it.
    pub fn undo(mut self, tell: &mut dyn FnMut(&Step)) -> Result<Vec<String>, StepError> {
        let mut directories = Vec::new();
        while let Some(entry) = self.journal.entries().iter().max_by_key(|entry| entry.number).cloned() {
            tell(&entry.step);
            if let (Step::Directory { path, .. }, Before::Nothing) = (&entry.step, &entry.before) {
                directories.push(path.clone());
            }
            self.undo_one(&entry)?;
        }
        let remains = directories.into_iter().filter(|path| self.root.exists(path)).collect();
        self.system
            .reload_units()
            .map_err(|source| StepError::System { step: "read the units again".to_owned(), source })?;
        self.journal.discard()?;
        Ok(remains)
    }

    /// Undoes one step.
    pub fn undo_one(&mut self, entry: &Entry) -> Result<(), StepError> {
        let step = &entry.step;
        let file = |source| StepError::File { step: format!("undo: {step}"), source };
        let told = |source| StepError::System { step: format!("undo: {step}"), source };
        let kept = Journal::kept(entry.number);
        match (step, &entry.before) {
            (Step::Claim { path }, Before::Nothing) => {
                self.system.unmount_below(path).map_err(told)?;
                self.root.remove_whole(path).map_err(file)?;
            }
            (Step::Keep { path } | Step::File { path, .. } | Step::Link { path, .. }, Before::Nothing) => {
                self.root.remove_temporary(path).map_err(file)?;
                self.root.remove(path).map_err(file)?;
            }
            (Step::Keep { path } | Step::File { path, .. } | Step::Link { path, .. }, Before::Kept) => {
                self.root.restore(&kept, path).map_err(file)?;
            }
            (Step::Directory { path, .. }, Before::Nothing) => {
                self.root.remove_empty(path).map_err(file)?;
            }
            (Step::Directory { path, .. }, Before::Directory { mode, owner }) if self.root.exists(path) => {
                self.root.set_mode_and_owner(path, *mode, *owner).map_err(file)?;
            }
            (Step::Directory { path, .. }, Before::Kept) => {
                let is_directory = self.root.look(path).is_some_and(|found| found.is_dir());
                let is_free = !is_directory || self.root.remove_empty(path).map_err(file)?;
                if is_free {
                    self.root.restore(&kept, path).map_err(file)?;
                }
            }
            (Step::Packages { manager, .. }, Before::Packages { installed }) => {
                let now = self.system.installed(*manager).map_err(told)?;
                // A step that was cut off does not know what came with it; then all that is new counts.
                let ours = |name: &String| !installed.contains(name) && (!entry.done || entry.added.contains(name));
                let names: Vec<String> = now.into_iter().filter(ours).collect();
                if !names.is_empty() || !entry.done {
                    self.system.uninstall(*manager, &names).map_err(told)?;
                }
            }
            (Step::Module { name }, Before::Module { present: false }) => {
                self.system.unload_module(name).map_err(told)?;
            }
            (Step::Setting { key, .. }, Before::Setting { value: Some(value) }) => {
                self.system.set_setting(key, value).map_err(told)?;
            }
            (Step::Enable { unit, .. }, Before::Unit { enabled, .. }) => {
                self.system.set_enabled(unit, enabled.starts_with("enabled")).map_err(told)?;
            }
            (Step::Start { unit }, _) => self.system.stop(unit).map_err(told)?,
            (Step::Running { unit }, Before::Unit { active, .. }) => {
                self.system.reload_units().map_err(told)?;
                if *active {
                    self.system.start(unit).map_err(told)?;
                } else {
                    self.system.stop(unit).map_err(told)?;
                }
            }
            (Step::Network, Before::Network(before)) => self.system.restore_network(before).map_err(told)?,
            (Step::Containers, _) => self.system.end_containers().map_err(told)?,
            // The others changed nothing that has to be put back.
            _ => {}
        }
        self.journal.undone(entry.number)?;
        Ok(())
    }
}

/// The owner of what was looked at.
pub(crate) fn owner_of(found: &Metadata) -> Owner {
    Owner { user: found.uid(), group: found.gid() }
}
