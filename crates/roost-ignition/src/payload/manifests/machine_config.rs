//! `MachineConfig`: an Ignition config, and settings of the operating system.

use serde_json::{Value, json};

use crate::config::Config;

/// What only an image-based host with its own daemon can do, and the values that ask for nothing.
const OPERATING_SYSTEM: &[&str] = &["osImageURL", "baseOSExtensionsContainerImage", "kernelType", "extensions", "fips"];

fn asks_for_nothing(field: &str, value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty() || (field == "kernelType" && text == "default"),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

pub(super) fn read(manifest: &Value) -> Result<Vec<Config>, String> {
    let spec = &manifest["spec"];
    for field in OPERATING_SYSTEM {
        if spec.get(field).is_some_and(|value| !asks_for_nothing(field, value)) {
            return Err(format!("spec.{field} changes the operating system's image, which this pool does not manage"));
        }
    }
    let mut configs = Vec::new();
    match spec.get("config") {
        None | Some(Value::Null) => {}
        Some(value) => {
            let config = Config::from_value(value.clone()).map_err(|error| format!("spec.config: {error}"))?;
            config.validate().map_err(|error| format!("spec.config: {error}"))?;
            configs.push(config);
        }
    }
    let arguments = spec.get("kernelArguments").filter(|value| !asks_for_nothing("kernelArguments", value));
    if let Some(arguments) = arguments {
        let texts: Option<Vec<&str>> =
            arguments.as_array().and_then(|arguments| arguments.iter().map(Value::as_str).collect());
        let texts = texts.ok_or("spec.kernelArguments must be a list of texts")?;
        let mut words: Vec<&str> = Vec::new();
        for word in texts.iter().flat_map(|text| text.split_ascii_whitespace()) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        let value = json!({"ignition": {"version": "3.3.0"}, "kernelArguments": {"shouldExist": words}});
        configs.push(Config::from_value(value).map_err(|error| format!("spec.kernelArguments: {error}"))?);
    }
    Ok(configs)
}
