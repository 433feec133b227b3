//! A base image: what was found in it once, and the images of hosts that are made of it.

use bytes::Bytes;

use crate::archive::Archive;
use crate::embed::{EmbedAreas, EmbedError};
use crate::iso_writer::WriteError;
use crate::iso9660::{Extent, IsoError, Volume};
use crate::kernel_arguments::{ArgumentError, KernelArgument, apply};
use crate::layout::{Layout, LayoutError, Segment};
use crate::source::Source;

/// Kernels by their names on the usual architectures and on s390x.
const KERNELS: [&str; 2] = ["images/pxeboot/vmlinuz", "images/pxeboot/kernel.img"];
const INITRD: &str = "images/pxeboot/initrd.img";
pub(crate) const ROOTFS: &str = "images/pxeboot/rootfs.img";

/// What a volume of CoreOS is called.
const COREOS_LABELS: [&str; 3] = ["rhcos-", "fedora-coreos-", "scos-"];

/// Why an image cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// The base image could not be read.
    #[error(transparent)]
    Iso(#[from] IsoError),
    /// It has no place for what is to be embedded.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// A kernel argument is none.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// Its areas overlap.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// It cannot be written anew.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// It boots nothing.
    #[error("the image has no {0}")]
    Missing(&'static str),
}

/// What is known of a base image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseImage {
    /// The volume's name.
    pub label: String,
    /// How many bytes it has.
    pub length: u64,
    /// Where things are embedded.
    pub areas: EmbedAreas,
    /// The kernel.
    pub kernel: Extent,
    /// The first initrd.
    pub initrd: Extent,
    /// The root file system, which our own image has not.
    pub rootfs: Option<Extent>,
}

impl BaseImage {
    /// Looks through an image.
    pub fn read<S: Source + ?Sized>(image: &S) -> Result<Self, BaseError> {
        let volume = Volume::open(image)?;
        let mut kernel = None;
        for path in KERNELS {
            kernel = kernel.or(volume.file(image, path)?);
        }
        Ok(Self {
            label: volume.label().to_owned(),
            length: image.length(),
            areas: EmbedAreas::locate(image, &volume)?,
            kernel: kernel.ok_or(BaseError::Missing(KERNELS[0]))?,
            initrd: volume.file(image, INITRD)?.ok_or(BaseError::Missing(INITRD))?,
            rootfs: volume.file(image, ROOTFS)?,
        })
    }

    /// Whether it is CoreOS, which runs Ignition and wants its root file system named.
    pub fn is_coreos(&self) -> bool {
        COREOS_LABELS.iter().any(|label| self.label.starts_with(label))
    }

    /// The kernel's arguments with those that are wished for; nothing when they stay as they are.
    pub fn arguments(&self, wishes: &[KernelArgument]) -> Result<Option<String>, BaseError> {
        if wishes.is_empty() {
            return Ok(None);
        }
        let area = self.areas.kernel_arguments.as_ref().ok_or(EmbedError::NoArgumentArea)?;
        Ok(Some(apply(&area.default, wishes)?))
    }

    /// The whole image with an archive and kernel arguments in it.
    pub fn full<F: Clone>(
        &self,
        file: F,
        archive: &Archive,
        wishes: &[KernelArgument],
    ) -> Result<Layout<F>, BaseError> {
        let mut patches = self.areas.ignition_patches(archive)?;
        if let (Some(arguments), Some(area)) = (self.arguments(wishes)?, &self.areas.kernel_arguments) {
            patches.extend(area.patches(&arguments)?);
        }
        Ok(Layout::overlay(file, self.length, patches)?)
    }

    /// The initrd for booting over the network: the image's own, and the archive behind it.
    pub fn network_initrd<F: Clone>(&self, file: F, archive: &Archive) -> Layout<F> {
        let Extent { offset, length } = self.initrd;
        let mut layout = Layout::default();
        layout.push(Segment::File { file, offset, length });
        layout.push(Segment::Bytes(Bytes::from(vec![0; (length.next_multiple_of(4) - length) as usize])));
        layout.push(Segment::Bytes(archive.to_gzip().into()));
        layout
    }

    /// One part of it, as it is.
    pub fn part<F: Clone>(&self, file: F, extent: Extent) -> Layout<F> {
        let mut layout = Layout::default();
        layout.push(Segment::File { file, offset: extent.offset, length: extent.length });
        layout
    }
}
