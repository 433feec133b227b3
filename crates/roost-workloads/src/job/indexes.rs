//! Sets of indexes, as a Job's status writes them: `1,3-5,7`.

use std::collections::BTreeSet;

/// Indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes(BTreeSet<i64>);

impl Indexes {
    /// Reads indexes below a bound; what cannot be read is left out.
    pub(super) fn parse(text: &str, bound: i64) -> Indexes {
        let mut indexes = BTreeSet::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) else { continue };
            indexes.extend(first.max(0)..last.saturating_add(1).min(bound));
        }
        Indexes(indexes)
    }

    pub(super) fn insert(&mut self, index: i64) {
        self.0.insert(index);
    }

    pub(super) fn contains(&self, index: i64) -> bool {
        self.0.contains(&index)
    }

    pub(super) fn len(&self) -> i64 {
        self.0.len() as i64
    }

    /// How many are in both.
    pub(super) fn shared(&self, other: &Indexes) -> i64 {
        self.0.intersection(&other.0).count() as i64
    }
}

impl std::fmt::Display for Indexes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts: Vec<(i64, i64)> = Vec::new();
        for index in &self.0 {
            match parts.last_mut() {
                Some((_, last)) if *last + 1 == *index => *last = *index,
                _ => parts.push((*index, *index)),
            }
        }
        let text = |(first, last): &(i64, i64)| match last - first {
            0 => first.to_string(),
            1 => format!("{first},{last}"),
            _ => format!("{first}-{last}"),
        };
        formatter.write_str(&parts.iter().map(text).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_written_as_they_are_read() {
        for text in ["", "0", "0,1", "0-2", "1,3-5,7", "2,3,5"] {
            assert_eq!(Indexes::parse(text, 10).to_string(), text);
        }
        assert_eq!(Indexes::parse("0-99999999999", 3).to_string(), "0-2");
        assert_eq!(Indexes::parse("x,1-,2", 3).to_string(), "2");
    }
}
