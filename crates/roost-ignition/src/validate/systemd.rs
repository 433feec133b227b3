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

/// Reads a unit file as Ignition does: whatever stands before the first section is not looked at, then there are
/// assignments, comments and more sections.
fn unit_text(text: &str) -> Result<(), &'static str> {
    let Some(start) = first_section(text) else { return Ok(()) };
    let mut rest = after_section_name(start)?;
    loop {
        rest = rest.trim_start();
        match rest.as_bytes().first() {
            None => return Ok(()),
            Some(b'[') => rest = after_section_name(&rest[1..])?,
            Some(b'#' | b';') => rest = after_lines(rest),
            Some(_) => {
                let end = rest.find(['=', '\n', '\r']).ok_or("invalid unit content: EOF")?;
                if rest.as_bytes()[end] != b'=' {
                    return Err("invalid unit content: unexpected newline encountered while parsing option name");
                }
                rest = after_lines(&rest[end + 1..]);
            }
        }
    }
}

/// What follows the bracket of the first section.
fn first_section(mut text: &str) -> Option<&str> {
    loop {
        let start = text.find(['[', '#', ';'])?;
        if text.as_bytes()[start] == b'[' {
            return Some(&text[start + 1..]);
        }
        text = after_lines(&text[start..]);
    }
}

fn after_section_name(text: &str) -> Result<&str, &'static str> {
    let (_, rest) = text.split_once(']').ok_or("invalid unit content: unable to find end of section")?;
    let (suffix, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    if suffix.trim().is_empty() { Ok(rest) } else { Err("invalid unit content: found garbage after section name") }
}

/// What follows this line and the lines that continue it.
fn after_lines(mut text: &str) -> &str {
    loop {
        let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
        if rest.is_empty() || !line.ends_with('\\') {
            return rest;
        }
        text = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::unit_text;

    #[test]
    fn unit_files_are_read_as_ignition_reads_them() {
        for good in [
            "",
            "no section at all",
            "# [x\n[Unit]\nA=b\n",
            "[Unit]\nA=b",
            "[Unit]\nA=b \\\n  c\n# d\n\n[Install]\nB=\n",
            "[Unit]\n# x \\\ny\nA=b\n",
            "[Unit]  \n A = b\r\n",
        ] {
            assert_eq!(unit_text(good), Ok(()), "{good:?}");
        }
        for bad in ["[Unit", "[Unit] x\n", "[Unit]\nA\n", "[Unit]\nA", "x [Unit]\nA\nB=c"] {
            assert!(unit_text(bad).is_err(), "{bad:?}");
        }
    }
}
