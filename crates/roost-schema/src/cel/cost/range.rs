//! Ranges of sizes and costs, which stop at the largest number instead of overflowing.

/// The least and the most that something can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Range {
    pub(super) const ZERO: Range = Range::fixed(0);
    pub(super) const ONE: Range = Range::fixed(1);
    pub(super) const UNKNOWN: Range = Range { min: 0, max: u64::MAX };

    pub(super) const fn fixed(number: u64) -> Range {
        Range { min: number, max: number }
    }

    pub(super) fn add(self, other: Range) -> Range {
        Range { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) fn multiply(self, other: Range) -> Range {
        Range { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub(super) fn union(self, other: Range) -> Range {
        Range { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Both ends multiplied and rounded up.
    pub(super) fn scale(self, factor: f64) -> Range {
        let scale = |number: u64| {
            let product = (number as f64 * factor).ceil();
            if product >= 18_446_744_073_709_551_616.0 { u64::MAX } else { product as u64 }
        };
        Range { min: scale(self.min), max: scale(self.max) }
    }
}
