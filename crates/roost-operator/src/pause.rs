//! `pausedUntil`: a time, or a word.

use jiff::Timestamp;

/// What a `pausedUntil` field means at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Go on.
    Active,
    /// Do nothing until somebody changes the field.
    Forever,
    /// Do nothing until then.
    Until(Timestamp),
    /// The text is neither a time nor a word; go on, and say so.
    Unreadable,
}

impl Pause {
    pub(crate) fn of(text: Option<&str>, now: Timestamp) -> Pause {
        match text {
            None | Some("" | "false" | "False") => Pause::Active,
            Some("true" | "True") => Pause::Forever,
            Some(text) => match text.parse::<Timestamp>() {
                Ok(until) if until > now => Pause::Until(until),
                Ok(_) => Pause::Active,
                Err(_) => Pause::Unreadable,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_words() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let later: Timestamp = "2026-01-01T01:00:00Z".parse().unwrap();
        for (text, pause) in [
            (None, Pause::Active),
            (Some("false"), Pause::Active),
            (Some("True"), Pause::Forever),
            (Some("2026-01-01T01:00:00Z"), Pause::Until(later)),
            (Some("2025-12-31T23:00:00Z"), Pause::Active),
            (Some("soon"), Pause::Unreadable),
        ] {
            assert_eq!(Pause::of(text, now), pause, "{text:?}");
        }
    }
}
