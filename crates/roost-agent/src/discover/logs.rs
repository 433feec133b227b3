//! What a host sends when its installation failed: what its agent said, what the kernel and the system said, and what the
//! host consists of, in one archive. No secret is in it.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;

use super::hardware;
use crate::linux::Linux;
use crate::root::Root;

/// Lines of the agent that are remembered.
const MOST_LINES: usize = 2000;
/// The longest that one file of an archive becomes; of a longer one the end is kept.
const LARGEST_FILE: usize = 1 << 20;
/// Lines of the system's journal.
const JOURNAL_LINES: &str = "4000";
/// What stands before secrets in what a kernel says of its arguments.
const SECRET_ARGUMENTS: [&str; 2] = ["roost.token=", "api_key="];
const HIDDEN: &str = "<hidden>";
/// The size of the blocks of an archive.
const BLOCK: usize = 512;

/// What the agent said lately.
#[derive(Clone, Debug, Default)]
pub(super) struct Diary(Arc<Mutex<VecDeque<String>>>);

impl Diary {
    /// Remembers words.
    pub(super) fn note(&self, words: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= MOST_LINES {
            lines.pop_front();
        }
        lines.push_back(format!("{} {words}\n", Timestamp::now()));
    }

    fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(String::as_str).collect()
    }
}

/// The archive of this host's logs. `secret` is in none of them.
pub(super) fn archive(root: &Root, diary: &Diary, secret: &str) -> io::Result<Vec<u8>> {
    let inventory = serde_json::to_string_pretty(&hardware::inventory(root))?;
    let journal = Linux::run("journalctl", &["--boot", "--no-pager", "--lines", JOURNAL_LINES]).unwrap_or_default();
    let files = [
        ("agent.log", diary.text()),
        ("kernel.log", kernel(root)),
        ("journal.log", journal),
        ("inventory.json", inventory),
    ];
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    for (name, text) in files.iter().filter(|(_, text)| !text.is_empty()) {
        let text = without_secrets(text, secret);
        let start = text.len().saturating_sub(LARGEST_FILE);
        packed.write_all(&member(name, &text.as_bytes()[start..], Timestamp::now()))?;
    }
    packed.write_all(&[0; 2 * BLOCK])?;
    packed.finish()
}

/// What the kernel said since the host started, as far as it still knows.
fn kernel(root: &Root) -> String {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let Ok(mut file) = OpenOptions::new().read(true).custom_flags(flags).open(root.at("/dev/kmsg")) else {
        return String::new();
    };
    let (mut text, mut record) = (Vec::new(), [0; 8192]);
    while text.len() < 4 * LARGEST_FILE {
        match file.read(&mut record) {
            Ok(0) => break,
            Ok(length) => text.extend_from_slice(&record[..length]),
            // What was overwritten while it was read is skipped.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::PIPE.raw_os_error()) => {}
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn without_secrets(text: &str, secret: &str) -> String {
    let mut clean = if secret.is_empty() { text.to_owned() } else { text.replace(secret, HIDDEN) };
    for argument in SECRET_ARGUMENTS {
        let mut parts = clean.split(argument);
        let mut hidden = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|letter: char| letter.is_whitespace() || "\"'&".contains(letter)).unwrap_or(part.len());
            hidden.extend([argument, HIDDEN, &part[end..]]);
        }
        clean = hidden;
    }
    clean
}

/// A file in an archive: a head of one block, the content, and nothing up to the next block.
fn member(name: &str, content: &[u8], now: Timestamp) -> Vec<u8> {
    let mut head = [0; BLOCK];
    let mut put = |place: usize, text: &str| head[place..place + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{:011o}\0", content.len()));
    put(136, &format!("{:011o}\0", now.as_second().max(0)));
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut member = head.to_vec();
    member.extend_from_slice(content);
    member.resize(member.len().next_multiple_of(BLOCK), 0);
    member
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn an_archive_has_all_files_and_no_secret() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("dev")).unwrap();
        std::fs::write(directory.path().join("dev/kmsg"), "6,1,1,-;Command line: quiet roost.token=abc.def rw\n")
            .unwrap();
        let diary = Diary::default();
        diary.note("the disk was not written: shown sesame");
        let packed = archive(&Root::new(directory.path()), &diary, "sesame").unwrap();
        let file = directory.path().join("logs.tar.gz");
        std::fs::write(&file, packed).unwrap();
        let show = |name: &str| {
            let output = Command::new("tar").arg("-xOzf").arg(&file).arg(name).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        assert!(show("agent.log").ends_with(" the disk was not written: shown <hidden>\n"));
        assert_eq!(show("kernel.log"), "6,1,1,-;Command line: quiet roost.token=<hidden> rw\n");
        assert!(show("inventory.json").starts_with('{'));
    }

    #[test]
    fn a_diary_does_not_grow_for_ever() {
        let diary = Diary::default();
        for number in 0..=MOST_LINES {
            diary.note(&number.to_string());
        }
        let text = diary.text();
        assert_eq!(text.lines().count(), MOST_LINES);
        assert!(text.lines().next().is_some_and(|line| line.ends_with(" 1")));
    }
}
