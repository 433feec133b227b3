//! Times as objects and the audit log carry them.

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;

/// Whole seconds, as most times in objects are.
const SECONDS: DateTimePrinter = DateTimePrinter::new().precision(Some(0));
/// As events and the audit log have them.
const MICROSECONDS: DateTimePrinter = DateTimePrinter::new().precision(Some(6));

/// Now, as objects carry it: whole seconds in UTC.
pub(crate) fn now_text() -> String {
    text(Timestamp::now())
}

/// A time as objects carry it.
pub(crate) fn text(time: Timestamp) -> String {
    SECONDS.timestamp_to_string(&time)
}

/// Seconds since 1970.
pub(crate) fn unix_seconds() -> i64 {
    Timestamp::now().as_second()
}

/// Reads a time that an object carries.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// Now, with microseconds.
pub(crate) fn now_micro_text() -> String {
    micro_text(Timestamp::now())
}

/// A time with microseconds.
pub(crate) fn micro_text(time: Timestamp) -> String {
    MICROSECONDS.timestamp_to_string(&time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_cut_not_rounded() {
        let time: Timestamp = "2026-01-02T03:04:05.9999999Z".parse().unwrap();
        assert_eq!(text(time), "2026-01-02T03:04:05Z");
        assert_eq!(micro_text(time), "2026-01-02T03:04:05.999999Z");
        assert_eq!(micro_text(parse("2026-01-02T03:04:05Z").unwrap()), "2026-01-02T03:04:05.000000Z");
    }
}
