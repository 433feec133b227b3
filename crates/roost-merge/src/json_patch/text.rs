//! What a JSON patch makes of the text of a document. The patch has been applied to the document's value before.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::document::{position, steps};
use crate::PatchError;
use crate::lazy::Node;

/// The text of a patched document; none for what [`apply`](super::apply) refuses.
pub fn text(document: &str, patch: &[u8]) -> Option<String> {
    replay(document, patch).ok().map(|document| document.text())
}

/// Makes the tests of a patch once more with the texts, which may differ where the values do not: stock compares those.
pub fn check_tests(document: &str, patch: &[u8]) -> Result<(), PatchError> {
    match replay(document, patch) {
        Err(Failure::Test(path)) => Err(PatchError::Unprocessable(format!("testing value {path} failed: test failed"))),
        Ok(_) | Err(Failure::Other) => Ok(()),
    }
}

/// Why a patch does not apply to a text.
enum Failure {
    /// The value at a path is another one.
    Test(String),
    /// What the value of the document shows as well.
    Other,
}

fn replay(document: &str, patch: &[u8]) -> Result<Node, Failure> {
    let operations: Option<Vec<Option<Operation>>> = serde_json::from_slice(patch).map_err(|_| Failure::Other)?;
    let mut document = Node::document(document).ok_or(Failure::Other)?;
    document.fields().ok_or(Failure::Other)?;
    for mut operation in operations.into_iter().flatten().flatten() {
        if text_of(&operation, "op").is_some_and(|kind| kind == "test") {
            test(&mut document, &mut operation)?;
        } else {
            run(&mut document, operation).ok_or(Failure::Other)?;
        }
    }
    Ok(document)
}

fn text_of(operation: &Operation, name: &str) -> Option<String> {
    serde_json::from_str(operation.get(name)?.get()).ok()
}

fn test(document: &mut Node, operation: &mut Operation) -> Result<(), Failure> {
    let path = text_of(operation, "path").ok_or(Failure::Other)?;
    let Some(tested) = find(document, &path).filter(|tested| !tested.is_null()) else { return Ok(()) };
    let mut expected = operation.remove("value").map_or_else(Node::null, Node::Text);
    if tested.is_same(&mut expected) { Ok(()) } else { Err(Failure::Test(path)) }
}

type Operation = BTreeMap<String, Box<RawValue>>;

fn run(document: &mut Node, mut operation: Operation) -> Option<()> {
    let value = operation.remove("value").map_or_else(Node::null, Node::Text);
    let text = |name: &str| text_of(&operation, name);
    let path = text("path")?;
    match text("op")?.as_str() {
        "replace" if path.is_empty() => {
            *document = value;
            document.fields().is_some().then_some(())
        }
        "replace" => replace(document, &path, value),
        "add" => add(document, &path, value),
        "remove" => remove(document, &path).map(drop),
        "move" => {
            let moved = remove(document, &text("from")?)?;
            add(document, &path, moved)
        }
        "copy" => {
            // Both ends are looked for before the value is copied, which may hold the other end.
            container(document, &path)?;
            let copied = find(document, &text("from")?).map(|source| source.text());
            add(document, &path, copied.map_or_else(|| Some(Node::null()), |copied| Node::unopened(&copied))?)
        }
        _ => None,
    }
}

/// Opens what holds the last step of a path, and hands it out with that step.
fn container<'d>(document: &'d mut Node, path: &str) -> Option<(&'d mut Node, String)> {
    let mut steps: Vec<String> = steps(path).collect();
    let last = steps.pop()?;
    let mut place = document;
    for step in steps {
        place = child(place, &step)?;
    }
    (place.fields().is_some() || place.elements().is_some()).then_some((place, last))
}

/// A value inside another, which is opened.
fn child<'d>(place: &'d mut Node, step: &str) -> Option<&'d mut Node> {
    if place.fields().is_some() {
        return place.fields()?.get_mut(step);
    }
    let elements = place.elements()?;
    let at = position(step, elements.len()).ok()?;
    elements.get_mut(at)
}

fn find<'d>(document: &'d mut Node, path: &str) -> Option<&'d mut Node> {
    if path.is_empty() {
        return Some(document);
    }
    let (container, step) = container(document, path)?;
    child(container, &step)
}

fn add(document: &mut Node, path: &str, value: Node) -> Option<()> {
    let (container, step) = container(document, path)?;
    if let Some(fields) = container.fields() {
        fields.insert(step, value);
        return Some(());
    }
    let elements = container.elements()?;
    let at = if step == "-" { elements.len() } else { position(&step, elements.len() + 1).ok()? };
    elements.insert(at, value);
    Some(())
}

fn replace(document: &mut Node, path: &str, value: Node) -> Option<()> {
    let (container, step) = container(document, path)?;
    if let Some(fields) = container.fields() {
        fields.insert(step, value);
        return Some(());
    }
    *child(container, &step)? = value;
    Some(())
}

fn remove(document: &mut Node, path: &str) -> Option<Node> {
    let (container, step) = container(document, path)?;
    if let Some(fields) = container.fields() {
        return fields.remove(&step);
    }
    let elements = container.elements()?;
    let at = position(&step, elements.len()).ok()?;
    Some(elements.remove(at))
}

#[cfg(test)]
mod tests {
    use super::{check_tests, text};

    #[test]
    fn tests_compare_texts() {
        let document = r#"{"text":"a <b>","number":1.5,"list":[{"b":1,"a":"x"}],"nothing":null}"#;
        for (path, value, passes) in [
            ("/text", r#""a \u003cb\u003e""#, true),
            ("/text", r#""a <b>""#, false),
            ("/number", "1.5", true),
            ("/number", "1.50", false),
            ("/list", r#"[ {"a":"x", "b":1} ]"#, true),
            ("/list/0", r#"{"a":"\u0078","b":1}"#, false),
            ("/nothing", "null", true),
            ("/missing", "null", true),
        ] {
            let patch = format!(r#"[{{"op":"test","path":"{path}","value":{value}}}]"#);
            assert_eq!(check_tests(document, patch.as_bytes()).is_ok(), passes, "{patch}");
        }
    }

    #[test]
    fn what_a_patch_brings_stays_as_it_is_written() {
        let document = r#"{"kind":"K","a":{"z":1,"y":{"x":1,"w":2}},"list":[{"b":1,"a":2}]}"#;
        for (patch, expected) in [
            (
                r#"[{"op":"add","path":"/a/v","value":{"b":1,"a":2,"b":3}}]"#,
                r#"{"a":{"v":{"b":1,"a":2,"b":3},"y":{"x":1,"w":2},"z":1},"kind":"K","list":[{"b":1,"a":2}]}"#,
            ),
            (
                r#"[{"op":"add","path":"/v","value":{"b":1,"a":{"d":1,"c":1},"b":3}},{"op":"replace","path":"/v/c","value":4}]"#,
                r#"{"a":{"z":1,"y":{"x":1,"w":2}},"kind":"K","list":[{"b":1,"a":2}],"v":{"a":{"d":1,"c":1},"b":3,"c":4}}"#,
            ),
            (
                r#"[{"op":"move","from":"/a","path":"/list/0"},{"op":"copy","from":"/list/-1","path":"/c"}]"#,
                r#"{"c":{"b":1,"a":2},"kind":"K","list":[{"z":1,"y":{"x":1,"w":2}},{"b":1,"a":2}]}"#,
            ),
            (
                r#"[{"op":"copy","from":"/a","path":"/a/y/v"},{"op":"copy","from":"/list","path":"/list/0/c"}]"#,
                r#"{"a":{"y":{"v":{"y":{"w":2,"x":1},"z":1},"w":2,"x":1},"z":1},"kind":"K","list":[{"a":2,"b":1,"c":[{"a":2,"b":1}]}]}"#,
            ),
            (
                r#"[{"op":"test","path":"/b"},{"op":"copy","from":"/a/b","path":"/b"},{"op":"replace","path":"/list/0","value":1}]"#,
                r#"{"a":{"y":{"x":1,"w":2},"z":1},"b":null,"kind":"K","list":[1]}"#,
            ),
            (
                r#"[{"op":"test","path":"/a","value":{"z":1,"y":{"x":1,"w":2}}},{"op":"remove","path":"/list/0"}]"#,
                r#"{"a":{"y":{"w":2,"x":1},"z":1},"kind":"K","list":[]}"#,
            ),
        ] {
            assert_eq!(text(document, patch.as_bytes()).as_deref(), Some(expected), "{patch}");
        }
    }
}
