//! Installs a host that runs from an image: chooses the disk, writes it, and leaves on it what the host has to know.

use roost_host::disk::{self, DiskProblem};
use roost_host::wire::{DiskImage, InstallRequest};

use super::disk_writer::{DiskWriter, WriteError};
use super::hardware;
use super::installed::Handover;
use super::service::Service;
use crate::root::Root;

/// An image that did not come is fetched again from its beginning, so many times in all.
const TRIES: usize = 3;

/// Why a host was not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The service did not say what to do.
    #[error("the installation step cannot be read")]
    Request(#[from] serde_json::Error),
    /// There is nothing to write.
    #[error(
        "the management plane has no disk image for this host; put VERSION-ARCHITECTURE.raw.gz beside its live image, or install a system and run hcp-agent discover there"
    )]
    NoImage,
    /// No disk may be written.
    #[error(transparent)]
    Disk(#[from] DiskProblem),
    /// A disk was not written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// What is written where.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) device: String,
    pub(super) image: DiskImage,
}

/// Decides what is written where, by what the service said and what the host has at this moment.
pub(super) fn plan(root: &Root, request: &InstallRequest) -> Result<Plan, InstallError> {
    let image = request.disk_image.clone().ok_or(InstallError::NoImage)?;
    let inventory = hardware::inventory(root).to_status();
    let wanted = request.boot_device.as_str();
    let found = inventory.disks.iter().find(|disk| disk::is_named(disk, wanted));
    let found = found.ok_or_else(|| DiskProblem::Unknown(wanted.to_owned()))?;
    let reasons = disk::ineligibility(found, 0, request.is_disk_named);
    if !reasons.is_empty() {
        return Err(DiskProblem::Ineligible { disk: wanted.to_owned(), reasons }.into());
    }
    let device = found.path.clone().unwrap_or_else(|| found.id.clone());
    Ok(Plan { device, image })
}

/// Writes a disk, again from the beginning when the image did not come.
pub(super) fn write(
    root: &Root,
    plan: &Plan,
    left: &Handover,
    service: &Service,
    report: &mut dyn FnMut(u64),
) -> Result<(), InstallError> {
    let settings = serde_json::to_vec(left)?;
    let device = root.at(&plan.device);
    let mut tries = 1;
    loop {
        let mut attempt = || {
            let mut writer = DiskWriter::open(&device, &plan.image, report)?;
            service.download(&plan.image.url, plan.image.length, &mut writer)?;
            writer.finish(&device, &plan.image, &settings)
        };
        match attempt() {
            Err(WriteError::Fetch(_) | WriteError::Status(500..) | WriteError::Digest(_)) if tries < TRIES => {
                tries += 1;
            }
            outcome => return Ok(outcome?),
        }
    }
}
