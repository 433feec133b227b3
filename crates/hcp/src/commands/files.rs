//! The files that a command line names: read, bounded and checked before anything is made.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use roost_object::yaml;
use serde_json::Value;

use crate::arguments::{ClusterPlatform, CreateCluster};
use crate::high::{Files, UsageError};

use super::error::CommandError;

/// No Secret or ConfigMap holds more than a megabyte.
const LARGEST: u64 = 1 << 20;

/// Reads all files of `hcp create cluster`.
pub(super) fn read(arguments: &CreateCluster) -> Result<Files, CommandError> {
    let naming = &arguments.flags.naming;
    let mut files = Files::default();
    if let Some(path) = &naming.pull_secret {
        files.pull_secret = contents("pull-secret", path)?;
        check_pull_secret(path, &files.pull_secret)?;
    }
    if let Some(path) = &naming.ssh_key {
        files.ssh_public_key = Some(contents("ssh-key", path)?);
    }
    if let Some(path) = &naming.additional_trust_bundle {
        files.trust_bundle = Some(certificates("additional-trust-bundle", path)?);
    }
    if let Some(path) = &naming.image_content_sources {
        files.image_content_sources = Some(image_content_sources(path)?);
    }
    if let ClusterPlatform::Kubevirt(flags) = &arguments.platform
        && let Some(path) = &flags.infra.infra_kubeconfig_file
    {
        files.infra_kubeconfig = Some(contents("infra-kubeconfig-file", path)?);
    }
    Ok(files)
}

/// The pull secret of a command that needs no other file.
pub(super) fn pull_secret(path: &Path) -> Result<Vec<u8>, CommandError> {
    let bytes = contents("pull-secret", path)?;
    check_pull_secret(path, &bytes)?;
    Ok(bytes)
}

/// A public key, as text.
pub(super) fn ssh_key(path: &Path) -> Result<String, CommandError> {
    String::from_utf8(contents("ssh-key", path)?).map_err(|_| unusable("ssh-key", path, "it is not text"))
}

fn contents(flag: &'static str, path: &Path) -> Result<Vec<u8>, CommandError> {
    let failed = |source| CommandError::Read { flag, path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(failed(io::Error::other("it has more than a megabyte")));
    }
    Ok(bytes)
}

fn unusable(flag: &'static str, path: &Path, problem: impl Into<String>) -> CommandError {
    UsageError::File { flag, path: path.to_owned(), problem: problem.into() }.into()
}

/// Refuses what could never be used to pull: the mistake would show only much later, on a node.
fn check_pull_secret(path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    let wrong = |problem: &str| {
        CommandError::from(UsageError::PullSecret { path: path.to_owned(), problem: problem.to_owned() })
    };
    let value: Value = serde_json::from_slice(bytes).map_err(|_| wrong("it is not JSON"))?;
    if value["auths"].is_object() { Ok(()) } else { Err(wrong("it has no \"auths\"")) }
}

/// Certificates of authorities.
pub(super) fn certificates(flag: &'static str, path: &Path) -> Result<String, CommandError> {
    let text = String::from_utf8(contents(flag, path)?).map_err(|_| unusable(flag, path, "it is not text"))?;
    if roost_pki::CertificateBundle::from_pem(&text).is_ok_and(|bundle| !bundle.is_empty()) {
        return Ok(text);
    }
    Err(unusable(flag, path, "it holds no certificate in PEM form"))
}

/// The objects of manifest files, each of one or more documents.
pub(super) fn objects(flag: &'static str, paths: &[PathBuf]) -> Result<Vec<Value>, CommandError> {
    let mut objects = Vec::new();
    for path in paths {
        let text = String::from_utf8(contents(flag, path)?).map_err(|_| unusable(flag, path, "it is not text"))?;
        for document in documents(&text) {
            let read = yaml::read(document.as_bytes()).map_err(|error| unusable(flag, path, error.to_string()))?;
            match read.value {
                Value::Null => {}
                mut list if list["kind"] == "List" => {
                    objects.extend(list["items"].as_array_mut().map(std::mem::take).unwrap_or_default());
                }
                object if object["kind"].is_string() && object["metadata"]["name"].is_string() => objects.push(object),
                _ => return Err(unusable(flag, path, "expected objects with kind and metadata.name")),
            }
        }
    }
    Ok(objects)
}

/// The documents of a text, between lines that begin with `---`.
fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        match (line.starts_with("---"), documents.last_mut()) {
            (false, Some(last)) => {
                last.push_str(line);
                last.push('\n');
            }
            _ => documents.push(String::new()),
        }
    }
    documents
}

fn image_content_sources(path: &Path) -> Result<Value, CommandError> {
    const FLAG: &str = "image-content-sources";
    let document = yaml::read(&contents(FLAG, path)?).map_err(|error| unusable(FLAG, path, error.to_string()))?;
    let entry_is_good = |entry: &Value| {
        entry["source"].is_string()
            && (entry["mirrors"].is_null()
                || entry["mirrors"].as_array().is_some_and(|mirrors| mirrors.iter().all(Value::is_string)))
    };
    match &document.value {
        Value::Array(entries) if !entries.is_empty() && entries.iter().all(entry_is_good) => Ok(document.value),
        _ => Err(unusable(FLAG, path, "expected a list of entries with source and mirrors")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{check_pull_secret, objects};

    #[test]
    fn manifests_have_one_or_more_documents() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.yaml");
        let text = "---\nkind: NodePool\nmetadata: {name: a}\n---\n# nothing\n--- \nkind: List\nitems:\n- {kind: ConfigMap, metadata: {name: b}}\n";
        std::fs::write(&path, text).unwrap();
        let read = objects("filename", std::slice::from_ref(&path)).unwrap();
        assert_eq!(
            read.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect::<Vec<_>>(),
            ["a", "b"]
        );
        std::fs::write(&path, "just: text").unwrap();
        assert!(objects("filename", &[path]).unwrap_err().to_string().contains("expected objects with kind"));
    }

    #[test]
    fn pull_secrets_are_looked_at() {
        let path = Path::new("pull-secret.json");
        assert!(check_pull_secret(path, br#"{"auths": {}}"#).is_ok());
        let error = check_pull_secret(path, b"secret").unwrap_err().to_string();
        assert_eq!(error, "the pull secret pull-secret.json is not what a registry login writes: it is not JSON");
        assert!(check_pull_secret(path, b"{}").is_err());
    }
}
