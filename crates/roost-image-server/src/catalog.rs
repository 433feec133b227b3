//! The base images that there are: given as files, or fetched once and kept.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use roost_image::{BaseError, BaseImage, Source as _};
use tokio::task::JoinHandle;

use crate::base_file::BaseFile;
use crate::digest;
use crate::download::{self, DownloadError, DownloadSettings};
use crate::images::DiskImage;

/// After a failed download the next try waits so long, and twice as long each time up to the last.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// Where a base image comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file of this machine, served where it lies.
    File(PathBuf),
    /// An address. With a digest in it (`#sha256=<hex>`) nothing else is accepted.
    Url(String),
}

/// A base image, as an administrator names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OsImage {
    /// The version that environments ask for, like `4.18`.
    pub openshift_version: String,
    /// The version of the operating system itself.
    pub version: String,
    /// For which machines.
    pub architecture: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The image of a disk that hosts which boot it are installed with: a file of this machine.
    pub disk: Option<PathBuf>,
}

/// How far a base image is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing has come yet.
    Waiting,
    /// So many bytes have come, of so many where the server says it.
    Downloading {
        /// What has come.
        received: u64,
        /// All of it.
        total: Option<u64>,
    },
    /// It is served.
    Ready,
    /// It could not be had or used; a download is tried again by itself.
    Failed(String),
}

/// Why a base image cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The file cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is not an image that hosts can be booted from.
    #[error("{} is not a live image", path.display())]
    NotLive {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: BaseError,
    },
    /// It did not come.
    #[error(transparent)]
    Download(#[from] DownloadError),
}

/// A base image that is served.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) file: Arc<BaseFile>,
    pub(crate) image: BaseImage,
}

/// A disk image that is served.
struct Disk {
    file: Arc<BaseFile>,
    sha256: String,
}

struct Known {
    image: OsImage,
    progress: Progress,
    base: Option<Arc<Base>>,
    disk: Option<Result<Disk, Progress>>,
    task: Option<JoinHandle<()>>,
}

impl Drop for Known {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// All base images of a server.
pub struct Catalog {
    directory: PathBuf,
    settings: DownloadSettings,
    known: Arc<Mutex<HashMap<Key, Known>>>,
}

type Key = (String, String, String);

fn key(image: &OsImage) -> Key {
    (image.openshift_version.clone(), image.version.clone(), image.architecture.clone())
}

/// Why there is no base image for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Unknown,
    Unfinished(Progress),
}

impl Catalog {
    /// No images yet; what is fetched is kept in this directory.
    pub fn new(directory: PathBuf, settings: DownloadSettings) -> Self {
        Self { directory, settings, known: Arc::default() }
    }

    /// Makes these the base images. Those that are there already stay as they are; downloads go on in the background;
    /// those that are no longer wanted end for new requests, while those that are being sent are sent to their end.
    pub fn ensure(&self, wanted: Vec<OsImage>) {
        let mut known = self.known.lock();
        known.retain(|_, entry| wanted.contains(&entry.image));
        for image in wanted {
            let key = key(&image);
            if known.contains_key(&key) {
                continue;
            }
            let mut entry = Known { image, progress: Progress::Waiting, base: None, disk: None, task: None };
            if let Some(path) = entry.image.disk.clone() {
                entry.disk = Some(Err(Progress::Waiting));
                let (key, known) = (key.clone(), Arc::clone(&self.known));
                tokio::task::spawn_blocking(move || {
                    let read = read_disk(&path).map_err(|error| Progress::Failed(explained(&error)));
                    if let Some(entry) = known.lock().get_mut(&key) {
                        entry.disk = Some(read);
                    }
                });
            }
            match &entry.image.origin {
                Origin::File(path) => match open(path, None) {
                    Ok(base) => {
                        entry.base = Some(Arc::new(base));
                        entry.progress = Progress::Ready;
                    }
                    Err(error) => entry.progress = Progress::Failed(explained(&error)),
                },
                Origin::Url(url) => {
                    let fetch = Fetch {
                        url: url.clone(),
                        path: self.path(&entry.image),
                        settings: self.settings.clone(),
                        key: key.clone(),
                        known: Arc::clone(&self.known),
                    };
                    entry.task = Some(tokio::spawn(fetch.run()));
                }
            }
            known.insert(key, entry);
        }
    }

    /// Every base image and how far it is, by version.
    pub fn progress(&self) -> Vec<(OsImage, Progress)> {
        let known = self.known.lock();
        let mut all: Vec<_> = known.values().map(|entry| (entry.image.clone(), entry.progress.clone())).collect();
        all.sort_by_key(|(image, _)| key(image));
        all
    }

    /// The base image of a version: of the operating system's own, or else of the one that environments ask for.
    pub(crate) fn base(&self, version: &str, architecture: &str) -> Result<Arc<Base>, Missing> {
        let known = self.known.lock();
        let entry = find(&known, version, architecture).ok_or(Missing::Unknown)?;
        entry.base.clone().ok_or_else(|| Missing::Unfinished(entry.progress.clone()))
    }

    /// The disk image of a version, if it has one.
    pub(crate) fn disk(&self, version: &str, architecture: &str) -> Result<Option<DiskImage>, Missing> {
        let known = self.known.lock();
        match &find(&known, version, architecture).ok_or(Missing::Unknown)?.disk {
            None => Ok(None),
            Some(Ok(disk)) => Ok(Some(DiskImage { sha256: disk.sha256.clone(), length: disk.file.length() })),
            Some(Err(progress)) => Err(Missing::Unfinished(progress.clone())),
        }
    }

    /// The disk image with a digest.
    pub(crate) fn disk_by_digest(&self, sha256: &str) -> Option<Arc<BaseFile>> {
        let known = self.known.lock();
        let mut disks = known.values().filter_map(|entry| entry.disk.as_ref()?.as_ref().ok());
        disks.find(|disk| disk.sha256 == sha256).map(|disk| Arc::clone(&disk.file))
    }

    fn path(&self, image: &OsImage) -> PathBuf {
        let plain = |text: &str| -> String {
            let letter =
                |letter: char| if letter.is_ascii_alphanumeric() || ".-_".contains(letter) { letter } else { '_' };
            text.chars().map(letter).collect()
        };
        self.directory.join(format!("live-{}-{}.iso", plain(&image.version), plain(&image.architecture)))
    }
}

fn find<'a>(known: &'a HashMap<Key, Known>, version: &str, architecture: &str) -> Option<&'a Known> {
    let of_architecture = || known.values().filter(|entry| entry.image.architecture == architecture);
    of_architecture()
        .find(|entry| entry.image.version == version)
        .or_else(|| of_architecture().find(|entry| entry.image.openshift_version == version))
}

/// Opens a disk image and reads all of it once, for its digest.
fn read_disk(path: &Path) -> Result<Disk, CatalogError> {
    let failed = |source| CatalogError::Open { path: path.to_owned(), source };
    let sha256 = digest::of_file(path).map_err(failed)?;
    let file = BaseFile::open(path, Some(&sha256)).map_err(failed)?;
    Ok(Disk { file: Arc::new(file), sha256 })
}

/// One download, until it succeeds or is no longer wanted.
struct Fetch {
    url: String,
    path: PathBuf,
    settings: DownloadSettings,
    key: Key,
    known: Arc<Mutex<HashMap<Key, Known>>>,
}

impl Fetch {
    async fn run(self) {
        let mut wait = FIRST_WAIT;
        loop {
            match self.attempt().await {
                Ok(base) => {
                    tracing::info!(path = %self.path.display(), "a base image is ready");
                    self.update(|entry| {
                        entry.base = Some(Arc::new(base));
                        entry.progress = Progress::Ready;
                    });
                    return;
                }
                Err(error) => {
                    let words = explained(&error);
                    tracing::warn!(path = %self.path.display(), error = %words, "a base image could not be had");
                    self.update(|entry| entry.progress = Progress::Failed(words));
                }
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    async fn attempt(&self) -> Result<Base, CatalogError> {
        let report = |received, total| self.update(|entry| entry.progress = Progress::Downloading { received, total });
        let digest = download::fetch(&self.url, &self.path, &self.settings, &report).await?;
        let opened = open(&self.path, Some(&digest));
        if opened.is_err() {
            // It would be found again at the next try, and be no better then.
            download::forget(&self.path);
        }
        opened
    }

    fn update(&self, change: impl FnOnce(&mut Known)) {
        if let Some(entry) = self.known.lock().get_mut(&self.key) {
            change(entry);
        }
    }
}

fn open(path: &Path, digest: Option<&str>) -> Result<Base, CatalogError> {
    let file = BaseFile::open(path, digest).map_err(|source| CatalogError::Open { path: path.to_owned(), source })?;
    let image = BaseImage::read(&file).map_err(|source| CatalogError::NotLive { path: path.to_owned(), source })?;
    Ok(Base { file: Arc::new(file), image })
}

/// An error and its causes, in one line.
fn explained(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}
