//! The labels that an Agent gets from what its host consists of.

use std::collections::BTreeMap;

use roost_api::agent_install::names::label;
use roost_api::agent_install::{DriveType, Inventory};

/// The labels of a host.
pub fn of(inventory: &Inventory) -> BTreeMap<String, String> {
    let cpu = inventory.cpu.clone().unwrap_or_default();
    let vendor = inventory.system_vendor.clone().unwrap_or_default();
    let has_solid_state = inventory.disks.iter().any(|disk| disk.drive_type == Some(DriveType::Ssd));
    let has_virtualization = cpu.flags.iter().any(|flag| flag == "vmx" || flag == "svm");
    let labels = [
        (label::INVENTORY_SOLID_STATE_DISK, has_solid_state.to_string()),
        (label::INVENTORY_CPU_ARCHITECTURE, cpu.architecture.unwrap_or_default()),
        (label::INVENTORY_CPU_VIRTUALIZATION, has_virtualization.to_string()),
        (label::INVENTORY_MANUFACTURER, vendor.manufacturer.unwrap_or_default()),
        (label::INVENTORY_PRODUCT_NAME, vendor.product_name.unwrap_or_default()),
        (label::INVENTORY_IS_VIRTUAL, vendor.is_virtual.unwrap_or_default().to_string()),
    ];
    labels.into_iter().filter_map(|(key, text)| Some((key.to_owned(), value(&text)?))).collect()
}

/// A text as a label's value: characters that cannot be in one are left out; none when that does not make it legal.
fn value(text: &str) -> Option<String> {
    let value: String =
        text.chars().filter(|&letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.')).collect();
    let is_end = |letter: Option<char>| letter.is_none_or(|letter| letter.is_ascii_alphanumeric());
    (value.len() <= 63 && is_end(value.chars().next()) && is_end(value.chars().last())).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory;

    #[test]
    fn labels_tell_what_a_host_is() {
        let inventory = inventory::Inventory::parse(
            r#"{"cpu":{"architecture":"x86_64","flags":["svm"]},"disks":[{"id":"a","drive_type":"SSD"}],
                "system_vendor":{"manufacturer":"Dell Inc.","product_name":"PowerEdge R640 (SKU)","virtual":false}}"#,
        )
        .unwrap();
        let labels = of(&inventory.to_status());
        assert_eq!(labels[label::INVENTORY_SOLID_STATE_DISK], "true");
        assert_eq!(labels[label::INVENTORY_PRODUCT_NAME], "PowerEdgeR640SKU");
        assert_eq!(labels[label::INVENTORY_CPU_VIRTUALIZATION], "true");
        assert!(!labels.contains_key(label::INVENTORY_MANUFACTURER), "a value cannot end in a dot");
    }
}
