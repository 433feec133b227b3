//! The documents that were asked for a moment ago: clients come in crowds.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use roost_kinds::openapi::{self, Format};

use super::words::Words;

/// How many documents are kept. The largest has about two megabytes.
const MAX_DOCUMENTS: usize = 4;
/// How long a document is kept that nobody asks for.
const IDLE: Duration = Duration::from_secs(10);

/// Documents with their names, the longest unused first.
static RECENT: LazyLock<Mutex<Vec<Recent>>> = LazyLock::new(Mutex::default);

struct Recent {
    name: String,
    format: Format,
    document: Bytes,
    used: Instant,
}

/// A built-in document of the third generation.
pub(super) fn built_in(name: &str, format: Format) -> Bytes {
    find_or_write(name, format, || {
        openapi::built_in(name).map(|document| document.write(&Words::default(), format)).unwrap_or_default()
    })
}

/// The document of the second generation about built-in kinds alone.
pub(super) fn everything(format: Format) -> Bytes {
    find_or_write("", format, || openapi::everything(&[]).write(&Words::default(), format))
}

fn find_or_write(name: &str, format: Format, write: impl FnOnce() -> Vec<u8>) -> Bytes {
    if let Some(document) = take(&mut RECENT.lock(), name, format, Instant::now()) {
        return document;
    }
    let document = Bytes::from(write());
    let mut recent = RECENT.lock();
    let first = recent.is_empty();
    keep(&mut recent, Recent { name: name.to_owned(), format, document: document.clone(), used: Instant::now() });
    if first && let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(forget_idle());
    }
    document
}

/// Finds a document and moves it to the end of the line.
fn take(recent: &mut Vec<Recent>, name: &str, format: Format, now: Instant) -> Option<Bytes> {
    let index = recent.iter().position(|entry| entry.name == name && entry.format == format)?;
    let mut found = recent.remove(index);
    found.used = now;
    let document = found.document.clone();
    recent.push(found);
    Some(document)
}

fn keep(recent: &mut Vec<Recent>, entry: Recent) {
    recent.retain(|other| other.name != entry.name || other.format != entry.format);
    if recent.len() >= MAX_DOCUMENTS {
        recent.remove(0);
    }
    recent.push(entry);
}

/// Drops documents as they become idle, and ends with the last of them.
async fn forget_idle() {
    loop {
        let Some(oldest) = RECENT.lock().first().map(|entry| entry.used) else { return };
        tokio::time::sleep_until((oldest + IDLE).into()).await;
        let mut recent = RECENT.lock();
        recent.retain(|entry| entry.used.elapsed() < IDLE);
        if recent.is_empty() {
            recent.shrink_to_fit();
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_unused_goes_first() {
        let now = Instant::now();
        let mut recent = Vec::new();
        for name in ["a", "b", "c", "d"] {
            let document = Bytes::from_static(name.as_bytes());
            keep(&mut recent, Recent { name: name.into(), format: Format::Json, document, used: now });
        }
        assert_eq!(take(&mut recent, "a", Format::Json, now).as_deref(), Some(&b"a"[..]));
        assert!(take(&mut recent, "a", Format::Protobuf, now).is_none());
        keep(&mut recent, Recent { name: "e".into(), format: Format::Json, document: Bytes::new(), used: now });
        let names: Vec<&str> = recent.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["c", "d", "a", "e"]);
    }
}
