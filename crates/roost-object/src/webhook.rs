//! Where webhooks are reached: addresses and services, for admission and for conversion.

use serde_json::Value;

use crate::field::{Error, Errors, Path, quote};
use crate::names;
use crate::url::Url;

const FORM: &str = "; desired format: https://host[/path]";

/// Checks the address of a webhook.
pub fn validate_url(url: &str, path: &Path<'_>, errors: &mut Errors) {
    let (reference, fragment) = url.split_once('#').unwrap_or((url, ""));
    let parsed = match Url::parse_reference(reference) {
        Ok(parsed) => parsed,
        Err(problem) => {
            let words = format!("url must be a valid URL: parse {}: {problem}{FORM}", quote(reference));
            return errors.push(Error::required(path, words));
        }
    };
    let mut report = |value: &str, words: String| errors.push(Error::invalid(path, value, words));
    if parsed.scheme != "https" {
        report(&parsed.scheme, format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if parsed.host.is_empty() {
        report("", format!("host must be specified{FORM}"));
    }
    let authority = reference.split("//").nth(1).and_then(|rest| rest.split(['/', '?']).next()).unwrap_or_default();
    if let Some((user, _)) = authority.rsplit_once('@') {
        report(user, "user information is not permitted in the URL".to_owned());
    }
    if !fragment.is_empty() {
        report(fragment, "fragments are not permitted in the URL".to_owned());
    }
    if !parsed.raw_query.is_empty() {
        report(&parsed.raw_query, "query parameters are not permitted in the URL".to_owned());
    }
}

/// Checks the service of a webhook. The stock server mixes up name and namespace when one is missing.
pub fn validate_service(service: &Value, path: &Path<'_>, errors: &mut Errors) {
    let text = |field: &str| service[field].as_str().unwrap_or_default();
    for (field, reported) in [("namespace", "name"), ("name", "namespace")] {
        if text(field).is_empty() {
            errors.push(Error::required(&path.child(reported), ""));
        }
    }
    let port = service["port"].as_i64().unwrap_or_default();
    let problems = names::is_port_number(port);
    if !problems.is_empty() {
        let words = format!("port is not valid: {}", problems.join(", "));
        errors.push(Error::invalid(&path.child("port"), port, words));
    }
    let route = text("path");
    let mut report = |words: String| errors.push(Error::invalid(&path.child("path"), route, words));
    match route {
        "" | "/" => return,
        "//" => return report("segment[0] may not be empty".to_owned()),
        _ => {}
    }
    if !route.starts_with('/') {
        report("must start with a '/'".to_owned());
    }
    let mut characters = route.chars();
    characters.next();
    let steps = characters.as_str();
    for (index, step) in steps.strip_suffix('/').unwrap_or(steps).split('/').enumerate() {
        if step.is_empty() {
            report(format!("segment[{index}] may not be empty"));
        } else {
            for words in names::is_dns1123_subdomain(step) {
                report(format!("segment[{index}]: {words}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(check: impl FnOnce(&mut Errors)) -> Vec<String> {
        let mut errors = Errors::new();
        check(&mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn addresses_are_plain_and_safe() {
        for (url, expected) in [
            ("https://example.com/x", vec![]),
            ("HTTPS://example.com", vec![]),
            (
                "http://example.com",
                vec![
                    r#"u: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]"#,
                ],
            ),
            (
                "example.com/x",
                vec![
                    r#"u: Invalid value: "": 'https' is the only allowed URL scheme; desired format: https://host[/path]"#,
                    r#"u: Invalid value: "": host must be specified; desired format: https://host[/path]"#,
                ],
            ),
            (
                "https://a:b@c?d#e",
                vec![
                    r#"u: Invalid value: "a:b": user information is not permitted in the URL"#,
                    r#"u: Invalid value: "e": fragments are not permitted in the URL"#,
                    r#"u: Invalid value: "d": query parameters are not permitted in the URL"#,
                ],
            ),
            (
                ":x",
                vec![
                    r#"u: Required value: url must be a valid URL: parse ":x": missing protocol scheme; desired format: https://host[/path]"#,
                ],
            ),
        ] {
            assert_eq!(words(|errors| validate_url(url, &Path::new("u"), errors)), expected, "{url}");
        }
    }

    #[test]
    fn services_have_paths_of_names() {
        let service = json!({"name": "s", "port": 0, "path": "x//Y"});
        let found = words(|errors| validate_service(&service, &Path::new("s"), errors));
        assert_eq!(
            found[..4],
            [
                "s.name: Required value",
                "s.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
                r#"s.path: Invalid value: "x//Y": must start with a '/'"#,
                r#"s.path: Invalid value: "x//Y": segment[0] may not be empty"#,
            ]
        );
    }
}
