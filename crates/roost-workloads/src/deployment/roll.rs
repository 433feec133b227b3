//! From the old `ReplicaSets` to the new one: bit by bit, or all at once.

use super::pass::{Pass, Which, available, replicas};
use super::revision::revision_of;
use crate::action::Reference;
use crate::{Action, Pod, value};

impl Pass<'_> {
    /// Replaces pods bit by bit: first up, then down, as far as availability lets.
    pub(super) fn roll(mut self) -> Vec<Action> {
        if self.new.is_none() {
            self.sync_revision(true);
        }
        let moved = self.reconcile_new() || self.reconcile_old();
        if !moved && self.was_complete() {
            self.clean_up();
        }
        self.finish(true)
    }

    fn reconcile_new(&mut self) -> bool {
        let wanted = self.wanted();
        let Some(set) = &self.new else { return false };
        let current = replicas(set);
        if current == wanted {
            return false;
        }
        let size = if current > wanted { wanted } else { self.size_of_new(set) };
        self.resize(Which::New, size, false)
    }

    fn reconcile_old(&mut self) -> bool {
        let Some(new) = &self.new else { return false };
        if self.old.iter().map(replicas).sum::<i64>() == 0 {
            return false;
        }
        let total: i64 = self.sets().map(replicas).sum();
        let least = self.wanted() - self.max_unavailable();
        let most = total - least - (replicas(new) - available(new));
        if most <= 0 {
            return false;
        }
        let unhealthy = self.remove_unhealthy(most);
        let healthy = self.scale_down_old(least);
        unhealthy + healthy > 0
    }

    /// Pods of old `ReplicaSets` that are not available are the first to go: they would hold everything up.
    fn remove_unhealthy(&mut self, most: i64) -> i64 {
        let mut removed = 0;
        for index in 0..self.old.len() {
            if removed >= most {
                break;
            }
            let (size, available) = (replicas(&self.old[index]), available(&self.old[index]));
            // One whose status still counts pods that are going has none to clean up, and must not grow.
            if size == 0 || size <= available {
                continue;
            }
            let count = (most - removed).min(size - available);
            self.resize(Which::Old(index), size - count, false);
            removed += count;
        }
        removed
    }

    fn scale_down_old(&mut self, least: i64) -> i64 {
        // Stopped ReplicaSets do not count here, as they do not in what stock goes by.
        let available: i64 =
            self.old.iter().filter(|set| replicas(set) > 0 || available(set) > 0).chain(&self.new).map(available).sum();
        let most = available - least;
        let mut removed = 0;
        for index in 0..self.old.len() {
            if removed >= most {
                break;
            }
            let size = replicas(&self.old[index]);
            if size == 0 {
                continue;
            }
            let count = size.min(most - removed);
            self.resize(Which::Old(index), size - count, false);
            removed += count;
        }
        removed
    }

    /// Replaces pods all at once: the new ones only come when the old ones are gone.
    pub(super) fn recreate(mut self, pods: &[&Pod]) -> Vec<Action> {
        let mut scaled = false;
        for index in 0..self.old.len() {
            scaled |= self.resize(Which::Old(index), 0, false);
        }
        if scaled || self.old_pods_run(pods) {
            return self.finish(true);
        }
        if self.new.is_none() {
            self.sync_revision(true);
        }
        let wanted = self.wanted();
        self.resize(Which::New, wanted, false);
        if self.was_complete() {
            self.clean_up();
        }
        self.finish(true)
    }

    fn old_pods_run(&self, pods: &[&Pod]) -> bool {
        if self.old.iter().any(|set| value::number(set, &["status", "replicas"]) > 0) {
            return true;
        }
        let new = self.new.as_ref().map_or("", |set| value::text(set, &["metadata", "uid"]));
        pods.iter().any(|pod| !pod.has_ended() && !pod.metadata.is_controlled_by(new))
    }

    /// Deletes the oldest `ReplicaSets` beyond those that are kept to go back to.
    pub(super) fn clean_up(&mut self) {
        let limit = value::number_given(&self.deployment, &["spec", "revisionHistoryLimit"]);
        let Some(limit) = limit.filter(|limit| *limit != i64::from(i32::MAX)) else { return };
        let mut kept: Vec<_> = self.old.iter().filter(|set| set["metadata"]["deletionTimestamp"].is_null()).collect();
        let surplus = kept.len().saturating_sub(usize::try_from(limit).unwrap_or_default());
        kept.sort_by_key(|set| revision_of(set));
        let ended = kept.into_iter().take(surplus).filter(|set| {
            value::number(set, &["status", "replicas"]) == 0
                && replicas(set) == 0
                && value::number(set, &["metadata", "generation"])
                    <= value::number(set, &["status", "observedGeneration"])
        });
        let deletions: Vec<Action> = ended
            .map(|set| Action::Delete { object: Reference::of(set), propagation: None, grace_seconds: None })
            .collect();
        self.actions.extend(deletions);
    }
}
