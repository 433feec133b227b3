//! Reading and writing fields of objects that are trees of values.

use jiff::Timestamp;
use serde_json::{Map, Value};

/// A field by its way from the root; null when it is not there.
pub fn at<'a>(object: &'a Value, way: &[&str]) -> &'a Value {
    way.iter().fold(object, |value, name| &value[*name])
}

/// A text; empty when it is not there.
pub fn text<'a>(object: &'a Value, way: &[&str]) -> &'a str {
    at(object, way).as_str().unwrap_or_default()
}

/// A whole number; zero when it is not there.
pub fn number(object: &Value, way: &[&str]) -> i64 {
    at(object, way).as_i64().unwrap_or_default()
}

/// A whole number, if it is there.
pub fn number_given(object: &Value, way: &[&str]) -> Option<i64> {
    at(object, way).as_i64()
}

/// The elements of a list; none when it is not there.
pub fn list<'a>(object: &'a Value, way: &[&str]) -> &'a [Value] {
    at(object, way).as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A moment, if it is there.
pub fn time(object: &Value, way: &[&str]) -> Option<Timestamp> {
    at(object, way).as_str().and_then(|text| text.parse().ok())
}

/// The object at a field, made when it is not there.
pub fn object_mut<'a>(object: &'a mut Value, way: &[&str]) -> &'a mut Map<String, Value> {
    let mut current = object;
    for name in way {
        make_object(current);
        current = &mut current[*name];
    }
    make_object(current);
    match current {
        Value::Object(map) => map,
        _ => unreachable!("it was just made an object"),
    }
}

fn make_object(value: &mut Value) {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
}

/// Sets a field.
pub fn set(object: &mut Value, way: &[&str], value: impl Into<Value>) {
    if let Some((name, parents)) = way.split_last() {
        object_mut(object, parents).insert((*name).to_owned(), value.into());
    }
}

/// Removes a field.
pub fn remove(object: &mut Value, way: &[&str]) {
    let Some((name, parents)) = way.split_last() else { return };
    let mut current = object;
    for parent in parents {
        match current.get_mut(*parent) {
            Some(next) => current = next,
            None => return,
        }
    }
    if let Some(map) = current.as_object_mut() {
        map.remove(*name);
    }
}

/// A number in a field that is left out when it is zero, as stock leaves it out.
pub fn set_count(object: &mut Value, way: &[&str], count: i64) {
    if count == 0 {
        remove(object, way);
    } else {
        set(object, way, count);
    }
}

/// An annotation; empty when it is not there.
pub fn annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    text(object, &["metadata", "annotations", name])
}

/// The time as objects have it: whole seconds, in UTC.
pub fn seconds(time: Timestamp) -> String {
    let whole = Timestamp::from_second(time.as_second()).unwrap_or(time);
    whole.to_string()
}

/// A number, or a share of a total in percent, which is rounded up or down.
pub fn scaled(value: &Value, total: i64, round_up: bool) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => {
            let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
            let product = percent.checked_mul(total)?;
            Some(if round_up {
                product.div_euclid(100) + i64::from(product.rem_euclid(100) > 0)
            } else {
                product / 100
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_made_on_the_way_and_removed_without_a_trace() {
        let mut object = json!({"spec": null});
        set(&mut object, &["spec", "a", "b"], 1);
        assert_eq!(object, json!({"spec": {"a": {"b": 1}}}));
        set_count(&mut object, &["spec", "a", "b"], 0);
        remove(&mut object, &["nothing", "here"]);
        assert_eq!(object, json!({"spec": {"a": {}}}));
    }

    #[test]
    fn shares_are_rounded_as_asked() {
        for (value, total, up, expected) in [
            (json!("25%"), 10, true, Some(3)),
            (json!("25%"), 10, false, Some(2)),
            (json!("100%"), 7, true, Some(7)),
            (json!(4), 7, true, Some(4)),
            (json!("4"), 7, true, None),
        ] {
            assert_eq!(scaled(&value, total, up), expected, "{value} of {total}");
        }
    }

    #[test]
    fn times_have_whole_seconds() {
        let time: Timestamp = "2026-01-02T03:04:05.678Z".parse().expect("a time");
        assert_eq!(seconds(time), "2026-01-02T03:04:05Z");
    }
}
