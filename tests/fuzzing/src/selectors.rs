//! Selectors and quantities.

use std::collections::BTreeMap;

use roost_object::Quantity;
use roost_object::selector::{FieldSelector, Selector};

/// Label and field selectors; what can be read can be written and read again, and selects the same.
pub fn selector(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(selector) = Selector::parse(text) {
        let again = Selector::parse(&selector.to_string()).expect("a written selector can be read");
        assert_eq!(again.to_string(), selector.to_string());
        let labels: BTreeMap<String, String> = [("a", "b"), ("app", "web"), ("n", "7"), ("example.com/x", "")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        for labels in [&labels, &BTreeMap::new()] {
            assert_eq!(
                again.matches(labels),
                selector.matches(labels),
                "{selector} selects something else when read again"
            );
        }
    }
    if let Ok(selector) = FieldSelector::parse(text) {
        let again = FieldSelector::parse(&selector.to_string()).expect("a written selector can be read");
        assert_eq!(again.requirements().len(), selector.requirements().len());
        // Their order is of no meaning.
        assert!(selector.requirements().iter().all(|requirement| again.requirements().contains(requirement)));
    }
}

/// Amounts: the canonical form is one, and means the same.
pub fn quantity(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(quantity) = Quantity::parse(text) else { return };
    let written = quantity.to_string();
    let again = Quantity::parse(&written).expect("a written quantity can be read");
    assert_eq!(again.to_string(), written, "{text:?} has one canonical form");
    // There is no suffix beyond, and stock drops what it has no suffix for: it writes 11000E as 11.
    let beyond = Quantity::parse("1000E").expect("a quantity");
    if quantity < beyond && quantity > Quantity::parse("-1000E").expect("a quantity") {
        assert!(again.cmp(&quantity).is_eq(), "{text:?} means the same as {written:?}");
    }
}
