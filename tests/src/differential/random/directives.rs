//! Random directives in strategic merge patches.

use serde_json::{Value, json};

use super::values::Generator;

/// What a list may be merged by somewhere.
const MERGE_KEYS: &[&str] = &["name", "type", "key", "containerPort", "port", "mountPath", "ip", "uid", "topologyKey"];

/// Puts a directive or two into a patch.
pub(super) fn direct(generator: &mut Generator<'_>, patch: &mut Value) {
    for _ in 0..=generator.random.below(2) {
        let mut places = Vec::new();
        collect(patch, String::new(), &mut places);
        let place = generator.random.pick(&places).clone();
        match patch.pointer_mut(&place) {
            Some(Value::Object(object)) => {
                let fields: Vec<String> = object.keys().cloned().collect();
                let field = if fields.is_empty() { "a".to_owned() } else { generator.random.pick(&fields).clone() };
                let (name, value) = match generator.random.below(8) {
                    0..3 => ("$patch".to_owned(), operation(generator)),
                    3 => ("$retainKeys".to_owned(), json!(fields)),
                    4 => ("$retainKeys".to_owned(), json!([field])),
                    5 => (format!("$setElementOrder/{field}"), order(generator, object.get(&field))),
                    6 => (format!("$deleteFromPrimitiveList/{field}"), order(generator, object.get(&field))),
                    _ => ("$nothing".to_owned(), json!([])),
                };
                object.insert(name, value);
            }
            Some(Value::Array(items)) => {
                let key = *generator.random.pick(MERGE_KEYS);
                let known = items.iter().find_map(|item| item.get(key)).cloned();
                let value = known.unwrap_or_else(|| json!(generator.random.pick(&["o", "c", "a"])));
                let item = match generator.random.below(4) {
                    0 => json!({"$patch": operation(generator)}),
                    1 | 2 => json!({"$patch": operation(generator), key: value}),
                    _ => json!({key: value}),
                };
                let place = generator.random.below(items.len() as u64 + 1) as usize;
                items.insert(place, item);
            }
            _ => {}
        }
    }
}

fn operation(generator: &mut Generator<'_>) -> Value {
    generator
        .random
        .pick(&[json!("delete"), json!("delete"), json!("replace"), json!("merge"), json!("x"), json!(1)])
        .clone()
}

/// The keys of a list's items, or the items, in another order or with one too many.
fn order(generator: &mut Generator<'_>, list: Option<&Value>) -> Value {
    let items = list.and_then(Value::as_array).map_or(&[] as &[Value], Vec::as_slice);
    let key = *generator.random.pick(MERGE_KEYS);
    let mut order: Vec<Value> = items
        .iter()
        .map(|item| match item.get(key) {
            Some(value) => json!({key: value}),
            None => item.clone(),
        })
        .collect();
    if generator.random.chance(50) {
        order.reverse();
    }
    if generator.random.chance(20) {
        order.push(generator.random.pick(&[json!("b"), json!({"name": "b"}), json!(1)]).clone());
    }
    Value::from(order)
}

/// The objects and lists of a patch.
fn collect(value: &Value, path: String, places: &mut Vec<String>) {
    let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                collect(field, format!("{path}/{}", escaped(name)), places);
            }
            places.push(path);
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                collect(item, format!("{path}/{number}"), places);
            }
            places.push(path);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::oddities::Oddity;
    use super::super::schema::Shapes;
    use super::super::values::Generator;
    use super::direct;
    use crate::random::Random;

    #[test]
    fn directives_of_all_sorts_appear() {
        let shapes = Shapes::new();
        let mut texts = String::new();
        for seed in 0..100 {
            let random = Random::new(seed);
            let mut generator = Generator { random, shapes: &shapes, density: 30, oddity: Oddity::None };
            let mut patch = json!({"spec": {"list": [{"name": "c"}], "words": ["a", "b"]}});
            direct(&mut generator, &mut patch);
            texts.push_str(&patch.to_string());
        }
        for directive in ["$patch", "$retainKeys", "$setElementOrder/list", "$deleteFromPrimitiveList/words"] {
            assert!(texts.contains(directive), "there is no {directive}");
        }
    }
}
