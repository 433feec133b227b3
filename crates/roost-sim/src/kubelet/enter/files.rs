//! The files of a container that runs nothing: a few, in memory, and as a tar archive, which is how `kubectl cp` wants them.

use std::collections::BTreeMap;

/// What the files of one container may come to.
const MAX_BYTES: usize = 1 << 20;
const BLOCK: usize = 512;

/// Files by their absolute path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    pub(super) fn read(&self, path: &str) -> Option<&[u8]> {
        self.0.get(&absolute("/", path)).map(Vec::as_slice)
    }

    /// Writes a file; what does not fit is refused.
    pub(super) fn write(&mut self, path: &str, content: Vec<u8>) -> Result<(), String> {
        let path = absolute("/", path);
        let others: usize = self.0.iter().filter(|(other, _)| **other != path).map(|(_, bytes)| bytes.len()).sum();
        if others + content.len() > MAX_BYTES {
            return Err(format!("{path}: no space left on a simulated disk"));
        }
        self.0.insert(path, content);
        Ok(())
    }

    /// Whether a path is a folder: the root, or one with files in it.
    pub(super) fn is_folder(&self, path: &str) -> bool {
        let path = absolute("/", path);
        path == "/" || path == "/tmp" || self.0.keys().any(|file| file.starts_with(&format!("{path}/")))
    }

    /// What is directly in a folder.
    pub(super) fn list(&self, path: &str) -> Vec<String> {
        let prefix = format!("{}/", absolute("/", path).trim_end_matches('/'));
        let inside = self.0.keys().filter_map(|file| file.strip_prefix(&prefix));
        let mut names: Vec<String> = inside.map(|rest| rest.split('/').next().unwrap_or_default().to_owned()).collect();
        names.dedup();
        names
    }

    /// A path and all below it as an archive; none when nothing is there.
    pub(super) fn pack(&self, path: &str) -> Option<Vec<u8>> {
        let path = absolute("/", path);
        let below = format!("{}/", path.trim_end_matches('/'));
        let mut archive = Vec::new();
        for (file, content) in self.0.iter().filter(|(file, _)| **file == path || file.starts_with(&below)) {
            archive.extend(head(file.trim_start_matches('/'), content.len())?);
            archive.extend(content);
            archive.resize(archive.len().next_multiple_of(BLOCK), 0);
        }
        if archive.is_empty() {
            return None;
        }
        archive.extend([0; 2 * BLOCK]);
        Some(archive)
    }

    /// Takes the files of an archive into a folder.
    pub(super) fn unpack(&mut self, folder: &str, mut archive: &[u8]) -> Result<(), String> {
        while let Some(head) = archive.get(..BLOCK) {
            if head.iter().all(|byte| *byte == 0) {
                break;
            }
            let text = |from: usize, to: usize| {
                let field = &head[from..to];
                let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
                String::from_utf8_lossy(&field[..end]).into_owned()
            };
            let size = usize::from_str_radix(text(124, 136).trim(), 8).map_err(|_| "this is no archive".to_owned())?;
            let padded = size.checked_next_multiple_of(BLOCK).ok_or("this is no archive")?;
            let content = archive.get(BLOCK..BLOCK.saturating_add(size)).ok_or("the archive ends too soon")?;
            if matches!(head[156], b'0' | 0) {
                let (prefix, name) = (text(345, 500), text(0, 100));
                let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
                self.write(&absolute(folder, &name), content.to_vec())?;
            }
            archive = archive.get(BLOCK.saturating_add(padded)..).unwrap_or_default();
        }
        Ok(())
    }
}

/// A path from the root, without `.` and `..`.
fn absolute(folder: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
    let mut parts = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The block before a file's content; none for names that are too long for it.
fn head(name: &str, size: usize) -> Option<[u8; BLOCK]> {
    let mut head = [0; BLOCK];
    let mut put = |place: usize, bytes: &[u8]| head[place..place + bytes.len()].copy_from_slice(bytes);
    if name.len() > 100 {
        return None;
    }
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_can_be_unpacked() {
        let mut files = Files::default();
        files.write("/tmp/a/one", b"1".to_vec()).unwrap();
        files.write("/tmp/a/two", vec![2; 700]).unwrap();
        let archive = files.pack("/tmp/a").expect("an archive");
        assert_eq!(archive.len() % BLOCK, 0);
        let mut others = Files::default();
        others.unpack("/data", &archive).unwrap();
        assert_eq!(others.read("/data/tmp/a/two"), Some(&[2; 700][..]));
        assert_eq!(others.list("/data/tmp/a"), ["one", "two"]);
        assert!(others.is_folder("/data/tmp") && !others.is_folder("/data/tmp/a/one"));
        assert_eq!(files.pack("/nothing"), None);
    }

    #[test]
    fn nonsense_and_too_much_are_refused() {
        let mut files = Files::default();
        assert!(files.unpack("/", &[7; 600]).is_err());
        assert!(files.write("/large", vec![0; MAX_BYTES + 1]).is_err());
        assert_eq!(absolute("/a", "../../../etc/./x"), "/etc/x");
        let mut lying = head("x", 10).expect("a head").to_vec();
        lying.extend(b"short");
        assert!(files.unpack("/", &lying).is_err());
    }
}
