//! `ResourceQuota`: what objects use of a namespace's quotas, and whether one more still fits.

mod check;
mod claim;
mod device;
mod pod;
mod scope;
mod service;
mod usage;

use roost_object::{Quantity, Value};

use crate::amounts::{self, Amounts};
use scope::Scope;

pub use check::{Charges, Refusal, Request, check};
pub use device::{DeviceClasses, NoDevices};
pub use pod::usage as pod_usage;
pub use usage::{Objects, recalculate};

/// A quota as admission sees it: what it counts, how much it allows, and how much is used.
#[derive(Clone, Debug)]
pub struct Quota {
    /// The object's name.
    pub name: String,
    scopes: Vec<Scope>,
    hard: Amounts,
    used: Amounts,
}

impl Quota {
    /// Reads a ResourceQuota object: its scopes, and what its status says.
    pub fn read(object: &Value) -> Self {
        Self {
            name: object["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
            scopes: Scope::of_quota(object),
            hard: amounts::read(&object["status"]["hard"]),
            used: amounts::read(&object["status"]["used"]),
        }
    }
}

/// What the usage of a resource is measured in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evaluator {
    /// Pods: their number, and what they ask for.
    Pods,
    /// Services: their number, node ports and load balancers.
    Services,
    /// Claims for volumes: their number and size, also by storage class.
    VolumeClaims,
    /// Claims for devices: their number, and devices by class.
    DeviceClaims,
    /// Anything else: only the number of objects, under one or two names.
    Count {
        /// `count/<plural>.<group>`.
        name: String,
        /// The name that quotas had for it before there was a general one.
        alias: Option<&'static str>,
    },
}

/// Resources that are not stored, or that quotas never counted.
const IGNORED: &[(&str, &str)] = &[
    ("", "bindings"),
    ("", "componentstatuses"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("", "events"),
    ("events.k8s.io", "events"),
];

const ALIASES: &[&str] = &["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];

impl Evaluator {
    /// How a resource is measured; none when quotas do not count it.
    pub fn of(group: &str, plural: &str) -> Option<Self> {
        if IGNORED.contains(&(group, plural)) {
            return None;
        }
        Some(match (group, plural) {
            ("", "pods") => Self::Pods,
            ("", "services") => Self::Services,
            ("", "persistentvolumeclaims") => Self::VolumeClaims,
            ("resource.k8s.io", "resourceclaims") => Self::DeviceClaims,
            _ => Self::Count {
                name: count_name(group, plural),
                alias: ALIASES.iter().copied().find(|alias| group.is_empty() && *alias == plural),
            },
        })
    }

    /// Which of the resources of a quota objects of this kind use.
    fn is_measured(&self, name: &str, devices: &dyn DeviceClasses) -> bool {
        match self {
            Self::Pods => pod::is_measured(name),
            Self::Services => service::RESOURCES.contains(&name),
            Self::VolumeClaims => claim::is_measured(name),
            Self::DeviceClaims => device::is_measured(name, devices),
            Self::Count { name: own, alias } => name == own || *alias == Some(name),
        }
    }

    /// What an object uses.
    fn usage(&self, object: &Value, now: i64, devices: &dyn DeviceClasses) -> Amounts {
        match self {
            Self::Pods => pod::usage(object, now),
            Self::Services => service::usage(object),
            Self::VolumeClaims => claim::usage(object),
            Self::DeviceClaims => device::usage(object, devices),
            Self::Count { name, alias } => {
                let names = std::iter::once(name.as_str()).chain(*alias);
                names.map(|name| (name.to_owned(), amounts::count(1))).collect()
            }
        }
    }

    /// Whether an object is in a scope.
    fn in_scope(&self, scope: &Scope, object: &Value) -> bool {
        match self {
            Self::Pods => scope.has_pod(object),
            Self::VolumeClaims => scope.has_volume_claim(object),
            Self::Services | Self::DeviceClaims | Self::Count { .. } => false,
        }
    }

    /// The resources of a quota that this kind uses, when the object is in all of its scopes; empty when it is not.
    fn matching<'q>(&self, quota: &'q Quota, object: &Value, devices: &dyn DeviceClasses) -> Vec<&'q str> {
        if !quota.scopes.iter().all(|scope| self.in_scope(scope, object)) {
            return Vec::new();
        }
        quota.hard.keys().map(String::as_str).filter(|name| self.is_measured(name, devices)).collect()
    }
}

/// The name under which objects of a resource are counted.
fn count_name(group: &str, plural: &str) -> String {
    if group.is_empty() { format!("count/{plural}") } else { format!("count/{plural}.{group}") }
}

/// Only the amounts of the named resources.
fn mask(amounts: &Amounts, names: &[&str]) -> Amounts {
    amounts.iter().filter(|(name, _)| names.contains(&name.as_str())).map(|(n, a)| (n.clone(), a.clone())).collect()
}

/// Without what amounts to nothing.
fn without_zeros(mut amounts: Amounts) -> Amounts {
    amounts.retain(|_, amount: &mut Quantity| !amount.is_zero());
    amounts
}
