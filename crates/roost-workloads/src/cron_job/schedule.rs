//! Schedules in the notation of cron: five fields, or a word such as `@daily`.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

/// How far a schedule is searched: what does not happen within this many days never happens.
const FARTHEST_DAYS: i32 = 5 * 366;

/// When something is to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// By the clock.
    Clock(Fields),
    /// Again and again after a while.
    Every(SignedDuration),
}

/// Which minutes, hours and days: a bit for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether all days of the month, or of the week, are meant: then only the other counts.
    any_day: bool,
    any_weekday: bool,
}

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Schedule {
    /// Reads a schedule; none when it cannot be read.
    pub fn parse(text: &str) -> Option<Schedule> {
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        if let Some(wait) = text.strip_prefix("@every ") {
            let wait: SignedDuration = wait.trim().parse().ok()?;
            return (wait >= SignedDuration::from_secs(1)).then_some(Schedule::Every(wait));
        }
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = parts.as_slice() else { return None };
        Some(Schedule::Clock(Fields {
            minutes: field(minutes, 0, 59, &[], 0)?,
            hours: field(hours, 0, 23, &[], 0)?,
            days: field(days, 1, 31, &[], 0)?,
            months: field(months, 1, 12, MONTHS, 1)?,
            weekdays: field(weekdays, 0, 6, WEEKDAYS, 0)?,
            any_day: matches!(days.chars().next(), Some('*' | '?')),
            any_weekday: matches!(weekdays.chars().next(), Some('*' | '?')),
        }))
    }

    /// The first time after a moment.
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Schedule::Every(wait) => Some(Timestamp::from_second((after + *wait).as_second()).ok()?),
            Schedule::Clock(fields) => {
                let mut date = after.to_zoned(zone.clone()).date();
                for _ in 0..FARTHEST_DAYS {
                    if fields.has_day(date) {
                        let mut times = fields.times();
                        if let Some(found) =
                            times.find_map(|time| moment(date, time, zone).filter(|time| *time > after))
                        {
                            return Some(found);
                        }
                    }
                    date = date.checked_add(1.day()).ok()?;
                }
                None
            }
        }
    }

    /// The last time after a moment and up to another.
    pub fn last(&self, after: Timestamp, until: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Schedule::Every(wait) => {
                let passed = until.duration_since(after).as_secs() / wait.as_secs().max(1);
                (passed > 0).then(|| after + SignedDuration::from_secs(passed * wait.as_secs()))
            }
            Schedule::Clock(fields) => {
                let mut date = until.to_zoned(zone.clone()).date();
                let first = after.to_zoned(zone.clone()).date();
                for _ in 0..FARTHEST_DAYS {
                    if date < first {
                        return None;
                    }
                    if fields.has_day(date) {
                        let times: Vec<Time> = fields.times().collect();
                        let found = times
                            .into_iter()
                            .rev()
                            .find_map(|time| moment(date, time, zone).filter(|time| *time > after && *time <= until));
                        if found.is_some() {
                            return found;
                        }
                    }
                    date = date.checked_sub(1.day()).ok()?;
                }
                None
            }
        }
    }
}

fn moment(date: Date, time: Time, zone: &TimeZone) -> Option<Timestamp> {
    let zoned = date.to_datetime(time).to_zoned(zone.clone()).ok()?;
    // A time that the clock skips does not happen.
    (zoned.time() == time).then(|| zoned.timestamp())
}

impl Fields {
    fn has_day(&self, date: Date) -> bool {
        if self.months & (1 << date.month()) == 0 {
            return false;
        }
        let day = self.days & (1 << date.day()) != 0;
        let weekday = self.weekdays & (1 << date.weekday().to_sunday_zero_offset()) != 0;
        if self.any_day || self.any_weekday { day && weekday } else { day || weekday }
    }

    fn times(&self) -> impl Iterator<Item = Time> {
        let hours = (0..24_i8).filter(|hour| self.hours & (1 << hour) != 0);
        hours.flat_map(|hour| {
            let minutes = (0..60_i8).filter(|minute| self.minutes & (1 << minute) != 0);
            minutes.map(move |minute| Time::constant(hour, minute, 0, 0))
        })
    }
}

/// The bits of one field.
fn field(text: &str, first: u32, last: u32, names: &[&str], offset: u32) -> Option<u64> {
    let number = |text: &str| {
        let named = names.iter().position(|name| text.eq_ignore_ascii_case(name)).map(|place| place as u32 + offset);
        named.or_else(|| text.parse::<u32>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())))
    };
    let mut bits = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<u32>().ok().filter(|step| *step > 0)?)),
            None => (part, None),
        };
        let (start, end) = match range {
            "*" | "?" => (first, last),
            _ => match range.split_once('-') {
                Some((start, end)) => (number(start)?, number(end)?),
                None if step.is_some() => (number(range)?, last),
                None => (number(range)?, number(range)?),
            },
        };
        if start < first || end > last || start > end {
            return None;
        }
        for value in (start..=end).step_by(step.unwrap_or(1) as usize) {
            bits |= 1 << value;
        }
    }
    Some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn schedules_come_when_they_say() {
        for (schedule, after, expected) in [
            ("*/15 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:15:00Z"),
            ("0 9 * * mon-fri", "2026-01-02T10:00:00Z", "2026-01-05T09:00:00Z"),
            ("30 4 1,15 * 5", "2026-01-01T05:00:00Z", "2026-01-02T04:30:00Z"),
            ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("@yearly", "2026-06-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            ("@every 1h30m", "2026-01-01T00:00:00Z", "2026-01-01T01:30:00Z"),
        ] {
            let parsed = Schedule::parse(schedule).expect("a schedule");
            assert_eq!(parsed.next(at(after), &TimeZone::UTC), Some(at(expected)), "{schedule}");
            assert_eq!(parsed.last(at(after), at(expected), &TimeZone::UTC), Some(at(expected)), "{schedule}");
        }
    }

    #[test]
    fn nonsense_is_no_schedule() {
        for text in [
            "",
            "* * * *",
            "60 * * * *",
            "* * 0 * *",
            "5-1 * * * *",
            "*/0 * * * *",
            "x * * * *",
            "@every 0s",
            "+1 * * * *",
        ] {
            assert_eq!(Schedule::parse(text), None, "{text}");
        }
        assert_eq!(
            Schedule::parse("0 0 31 2 *").expect("a schedule").next(at("2026-01-01T00:00:00Z"), &TimeZone::UTC),
            None
        );
    }
}
