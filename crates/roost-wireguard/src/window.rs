//! Which numbers of a session were seen: each is taken once, and what is too old to know is not taken.

/// Words of the ring; one of them is always being cleared.
const WORDS: usize = 32;
const BITS: u64 = u64::BITS as u64;
/// How far behind the greatest a number may be.
const REACH: u64 = (WORDS as u64 - 1) * BITS;

/// The numbers that were seen.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// One more than the greatest number.
    end: u64,
    seen: [u64; WORDS],
}

impl Window {
    /// Whether a number may be taken.
    pub(crate) fn is_new(&self, number: u64) -> bool {
        number >= self.end || self.end - number <= REACH && self.seen[word(number)] & bit(number) == 0
    }

    /// Takes a number that is new and authentic.
    pub(crate) fn take(&mut self, number: u64) {
        if number >= self.end {
            // Words between the old greatest and the new one belong to numbers of long ago.
            let (from, to) = (self.end.div_ceil(BITS), number / BITS);
            for place in from..=to.min(from.saturating_add(WORDS as u64 - 1)) {
                self.seen[(place % WORDS as u64) as usize] = 0;
            }
            self.end = number + 1;
        }
        self.seen[word(number)] |= bit(number);
    }
}

fn word(number: u64) -> usize {
    (number / BITS % WORDS as u64) as usize
}

fn bit(number: u64) -> u64 {
    1 << (number % BITS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{REACH, Window};

    #[test]
    fn a_number_is_taken_once_in_any_order() {
        let mut window = Window::default();
        for number in [0, 2, 1, 64, 63, 5000, 5000 - REACH + 1] {
            assert!(window.is_new(number), "{number}");
            window.take(number);
            assert!(!window.is_new(number), "{number}");
        }
        assert!(!window.is_new(3), "3 is too old to know");
        assert!(!window.is_new(5000 - REACH));
        assert!(window.is_new(4999));
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_set(steps in proptest::collection::vec((0u64..6000, prop::bool::weighted(0.02)), 1..400)) {
            let (mut window, mut seen, mut base, mut greatest) = (Window::default(), BTreeSet::new(), 0u64, None::<u64>);
            for (step, jumps) in steps {
                if jumps {
                    base += 3000;
                }
                let number = base + step % 3000;
                let is_recent = greatest.is_none_or(|greatest| number > greatest || greatest + 1 - number <= REACH);
                let is_new = is_recent && !seen.contains(&number);
                prop_assert_eq!(window.is_new(number), is_new);
                if is_new {
                    window.take(number);
                    seen.insert(number);
                    greatest = greatest.max(Some(number));
                }
            }
        }
    }
}
