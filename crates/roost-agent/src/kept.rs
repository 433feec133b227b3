//! What the agent keeps beside its journal: how the host joined, what it got, and large files by digest.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::path::PathBuf;

use roost_ignition::Config;
use serde::{Deserialize, Serialize};

use crate::apply::{Fetch, FetchError};
use crate::digest;
use crate::https::{self, Address, Request, Trust};
use crate::ignition_client::Target;
use crate::intent::JOINING;
use crate::journal::DIRECTORY;
use crate::root::{Owner, Root};
use crate::words;

/// The largest file that is fetched by digest; a kubelet has some ninety megabytes.
const LARGEST_ARTIFACT: u64 = 1 << 30;

/// How the host joins, so that it can go on after a power cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JoinRequest {
    /// Where the payload comes from.
    pub target: Target,
    /// The name that the node shall have.
    pub node_name: Option<String>,
    /// Checks that do not stop the join.
    pub waived: Vec<String>,
    /// Packages are installed by someone else.
    pub no_packages: bool,
    /// A kubelet of this host.
    pub kubelet: Option<PathBuf>,
}

/// A change of a node in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The hash of the configuration that it leads to.
    pub to: String,
    /// The number of the first step of the journal that belongs to it.
    pub first_step: u64,
    /// Why it was taken back, if it was.
    pub failed: Option<String>,
}

/// What is kept.
#[derive(Debug)]
pub struct Kept<'a> {
    root: &'a Root,
}

impl<'a> Kept<'a> {
    /// What is kept on a host.
    pub fn new(root: &'a Root) -> Self {
        Self { root }
    }

    fn path(name: &str) -> String {
        format!("{DIRECTORY}/{name}")
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.root.write(&Self::path(name), &mut &*bytes, 0o600, Owner::own())
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.root.at(&Self::path(name))).ok()
    }

    /// Keeps how the host joins, and that it has not come to an end.
    pub fn begin(&self, request: &JoinRequest, payload: &Config) -> io::Result<()> {
        self.write("request.json", &serde_json::to_vec(request).map_err(io::Error::other)?)?;
        self.write("payload.json", &payload.to_bytes())?;
        self.root.write(JOINING, &mut io::empty(), 0o600, Owner::own())
    }

    /// The join came to its end.
    pub fn end(&self) -> io::Result<()> {
        self.root.remove(JOINING)
    }

    /// Whether a join was cut off.
    pub fn is_joining(&self) -> bool {
        self.root.exists(JOINING)
    }

    /// Keeps what a node gets from now on.
    pub fn keep_payload(&self, payload: &Config) -> io::Result<()> {
        self.write("payload.json", &payload.to_bytes())
    }

    /// Keeps that a change has begun, or how it ended where that is not told yet.
    pub fn keep_change(&self, change: &Change) -> io::Result<()> {
        self.write("change.json", &serde_json::to_vec(change).map_err(io::Error::other)?)
    }

    /// A change that has not come to its end.
    pub fn change(&self) -> Option<Change> {
        serde_json::from_slice(&self.read("change.json")?).ok()
    }

    /// The change came to its end.
    pub fn end_change(&self) -> io::Result<()> {
        self.root.remove(&Self::path("change.json"))
    }

    /// How the host joined.
    pub fn request(&self) -> Option<JoinRequest> {
        serde_json::from_slice(&self.read("request.json")?).ok()
    }

    /// How long ago the host got it.
    pub fn payload_age(&self) -> Option<std::time::Duration> {
        fs::metadata(self.root.at(&Self::path("payload.json"))).ok()?.modified().ok()?.elapsed().ok()
    }

    /// What the host got.
    pub fn payload(&self) -> Option<Config> {
        Config::parse(&self.read("payload.json")?).ok()
    }
}

/// Fetches large files and keeps them by digest, so that going back needs no network.
#[derive(Debug)]
pub struct Artifacts<'a> {
    /// The host's files.
    pub root: &'a Root,
    /// Whom to trust where a digest is given.
    pub trust: Trust,
}

impl Artifacts<'_> {
    fn get(&self, url: &str, verification: Option<&str>, compressed: bool) -> Result<PathBuf, String> {
        let directory = self.root.at(&format!("{DIRECTORY}/artifacts"));
        fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
        let name = match verification {
            Some(verification) => verification.to_owned(),
            None => digest::of(&mut url.as_bytes()).map_err(|error| error.to_string())?,
        };
        if name.contains('/') {
            return Err(format!("{name:?} is no hash"));
        }
        let path = directory.join(&name);
        let raw = directory.join(format!("{name}.part"));
        if verification.is_some() && path.is_file() {
            return Ok(path);
        }
        let address = Address::parse(url).map_err(|error| error.to_string())?;
        let request = Request { method: "GET", address: &address, headers: &[], body: b"", largest: LARGEST_ARTIFACT };
        let trust = if verification.is_some() { &self.trust } else { &Trust::System };
        let mut file = fs::File::create(&raw).map_err(|error| error.to_string())?;
        let answer = https::send_into(&request, trust, None, &mut file).map_err(|error| words::with_causes(&error))?;
        if answer.status != 200 {
            return Err(format!("the server answered {}", answer.status));
        }
        let open = || fs::File::open(&raw).map_err(|error| error.to_string());
        if let Some(verification) = verification
            && !digest::matches(verification, &mut open()?).map_err(|error| error.to_string())?
        {
            return Err(format!("what came is not {verification}"));
        }
        let finish = || -> io::Result<()> {
            if compressed {
                let unpacked = directory.join(format!("{name}.unpacked"));
                let mut reader = flate2::read::MultiGzDecoder::new(fs::File::open(&raw)?).take(LARGEST_ARTIFACT);
                io::copy(&mut reader, &mut fs::File::create(&unpacked)?)?;
                fs::rename(&unpacked, &raw)?;
            }
            OpenOptions::new().append(true).open(&raw)?.sync_all()?;
            fs::rename(&raw, &path)
        };
        finish().map_err(|error| error.to_string())?;
        Ok(path)
    }
}

impl Fetch for Artifacts<'_> {
    fn fetch(&mut self, url: &str, verification: Option<&str>, compressed: bool) -> Result<PathBuf, FetchError> {
        self.get(url, verification, compressed).map_err(|reason| FetchError { url: url.to_owned(), reason })
    }
}
