//! Owns the short words that the tests are written in.

use std::path::Path;

use bytes::Bytes;
use roost_store::journal::file::{FileJournal, FileOptions};
use roost_store::{Collection, Expect, ListQuery, Operation, Options, Store, Write};

/// Files so small that a few writes fill several of them.
pub(crate) const TINY_FILES: FileOptions = FileOptions { segment_bytes: 400, compact_bytes: 600 };

pub(crate) fn pods() -> Collection {
    Collection::new("tenant", "", "pods")
}

pub(crate) fn nodes() -> Collection {
    Collection::new("tenant", "", "nodes")
}

pub(crate) fn put(collection: &Collection, name: &str, value: &str) -> Write {
    Write {
        collection: collection.clone(),
        name: name.into(),
        expect: Expect::Anything,
        operation: Operation::Put(Bytes::copy_from_slice(value.as_bytes())),
    }
}

pub(crate) fn delete(collection: &Collection, name: &str) -> Write {
    Write { collection: collection.clone(), name: name.into(), expect: Expect::Anything, operation: Operation::Delete }
}

pub(crate) fn open(directory: &Path) -> Store {
    Store::open_file(directory, Options::default()).unwrap()
}

pub(crate) fn open_tiny(directory: &Path, options: Options) -> Store {
    Store::open(FileJournal::open(directory, TINY_FILES).unwrap(), options).unwrap()
}

/// The error of an opening that must fail.
pub(crate) fn refusal(directory: &Path) -> roost_store::OpenError {
    match Store::open_file(directory, Options::default()) {
        Ok(store) => panic!("opened at revision {}", store.revision()),
        Err(error) => error,
    }
}

/// Names and values of a collection as it stands.
pub(crate) fn contents(store: &Store, collection: &Collection) -> Vec<(String, String)> {
    let page = store.list(collection, ListQuery::default()).unwrap();
    let text = |value: &Bytes| String::from_utf8_lossy(value).into_owned();
    page.entries.iter().map(|entry| (entry.name.to_string(), text(&entry.value))).collect()
}
