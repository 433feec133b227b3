//! Instants and durations: RFC 3339 text as Go reads and writes it.

use std::cmp::Ordering;
use std::fmt;

/// Seconds and nanoseconds since 1970 in UTC. Instants compare by these alone.
#[derive(Clone, Copy, Debug)]
pub struct Instant {
    /// Whole seconds.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
    /// The offset from UTC in seconds at which the instant is written.
    pub offset: i64,
}

impl PartialEq for Instant {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Instant {}

impl PartialOrd for Instant {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Instant {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }
}

/// A date and time of day, without a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
    pub(crate) nanos: u32,
}

const SECONDS_PER_DAY: i64 = 86_400;

/// Days since 1970-01-01 of a date in the proleptic Gregorian calendar.
pub(crate) fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = i64::from((month + 9) % 12);
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = ((month_from_march + 2) % 12 + 1) as u32;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

impl Instant {
    /// An instant that is written in UTC.
    pub fn utc(seconds: i64, nanos: u32) -> Self {
        Self { seconds, nanos, offset: 0 }
    }

    pub(crate) fn from_civil(civil: Civil) -> Self {
        let seconds = days_from_civil(civil.year, civil.month, civil.day) * SECONDS_PER_DAY
            + i64::from(civil.hour) * 3600
            + i64::from(civil.minute) * 60
            + i64::from(civil.second);
        Self::utc(seconds, civil.nanos)
    }

    /// The date and time at an offset from UTC, in seconds.
    pub(crate) fn civil(self, offset: i64) -> Civil {
        let seconds = self.seconds + offset;
        let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
        let rest = seconds.rem_euclid(SECONDS_PER_DAY) as u32;
        Civil { year, month, day, hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60, nanos: self.nanos }
    }

    /// Days since 1970-01-01 at an offset from UTC.
    pub(crate) fn days(self, offset: i64) -> i64 {
        (self.seconds + offset).div_euclid(SECONDS_PER_DAY)
    }

    /// Reads RFC 3339 text. The error is worded as Go words it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut scan = Scan { text, rest: text };
        let year = scan.digits(4, "2006")?;
        scan.literal("-", "-")?;
        let month = scan.ranged(2, "01", 1..=12, "month")?;
        scan.literal("-", "-")?;
        let day = scan.digits(2, "02")?;
        scan.literal("T", "T")?;
        let hour = scan.ranged(2, "15", 0..=23, "hour")?;
        scan.literal(":", ":")?;
        let minute = scan.ranged(2, "04", 0..=59, "minute")?;
        scan.literal(":", ":")?;
        let second = scan.ranged(2, "05", 0..=59, "second")?;
        let nanos = scan.fraction();
        let offset = scan.zone()?;
        if !scan.rest.is_empty() {
            return Err(format!("parsing time {text:?}: extra text: {:?}", scan.rest));
        }
        if day < 1 || day > days_in_month(i64::from(year), month) {
            return Err(format!("parsing time {text:?}: day out of range"));
        }
        let civil = Civil { year: i64::from(year), month, day, hour, minute, second, nanos };
        let mut instant = Self::from_civil(civil);
        instant.seconds -= offset;
        instant.offset = offset;
        Ok(instant)
    }

    /// `2006-01-02T15:04:05Z`, without the fraction.
    pub(crate) fn to_seconds_text(self) -> String {
        Self::utc(self.seconds, 0).to_string()
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day, hour, minute, second, nanos } = self.civil(self.offset);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if nanos > 0 {
            let digits = format!("{nanos:09}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        let minutes = self.offset / 60;
        if minutes == 0 {
            return f.write_str("Z");
        }
        let sign = if minutes < 0 { '-' } else { '+' };
        write!(f, "{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
    }
}

/// Reads what the `date-time` format accepts: RFC 3339, or a local time without a zone, taken as UTC.
pub(crate) fn parse_date_time(text: &str) -> Result<Instant, String> {
    if text.is_empty() {
        return Ok(Instant::utc(0, 0));
    }
    Instant::parse(text).or_else(|words| Instant::parse(&format!("{text}Z")).map_err(|_| words))
}

/// Whether text is a full date such as `2006-01-02`.
pub(crate) fn parse_date(text: &str) -> Option<Instant> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let number = |from: usize, to: usize| -> Option<u32> {
        let part = text.get(from..to)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten()
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let valid = (1..=12).contains(&month) && day >= 1 && day <= days_in_month(i64::from(year), month);
    valid.then(|| {
        let civil = Civil { year: i64::from(year), month, day, hour: 0, minute: 0, second: 0, nanos: 0 };
        Instant::from_civil(civil)
    })
}

struct Scan<'a> {
    text: &'a str,
    rest: &'a str,
}

impl Scan<'_> {
    fn cannot(&self, at: &str, layout: &str) -> String {
        format!("parsing time {:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse {at:?} as {layout:?}", self.text)
    }

    fn digits(&mut self, count: usize, layout: &str) -> Result<u32, String> {
        let head = self.rest.get(..count).filter(|head| head.bytes().all(|byte| byte.is_ascii_digit()));
        let number = head.and_then(|head| head.parse().ok()).ok_or_else(|| self.cannot(self.rest, layout))?;
        self.rest = &self.rest[count..];
        Ok(number)
    }

    fn ranged(
        &mut self,
        count: usize,
        layout: &str,
        range: std::ops::RangeInclusive<u32>,
        name: &str,
    ) -> Result<u32, String> {
        let number = self.digits(count, layout)?;
        if range.contains(&number) {
            Ok(number)
        } else {
            Err(format!("parsing time {:?}: {name} out of range", self.text))
        }
    }

    fn literal(&mut self, literal: &str, layout: &str) -> Result<(), String> {
        self.rest = self.rest.strip_prefix(literal).ok_or_else(|| self.cannot(self.rest, layout))?;
        Ok(())
    }

    fn fraction(&mut self) -> u32 {
        let Some(after) = self.rest.strip_prefix(['.', ',']) else { return 0 };
        let length = after.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return 0;
        }
        let mut nanos = 0;
        for position in 0..9 {
            let digit = if position < length { after.as_bytes()[position] - b'0' } else { 0 };
            nanos = nanos * 10 + u32::from(digit);
        }
        self.rest = &after[length..];
        nanos
    }

    /// The offset from UTC in seconds.
    fn zone(&mut self) -> Result<i64, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let bytes = self.rest.as_bytes();
        let shaped = bytes.len() >= 6
            && matches!(bytes[0], b'+' | b'-')
            && bytes[3] == b':'
            && [1, 2, 4, 5].iter().all(|&index: &usize| bytes[index].is_ascii_digit());
        if !shaped {
            return Err(self.cannot(self.rest, "Z07:00"));
        }
        let digit = |index: usize| i64::from(bytes[index] - b'0');
        let (hours, minutes) = (digit(1) * 10 + digit(2), digit(4) * 10 + digit(5));
        if hours > 24 {
            return Err(format!("parsing time {:?}: time zone offset hour out of range", self.text));
        }
        if minutes > 60 {
            return Err(format!("parsing time {:?}: time zone offset minute out of range", self.text));
        }
        let offset = hours * 3600 + minutes * 60;
        let offset = if bytes[0] == b'-' { -offset } else { offset };
        self.rest = &self.rest[6..];
        Ok(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_and_written_as_go_does() {
        let cases = [
            ("2020-01-01T02:00:00.5+02:00", "2020-01-01T02:00:00.5+02:00"),
            ("2020-01-01T02:00:00-00:30", "2020-01-01T02:00:00-00:30"),
            ("2020-01-01T02:00:00+00:00", "2020-01-01T02:00:00Z"),
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
            ("2024-02-29T12:30:00Z", "2024-02-29T12:30:00Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(Instant::parse(text).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn errors_are_worded_as_go_words_them() {
        let cases = [
            ("abc", r#"parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc" as "2006""#),
            ("2020-13-01T00:00:00Z", r#"parsing time "2020-13-01T00:00:00Z": month out of range"#),
            ("2020-01-01", r#"parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T""#),
            (
                "2020-01-01T00:00:00",
                r#"parsing time "2020-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00""#,
            ),
            ("2023-02-29T00:00:00Z", r#"parsing time "2023-02-29T00:00:00Z": day out of range"#),
        ];
        for (text, expected) in cases {
            assert_eq!(Instant::parse(text).unwrap_err(), expected);
        }
    }
}
