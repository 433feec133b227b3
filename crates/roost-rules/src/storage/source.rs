//! Where the data of a persistent volume is: one of many kinds of storage.

use roost_object::field::{Error, Errors};
use roost_object::{Map, Value, names};

use crate::check::Check::{Fields, Longest, Required, Text, With};
use crate::check::{Check, Field, LABEL, NO_BACKSTEPS, SUBDOMAIN, Spot};
use crate::pod::volume;

/// A kind of storage: its field, and what must hold for it. Stock looks for them in this order.
struct Source {
    field: &'static str,
    /// The name under which stock reports the source where it is one too many, if it is another.
    forbidden_as: &'static str,
    /// The name under which stock reports what is wrong inside, if it is another.
    reported_as: &'static str,
    checks: &'static [Check],
}

const fn source(field: &'static str, checks: &'static [Check]) -> Source {
    Source { field, forbidden_as: field, reported_as: field, checks }
}

const PARTITION: Field = ("partition", &[With(volume::disk_partition)]);
const SECRET: Field = ("secretRef", &[Fields(&[("name", &[Required]), ("namespace", &[Required])])]);
const CSI_SECRET: &[Check] = &[Fields(&[("name", &[Required, SUBDOMAIN]), ("namespace", &[Required, LABEL])])];

/// The name of a driver.
pub(super) const DRIVER_NAME: &[Check] = &[Required, Longest(63), Text(volume::lowercase_subdomain)];

static SOURCES: &[Source] = &[
    source("hostPath", &[With(volume::host_path)]),
    Source {
        reported_as: "persistentDisk",
        ..source("gcePersistentDisk", &[Fields(&[("pdName", &[Required]), PARTITION])])
    },
    source("awsElasticBlockStore", &[Fields(&[("volumeID", &[Required]), PARTITION])]),
    source("glusterfs", &[Fields(&[("endpoints", &[Required]), ("path", &[Required])]), With(gluster_namespace)]),
    source("flocker", &[With(volume::flocker)]),
    source("nfs", &[Fields(&[("server", &[Required])]), With(volume::nfs_path)]),
    source("rbd", &[Fields(&[("monitors", &[Required]), ("image", &[Required])])]),
    source("quobyte", &[With(volume::quobyte)]),
    Source { forbidden_as: "cephFS", ..source("cephfs", &[Fields(&[("monitors", &[Required])])]) },
    source("iscsi", &[]),
    source("cinder", &[Fields(&[("volumeID", &[Required]), SECRET])]),
    source("fc", &[With(volume::fibre_channel)]),
    source("flexVolume", &[Fields(&[("driver", &[Required]), ("options", &[With(volume::flex_options)])])]),
    source("azureFile", &[Fields(&[("secretName", &[Required]), ("shareName", &[Required])]), With(azure_namespace)]),
    source("vsphereVolume", &[Fields(&[("volumePath", &[Required])])]),
    source("photonPersistentDisk", &[Fields(&[("pdID", &[Required])])]),
    source("portworxVolume", &[Fields(&[("volumeID", &[Required])])]),
    source("azureDisk", &[With(volume::azure_disk)]),
    source("scaleIO", &[Fields(&[("gateway", &[Required]), ("system", &[Required]), ("volumeName", &[Required])])]),
    source("local", &[Fields(&[("path", &[Required, NO_BACKSTEPS])])]),
    source("storageos", &[Fields(&[("volumeName", &[Required, LABEL]), ("volumeNamespace", &[LABEL]), SECRET])]),
    source(
        "csi",
        &[Fields(&[
            ("driver", DRIVER_NAME),
            ("volumeHandle", &[Required]),
            ("controllerPublishSecretRef", CSI_SECRET),
            ("controllerExpandSecretRef", CSI_SECRET),
            ("nodePublishSecretRef", CSI_SECRET),
            ("nodeExpandSecretRef", CSI_SECRET),
        ])],
    ),
];

/// Checks that a volume has one source, and that source.
pub(super) fn validate(spec: &Spot<'_>, volume_name: &str, errors: &mut Errors) {
    let mut found = false;
    for kind in SOURCES {
        let value = &spec.value[kind.field];
        if value.is_null() {
            continue;
        }
        // Flex volumes are let through beside others, as they always were.
        if found && kind.field != "flexVolume" {
            let path = spec.path.child(kind.forbidden_as);
            errors.push(Error::forbidden(&path, "may not specify more than 1 volume type"));
            continue;
        }
        found = true;
        let spot = Spot::new(value, spec.path.child(kind.reported_as));
        spot.check(kind.checks, errors);
        match kind.field {
            "iscsi" => iscsi(&spot, volume_name, errors),
            "local" if spec.value["nodeAffinity"].is_null() => {
                errors.push(Error::required(&spec.path.child("nodeAffinity"), "Local volume requires node affinity"));
            }
            _ => {}
        }
    }
    if !found {
        errors.push(Error::required(&spec.path, "must specify a volume type"));
    }
}

/// Only the sources of a volume's spec.
pub(super) fn of(spec: &Value) -> Value {
    let given = |source: &Source| Some((source.field.to_owned(), spec.get(source.field)?.clone()));
    Value::Object(SOURCES.iter().filter_map(given).collect::<Map<String, Value>>())
}

fn gluster_namespace(source: &Spot<'_>, errors: &mut Errors) {
    let namespace = source.field("endpointsNamespace");
    if namespace.value == "" {
        namespace.invalid("if the endpointnamespace is set, it must be a valid namespace name", errors);
    } else if namespace.given() {
        namespace.text_passes(names::is_dns1123_label, errors);
    }
}

fn azure_namespace(source: &Spot<'_>, errors: &mut Errors) {
    let namespace = source.field("secretNamespace");
    if namespace.value == "" {
        errors.push(Error::required(&namespace.path, ""));
    }
}

/// Checks iSCSI as in pods, with some more checks between, and with fewer words for a bad name.
fn iscsi(source: &Spot<'_>, volume_name: &str, errors: &mut Errors) {
    let mut found = Errors::new();
    volume::iscsi(source, &mut found);
    for error in &mut found {
        if error.detail.starts_with("must be valid format starting") {
            "must be valid format".clone_into(&mut error.detail);
        }
    }
    let portal = source.field("targetPortal");
    if source.field("initiatorName").given() && volume_name.len() + 1 + portal.text().len() > 64 {
        let words = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
        let error = Error::invalid(&source.path.child("targetportal"), portal.text(), words);
        found.insert(usize::from(!portal.filled()), error);
    }
    let secret = source.field("secretRef");
    if secret.given() && !secret.field("name").filled() {
        let place = found.iter().position(|error| error.field.ends_with("initiatorname")).unwrap_or(found.len());
        found.insert(place, Error::required(&secret.path.child("name"), ""));
    }
    errors.append(&mut found);
}
