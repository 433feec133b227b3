//! Amounts of resources such as `100m`, `1.5Gi` or `12e6`: read, compared, summed, and printed as Go prints them.

mod parse;

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

/// Why a text is not a quantity, in the words of the stock server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text does not look like a number with a suffix.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// The number is too long.
    #[error("unable to parse numeric part of quantity")]
    Number,
    /// Nobody knows that suffix.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// The family of suffixes an amount was written in, which it is printed in again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `12e6`.
    DecimalExponent,
    /// `12Mi`.
    BinarySi,
    /// `12M`.
    DecimalSi,
}

/// An amount of a resource: `value` times ten to the power of `scale`.
#[derive(Clone, Debug)]
pub struct Quantity {
    value: i128,
    scale: i32,
    format: Format,
    /// How it was written, where Go keeps that instead of the canonical form.
    text: Option<Box<str>>,
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Quantity = Quantity { value: 0, scale: 0, format: Format::DecimalSi, text: None };

    /// A whole number.
    pub fn new(value: i64, format: Format) -> Self {
        Self { value: value.into(), scale: 0, format, text: None }
    }

    /// Reads a quantity.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        parse::read(text)
    }

    /// Reads a quantity from a JSON string or number; null is zero.
    pub fn from_value(value: &Value) -> Result<Self, QuantityError> {
        match value {
            Value::Null => Ok(Self::ZERO),
            Value::String(text) => Self::parse(text.trim()),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => Err(QuantityError::Format),
        }
    }

    /// The family of suffixes it prints in.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        self.value == 0
    }

    /// Whether it is less than nothing.
    pub fn is_negative(&self) -> bool {
        self.value < 0
    }

    /// Whether it has no part behind the decimal point.
    pub fn is_whole(&self) -> bool {
        self.scale >= 0 || power_of_ten(-self.scale).is_none_or(|unit| self.value % unit == 0)
    }

    /// The amount in whole units, rounded away from zero, held within 64 bits.
    pub fn value(&self) -> i64 {
        self.scaled(0)
    }

    /// The amount in thousandths, rounded away from zero, held within 64 bits.
    pub fn milli_value(&self) -> i64 {
        self.scaled(-3)
    }

    fn scaled(&self, scale: i32) -> i64 {
        let value = if self.scale < scale {
            divide_away_from_zero(self.value, scale.saturating_sub(self.scale))
        } else {
            raise(self.value, self.scale.saturating_sub(scale)).unwrap_or(i128::MAX * self.value.signum())
        };
        value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// Rounds away from zero to thousandths, as the API does with all resource lists.
    pub fn round_up_to_milli(&mut self) {
        if self.scale < -3 {
            self.value = divide_away_from_zero(self.value, -3 - self.scale);
            self.scale = -3;
            self.text = None;
        }
    }

    /// Adds another amount. Nothing takes on the format of what is added to it.
    pub fn add(&mut self, other: &Quantity) {
        self.combine(other, other.value);
    }

    /// Takes another amount away.
    pub fn sub(&mut self, other: &Quantity) {
        self.combine(other, -other.value);
    }

    fn combine(&mut self, other: &Quantity, value: i128) {
        self.text = None;
        if self.value == 0 {
            self.format = other.format;
        }
        if value == 0 {
            return;
        }
        if self.value == 0 {
            (self.value, self.scale) = (value, other.scale);
            return;
        }
        let scale = self.scale.min(other.scale);
        let mine = raise(self.value, self.scale.saturating_sub(scale));
        let theirs = raise(value, other.scale.saturating_sub(scale));
        match (mine, theirs) {
            (Some(mine), Some(theirs)) => (self.value, self.scale) = (mine.saturating_add(theirs), scale),
            // One is so much larger that the other does not show in it.
            (Some(_), None) => (self.value, self.scale) = (value, other.scale),
            _ => {}
        }
    }

    /// The canonical form: the largest suffix that leaves a whole number.
    fn canonical(&self) -> String {
        if self.value == 0 {
            return "0".to_owned();
        }
        if self.format == Format::BinarySi && self.is_whole() {
            let whole = if self.scale < 0 {
                Some(divide_away_from_zero(self.value, -self.scale))
            } else {
                raise(self.value, self.scale)
            };
            if let Some(mut whole) = whole.filter(|whole| whole.unsigned_abs() >= 1024) {
                let mut exponent = 0;
                while whole.unsigned_abs() >= 1024 && whole % 1024 == 0 {
                    whole /= 1024;
                    exponent += 1;
                }
                let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(exponent).copied().unwrap_or_default();
                return format!("{whole}{suffix}");
            }
        }
        let (mut number, mut exponent) = (self.value, i64::from(self.scale));
        while number % 10 == 0 {
            number /= 10;
            exponent += 1;
        }
        while exponent % 3 != 0 {
            number = number.saturating_mul(10);
            exponent -= 1;
        }
        match (self.format, exponent) {
            (Format::DecimalExponent, 0) => number.to_string(),
            (Format::DecimalExponent, _) => format!("{number}e{exponent}"),
            _ => {
                // Beyond exa there is no suffix, and stock prints none.
                let suffix = match exponent {
                    -9 => "n",
                    -6 => "u",
                    -3 => "m",
                    3 => "k",
                    6 => "M",
                    9 => "G",
                    12 => "T",
                    15 => "P",
                    18 => "E",
                    _ => "",
                };
                format!("{number}{suffix}")
            }
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => f.write_str(&self.canonical()),
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        let signs = self.value.signum().cmp(&other.value.signum());
        if signs != Ordering::Equal || self.value == 0 {
            return signs;
        }
        let magnitude =
            |quantity: &Quantity| i64::from(quantity.value.unsigned_abs().ilog10()) + i64::from(quantity.scale);
        let magnitudes = magnitude(self).cmp(&magnitude(other));
        if magnitudes != Ordering::Equal {
            return if self.value > 0 { magnitudes } else { magnitudes.reverse() };
        }
        let scale = self.scale.min(other.scale);
        let aligned = |quantity: &Quantity| {
            raise(quantity.value, quantity.scale.saturating_sub(scale)).unwrap_or(i128::MAX * quantity.value.signum())
        };
        aligned(self).cmp(&aligned(other))
    }
}

fn power_of_ten(exponent: i32) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(exponent).ok()?)
}

fn raise(value: i128, exponent: i32) -> Option<i128> {
    value.checked_mul(power_of_ten(exponent)?)
}

fn divide_away_from_zero(value: i128, exponent: i32) -> i128 {
    match power_of_ten(exponent) {
        Some(unit) if value % unit == 0 => value / unit,
        Some(unit) => value / unit + value.signum(),
        None => value.signum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_go_prints() {
        for (text, printed) in [
            ("0", "0"),
            ("000", "0"),
            ("-", "0"),
            ("0Mi", "0"),
            ("1", "1"),
            ("+1", "+1"),
            ("0.5", "500m"),
            ("1.5", "1500m"),
            ("1.500", "1.500"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("1000", "1k"),
            ("1024", "1024"),
            ("1024Ki", "1Mi"),
            ("1025Ki", "1025Ki"),
            ("512Mi", "512Mi"),
            ("1Ei", "1Ei"),
            ("8Ei", "9223372036854775807"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("0.0001Ki", "102400u"),
            ("12e6", "12e6"),
            ("1e7", "10e6"),
            ("12E6", "12E6"),
            ("1E", "1E"),
            ("1000E", "1"),
            ("0.0000000001", "1n"),
            ("-0.0000000001", "-1n"),
            ("1.0000000001", "1000000001n"),
            ("100000000000000000000", "100E"),
            ("9223372036854775808", "9223372036854775808"),
            ("1n", "1n"),
            ("0.1n", "1n"),
            ("01Ki", "01Ki"),
            ("-5Gi", "-5Gi"),
        ] {
            assert_eq!(Quantity::parse(text).expect(text).to_string(), printed, "{text}");
        }
    }

    #[test]
    fn refuses_what_go_refuses() {
        for (text, error) in [
            ("", QuantityError::Format),
            ("a", QuantityError::Format),
            ("1.2.3", QuantityError::Format),
            ("1x", QuantityError::Format),
            ("1Kii", QuantityError::Suffix),
            ("1K", QuantityError::Suffix),
            ("1e", QuantityError::Suffix),
            ("1 Mi", QuantityError::Format),
            ("1mi", QuantityError::Suffix),
        ] {
            assert_eq!(Quantity::parse(text).expect_err(text), error, "{text}");
        }
    }

    #[test]
    fn compares_and_sums_across_formats() {
        let parse = |text| Quantity::parse(text).expect("a quantity");
        assert_eq!(parse("1"), parse("1000m"));
        assert!(parse("1Gi") > parse("1G"));
        assert!(parse("-1") < parse("1n"));
        assert!(parse("1e2000000000") > parse("1Ei"));
        assert!(parse("-1e100") < parse("-1"));
        let mut sum = parse("100m");
        sum.add(&parse("1"));
        assert_eq!(sum.to_string(), "1100m");
        let mut sum = Quantity::ZERO;
        sum.add(&parse("512Mi"));
        sum.add(&parse("512Mi"));
        assert_eq!(sum.to_string(), "1Gi");
        sum.sub(&parse("1Gi"));
        assert!(sum.is_zero());
        let mut small = parse("1u");
        small.round_up_to_milli();
        assert_eq!(small.to_string(), "1m");
        assert_eq!((parse("1500m").value(), parse("1.5Ki").milli_value()), (2, 1_536_000));
    }
}
