//! How fast the number of replicas may change: what was proposed a while ago counts too, and policies bound the rate.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::value;

/// For how long the highest proposal holds, unless something else is said.
const SCALE_DOWN_WINDOW: SignedDuration = SignedDuration::from_mins(5);
/// Without a behaviour, a step up at most doubles the replicas, or comes to this many.
const UNRULED_STEP: (i64, i64) = (2, 4);

/// What is remembered of one autoscaler: what was proposed and what was done lately. After a restart it begins anew, as
/// stock's does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    proposals: Vec<(Timestamp, i64)>,
    ups: Vec<(Timestamp, i64)>,
    downs: Vec<(Timestamp, i64)>,
}

impl Memory {
    /// What is there now counts as the first proposal.
    pub(super) fn begin(&mut self, current: i64, now: Timestamp) {
        if self.proposals.is_empty() {
            self.proposals.push((now, current));
        }
    }

    /// Notes a change of size.
    pub(super) fn rescaled(&mut self, behavior: &Value, from: i64, to: i64, now: Timestamp) {
        let (rules, changes) =
            if to > from { (&behavior["scaleUp"], &mut self.ups) } else { (&behavior["scaleDown"], &mut self.downs) };
        let longest = policies(rules).map(|policy| policy.period).max().unwrap_or_default();
        changes.retain(|(time, _)| *time >= now - longest);
        changes.push((now, (to - from).abs()));
    }

    fn propose(&mut self, proposed: i64, now: Timestamp, windows: SignedDuration) {
        self.proposals.retain(|(time, _)| *time >= now - windows);
        self.proposals.push((now, proposed));
    }
}

/// What is to be limited.
pub(super) struct Bounds {
    pub(super) current: i64,
    pub(super) proposed: i64,
    pub(super) least: i64,
    pub(super) most: i64,
}

/// A reason and its words.
type Words = (&'static str, &'static str);

/// What is left of a proposal.
pub(super) struct Limited {
    pub(super) replicas: i64,
    pub(super) stable: Words,
    pub(super) range: Words,
    pub(super) is_less: bool,
}

const STABLE: Words = ("ReadyForNewScale", "recommended size matches current size");
const STABLE_UP: Words = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
);
const STABLE_DOWN: Words = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
);
const WITHIN: Words = ("DesiredWithinRange", "the desired count is within the acceptable range");
const TOO_MANY: Words = ("TooManyReplicas", "the desired replica count is more than the maximum replica count");
const TOO_FEW: Words = ("TooFewReplicas", "the desired replica count is less than the minimum replica count");
const TOO_FAST_UP: Words =
    ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate");
const TOO_FAST_DOWN: Words =
    ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate");

/// Holds a proposal back, by the autoscaler's behaviour or without one.
pub(super) fn apply(behavior: Option<&Value>, bounds: &Bounds, memory: &mut Memory, now: Timestamp) -> Limited {
    let Bounds { current, proposed, .. } = *bounds;
    let behavior = behavior.filter(|behavior| behavior.is_object());
    let (settled, stable) = match behavior {
        None => {
            let recent = memory.proposals.iter().filter(|(time, _)| *time >= now - SCALE_DOWN_WINDOW);
            let settled = recent.map(|(_, proposal)| *proposal).max().unwrap_or(proposed).max(proposed);
            memory.propose(proposed, now, SCALE_DOWN_WINDOW);
            (settled, STABLE_DOWN)
        }
        Some(behavior) => {
            let window = |direction: &str, unsaid| {
                let said = value::number_given(behavior, &[direction, "stabilizationWindowSeconds"]);
                said.map_or(unsaid, SignedDuration::from_secs)
            };
            let (up, down) = (window("scaleUp", SignedDuration::ZERO), window("scaleDown", SCALE_DOWN_WINDOW));
            let recent = |window| {
                let since = now - window;
                memory.proposals.iter().filter(move |(time, _)| *time > since).map(|(_, proposal)| *proposal)
            };
            let lowest = recent(up).fold(proposed, i64::min);
            let highest = recent(down).fold(proposed, i64::max);
            memory.propose(proposed, now, up.max(down));
            let words = if proposed >= current { STABLE_UP } else { STABLE_DOWN };
            (current.max(lowest).min(highest), words)
        }
    };
    let stable = if settled == proposed { STABLE } else { stable };
    let (replicas, range) = match behavior {
        None => without_rules(bounds, settled),
        Some(behavior) => by_rules(behavior, bounds, settled, memory, now),
    };
    Limited { replicas, stable, range, is_less: replicas != settled }
}

fn without_rules(bounds: &Bounds, settled: i64) -> (i64, Words) {
    let step = (bounds.current * UNRULED_STEP.0).max(UNRULED_STEP.1);
    let (most, words) = if bounds.most > step { (step, TOO_FAST_UP) } else { (bounds.most, TOO_MANY) };
    if settled < bounds.least {
        (bounds.least, TOO_FEW)
    } else if settled > most {
        (most, words)
    } else {
        (settled, WITHIN)
    }
}

fn by_rules(behavior: &Value, bounds: &Bounds, settled: i64, memory: &Memory, now: Timestamp) -> (i64, Words) {
    let current = bounds.current;
    if settled > current {
        let step = up_to(&behavior["scaleUp"], current, memory, now).max(current);
        let (most, words) = if bounds.most > step { (step, TOO_FAST_UP) } else { (bounds.most, TOO_MANY) };
        if settled > most {
            return (most, words);
        }
    } else if settled < current {
        let step = down_to(&behavior["scaleDown"], current, memory, now).min(current);
        let (least, words) = if bounds.least < step { (step, TOO_FAST_DOWN) } else { (bounds.least, TOO_FEW) };
        if settled < least {
            return (least, words);
        }
    }
    (settled, WITHIN)
}

struct Policy {
    in_percent: bool,
    amount: i64,
    period: SignedDuration,
}

fn policies(rules: &Value) -> impl Iterator<Item = Policy> + '_ {
    value::list(rules, &["policies"]).iter().map(|policy| Policy {
        in_percent: policy["type"] == "Percent",
        amount: value::number(policy, &["value"]),
        period: SignedDuration::from_secs(value::number(policy, &["periodSeconds"])),
    })
}

/// How many there were when a policy's period began.
fn at_start(current: i64, period: SignedDuration, memory: &Memory, now: Timestamp) -> i64 {
    let sum = |changes: &[(Timestamp, i64)]| -> i64 {
        changes.iter().filter(|(time, _)| *time > now - period).map(|(_, change)| change).sum()
    };
    current - sum(&memory.ups) + sum(&memory.downs)
}

fn up_to(rules: &Value, current: i64, memory: &Memory, now: Timestamp) -> i64 {
    let allowed = policies(rules).map(|policy| {
        let start = at_start(current, policy.period, memory, now);
        if policy.in_percent {
            (start as f64 * (1.0 + policy.amount as f64 / 100.0)).ceil() as i64
        } else {
            start + policy.amount
        }
    });
    match value::text(rules, &["selectPolicy"]) {
        "Disabled" => current,
        "Min" => allowed.min().unwrap_or(i64::MAX),
        _ => allowed.max().unwrap_or(i64::MIN),
    }
}

fn down_to(rules: &Value, current: i64, memory: &Memory, now: Timestamp) -> i64 {
    let allowed = policies(rules).map(|policy| {
        let start = at_start(current, policy.period, memory, now);
        if policy.in_percent {
            (start as f64 * (1.0 - policy.amount as f64 / 100.0)) as i64
        } else {
            start - policy.amount
        }
    });
    match value::text(rules, &["selectPolicy"]) {
        "Disabled" => current,
        "Min" => allowed.max().unwrap_or(i64::MIN),
        _ => allowed.min().unwrap_or(i64::MAX),
    }
}
