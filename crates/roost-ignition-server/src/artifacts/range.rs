//! Which part of a file a `Range` header asks for.

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it: nothing else was asked for, or nothing that is answered in parts.
    Whole,
    /// From the first to the last of these bytes.
    Some { first: u64, last: u64 },
    /// Bytes that it does not have.
    None,
}

/// Reads one header. Several parts at once, other units and what cannot be read are answered with the whole.
pub(super) fn part(header: &[u8], length: u64) -> Part {
    let range = std::str::from_utf8(header).ok().and_then(|text| text.strip_prefix("bytes="));
    let Some((first, last)) = range.and_then(|range| range.trim().split_once('-')) else { return Part::Whole };
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A number that is too large for any file means the same as the largest.
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first > last => Part::Whole,
        (Some(first), _) if first >= length && (last.is_empty() || number(last).is_some()) => Part::None,
        (Some(first), Some(last)) => Part::Some { first, last: last.min(length - 1) },
        (Some(first), None) if last.is_empty() => Part::Some { first, last: length - 1 },
        (None, Some(0)) if first.is_empty() => Part::None,
        (None, Some(_)) if first.is_empty() && length == 0 => Part::None,
        (None, Some(count)) if first.is_empty() => Part::Some { first: length.saturating_sub(count), last: length - 1 },
        _ => Part::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, part};

    #[test]
    fn parts_are_read() {
        let some = |first, last| Part::Some { first, last };
        for (header, expected) in [
            ("bytes=0-0", some(0, 0)),
            ("bytes=2-5", some(2, 5)),
            ("bytes=2-", some(2, 9)),
            ("bytes=2-99", some(2, 9)),
            ("bytes=-3", some(7, 9)),
            ("bytes=-30", some(0, 9)),
            ("bytes=9-99999999999999999999999", some(9, 9)),
            ("bytes=10-", Part::None),
            ("bytes=10-12", Part::None),
            ("bytes=99999999999999999999999-", Part::None),
            ("bytes=-0", Part::None),
            ("bytes=5-2", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=0-1,3-4", Part::Whole),
            ("bytes=+1-2", Part::Whole),
            ("bytes=a-b", Part::Whole),
            ("lines=1-2", Part::Whole),
            ("", Part::Whole),
        ] {
            assert_eq!(part(header.as_bytes(), 10), expected, "{header}");
        }
        assert_eq!(part(b"bytes=0-", 0), Part::None);
        assert_eq!(part(b"bytes=-5", 0), Part::None);
        assert_eq!(part(&[0xff], 10), Part::Whole);
    }
}
