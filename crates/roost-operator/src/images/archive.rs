//! What goes into an environment's image: the discovery configuration for CoreOS, and the same for our own live image.

use bytes::Bytes;
use jiff::Timestamp;
use roost_ignition::Config;
use roost_image::{Archive, ArchiveError, KernelArgument, Operation};
use roost_image_server::{ImageSpec, Kind};
use serde_json::{Value, json};

use super::Endpoints;
use crate::discovery::Published;
use crate::infra_env::{architecture, image_type, is_boot_order_controlled, kernel_arguments};

/// What our own live image reads, and whom it trusts then.
const SETTINGS_FILE: &str = "etc/roost/discovery.json";
const AUTHORITY_FILE: &str = "etc/roost/ca.pem";

/// What belongs to an environment, as the server of images knows it.
pub(crate) fn image_spec(
    environment: &Value,
    version: &str,
    published: &Published,
    endpoints: &Endpoints,
    token: &str,
    discovery: &Config,
    updated: Timestamp,
) -> Result<ImageSpec, ArchiveError> {
    let settings = json!({
        "url": published.url, "infra_env_id": environment["metadata"]["uid"], "token": token,
        "certificate_authority": format!("/{AUTHORITY_FILE}"),
    });
    let mut archive = Archive::default();
    archive.file("config.ign", 0o600, discovery.to_bytes().into())?;
    archive.file(SETTINGS_FILE, 0o600, Bytes::from(settings.to_string()))?;
    archive.file(AUTHORITY_FILE, 0o644, Bytes::from(published.authority.clone()))?;
    let appended = |value: &str| KernelArgument { operation: Operation::Append, value: value.to_owned() };
    Ok(ImageSpec {
        version: version.to_owned(),
        architecture: architecture(environment).to_owned(),
        kind: if image_type(environment) == "full-iso" { Kind::Full } else { Kind::Minimal },
        boot: endpoints.boot.clone(),
        archive,
        kernel_arguments: kernel_arguments(environment).map(appended).collect(),
        is_boot_order_controlled: is_boot_order_controlled(environment),
        updated,
    })
}
