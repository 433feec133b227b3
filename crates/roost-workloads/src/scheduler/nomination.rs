//! Nominations: pods for which room is being made on a node, so that others of less importance do not take it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::Pod;

/// Who waits for room on which node.
#[derive(Debug, Default)]
pub(super) struct Nominations {
    by_node: BTreeMap<String, Vec<Arc<Pod>>>,
    nodes: HashMap<String, String>,
}

impl Nominations {
    /// Notes that room is being made for a pod.
    pub(super) fn insert(&mut self, pod: &Arc<Pod>, node: &str) {
        self.remove(&pod.metadata.uid);
        self.nodes.insert(pod.metadata.uid.clone(), node.to_owned());
        self.by_node.entry(node.to_owned()).or_default().push(Arc::clone(pod));
    }

    /// Takes in a pod that waits as it is. One that was nominated a moment ago need not say so yet.
    pub(super) fn observe(&mut self, pod: &Arc<Pod>) {
        let said = pod.status.nominated_node_name.as_str();
        if !said.is_empty() {
            self.insert(pod, said);
        } else if let Some(node) = self.nodes.get(&pod.metadata.uid).cloned() {
            let known = self.on(&node).iter().find(|other| other.metadata.uid == pod.metadata.uid);
            if known.is_some_and(|known| known.status.nominated_node_name.is_empty()) {
                self.insert(pod, &node);
            } else {
                self.remove(&pod.metadata.uid);
            }
        }
    }

    /// Forgets a pod.
    pub(super) fn remove(&mut self, uid: &str) {
        let Some(node) = self.nodes.remove(uid) else { return };
        if let Some(pods) = self.by_node.get_mut(&node) {
            pods.retain(|pod| pod.metadata.uid != uid);
            if pods.is_empty() {
                self.by_node.remove(&node);
            }
        }
    }

    /// The pods that wait for room on a node.
    pub(super) fn on(&self, node: &str) -> &[Arc<Pod>] {
        self.by_node.get(node).map_or(&[], Vec::as_slice)
    }

    /// The nodes on which room is being made.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &String> {
        self.by_node.keys()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(nominated: &str) -> Arc<Pod> {
        let pod = json!({"metadata": {"uid": "u"}, "status": {"nominatedNodeName": nominated}});
        Arc::new(serde_json::from_value(pod).expect("a pod"))
    }

    #[test]
    fn a_nomination_outlives_news_from_before_it_and_ends_when_it_is_taken_back() {
        let mut nominations = Nominations::default();
        nominations.insert(&pod(""), "a");
        nominations.observe(&pod(""));
        assert_eq!(nominations.on("a").len(), 1);
        nominations.observe(&pod("b"));
        assert_eq!((nominations.on("a").len(), nominations.on("b").len()), (0, 1));
        nominations.observe(&pod(""));
        assert_eq!(nominations.nodes().count(), 0);
    }
}
