//! Sizes: how many pods the new `ReplicaSet` gets, and how a change of size is shared among several.

use serde_json::Value;

use super::pass::{Pass, Which, age, available, replicas};
use super::{DESIRED_REPLICAS, MAX_REPLICAS, ROLLBACK_TO};
use crate::{Action, value};

impl Pass<'_> {
    /// Whether someone changed the Deployment's size since its `ReplicaSets` were last brought in line.
    pub(super) fn is_scaling(&self) -> bool {
        let wanted = self.wanted();
        self.sets()
            .filter(|set| replicas(set) > 0)
            .filter_map(|set| value::annotation(set, DESIRED_REPLICAS).parse::<i64>().ok())
            .any(|desired| desired != wanted)
    }

    /// Only changes sizes, without rolling.
    pub(super) fn scale_only(mut self, paused: bool) -> Vec<Action> {
        if paused {
            self.sync_revision(false);
        }
        self.scale();
        if paused && value::annotation(&self.deployment, ROLLBACK_TO).is_empty() {
            self.clean_up();
        }
        self.finish(false)
    }

    fn scale(&mut self) {
        let wanted = self.wanted();
        if let Some(which) = self.active_or_latest() {
            self.resize(which, wanted, false);
            return;
        }
        if self.is_saturated() {
            for index in 0..self.old.len() {
                self.resize(Which::Old(index), 0, false);
            }
            return;
        }
        if self.is_rolling() {
            self.scale_in_proportion();
        }
    }

    /// The only `ReplicaSet` with pods, or the latest when none has any.
    fn active_or_latest(&self) -> Option<Which> {
        let mut active: Vec<Which> =
            (0..self.old.len()).filter(|index| replicas(&self.old[*index]) > 0).map(Which::Old).collect();
        if self.new.as_ref().is_some_and(|set| replicas(set) > 0) {
            active.push(Which::New);
        }
        match active.as_slice() {
            [] if self.new.is_some() => Some(Which::New),
            [] => self.old.len().checked_sub(1).map(Which::Old),
            [only] => Some(*only),
            _ => None,
        }
    }

    fn is_saturated(&self) -> bool {
        let wanted = self.wanted();
        self.new.as_ref().is_some_and(|set| {
            let desired = value::annotation(set, DESIRED_REPLICAS).parse::<i64>();
            replicas(set) == wanted && desired == Ok(wanted) && available(set) == wanted
        })
    }

    fn scale_in_proportion(&mut self) {
        let mut active: Vec<Which> =
            (0..self.old.len()).filter(|index| replicas(&self.old[*index]) > 0).map(Which::Old).collect();
        if self.new.as_ref().is_some_and(|set| replicas(set) > 0) {
            active.push(Which::New);
        }
        let total: i64 = active.iter().map(|which| replicas(self.set(*which))).sum();
        let allowed = if self.wanted() > 0 { self.wanted() + self.max_surge() } else { 0 };
        let to_add = allowed - total;
        // The largest first; among equals the newer grows first and the older shrinks first.
        active.sort_by(|one, other| {
            let (one, other) = (self.set(*one), self.set(*other));
            let by_age = age(one).cmp(&age(other));
            replicas(other).cmp(&replicas(one)).then(if to_add > 0 { by_age.reverse() } else { by_age })
        });
        let mut added = 0;
        let mut sizes = Vec::with_capacity(active.len());
        for which in &active {
            let set = self.set(*which);
            let share = if to_add == 0 || to_add == added {
                0
            } else {
                let (share, left) = (self.share(set), to_add - added);
                if to_add > 0 { share.min(left) } else { share.max(left) }
            };
            added += share;
            sizes.push(replicas(set) + share);
        }
        if let Some(first) = sizes.first_mut() {
            *first = (*first + to_add - added).max(0);
        }
        for (which, size) in active.into_iter().zip(sizes) {
            self.resize(which, size, true);
        }
    }

    /// How much of a change falls to a `ReplicaSet` by its part of the whole.
    fn share(&self, set: &Value) -> i64 {
        if self.wanted() == 0 {
            return -replicas(set);
        }
        let most = self.wanted() + self.max_surge();
        let before = match value::annotation(set, MAX_REPLICAS).parse::<i64>() {
            Ok(before) if before > 0 => before,
            _ => value::number(&self.deployment, &["status", "replicas"]),
        };
        if before == 0 {
            return 0;
        }
        let size = (replicas(set) * most) as f64 / before as f64;
        size.round() as i64 - replicas(set)
    }

    fn set(&self, which: Which) -> &Value {
        match which {
            Which::New => self.new.as_ref().unwrap_or(&Value::Null),
            Which::Old(index) => &self.old[index],
        }
    }

    /// How many pods the `ReplicaSet` of the template gets now.
    pub(super) fn size_of_new(&self, set: &Value) -> i64 {
        if !self.is_rolling() {
            return self.wanted();
        }
        let strategy = &self.deployment["spec"]["strategy"]["rollingUpdate"];
        let surge = value::scaled(&strategy["maxSurge"], self.wanted(), true).unwrap_or_default();
        let current: i64 = self.sets().map(replicas).sum();
        let most = self.wanted() + surge;
        if current >= most {
            return replicas(set);
        }
        replicas(set) + (most - current).min(self.wanted() - replicas(set))
    }
}
