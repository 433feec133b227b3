//! Lengths of time: as Go reads them, and as people see them in tables.

use std::sync::LazyLock;

use regex::Regex;

const MICROSECOND: i64 = 1_000;
const MILLISECOND: i64 = 1_000_000;
const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Reads a duration as Go's `time.ParseDuration` does, in nanoseconds.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let limit = 1_u64 << 63;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let whole = if digits == 0 { 0 } else { rest[..digits].parse::<u64>().ok().filter(|n| *n <= limit)? };
        rest = &rest[digits..];
        let mut fraction = "";
        if let Some(after) = rest.strip_prefix('.') {
            let length = after.bytes().take_while(u8::is_ascii_digit).count();
            fraction = &after[..length];
            rest = &after[length..];
        }
        if digits == 0 && fraction.is_empty() {
            return None;
        }
        let unit_end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
        let unit = match &rest[..unit_end] {
            "ns" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" => MICROSECOND,
            "ms" => MILLISECOND,
            "s" => SECOND,
            "m" => MINUTE,
            "h" => HOUR,
            _ => return None,
        } as u64;
        rest = &rest[unit_end..];
        let mut value = whole.checked_mul(unit).filter(|n| *n <= limit)?;
        if !fraction.is_empty() {
            value += scaled_fraction(fraction, unit);
        }
        total = total.checked_add(value).filter(|n| *n <= limit)?;
    }
    if negative {
        return Some((total as i64).wrapping_neg());
    }
    i64::try_from(total).ok()
}

/// The part of a unit that decimal digits stand for, cut off as Go cuts it.
fn scaled_fraction(digits: &str, unit: u64) -> u64 {
    let mut number: u64 = 0;
    let mut scale = 1.0_f64;
    for byte in digits.bytes() {
        let next = number.checked_mul(10).and_then(|n| n.checked_add(u64::from(byte - b'0')));
        match next.filter(|n| i64::try_from(*n).is_ok()) {
            Some(next) => number = next,
            None => break,
        }
        scale *= 10.0;
    }
    (number as f64 * (unit as f64 / scale)) as u64
}

static WORDS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"([0-9]+)[\t\n\x0c\r ]*([A-Za-zµ]+)").expect("the pattern is well formed"));

/// Each unit with its spellings; the last of each also stands for all words that begin with it.
const UNITS: &[(i64, &[&str])] = &[
    (1, &["ns", "nano"]),
    (MICROSECOND, &["us", "µs", "micro"]),
    (MILLISECOND, &["ms", "milli"]),
    (SECOND, &["s", "sec"]),
    (MINUTE, &["m", "min"]),
    (HOUR, &["h", "hr", "hour"]),
    (DAY, &["d", "day"]),
    (7 * DAY, &["w", "wk", "week"]),
];

/// Reads a duration as the `duration` format does: Go's spelling, or words such as `2 weeks`.
pub(crate) fn parse_lenient(text: &str) -> Option<i64> {
    if let Some(nanos) = parse(text) {
        return Some(nanos);
    }
    let mut total: i64 = 0;
    let mut any = false;
    for found in WORDS.captures_iter(text) {
        let factor: i64 = found[1].parse().ok()?;
        let unit = found[2].to_lowercase();
        for (nanos, spellings) in UNITS {
            for (index, spelling) in spellings.iter().enumerate() {
                let last = index + 1 == spellings.len();
                if unit == *spelling || last && unit.starts_with(spelling) {
                    any = true;
                    total = total.wrapping_add(factor.wrapping_mul(*nanos));
                }
            }
        }
    }
    any.then_some(total)
}

/// Seconds as people see them in tables: two units at most, such as `5d3h`.
pub(crate) fn human(seconds: i64) -> String {
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    if seconds < 0 {
        return "0s".to_owned();
    }
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let pair = |first: i64, name: &str, second: i64, rest: &str| {
        if second == 0 { format!("{first}{name}") } else { format!("{first}{name}{second}{rest}") }
    };
    let day = 24;
    let year = 365 * day;
    if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        pair(minutes, "m", seconds % 60, "s")
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        pair(hours, "h", minutes % 60, "m")
    } else if hours < 2 * day {
        format!("{hours}h")
    } else if hours < 8 * day {
        pair(hours / day, "d", hours % day, "h")
    } else if hours < 2 * year {
        format!("{}d", hours / day)
    } else if hours < 8 * year {
        pair(hours / year, "y", hours / day % 365, "d")
    } else {
        format!("{}y", hours / year)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_does() {
        for (text, nanos) in [
            ("1h2m3.5s", HOUR + 2 * MINUTE + 3_500_000_000),
            ("-1.5h", -(HOUR + 30 * MINUTE)),
            ("0", 0),
            ("1us", 1_000),
            ("100ns", 100),
            ("1.000000001s", 1_000_000_001),
        ] {
            assert_eq!(parse(text), Some(nanos), "{text}");
        }
        for text in ["", "1", "h", "1x", ".s", "9223372036854775808ns"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse_lenient("2 weeks"), Some(14 * DAY));
    }

    #[test]
    fn people_see_two_units() {
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (3600, "60m"),
            (4 * 3600 + 60, "4h1m"),
            (40 * 3600, "40h"),
            (50 * 3600, "2d2h"),
            (30 * 86_400, "30d"),
            (800 * 86_400, "2y70d"),
            (-5, "<invalid>"),
        ] {
            assert_eq!(human(seconds), text);
        }
    }
}
