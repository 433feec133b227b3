//! Volumes of pods: one of many sources each, under a name of its own.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use roost_object::field::{Error, Errors};
use roost_object::{Quantity, Value, names};

use super::spec::{Options, PodIdentity};
use super::{claim, projected};
use crate::check::Check::{Between, Each, Fields, FileMode, Longest, OneOf, OneOfGiven, Required, Text, With};
use crate::check::{Check, DESCENDING_PATH, Field, LABEL, LOCAL_PATH, NO_BACKSTEPS, SUBDOMAIN, Spot, text};

/// The volumes that passed their checks, by name: what containers can mount.
pub(super) type Volumes<'a> = BTreeMap<&'a str, &'a Value>;

/// A kind of volume: its field, and what must hold for it. Stock looks for them in this order.
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

const MODE: Field = ("defaultMode", &[FileMode]);
const ITEMS: Field = ("items", &[Each(&[Fields(KEY_TO_PATH)])]);
pub(super) static KEY_TO_PATH: &[Field] =
    &[("key", &[Required]), ("path", &[Required, LOCAL_PATH]), ("mode", &[FileMode])];
const DISK_PARTITION: Field = ("partition", &[With(disk_partition)]);
const SECRET_NAME: Field = ("secretRef", &[Fields(&[("name", &[Required])])]);

static SOURCES: &[Source] = &[
    source("emptyDir", &[Fields(&[("sizeLimit", &[With(size_limit)])])]),
    source("hostPath", &[With(host_path)]),
    source("gitRepo", &[Fields(&[("repository", &[Required]), ("directory", &[DESCENDING_PATH])])]),
    Source {
        reported_as: "persistentDisk",
        ..source("gcePersistentDisk", &[Fields(&[("pdName", &[Required]), DISK_PARTITION])])
    },
    source("awsElasticBlockStore", &[Fields(&[("volumeID", &[Required]), DISK_PARTITION])]),
    source("secret", &[Fields(&[("secretName", &[Required]), MODE, ITEMS])]),
    source("nfs", &[Fields(&[("server", &[Required])]), With(nfs_path)]),
    source("iscsi", &[With(iscsi)]),
    source("glusterfs", &[Fields(&[("endpoints", &[Required]), ("path", &[Required])])]),
    source("flocker", &[With(flocker)]),
    source("persistentVolumeClaim", &[Fields(&[("claimName", &[Required])])]),
    source("rbd", &[Fields(&[("monitors", &[Required]), ("image", &[Required])])]),
    source("cinder", &[Fields(&[("volumeID", &[Required]), SECRET_NAME])]),
    Source { forbidden_as: "cephFS", ..source("cephfs", &[Fields(&[("monitors", &[Required])])]) },
    source("quobyte", &[With(quobyte)]),
    Source { forbidden_as: "downwarAPI", ..source("downwardAPI", &[With(projected::downward_api)]) },
    source("fc", &[With(fibre_channel)]),
    source("flexVolume", &[Fields(&[("driver", &[Required]), ("options", &[With(flex_options)])])]),
    source("configMap", &[Fields(&[("name", &[Required]), MODE, ITEMS])]),
    source("azureFile", &[Fields(&[("secretName", &[Required]), ("shareName", &[Required])])]),
    source("vsphereVolume", &[Fields(&[("volumePath", &[Required])])]),
    source("photonPersistentDisk", &[Fields(&[("pdID", &[Required])])]),
    source("portworxVolume", &[Fields(&[("volumeID", &[Required])])]),
    source("azureDisk", &[With(azure_disk)]),
    source("storageos", &[Fields(&[("volumeName", &[Required, LABEL]), ("volumeNamespace", &[LABEL]), SECRET_NAME])]),
    source("projected", &[Fields(&[MODE])]),
    source("scaleIO", &[Fields(&[("gateway", &[Required]), ("system", &[Required]), ("volumeName", &[Required])])]),
    source("csi", &[Fields(&[("driver", &[Required, Longest(63), Text(lowercase_subdomain)])]), With(csi_secret)]),
    source("ephemeral", &[With(claim::ephemeral)]),
    source("image", &[]),
];

static PULL_POLICY: &[Check] = &[Required, OneOf(&["Always", "IfNotPresent", "Never"])];

/// Checks the volumes of a pod or template, and tells which of them containers can mount.
pub(super) fn validate<'a>(
    volumes: &Spot<'a>,
    pod: Option<PodIdentity<'_>>,
    options: &Options,
    errors: &mut Errors,
) -> Volumes<'a> {
    let pod_name = pod.map(|pod| pod.name).filter(|name| !name.is_empty());
    let mut created_claims = Vec::new();
    if let Some(pod_name) = pod_name {
        let ephemeral = volumes.elements().iter().filter(|volume| !volume["ephemeral"].is_null());
        created_claims.extend(ephemeral.map(|volume| format!("{pod_name}-{}", text(volume, "name"))));
    }
    let mut usable = Volumes::new();
    for (index, value) in volumes.elements().iter().enumerate() {
        let volume = Spot::new(value, volumes.path.index(index));
        let before = errors.len();
        validate_source(&volume, pod_name, options, errors);
        let name = volume.field("name");
        name.check(&[Required, LABEL], errors);
        if usable.contains_key(text(value, "name")) {
            errors.push(Error::duplicate(&name.path, name.text()));
        }
        if errors.len() == before {
            usable.insert(text(value, "name"), value);
        }
        let claim = volume.field("persistentVolumeClaim");
        let claim_name = claim.field("claimName");
        if claim.given() && created_claims.iter().any(|created| created == claim_name.text()) {
            claim_name.invalid("must not reference a PVC that gets created for an ephemeral volume", errors);
        }
    }
    usable
}

fn validate_source(volume: &Spot<'_>, pod_name: Option<&str>, options: &Options, errors: &mut Errors) {
    let volume_name = text(volume.value, "name");
    let mut found = false;
    for kind in SOURCES {
        let value = &volume.value[kind.field];
        if value.is_null() {
            continue;
        }
        if found {
            let path = volume.path.child(kind.forbidden_as);
            errors.push(Error::forbidden(&path, "may not specify more than 1 volume type"));
        } else {
            found = true;
            let spot = Spot::new(value, volume.path.child(kind.reported_as));
            spot.check(kind.checks, errors);
            match kind.field {
                "projected" => projected::validate_sources(&spot, options, errors),
                "ephemeral" => created_claim_name(volume, pod_name, errors),
                "image" => {
                    if options.is_pod {
                        spot.field("reference").check(&[Required], errors);
                    }
                    spot.field("pullPolicy").check(PULL_POLICY, errors);
                }
                _ => {}
            }
        }
        if kind.field == "iscsi"
            && !value["initiatorName"].is_null()
            && volume_name.len() + 1 + text(value, "targetPortal").len() > 64
        {
            let words = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
            errors.push(Error::invalid(&volume.path.child("name"), volume_name, words));
        }
    }
    if !found {
        errors.push(Error::required(&volume.path, "must specify a volume type"));
    }
}

fn created_claim_name(volume: &Spot<'_>, pod_name: Option<&str>, errors: &mut Errors) {
    let name = volume.field("name");
    let Some(pod_name) = pod_name.filter(|_| name.filled()) else { return };
    let claim_name = format!("{pod_name}-{}", name.text());
    for words in names::is_dns1123_subdomain(&claim_name) {
        name.invalid(format!("PVC name \"{claim_name}\": {words}"), errors);
    }
}

fn size_limit(limit: &Spot<'_>, errors: &mut Errors) {
    if Quantity::from_value(limit.value).is_ok_and(|limit| limit.is_negative()) {
        limit.forbidden("SizeLimit field must be a valid resource quantity", errors);
    }
}

pub(crate) fn host_path(source: &Spot<'_>, errors: &mut Errors) {
    static TYPES: &[&str] =
        &["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    source.field("path").check(&[Required, NO_BACKSTEPS], errors);
    if source.field("path").filled() {
        source.field("type").check(&[OneOf(TYPES)], errors);
    }
}

pub(crate) fn disk_partition(partition: &Spot<'_>, errors: &mut Errors) {
    if !(0..=255).contains(&partition.number()) {
        partition.invalid(names::out_of_range(1, 255), errors);
    }
}

pub(crate) fn nfs_path(source: &Spot<'_>, errors: &mut Errors) {
    let path = source.field("path");
    path.check(&[Required], errors);
    if !path.text().starts_with('/') {
        errors.push(Error::invalid(&path.path, path.text(), "must be an absolute path"));
    }
}

/// Checks a name of an iSCSI node. Stock words a wrong beginning and a wrong end differently.
fn iscsi_name(name: &Spot<'_>, reported_as: &Spot<'_>, errors: &mut Errors) {
    static FORMS: LazyLock<[(&str, Regex); 3]> = LazyLock::new(|| {
        let form = |text| Regex::new(text).expect("a fixed expression");
        [
            ("iqn", form(r"iqn\.\d{4}-\d{2}\.([[:alnum:]\-.]+)(:[^,;*&$|\s]+)$")),
            ("eui", form(r"^eui.[[:alnum:]]{16}$")),
            ("naa", form(r"^naa.[[:alnum:]]{32}$")),
        ]
    });
    let text = name.text();
    let words = match FORMS.iter().find(|(prefix, _)| text.starts_with(prefix)) {
        None => "must be valid format starting with iqn, eui, or naa",
        Some((_, form)) if !form.is_match(text) => "must be valid format",
        Some(_) => return,
    };
    errors.push(Error::invalid(&reported_as.path, text, words));
}

pub(crate) fn iscsi(source: &Spot<'_>, errors: &mut Errors) {
    source.field("targetPortal").check(&[Required], errors);
    let iqn = source.field("iqn");
    iqn.check(&[Required], errors);
    if iqn.filled() {
        iscsi_name(&iqn, &iqn, errors);
    }
    source.field("lun").check(&[Between(0, 255)], errors);
    let authenticates = source.field("chapAuthDiscovery").is_true() || source.field("chapAuthSession").is_true();
    if authenticates && !source.field("secretRef").given() {
        errors.push(Error::required(&source.field("secretRef").path, ""));
    }
    if source.field("initiatorName").given() {
        iscsi_name(&source.field("initiatorName"), &source.field("initiatorname"), errors);
    }
}

pub(crate) fn flocker(source: &Spot<'_>, errors: &mut Errors) {
    let name = source.field("datasetName");
    match (name.filled(), source.field("datasetUUID").filled()) {
        (false, false) => errors.push(Error::required(&source.path, "one of datasetName and datasetUUID is required")),
        (true, true) => errors.push(Error::invalid(
            &source.path,
            "resource",
            "datasetName and datasetUUID can not be specified simultaneously",
        )),
        _ => {}
    }
    if name.text().contains('/') {
        name.invalid("must not contain '/'", errors);
    }
}

pub(crate) fn quobyte(source: &Spot<'_>, errors: &mut Errors) {
    const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
    let registry = source.field("registry");
    let tenant = source.field("tenant");
    if !registry.filled() {
        errors.push(Error::required(&registry.path, PAIRS));
    } else if tenant.text().len() >= 65 {
        errors.push(Error::required(&tenant.path, "must be a UUID and may not exceed a length of 64 characters"));
    } else {
        let is_pair = |pair: &str| match pair.rsplit_once(':') {
            Some((host, _)) if host.starts_with('[') => host.ends_with(']'),
            Some((host, _)) => !host.contains([':', '[', ']']),
            None => false,
        };
        for _ in registry.text().split(',').filter(|pair| !is_pair(pair)) {
            registry.invalid(PAIRS, errors);
        }
    }
    source.field("volume").check(&[Required], errors);
}

pub(crate) fn fibre_channel(source: &Spot<'_>, errors: &mut Errors) {
    let targets = source.field("targetWWNs");
    let lun = source.field("lun");
    match (targets.filled(), source.field("wwids").filled()) {
        (false, false) => {
            errors.push(Error::required(&targets.path, "must specify either targetWWNs or wwids, but not both"));
        }
        (true, true) => targets.invalid("targetWWNs and wwids can not be specified simultaneously", errors),
        _ => {}
    }
    if targets.filled() {
        if lun.given() {
            lun.check(&[Between(0, 255)], errors);
        } else {
            errors.push(Error::required(&lun.path, "lun is required if targetWWNs is specified"));
        }
    }
}

pub(crate) fn flex_options(options: &Spot<'_>, errors: &mut Errors) {
    options.entries(|key, option| {
        let namespace = key.split_once('/').map_or(key, |(namespace, _)| namespace);
        let normalized = format!(".{}", namespace.to_lowercase());
        if normalized.ends_with(".kubernetes.io") || normalized.ends_with(".k8s.io") {
            errors.push(Error::invalid(&option.path, key, "kubernetes.io and k8s.io namespaces are reserved"));
        }
    });
}

pub(crate) fn azure_disk(source: &Spot<'_>, errors: &mut Errors) {
    static NAMES: &[Field] = &[
        ("diskName", &[Required]),
        ("diskURI", &[Required]),
        ("cachingMode", &[OneOfGiven(&["None", "ReadOnly", "ReadWrite"])]),
        ("kind", &[OneOfGiven(&["Dedicated", "Managed", "Shared"])]),
    ];
    source.check_fields(NAMES, errors);
    let uri = source.field("diskURI");
    let kind = source.field("kind");
    let (prefix, form) = if kind.text() == "Managed" {
        (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        )
    } else {
        ("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd")
    };
    if kind.given() && !uri.text().starts_with(prefix) {
        errors.push(Error::not_supported(&uri.path, uri.text(), &[form]));
    }
}

pub(crate) fn lowercase_subdomain(name: &str) -> Vec<String> {
    names::is_dns1123_subdomain(&name.to_lowercase())
}

fn csi_secret(source: &Spot<'_>, errors: &mut Errors) {
    let reference = source.field("nodePublishSecretRef");
    if !reference.given() {
        return;
    }
    let name = reference.field("name");
    if name.filled() {
        // Stock reports a bad name one level higher than a missing one.
        Spot::new(name.value, source.path.child("name")).check(&[SUBDOMAIN], errors);
    } else {
        errors.push(Error::required(&name.path, ""));
    }
}
