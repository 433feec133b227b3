//! Units, and files that would lie where units lie.

use std::collections::HashSet;

use super::Report;
use crate::config::Config;
use crate::read::Place;

const EXTENSIONS: &[&str] = &[
    "service",
    "socket",
    "device",
    "mount",
    "automount",
    "swap",
    "target",
    "path",
    "timer",
    "snapshot",
    "slice",
    "scope",
];

pub(super) fn check(config: &Config, report: &mut Report) {
    let systemd = Place::Field(&Place::Root, "systemd");
    let list = Place::Field(&systemd, "units");
    let mut unit_paths = HashSet::new();
    for (index, unit) in config.units().enumerate() {
        let place = Place::Item(&list, index);
        if !unit.name().rsplit_once('.').is_some_and(|(_, extension)| EXTENSIONS.contains(&extension)) {
            report.add(&Place::Field(&place, "name"), "invalid systemd unit extension");
        }
        if let Some(contents) = unit.contents().filter(|contents| !contents.is_empty()) {
            unit_paths.insert(format!("/etc/systemd/system/{}", unit.name()));
            report.check(&Place::Field(&place, "contents"), unit_text(contents));
        }
        let dropins = Place::Field(&place, "dropins");
        for (index, dropin) in unit.dropins().enumerate() {
            let place = Place::Item(&dropins, index);
            if dropin.name.rsplit_once('.').is_none_or(|(_, extension)| extension != "conf") {
                report.add(&Place::Field(&place, "name"), "invalid systemd drop-in extension");
            }
            if let Some(contents) = dropin.contents.filter(|contents| !contents.is_empty()) {
                unit_paths.insert(format!("/etc/systemd/system/{}.d/{}", unit.name(), dropin.name));
                report.check(&Place::Field(&place, "contents"), unit_text(contents));
            }
        }
    }
    let storage = Place::Field(&Place::Root, "storage");
    let nodes = (config.files().map(|file| file.path()).enumerate().map(|(index, path)| ("files", index, path)))
        .chain(
            config.directories().map(|node| node.path()).enumerate().map(|(index, path)| ("directories", index, path)),
        )
        .chain(config.links().map(|link| link.path()).enumerate().map(|(index, path)| ("links", index, path)));
    for (list, index, path) in nodes {
        if unit_paths.contains(path) {
            let list = Place::Field(&storage, list);
            let item = Place::Item(&list, index);
            report.add(&Place::Field(&item, "path"), "path conflicts with systemd unit or dropin");
        }
    }
}

/// Sections and assignments, with comments, empty lines and continued lines between them.
fn unit_text(text: &str) -> Result<(), &'static str> {
    let mut in_section = false;
    let mut continued = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if continued {
            continued = trimmed.ends_with('\\') || is_comment(trimmed);
            continue;
        }
        if trimmed.is_empty() || is_comment(trimmed) {
            continue;
        }
        if trimmed.starts_with('[') {
            if !trimmed.ends_with(']') {
                return Err("invalid unit content: found garbage after section name");
            }
            in_section = true;
        } else if !in_section {
            return Err("invalid unit content: an option stands before the first section");
        } else if trimmed.contains('=') {
            continued = trimmed.ends_with('\\');
        } else {
            return Err("invalid unit content: a line is neither a section nor an assignment");
        }
    }
    Ok(())
}

fn is_comment(line: &str) -> bool {
    line.starts_with(['#', ';'])
}
