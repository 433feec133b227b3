//! coreos-installer reads what we embed, and the other way round.

use std::path::Path;

use bytes::Bytes;
use roost_image::{Archive, BaseImage, KernelArgument, Operation, Segment, Source as _};
use roost_image_server::BaseFile;

use crate::task::{self, TaskError};

use super::{output, write};

const CONFIG: &str = r#"{"ignition":{"version":"3.1.0"}}"#;

/// Embeds, and compares with what coreos-installer shows.
pub(super) fn check(iso: &Path, program: &Path) -> Result<(), TaskError> {
    let failed = |error: &dyn std::fmt::Display| TaskError::Found(error.to_string());
    let file = BaseFile::open(iso, None).map_err(|source| TaskError::File { path: iso.to_owned(), source })?;
    let base = BaseImage::read(&file).map_err(|error| failed(&error))?;
    let mut archive = Archive::default();
    archive.file("config.ign", 0o600, Bytes::from_static(CONFIG.as_bytes())).map_err(|error| failed(&error))?;
    let wish = KernelArgument { operation: Operation::Append, value: "roost.test=1".to_owned() };
    let wanted = base.arguments(std::slice::from_ref(&wish)).map_err(|error| failed(&error))?.unwrap_or_default();
    let layout = base.full((), &archive, &[wish]).map_err(|error| failed(&error))?;
    let mut served = Vec::new();
    for segment in layout.segments() {
        match segment {
            Segment::Bytes(bytes) => served.extend_from_slice(bytes),
            Segment::File { offset, length, .. } => {
                let part = file.part(*offset, *length as usize);
                served.extend(part.map_err(|source| TaskError::File { path: iso.to_owned(), source })?);
            }
        }
    }
    let embedded = iso.with_extension("embedded.iso");
    write(&embedded, &served)?;
    let shown = |arguments: &[&str]| output(task::command(program).arg("iso").args(arguments).arg(&embedded));
    let comparisons = [
        ("iso ignition show", shown(&["ignition", "show"])?, CONFIG.to_owned()),
        ("iso kargs show", shown(&["kargs", "show"])?, wanted),
    ];
    for (name, found, expected) in comparisons {
        if found.trim_end() != expected {
            return Err(TaskError::Found(format!("{name} says {found:?}, and {expected:?} was embedded")));
        }
        println!("{name}: {expected}");
    }

    // What it embeds by itself lies where ours lay.
    shown(&["ignition", "remove"])?;
    shown(&["kargs", "reset"])?;
    let reset = std::fs::read(&embedded).map_err(|source| TaskError::File { path: embedded.clone(), source })?;
    let original = std::fs::read(iso).map_err(|source| TaskError::File { path: iso.to_owned(), source })?;
    if reset != original {
        return Err(TaskError::Found("coreos-installer removed something else than what was embedded".to_owned()));
    }
    println!("removed again by coreos-installer, the image is the base to the byte");
    std::fs::remove_file(&embedded).map_err(|source| TaskError::File { path: embedded, source })
}
