//! The words for kinds and fields, unpacked while they are needed.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::io::Read as _;
use std::ops::Range;
use std::sync::LazyLock;

use flate2::read::DeflateDecoder;
use parking_lot::Mutex;
use roost_kinds::openapi::Descriptions;
use roost_kinds::{Shape, Type};

// The packages by name, each a compressed text: what the build script wrote.
include!(concat!(env!("OUT_DIR"), "/words.rs"));

/// Before each type.
const RECORD: char = '\u{1e}';
/// Between the name and the words of a type, and the names and words of its fields.
const UNIT: char = '\u{1f}';

/// The words of all packages; each is unpacked when it is first asked for, and gone with this value.
pub(super) struct Words {
    packages: Vec<OnceCell<Package>>,
}

struct Package {
    text: String,
    /// Where the record of each type lies, by name.
    records: HashMap<Box<str>, Range<usize>>,
}

impl Default for Words {
    fn default() -> Self {
        Self { packages: PACKAGES.iter().map(|_| OnceCell::new()).collect() }
    }
}

impl Package {
    fn unpack(packed: &[u8]) -> Self {
        let mut text = String::new();
        let read = DeflateDecoder::new(packed).read_to_string(&mut text);
        debug_assert!(read.is_ok(), "the build script packed it");
        let mut records = HashMap::new();
        let mut start = 0;
        for record in text.split(RECORD) {
            let end = start + record.len();
            let name = record.split(UNIT).next().unwrap_or_default();
            records.insert(name.into(), start..end);
            start = end + RECORD.len_utf8();
        }
        Self { text, records }
    }

    /// The parts of a type's record after its name.
    fn units(&self, name: &str) -> Option<impl Iterator<Item = &str>> {
        let record = self.records.get(name)?;
        Some(self.text[record.clone()].split(UNIT).skip(1))
    }
}

impl Words {
    fn package(&self, schema: &str) -> Option<(&Package, usize)> {
        let (package, name) = schema.rsplit_once('.')?;
        let index = PACKAGES.binary_search_by_key(&package, |(name, _)| name).ok()?;
        let unpacked = self.packages[index].get_or_init(|| Package::unpack(PACKAGES[index].1));
        Some((unpacked, schema.len() - name.len()))
    }
}

impl Descriptions for Words {
    fn of_schema(&self, schema: &str) -> &str {
        let find = || {
            let (package, start) = self.package(schema)?;
            package.units(&schema[start..])?.next()
        };
        find().unwrap_or_default()
    }

    fn of_field(&self, schema: &str, field: &str) -> &str {
        let find = || {
            let (package, start) = self.package(schema)?;
            let mut units = package.units(&schema[start..])?.skip(1);
            while let Some(name) = units.next() {
                let words = units.next()?;
                if name == field {
                    return Some(words);
                }
            }
            None
        };
        find().unwrap_or_default()
    }
}

/// The words that tables have asked for: one entry a column of a built-in kind, and so bounded.
static COLUMNS: LazyLock<Mutex<HashMap<String, String>>> = LazyLock::new(Mutex::default);

/// The description of a field of a built-in kind, by its dotted path.
pub(crate) fn description(api_version: &str, kind: &str, path: &str) -> String {
    let key = format!("{api_version} {kind} {path}");
    if let Some(known) = COLUMNS.lock().get(&key) {
        return known.clone();
    }
    let Some((owner, field)) = roost_kinds::type_of(api_version, kind).and_then(|ty| owner(ty, path)) else {
        return String::new();
    };
    let words = Words::default().of_field(owner, field).to_owned();
    COLUMNS.lock().insert(key, words.clone());
    words
}

/// The schema that has the field at the end of a path, and the field.
fn owner(mut ty: &'static Type, path: &str) -> Option<(&'static str, &'static str)> {
    let mut steps = path.split('.').peekable();
    while let Some(step) = steps.next() {
        let field = ty.field(step)?;
        if steps.peek().is_none() {
            return Some((ty.openapi, field.json));
        }
        ty = match field.ty {
            Shape::Struct(below) => below,
            Shape::List(element) => match element.ty {
                Shape::Struct(below) => below,
                _ => return None,
            },
            _ => return None,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_of_the_documents_is_described() {
        let words = Words::default();
        for name in roost_kinds::openapi::names() {
            let document = roost_kinds::openapi::built_in(&name).unwrap();
            let bytes = document.write(&words, roost_kinds::openapi::Format::Json);
            let document: roost_object::Value = serde_json::from_slice(&bytes).unwrap();
            for (schema, value) in document["components"]["schemas"].as_object().into_iter().flatten() {
                assert!(value["description"].is_string(), "{schema} in {name}");
            }
        }
    }

    #[test]
    fn columns_find_their_fields() {
        assert!(description("v1", "Pod", "metadata.name").starts_with("Name must be unique within a namespace."));
        assert!(description("apps/v1", "Deployment", "spec.template.spec.nodeSelector").starts_with("NodeSelector is"));
        assert!(description("v1", "Service", "spec.ports.port").starts_with("The port"));
        assert_eq!(description("v1", "Pod", "spec.nonsense"), "");
        assert_eq!(description("v1", "Nonsense", "spec"), "");
    }
}
