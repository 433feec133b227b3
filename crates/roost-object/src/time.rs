//! Points in time as objects write them: seconds in most fields, microseconds in leases and events.

use std::fmt::{self, Write as _};

const SECONDS_PER_DAY: i64 = 86_400;
/// After which the calendar repeats itself.
const YEARS_PER_ERA: i64 = 400;
const DAYS_PER_ERA: i64 = 146_097;
/// The first moment of year 1, which Go takes for "no time".
const GO_ZERO: i64 = -62_135_596_800;
const SECONDS_LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
const MICROS_LAYOUT: &str = "2006-01-02T15:04:05.000000Z07:00";

/// A point in time, with the whole range that RFC 3339 can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Seconds since 1970 began.
    pub seconds: i64,
    /// Nanoseconds on top of them.
    pub nanos: u32,
}

/// Why a text is no time, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parsing time {quoted}{complaint}")]
pub struct TimeError {
    quoted: String,
    complaint: String,
}

impl Timestamp {
    /// The value that Go takes for "no time" and writes as null.
    pub const ZERO: Timestamp = Timestamp { seconds: GO_ZERO, nanos: 0 };

    /// Whether this is Go's "no time".
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }

    /// Reads RFC 3339 with or without a fraction, as fields in seconds are read.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        Parser::new(text, SECONDS_LAYOUT).parse(false)
    }

    /// Reads RFC 3339 with exactly six digits of fraction, as fields in microseconds are read.
    pub fn parse_micros(text: &str) -> Result<Self, TimeError> {
        Parser::new(text, MICROS_LAYOUT).parse(true)
    }

    /// Reads what [`Timestamp::to_seconds`] wrote, of any year: RFC 3339 has four digits for it, and other encodings have no limit.
    pub fn parse_written(text: &str) -> Option<Self> {
        Self::of_any_year(text, "-01-02T15:04:05Z".len(), Self::parse)
    }

    /// Reads what [`Timestamp::to_micros`] wrote, of any year.
    pub fn parse_written_micros(text: &str) -> Option<Self> {
        Self::of_any_year(text, "-01-02T15:04:05.000000Z".len(), Self::parse_micros)
    }

    /// Reads the same day of a year with four digits; the calendar repeats itself after 400 years.
    fn of_any_year(text: &str, tail: usize, parse: fn(&str) -> Result<Self, TimeError>) -> Option<Self> {
        if let Ok(time) = parse(text) {
            return Some(time);
        }
        let (year, tail) = text.split_at_checked(text.len().checked_sub(tail)?)?;
        let year: i64 = year.parse().ok()?;
        let like = 2000 + year.rem_euclid(YEARS_PER_ERA);
        let time = parse(&format!("{like}{tail}")).ok()?;
        let eras = (i128::from(year) - i128::from(like)) / i128::from(YEARS_PER_ERA);
        let seconds = i128::from(time.seconds) + eras * i128::from(DAYS_PER_ERA * SECONDS_PER_DAY);
        Some(Self { seconds: i64::try_from(seconds).ok()?, ..time })
    }

    /// Writes `2026-01-02T03:04:05Z`.
    pub fn to_seconds(self) -> String {
        let mut text = String::with_capacity(20);
        self.write_civil(&mut text);
        text.push('Z');
        text
    }

    /// Writes `2026-01-02T03:04:05.000006Z`.
    pub fn to_micros(self) -> String {
        let mut text = String::with_capacity(27);
        self.write_civil(&mut text);
        let _ = write!(text, ".{:06}Z", self.nanos / 1000);
        text
    }

    fn write_civil(self, text: &mut String) {
        let (year, month, day) = civil_from_days(self.seconds.div_euclid(SECONDS_PER_DAY));
        let second = self.seconds.rem_euclid(SECONDS_PER_DAY);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let _ = write!(text, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    }
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(time: jiff::Timestamp) -> Self {
        let nanos = time.as_nanosecond();
        let second = i128::from(1_000_000_000);
        Self { seconds: nanos.div_euclid(second) as i64, nanos: nanos.rem_euclid(second) as u32 }
    }
}

impl From<Timestamp> for jiff::Timestamp {
    /// Times outside of what the clock type can hold become its first or last moment.
    fn from(time: Timestamp) -> Self {
        jiff::Timestamp::new(time.seconds, time.nanos as i32).unwrap_or(if time.seconds < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        })
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_seconds())
    }
}

/// Days since 1970 began, by shifting the year so that it begins in March and leap days come last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(YEARS_PER_ERA);
    let year_of_era = year.rem_euclid(YEARS_PER_ERA);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * YEARS_PER_ERA + i64::from(month <= 2), month, day)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Follows Go's layout step by step, because the complaint names the step.
struct Parser<'a> {
    text: &'a str,
    layout: &'static str,
    rest: &'a [u8],
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, layout: &'static str) -> Self {
        Self { text, layout, rest: text.as_bytes() }
    }

    fn parse(mut self, micros: bool) -> Result<Timestamp, TimeError> {
        let year = self.year()?;
        self.literal(b'-', "-")?;
        let month = self.number(true, "01", |month| (1..=12).contains(&month), "month")?;
        self.literal(b'-', "-")?;
        let day = self.number(true, "02", |_| true, "day")?;
        self.literal(b'T', "T")?;
        let hour = self.number(false, "15", |hour| hour < 24, "hour")?;
        self.literal(b':', ":")?;
        let minute = self.number(true, "04", |minute| minute < 60, "minute")?;
        self.literal(b':', ":")?;
        let second = self.number(true, "05", |second| second < 60, "second")?;
        let nanos = if micros { self.micros()? } else { self.optional_fraction() };
        let offset = self.offset()?;
        if !self.rest.is_empty() {
            let extra = quote(self.rest);
            return Err(self.complain(format!(": extra text: {extra}")));
        }
        if day < 1 || day > days_in_month(year, month) {
            return Err(self.out_of_range("day"));
        }
        let days = days_from_civil(year, month, day);
        Ok(Timestamp { seconds: days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - offset, nanos })
    }

    fn complain(&self, complaint: String) -> TimeError {
        TimeError { quoted: quote(self.text.as_bytes()), complaint }
    }

    fn out_of_range(&self, what: &str) -> TimeError {
        self.complain(format!(": {what} out of range"))
    }

    fn cannot_parse(&self, rest: &[u8], step: &str) -> TimeError {
        self.complain(format!(
            " as {}: cannot parse {} as {}",
            quote(self.layout.as_bytes()),
            quote(rest),
            quote(step.as_bytes())
        ))
    }

    fn digit(&self, index: usize) -> Option<i64> {
        self.rest.get(index).filter(|byte| byte.is_ascii_digit()).map(|byte| i64::from(byte - b'0'))
    }

    fn literal(&mut self, byte: u8, step: &str) -> Result<(), TimeError> {
        match self.rest.split_first() {
            Some((&first, rest)) if first == byte => {
                self.rest = rest;
                Ok(())
            }
            _ => Err(self.cannot_parse(self.rest, step)),
        }
    }

    fn year(&mut self) -> Result<i64, TimeError> {
        let mut year = 0;
        for index in 0..4 {
            let Some(digit) = self.digit(index) else { return Err(self.cannot_parse(self.rest, "2006")) };
            year = year * 10 + digit;
        }
        self.rest = &self.rest[4..];
        Ok(year)
    }

    fn number(
        &mut self,
        two_digits: bool,
        step: &str,
        in_range: impl Fn(i64) -> bool,
        what: &str,
    ) -> Result<i64, TimeError> {
        let (number, length) = match (self.digit(0), self.digit(1)) {
            (Some(tens), Some(ones)) => (tens * 10 + ones, 2),
            (Some(ones), None) if !two_digits => (ones, 1),
            _ => return Err(self.cannot_parse(self.rest, step)),
        };
        self.rest = &self.rest[length..];
        if in_range(number) { Ok(number) } else { Err(self.out_of_range(what)) }
    }

    fn optional_fraction(&mut self) -> u32 {
        if !matches!(self.rest.first(), Some(b'.' | b',')) || self.digit(1).is_none() {
            return 0;
        }
        let digits = self.rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let nanos = fraction(&self.rest[1..=digits]);
        self.rest = &self.rest[digits + 1..];
        nanos
    }

    fn micros(&mut self) -> Result<u32, TimeError> {
        const STEP: &str = ".000000";
        if self.rest.len() < STEP.len() {
            return Err(self.cannot_parse(self.rest, STEP));
        }
        let (step, rest) = self.rest.split_at(STEP.len());
        self.rest = rest;
        if !matches!(step[0], b'.' | b',') || !step[1..].iter().all(u8::is_ascii_digit) {
            return Err(self.cannot_parse(self.rest, STEP));
        }
        Ok(fraction(&step[1..]))
    }

    fn offset(&mut self) -> Result<i64, TimeError> {
        const STEP: &str = "Z07:00";
        if self.rest.first() == Some(&b'Z') {
            self.rest = &self.rest[1..];
            return Ok(0);
        }
        if self.rest.len() < 6 || self.rest[3] != b':' {
            return Err(self.cannot_parse(self.rest, STEP));
        }
        let pair = |at: usize| Some(self.digit(at)? * 10 + self.digit(at + 1)?);
        let (hour, minute) = (pair(1), pair(4));
        let sign = self.rest[0];
        self.rest = &self.rest[6..];
        if hour.is_some_and(|hour| hour > 24) {
            return Err(self.out_of_range("time zone offset hour"));
        }
        if hour.is_some() && minute.is_some_and(|minute| minute > 60) {
            return Err(self.out_of_range("time zone offset minute"));
        }
        match (sign, hour, minute) {
            (b'+', Some(hour), Some(minute)) => Ok(hour * 3600 + minute * 60),
            (b'-', Some(hour), Some(minute)) => Ok(-(hour * 3600 + minute * 60)),
            _ => Err(self.cannot_parse(self.rest, STEP)),
        }
    }
}

/// The first nine digits after the point, in nanoseconds.
fn fraction(digits: &[u8]) -> u32 {
    (0..9).fold(0, |nanos, index| nanos * 10 + digits.get(index).map_or(0, |digit| u32::from(digit - b'0')))
}

/// Quotes as Go's time package does, which knows no Unicode.
fn quote(bytes: &[u8]) -> String {
    let mut quoted = String::with_capacity(bytes.len() + 2);
    quoted.push('"');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            b' '..=0x7f => quoted.push(char::from(byte)),
            _ => {
                let _ = write!(quoted, "\\x{byte:02x}");
            }
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again_whatever_the_year() {
        let days = [-1_000_000_000_000, -800_000, -719_529, -719_528, 0, 2_932_896, 2_932_897, 50_954_000_000_000];
        let seconds = days.map(|day: i64| day * SECONDS_PER_DAY + 12_345);
        for seconds in seconds.into_iter().chain([i64::MIN, i64::MAX]) {
            let time = Timestamp { seconds, nanos: 6_000 };
            assert_eq!(Timestamp::parse_written_micros(&time.to_micros()), Some(time), "{}", time.to_micros());
            let time = Timestamp { seconds, nanos: 0 };
            assert_eq!(Timestamp::parse_written(&time.to_seconds()), Some(time), "{time}");
        }
        assert_eq!(Timestamp::parse_written("soon"), None);
        assert_eq!(Timestamp::parse_written("9223372036854775807-01-01T00:00:00Z"), None);
        assert_eq!(Timestamp::parse_written("-9223372036854775808-01-01T00:00:00Z"), None);
        assert_eq!(Timestamp::parse_written("99999-13-01T00:00:00Z"), None);
    }

    #[test]
    fn times_are_read_and_written_as_go_does() {
        let cases = [
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05.999Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05,5+02:00", "2026-01-02T01:04:05Z"),
            ("2026-01-02T3:04:05-01:30", "2026-01-02T04:34:05Z"),
            ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
            ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(Timestamp::parse(text).unwrap().to_seconds(), expected, "{text}");
        }
        assert!(Timestamp::parse("0001-01-01T00:00:00Z").unwrap().is_zero());
        let micros = Timestamp::parse_micros("2026-01-02T03:04:05.000006+00:00").unwrap();
        assert_eq!(micros.to_micros(), "2026-01-02T03:04:05.000006Z");
        assert_eq!(micros.to_seconds(), "2026-01-02T03:04:05Z");
    }

    #[test]
    fn complaints_are_worded_as_go_words_them() {
        let cases = [
            ("abc", r#"parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc" as "2006""#),
            ("", r#"parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006""#),
            ("2026-13-01T00:00:00Z", r#"parsing time "2026-13-01T00:00:00Z": month out of range"#),
            ("2026-02-30T00:00:00Z", r#"parsing time "2026-02-30T00:00:00Z": day out of range"#),
            ("2026-01-01T25:00:00Z", r#"parsing time "2026-01-01T25:00:00Z": hour out of range"#),
            ("2026-01-01T00:00:00Zx", r#"parsing time "2026-01-01T00:00:00Zx": extra text: "x""#),
            (
                "2026-01-01 00:00:00Z",
                r#"parsing time "2026-01-01 00:00:00Z" as "2006-01-02T15:04:05Z07:00": cannot parse " 00:00:00Z" as "T""#,
            ),
            (
                "2026-01-01T00:00:00",
                r#"parsing time "2026-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00""#,
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(Timestamp::parse(text).unwrap_err().to_string(), expected);
        }
        assert_eq!(
            Timestamp::parse_micros("2026-01-01T00:00:00Z").unwrap_err().to_string(),
            r#"parsing time "2026-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#
        );
    }

    #[test]
    fn clock_times_convert_both_ways() {
        let clock: jiff::Timestamp = "2026-01-02T03:04:05.5Z".parse().unwrap();
        let time = Timestamp::from(clock);
        assert_eq!((time.to_seconds().as_str(), time.nanos), ("2026-01-02T03:04:05Z", 500_000_000));
        assert_eq!(jiff::Timestamp::from(time), clock);
    }
}
