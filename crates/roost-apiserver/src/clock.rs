//! The one place where the API server asks what time it is.

use jiff::Timestamp;

/// Now, as objects carry it: whole seconds in UTC.
pub(crate) fn now_text() -> String {
    text(Timestamp::now())
}

/// A time as objects carry it.
pub(crate) fn text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
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
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
