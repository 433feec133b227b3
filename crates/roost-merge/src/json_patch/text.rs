//! What a JSON patch makes of the text of a document. The patch has been applied to the document's value before.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::document::{position, steps};
use crate::lazy::Node;

/// The text of a patched document; none for what [`apply`](super::apply) refuses.
pub fn text(document: &str, patch: &[u8]) -> Option<String> {
    let operations: Option<Vec<Option<Operation>>> = serde_json::from_slice(patch).ok()?;
    let mut document = Node::unopened(document)?;
    document.fields()?;
    for operation in operations.into_iter().flatten().flatten() {
        run(&mut document, operation)?;
    }
    Some(document.text())
}

type Operation = BTreeMap<String, Box<RawValue>>;

fn run(document: &mut Node, mut operation: Operation) -> Option<()> {
    let value = operation.remove("value").map_or_else(Node::null, Node::Text);
    let text = |name: &str| serde_json::from_str::<String>(operation.get(name)?.get()).ok();
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
        "test" => {
            if let Some(tested) = find(document, &path) {
                tested.open_all();
            }
            Some(())
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
    Some((place, last))
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
    use super::text;

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
                r#"[{"op":"copy","from":"/a","path":"/a/y/v"}]"#,
                r#"{"a":{"y":{"v":{"y":{"w":2,"x":1},"z":1},"w":2,"x":1},"z":1},"kind":"K","list":[{"b":1,"a":2}]}"#,
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
