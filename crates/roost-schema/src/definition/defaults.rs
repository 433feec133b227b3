//! What the stock API server fills in when a definition is written.

use serde_json::{Map, Value, json};

/// Fills in a definition as stock does: names, conversion, the port of a conversion webhook's service, and the first
/// stored version.
pub fn default_definition(crd: &mut Value) {
    if let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) {
        default_names(spec);
        let conversion = spec.entry("conversion").or_insert(Value::Null);
        if conversion.is_null() {
            *conversion = json!({"strategy": "None"});
        }
        // Stock has no place for a webhook of which nothing is said.
        if let Some(webhook) = conversion.get("webhook")
            && ["clientConfig", "conversionReviewVersions"].iter().all(|part| webhook[part].is_null())
            && let Some(conversion) = conversion.as_object_mut()
        {
            conversion.remove("webhook");
        }
        if let Some(service) = conversion.pointer_mut("/webhook/clientConfig/service").and_then(Value::as_object_mut) {
            let port = service.entry("port").or_insert(Value::Null);
            if port.is_null() {
                *port = Value::from(443);
            }
        }
    }
    let stored = crd.pointer("/status/storedVersions").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    if !stored && let Some(name) = storage_version(crd) {
        let status = crd.as_object_mut().map(|crd| crd.entry("status").or_insert_with(|| json!({})));
        if let Some(status) = status {
            if status.is_null() {
                *status = json!({});
            }
            status["storedVersions"] = json!([name]);
        }
    }
}

fn storage_version(crd: &Value) -> Option<String> {
    let versions = crd.pointer("/spec/versions")?.as_array()?;
    let storage = versions.iter().find(|version| version["storage"] == true)?;
    Some(storage["name"].as_str().unwrap_or_default().to_owned())
}

fn default_names(spec: &mut Map<String, Value>) {
    let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) else { return };
    let text =
        |names: &Map<String, Value>, key: &str| names.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let kind = text(names, "kind");
    if text(names, "singular").is_empty() && !kind.is_empty() {
        names.insert("singular".to_owned(), Value::from(kind.to_lowercase()));
    }
    if text(names, "listKind").is_empty() && !kind.is_empty() {
        names.insert("listKind".to_owned(), Value::from(format!("{kind}List")));
    }
}
