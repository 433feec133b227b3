//! Bodies of requests as documents and as objects of built-in kinds.

use roost_object::{Value, json, yaml};

use crate::type_of;

/// Bodies as JSON and as YAML; what can be read can be written and read again.
pub fn document(data: &[u8]) {
    if let Ok(document) = json::read(data) {
        let text = document.value.to_string();
        let again: Option<Value> = json::read(text.as_bytes()).map(|document| document.value).ok();
        assert_eq!(again, Some(document.value), "a document changes when it is written as JSON and read again");
    }
    if let Ok(document) = yaml::read(data) {
        let text = yaml::write(&document.value);
        // Stock neither quotes the key of a merge nor escapes these line breaks, and so does not read back what it wrote.
        if text.contains(['\u{2028}', '\u{2029}']) || text.contains("<<") {
            return;
        }
        // The text and not the value: a whole number is the same with and without a fraction.
        let again = yaml::read(text.as_bytes()).map(|document| yaml::write(&document.value));
        assert_eq!(again.ok().as_ref(), Some(&text), "a document changes when it is written as YAML and read again");
    }
}

/// A body as an object of the built-in kind that it names: read from bytes and from a tree, written as JSON and as
/// protobuf, it stays what it is.
pub fn object(data: &[u8]) {
    let document = json::read(data);
    let ty = document.as_ref().map_or_else(|_| type_of(&Value::Null), |document| type_of(&document.value));
    let Ok(decoded) = roost_kinds::json::read(data, ty) else { return };
    let document = match document {
        Ok(document) => document,
        // Where a kind has no field nobody looks how large a number is.
        Err(error) if error.to_string().ends_with("into Go value of type float64") => return,
        Err(error) => panic!("an object is a document: {error}"),
    };
    if document.duplicates.is_empty() {
        let from_tree = roost_kinds::json::decode(document.value, ty).map(|decoded| decoded.value);
        assert_eq!(from_tree.as_ref(), Ok(&decoded.value), "bytes and trees are read alike");
    }
    let mut written = Vec::new();
    roost_kinds::json::write(&mut written, &decoded.value, ty);
    let again = roost_kinds::json::read(&written, ty).expect("what was written can be read");
    assert_eq!(again.findings, Vec::<String>::new(), "nothing unknown is written");
    // Items of a schema that are neither a schema nor a list are written as null, and no definition has them again.
    let is_definition = ty.openapi.starts_with("io.k8s.apiextensions-apiserver.");
    let kept = if is_definition { roost_kinds::json::stored } else { roost_kinds::json::written };
    let plain = kept(&decoded.value, ty);
    assert_eq!(&again.value, &*plain, "an object stays what it is in JSON");
}
