//! Why no node takes a pod, in stock's words.

use std::collections::BTreeMap;

/// Why a node does not take a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rejection {
    /// In words, one for each thing that is wrong.
    pub(super) reasons: Vec<String>,
    /// Whether driving other pods away could help.
    pub(super) resolvable: bool,
}

impl Rejection {
    /// One that would go away if other pods did.
    pub(super) fn resolvable(reason: &str) -> Rejection {
        Rejection { reasons: vec![reason.to_owned()], resolvable: true }
    }

    /// One that only another node or pod would change.
    pub(super) fn unresolvable(reason: &str) -> Rejection {
        Rejection { reasons: vec![reason.to_owned()], resolvable: false }
    }
}

/// Why no node takes a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unfit {
    pub(super) nodes: usize,
    pub(super) rejections: BTreeMap<String, Rejection>,
    /// What keeps the pod from any node, found before nodes were asked.
    pub(super) before: String,
}

impl Unfit {
    /// In words, with what came of the attempt to make room.
    pub fn message(&self, after: &str) -> String {
        if self.nodes == 0 {
            return "no nodes available to schedule pods".to_owned();
        }
        let counted = match self.before.as_str() {
            "" => histogram(self.rejections.values().flat_map(|rejection| &rejection.reasons).map(String::as_str)),
            before => before.to_owned(),
        };
        let mut message = format!("0/{} nodes are available:", self.nodes);
        if !counted.is_empty() {
            message.push(' ');
            message.push_str(&counted);
            message.push('.');
        }
        if !after.is_empty() {
            message.push(' ');
            message.push_str(after);
        }
        message
    }
}

/// Reasons with how often each is given, in the order of stock: as texts.
pub(super) fn histogram<'a>(reasons: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in reasons {
        *counts.entry(reason).or_default() += 1;
    }
    let mut texts: Vec<String> = counts.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    texts.sort();
    texts.join(", ")
}
