//! `cargo xtask agent`: `hcp-agent` as one file that needs no library of the host that it runs on.

use std::path::{Path, PathBuf};

use roost_tests::assets;

use crate::command_line::Agent;
use crate::task::{self, TaskError};

/// The kind of program header that names who loads a program.
const INTERPRETER: u32 = 3;
/// The kind of program header that lists what is loaded with it.
const DYNAMIC: u32 = 2;
/// The entry of that list for one library.
const NEEDED: u64 = 1;

/// Builds it, and says where it is.
pub(crate) fn run(arguments: &Agent) -> Result<(), TaskError> {
    let path = build(arguments.release)?;
    println!("{}", path.display());
    Ok(())
}

/// Builds it, and makes sure that it is what it should be.
pub(crate) fn build(is_release: bool) -> Result<PathBuf, TaskError> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    // Its own directory: flags that differ would otherwise build everything anew each time.
    let directory = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| assets::repository().join("target"), PathBuf::from)
        .join("static");
    let mut cargo = task::cargo();
    cargo.args(["build", "--package", "roost-agent", "--locked", "--quiet", "--target", &target]);
    if is_release {
        cargo.arg("--release");
    }
    cargo.arg("--target-dir").arg(&directory).env("RUSTFLAGS", "-C target-feature=+crt-static");
    task::run(&mut cargo)?;
    let profile = if is_release { "release" } else { "debug" };
    let path = directory.join(target).join(profile).join("hcp-agent");
    let bytes = std::fs::read(&path).map_err(|source| TaskError::File { path: path.clone(), source })?;
    match needs(&bytes) {
        Some(needs) if needs.is_empty() => Ok(path),
        Some(needs) => Err(TaskError::Found(format!("{} needs {}", path.display(), needs.join(" and ")))),
        None => Err(not_a_program(&path)),
    }
}

fn not_a_program(path: &Path) -> TaskError {
    TaskError::Found(format!("{} is no program of 64 bits", path.display()))
}

/// What a program needs of a host to be started, as its ELF headers say; none for what is no such program.
fn needs(bytes: &[u8]) -> Option<Vec<String>> {
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let table = usize::try_from(number(bytes, 32, 8)?).ok()?;
    let (size, count) = (usize::try_from(number(bytes, 54, 2)?).ok()?, number(bytes, 56, 2)?);
    let mut found = Vec::new();
    for place in 0..usize::try_from(count).ok()? {
        let header = table.checked_add(place.checked_mul(size)?)?;
        let kind = u32::try_from(number(bytes, header, 4)?).ok()?;
        let start = usize::try_from(number(bytes, header.checked_add(8)?, 8)?).ok()?;
        let length = usize::try_from(number(bytes, header.checked_add(32)?, 8)?).ok()?;
        let part = bytes.get(start..start.checked_add(length)?);
        match kind {
            INTERPRETER => {
                found.push(format!("the loader {}", String::from_utf8_lossy(part?).trim_end_matches('\0')));
            }
            DYNAMIC => {
                let libraries = part?.chunks_exact(16).filter(|entry| number(entry, 0, 8) == Some(NEEDED)).count();
                found.extend((libraries > 0).then(|| format!("{libraries} libraries")));
            }
            _ => {}
        }
    }
    Some(found)
}

/// A number of so many bytes, the lowest first.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::needs;

    /// A program with one program header.
    fn program(kind: u8, contents: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 120];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[32], bytes[54], bytes[56]) = (64, 56, 1);
        (bytes[64], bytes[72], bytes[96]) = (kind, 120, u8::try_from(contents.len()).unwrap());
        bytes.extend_from_slice(contents);
        bytes
    }

    #[test]
    fn programs_say_what_they_need() {
        assert_eq!(needs(&program(1, b"code")), Some(Vec::new()));
        assert_eq!(needs(&program(3, b"/lib/loader\0")), Some(vec!["the loader /lib/loader".to_owned()]));
        let mut list = vec![0; 48];
        (list[0], list[16]) = (1, 1);
        assert_eq!(needs(&program(2, &list)), Some(vec!["2 libraries".to_owned()]));
        assert_eq!(needs(&program(2, &[0; 16])), Some(Vec::new()), "a program that moves itself has an empty list");
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(needs(&own).is_some_and(|needs| !needs.is_empty()), "this test is no static program");
    }

    #[test]
    fn what_is_no_program_is_none() {
        assert_eq!(needs(b"#!/bin/sh\n"), None);
        let whole = program(3, b"/lib/loader\0");
        for length in 6..whole.len() {
            assert_eq!(needs(&whole[..length]), None, "{length}");
        }
    }
}
