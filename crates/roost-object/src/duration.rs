//! Lengths of time as Go writes them, such as `1h30m`.

use std::time::Duration;

use crate::field::quote;

/// The units and what they are in nanoseconds.
const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The longest that Go can count, in nanoseconds.
const LONGEST: u128 = i64::MAX as u128;

/// The digits of a fraction that can matter.
const FRACTION_DIGITS: usize = 18;

/// A length of time and whether it is negative, or what is wrong with the text in the words of Go's library.
pub fn parse(text: &str) -> Result<(bool, Duration), String> {
    let invalid = || format!("time: invalid duration {}", quote(text));
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return Ok((negative, Duration::ZERO));
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut nanoseconds = 0_u128;
    while !rest.is_empty() {
        let whole = leading_digits(rest);
        rest = &rest[whole.len()..];
        let fraction = rest.strip_prefix('.').map(leading_digits);
        if whole.is_empty() && fraction.is_none_or(str::is_empty) {
            return Err(invalid());
        }
        rest = fraction.map_or(rest, |fraction| &rest[1 + fraction.len()..]);
        let length = rest.bytes().take_while(|byte| *byte != b'.' && !byte.is_ascii_digit()).count();
        let (unit, after) = rest.split_at(length);
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {}", quote(text)));
        }
        let Some((_, worth)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(format!("time: unknown unit {} in duration {}", quote(unit), quote(text)));
        };
        let number = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<u64>().ok() };
        let whole = number(whole).ok_or_else(invalid)?;
        nanoseconds += u128::from(whole) * worth;
        if let Some(fraction) = fraction {
            let digits = &fraction[..fraction.len().min(FRACTION_DIGITS)];
            let part = number(digits).ok_or_else(invalid)?;
            nanoseconds += u128::from(part) * worth / 10_u128.pow(u32::try_from(digits.len()).unwrap_or_default());
        }
        if nanoseconds > LONGEST {
            return Err(invalid());
        }
        rest = after;
    }
    Ok((negative, Duration::from_nanos(u64::try_from(nanoseconds).map_err(|_| invalid())?)))
}

fn leading_digits(text: &str) -> &str {
    &text[..text.bytes().take_while(u8::is_ascii_digit).count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, milliseconds) in
            [("0", 0), ("1s", 1000), ("1h30m", 5_400_000), ("1.5s", 1500), (".5s", 500), ("+2ms", 2)]
        {
            assert_eq!(parse(text), Ok((false, Duration::from_millis(milliseconds))), "{text}");
        }
        assert_eq!(parse("-1m"), Ok((true, Duration::from_mins(1))));
        for (text, words) in [
            ("", r#"time: invalid duration """#),
            ("abc", r#"time: invalid duration "abc""#),
            (".s", r#"time: invalid duration ".s""#),
            ("5", r#"time: missing unit in duration "5""#),
            ("5x", r#"time: unknown unit "x" in duration "5x""#),
            ("99999999999h", r#"time: invalid duration "99999999999h""#),
        ] {
            assert_eq!(parse(text), Err(words.to_owned()), "{text}");
        }
    }
}
