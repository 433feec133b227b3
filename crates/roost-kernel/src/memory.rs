//! Memory that a process holds without needing it.

use std::ffi::c_void;
use std::io;

use rustix::mm::{Advice, madvise};

/// Gives the pages of the program and its libraries back that the process has touched, such as the code that only a
/// start needs. They stay in the cache of files for as long as the kernel wants; what is needed again comes from there,
/// at the cost of a page fault for each 64 KiB. Answers how many bytes were resident.
pub fn give_back_program() -> io::Result<usize> {
    let mut resident = 0;
    for mapping in untouched_files(&std::fs::read_to_string("/proc/self/smaps")?) {
        forget(&mapping)?;
        resident += mapping.resident;
    }
    Ok(resident)
}

/// Pages of a file that nobody can write to, as it is.
#[derive(Debug, PartialEq, Eq)]
struct Mapping {
    start: usize,
    length: usize,
    /// Bytes of it that are in memory.
    resident: usize,
}

#[allow(unsafe_code)]
fn forget(mapping: &Mapping) -> io::Result<()> {
    // SAFETY: all pages are those of the file, and none is a copy that this process changed. The kernel takes such pages
    // at any time when memory is short; whoever reads them next gets the same bytes from the file again.
    unsafe { madvise(mapping.start as *mut c_void, mapping.length, Advice::LinuxDontNeed) }?;
    Ok(())
}

/// The mappings of files, in the kernel's description of all mappings, that hold nothing of this process's own: not the
/// part that the loader has written addresses into and then closed.
fn untouched_files(description: &str) -> Vec<Mapping> {
    let mut found = Vec::new();
    let mut current = None;
    for line in description.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(first) = words.next() else { continue };
        match first.strip_suffix(':') {
            None => current = file_mapping(first, &words.collect::<Vec<_>>()),
            Some(name) => {
                let bytes = words.next().and_then(|number| number.parse::<usize>().ok()).unwrap_or(0) * 1024;
                match (name, &mut current) {
                    ("Rss", Some(mapping)) => mapping.resident = bytes,
                    ("Anonymous" | "Locked", _) if bytes > 0 => current = None,
                    ("VmFlags", _) => found.extend(current.take().filter(|mapping| mapping.resident > 0)),
                    _ => {}
                }
            }
        }
    }
    found
}

/// Reads `559ddd57a000-559dddeb1000`, `r-xp 00937000 fe:00 1234 /usr/bin/hcp`, if that is a file which cannot be written to.
fn file_mapping(range: &str, rest: &[&str]) -> Option<Mapping> {
    let [permissions, _, _, inode, path, ..] = rest else { return None };
    let (start, end) = range.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    let is_file = *inode != "0" && path.starts_with('/');
    let is_private = permissions.starts_with('r') && !permissions.contains('w') && permissions.ends_with('p');
    (is_file && is_private).then_some(Mapping { start, length: end.checked_sub(start)?, resident: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(header: &str, resident: usize, anonymous: usize) -> String {
        format!(
            "{header}\nSize: 100 kB\nRss: {resident} kB\nAnonymous: {anonymous} kB\nLocked: 0 kB\nVmFlags: rd ex mr\n"
        )
    }

    #[test]
    fn only_files_that_nobody_changed_are_given_back() {
        let code = described("1000-5000 r-xp 00001000 fe:00 7 /usr/bin/hcp", 8, 0);
        let relocated = described("5000-6000 r--p 00005000 fe:00 7 /usr/bin/hcp", 4, 4);
        let data = described("6000-7000 rw-p 00006000 fe:00 7 /usr/bin/hcp", 4, 0);
        let heap = described("7000-9000 rw-p 00000000 00:00 0 [heap]", 8, 8);
        let kernel = described("9000-a000 r-xp 00000000 00:00 0 [vdso]", 4, 0);
        let shared = described("a000-b000 r--s 00000000 fe:00 8 /var/cache/names", 4, 0);
        let absent = described("b000-c000 r-xp 00000000 fe:00 9 /usr/lib/libm.so.6", 0, 0);
        let found = untouched_files(&(code + &relocated + &data + &heap + &kernel + &shared + &absent));
        assert_eq!(found, [Mapping { start: 0x1000, length: 0x4000, resident: 8192 }]);
    }

    #[test]
    fn a_program_goes_on_without_its_pages() {
        let before = resident_code();
        assert!(give_back_program().unwrap() > 0);
        let after = resident_code();
        assert!(after < before, "{after} KiB of code are in memory, {before} before");
    }

    /// KiB of files in this process.
    fn resident_code() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).unwrap();
        line.split_ascii_whitespace().next().unwrap().parse().unwrap()
    }
}
