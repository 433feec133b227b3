//! What others may see of the pods of a node: their containers, and what those have said.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::container::State;
use super::pod::Pod;

/// A line that a container has said.
pub(crate) type Line = (Timestamp, String);

/// A container as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContainerView {
    pub(crate) name: String,
    /// Since when it runs, if it does.
    pub(crate) running: Option<Timestamp>,
    /// Whether it will say nothing more.
    pub(crate) over: bool,
    pub(crate) lines: Vec<Line>,
    /// What it uses of a processor while it runs, in thousandths.
    pub(crate) milli_cores: u64,
}

/// A pod as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodView {
    pub(crate) uid: String,
    pub(crate) containers: Vec<ContainerView>,
}

impl PodView {
    pub(crate) fn container(&self, name: &str) -> Option<&ContainerView> {
        self.containers.iter().find(|container| container.name == name)
    }
}

/// The pods of a node by namespace and name. Copies show the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pods: Arc<Mutex<BTreeMap<(String, String), PodView>>>,
    changes: watch::Sender<()>,
}

impl View {
    /// A pod; none when it is not here.
    pub(crate) fn pod(&self, namespace: &str, name: &str) -> Option<PodView> {
        self.pods.lock().get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    /// All pods.
    pub(crate) fn pods(&self) -> BTreeMap<(String, String), PodView> {
        self.pods.lock().clone()
    }

    /// Tells whenever something was written.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    pub(super) fn write(&self, pod: &Pod) {
        let containers = pod.containers.iter().map(|container| ContainerView {
            name: container.name.clone(),
            running: match container.state {
                State::Running(since) => Some(since),
                _ => None,
            },
            over: container.is_over().is_some(),
            lines: container.lines.clone(),
            milli_cores: container.behaviour.milli_cores,
        });
        let seen = PodView { uid: pod.uid.clone(), containers: containers.collect() };
        let before = self.pods.lock().insert((pod.namespace.clone(), pod.name.clone()), seen.clone());
        if before.as_ref() != Some(&seen) {
            self.changes.send_replace(());
        }
    }

    pub(super) fn forget(&self, pod: &Pod) {
        let key = (pod.namespace.clone(), pod.name.clone());
        let mut pods = self.pods.lock();
        if pods.get(&key).is_some_and(|seen| seen.uid == pod.uid) {
            pods.remove(&key);
            self.changes.send_replace(());
        }
    }
}
