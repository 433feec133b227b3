//! What Ignition refuses although every field has its type. The words are Ignition's, for those who search for them.

mod storage;
mod systemd;

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::config::Config;
use crate::data_url::{self, DataUrlError};
use crate::finding::Finding;
use crate::read::Place;
use crate::schema::{CONFIG, Field, Join, Shape};

/// Findings beyond this are not collected.
const MAX_FINDINGS: usize = 100;

/// Collects what is wrong with one config of one version.
pub(super) struct Report {
    minor: u8,
    findings: Vec<Finding>,
}

impl Report {
    fn add(&mut self, place: &Place<'_>, problem: impl Into<String>) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(Finding { path: place.to_string(), problem: problem.into() });
        }
    }

    fn check(&mut self, place: &Place<'_>, result: Result<(), &'static str>) {
        if let Err(problem) = result {
            self.add(place, problem);
        }
    }
}

/// All that is wrong with a config.
pub(crate) fn findings(config: &Config) -> Vec<Finding> {
    let mut report = Report { minor: config.version().minor(), findings: Vec::new() };
    walk(CONFIG, &Place::Root, config.root(), &mut report);
    if let Some(storage) = config.section("storage") {
        storage::check(storage, &mut report);
    }
    systemd::check(config, &mut report);
    ignition(config, &mut report);
    report.findings
}

/// What holds for a shape wherever it stands: no key twice in a list, and resources that can be fetched.
fn walk(fields: &'static [Field], place: &Place<'_>, record: &Map<String, Value>, report: &mut Report) {
    if fields.iter().any(|field| field.name == "source") {
        resource(place, record, report);
    }
    let mut keys: HashSet<(&str, String)> = HashSet::new();
    for field in fields {
        let Some(value) = record.get(field.name) else { continue };
        let below = Place::Field(place, field.name);
        match (&field.shape, value) {
            (Shape::Record(fields), Value::Object(record)) => walk(fields, &below, record, report),
            (Shape::List(shape, join), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let place = Place::Item(&below, index);
                    if let Join::Key(key) = join
                        && !keys.insert((field.group.unwrap_or(field.name), key.of(item).into_owned()))
                    {
                        report.add(&place, "duplicate entry defined");
                    }
                    if let (Shape::Record(fields), Value::Object(record)) = (shape, item) {
                        walk(fields, &place, record, report);
                    }
                }
            }
            _ => {}
        }
    }
}

fn text<'a>(record: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    record.get(name).and_then(Value::as_str)
}

/// A text that says something.
fn filled<'a>(record: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    text(record, name).filter(|text| !text.is_empty())
}

fn resource(place: &Place<'_>, record: &Map<String, Value>, report: &mut Report) {
    let source = text(record, "source");
    if !matches!(text(record, "compression"), None | Some("" | "gzip")) {
        report.add(&Place::Field(place, "compression"), "invalid compression method");
    }
    if let Some(source) = source.filter(|source| !source.is_empty()) {
        let minor = report.minor;
        report.check(&Place::Field(place, "source"), url(source, minor));
    }
    if let Some(hash) = record.get("verification").and_then(|verification| verification.get("hash")?.as_str()) {
        let verification = Place::Field(place, "verification");
        let place = Place::Field(&verification, "hash");
        if source.is_none() {
            report.add(&place, "source must be specified if verification is specified");
        }
        let minor = report.minor;
        report.check(&place, verification_hash(hash, minor));
    }
    let Some(headers) = record.get("httpHeaders").and_then(Value::as_array) else { return };
    let place = Place::Field(place, "httpHeaders");
    match source.map(scheme) {
        Some(Some("http" | "https")) => {}
        Some(Some(_)) => report.add(&place, "cannot use HTTP headers with this source scheme"),
        _ => report.add(&place, "unable to parse url"),
    }
    for (index, header) in headers.iter().enumerate() {
        let item = Place::Item(&place, index);
        if header.get("name").and_then(Value::as_str).unwrap_or_default().is_empty() {
            report.add(&Place::Field(&item, "name"), "HTTP header name can't be empty");
        }
        if header.get("value").and_then(Value::as_str) == Some("") {
            report.add(&Place::Field(&item, "value"), "unable to parse HTTP header");
        }
    }
}

/// What stands before the colon, when it can be a scheme.
fn scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    (is_scheme && !url.bytes().any(|byte| byte.is_ascii_control())).then_some(scheme)
}

fn url(url: &str, minor: u8) -> Result<(), &'static str> {
    if url.starts_with("data:") {
        return match data_url::decode(url) {
            Ok(_) | Err(DataUrlError::Remote) => Ok(()),
            Err(_) => Err("malformed data URL"),
        };
    }
    match scheme(url) {
        None => Err("unable to parse url"),
        Some("http" | "https" | "tftp" | "s3") => Ok(()),
        Some("gs") if minor >= 2 => Ok(()),
        Some("arn") if minor >= 4 => {
            if url.split(':').nth(2) == Some("s3") && url.contains('/') {
                Ok(())
            } else {
                Err("invalid S3 ARN format")
            }
        }
        Some(_) => Err("invalid url scheme"),
    }
}

fn verification_hash(hash: &str, minor: u8) -> Result<(), &'static str> {
    let (function, sum) = hash.split_once('-').ok_or("malformed hash specifier")?;
    let digits = match function {
        "sha512" => 128,
        "sha256" if minor >= 1 => 64,
        _ => return Err("unrecognized hash function"),
    };
    if sum.len() == digits { Ok(()) } else { Err("incorrect size for hash sum") }
}

fn ignition(whole: &Config, report: &mut Report) {
    let Some(ignition) = whole.section("ignition") else { return };
    let place = Place::Field(&Place::Root, "ignition");
    let (config, security) = (Place::Field(&place, "config"), Place::Field(&place, "security"));
    let tls = Place::Field(&security, "tls");
    let lists =
        [(&config, "/config/merge", "merge"), (&tls, "/security/tls/certificateAuthorities", "certificateAuthorities")];
    let root = Value::Object(ignition.clone());
    for (section, pointer, list) in lists {
        for (index, item) in root.pointer(pointer).and_then(Value::as_array).into_iter().flatten().enumerate() {
            if item.get("source").and_then(Value::as_str).unwrap_or_default().is_empty() {
                report.add(&Place::Item(&Place::Field(section, list), index), "source is required");
            }
        }
    }
    let proxy = Place::Field(&place, "proxy");
    for name in ["httpProxy", "httpsProxy"] {
        let Some(url) = ignition.get("proxy").and_then(|proxy| proxy.get(name)?.as_str()) else { continue };
        if !matches!(scheme(url), Some("http" | "https")) {
            report.add(&Place::Field(&proxy, name), "proxies must be http(s)");
        }
    }
}

/// Whether a path is absolute and as short as it can be written.
fn path(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("path not specified");
    }
    if !path.starts_with('/') {
        return Err("path not absolute");
    }
    let is_clean = path == "/" || path.split('/').skip(1).all(|part| !matches!(part, "" | "." | ".."));
    if is_clean { Ok(()) } else { Err("path is not fully simplified") }
}

#[cfg(test)]
#[path = "validate/tests.rs"]
mod tests;
