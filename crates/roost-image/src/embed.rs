//! The areas that a CoreOS live image keeps free for an Ignition config and for kernel arguments.
//!
//! Two files in the image say where they are. Images from before 2021 say it in headers of the system area instead.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::archive::Archive;
use crate::iso9660::{Extent, IsoError, Volume};
use crate::source::Source;

/// Where an image says where its Ignition area is.
pub(crate) const IGNITION_INFO: &str = "coreos/igninfo.json";
/// The area where nothing else is said.
pub(crate) const IGNITION_IMAGE: &str = "images/ignition.img";
/// Where an image says where its areas for kernel arguments are.
pub(crate) const ARGUMENTS_INFO: &str = "coreos/kargs.json";

/// The two files have some hundred bytes.
const LARGEST_INFO: u64 = 64 << 10;
/// The most that Linux takes as its command line on the usual machines.
const LONGEST_ARGUMENTS: u64 = 2048;
/// An image names two or three configurations of boot loaders.
const MOST_PLACES: usize = 16;
/// Areas are a quarter of a megabyte; nobody needs one that does not fit into memory with ease.
const LARGEST_AREA: u64 = 64 << 20;

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// The system area ends with a header for Ignition, and before it there is one for kernel arguments.
const SYSTEM_AREA: u64 = 32 << 10;
const IGNITION_HEADER: (u64, &[u8; 8]) = (24, b"coreiso+");
const ARGUMENTS_HEADER: (u64, &[u8; 8]) = (72, b"coreKarg");
const HEADER_PLACES: usize = 6;

/// Why nothing can be embedded.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The image could not be read.
    #[error(transparent)]
    Iso(#[from] IsoError),
    /// The image was not made for this.
    #[error("the image has no area for an Ignition config")]
    NoArea,
    /// The image was not made for other kernel arguments.
    #[error("the image has no area for kernel arguments")]
    NoArgumentArea,
    /// What the image says of itself makes no sense.
    #[error("the image describes its areas wrongly: {0}")]
    Description(String),
    /// There is more than fits.
    #[error("content length exceeds embed area: {length} bytes, and the area has {area}")]
    TooLong {
        /// What there is.
        length: u64,
        /// What fits.
        area: u64,
    },
}

/// One place in an image where the kernel arguments stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelArgumentPlace {
    /// The first byte.
    pub offset: u64,
    /// What ends the arguments.
    pub end: u8,
    /// What fills the rest.
    pub pad: u8,
}

/// The kernel arguments of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelArgumentArea {
    /// What stands there when nobody changed it.
    pub default: String,
    /// How many bytes there are for them.
    pub size: u64,
    /// Everywhere they stand.
    pub places: Vec<KernelArgumentPlace>,
}

impl KernelArgumentArea {
    /// What has to stand where so that the kernel gets these arguments.
    pub fn patches(&self, arguments: &str) -> Result<Vec<(u64, Bytes)>, EmbedError> {
        let length = arguments.len() as u64 + 1;
        if length > self.size {
            return Err(EmbedError::TooLong { length, area: self.size });
        }
        Ok(self.places.iter().map(|place| (place.offset, filled(arguments, *place, self.size))).collect())
    }
}

pub(crate) fn filled(arguments: &str, place: KernelArgumentPlace, size: u64) -> Bytes {
    let mut text = arguments.as_bytes().to_vec();
    text.push(place.end);
    text.resize(size as usize, place.pad);
    text.into()
}

/// The areas of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedAreas {
    /// Where the Ignition config goes.
    pub ignition: Extent,
    /// Where the kernel arguments go, if they can be changed.
    pub kernel_arguments: Option<KernelArgumentArea>,
}

/// As the image says it, in JSON.
#[derive(Deserialize)]
struct IgnitionInfo {
    file: String,
    offset: Option<u64>,
    length: Option<u64>,
}

#[derive(Deserialize, Serialize)]
pub(crate) struct ArgumentsInfo {
    pub(crate) default: String,
    pub(crate) size: u64,
    pub(crate) files: Vec<ArgumentsFile>,
}

#[derive(Deserialize, Serialize)]
pub(crate) struct ArgumentsFile {
    pub(crate) path: String,
    pub(crate) offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pad: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end: Option<String>,
}

impl ArgumentsFile {
    /// The place that this is in a file which begins at `start`.
    pub(crate) fn place(&self, start: u64) -> Option<KernelArgumentPlace> {
        let byte = |text: &Option<String>, usual: u8| match text.as_deref().map(str::as_bytes) {
            None => Some(usual),
            Some([one]) => Some(*one),
            Some(_) => None,
        };
        Some(KernelArgumentPlace {
            offset: start.checked_add(self.offset)?,
            end: byte(&self.end, b'\n')?,
            pad: byte(&self.pad, b'#')?,
        })
    }
}

impl EmbedAreas {
    /// Finds the areas of an image.
    pub fn locate<S: Source + ?Sized>(image: &S, volume: &Volume) -> Result<Self, EmbedError> {
        let ignition = ignition_area(image, volume)?;
        within(image, ignition.offset, ignition.length).filter(|length| *length <= LARGEST_AREA).ok_or_else(|| {
            EmbedError::Description(format!("{} bytes for Ignition at {}", ignition.length, ignition.offset))
        })?;
        let kernel_arguments = match arguments_info(image, volume)? {
            Some(info) => Some(argument_area(image, volume, info)?),
            None => argument_area_of_header(image)?,
        };
        Ok(Self { ignition, kernel_arguments })
    }

    /// What has to stand in the Ignition area: the archive, and nothing behind it.
    pub fn ignition_patches(&self, archive: &Archive) -> Result<Vec<(u64, Bytes)>, EmbedError> {
        let content = Bytes::from(archive.to_gzip());
        let (length, area) = (content.len() as u64, self.ignition.length);
        if length > area {
            return Err(EmbedError::TooLong { length, area });
        }
        let mut patches = vec![(self.ignition.offset, content)];
        let (mut at, end) = (self.ignition.offset + length, self.ignition.offset + area);
        while at < end {
            // Thousands of images share these zeros.
            let zeros = Bytes::from_static(&ZEROS[..(end - at).min(ZEROS.len() as u64) as usize]);
            at += zeros.len() as u64;
            patches.push((at - zeros.len() as u64, zeros));
        }
        Ok(patches)
    }
}

fn within<S: Source + ?Sized>(image: &S, offset: u64, length: u64) -> Option<u64> {
    offset.checked_add(length).filter(|end| *end <= image.length()).map(|_| length)
}

fn ignition_area<S: Source + ?Sized>(image: &S, volume: &Volume) -> Result<Extent, EmbedError> {
    if let Some(text) = volume.read(image, IGNITION_INFO, LARGEST_INFO)? {
        let info: IgnitionInfo = serde_json::from_slice(&text)
            .map_err(|error| EmbedError::Description(format!("{IGNITION_INFO}: {error}")))?;
        let file = volume
            .file(image, &info.file)?
            .ok_or_else(|| EmbedError::Description(format!("{} is not in the image", info.file)))?;
        let offset = info.offset.unwrap_or(0);
        let rest = file.length.checked_sub(offset);
        let length = rest.map(|rest| info.length.unwrap_or(rest)).filter(|length| Some(*length) <= rest);
        let length = length.ok_or_else(|| EmbedError::Description(format!("{} is shorter than said", info.file)))?;
        return Ok(Extent { offset: file.offset + offset, length });
    }
    if let Some(file) = volume.file(image, IGNITION_IMAGE)? {
        return Ok(file);
    }
    let [offset, length] = header(image, IGNITION_HEADER)?.ok_or(EmbedError::NoArea)?;
    Ok(Extent { offset, length })
}

/// A header of the system area: so many numbers behind its magic, if it is there.
fn header<S: Source + ?Sized, const COUNT: usize>(
    image: &S,
    (size, magic): (u64, &[u8; 8]),
) -> Result<Option<[u64; COUNT]>, EmbedError> {
    let end = if size == IGNITION_HEADER.0 { SYSTEM_AREA } else { SYSTEM_AREA - IGNITION_HEADER.0 };
    let bytes = image.part(end - size, size as usize).map_err(IsoError::Read)?;
    let Some(numbers) = bytes.strip_prefix(magic) else { return Ok(None) };
    let mut found = [0; COUNT];
    for (number, bytes) in found.iter_mut().zip(numbers.chunks_exact(8)) {
        let mut word = [0; 8];
        word.copy_from_slice(bytes);
        *number = u64::from_le_bytes(word);
    }
    Ok(Some(found))
}

/// What the image says of its kernel arguments.
pub(crate) fn arguments_info<S: Source + ?Sized>(
    image: &S,
    volume: &Volume,
) -> Result<Option<ArgumentsInfo>, EmbedError> {
    let Some(text) = volume.read(image, ARGUMENTS_INFO, LARGEST_INFO)? else { return Ok(None) };
    let info: ArgumentsInfo =
        serde_json::from_slice(&text).map_err(|error| EmbedError::Description(format!("{ARGUMENTS_INFO}: {error}")))?;
    Ok(Some(info))
}

fn argument_area<S: Source + ?Sized>(
    image: &S,
    volume: &Volume,
    info: ArgumentsInfo,
) -> Result<KernelArgumentArea, EmbedError> {
    let ArgumentsInfo { default, size, files } = info;
    if size > LONGEST_ARGUMENTS || files.is_empty() || files.len() > MOST_PLACES {
        return Err(EmbedError::Description(format!("kernel arguments of {size} bytes in {} files", files.len())));
    }
    let mut places = Vec::with_capacity(files.len());
    for file in &files {
        let wrong = || EmbedError::Description(format!("the kernel arguments of {}", file.path));
        let extent = volume.file(image, &file.path)?.ok_or_else(wrong)?;
        if file.offset.checked_add(size).is_none_or(|end| end > extent.length) {
            return Err(wrong());
        }
        places.push(file.place(extent.offset).ok_or_else(wrong)?);
    }
    checked(image, KernelArgumentArea { default, size, places })
}

/// Six offsets follow the length and the place of the default; zero ends them.
fn argument_area_of_header<S: Source + ?Sized>(image: &S) -> Result<Option<KernelArgumentArea>, EmbedError> {
    let Some([size, default, places @ ..]) = header::<_, { 2 + HEADER_PLACES }>(image, ARGUMENTS_HEADER)? else {
        return Ok(None);
    };
    let offsets: Vec<u64> = places.into_iter().take_while(|offset| *offset != 0).collect();
    if size > LONGEST_ARGUMENTS || offsets.is_empty() || within(image, default, size).is_none() {
        return Err(EmbedError::Description("the header for kernel arguments".to_owned()));
    }
    let usual = |offset| KernelArgumentPlace { offset, end: b'\n', pad: b'#' };
    let default = standing(image, usual(default), size)?;
    let places = offsets.into_iter().map(usual).collect();
    checked(image, KernelArgumentArea { default, size, places }).map(Some)
}

/// All places must say the same now, or they are not what the image says they are.
fn checked<S: Source + ?Sized>(image: &S, area: KernelArgumentArea) -> Result<KernelArgumentArea, EmbedError> {
    let mut first = None;
    for place in &area.places {
        let text = standing(image, *place, area.size)?;
        if *first.get_or_insert_with(|| text.clone()) != text {
            return Err(EmbedError::Description("the kernel arguments differ from place to place".to_owned()));
        }
    }
    Ok(area)
}

/// The arguments that stand in a place now.
fn standing<S: Source + ?Sized>(image: &S, place: KernelArgumentPlace, size: u64) -> Result<String, EmbedError> {
    let wrong = || EmbedError::Description(format!("no kernel arguments at byte {}", place.offset));
    within(image, place.offset, size).ok_or_else(wrong)?;
    let bytes = image.part(place.offset, size as usize).map_err(IsoError::Read)?;
    let padding = bytes.iter().rev().take_while(|byte| **byte == place.pad).count();
    let text = bytes[..bytes.len() - padding].strip_suffix(&[place.end]).ok_or_else(wrong)?;
    String::from_utf8(text.to_vec()).map_err(|_| wrong())
}
