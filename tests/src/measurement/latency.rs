//! How long things took.

use std::time::Duration;

/// The middle and the slow end of many durations.
#[derive(Debug, Clone, Copy, Default)]
pub struct Latency {
    /// Half are faster.
    pub median: Duration,
    /// One of a hundred is slower.
    pub slow: Duration,
}

impl Latency {
    /// Sums up durations.
    pub fn of(mut durations: Vec<Duration>) -> Self {
        if durations.is_empty() {
            return Self::default();
        }
        durations.sort_unstable();
        let at = |share: f64| durations[((durations.len() - 1) as f64 * share) as usize];
        Self { median: at(0.5), slow: at(0.99) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Latency;

    #[test]
    fn the_middle_and_the_slow_end() {
        let latency = Latency::of((1..=101).map(Duration::from_millis).collect());
        assert_eq!(latency.median, Duration::from_millis(51));
        assert_eq!(latency.slow, Duration::from_millis(100));
        assert_eq!(Latency::of(Vec::new()).median, Duration::ZERO);
    }
}
