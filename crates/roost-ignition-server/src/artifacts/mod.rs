//! Large files that nodes fetch by digest: which there are, and how they are handed out.
//!
//! They need no token. What lies here is the same for everybody and part of public releases (kubelet, agent, container
//! runtime); it holds no credential, and who asks has to know its digest already. A token could not be asked for
//! either: a node that is changed in place has its certificate and no token any more, and Ignition fetches the files of
//! a configuration without the headers that it fetched the configuration with.

mod body;
mod range;
mod shelf;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use http::header::{
    ACCEPT_RANGES, ALLOW, CACHE_CONTROL, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_NONE_MATCH, IF_RANGE, RANGE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body_util::Either;
use tokio::io::AsyncSeekExt as _;
use tokio::sync::Semaphore;

use crate::answer::{self, Answer};
use range::{Part, part};

pub(crate) use body::FileBody;
pub use shelf::ArtifactsError;

/// Where they are asked for; the digest follows.
pub const PATH: &str = "/artifacts/";
/// What every digest begins with, as in an Ignition config.
const ALGORITHM: &str = "sha512-";
/// Anybody may ask, and slowly: beyond this many at the same time, machines are asked to come again.
const MOST_AT_ONCE: usize = 256;

/// One file of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactFile {
    /// The release that it belongs to, as `1.36.3`; none for all of them.
    pub release: Option<String>,
    /// For which machines it is, as `amd64`.
    pub architecture: String,
    /// Where it goes on a node.
    pub path: String,
    /// Its mode there.
    pub mode: u32,
    /// Its digest, as `sha512-` and hex digits.
    pub digest: String,
    /// Its length in bytes.
    pub length: u64,
    source: PathBuf,
    modified: Option<SystemTime>,
}

/// All files of nodes that this management plane has. They stay on disk; only what they are is kept.
#[derive(Debug)]
pub struct Artifacts {
    files: Vec<ArtifactFile>,
    by_digest: HashMap<String, usize>,
    places: Arc<Semaphore>,
}

impl Default for Artifacts {
    fn default() -> Self {
        Self::of_files(Vec::new())
    }
}

impl Artifacts {
    /// Reads a directory of `RELEASE/ARCHITECTURE/PATH…`, where RELEASE is a version or `any`. Digests of files that did
    /// not change since are taken from `index`, which is written anew.
    pub fn open(directory: &Path, index: &Path) -> Result<Self, ArtifactsError> {
        shelf::read(directory, index).map(Self::of_files)
    }

    fn of_files(files: Vec<ArtifactFile>) -> Self {
        let by_digest = files.iter().enumerate().map(|(place, file)| (file.digest.clone(), place)).collect();
        Self { files, by_digest, places: Arc::new(Semaphore::new(MOST_AT_ONCE)) }
    }

    /// What a node of this release and architecture gets, sorted by path. A file of the release itself goes before one of
    /// all releases.
    pub fn for_node(&self, release: &str, architecture: &str) -> Vec<&ArtifactFile> {
        let release = release.trim_start_matches('v');
        let fits = |file: &&ArtifactFile| {
            file.architecture == architecture && file.release.as_deref().is_none_or(|own| own == release)
        };
        let mut files: Vec<&ArtifactFile> = self.files.iter().filter(fits).collect();
        files.sort_by_key(|file| (&file.path, file.release.is_none()));
        files.dedup_by_key(|file| &file.path);
        files
    }

    /// The digest that a path asks for.
    pub(crate) fn asked(path: &[u8]) -> Option<String> {
        let digest = std::str::from_utf8(path).ok()?.strip_prefix(PATH)?;
        let digits = digest.strip_prefix(ALGORITHM)?;
        let is_digest = digits.len() == 128 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_digest.then(|| digest.to_owned())
    }

    /// Hands out one file, or a part of it.
    pub(crate) async fn answer(&self, digest: &str, method: &Method, headers: &HeaderMap) -> Answer {
        let Some(file) = self.by_digest.get(digest).and_then(|place| self.files.get(*place)) else {
            return answer::not_found();
        };
        if method != Method::GET && method != Method::HEAD {
            let mut refusal = answer::words(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
            refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refusal;
        }
        let tag = format!("\"{digest}\"");
        if headers.get_all(IF_NONE_MATCH).iter().any(|list| answer::names(list.as_bytes(), &tag)) {
            return described(file, &tag, answer::healthy(), StatusCode::NOT_MODIFIED);
        }
        let is_same = headers.get(IF_RANGE).is_none_or(|known| known.as_bytes() == tag.as_bytes());
        let wanted = headers.get(RANGE).filter(|_| is_same && method == Method::GET);
        let part = match wanted.map_or(Part::Whole, |range| part(range.as_bytes(), file.length)) {
            Part::None => {
                let mut refusal = answer::words(StatusCode::RANGE_NOT_SATISFIABLE, "invalid range");
                put(&mut refusal, CONTENT_RANGE, &format!("bytes */{}", file.length));
                return refusal;
            }
            part => part,
        };
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return answer::busy();
        };
        let (first, length) = match part {
            Part::Some { first, last } => (first, last - first + 1),
            _ => (0, file.length),
        };
        let opened = match opened(file, first).await {
            Ok(opened) => opened,
            Err(error) => {
                tracing::warn!(path = %file.source.display(), %error, "a file of nodes cannot be handed out");
                return answer::not_found();
            }
        };
        let body = FileBody::new(opened, length, place);
        let answer = Response::new(Either::Right(body));
        match part {
            Part::Some { first, last } => {
                let mut answer = described(file, &tag, answer, StatusCode::PARTIAL_CONTENT);
                put(&mut answer, CONTENT_RANGE, &format!("bytes {first}-{last}/{}", file.length));
                answer
            }
            _ => described(file, &tag, answer, StatusCode::OK),
        }
    }
}

/// Opens a file that still is what it was when its digest was taken.
async fn opened(file: &ArtifactFile, first: u64) -> std::io::Result<tokio::fs::File> {
    let mut opened = tokio::fs::File::open(&file.source).await?;
    let metadata = opened.metadata().await?;
    if metadata.len() != file.length || metadata.modified().ok() != file.modified {
        return Err(std::io::Error::other("it was changed since the start"));
    }
    opened.seek(std::io::SeekFrom::Start(first)).await?;
    Ok(opened)
}

fn described(file: &ArtifactFile, tag: &str, mut answer: Answer, status: StatusCode) -> Answer {
    *answer.status_mut() = status;
    put(&mut answer, ETAG, tag);
    put(&mut answer, ACCEPT_RANGES, "bytes");
    // What has this digest never becomes anything else.
    put(&mut answer, CACHE_CONTROL, "public, max-age=31536000, immutable");
    if file.length > 0 && status != StatusCode::NOT_MODIFIED {
        put(&mut answer, CONTENT_TYPE, "application/octet-stream");
    }
    answer
}

fn put(answer: &mut Answer, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::{ArtifactFile, Artifacts};

    fn file(release: Option<&str>, architecture: &str, path: &str, digit: char) -> ArtifactFile {
        ArtifactFile {
            release: release.map(str::to_owned),
            architecture: architecture.to_owned(),
            path: path.to_owned(),
            mode: 0o755,
            digest: format!("sha512-{}", digit.to_string().repeat(128)),
            length: 1,
            source: path.into(),
            modified: None,
        }
    }

    #[test]
    fn a_node_gets_the_files_of_its_release_and_architecture() {
        let artifacts = Artifacts::of_files(vec![
            file(None, "amd64", "/b", '1'),
            file(Some("1.36.3"), "amd64", "/b", '2'),
            file(Some("1.36.2"), "amd64", "/b", '3'),
            file(Some("1.36.3"), "arm64", "/b", '4'),
            file(None, "amd64", "/a", '5'),
        ]);
        let digits = |release, architecture| {
            let files = artifacts.for_node(release, architecture);
            files.iter().map(|file| (file.path.as_str(), &file.digest[7..8])).collect::<Vec<_>>()
        };
        assert_eq!(digits("v1.36.3", "amd64"), [("/a", "5"), ("/b", "2")]);
        assert_eq!(digits("1.35.0", "amd64"), [("/a", "5"), ("/b", "1")]);
        assert_eq!(digits("1.36.3", "arm64"), [("/b", "4")]);
        assert!(digits("1.36.3", "s390x").is_empty());
    }

    #[test]
    fn only_whole_digests_are_asked_for() {
        let digits = "0f".repeat(64);
        let asked = |path: String| Artifacts::asked(path.as_bytes());
        assert_eq!(asked(format!("/artifacts/sha512-{digits}")), Some(format!("sha512-{digits}")));
        for path in [
            format!("/artifacts/{digits}"),
            format!("/artifacts/sha256-{digits}"),
            format!("/artifacts/sha512-{digits}/"),
            format!("/artifacts/sha512-{}", digits.to_uppercase()),
            format!("/artifacts/../sha512-{digits}"),
            format!("/artifacts//sha512-{digits}"),
            "/artifacts/".to_owned(),
            "/artifacts/sha512-".to_owned(),
        ] {
            assert_eq!(asked(path.clone()), None, "{path}");
        }
    }
}
