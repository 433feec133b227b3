//! Durations as people read them, and the times they are counted from.

/// A duration with two or three significant figures: `5m30s`, `2d4h`, `3y12d`.
pub fn human(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    // Clocks differ a little between machines, so a second in the future still counts as now.
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        _ if seconds < 2 * MINUTE => format!("{seconds}s"),
        _ if seconds < 10 * MINUTE => two(seconds, (MINUTE, 'm'), (1, 's')),
        _ if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        _ if seconds < 8 * HOUR => two(seconds, (HOUR, 'h'), (MINUTE, 'm')),
        _ if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        _ if seconds < 8 * DAY => two(seconds, (DAY, 'd'), (HOUR, 'h')),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => two(seconds, (YEAR, 'y'), (DAY, 'd')),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// A duration with one figure: `5m`, `2d`, `3y`. Printer columns of type date show it.
pub fn short(seconds: i64) -> String {
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        86_400..31_536_000 => format!("{}d", seconds / 86_400),
        _ => format!("{}y", seconds / 31_536_000),
    }
}

/// How long ago a time in RFC 3339 was; `<unknown>` for no time at all.
pub fn since(time: &str, now: i64) -> String {
    match unix_seconds(time) {
        Some(then) => human(now.saturating_sub(then)),
        None => "<unknown>".to_owned(),
    }
}

/// Reads a time in RFC 3339, with or without a fraction, which is dropped.
pub fn unix_seconds(time: &str) -> Option<i64> {
    let (date, rest) = time.split_once(['T', 't'])?;
    let mut parts = date.splitn(3, '-').map(digits);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year > 9999 {
        return None;
    }
    let zone = rest.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = rest.split_at(zone);
    let clock = clock.split_once('.').map_or(clock, |(whole, _)| whole);
    let mut parts = clock.splitn(3, ':').map(digits);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let offset = if zone.eq_ignore_ascii_case("z") {
        0
    } else {
        let (hours, minutes) = zone[1..].split_once(':')?;
        let offset = digits(hours)? * 3_600 + digits(minutes)? * 60;
        if zone.starts_with('-') { -offset } else { offset }
    };
    Some(days_since_epoch(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset)
}

fn two(seconds: i64, (big, big_unit): (i64, char), (small, small_unit): (i64, char)) -> String {
    match seconds % big / small {
        0 => format!("{}{big_unit}", seconds / big),
        rest => format!("{}{big_unit}{rest}{small_unit}", seconds / big),
    }
}

fn digits(text: &str) -> Option<i64> {
    let short = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if short { text.parse().ok() } else { None }
}

/// Counts days in the Gregorian calendar, with years that start in March so that the leap day comes last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_or_three_figures() {
        for (seconds, expected) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (14_460, "4h1m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            assert_eq!(human(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn short_durations_have_one_figure() {
        for (seconds, expected) in
            [(-5, "<invalid>"), (59, "59s"), (60, "1m"), (7_200, "2h"), (90_000, "1d"), (31_536_000, "1y")]
        {
            assert_eq!(short(seconds), expected);
        }
    }

    #[test]
    fn times_are_read_in_any_zone() {
        assert_eq!(unix_seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(unix_seconds("2024-02-29T12:00:00.123456Z"), Some(1_709_208_000));
        assert_eq!(unix_seconds("2024-02-29T13:00:00+01:00"), Some(1_709_208_000));
        for bad in ["", "yesterday", "2024-13-01T00:00:00Z", "2024-01-01T00:00Z", "T", "2024-01-01T00:00:00+é"] {
            assert_eq!(unix_seconds(bad), None, "{bad}");
        }
    }
}
