//! Where containers mount volumes and see block devices.

use roost_object::Value;
use roost_object::field::{Error, Errors};

use super::volume::Volumes;
use crate::check::Check::{OneOfGiven, Required};
use crate::check::{DESCENDING_PATH, Spot, elements, text};

/// Whether one of the entries is at a path. Of several entries for a volume, stock only knows the last.
fn has_path(entries: &[Value], field: &str, path: &str) -> bool {
    entries.iter().enumerate().any(|(index, entry)| {
        text(entry, field) == path
            && !entries[index + 1..].iter().any(|later| text(later, "name") == text(entry, "name"))
    })
}

/// Checks the mounts of a container.
pub(super) fn validate_mounts(container: &Spot<'_>, volumes: &Volumes<'_>, errors: &mut Errors) {
    let mounts = container.field("volumeMounts");
    let devices = elements(&container.value["volumeDevices"]);
    mounts.each(|index, mount| {
        let name = mount.field("name");
        name.check(&[Required], errors);
        if !volumes.contains_key(name.text()) {
            errors.push(Error::not_found(&name.path, name.text()));
        }
        let path = mount.field("mountPath");
        path.check(&[Required], errors);
        if mounts.elements()[..index].iter().any(|earlier| text(earlier, "mountPath") == path.text()) {
            errors.push(Error::invalid(&path.path, path.text(), "must be unique"));
        }
        if devices.iter().any(|device| text(device, "name") == name.text()) {
            errors.push(Error::invalid(&name.path, name.text(), "must not already exist in volumeDevices"));
        }
        if has_path(devices, "devicePath", path.text()) {
            let words = "must not already exist as a path in volumeDevices";
            errors.push(Error::invalid(&path.path, path.text(), words));
        }
        // From here on, stock reports the list and not its element.
        let as_list = |field| Spot::new(&mount.value[field], mounts.path);
        let sub_path = as_list("subPath");
        Spot::new(sub_path.value, sub_path.path.child("subPath")).check(&[DESCENDING_PATH], errors);
        let expression = mount.field("subPathExpr");
        if expression.filled() {
            if sub_path.filled() {
                expression.invalid("subPathExpr and subPath are mutually exclusive", errors);
            }
            Spot::new(expression.value, mounts.path.child("subPathExpr")).check(&[DESCENDING_PATH], errors);
        }
        validate_propagation(container, mount.value, &mounts, errors);
        validate_recursion(mount.value, &mounts, errors);
    });
}

fn validate_propagation(container: &Spot<'_>, mount: &Value, mounts: &Spot<'_>, errors: &mut Errors) {
    let propagation = Spot::new(&mount["mountPropagation"], mounts.path.child("mountPropagation"));
    propagation.check(&[OneOfGiven(&["Bidirectional", "HostToContainer", "None"])], errors);
    let privileged = container.value["securityContext"]["privileged"] == true;
    if propagation.text() == "Bidirectional" && !privileged {
        propagation.forbidden("Bidirectional mount propagation is available only to privileged containers", errors);
    }
}

fn validate_recursion(mount: &Value, mounts: &Spot<'_>, errors: &mut Errors) {
    let recursion = Spot::new(&mount["recursiveReadOnly"], mounts.path.child("recursiveReadOnly"));
    if !recursion.given() {
        return;
    }
    recursion.check(&[OneOfGiven(&["Disabled", "Enabled", "IfPossible"])], errors);
    if matches!(recursion.text(), "Enabled" | "IfPossible") {
        if mount["readOnly"] != true {
            recursion.forbidden("may only be specified when readOnly is true", errors);
        }
        if !matches!(text(mount, "mountPropagation"), "" | "None") {
            recursion.forbidden("may only be specified when mountPropagation is None or not specified", errors);
        }
    }
}

/// Checks the block devices of a container.
pub(super) fn validate_devices(container: &Spot<'_>, volumes: &Volumes<'_>, errors: &mut Errors) {
    let devices = container.field("volumeDevices");
    let mounts = elements(&container.value["volumeMounts"]);
    devices.each(|index, device| {
        let earlier = &devices.elements()[..index];
        let name = device.field("name");
        let path = device.field("devicePath");
        name.check(&[Required], errors);
        if name.filled() && earlier.iter().any(|other| text(other, "name") == name.text()) {
            errors.push(Error::invalid(&name.path, name.text(), "must be unique"));
        }
        match volumes.get(name.text()) {
            Some(volume) if volume["persistentVolumeClaim"].is_null() && volume["ephemeral"].is_null() => {
                let words = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                errors.push(Error::invalid(&name.path, name.text(), words));
            }
            Some(_) => {}
            None => errors.push(Error::not_found(&name.path, name.text())),
        }
        path.check(&[Required], errors);
        let climbs = |path: &str| path.split('/').any(|step| step == "..");
        if earlier.iter().any(|other| text(other, "devicePath") == path.text() && !climbs(path.text())) {
            errors.push(Error::invalid(&path.path, path.text(), "must be unique"));
        }
        if climbs(path.text()) {
            path.invalid("can not contain backsteps ('..')", errors);
        }
        if mounts.iter().any(|mount| text(mount, "name") == name.text()) {
            errors.push(Error::invalid(&name.path, name.text(), "must not already exist in volumeMounts"));
        }
        if has_path(mounts, "mountPath", path.text()) {
            let words = "must not already exist as a path in volumeMounts";
            errors.push(Error::invalid(&path.path, path.text(), words));
        }
    });
}
