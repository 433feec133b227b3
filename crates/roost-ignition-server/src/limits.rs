//! How often and how much: rates that are counted per caller, in memory that does not grow with the callers.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// A bucket that fills at a steady rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// How many requests a second in the long run.
    pub per_second: f64,
    /// How many at once after a quiet time.
    pub burst: f64,
}

/// The limits of one server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// For one address. Whole sites boot from behind one address.
    pub address: Rate,
    /// For one token, from wherever it is shown.
    pub token: Rate,
    /// Open connections in all; beyond it new ones wait in the kernel.
    pub connections: usize,
    /// Open connections of one address; beyond it new ones are closed.
    pub connections_per_address: usize,
    /// Callers that are counted one by one; beyond it they share one count.
    pub remembered: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            address: Rate { per_second: 200.0, burst: 2000.0 },
            token: Rate { per_second: 200.0, burst: 2000.0 },
            connections: 4096,
            connections_per_address: 1024,
            remembered: 16_384,
        }
    }
}

/// Looking for quiet callers costs as much as there are callers, so strangers must not be able to ask for it.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(1);

#[derive(Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn refill(&mut self, rate: Rate, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * rate.per_second).min(rate.burst);
        self.at = now;
    }

    fn take(&mut self, rate: Rate, now: Instant) -> Result<(), Duration> {
        self.refill(rate, now);
        if self.left >= 1.0 {
            self.left -= 1.0;
            Ok(())
        } else {
            Err(Duration::from_secs_f64(((1.0 - self.left) / rate.per_second.max(0.001)).min(3600.0)))
        }
    }
}

/// Counts callers of one kind.
pub struct Counter<K> {
    rate: Rate,
    most: usize,
    state: Mutex<State<K>>,
}

struct State<K> {
    buckets: HashMap<K, Bucket>,
    /// For all callers for whom there is no room.
    shared: Bucket,
    /// When quiet callers were last forgotten.
    swept: Instant,
}

impl<K: Eq + Hash> Counter<K> {
    /// Counts at this rate, and not more callers than that one by one.
    pub fn new(rate: Rate, most: usize, now: Instant) -> Self {
        let shared = Bucket { left: rate.burst, at: now };
        Self { rate, most, state: Mutex::new(State { buckets: HashMap::new(), shared, swept: now }) }
    }

    /// One request of a caller; when to come again if it is one too many.
    pub fn take(&self, key: K, now: Instant) -> Result<(), Duration> {
        let State { buckets, shared, swept } = &mut *self.state.lock();
        if let Some(bucket) = buckets.get_mut(&key) {
            return bucket.take(self.rate, now);
        }
        if buckets.len() >= self.most && now.saturating_duration_since(*swept) >= BETWEEN_SWEEPS {
            *swept = now;
            // A full bucket says the same as none.
            buckets.retain(|_, bucket| {
                bucket.refill(self.rate, now);
                bucket.left < self.rate.burst
            });
        }
        if buckets.len() >= self.most {
            return shared.take(self.rate, now);
        }
        let mut bucket = Bucket { left: self.rate.burst, at: now };
        let result = bucket.take(self.rate, now);
        buckets.insert(key, bucket);
        result
    }

    #[cfg(test)]
    fn remembered(&self) -> usize {
        self.state.lock().buckets.len()
    }
}

/// The caller of an address: in IPv6 one site has as many addresses as it likes, so its network counts.
pub fn caller(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6([a, b, c, d, 0, 0, 0, 0].into())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Counter, Rate, caller};

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let start = Instant::now();
        let counter = Counter::new(Rate { per_second: 10.0, burst: 3.0 }, 8, start);
        for _ in 0..3 {
            assert_eq!(counter.take("a", start), Ok(()));
        }
        assert_eq!(counter.take("a", start), Err(Duration::from_millis(100)));
        assert_eq!(counter.take("b", start), Ok(()), "others are not touched");
        assert_eq!(counter.take("a", start + Duration::from_millis(101)), Ok(()));
    }

    #[test]
    fn memory_does_not_grow_with_the_callers() {
        let start = Instant::now();
        let counter = Counter::new(Rate { per_second: 1.0, burst: 2.0 }, 100, start);
        let passed = (0..100_000).filter(|caller| counter.take(*caller, start).is_ok()).count();
        assert_eq!(counter.remembered(), 100);
        assert_eq!(passed, 102, "those without a place share one count");
        assert_eq!(counter.take(100_000, start + Duration::from_secs(5)), Ok(()));
        assert!(counter.remembered() <= 2, "who was quiet is forgotten");
    }

    #[test]
    fn a_network_is_one_caller() {
        let address = |text: &str| caller(text.parse().unwrap());
        assert_eq!(address("2001:db8:1:2::1"), address("2001:db8:1:2:ffff::9"));
        assert_ne!(address("2001:db8:1:2::1"), address("2001:db8:1:3::1"));
        assert_eq!(address("::ffff:10.0.0.1"), address("10.0.0.1"));
        assert_ne!(address("10.0.0.2"), address("10.0.0.1"));
    }
}
