//! From the old template to the new one, node by node.

use std::sync::Arc;

use super::{Look, Plan};
use crate::{Pod, value};

/// The new and the old pod of a node.
type Pair<'p> = (Option<&'p Arc<Pod>>, Option<&'p Arc<Pod>>);

impl Look<'_> {
    /// The new and the old pod of a node; none where there are more.
    fn pair<'p>(&self, pods: &'p [Arc<Pod>]) -> Option<Pair<'p>> {
        let staying = pods.iter().filter(|pod| !pod.metadata.is_going());
        let (new, old): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) = staying.partition(|pod| self.is_updated(pod));
        (new.len() <= 1 && old.len() <= 1).then(|| (new.first().copied(), old.first().copied()))
    }

    /// Replaces pods of earlier templates, as far as availability lets.
    pub(super) fn roll(&self, plan: &mut Plan) {
        let wanted = self.nodes.iter().filter(|node| self.judge(node).0).count() as i64;
        let strategy = &self.set["spec"]["updateStrategy"]["rollingUpdate"];
        let surge = self.max_surge(wanted);
        let mut unavailable = value::scaled(&strategy["maxUnavailable"], wanted, true).unwrap_or_default();
        if surge == 0 && unavailable == 0 {
            unavailable = 1;
        }
        if surge == 0 { self.roll_in_place(unavailable, plan) } else { self.roll_with_surge(surge, plan) }
    }

    fn roll_in_place(&self, most: i64, plan: &mut Plan) {
        let (mut unavailable, mut candidates) = (0, Vec::new());
        for pods in self.by_node.values() {
            match self.pair(pods) {
                None | Some((None, None) | (Some(_), Some(_))) => unavailable += 1,
                Some((Some(new), None)) => unavailable += i64::from(!self.is_available(new)),
                Some((None, Some(old))) if !self.is_available(old) => {
                    plan.delete.push(Arc::clone(old));
                    unavailable += 1;
                }
                Some((None, Some(old))) => candidates.push(Arc::clone(old)),
            }
        }
        plan.delete.extend(candidates.into_iter().take(usize::try_from(most - unavailable).unwrap_or_default()));
    }

    fn roll_with_surge(&self, most: i64, plan: &mut Plan) {
        let (mut surging, mut candidates) = (0, Vec::new());
        for (name, pods) in &self.by_node {
            let should_run = self.nodes.iter().find(|node| node.name == *name).is_some_and(|node| self.judge(node).0);
            match self.pair(pods) {
                None => surging += 1,
                Some((None, Some(old))) if !self.is_available(old) => {
                    if should_run {
                        plan.create.push(self.pod_for(name));
                    } else {
                        plan.delete.push(Arc::clone(old));
                    }
                }
                Some((None, Some(_))) if should_run => candidates.push(name),
                Some((_, None) | (None, Some(_))) => {}
                Some((Some(new), Some(old))) => {
                    if self.is_available(new) {
                        plan.delete.push(Arc::clone(old));
                    } else {
                        surging += 1;
                    }
                }
            }
        }
        let room = usize::try_from(most - surging).unwrap_or_default();
        plan.create.extend(candidates.into_iter().take(room).map(|name| self.pod_for(name)));
    }
}
