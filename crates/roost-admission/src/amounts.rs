//! Lists of resources: amounts by name, and the arithmetic that quotas and limits do with them.

use std::collections::BTreeMap;

use roost_object::quantity::Format;
use roost_object::{Map, Quantity, Value};

/// Amounts by the name of the resource.
pub type Amounts = BTreeMap<String, Quantity>;

/// Reads a resource list; what is not a quantity is left out.
pub fn read(list: &Value) -> Amounts {
    list.as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, amount)| Some((name.clone(), Quantity::from_value(amount).ok()?)))
        .collect()
}

/// Writes a resource list.
pub fn write(amounts: &Amounts) -> Value {
    let fields: Map<String, Value> =
        amounts.iter().map(|(name, amount)| (name.clone(), amount.to_string().into())).collect();
    Value::Object(fields)
}

/// A whole number of something.
pub fn count(number: i64) -> Quantity {
    Quantity::new(number, Format::DecimalSi)
}

/// Adds all of `other` to `sum`.
pub fn add(sum: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        match sum.get_mut(name) {
            Some(so_far) => so_far.add(amount),
            None => {
                sum.insert(name.clone(), amount.clone());
            }
        }
    }
}

/// Raises each amount to that of `other`, where that is more.
pub fn raise(highest: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        if highest.get(name).is_none_or(|so_far| amount > so_far) {
            highest.insert(name.clone(), amount.clone());
        }
    }
}

/// What is left of `from` after `taken`, never less than nothing; what only `taken` names counts as nothing.
pub fn subtract_to_zero(from: &Amounts, taken: &Amounts) -> Amounts {
    let mut left: Amounts = from
        .iter()
        .map(|(name, amount)| {
            let mut amount = amount.clone();
            if let Some(taken) = taken.get(name) {
                amount.sub(taken);
            }
            let amount = if amount > Quantity::ZERO { amount } else { Quantity::ZERO };
            (name.clone(), amount)
        })
        .collect();
    for name in taken.keys() {
        left.entry(name.clone()).or_insert(Quantity::ZERO);
    }
    left
}

/// `name=amount` for each, sorted by name.
pub fn words(amounts: &Amounts) -> String {
    let parts: Vec<String> = amounts.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
    parts.join(",")
}
