//! The form of a JSON body, which is lost when it is parsed: the order of its fields, and how it is laid out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};

/// What is owned is a set whose members may be named after what is random.
const OWNED: &str = "fieldsV1";

/// The orders of fields that objects at a place have; `*` stands for all items of a list.
type Orders = BTreeMap<String, BTreeSet<String>>;

/// Describes the form of a body; null when it is not JSON.
pub(super) fn describe(body: &[u8]) -> Value {
    let mut orders = Orders::new();
    let mut reader = serde_json::Deserializer::from_slice(body);
    let place = Place { path: "/body".to_owned(), orders: &mut orders };
    if place.deserialize(&mut reader).is_err() || reader.end().is_err() {
        return Value::Null;
    }
    let trimmed = body.trim_ascii_end();
    json!({
        "indented": trimmed.contains(&b'\n'),
        "line ends": body.len() > trimmed.len(),
        "fields": orders,
    })
}

/// Forgets the places that a pointer leads to, and all below them.
pub(super) fn forget(form: &mut Value, pointer: &str) {
    let part = |part: &str| if part.parse::<usize>().is_ok() { "*".to_owned() } else { part.to_owned() };
    let forgotten: Vec<String> = pointer.split('/').map(part).collect();
    if let Some(Value::Object(fields)) = form.get_mut("fields") {
        fields.retain(|path, _| {
            let mut parts = path.split('/');
            !forgotten.iter().all(|wanted| parts.next().is_some_and(|part| part == wanted || wanted == "*"))
        });
    }
}

struct Place<'a> {
    path: String,
    orders: &'a mut Orders,
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut names = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == OWNED {
                map.next_value::<IgnoredAny>()?;
            } else {
                map.next_value_seed(Place { path: format!("{}/{name}", self.path), orders: &mut *self.orders })?;
            }
            names.push(name);
        }
        self.orders.entry(self.path).or_default().insert(names.join(" "));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let path = format!("{}/*", self.path);
        while list.next_element_seed(Place { path: path.clone(), orders: &mut *self.orders })?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{describe, forget};

    #[test]
    fn the_order_and_the_layout_are_seen() {
        let mut form = describe(b"{\n  \"b\": [{\"y\": 1, \"x\": null}], \"a\": {\"fieldsV1\": {\"f:x\": {}}}\n}");
        assert_eq!(
            form,
            json!({
                "indented": true,
                "line ends": false,
                "fields": {"/body": ["b a"], "/body/b/*": ["y x"], "/body/a": ["fieldsV1"]},
            })
        );
        forget(&mut form, "/body/b/0");
        assert_eq!(form["fields"], json!({"/body": ["b a"], "/body/a": ["fieldsV1"]}));
        assert_eq!(describe(b"not JSON"), Value::Null);
        assert_eq!(describe(b"{}\n")["line ends"], true);
    }
}
