//! The hashes of documents, by which clients see that they changed.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::LazyLock;

use aws_lc_rs::digest::{Context, SHA512};
use parking_lot::Mutex;
use roost_kinds::openapi::{self, Format};

use super::recent;
use super::words::Words;

/// The hashes of the built-in documents that were written so far: a few kilobytes for all of them.
static BUILT_IN: LazyLock<Mutex<HashMap<String, String>>> = LazyLock::new(Mutex::default);

/// Held while all documents are written, so that a crowd of first callers has them written once.
static WRITING: Mutex<()> = Mutex::new(());

/// The hash of some parts, in the form that stock gives hashes.
pub(super) fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut context = Context::new(&SHA512);
    for part in parts {
        context.update(part);
    }
    context.finish().as_ref().iter().fold(String::with_capacity(128), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// The hash of a built-in document; none when there is no such document.
pub(super) fn of_built_in(name: &str) -> Option<String> {
    if let Some(known) = BUILT_IN.lock().get(name) {
        return Some(known.clone());
    }
    openapi::built_in(name)?;
    // Who asks for the hash mostly wants the document next.
    let hash = of([&*recent::built_in(name, Format::Json)]);
    BUILT_IN.lock().insert(name.to_owned(), hash.clone());
    Some(hash)
}

/// The hashes of all built-in documents.
pub(super) fn of_all_built_in() -> BTreeMap<String, String> {
    let _writing = WRITING.lock();
    let mut words = None;
    let mut hashes = BTreeMap::new();
    for name in openapi::names() {
        let known = BUILT_IN.lock().get(&name).cloned();
        let hash = known.or_else(|| {
            let document = openapi::built_in(&name)?;
            let hash = of([&*document.write(words.get_or_insert_with(Words::default), Format::Json)]);
            BUILT_IN.lock().insert(name.clone(), hash.clone());
            Some(hash)
        });
        hashes.extend(hash.map(|hash| (name, hash)));
    }
    hashes
}

/// The hash of the document about everything, with the hashes of the documents about custom kinds.
pub(super) fn of_everything(custom: &[(String, String)]) -> String {
    let built_in = of_all_built_in();
    let parts = built_in.iter().chain(custom.iter().map(|(name, hash)| (name, hash)));
    of(parts.flat_map(|(name, hash)| [name.as_bytes(), hash.as_bytes()]))
}
