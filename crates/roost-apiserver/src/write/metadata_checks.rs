//! How often, and when, the metadata of a built-in kind is checked when it is updated.
//!
//! Stock checks metadata for all kinds alike, and then each kind's own rules check it again: as an update, as a whole, or
//! both. Every complaint is reported each time.

use roost_object::Value;
use roost_object::field::{Error, Errors, Path};
use roost_object::metadata;
use roost_rules::Rules;

use crate::resource::Resource;

/// One more look at the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// What must not change, and what finalizers are called.
    Update,
    /// What must not change.
    PlainUpdate,
    /// All of it, and what finalizers are called.
    Whole,
    /// All of it.
    PlainWhole,
    /// Not at the metadata: here is where the kind's own rules look at the rest of the object as a whole.
    Rest,
}

use Look::{PlainUpdate, PlainWhole, Rest, Update, Whole};

/// A kind by its group and plural.
type Kind = (&'static str, &'static str);

/// The looks of the kinds that do not just look once at what must not change.
const LOOKS: &[(&[Look], &[Kind])] = &[
    (
        &[Update, Rest, Whole],
        &[
            ("", "configmaps"),
            ("", "secrets"),
            ("", "serviceaccounts"),
            ("", "endpoints"),
            ("networking.k8s.io", "ingressclasses"),
            ("storage.k8s.io", "volumeattributesclasses"),
        ],
    ),
    (
        &[Update, Whole],
        &[
            ("", "persistentvolumeclaims"),
            ("", "pods"),
            ("apps", "controllerrevisions"),
            ("networking.k8s.io", "ingresses"),
        ],
    ),
    (
        &[Whole],
        &[
            ("", "limitranges"),
            ("discovery.k8s.io", "endpointslices"),
            ("storage.k8s.io", "csinodes"),
            ("storage.k8s.io", "volumeattachments"),
            ("flowcontrol.apiserver.k8s.io", "flowschemas"),
            ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
        ],
    ),
    (
        &[Whole, Rest, Update],
        &[
            ("", "nodes"),
            ("", "namespaces"),
            ("batch", "jobs"),
            ("certificates.k8s.io", "certificatesigningrequests"),
            ("rbac.authorization.k8s.io", "roles"),
            ("rbac.authorization.k8s.io", "rolebindings"),
            ("rbac.authorization.k8s.io", "clusterroles"),
            ("rbac.authorization.k8s.io", "clusterrolebindings"),
            ("networking.k8s.io", "ipaddresses"),
            ("resource.k8s.io", "resourceclaimtemplates"),
            ("storage.k8s.io", "csistoragecapacities"),
            ("storage.k8s.io", "storageclasses"),
        ],
    ),
    (&[Whole, Update], &[("resource.k8s.io", "resourceclaims"), ("resource.k8s.io", "deviceclasses")]),
    (&[Whole, Rest, Whole], &[("", "persistentvolumes")]),
    (&[], &[("policy", "poddisruptionbudgets"), ("", "events"), ("events.k8s.io", "events")]),
    (&[PlainUpdate], &[("coordination.k8s.io", "leases"), ("apiextensions.k8s.io", "customresourcedefinitions")]),
    (&[PlainUpdate, PlainWhole], &[("apiregistration.k8s.io", "apiservices")]),
    (&[PlainWhole, Rest, PlainUpdate], &[("node.k8s.io", "runtimeclasses")]),
    (
        &[PlainWhole],
        &[
            ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
            ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
            ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
            ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
            ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
            ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"),
        ],
    ),
];

/// The same for what stands beside an object, where that is not just one look at what must not change.
const LOOKS_BESIDE: &[(&str, &[Look], &[Kind])] = &[
    (
        "status",
        &[],
        &[
            ("batch", "cronjobs"),
            ("policy", "poddisruptionbudgets"),
            ("flowcontrol.apiserver.k8s.io", "flowschemas"),
            ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
            ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
        ],
    ),
    ("status", &[Rest, Update], &[("apps", "statefulsets")]),
    ("status", &[Whole], &[("storage.k8s.io", "volumeattachments")]),
    ("status", &[Whole, Rest, Update], &[("certificates.k8s.io", "certificatesigningrequests")]),
    ("approval", &[Whole, Rest, Update], &[("certificates.k8s.io", "certificatesigningrequests")]),
];

fn has(kinds: &[Kind], resource: &Resource) -> bool {
    kinds.iter().any(|(group, plural)| *group == resource.group && *plural == resource.plural)
}

fn looks(resource: &Resource) -> &'static [Look] {
    LOOKS.iter().find(|(_, kinds)| has(kinds, resource)).map_or(&[Update], |(looks, _)| looks)
}

/// Whether the kind's own rules leave metadata to what is done for all kinds, which comes after them.
pub(super) fn leaves_metadata(resource: &Resource) -> bool {
    looks(resource).is_empty()
}

/// Whether the kind checks what its finalizers are called.
pub(super) fn names_finalizers(resource: &Resource) -> bool {
    looks(resource).iter().any(|look| matches!(look, Update | Whole))
}

/// Whether a complaint is about what a counter was before, which comes after the look at the metadata.
fn is_of_change(error: &Error) -> bool {
    error.detail == "cannot be decremented"
}

/// A change of an object of a built-in kind.
pub(super) struct Changed<'a> {
    pub(super) resource: &'a Resource,
    pub(super) rules: &'a Rules,
    pub(super) subresource: &'a str,
    pub(super) new: &'a Value,
    pub(super) old: &'a Value,
}

impl Changed<'_> {
    /// Checks the metadata as often as the kind does, beyond what is done for all kinds, and puts what the kind's own rules
    /// found where stock has it: what is wrong with the whole object follows the look at all of its metadata.
    pub(super) fn validate(&self, own: &[Error], errors: &mut Errors) {
        let looks = self.looks();
        let between = match looks {
            _ if own.is_empty() || !looks.contains(&Rest) => 0,
            _ if !self.subresource.is_empty() => own.len() - usize::from(own.last().is_some_and(is_of_change)),
            [Whole | PlainWhole, Rest, _] => self.whole(own, <[Error]>::starts_with).unwrap_or(0),
            [_, Rest, _] => self.whole(own, <[Error]>::ends_with).map_or(0, |whole| own.len() - whole),
            _ => 0,
        };
        for look in looks {
            match look {
                Rest => errors.extend_from_slice(&own[..between]),
                look => self.look(*look, errors),
            }
        }
        errors.extend_from_slice(&own[between..]);
    }

    /// How many of the kind's own complaints are about the object as if it were new; none when they cannot be told apart.
    /// Updates check the whole object in the midst of the rest and do not say where, so those rules run once more here, for
    /// objects that are refused anyway.
    fn whole(&self, own: &[Error], has: fn(&[Error], &[Error]) -> bool) -> Option<usize> {
        let mut whole = Errors::new();
        match self.rules.validate_whole {
            Some(validate) => validate(self.new, self.old, &mut whole),
            None => (self.rules.validate)(self.new, &mut whole),
        }
        has(own, &whole).then_some(whole.len())
    }

    fn looks(&self) -> &'static [Look] {
        // What stands beside an object is updated on its own, and mostly that looks once.
        let is_beside = |part: &str, kinds| part == self.subresource && has(kinds, self.resource);
        let beside = LOOKS_BESIDE.iter().find(|(part, _, kinds)| is_beside(part, kinds));
        match (self.subresource, beside, looks(self.resource)) {
            ("", _, own) => own,
            (_, Some((_, looks, _)), _) => looks,
            (_, None, own) if own.iter().any(|look| matches!(look, Update | Whole)) => &[Update],
            _ => &[PlainUpdate],
        }
    }

    fn look(&self, look: Look, errors: &mut Errors) {
        let path = Path::new("metadata");
        let meta = &self.new["metadata"];
        match look {
            Rest => {}
            Update | PlainUpdate => metadata::validate_update(meta, &self.old["metadata"], &path, errors),
            Whole | PlainWhole => {
                let check = |name: &str, prefix| self.rules.name.check(self.new, name, prefix);
                metadata::validate(meta, self.resource.namespaced, check, &path, errors);
            }
        }
        if matches!(look, Update | Whole) {
            roost_rules::validate_finalizers(meta, errors);
        }
    }
}
