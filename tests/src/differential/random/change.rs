//! Random changes of an object that exists, and the merge patch that stands for a change.

use serde_json::{Map, Value, json};

use super::schema::{Field, Shape, resolve};
use super::values::Generator;

/// The object with one place of it changed, mostly in its main field.
pub(super) fn change_object<'a>(generator: &mut Generator<'a>, object: &Value, shape: &'a Shape, main: &str) -> Value {
    if let (Value::Object(fields), Shape::Object(shapes)) = (object, resolve(generator.shapes, shape))
        && let Some(field) = shapes.iter().find(|field| field.name == main)
        && (main == "status" || fields.contains_key(main))
        && generator.random.chance(75)
    {
        let mut object = object.clone();
        let old = fields.get(main).cloned().unwrap_or_else(|| json!({}));
        object[main] = change(generator, &old, &field.shape, main, 1);
        return object;
    }
    change(generator, object, shape, "", 0)
}

/// The same value with one place of it changed.
fn change<'a>(generator: &mut Generator<'a>, value: &Value, shape: &'a Shape, name: &str, depth: u64) -> Value {
    let shape = resolve(generator.shapes, shape);
    let goes_deeper = depth == 0 || generator.random.chance(93);
    match (value, shape) {
        (Value::Object(object), Shape::Object(fields)) if goes_deeper => {
            let is_type = |field: &Field| depth == 0 && matches!(field.name.as_str(), "apiVersion" | "kind");
            let fields: Vec<&'a Field> = fields.iter().filter(|field| !is_type(field)).collect();
            change_field(generator, object, &fields, depth)
        }
        (Value::Object(object), Shape::Map(values)) if goes_deeper => {
            change_entry(generator, object, values, name, depth)
        }
        (Value::Object(object), Shape::Metadata) => change_metadata(generator, object, shape),
        (Value::Array(items), Shape::List(shape)) if goes_deeper => change_item(generator, items, shape, name, depth),
        _ => generator.value(shape, name, depth),
    }
}

/// The name and the namespace are those of the path, and what each server wrote stays; all else may change.
fn change_metadata<'a>(generator: &mut Generator<'a>, object: &Map<String, Value>, shape: &'a Shape) -> Value {
    let mut object = object.clone();
    if generator.random.chance(30) {
        let others = [
            ("generation", json!(7)),
            ("deletionTimestamp", json!("2020-01-01T00:00:00Z")),
            ("deletionGracePeriodSeconds", json!(5)),
            ("selfLink", json!("/x")),
            ("generateName", json!("g-")),
        ];
        let (name, value) = generator.random.pick(&others);
        object.insert((*name).to_owned(), value.clone());
    } else {
        let drawn = generator.value(shape, "metadata", 1);
        let drawn = drawn.as_object().into_iter().flatten().filter(|(name, _)| !name.to_lowercase().contains("name"));
        object.extend(drawn.map(|(name, value)| (name.clone(), value.clone())));
    }
    Value::Object(object)
}

fn change_field<'a>(
    generator: &mut Generator<'a>,
    object: &Map<String, Value>,
    fields: &[&'a Field],
    depth: u64,
) -> Value {
    let mut object = object.clone();
    let present: Vec<&'a Field> = fields.iter().copied().filter(|field| object.contains_key(&field.name)).collect();
    let field = match () {
        () if !present.is_empty() && generator.random.chance(70) => Some(*generator.random.pick(&present)),
        () if !fields.is_empty() => Some(*generator.random.pick(fields)),
        () => None,
    };
    let Some(field) = field else { return Value::Object(object) };
    match object.get(&field.name) {
        Some(_) if depth > 0 && generator.random.chance(12) => {
            object.remove(&field.name);
        }
        Some(old) => {
            let new = change(generator, old, &field.shape, &field.name, depth + 1);
            object.insert(field.name.clone(), new);
        }
        None => {
            let new = generator.value(&field.shape, &field.name, depth + 1);
            object.insert(field.name.clone(), new);
        }
    }
    Value::Object(object)
}

fn change_entry<'a>(
    generator: &mut Generator<'a>,
    object: &Map<String, Value>,
    values: &'a Shape,
    name: &str,
    depth: u64,
) -> Value {
    let mut object = object.clone();
    let keys: Vec<String> = object.keys().cloned().collect();
    if !keys.is_empty() && generator.random.chance(70) {
        let key = generator.random.pick(&keys).clone();
        if generator.random.chance(50) {
            object.remove(&key);
        } else if let Some(old) = object.get(&key) {
            let new = change(generator, old, values, name, depth + 1);
            object.insert(key, new);
        }
    } else {
        let key = (*generator.random.pick(super::pools::KEYS)).to_owned();
        let new = generator.value(values, name, depth + 1);
        object.insert(key, new);
    }
    Value::Object(object)
}

fn change_item<'a>(generator: &mut Generator<'a>, items: &[Value], shape: &'a Shape, name: &str, depth: u64) -> Value {
    let mut items = items.to_vec();
    let place = generator.random.below(items.len() as u64) as usize;
    match generator.random.below(100) {
        0..60 if !items.is_empty() => items[place] = change(generator, &items[place], shape, name, depth + 1),
        60..72 if !items.is_empty() => {
            items.remove(place);
        }
        72..80 if !items.is_empty() => items.push(items[place].clone()),
        80..85 => items.reverse(),
        _ => items.push(generator.value(shape, name, depth + 1)),
    }
    Value::Array(items)
}

/// The merge patch that makes the new object of the old one.
pub(super) fn patch_between(old: &Value, new: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return new.clone() };
    let mut patch = Map::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in new {
        match old.get(name) {
            Some(same) if same == value => {}
            Some(before @ Value::Object(_)) if value.is_object() => {
                patch.insert(name.clone(), patch_between(before, value));
            }
            _ => {
                patch.insert(name.clone(), value.clone());
            }
        }
    }
    Value::Object(patch)
}

#[cfg(test)]
mod tests {
    use roost_merge::merge_patch;
    use serde_json::json;

    use super::super::oddities::Oddity;
    use super::super::schema::{Field, Shape, Shapes};
    use super::super::values::Generator;
    use super::{change, patch_between};
    use crate::random::Random;

    #[test]
    fn a_patch_stands_for_every_change() {
        let list = Shape::List(Box::new(Shape::Integer));
        let fields = [("spec", Shape::Map(Box::new(Shape::Text(Vec::new())))), ("list", list)];
        let fields = fields.map(|(name, shape)| Field { name: name.to_owned(), required: false, shape });
        let (shape, shapes) = (Shape::Object(fields.into()), Shapes::new());
        let object = json!({"apiVersion": "v1", "spec": {"a": "b", "c": "d"}, "list": [1, 2]});
        let mut changed = 0;
        for seed in 0..200 {
            let mut generator =
                Generator { random: Random::new(seed), shapes: &shapes, density: 30, oddity: Oddity::None };
            let new = change(&mut generator, &object, &shape, "", 0);
            assert_eq!(new["apiVersion"], "v1");
            assert_eq!(merge_patch::apply(object.clone(), patch_between(&object, &new)), new);
            changed += usize::from(new != object);
        }
        assert!(changed > 150, "only {changed} of 200 changes change something");
    }
}
