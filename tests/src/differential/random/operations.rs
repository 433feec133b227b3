//! Random JSON patches of an object that exists.

use serde_json::{Value, json};

use super::schema::{Shape, resolve};
use super::values::Generator;

/// Paths that lead nowhere, or nowhere plain.
const ODD_PATHS: &[&str] = &["", "/", "spec", "/spec/", "/none/deeper", "/metadata/labels/a~1b", "/spec/~2", "/a/-/b"];

/// A place of an object, with its shape and its name.
type Place<'a> = (String, &'a Shape, String);

/// A few operations on the object.
pub(super) fn operations<'a>(generator: &mut Generator<'a>, shape: &'a Shape, object: &Value) -> Value {
    let mut places = Vec::new();
    collect(generator, shape, object, (String::new(), ""), &mut places);
    // The identity of the caller's certificate is another one on each server.
    let is_own = |text: &str| !text.contains("credential-id");
    places.retain(|(path, ..)| !matches!(path.as_str(), "" | "/apiVersion" | "/kind" | "/metadata") && is_own(path));
    let mut operations = Vec::new();
    for _ in 0..=generator.random.below(3) {
        if places.is_empty() {
            break;
        }
        let (path, shape, name) = generator.random.pick(&places).clone();
        let (other, ..) = generator.random.pick(&places).clone();
        let path = if generator.random.chance(4) { (*generator.random.pick(ODD_PATHS)).to_owned() } else { path };
        let now = object.pointer(&path).cloned().unwrap_or_default();
        let value = generator.value(shape, &name, path.matches('/').count() as u64);
        operations.push(match generator.random.below(15) {
            0..4 => json!({"op": "replace", "path": path, "value": value}),
            4..8 => json!({"op": "add", "path": path, "value": value}),
            8 | 9 => json!({"op": "remove", "path": path}),
            10 if is_own(&now.to_string()) => json!({"op": "test", "path": path, "value": now}),
            11 => json!({"op": "test", "path": path, "value": value}),
            12 => json!({"op": "copy", "from": other, "path": path}),
            13 => json!({"op": "move", "from": other, "path": path}),
            _ => json!({"op": generator.random.pick(&["add", "replace", "", "Add"]), "path": path}),
        });
    }
    Value::from(operations)
}

/// The places that an object has or could have.
fn collect<'a>(
    generator: &Generator<'a>,
    shape: &'a Shape,
    value: &Value,
    (path, name): (String, &str),
    places: &mut Vec<Place<'a>>,
) {
    match (resolve(generator.shapes, shape), value) {
        (Shape::Object(fields), Value::Object(_)) => {
            for field in fields {
                let below = format!("{path}/{}", field.name);
                collect(generator, &field.shape, &value[&field.name], (below, &field.name), places);
            }
        }
        (Shape::Map(inner), Value::Object(entries)) => {
            for (key, entry) in entries {
                let below = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                collect(generator, inner, entry, (below, name), places);
            }
            places.push((format!("{path}/new"), inner, name.to_owned()));
        }
        (Shape::List(inner), Value::Array(items)) => {
            for (number, item) in items.iter().enumerate() {
                collect(generator, inner, item, (format!("{path}/{number}"), name), places);
            }
            places.push((format!("{path}/-"), inner, name.to_owned()));
            places.push((format!("{path}/{}", items.len() + 1), inner, name.to_owned()));
        }
        _ => {}
    }
    places.push((path, shape, name.to_owned()));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::oddities::Oddity;
    use super::super::schema::{Field, Shape, Shapes};
    use super::super::values::Generator;
    use super::operations;
    use crate::random::Random;

    #[test]
    fn operations_name_places_of_the_object() {
        let list = Shape::List(Box::new(Shape::Integer));
        let shape = Shape::Object(vec![Field { name: "list".to_owned(), required: false, shape: list }]);
        let (shapes, object) = (Shapes::new(), json!({"list": [1]}));
        let mut paths = std::collections::BTreeSet::new();
        for seed in 0..300 {
            let mut generator =
                Generator { random: Random::new(seed), shapes: &shapes, density: 30, oddity: Oddity::None };
            let drawn = operations(&mut generator, &shape, &object);
            let drawn = drawn.as_array().expect("a list");
            assert!((1..=3).contains(&drawn.len()));
            paths.extend(drawn.iter().filter_map(|operation| operation["path"].as_str().map(str::to_owned)));
        }
        for path in ["/list", "/list/0", "/list/-", "/list/2"] {
            assert!(paths.contains(path), "nothing happens at {path}");
        }
    }
}
