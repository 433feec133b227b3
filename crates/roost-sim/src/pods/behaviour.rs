//! What a pod's annotations ask its containers to do.

use jiff::SignedDuration;
use serde_json::Value;

/// The annotations are `sim.roost.dev/<name>`, or `<container>.sim.roost.dev/<name>` for one container.
const DOMAIN: &str = "sim.roost.dev";
/// No wait is longer, so that no sum of them overflows.
const LONGEST: i64 = 10 * 365 * 24 * 3600;
/// How long a container runs that is meant to end, when nobody says: long enough to be seen.
const USUAL_RUN: SignedDuration = SignedDuration::from_secs(1);
/// The first wait before a container is started again that has ended twice.
const USUAL_BACK_OFF: SignedDuration = SignedDuration::from_secs(10);
/// What a container uses of a processor, in thousandths, when nobody says.
const USUAL_CORES: u64 = 10;
/// A container that takes no time and waits no time would be started again without end.
const SHORTEST_BACK_OFF: SignedDuration = SignedDuration::from_millis(10);

/// What one container does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Behaviour {
    /// `start-seconds`: how long it takes until it runs.
    pub(super) start: SignedDuration,
    /// `ready-seconds`: how long it runs before it is ready; its readiness probe's first delay unless said.
    pub(super) ready: SignedDuration,
    /// `never-ready`: whether it never is.
    pub(super) never_ready: bool,
    /// `run-seconds`: how long it runs; forever where its pod is meant to, else a second.
    pub(super) run: Option<SignedDuration>,
    /// `exit-code`: what it ends with.
    pub(super) exit_code: i64,
    /// `pull-error`: whether its image cannot be had.
    pub(super) pull_error: bool,
    /// `ignore-term`: whether it has to be killed.
    pub(super) ignores_term: bool,
    /// `back-off-seconds`: the first wait before it is started again.
    pub(super) back_off: SignedDuration,
    /// `cpu-millicores`: what it uses of a processor while it runs, in thousandths.
    pub(super) milli_cores: u64,
}

impl Behaviour {
    /// What a container of a pod does; `ends` says whether it is meant to end.
    pub(super) fn read(pod: &Value, container: &Value, ends: bool) -> Self {
        let name = container["name"].as_str().unwrap_or_default();
        let text = |key: &str| {
            let annotations = &pod["metadata"]["annotations"];
            let own = annotations.get(format!("{name}.{DOMAIN}/{key}"));
            own.or_else(|| annotations.get(format!("{DOMAIN}/{key}")))?.as_str()
        };
        let seconds = |key: &str| text(key).and_then(duration);
        let set = |key: &str| text(key).is_some_and(|value| value != "false");
        let probe = container["readinessProbe"]["initialDelaySeconds"].as_i64().unwrap_or_default();
        Self {
            start: seconds("start-seconds").unwrap_or_default(),
            ready: seconds("ready-seconds").unwrap_or(SignedDuration::from_secs(probe.clamp(0, LONGEST))),
            never_ready: set("never-ready"),
            run: seconds("run-seconds").or(ends.then_some(USUAL_RUN)),
            exit_code: text("exit-code").and_then(|code| code.parse::<u8>().ok()).map_or(0, i64::from),
            pull_error: set("pull-error"),
            ignores_term: set("ignore-term"),
            back_off: seconds("back-off-seconds").unwrap_or(USUAL_BACK_OFF).max(SHORTEST_BACK_OFF),
            milli_cores: text("cpu-millicores")
                .and_then(|cores| cores.parse::<u32>().ok())
                .map_or(USUAL_CORES, u64::from),
        }
    }
}

/// Seconds, with a fraction if need be.
fn duration(text: &str) -> Option<SignedDuration> {
    let seconds: f64 = text.parse().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "the number is within a few billion")]
    let within = seconds.is_finite().then(|| (seconds.clamp(0.0, LONGEST as f64) * 1000.0) as i64)?;
    Some(SignedDuration::from_millis(within))
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::Behaviour;

    #[test]
    fn annotations_are_for_the_pod_or_for_one_container() {
        let pod = json!({"metadata": {"annotations": {
            "sim.roost.dev/run-seconds": "2.5", "sim.roost.dev/exit-code": "3", "b.sim.roost.dev/exit-code": "0",
            "sim.roost.dev/never-ready": "false", "b.sim.roost.dev/never-ready": "true",
        }}});
        let a = Behaviour::read(&pod, &json!({"name": "a"}), false);
        assert_eq!((a.run, a.exit_code), (Some(SignedDuration::from_millis(2_500)), 3));
        assert!(!a.never_ready);
        let probed = json!({"name": "b", "readinessProbe": {"initialDelaySeconds": 4}});
        let b = Behaviour::read(&pod, &probed, false);
        assert_eq!((b.exit_code, b.ready), (0, SignedDuration::from_secs(4)));
        assert!(b.never_ready);
    }

    #[test]
    fn nonsense_is_as_if_it_were_not_there() {
        let pod = json!({"metadata": {"annotations": {
            "sim.roost.dev/run-seconds": "NaN", "sim.roost.dev/exit-code": "1000", "sim.roost.dev/start-seconds": "1e300",
        }}});
        let behaviour = Behaviour::read(&pod, &json!({"name": "a"}), false);
        assert_eq!((behaviour.run, behaviour.exit_code), (None, 0));
        assert_eq!(behaviour.start.as_secs(), 10 * 365 * 24 * 3600);
        let ending = Behaviour::read(&json!({}), &json!({}), true);
        assert_eq!(ending.run, Some(SignedDuration::from_secs(1)));
    }
}
