//! The clock of a simulated host, which may be wrong.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rustls::time_provider::TimeProvider;
use rustls_pki_types::UnixTime;

/// A clock that is ahead of or behind the real one by a fixed time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    offset: SignedDuration,
}

impl Clock {
    pub(crate) fn with_offset(offset: SignedDuration) -> Self {
        Self { offset }
    }

    /// The time as this host believes it.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::now().checked_add(self.offset).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// How long it is until a time, by this clock; nothing when it is over.
    pub(crate) fn until(&self, time: Timestamp) -> Duration {
        Duration::try_from(time.duration_since(self.now())).unwrap_or_default()
    }
}

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.now().as_second()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

/// A time as objects hold it, to the second.
pub(crate) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A time as leases hold it, to the microsecond.
pub(crate) fn microseconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::{Clock, microseconds, seconds};

    #[test]
    fn times_are_written_as_the_api_writes_them() {
        let time = Timestamp::from_microsecond(1_700_000_000_000_012).unwrap();
        assert_eq!(seconds(time), "2023-11-14T22:13:20Z");
        assert_eq!(microseconds(time), "2023-11-14T22:13:20.000012Z");
    }

    #[test]
    fn a_wrong_clock_is_wrong_by_as_much() {
        let clock = Clock::with_offset(SignedDuration::from_hours(-2));
        let now = Timestamp::now();
        let behind = now.duration_since(clock.now());
        assert!(behind > SignedDuration::from_hours(1) && behind <= SignedDuration::from_hours(2), "{behind}");
        assert!(clock.until(Timestamp::now()).as_secs() > 7_100);
        assert!(Clock::default().until(Timestamp::UNIX_EPOCH).is_zero());
    }
}
