//! Bringing intents onto a host, one after the other. It can be cut off anywhere and begun again.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::digest;
use crate::host::{Host, StepError};
use crate::intent::{Contents, Intent};
use crate::journal::Journal;
use crate::root::Owner;
use crate::step::{Before, Step};
use crate::system::System;

/// Gets contents that are not in the payload: a path of a file that holds them, checked.
pub trait Fetch {
    /// Fetches an address and checks what came: with the hash, or else by whom the operating system trusts.
    fn fetch(&mut self, url: &str, verification: Option<&str>, compressed: bool) -> Result<PathBuf, FetchError>;
}

/// Why contents could not be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot fetch {url}: {reason}")]
pub struct FetchError {
    /// The address.
    pub url: String,
    /// Why.
    pub reason: String,
}

/// Why intents could not be brought onto a host. Trying again goes on where it ended.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A step failed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// Contents could not be had.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// Contents could not be read.
    #[error("cannot read what belongs into {path}")]
    Contents {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

/// Does all intents. Returns how many changed something.
pub fn apply<S: System>(
    host: &mut Host<S>,
    intents: &[Intent],
    fetch: &mut dyn Fetch,
    tell: &mut dyn FnMut(&Step),
) -> Result<usize, ApplyError> {
    let mut changed = 0;
    let mut reload = false;
    let mut restart = false;
    for intent in intents {
        let (intent, asked) = located(host, intent);
        let (intent, asked) = (&intent, Some(asked.as_str()));
        if reload && matches!(intent.step, Step::Enable { .. } | Step::Start { .. }) {
            host.system
                .reload_units()
                .map_err(|source| StepError::System { step: "read the units again".to_owned(), source })?;
            reload = false;
        }
        let did = match &intent.step {
            Step::File { .. } => apply_file(host, intent, asked, fetch)?,
            // A unit that runs already has read other files.
            Step::Start { unit } if restart => {
                let did = host.perform(&intent.step, asked, None)?;
                if !did {
                    let step = intent.step.to_string();
                    host.system.restart(unit).map_err(|source| StepError::System { step, source })?;
                }
                true
            }
            step => {
                if let Step::Directory { path, .. } | Step::Link { path, .. } = step {
                    make_parents(host, path)?;
                }
                host.perform(step, asked, None)?
            }
        };
        if did {
            changed += 1;
            if intent.step.is_change() {
                tell(&intent.step);
            }
            if let Step::File { path, .. } | Step::Link { path, .. } = &intent.step {
                reload |= path.starts_with("/etc/systemd/");
                restart = true;
            }
        }
    }
    Ok(changed)
}

/// The same intent at the real path of what it changes, and the subject that was asked for. An intent that was begun
/// before stays where it was then.
fn located<S: System>(host: &Host<S>, intent: &Intent) -> (Intent, String) {
    let mut intent = intent.clone();
    let asked = intent.step.subject();
    let appends = matches!(intent.contents, Contents::Appended(_));
    let earlier = host.journal.asked(&intent.step).and_then(Step::path).map(str::to_owned);
    if let Step::Claim { path }
    | Step::Keep { path }
    | Step::Directory { path, .. }
    | Step::File { path, .. }
    | Step::Link { path, .. } = &mut intent.step
    {
        *path = earlier.unwrap_or_else(|| host.root.real(path, appends));
    }
    (intent, asked)
}

fn apply_file<S: System>(
    host: &mut Host<S>,
    intent: &Intent,
    asked: Option<&str>,
    fetch: &mut dyn Fetch,
) -> Result<bool, ApplyError> {
    let Step::File { path, mode, owner, .. } = &intent.step else { return Ok(false) };
    let unreadable = |source| ApplyError::Contents { path: path.clone(), source };
    make_parents(host, path)?;
    let material = match &intent.contents {
        Contents::None => Material::Bytes(Cow::Borrowed(&[])),
        Contents::Bytes(bytes) => Material::Bytes(Cow::Borrowed(bytes)),
        Contents::Appended(bytes) => {
            let mut whole = earlier(host, &intent.step).map_err(unreadable)?;
            whole.extend(bytes);
            Material::Bytes(Cow::Owned(whole))
        }
        Contents::Fetched { url, verification, compressed } => {
            Material::File(fetch.fetch(url, verification.as_deref(), *compressed)?)
        }
        Contents::Local(file) => Material::File(file.clone()),
    };
    let digest = material.open().and_then(|mut contents| digest::of(&mut contents)).map_err(unreadable)?;
    let step = Step::File { path: path.clone(), digest, mode: *mode, owner: *owner };
    let mut contents = material.open().map_err(unreadable)?;
    Ok(host.perform(&step, asked, Some(&mut contents))?)
}

/// Contents that can be read twice: once for their digest, once to be written.
enum Material<'a> {
    Bytes(Cow<'a, [u8]>),
    File(PathBuf),
}

impl Material<'_> {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match self {
            Self::Bytes(bytes) => Box::new(bytes.as_ref()),
            Self::File(path) => Box::new(File::open(path)?),
        })
    }
}

/// What a file held before the agent changed it for the first time.
fn earlier<S: System>(host: &Host<S>, step: &Step) -> io::Result<Vec<u8>> {
    let path = match (host.journal.find(step), step) {
        (Some(entry), _) if entry.before == Before::Nothing => return Ok(Vec::new()),
        (Some(entry), _) => Journal::kept(entry.number),
        (None, Step::File { path, .. }) => path.clone(),
        (None, _) => return Ok(Vec::new()),
    };
    // A link that leads nowhere had no contents.
    if host.root.look(&path).is_some_and(|found| found.is_symlink()) {
        return Ok(Vec::new());
    }
    match std::fs::read(host.root.at(&path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other,
    }
}

/// Directories that a path needs and nobody named are steps of their own, so that they go away again.
fn make_parents<S: System>(host: &mut Host<S>, path: &str) -> Result<(), StepError> {
    let mut missing: Vec<String> = Path::new(path)
        .ancestors()
        .skip(1)
        .map(|above| above.to_string_lossy().into_owned())
        .take_while(|above| above != "/" && !above.is_empty() && !host.root.exists(above))
        .collect();
    missing.reverse();
    for path in missing {
        host.perform(&Step::Directory { path, mode: 0o755, owner: Owner::own() }, None, None)?;
    }
    Ok(())
}
