//! The directory that files of nodes lie in, and the digests that were taken of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA512};
use serde_json::{Value, json};

use super::{ALGORITHM, ArtifactFile};

/// What stands for all releases.
const ANY: &str = "any";
/// A node needs a dozen; a directory with more than this is another one.
const MOST_FILES: usize = 4096;
const DEEPEST: usize = 16;
/// How much of a file is in memory while its digest is taken.
const PIECE: usize = 1 << 20;

/// Why the files of nodes cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactsError {
    /// The directory, or a file in it, cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file does not lie where files of nodes lie.
    #[error("{} is not RELEASE/ARCHITECTURE/PATH; put files for nodes there, as in any/amd64/usr/local/bin/hcp-agent", path.display())]
    Place {
        /// Which.
        path: PathBuf,
    },
    /// This is some other directory.
    #[error("{} holds more than {MOST_FILES} files or is deeper than {DEEPEST} directories; it is no directory of files for nodes", path.display())]
    TooMany {
        /// The directory.
        path: PathBuf,
    },
}

/// Reads a directory, with the digests that `index` remembers. An index that cannot be read or written costs time only.
pub(super) fn read(directory: &Path, index: &Path) -> Result<Vec<ArtifactFile>, ArtifactsError> {
    let mut found = Vec::new();
    walk(directory, directory, 0, &mut found)?;
    let known = remembered(index);
    let mut next = serde_json::Map::new();
    let mut files = Vec::with_capacity(found.len());
    for (path, metadata) in found {
        let unreadable = |source| ArtifactsError::Read { path: path.clone(), source };
        let name = path.to_string_lossy().into_owned();
        let mark = mark(&metadata);
        let digest = match known.get(&name) {
            Some((then, digest)) if *then == mark => digest.clone(),
            _ => digest(&path).map_err(unreadable)?,
        };
        next.insert(name, json!({"mark": mark, "digest": digest}));
        files.push(placed(directory, &path, &metadata, digest)?);
    }
    if next.len() != known.len() || files.iter().any(|file| !knows(&known, file)) {
        let part = index.with_extension("part");
        let written =
            std::fs::write(&part, Value::Object(next).to_string()).and_then(|()| std::fs::rename(&part, index));
        if let Err(error) = written {
            tracing::warn!(path = %index.display(), %error, "digests are not remembered, and taken again at the next start");
        }
    }
    Ok(files)
}

type Remembered = BTreeMap<String, (String, String)>;

fn knows(known: &Remembered, file: &ArtifactFile) -> bool {
    known.get(&*file.source.to_string_lossy()).is_some_and(|(_, digest)| *digest == file.digest)
}

/// What changes with every change of a file.
fn mark(metadata: &std::fs::Metadata) -> String {
    let (seconds, parts) = (metadata.ctime(), metadata.ctime_nsec());
    format!("{}.{}.{seconds}.{parts}", metadata.ino(), metadata.len())
}

fn remembered(index: &Path) -> Remembered {
    let text = std::fs::read(index).unwrap_or_default();
    let document = roost_object::json::read(&text).map(|document| document.value).unwrap_or_default();
    let entries = document.as_object().into_iter().flatten();
    entries
        .filter_map(|(path, entry)| {
            let text = |name: &str| entry[name].as_str().map(str::to_owned);
            Some((path.clone(), (text("mark")?, text("digest")?)))
        })
        .collect()
}

fn walk(
    top: &Path,
    directory: &Path,
    depth: usize,
    found: &mut Vec<(PathBuf, std::fs::Metadata)>,
) -> Result<(), ArtifactsError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| ArtifactsError::Read { path, source }
    };
    let mut entries =
        std::fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(unreadable(directory))?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let metadata = entry.metadata().map_err(unreadable(&path))?;
        if metadata.is_dir() && depth < DEEPEST {
            walk(top, &path, depth + 1, found)?;
        } else if metadata.is_file() && found.len() < MOST_FILES {
            found.push((path, metadata));
        } else if metadata.is_file() || metadata.is_dir() {
            return Err(ArtifactsError::TooMany { path: top.to_owned() });
        }
    }
    Ok(())
}

fn placed(
    directory: &Path,
    path: &Path,
    metadata: &std::fs::Metadata,
    digest: String,
) -> Result<ArtifactFile, ArtifactsError> {
    let misplaced = || ArtifactsError::Place { path: path.to_owned() };
    let place = path.strip_prefix(directory).ok().and_then(Path::to_str).ok_or_else(misplaced)?;
    let is_plain = place.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte));
    let mut parts = place.splitn(3, '/');
    let (Some(release), Some(architecture), Some(rest), true) = (parts.next(), parts.next(), parts.next(), is_plain)
    else {
        return Err(misplaced());
    };
    Ok(ArtifactFile {
        release: (release != ANY).then(|| release.trim_start_matches('v').to_owned()),
        architecture: architecture.to_owned(),
        path: format!("/{rest}"),
        mode: metadata.permissions().mode() & 0o777,
        digest,
        length: metadata.len(),
        source: path.to_owned(),
        modified: metadata.modified().ok(),
    })
}

fn digest(path: &Path) -> io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut context = Context::new(&SHA512);
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            count => context.update(&piece[..count]),
        }
    }
    let mut text = ALGORITHM.to_owned();
    for byte in context.finish().as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::{ArtifactsError, read};

    fn put(directory: &Path, place: &str, contents: &str) {
        let path = directory.join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, contents).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_directory_is_read_and_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let (directory, index) = (folder.path().join("artifacts"), folder.path().join("index.json"));
        put(&directory, "v1.36.3/amd64/usr/local/bin/kubelet", "abc");
        put(&directory, "any/arm64/usr/local/bin/hcp-agent", "");
        std::os::unix::fs::symlink("/etc/passwd", directory.join("any/arm64/link")).unwrap();
        let files = read(&directory, &index).unwrap();
        let seen: Vec<_> =
            files.iter().map(|file| (file.release.as_deref(), file.path.as_str(), file.mode, file.length)).collect();
        assert_eq!(
            seen,
            [(None, "/usr/local/bin/hcp-agent", 0o755, 0), (Some("1.36.3"), "/usr/local/bin/kubelet", 0o755, 3)]
        );
        assert!(files[1].digest.starts_with("sha512-ddaf35a193617abacc417349ae204131"), "{}", files[1].digest);

        // What is remembered is believed while the file is the same, and no longer.
        let text = std::fs::read_to_string(&index).unwrap();
        std::fs::write(&index, text.replace("ddaf35a1", "00000000")).unwrap();
        assert!(read(&directory, &index).unwrap()[1].digest.starts_with("sha512-00000000"));
        put(&directory, "v1.36.3/amd64/usr/local/bin/kubelet", "abcd");
        assert!(read(&directory, &index).unwrap()[1].digest.starts_with("sha512-d8022f20"));
        std::fs::write(&index, "[[[").unwrap();
        assert!(read(&directory, &index).unwrap()[1].digest.starts_with("sha512-d8022f20"));
    }

    #[test]
    fn a_file_in_a_wrong_place_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for place in ["kubelet", "any/kubelet", "any/amd64/a b"] {
            let directory = folder.path().join(place.replace(['/', ' '], "-"));
            put(&directory, place, "x");
            let error = read(&directory, &folder.path().join("index.json")).unwrap_err();
            assert!(matches!(error, ArtifactsError::Place { .. }), "{place}: {error}");
        }
        assert!(matches!(
            read(&folder.path().join("none"), &folder.path().join("i")),
            Err(ArtifactsError::Read { .. })
        ));
    }
}
