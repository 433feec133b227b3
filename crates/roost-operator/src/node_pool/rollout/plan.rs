//! What to do next with the nodes of a pool, and why. Pure.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::strategy::Strategy;

/// All that a decision depends on.
#[derive(Clone, Debug)]
pub(crate) struct Situation {
    pub(crate) strategy: Strategy,
    /// The hash of the configuration that all should have.
    pub(crate) target: String,
    /// How many nodes the pool wants.
    pub(crate) wanted: usize,
    pub(crate) is_paused: bool,
    /// How long a node may need between being told its configuration and being Ready with it.
    pub(crate) patience: SignedDuration,
    /// How long a drain may take; without end when none.
    pub(crate) drain_timeout: Option<SignedDuration>,
    /// When broken nodes are replaced by themselves.
    pub(crate) repair: Option<Repair>,
    pub(crate) members: Vec<Member>,
}

/// When a node counts as broken, and how many may be before nothing is repaired any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repair {
    pub(crate) window: SignedDuration,
    pub(crate) max_unhealthy: usize,
}

/// One machine of the pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) machine: String,
    pub(crate) node: String,
    /// Whether the Node exists.
    pub(crate) has_node: bool,
    pub(crate) is_ready: bool,
    pub(crate) is_cordoned: bool,
    /// The configuration that it runs.
    pub(crate) current: String,
    /// The configuration that it was told to have; empty when it was never told.
    pub(crate) desired: String,
    /// A configuration that it could not take, and why.
    pub(crate) failed: Option<(String, String)>,
    /// That it is being changed, written on its Machine.
    pub(crate) mark: Option<Mark>,
    /// Pods that have to go first; only counted for those that are being changed.
    pub(crate) pods: usize,
    /// Since when a node that had joined is not well.
    pub(crate) unhealthy_since: Option<Timestamp>,
}

/// What is being done with a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) purpose: Purpose,
    /// Since when it is taken, and later since when it was told its configuration.
    pub(crate) since: Timestamp,
    /// Whether a person had cordoned it before.
    pub(crate) was_cordoned: bool,
}

/// Why a machine is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Update,
    Repair,
}

/// What is done with one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Mark it as taken, and let no new pods on it.
    Cordon(Purpose),
    /// Ask its pods to go, as their disruption budgets allow.
    Drain,
    /// Tell it the configuration that it should have.
    Desire,
    /// Let pods on it again; it is done.
    Release,
    /// Delete Node, Machine and credential.
    Remove,
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Action::Cordon(_) => "cordon",
            Action::Drain => "drain",
            Action::Desire => "update",
            Action::Release => "uncordon",
            Action::Remove => "remove",
        })
    }
}

/// One action and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) machine: String,
    pub(crate) node: String,
    pub(crate) action: Action,
    pub(crate) reason: String,
}

/// How a rollout stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// All have the configuration, and none is in hand.
    Done,
    /// Some are in hand, or are about to be.
    Going,
    /// Nothing can be taken before something else happens.
    Waiting(String),
    /// A node did not come back, and a person has to look.
    Halted(String),
    /// The pool is paused.
    Paused,
}

/// What to do now, what comes later, and how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// The nodes that are still to be taken, in their order.
    pub(crate) queue: Vec<String>,
    /// The nodes that are in hand, and what each waits for.
    pub(crate) in_hand: Vec<(String, String)>,
    pub(crate) state: State,
    /// Broken nodes that nothing replaces, and why.
    pub(crate) unrepaired: Option<String>,
}

impl Member {
    /// Whether pods can run there.
    pub(crate) fn is_available(&self) -> bool {
        self.has_node && self.is_ready && !self.is_cordoned && self.mark.is_none()
    }

    fn step(&self, action: Action, reason: impl Into<String>) -> Step {
        Step { machine: self.machine.clone(), node: self.node.clone(), action, reason: reason.into() }
    }

    fn is_broken(&self, repair: Repair, now: Timestamp) -> bool {
        let due = self.unhealthy_since.and_then(|since| since.checked_add(repair.window).ok());
        due.is_some_and(|due| due <= now)
    }
}

/// What one node in hand needs next.
enum Turn {
    Act(Step),
    Wait(String),
    Halt(String),
}

/// Decides.
pub(crate) fn plan(situation: &Situation, now: Timestamp) -> Plan {
    let mut members: Vec<&Member> = situation.members.iter().collect();
    members.sort_by(|one, other| one.node.cmp(&other.node).then_with(|| one.machine.cmp(&other.machine)));
    let mut plan =
        Plan { steps: Vec::new(), queue: Vec::new(), in_hand: Vec::new(), state: State::Done, unrepaired: None };
    let mut halted = None;
    for member in members.iter().filter(|member| member.mark.is_some()) {
        match turn(situation, member, now) {
            Turn::Act(step) => {
                plan.in_hand.push((member.node.clone(), format!("{}: {}", step.action, step.reason)));
                plan.steps.push(step);
            }
            Turn::Wait(words) => plan.in_hand.push((member.node.clone(), words)),
            Turn::Halt(words) => {
                plan.in_hand.push((member.node.clone(), words.clone()));
                halted.get_or_insert(words);
            }
        }
    }
    let mut budget = Budget::of(situation, &members);
    repair(situation, &members, &mut budget, &mut plan, now);
    let mut candidates: Vec<&Member> = members
        .iter()
        .filter(|member| member.mark.is_none() && member.has_node && member.current != situation.target)
        .copied()
        .collect();
    // One that is away already costs nothing to take.
    candidates.sort_by_key(|member| member.is_available());
    let mut waits_for = None;
    let mut taken = Vec::new();
    if halted.is_none() && !situation.is_paused && !matches!(situation.strategy, Strategy::OnDelete) {
        for member in &candidates {
            if plan.steps.iter().any(|step| step.machine == member.machine) {
                continue;
            }
            match budget.take(member) {
                Ok(()) => {
                    let reason = format!("it has {} and should have {}", shown(&member.current), situation.target);
                    taken.push(member.step(Action::Cordon(Purpose::Update), reason));
                }
                Err(words) => {
                    waits_for = words;
                    break;
                }
            }
        }
    }
    let is_left = |member: &&&Member| taken.iter().all(|step| step.machine != member.machine);
    plan.queue = candidates.iter().filter(is_left).map(|member| member.node.clone()).collect();
    plan.steps.extend(taken);
    plan.state = match halted {
        _ if situation.is_paused && !(plan.queue.is_empty() && plan.in_hand.is_empty()) => State::Paused,
        Some(words) => State::Halted(words),
        None if !plan.steps.is_empty() || !plan.in_hand.is_empty() => State::Going,
        None if plan.queue.is_empty() => State::Done,
        None if situation.strategy == Strategy::OnDelete => {
            State::Waiting("the strategy is OnDelete: delete each Machine, and boot its host again".to_owned())
        }
        None => State::Waiting(waits_for.unwrap_or_else(|| "another node is in hand".to_owned())),
    };
    if situation.is_paused {
        plan.steps.clear();
    }
    plan
}

/// The next action for a node in hand.
fn turn(situation: &Situation, member: &Member, now: Timestamp) -> Turn {
    let Some(mark) = &member.mark else { return Turn::Wait(String::new()) };
    let name = &member.node;
    let is_late = mark.since.checked_add(situation.patience).is_ok_and(|due| due <= now);
    let is_drained = member.pods == 0;
    let drain_is_over =
        situation.drain_timeout.and_then(|most| mark.since.checked_add(most).ok()).is_some_and(|due| due <= now);
    let drain = |member: &Member| member.step(Action::Drain, format!("{} pods have to go", member.pods));
    let cordon = |purpose| Turn::Act(member.step(Action::Cordon(purpose), "no new pods may come"));
    let why = if is_drained { "its pods are gone" } else { "its drain took longer than nodeDrainTimeout" };
    if mark.purpose == Purpose::Repair {
        if member.is_ready {
            return Turn::Act(member.step(Action::Release, "it is Ready again"));
        }
        return if member.has_node && !member.is_cordoned {
            cordon(Purpose::Repair)
        } else if is_drained || drain_is_over {
            Turn::Act(member.step(Action::Remove, format!("it is broken, and {why}")))
        } else {
            Turn::Act(drain(member))
        };
    }
    let is_told_other = !member.desired.is_empty() && member.desired != situation.target;
    if member.current == situation.target && !is_told_other {
        return match (member.is_ready, is_late) {
            (true, _) => Turn::Act(member.step(Action::Release, "it is Ready with its configuration")),
            (false, false) => Turn::Wait("has its configuration and is not Ready yet".to_owned()),
            (false, true) => {
                Turn::Halt(format!("the node {name} has its configuration and is not Ready since {}", mark.since))
            }
        };
    }
    if !member.has_node {
        return if is_late {
            Turn::Halt(format!("the node {name} is gone, and its Machine {} is left", member.machine))
        } else {
            Turn::Wait("its Node is gone".to_owned())
        };
    }
    if let Some((_, reason)) = member.failed.as_ref().filter(|(hash, _)| *hash == situation.target) {
        return Turn::Halt(format!("the node {name} could not take the configuration and went back: {reason}"));
    }
    let is_in_place = matches!(situation.strategy, Strategy::InPlace { .. });
    if is_in_place && member.desired == situation.target {
        return if is_late {
            Turn::Halt(format!(
                "the node {name} was told its configuration at {} and does not come back; does hcp-agent run there?",
                mark.since
            ))
        } else {
            Turn::Wait("is changing".to_owned())
        };
    }
    if !member.is_cordoned {
        return cordon(Purpose::Update);
    }
    if !is_drained && !drain_is_over {
        return Turn::Act(drain(member));
    }
    Turn::Act(member.step(if is_in_place { Action::Desire } else { Action::Remove }, why))
}

/// Takes broken nodes out where the pool has enough others.
fn repair(situation: &Situation, members: &[&Member], budget: &mut Budget, plan: &mut Plan, now: Timestamp) {
    let Some(repair) = situation.repair.filter(|_| !situation.is_paused) else { return };
    let broken: Vec<&&Member> = members.iter().filter(|member| member.is_broken(repair, now)).collect();
    let names = || broken.iter().map(|member| member.node.as_str()).collect::<Vec<_>>().join(", ");
    if broken.len() > repair.max_unhealthy {
        plan.unrepaired = Some(format!(
            "{} nodes are not Ready ({}), more than the {} that are replaced at once: something larger is wrong",
            broken.len(),
            names(),
            repair.max_unhealthy
        ));
        return;
    }
    let is_spared = budget.available >= budget.wanted;
    for member in broken.iter().filter(|member| member.mark.is_none()) {
        if is_spared {
            let since = member.unhealthy_since.map(|since| since.to_string()).unwrap_or_default();
            let reason = format!("it is not Ready since {since}, and another takes its place");
            plan.steps.push(member.step(Action::Cordon(Purpose::Repair), reason));
            budget.in_hand += 1;
        } else {
            plan.unrepaired = Some(format!("not Ready: {}; there is no spare host to replace it with", names()));
        }
    }
}

/// What may still be taken.
struct Budget {
    strategy: Strategy,
    wanted: usize,
    available: usize,
    unavailable: usize,
    in_hand: usize,
}

impl Budget {
    fn of(situation: &Situation, members: &[&Member]) -> Self {
        let nodes: Vec<&&Member> = members.iter().filter(|member| member.has_node).collect();
        let available = nodes.iter().filter(|member| member.is_available()).count();
        Self {
            strategy: situation.strategy,
            wanted: situation.wanted,
            available,
            unavailable: nodes.len() - available,
            in_hand: members.iter().filter(|member| member.mark.is_some()).count(),
        }
    }

    /// Takes one more, or says what has to happen first; no words when it is only another's turn.
    fn take(&mut self, member: &Member) -> Result<(), Option<String>> {
        let most = match self.strategy {
            Strategy::InPlace { max_unavailable } => max_unavailable,
            Strategy::Replace { max_surge, max_unavailable } => max_surge + max_unavailable,
            Strategy::OnDelete => 0,
        };
        if self.in_hand >= most.max(1) {
            return Err(None);
        }
        if member.is_available() {
            match self.strategy {
                Strategy::InPlace { max_unavailable } if self.unavailable >= max_unavailable => {
                    return Err(Some(format!(
                        "{} nodes are not available, and {max_unavailable} may be: they have to be well first",
                        self.unavailable
                    )));
                }
                Strategy::Replace { max_unavailable, .. }
                    if self.available <= self.wanted.saturating_sub(max_unavailable) =>
                {
                    return Err(Some(format!(
                        "{} nodes are available and {} have to stay so: boot a spare host, or one that was removed, with the pool's user-data",
                        self.available,
                        self.wanted.saturating_sub(max_unavailable)
                    )));
                }
                _ => {}
            }
            self.available -= 1;
            self.unavailable += 1;
        }
        self.in_hand += 1;
        Ok(())
    }
}

fn shown(hash: &str) -> &str {
    if hash.is_empty() { "none that is known" } else { hash }
}
