//! Values that are not what their shape says: of another type, not there, or of a name that no field has.

use serde_json::{Map, Value, json};

use super::values::Generator;

/// What is odd about an object. What cannot be read hides all else, so most objects have nothing of it, and none has two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Oddity {
    None,
    Nulls,
    Types,
    Names,
}

impl Oddity {
    /// Those that a case draws from.
    pub(super) const DRAWN: [Self; 12] = [
        Self::None,
        Self::None,
        Self::None,
        Self::None,
        Self::None,
        Self::None,
        Self::None,
        Self::None,
        Self::Nulls,
        Self::Nulls,
        Self::Types,
        Self::Names,
    ];
}

impl Generator<'_> {
    /// An odd value in the place of a proper one, now and then.
    pub(super) fn odd_value(&mut self) -> Option<Value> {
        match self.oddity {
            Oddity::Nulls if self.random.chance(8) => Some(Value::Null),
            Oddity::Types if self.random.chance(3) => {
                let others = [
                    json!("x"),
                    json!("5"),
                    json!(""),
                    json!(5),
                    json!(1.5),
                    json!(1e3),
                    json!(-0.0),
                    json!(true),
                    json!({}),
                    json!({"a": 1}),
                    json!([]),
                    json!(["a"]),
                    json!([null]),
                    json!(9_223_372_036_854_775_808_u64),
                ];
                Some(self.random.pick(&others).clone())
            }
            _ => None,
        }
    }

    /// Gives an object a field that its kind does not have, or one that is written otherwise.
    pub(super) fn add_odd_name(&mut self, object: &mut Map<String, Value>) {
        if self.oddity != Oddity::Names || !self.random.chance(10) {
            return;
        }
        let names: Vec<String> = object.keys().cloned().collect();
        if names.is_empty() || self.random.chance(40) {
            let name = *self.random.pick(&["unknown", "", "a.b", "Unknown", "metadata", "$patch", "é"]);
            object.insert(name.to_owned(), json!(self.random.pick(&["x", ""])));
            return;
        }
        let name = self.random.pick(&names).clone();
        if let Some(value) = object.remove(&name) {
            let (first, rest) = name.split_at(name.chars().next().map_or(0, char::len_utf8));
            let other = if self.random.chance(50) { name.to_uppercase() } else { first.to_uppercase() + rest };
            object.insert(other, value);
        }
    }
}
