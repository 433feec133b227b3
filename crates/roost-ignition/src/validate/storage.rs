//! Files, directories, links, disks and what lies on them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Report, filled, path, scheme, text, url};
use crate::read::Place;

type Record = Map<String, Value>;

fn records<'a>(storage: &'a Record, list: &str) -> Vec<&'a Record> {
    storage.get(list).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object).collect()
}

fn is_true(record: &Record, name: &str) -> bool {
    record.get(name) == Some(&Value::Bool(true))
}

pub(super) fn check(storage: &Record, report: &mut Report) {
    let place = Place::Field(&Place::Root, "storage");
    let links: HashSet<&str> = records(storage, "links").iter().filter_map(|link| text(link, "path")).collect();
    for (list, through_link) in [
        ("directories", "directory path includes link in config"),
        ("files", "file path includes link in config"),
        ("links", "link path includes link in config"),
    ] {
        let list_place = Place::Field(&place, list);
        for (index, node) in records(storage, list).into_iter().enumerate() {
            let place = Place::Item(&list_place, index);
            let node_path = text(node, "path").unwrap_or_default();
            report.check(&Place::Field(&place, "path"), path(node_path));
            if ancestors(node_path).any(|above| links.contains(above)) {
                report.add(&place, through_link);
            }
            for owner in ["user", "group"] {
                if let Some(Value::Object(record)) = node.get(owner)
                    && record.contains_key("id")
                    && filled(record, "name").is_some()
                {
                    report.add(&Place::Field(&place, owner), "cannot set both id and name");
                }
            }
            if node.get("mode").and_then(Value::as_i64).is_some_and(|mode| !(0..=0o7777).contains(&mode)) {
                report.add(&Place::Field(&place, "mode"), "illegal file mode");
            }
            let has_source = node.get("contents").and_then(|contents| contents.get("source")).is_some();
            if list == "files" && is_true(node, "overwrite") && !has_source {
                let problem = "overwrite must be false if source is unspecified";
                report.add(&Place::Field(&place, "overwrite"), problem);
            }
        }
    }
    link_targets(storage, &place, report);
    disks(storage, &place, report);
    filesystems(storage, &place, report);
    raids(storage, &place, report);
    luks(storage, &place, report);
}

/// The directories above a path.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(index, _)| &path[..index]).filter(|above| !above.is_empty())
}

fn link_targets(storage: &Record, place: &Place<'_>, report: &mut Report) {
    let directories: HashSet<&str> =
        records(storage, "directories").iter().filter_map(|directory| text(directory, "path")).collect();
    let list = Place::Field(place, "links");
    for (index, link) in records(storage, "links").into_iter().enumerate() {
        let place = Place::Item(&list, index);
        match filled(link, "target") {
            None => report.add(&Place::Field(&place, "target"), "link target is required"),
            Some(target) if is_true(link, "hard") && directories.contains(target) => {
                report.add(&place, "hard link target is a directory");
            }
            Some(_) => {}
        }
    }
}

fn disks(storage: &Record, place: &Place<'_>, report: &mut Report) {
    let list = Place::Field(place, "disks");
    for (index, disk) in records(storage, "disks").into_iter().enumerate() {
        let place = Place::Item(&list, index);
        match filled(disk, "device") {
            None => report.add(&Place::Field(&place, "device"), "disk device is required"),
            Some(device) => report.check(&Place::Field(&place, "device"), path(device)),
        }
        let partitions = records(disk, "partitions");
        let list = Place::Field(&place, "partitions");
        let mut labels = HashSet::new();
        for (index, partition) in partitions.iter().enumerate() {
            let place = Place::Item(&list, index);
            partition_of(partition, &place, report);
            if let Some(label) = text(partition, "label")
                && !labels.insert(label)
            {
                report.add(&place, "cannot use the same partition label twice");
            }
        }
        overlaps(&partitions, &list, report);
        let unnumbered = partitions.iter().any(|partition| number(partition) == 0);
        let removed = partitions.iter().any(|partition| partition.get("shouldExist") == Some(&Value::Bool(false)));
        if unnumbered && removed {
            let problem = "shouldExist is false for a partition and other partition(s) has start or size 0";
            report.add(&list, problem);
        }
    }
}

fn number(partition: &Record) -> i64 {
    partition.get("number").and_then(Value::as_i64).unwrap_or_default()
}

fn partition_of(partition: &Record, place: &Place<'_>, report: &mut Report) {
    let describes = ["label", "startMiB", "sizeMiB"].iter().any(|name| partition.contains_key(*name))
        || ["typeGuid", "guid"].iter().any(|name| filled(partition, name).is_some());
    if partition.get("shouldExist") == Some(&Value::Bool(false)) && describes {
        report.add(place, "shouldExist specified false with other options also specified");
    }
    let label = text(partition, "label");
    if number(partition) == 0 && label.is_none() {
        report.add(place, "a partition number >= 1 or a label must be specified");
    }
    if let Some(label) = label {
        let place = Place::Field(place, "label");
        if label.len() > 36 {
            report.add(&place, "partition labels may not exceed 36 characters");
        } else if label.contains(':') {
            report.add(&place, "partition label will be truncated to text before the colon");
        }
    }
    for name in ["guid", "typeGuid"] {
        if filled(partition, name).is_some_and(|guid| !is_guid(guid)) {
            let problem = "doesn't match the form \"01234567-89AB-CDEF-EDCB-A98765432101\"";
            report.add(&Place::Field(place, name), problem);
        }
    }
}

fn is_guid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn overlaps(partitions: &[&Record], place: &Place<'_>, report: &mut Report) {
    // A start of zero is wherever the tool finds room, which nobody can compare.
    let mut spans: Vec<(i64, i64, usize)> = Vec::new();
    for (index, partition) in partitions.iter().enumerate() {
        let size = |name: &str| partition.get(name).and_then(Value::as_i64);
        if let (Some(start), Some(size)) = (size("startMiB"), size("sizeMiB"))
            && start != 0
        {
            spans.push((start, start.saturating_add((size - 1).max(0)), index));
        }
    }
    spans.sort_unstable();
    for pair in spans.windows(2) {
        if pair[1].0 <= pair[0].1 {
            report.add(&Place::Item(place, pair[1].2), "partitions overlap");
        }
    }
}

fn filesystems(storage: &Record, place: &Place<'_>, report: &mut Report) {
    let list = Place::Field(place, "filesystems");
    for (index, filesystem) in records(storage, "filesystems").into_iter().enumerate() {
        let place = Place::Item(&list, index);
        report.check(&Place::Field(&place, "device"), path(text(filesystem, "device").unwrap_or_default()));
        if let Some(mounted) = filled(filesystem, "path") {
            report.check(&Place::Field(&place, "path"), path(mounted));
        }
        let label = filled(filesystem, "label");
        let Some(format) = filled(filesystem, "format") else {
            let says_more = ["path", "label", "uuid"].iter().any(|name| filled(filesystem, name).is_some())
                || is_true(filesystem, "wipeFilesystem")
                || ["options", "mountOptions"].iter().any(|name| filesystem.contains_key(*name));
            if says_more {
                let problem = "format cannot be empty when path, label, uuid, wipeFilesystem, options, or mountOptions \
                               is specified";
                report.add(&Place::Field(&place, "format"), problem);
            }
            continue;
        };
        let (longest, problem) = match format {
            "ext4" => (16, "filesystem labels cannot be longer than 16 characters when using ext4"),
            "btrfs" => (256, "filesystem labels cannot be longer than 256 characters when using btrfs"),
            "xfs" => (12, "filesystem labels cannot be longer than 12 characters when using xfs"),
            "swap" => (15, "filesystem labels cannot be longer than 15 characters when using swap"),
            "vfat" => (11, "filesystem labels cannot be longer than 11 characters when using vfat"),
            "none" if report.minor >= 3 => continue,
            _ => {
                report.add(&Place::Field(&place, "format"), "invalid filesystem format");
                continue;
            }
        };
        if label.is_some_and(|label| label.len() > longest) {
            report.add(&Place::Field(&place, "label"), problem);
        }
    }
}

fn raids(storage: &Record, place: &Place<'_>, report: &mut Report) {
    let list = Place::Field(place, "raid");
    for (index, raid) in records(storage, "raid").into_iter().enumerate() {
        let place = Place::Item(&list, index);
        let spares = raid.get("spares").and_then(Value::as_i64).unwrap_or_default();
        let level = Place::Field(&place, "level");
        match filled(raid, "level") {
            None => report.add(&level, "raid level is required"),
            Some("linear" | "raid0" | "0" | "stripe") if spares != 0 => {
                report.add(&level, "spares unsupported for linear and raid0 arrays");
            }
            Some(
                "linear" | "raid0" | "0" | "stripe" | "raid1" | "1" | "mirror" | "raid4" | "4" | "raid5" | "5"
                | "raid6" | "6" | "raid10" | "10",
            ) => {}
            Some(_) => report.add(&level, "unrecognized raid level"),
        }
        let devices = Place::Field(&place, "devices");
        match raid.get("devices").and_then(Value::as_array) {
            None => report.add(&devices, "raid devices required"),
            Some(items) => {
                for (index, device) in items.iter().enumerate() {
                    report.check(&Place::Item(&devices, index), path(device.as_str().unwrap_or_default()));
                }
            }
        }
    }
}

fn luks(storage: &Record, place: &Place<'_>, report: &mut Report) {
    let list = Place::Field(place, "luks");
    for (index, luks) in records(storage, "luks").into_iter().enumerate() {
        let place = Place::Item(&list, index);
        if text(luks, "name").is_some_and(|name| name.contains('/')) {
            report.add(&Place::Field(&place, "name"), "device names cannot contain slashes");
        }
        if text(luks, "label").is_some_and(|label| label.len() > 47) {
            report.add(&Place::Field(&place, "label"), "luks device labels cannot be longer than 47 characters");
        }
        match filled(luks, "device") {
            None => report.add(&Place::Field(&place, "device"), "disk device is required"),
            Some(device) => report.check(&Place::Field(&place, "device"), path(device)),
        }
        let key_file = luks.get("keyFile").and_then(|file| file.get("source")?.as_str());
        if key_file.is_some_and(|source| !source.is_empty() && url(source, report.minor).is_err()) {
            report.add(&Place::Field(&place, "keys"), "invalid key-file source");
        }
        let empty = Record::new();
        let clevis = luks.get("clevis").and_then(Value::as_object).unwrap_or(&empty);
        let has_clevis = clevis_of(clevis, &Place::Field(&place, "clevis"), report);
        if luks.get("cex").and_then(|cex| cex.get("enabled")) == Some(&Value::Bool(true)) {
            let place = Place::Field(&place, "cex");
            if has_clevis {
                report.add(&place, "cannot use cex with clevis");
            }
            if key_file.is_some_and(|source| !source.is_empty()) {
                report.add(&place, "cannot use key file with cex");
            }
        }
    }
}

/// Whether the volume is bound to anything.
fn clevis_of(clevis: &Record, place: &Place<'_>, report: &mut Report) -> bool {
    let tangs = records(clevis, "tang");
    let threshold = clevis.get("threshold").and_then(Value::as_i64).unwrap_or_default();
    let by_itself = !tangs.is_empty() || is_true(clevis, "tpm2") || threshold != 0;
    let list = Place::Field(place, "tang");
    for (index, tang) in tangs.iter().enumerate() {
        let place = Place::Item(&list, index);
        if !matches!(scheme(text(tang, "url").unwrap_or_default()), Some("http" | "https")) {
            report.add(&Place::Field(&place, "url"), "invalid url scheme");
        }
        if filled(tang, "thumbprint").is_none() {
            report.add(&Place::Field(&place, "thumbprint"), "thumbprint is required");
        }
        if filled(tang, "advertisement").is_some_and(|text| roost_object::json::read(text.as_bytes()).is_err()) {
            report.add(&Place::Field(&place, "advertisement"), "advertisement is not valid JSON");
        }
    }
    let Some(custom) = clevis.get("custom").and_then(Value::as_object) else { return by_itself };
    let pin = filled(custom, "pin");
    let config = filled(custom, "config");
    if pin.is_none() && config.is_none() && !is_true(custom, "needsNetwork") {
        return by_itself;
    }
    let custom = Place::Field(place, "custom");
    match pin {
        None => report.add(&Place::Field(&custom, "pin"), "missing required custom clevis pin"),
        Some("tpm2" | "tang" | "sss") => {}
        Some(_) => report.add(&Place::Field(&custom, "pin"), "unsupported clevis pin"),
    }
    if config.is_none() {
        report.add(&Place::Field(&custom, "config"), "missing required custom clevis config");
    }
    if pin.is_some() && by_itself {
        report.add(place, "cannot use custom clevis config with tpm2, tang, or threshold");
    }
    pin.is_some() || by_itself
}
