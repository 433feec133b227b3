//! Random values of a shape.

use serde_json::{Map, Value, json};

use super::oddities::Oddity;
use super::pools;
use super::schema::{Field, Shape, Shapes, resolve};
use crate::random::Random;

/// How often, in a hundred, a required field is there.
const REQUIRED_PERCENT: u64 = 94;

/// How often a value cannot even be read, which hides all that is wrong elsewhere.
const UNREADABLE_PERCENT: u64 = 3;

/// Shapes that hold themselves end here.
const LARGEST_DEPTH: u64 = 14;

/// Draws values; the same numbers give the same values.
pub(super) struct Generator<'a> {
    pub(super) random: Random,
    pub(super) shapes: &'a Shapes,
    /// How often, in a hundred, an optional field of the object itself is there; deeper ones are rarer.
    pub(super) density: u64,
    pub(super) oddity: Oddity,
}

impl<'a> Generator<'a> {
    /// A value for the field of a name.
    pub(super) fn value(&mut self, shape: &'a Shape, name: &str, depth: u64) -> Value {
        if depth > 0
            && let Some(odd) = self.odd_value()
        {
            return odd;
        }
        match resolve(self.shapes, shape) {
            Shape::Object(fields) => self.object(fields, depth),
            Shape::Map(values) => {
                let count = *self.random.pick(&[0, 1, 1, 2]);
                Value::Object((0..count).map(|_| (self.key(), self.value(values, name, depth + 1))).collect())
            }
            Shape::List(items) => {
                let count = *self.random.pick(&[0, 1, 1, 1, 2, 2, 3]);
                Value::Array((0..count).map(|_| self.value(items, name, depth + 1)).collect())
            }
            Shape::Text(words) => Value::from(self.text(words, name)),
            Shape::Bytes => json!(self.random.pick(pools::BYTES)),
            Shape::Time => self.unless_unreadable(pools::TIMES),
            Shape::Quantity if self.random.chance(10) => json!(5),
            Shape::Quantity => self.unless_unreadable(pools::QUANTITIES),
            Shape::IntegerOrText if self.random.chance(50) => json!(self.random.pick(pools::PORTS)),
            Shape::IntegerOrText => json!(self.random.pick(pools::SHARES)),
            Shape::Integer if self.random.chance(UNREADABLE_PERCENT) => json!(self.random.pick(pools::LARGE_INTEGERS)),
            Shape::Integer => json!(self.random.pick(pools::INTEGERS)),
            Shape::Number => json!(self.random.pick(pools::NUMBERS)),
            Shape::Boolean => Value::Bool(self.random.chance(50)),
            Shape::Metadata => self.metadata(depth),
            Shape::Anything | Shape::Named(_) => self.random.pick(&[json!(1), json!("a"), json!({})]).clone(),
        }
    }

    fn object(&mut self, fields: &'a [Field], depth: u64) -> Value {
        let mut object = Map::new();
        for field in fields {
            let optional = if depth > LARGEST_DEPTH { 0 } else { self.density * 4 / (4 + depth) };
            if self.random.chance(if field.required { REQUIRED_PERCENT } else { optional }) {
                let value = self.value(&field.shape, &field.name, depth + 1);
                object.insert(field.name.clone(), value);
            }
        }
        self.add_odd_name(&mut object);
        Value::Object(object)
    }

    fn unless_unreadable(&mut self, readable: &[&str]) -> Value {
        if self.random.chance(UNREADABLE_PERCENT) { json!("bad") } else { json!(self.random.pick(readable)) }
    }

    fn key(&mut self) -> String {
        if self.random.chance(4) { self.long_text() } else { (*self.random.pick(pools::KEYS)).to_owned() }
    }

    fn text(&mut self, words: &[String], name: &str) -> String {
        if !words.is_empty() && self.random.chance(70) {
            return self.random.pick(words).clone();
        }
        let name = name.to_lowercase();
        let fitting = pools::FITTING.iter().find(|(part, _)| name.contains(part));
        if let Some((_, texts)) = fitting
            && self.random.chance(60)
        {
            return (*self.random.pick(texts)).to_owned();
        }
        if self.random.chance(3) { self.long_text() } else { (*self.random.pick(pools::TEXTS)).to_owned() }
    }

    fn long_text(&mut self) -> String {
        "x".repeat(*self.random.pick(pools::LENGTHS))
    }

    fn metadata(&mut self, depth: u64) -> Value {
        let mut metadata = Map::new();
        if self.random.chance(90) {
            let names = if self.random.chance(30) { pools::NAMES } else { &pools::NAMES[..2] };
            metadata.insert("name".to_owned(), json!(self.random.pick(names)));
        } else if self.random.chance(50) {
            metadata.insert("generateName".to_owned(), json!("g-"));
        }
        if self.random.chance(30) {
            let key = *self.random.pick(&["app", "a/b", "A b", "x/y/z"]);
            let value = *self.random.pick(&["a", "", "A b", "a.b"]);
            metadata.insert("labels".to_owned(), json!({key: value}));
        }
        if self.random.chance(20) {
            let key = *self.random.pick(&["app", "A B"]);
            metadata.insert("annotations".to_owned(), json!({key: "v"}));
        }
        if self.random.chance(5) {
            metadata.insert("finalizers".to_owned(), json!([self.random.pick(&["a", "example.com/x"])]));
        }
        if self.random.chance(5) {
            let owner = json!({
                "apiVersion": self.random.pick(&["v1", ""]), "kind": "Pod", "name": "a",
                "uid": self.random.pick(&["u", ""]),
            });
            metadata.insert("ownerReferences".to_owned(), json!([owner]));
        }
        if depth == 1 && self.random.chance(5) {
            metadata.insert("namespace".to_owned(), json!(self.random.pick(&[super::schema::NAMESPACE, "other"])));
        }
        Value::Object(metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::{Field, Shape, Shapes};
    use super::{Generator, Oddity};
    use crate::random::Random;

    fn node() -> Shape {
        let field = |name: &str, shape| Field { name: name.to_owned(), required: true, shape };
        Shape::Object(vec![
            field("child", Shape::Named("node".to_owned())),
            field("count", Shape::Integer),
            field("list", Shape::List(Box::new(Shape::Text(vec!["word".to_owned()])))),
        ])
    }

    #[test]
    fn a_seed_gives_the_same_object_and_another_gives_another() {
        let shapes = Shapes::from([("other".to_owned(), Shape::Boolean)]);
        let shape = Shape::List(Box::new(Shape::Text(Vec::new())));
        let draw = |seed| {
            let mut generator =
                Generator { random: Random::new(seed), shapes: &shapes, density: 50, oddity: Oddity::None };
            (0..20).map(|_| generator.value(&shape, "", 0)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn shapes_that_hold_themselves_come_to_an_end() {
        let optional = |shape| match shape {
            Shape::Object(fields) => {
                Shape::Object(fields.into_iter().map(|field| Field { required: false, ..field }).collect())
            }
            other => other,
        };
        let shapes = Shapes::from([("node".to_owned(), optional(node()))]);
        let start = node();
        for seed in 0..50 {
            let mut generator =
                Generator { random: Random::new(seed), shapes: &shapes, density: 100, oddity: Oddity::None };
            assert!(generator.value(&start, "", 0).is_object());
        }
    }
}
