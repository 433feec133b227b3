//! Changes of objects that exist: other values, other items, other orders, and the patches that say so.

use serde_json::{Map, Value, json};

use super::drawer::Drawer;

/// The same value with one place of it changed.
pub(super) fn altered(drawer: &mut Drawer, schema: &Value, value: &Value) -> Value {
    let goes_deeper = drawer.random.chance(80);
    match value {
        Value::Object(fields) if goes_deeper && schema["properties"].is_object() => {
            altered_object(drawer, schema, fields)
        }
        Value::Object(fields) if goes_deeper && !fields.is_empty() && schema["additionalProperties"].is_object() => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            let key = drawer.random.pick(&keys).clone();
            let mut fields = fields.clone();
            if drawer.random.chance(30) {
                fields.remove(&key);
            } else {
                let value = altered(drawer, &schema["additionalProperties"], &fields[&key]);
                fields.insert(key, value);
            }
            Value::Object(fields)
        }
        Value::Array(items) if goes_deeper && !items.is_empty() => altered_list(drawer, schema, items),
        _ => drawer.value(schema),
    }
}

fn altered_object(drawer: &mut Drawer, schema: &Value, fields: &Map<String, Value>) -> Value {
    let mut fields = fields.clone();
    let known: Vec<String> =
        schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    let present: Vec<String> = known.iter().filter(|name| fields.contains_key(*name)).cloned().collect();
    let from = if !present.is_empty() && drawer.random.chance(70) { &present } else { &known };
    if from.is_empty() {
        return drawer.value(schema);
    }
    let name = drawer.random.pick(from).clone();
    let inner = &schema["properties"][&name];
    match fields.get(&name) {
        Some(_) if drawer.random.chance(15) => {
            fields.remove(&name);
        }
        Some(value) => {
            let value = altered(drawer, inner, value);
            fields.insert(name, value);
        }
        None => {
            let value = drawer.value(inner);
            fields.insert(name, value);
        }
    }
    if drawer.random.chance(4) {
        let value = drawer.anything();
        fields.insert("unknown".to_owned(), value);
    }
    Value::Object(fields)
}

fn altered_list(drawer: &mut Drawer, schema: &Value, items: &[Value]) -> Value {
    let mut items = items.to_vec();
    let place = drawer.random.below(items.len() as u64) as usize;
    match drawer.random.below(10) {
        0..5 => items[place] = altered(drawer, &schema["items"], &items[place]),
        5 => {
            items.remove(place);
        }
        6 => items.push(items[place].clone()),
        7 => items.reverse(),
        _ => items.push(drawer.value(&schema["items"])),
    }
    Value::Array(items)
}

/// A few operations on the object.
pub(super) fn operations(drawer: &mut Drawer, schema: &Value, object: &Value) -> Value {
    let mut places = Vec::new();
    collect(schema, object, String::new(), &mut places);
    places.retain(|(place, _)| !place.is_empty());
    let mut operations = Vec::new();
    for _ in 0..=drawer.random.below(3) {
        if places.is_empty() {
            break;
        }
        let (place, schema) = drawer.random.pick(&places).clone();
        let (other, _) = drawer.random.pick(&places).clone();
        let value = drawer.value(schema);
        let now = object.pointer(&place).cloned().unwrap_or_default();
        operations.push(match drawer.random.below(14) {
            0..4 => json!({"op": "replace", "path": place, "value": value}),
            4..8 => json!({"op": "add", "path": place, "value": value}),
            8 | 9 => json!({"op": "remove", "path": place}),
            10 => json!({"op": "test", "path": place, "value": now}),
            11 => json!({"op": "test", "path": place, "value": value}),
            12 => json!({"op": "copy", "from": other, "path": place}),
            _ => json!({"op": "move", "from": other, "path": place}),
        });
    }
    Value::from(operations)
}

/// The places that an object has or could have, with their schemas.
fn collect<'a>(schema: &'a Value, value: &Value, place: String, places: &mut Vec<(String, &'a Value)>) {
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        if !(place.is_empty() && name == "metadata") {
            collect(inner, &value[name], format!("{place}/{name}"), places);
        }
    }
    if let Value::Array(items) = value {
        for (number, item) in items.iter().enumerate() {
            collect(&schema["items"], item, format!("{place}/{number}"), places);
        }
        places.push((format!("{place}/-"), &schema["items"]));
    }
    places.push((place, schema));
}
