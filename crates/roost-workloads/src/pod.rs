//! A pod, as far as controllers and the scheduler look at it.

mod affinity;
mod order;
mod requests;
mod spec;
mod status;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::metadata::Metadata;

pub use affinity::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorTerm, NodeTermRequirement, PodAffinity, PodAffinityTerm,
    PreferredNodeTerm, PreferredPodTerm,
};
pub use order::{Doubles, compare_for_deletion};
pub use requests::Resources;
pub use spec::{Container, ContainerPort, PodSpec, SpreadConstraint, Toleration};
pub use status::{Condition, ContainerStatus, PodStatus};

/// A pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Who it is.
    pub metadata: Metadata,
    /// What is wanted.
    pub spec: PodSpec,
    /// How it is.
    pub status: PodStatus,
}

impl Pod {
    /// Reads a pod from JSON; none when it is not one.
    pub fn from_json(bytes: &[u8]) -> Option<Pod> {
        serde_json::from_slice(bytes).ok()
    }

    /// Whether it has come to its end.
    pub fn has_ended(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Whether it counts: it has not ended and was not asked to go.
    pub fn is_active(&self) -> bool {
        !self.has_ended() && !self.metadata.is_going()
    }

    /// Whether it was asked to go and has not ended yet.
    pub fn is_terminating(&self) -> bool {
        !self.has_ended() && self.metadata.is_going()
    }

    /// Whether it says that it is ready.
    pub fn is_ready(&self) -> bool {
        self.status.condition("Ready").is_some_and(|condition| condition.status == "True")
    }

    /// Since when it is ready.
    pub fn ready_since(&self) -> Option<Timestamp> {
        let ready = self.status.condition("Ready").filter(|condition| condition.status == "True")?;
        ready.last_transition_time
    }

    /// Whether it has been ready for long enough.
    pub fn is_available(&self, min_ready_seconds: i64, now: Timestamp) -> bool {
        if !self.is_ready() {
            return false;
        }
        min_ready_seconds == 0
            || self.ready_since().is_some_and(|since| now.duration_since(since).as_secs() >= min_ready_seconds)
    }

    /// How long until it has been ready for long enough; none when it is not ready or already was.
    pub fn until_available(&self, min_ready_seconds: i64, now: Timestamp) -> Option<SignedDuration> {
        let since = self.ready_since()?;
        let left = SignedDuration::from_secs(min_ready_seconds) - now.duration_since(since);
        (left > SignedDuration::ZERO).then_some(left)
    }
}
