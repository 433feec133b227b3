//! OpenAPI documents: what there is to read and write, for people and for clients that check before they send.
//!
//! A document is planned as routes and a set of schemas, which is cheap, and rendered piece by piece into one buffer, so
//! that the large ones never stand in memory as trees. What the fields mean is not known here: the caller brings the words.

mod built_in;
mod custom;
mod document;
mod json_schema;
mod names;
mod ordered;
mod pages;
mod parameters;
mod protobuf;
mod protobuf_v2;
mod protobuf_v3;
mod render;
mod route;
mod schema;
#[cfg(test)]
mod tests;
mod versions;

pub use custom::CustomKind;
pub use document::{Document, Format};

use serde_json::Value;

/// The words for schemas and their fields.
pub trait Descriptions {
    /// What a schema describes; empty when nothing is known.
    fn of_schema(&self, schema: &str) -> &str;
    /// What a field of a schema means; empty when nothing is known.
    fn of_field(&self, schema: &str, field: &str) -> &str;
}

/// No words at all.
#[derive(Clone, Copy, Debug)]
pub struct Undescribed;

impl Descriptions for Undescribed {
    fn of_schema(&self, _: &str) -> &'static str {
        ""
    }

    fn of_field(&self, _: &str, _: &str) -> &'static str {
        ""
    }
}

/// Which generation of OpenAPI a document is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// Swagger 2.0: one document for everything.
    V2,
    /// OpenAPI 3.0: a document for each group version.
    V3,
}

/// The names of the built-in documents of the third generation, sorted.
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = pages::NAMES.map(str::to_owned).into();
    for version in crate::versions() {
        names.push(pages::group_name(version.group));
        names.push(pages::version_name(version.group, version.version));
    }
    names.sort();
    names.dedup();
    names
}

/// The built-in document with a name of [`names`].
pub fn built_in(name: &str) -> Option<Document<'static>> {
    pages::document(name).or_else(|| {
        let version =
            crate::versions().iter().find(|version| pages::version_name(version.group, version.version) == name)?;
        Some(built_in::document(version.group, version.version))
    })
}

/// The document of the third generation for the custom kinds of one group version.
pub fn custom<'a>(kinds: &'a [CustomKind<'a>]) -> Document<'a> {
    custom::document(kinds)
}

/// The document of the second generation: all built-in kinds and the given custom ones.
pub fn everything<'a>(kinds: &'a [CustomKind<'a>]) -> Document<'a> {
    let mut document = Document::new(Generation::V2, "Kubernetes", KUBERNETES_VERSION);
    document.secured = true;
    for name in names() {
        if let Some(part) = built_in(&name) {
            document.join(part);
        }
    }
    document.option_versions = versions::of_the_server();
    for kind in kinds {
        custom::add(&mut document, kind);
    }
    document
}

/// The version in the documents of the built-in kinds.
const KUBERNETES_VERSION: &str = "1.36";

fn reference(generation: Generation, schema: &str) -> Value {
    let place = match generation {
        Generation::V2 => "#/definitions/",
        Generation::V3 => "#/components/schemas/",
    };
    Value::Object([("$ref".to_owned(), Value::String(format!("{place}{schema}")))].into_iter().collect())
}
