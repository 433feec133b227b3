//! The images of a directory: what an administrator put there, by their names.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::catalog::{Origin, OsImage};

/// What names may end with before the kind of file.
const ARCHITECTURES: [&str; 5] = ["x86_64", "aarch64", "arm64", "ppc64le", "s390x"];
const LIVE: &str = ".iso";
const DISK: &str = ".raw.gz";

/// The live images of a directory, `VERSION-ARCHITECTURE.iso`, and with each the disk that its hosts are installed with,
/// `VERSION-ARCHITECTURE.raw.gz`. Other files are nobody's.
pub fn given(directory: &Path) -> io::Result<Vec<OsImage>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        names.extend(entry?.file_name().into_string().ok());
    }
    Ok(among(directory, &names))
}

/// The files of one version.
#[derive(Default)]
struct Files {
    live: Option<PathBuf>,
    disk: Option<PathBuf>,
}

fn among(directory: &Path, names: &[String]) -> Vec<OsImage> {
    let mut found: BTreeMap<(&str, &str), Files> = BTreeMap::new();
    for name in names {
        let (stem, is_live) = match (name.strip_suffix(LIVE), name.strip_suffix(DISK)) {
            (Some(stem), _) => (stem, true),
            (None, Some(stem)) => (stem, false),
            (None, None) => continue,
        };
        let Some((version, architecture)) = stem.rsplit_once('-') else { continue };
        if version.is_empty() || !ARCHITECTURES.contains(&architecture) {
            continue;
        }
        let files = found.entry((version, architecture)).or_default();
        let file = if is_live { &mut files.live } else { &mut files.disk };
        *file = Some(directory.join(name));
    }
    let images = found.into_iter().filter_map(|((version, architecture), Files { live, disk })| {
        Some(OsImage {
            openshift_version: version.to_owned(),
            version: version.to_owned(),
            architecture: architecture.to_owned(),
            origin: Origin::File(live?),
            disk,
        })
    });
    images.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::among;

    #[test]
    fn names_say_what_a_file_is() {
        let names = ["roost-live-x86_64.iso", "roost-live-x86_64.raw.gz", "4.18-arm64.iso", "4.18-x86_64.raw.gz"];
        let others = ["README", "x86_64.iso", "-x86_64.iso", "4.18-vax.iso", "4.18-x86_64.iso.part"];
        let names: Vec<String> = names.into_iter().chain(others).map(str::to_owned).collect();
        let found = among(Path::new("/images"), &names);
        let short = |image: &crate::OsImage| {
            let disk = image.disk.as_ref().map(|path| path.display().to_string());
            (image.version.clone(), image.architecture.clone(), disk)
        };
        assert_eq!(
            found.iter().map(short).collect::<Vec<_>>(),
            [
                ("4.18".to_owned(), "arm64".to_owned(), None),
                ("roost-live".to_owned(), "x86_64".to_owned(), Some("/images/roost-live-x86_64.raw.gz".to_owned())),
            ]
        );
    }
}
