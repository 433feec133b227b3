//! The upstream definitions: every YAML file in the reference's folders that holds one.

use std::path::{Path, PathBuf};

use roost_object::yaml;

use super::fields::Definition;
use crate::task::TaskError;

/// The folders of a reference directory that hold definitions.
pub(super) const FOLDERS: &[&str] = &["hypershift/crds", "assisted"];

/// Reads all definitions below a reference directory, by file name.
pub(super) fn read(reference: &Path) -> Result<Vec<Definition>, TaskError> {
    let mut definitions = Vec::new();
    for folder in FOLDERS.iter().map(|folder| reference.join(folder)).filter(|folder| folder.is_dir()) {
        for path in yaml_files(&folder)? {
            let text = std::fs::read(&path).map_err(|source| TaskError::File { path: path.clone(), source })?;
            let document = yaml::read(&text)
                .map_err(|error| TaskError::Found(format!("{} cannot be read: {error}", path.display())))?;
            definitions.extend(Definition::read(&document.value));
        }
    }
    if definitions.is_empty() {
        let folders = FOLDERS.join(" and ");
        return Err(TaskError::Found(format!("{} has no definitions in {folders}", reference.display())));
    }
    Ok(definitions)
}

fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>, TaskError> {
    let failed = |source| TaskError::File { path: folder.to_owned(), source };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(failed)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    paths.sort();
    Ok(paths)
}
