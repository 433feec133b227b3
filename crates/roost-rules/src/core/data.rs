//! The kinds that only hold data: config maps and secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use super::docker_config;
use crate::check::{IMMUTABLE, Spot, text};
use crate::fill::Fill;
use crate::internal;

/// The data of one object may not be larger than this many bytes.
const SIZE_MAX: usize = 1024 * 1024;
const FROZEN: &str = "field is immutable when `immutable` is set";

pub(super) fn validate_config_map(config_map: &Value, errors: &mut Errors) {
    let root = Spot::root(config_map);
    let (data, binary) = (root.field("data"), root.field("binaryData"));
    let mut size = 0;
    data.entries(|key, value| {
        validate_key(key, value, errors);
        if binary.value.get(key).is_some() {
            errors.push(Error::invalid(&value.path, key, "duplicate of key present in binaryData"));
        }
        size += value.text().len();
    });
    binary.entries(|key, value| {
        validate_key(key, value, errors);
        size += decoded_length(value.text());
    });
    if size > SIZE_MAX {
        errors.push(Error::too_long(&Path::new(""), SIZE_MAX));
    }
}

pub(super) fn validate_config_map_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_frozen(new, old, &["data", "binaryData"], errors);
    validate_config_map(new, errors);
}

fn validate_frozen(new: &Value, old: &Value, fields: &[&str], errors: &mut Errors) {
    if old["immutable"] != true {
        return;
    }
    if new["immutable"] != true {
        errors.push(Error::forbidden(&Path::new("immutable"), FROZEN));
    }
    for field in fields {
        // One that is sent empty is another one than none.
        let is_new = new[field].is_object() != old[field].is_object();
        if is_new || !internal::same("{s", &new[field], &old[field]) {
            errors.push(Error::forbidden(&Path::new(field), FROZEN));
        }
    }
}

fn validate_key(key: &str, value: &Spot<'_>, errors: &mut Errors) {
    errors.extend(names::is_config_map_key(key).into_iter().map(|words| Error::invalid(&value.path, key, words)));
}

/// How many bytes base64 stands for, without decoding it.
fn decoded_length(text: &str) -> usize {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

/// What is written as plain text becomes data; it overwrites what is there.
pub(super) fn secret_defaults(secret: &mut Value) {
    let plain = secret.at("stringData").map(Value::take);
    secret.drop_field("stringData");
    if let Some(Value::Object(plain)) = plain
        && !plain.is_empty()
    {
        let data = secret.at_or_empty("data");
        for (key, text) in plain {
            data.put(&key, STANDARD.encode(text.as_str().unwrap_or_default()));
        }
    }
    secret.fill_text("type", "Opaque");
}

pub(super) fn validate_secret(secret: &Value, errors: &mut Errors) {
    let root = Spot::root(secret);
    let data = root.field("data");
    let mut size = 0;
    data.entries(|key, value| {
        validate_key(key, value, errors);
        size += decoded_length(value.text());
    });
    if size > SIZE_MAX {
        errors.push(Error::too_long(&data.path, SIZE_MAX));
    }
    let given = |key: &str| data.value.get(key).and_then(Value::as_str);
    let mut require = |key: &str| errors.push(Error::required(&data.path.key(key), ""));
    match text(secret, "type") {
        "kubernetes.io/service-account-token" => {
            const ACCOUNT: &str = "kubernetes.io/service-account.name";
            if text(&secret["metadata"]["annotations"], ACCOUNT).is_empty() {
                let annotations = Path::new("metadata.annotations");
                errors.push(Error::required(&annotations.key(ACCOUNT), ""));
            }
        }
        "kubernetes.io/dockercfg" => validate_docker_config(&data, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" => validate_docker_config(&data, ".dockerconfigjson", errors),
        "kubernetes.io/basic-auth" if given("username").is_none() && given("password").is_none() => {
            require("username");
            require("password");
        }
        "kubernetes.io/ssh-auth" if given("ssh-privatekey").unwrap_or_default().is_empty() => require("ssh-privatekey"),
        "kubernetes.io/tls" => {
            ["tls.crt", "tls.key"].into_iter().filter(|key| given(key).is_none()).for_each(require);
        }
        _ => {}
    }
}

fn validate_docker_config(data: &Spot<'_>, key: &str, errors: &mut Errors) {
    let path = data.path.key(key);
    match data.value.get(key).and_then(Value::as_str) {
        None => errors.push(Error::required(&path, "")),
        Some(encoded) => {
            let config = STANDARD.decode(encoded).unwrap_or_default();
            if let Some(words) = docker_config::problem(&config) {
                errors.push(Error::invalid(&path, "<secret contents redacted>", words));
            }
        }
    }
}

pub(super) fn validate_secret_update(new: &Value, old: &Value, errors: &mut Errors) {
    if text(new, "type") != text(old, "type") {
        errors.push(Error::invalid(&Path::new("type"), text(new, "type"), IMMUTABLE));
    }
    validate_frozen(new, old, &["data"], errors);
    validate_secret(new, errors);
}

/// Whether the certificate and the key of a TLS secret are PEM at all. Whether they fit together is not looked at.
pub(super) fn secret_warnings(secret: &Value, warnings: &mut Vec<String>) {
    if text(secret, "type") != "kubernetes.io/tls" {
        return;
    }
    for (key, name) in [("tls.crt", "certificate"), ("tls.key", "key")] {
        let pem = STANDARD.decode(text(&secret["data"], key)).unwrap_or_default();
        let found = String::from_utf8_lossy(&pem);
        if !found.contains("-----BEGIN ") || !found.contains("-----END ") {
            warnings.push(format!("tls: failed to find any PEM data in {name} input"));
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn plain_text_becomes_data() {
        let mut secret = json!({"data": {"a": "eA=="}, "stringData": {"a": "b", "c": ""}});
        secret_defaults(&mut secret);
        assert_eq!(secret, json!({"data": {"a": "Yg==", "c": ""}, "type": "Opaque"}));
    }

    #[test]
    fn typed_secrets_need_their_keys() {
        let cases = [
            (json!({"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}), vec!["data[tls.key]: Required value"]),
            (
                json!({"type": "kubernetes.io/basic-auth"}),
                vec!["data[username]: Required value", "data[password]: Required value"],
            ),
            (json!({"type": "kubernetes.io/basic-auth", "data": {"password": ""}}), vec![]),
            (
                json!({"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": ""}}),
                vec!["data[ssh-privatekey]: Required value"],
            ),
            (
                json!({"type": "kubernetes.io/service-account-token"}),
                vec!["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
            ),
            (json!({"type": "kubernetes.io/dockercfg"}), vec!["data[.dockercfg]: Required value"]),
            (
                json!({"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "eA=="}}),
                vec![
                    r#"data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid character 'x' looking for beginning of value"#,
                ],
            ),
            (json!({"type": "example.com/any"}), vec![]),
        ];
        for (secret, expected) in cases {
            assert_eq!(words(|errors| validate_secret(&secret, errors)), expected, "{secret}");
        }
    }

    #[test]
    fn frozen_data_stays() {
        let old = json!({"immutable": true, "data": {"a": "1"}});
        assert_eq!(
            words(|errors| validate_config_map_update(&json!({"data": {"a": "2"}}), &old, errors)),
            [
                "immutable: Forbidden: field is immutable when `immutable` is set",
                "data: Forbidden: field is immutable when `immutable` is set"
            ]
        );
        assert!(words(|errors| validate_config_map_update(&old, &old, errors)).is_empty());
    }

    #[test]
    fn keys_and_sizes_are_limited() {
        let config_map = json!({"data": {"a/b": "", "c": "x".repeat(SIZE_MAX)}, "binaryData": {"c": "eHg="}});
        let found = words(|errors| validate_config_map(&config_map, errors));
        assert_eq!(found.len(), 3);
        assert!(found[0].starts_with(r#"data[a/b]: Invalid value: "a/b": a valid config key must consist of"#));
        assert_eq!(found[1], r#"data[c]: Invalid value: "c": duplicate of key present in binaryData"#);
        assert_eq!(found[2], "[]: Too long: may not be more than 1048576 bytes");
        assert_eq!(decoded_length("eHg="), 2);
    }

    #[test]
    fn what_is_no_certificate_is_worth_a_warning() {
        let mut found = Vec::new();
        secret_warnings(
            &json!({"type": "kubernetes.io/tls", "data": {"tls.crt": "eA==", "tls.key": "eA=="}}),
            &mut found,
        );
        assert_eq!(found, ["tls: failed to find any PEM data in certificate input"]);
    }
}
