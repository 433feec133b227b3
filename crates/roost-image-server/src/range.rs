//! Which part of an image is wanted.

use std::ops::Range;

/// What a `Range` header asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All of it: nothing else was asked for, or nothing that makes sense.
    Whole,
    /// One part.
    Part(Range<u64>),
    /// Nothing that exists, or several parts, which no one who boots a host needs.
    Refused,
}

/// Reads a `Range` header for something of this length. RFC 9110: a malformed header is as good as none.
pub(crate) fn wanted(header: Option<&str>, length: u64) -> Wanted {
    let Some(ranges) = header
        .and_then(|header| header.split_once('='))
        .and_then(|(unit, ranges)| unit.trim().eq_ignore_ascii_case("bytes").then_some(ranges))
    else {
        return Wanted::Whole;
    };
    let parsed: Option<Vec<Asked>> =
        ranges.split(',').map(str::trim).filter(|range| !range.is_empty()).map(parse).collect();
    match parsed.as_deref() {
        None | Some([]) => Wanted::Whole,
        Some([one]) => match one.within(length) {
            Some(range) => Wanted::Part(range),
            None => Wanted::Refused,
        },
        Some(_) => Wanted::Refused,
    }
}

#[derive(Clone, Copy)]
enum Asked {
    From(u64, Option<u64>),
    Last(u64),
}

impl Asked {
    fn within(self, length: u64) -> Option<Range<u64>> {
        let range = match self {
            Self::From(first, last) => first..last.map_or(length, |last| last.saturating_add(1)).min(length),
            Self::Last(count) => length.saturating_sub(count)..length,
        };
        (range.start < range.end).then_some(range)
    }
}

fn parse(range: &str) -> Option<Asked> {
    let (first, last) = range.split_once('-')?;
    match (number(first)?, number(last)?) {
        (None, None) => None,
        (None, Some(count)) => Some(Asked::Last(count)),
        (Some(first), Some(last)) if last < first => None,
        (Some(first), last) => Some(Asked::From(first, last)),
    }
}

/// Digits only; nothing at all is no number, and more than exist mean the end.
#[expect(clippy::option_option, reason = "nothing there and nothing sensible there are two answers")]
fn number(text: &str) -> Option<Option<u64>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(None);
    }
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| Some(text.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::{Wanted, wanted};

    #[test]
    fn ranges_are_read_as_the_standard_says() {
        use Wanted::{Part, Refused, Whole};
        for (header, expected) in [
            ("bytes=0-0", Part(0..1)),
            ("bytes=0-", Part(0..100)),
            ("bytes=10-19", Part(10..20)),
            ("Bytes = 10-19", Part(10..20)),
            ("bytes=99-1000", Part(99..100)),
            ("bytes=0-99999999999999999999999", Part(0..100)),
            ("bytes=-1", Part(99..100)),
            ("bytes=-1000", Part(0..100)),
            ("bytes=,5-6,", Part(5..7)),
            ("bytes=100-", Refused),
            ("bytes=100-200", Refused),
            ("bytes=-0", Refused),
            ("bytes=99999999999999999999999-", Refused),
            ("bytes=0-1,5-6", Refused),
            ("bytes=20-10", Whole),
            ("bytes=a-b", Whole),
            ("bytes=-", Whole),
            ("bytes=", Whole),
            ("bytes", Whole),
            ("lines=0-1", Whole),
            ("bytes=+1-2", Whole),
            ("bytes=1-2-3", Whole),
        ] {
            assert_eq!(wanted(Some(header), 100), expected, "{header}");
        }
        assert_eq!(wanted(None, 100), Whole);
        assert_eq!(wanted(Some("bytes=0-"), 0), Refused);
    }
}
