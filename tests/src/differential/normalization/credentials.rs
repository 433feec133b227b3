//! What certificates and tokens say, without what is random in them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::Value;
use x509_parser::pem::Pem;
use x509_parser::prelude::{GeneralName, ParsedExtension, X509Certificate};

use super::Normalizer;

/// Lifetimes are compared with this grain, because both ends are rounded.
const LIFETIME_GRAIN_SECONDS: i64 = 600;

/// Describes a token by its header and claims.
pub(super) fn describe_token(normalizer: &mut Normalizer, token: &str) -> String {
    let mut parts = token.split('.').map(|part| {
        let bytes = URL_SAFE_NO_PAD.decode(part).unwrap_or_default();
        serde_json::from_slice::<Value>(&bytes).unwrap_or_default()
    });
    let mut header = parts.next().unwrap_or_default();
    let mut claims = parts.next().unwrap_or_default();
    if let Some(fields) = header.as_object_mut()
        && fields.contains_key("kid")
    {
        fields.insert("kid".to_owned(), Value::from("<key id>"));
    }
    if let Some(fields) = claims.as_object_mut() {
        let seconds = |name: &str| fields.get(name).and_then(Value::as_i64).unwrap_or_default();
        let lifetime = seconds("exp") - seconds("iat");
        let delay = seconds("nbf") - seconds("iat");
        for (name, text) in [
            ("exp", format!("<{lifetime} s after iat>")),
            ("iat", "<time>".to_owned()),
            ("nbf", format!("<{delay} s after iat>")),
        ] {
            if fields.contains_key(name) {
                fields.insert(name.to_owned(), Value::from(text));
            }
        }
        if let Some(kubernetes) = fields.get_mut("kubernetes.io").and_then(Value::as_object_mut)
            && let Some(warning) = kubernetes.get_mut("warnafter").filter(|value| value.is_number())
        {
            *warning = Value::from("<time>");
        }
    }
    normalizer.value(&mut claims);
    format!("<token {header} {claims}>")
}

/// Describes the first certificate of base64 of PEM.
pub(super) fn describe_certificate(encoded: &str) -> String {
    let Ok(bytes) = STANDARD.decode(encoded) else { return encoded.to_owned() };
    let Some(Ok(pem)) = Pem::iter_from_buffer(&bytes).next() else { return encoded.to_owned() };
    let Ok(certificate) = pem.parse_x509() else { return encoded.to_owned() };
    format!("<certificate {}>", describe(&certificate))
}

fn describe(certificate: &X509Certificate<'_>) -> String {
    let lifetime = certificate.validity().not_after.timestamp() - certificate.validity().not_before.timestamp();
    let rounded = (lifetime + LIFETIME_GRAIN_SECONDS / 2) / LIFETIME_GRAIN_SECONDS * LIFETIME_GRAIN_SECONDS;
    let mut parts = vec![format!("{} for {rounded} s", certificate.subject())];
    for extension in certificate.extensions() {
        match extension.parsed_extension() {
            ParsedExtension::KeyUsage(usage) => parts.push(usage.to_string()),
            ParsedExtension::ExtendedKeyUsage(usage) => {
                parts.push(format!("client {} server {}", usage.client_auth, usage.server_auth));
            }
            ParsedExtension::BasicConstraints(constraints) => parts.push(format!("authority {}", constraints.ca)),
            ParsedExtension::SubjectAlternativeName(names) => {
                parts.extend(names.general_names.iter().map(|name| match name {
                    GeneralName::DNSName(name) => format!("DNS {name}"),
                    GeneralName::IPAddress(address) => format!("IP {address:?}"),
                    other => other.to_string(),
                }));
            }
            _ => {}
        }
    }
    parts.join("; ")
}
