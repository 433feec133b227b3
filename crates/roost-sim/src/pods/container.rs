//! One container: what state it is in, and how that changes with time.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::behaviour::Behaviour;
use super::view::Line;

/// The longest wait before a container is started again.
const LONGEST_BACK_OFF: SignedDuration = SignedDuration::from_mins(5);
/// What a process ends with that had to be killed.
const KILLED: i64 = 137;

/// What a container is to its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Runs to its end before the others begin.
    Initial,
    /// Begins before the others and stays.
    Sidecar,
    /// One of those that the pod is for.
    Main,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) started: Timestamp,
    pub(super) finished: Timestamp,
    pub(super) code: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It is not its turn yet.
    Held,
    /// Its image is there or coming, and it runs from this time on.
    Creating(Timestamp),
    /// Its image cannot be had.
    NoImage,
    /// It has ended too often, and is started again at this time.
    BackingOff(Timestamp),
    Running(Timestamp),
    Ended(End),
}

/// When a container is started again after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restart {
    Always,
    OnFailure,
    Never,
}

impl Restart {
    pub(super) fn of(policy: Option<&str>) -> Self {
        match policy {
            Some("Never") => Self::Never,
            Some("OnFailure") => Self::OnFailure,
            _ => Self::Always,
        }
    }

    pub(super) fn after(self, code: i64) -> bool {
        match self {
            Self::Always => true,
            Self::OnFailure => code != 0,
            Self::Never => false,
        }
    }
}

/// A container and what became of it.
#[derive(Clone, Debug)]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) state: State,
    pub(super) last: Option<End>,
    pub(super) restarts: u64,
    pub(super) behaviour: Behaviour,
    restart: Restart,
    /// How often it has been started, by which containers are told apart.
    pub(super) runs: u64,
    /// What it has said.
    pub(super) lines: Vec<Line>,
}

/// The most lines that are kept of a container.
const MAX_LINES: usize = 200;

impl Container {
    pub(super) fn new(pod: &Value, spec: &Value, role: Role, restarts: u64) -> Self {
        let of_pod = Restart::of(pod["spec"]["restartPolicy"].as_str());
        let restart = match role {
            Role::Sidecar => Restart::Always,
            Role::Initial if of_pod == Restart::Always => Restart::OnFailure,
            Role::Initial | Role::Main => of_pod,
        };
        let ends = restart != Restart::Always;
        let mut behaviour = Behaviour::read(pod, spec, ends);
        if role == Role::Initial && behaviour.run.is_none_or(|run| run == SignedDuration::from_secs(1)) {
            // Nobody waits for the preparations of a pod that prepares nothing.
            behaviour.run = Some(SignedDuration::ZERO);
        }
        Self {
            name: spec["name"].as_str().unwrap_or_default().to_owned(),
            role,
            state: State::Held,
            last: None,
            restarts,
            behaviour,
            restart,
            runs: restarts,
            lines: Vec::new(),
        }
    }

    /// Lets it begin, unless it has.
    pub(super) fn release(&mut self, now: Timestamp) {
        if self.state == State::Held {
            self.state = if self.behaviour.pull_error {
                self.say(now, "its image cannot be had, as the pod's annotation asks");
                State::NoImage
            } else {
                State::Creating(after(now, self.behaviour.start))
            };
        }
    }

    /// Lets time pass. Every step happens at its own time, not when somebody looks.
    pub(super) fn advance(&mut self, now: Timestamp) {
        while let Some(due) = self.due().filter(|due| *due <= now) {
            match self.state {
                State::Creating(_) => self.start(due),
                State::BackingOff(_) => {
                    self.restarts += 1;
                    self.start(due);
                }
                State::Running(started) => {
                    self.end(End { started, finished: due, code: self.behaviour.exit_code });
                }
                State::Ended(_) => self.begin_again(due),
                State::Held | State::NoImage => return,
            }
        }
    }

    fn start(&mut self, time: Timestamp) {
        self.runs += 1;
        self.state = State::Running(time);
        self.say(time, &format!("simulated container started, run {}", self.runs));
    }

    fn end(&mut self, end: End) {
        self.state = State::Ended(end);
        self.say(end.finished, &format!("simulated container ended with code {}", end.code));
    }

    fn begin_again(&mut self, time: Timestamp) {
        if let State::Ended(end) = self.state {
            self.last = Some(end);
            let wait = self.wait();
            if wait.is_zero() {
                self.restarts += 1;
                self.start(time);
            } else {
                self.state = State::BackingOff(after(end.finished, wait));
            }
        }
    }

    /// How long it is not started again: not at all after its first end, then twice as long each time.
    pub(super) fn wait(&self) -> SignedDuration {
        match u32::try_from(self.restarts) {
            Ok(0) => SignedDuration::ZERO,
            Ok(restarts @ 1..=16) => (self.behaviour.back_off * (1 << (restarts - 1))).min(LONGEST_BACK_OFF),
            _ => LONGEST_BACK_OFF,
        }
    }

    /// When something happens next by itself.
    pub(super) fn due(&self) -> Option<Timestamp> {
        match self.state {
            State::Held | State::NoImage => None,
            State::Creating(time) | State::BackingOff(time) => Some(time),
            State::Running(since) => self.behaviour.run.map(|run| after(since, run)),
            State::Ended(end) => self.restart.after(end.code).then_some(end.finished),
        }
    }

    /// When it becomes ready, if it is still to.
    pub(super) fn ready_at(&self) -> Option<Timestamp> {
        match self.state {
            State::Running(since) if !self.behaviour.never_ready => Some(after(since, self.behaviour.ready)),
            _ => None,
        }
    }

    pub(super) fn is_ready(&self, now: Timestamp) -> bool {
        match self.role {
            Role::Initial => matches!(self.state, State::Ended(end) if end.code == 0),
            Role::Sidecar | Role::Main => self.ready_at().is_some_and(|time| time <= now),
        }
    }

    /// Whether those after it may begin.
    pub(super) fn lets_others_begin(&self) -> bool {
        match self.role {
            Role::Initial => matches!(self.state, State::Ended(end) if end.code == 0),
            Role::Sidecar => matches!(self.state, State::Running(_)),
            Role::Main => true,
        }
    }

    /// Whether it has ended for good.
    pub(super) fn is_over(&self) -> Option<i64> {
        match self.state {
            State::Ended(end) if !self.restart.after(end.code) => Some(end.code),
            _ => None,
        }
    }

    /// Ends it, by asking or by force.
    pub(super) fn stop(&mut self, now: Timestamp) {
        let code = if self.behaviour.ignores_term { KILLED } else { 0 };
        match self.state {
            State::Running(started) => self.end(End { started, finished: now, code }),
            State::Held | State::Creating(_) | State::NoImage => {
                self.state = State::Ended(End { started: now, finished: now, code: KILLED });
            }
            State::BackingOff(_) => {
                if let Some(last) = self.last {
                    self.state = State::Ended(last);
                }
            }
            State::Ended(_) => {}
        }
        self.restart = Restart::Never;
    }

    fn say(&mut self, time: Timestamp, words: &str) {
        if self.lines.len() == MAX_LINES {
            self.lines.remove(0);
        }
        self.lines.push((time, words.to_owned()));
    }
}

pub(super) fn after(time: Timestamp, wait: SignedDuration) -> Timestamp {
    time.checked_add(wait).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use serde_json::json;

    use super::{Container, Role, State};

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    #[test]
    fn a_container_that_fails_backs_off_longer_and_longer() {
        let annotations = json!({"sim.roost.dev/run-seconds": "1", "sim.roost.dev/exit-code": "7"});
        let pod = json!({"metadata": {"annotations": annotations}, "spec": {"restartPolicy": "Always"}});
        let mut container = Container::new(&pod, &json!({"name": "a"}), Role::Main, 0);
        container.release(at(0));
        container.advance(at(500));
        assert_eq!(container.state, State::Running(at(0)));
        // The first end is followed by a start at once, the second by a wait of ten seconds.
        container.advance(at(1_500));
        assert_eq!((container.state, container.restarts), (State::Running(at(1_000)), 1));
        container.advance(at(3_000));
        assert_eq!(container.state, State::BackingOff(at(12_000)));
        assert_eq!(container.last.unwrap().code, 7);
        container.advance(at(14_000));
        assert_eq!((container.state, container.restarts), (State::BackingOff(at(33_000)), 2));
        container.restarts = 90;
        assert_eq!(container.wait(), SignedDuration::from_mins(5));
    }

    #[test]
    fn time_that_was_slept_through_is_made_up_for() {
        let pod = json!({"spec": {"restartPolicy": "OnFailure"}});
        let mut container = Container::new(&pod, &json!({"name": "a"}), Role::Main, 0);
        container.release(at(0));
        container.advance(at(1_000_000));
        let State::Ended(end) = container.state else { panic!("{container:?}") };
        assert_eq!((end.started, end.finished, end.code), (at(0), at(1_000), 0));
        assert_eq!(container.is_over(), Some(0));
    }

    #[test]
    fn no_run_takes_no_time_forever() {
        let annotations = json!({"sim.roost.dev/run-seconds": "0", "sim.roost.dev/back-off-seconds": "0"});
        let pod = json!({"metadata": {"annotations": annotations}});
        let mut container = Container::new(&pod, &json!({"name": "a"}), Role::Main, 0);
        container.release(at(0));
        container.advance(at(10));
        assert!(container.restarts < 1_000, "{}", container.restarts);
    }
}
