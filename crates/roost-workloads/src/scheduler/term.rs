//! Terms of affinity, ready to be asked.

use std::collections::{BTreeMap, HashMap};

use roost_object::selector::Selector;
use serde_json::Value;

use crate::pod::{Pod, PodAffinityTerm};
use crate::selector;

/// The labels of namespaces.
pub(super) type Namespaces = HashMap<String, BTreeMap<String, String>>;

/// Pods, and what near means.
#[derive(Clone, Debug)]
pub(super) struct Term {
    selector: Selector,
    namespaces: Vec<String>,
    namespace_selector: Selector,
    pub(super) topology_key: String,
    pub(super) weight: i64,
}

impl Term {
    fn new(pod: &Pod, term: &PodAffinityTerm, weight: i64) -> Term {
        let unsaid = term.namespaces.is_empty() && term.namespace_selector.is_null();
        Term {
            selector: selector::read(&term.label_selector),
            namespaces: if unsaid { vec![pod.metadata.namespace.clone()] } else { term.namespaces.clone() },
            namespace_selector: selector::read(&term.namespace_selector),
            topology_key: term.topology_key.clone(),
            weight,
        }
    }

    /// Whether it means pods of a namespace with some labels.
    pub(super) fn matches(&self, namespace: &str, labels: &BTreeMap<String, String>, namespaces: &Namespaces) -> bool {
        let here = self.namespaces.iter().any(|own| own == namespace)
            || namespaces.get(namespace).map_or_else(
                || self.namespace_selector.is_empty() && !self.namespace_selector.is_nothing(),
                |labels| self.namespace_selector.matches(labels),
            );
        here && self.selector.matches(labels)
    }
}

/// All terms of a pod.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms {
    pub(super) required: Vec<Term>,
    pub(super) required_anti: Vec<Term>,
    pub(super) preferred: Vec<Term>,
    pub(super) preferred_anti: Vec<Term>,
}

impl Terms {
    /// The terms of a pod.
    pub(super) fn of(pod: &Pod) -> Terms {
        let affinity = &pod.spec.affinity;
        let required = |side: &Option<crate::pod::PodAffinity>| {
            side.iter().flat_map(|side| &side.required).map(|term| Term::new(pod, term, 0)).collect()
        };
        let preferred = |side: &Option<crate::pod::PodAffinity>| {
            let terms = side.iter().flat_map(|side| &side.preferred);
            terms.map(|term| Term::new(pod, &term.pod_affinity_term, term.weight)).collect()
        };
        Terms {
            required: required(&affinity.pod_affinity),
            required_anti: required(&affinity.pod_anti_affinity),
            preferred: preferred(&affinity.pod_affinity),
            preferred_anti: preferred(&affinity.pod_anti_affinity),
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.required.is_empty()
            && self.required_anti.is_empty()
            && self.preferred.is_empty()
            && self.preferred_anti.is_empty()
    }
}

/// What tells a pod's terms from another's.
pub(super) fn fingerprint(pod: &Pod) -> String {
    let side = |side: &Option<crate::pod::PodAffinity>| {
        let Some(side) = side else { return String::new() };
        let term = |term: &PodAffinityTerm, weight: i64| {
            let selectors: [&Value; 2] = [&term.label_selector, &term.namespace_selector];
            format!("{weight} {} {:?} {selectors:?};", term.topology_key, term.namespaces)
        };
        let required = side.required.iter().map(|required| term(required, 0));
        let preferred = side.preferred.iter().map(|preferred| term(&preferred.pod_affinity_term, preferred.weight));
        required.chain(preferred).collect()
    };
    let affinity = &pod.spec.affinity;
    if affinity.pod_affinity.is_none() && affinity.pod_anti_affinity.is_none() {
        return String::new();
    }
    format!("{}|{}", side(&affinity.pod_affinity), side(&affinity.pod_anti_affinity))
}
