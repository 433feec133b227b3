//! Reading quantities, with Go's ideas of what to round and what to keep as it was written.

use super::{Format, Quantity, QuantityError, divide_away_from_zero};

/// With more digits than this a number is no longer kept exactly; nothing measured in a cluster comes near.
const DIGITS_MAX: usize = 36;
/// The most digits an amount may have for its text to be kept as it was written.
const EXACT_DIGITS: i64 = 18;
/// Amounts are rounded up to this power of ten.
const NANO: i32 = -9;

/// The pieces of a written quantity.
struct Pieces<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

/// Reads a quantity.
pub(super) fn read(text: &str) -> Result<Quantity, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Format);
    }
    let pieces = split(text)?;
    let (base, exponent, format) = interpret_suffix(pieces.suffix).ok_or(QuantityError::Suffix)?;
    if base == 2 {
        return parse_binary(text, &pieces, exponent);
    }
    let digits = pieces.whole.len() + pieces.fraction.len();
    let scale = exponent.wrapping_sub(pieces.fraction.len() as i32);
    let (value, scale) = rounded_up_to_nano(pieces.whole, pieces.fraction, scale)?;
    let quick = digits as i64 <= EXACT_DIGITS && exponent.wrapping_sub(pieces.fraction.len() as i32) >= NANO;
    let ends_in_thousands = || {
        let mut digits = pieces.whole.bytes().chain(pieces.fraction.bytes()).rev();
        digits.by_ref().take(3).filter(|digit| *digit == b'0').count() == 3
    };
    let keeps_text = quick && scale % 3 == 0 && !pieces.whole.starts_with('0') && !ends_in_thousands() || text == "0";
    Ok(Quantity {
        value: if pieces.negative { -value } else { value },
        scale,
        format,
        text: keeps_text.then(|| text.into()),
    })
}

fn split(text: &str) -> Result<Pieces<'_>, QuantityError> {
    let negative = text.starts_with('-');
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let rest = rest.trim_start_matches('0');
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = rest.split_at(digits(rest));
    let whole = if whole.is_empty() { "0" } else { whole };
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    let exponent = suffix.trim_start_matches(['e', 'E', 'i', 'n', 'u', 'm', 'k', 'K', 'M', 'G', 'T', 'P']);
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    if exponent.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(Pieces { negative, whole, fraction, suffix })
    } else {
        Err(QuantityError::Format)
    }
}

fn interpret_suffix(suffix: &str) -> Option<(u8, i32, Format)> {
    Some(match suffix {
        "n" => (10, -9, Format::DecimalSi),
        "u" => (10, -6, Format::DecimalSi),
        "m" => (10, -3, Format::DecimalSi),
        "" => (10, 0, Format::DecimalSi),
        "k" => (10, 3, Format::DecimalSi),
        "M" => (10, 6, Format::DecimalSi),
        "G" => (10, 9, Format::DecimalSi),
        "T" => (10, 12, Format::DecimalSi),
        "P" => (10, 15, Format::DecimalSi),
        "E" => (10, 18, Format::DecimalSi),
        "Ki" => (2, 10, Format::BinarySi),
        "Mi" => (2, 20, Format::BinarySi),
        "Gi" => (2, 30, Format::BinarySi),
        "Ti" => (2, 40, Format::BinarySi),
        "Pi" => (2, 50, Format::BinarySi),
        "Ei" => (2, 60, Format::BinarySi),
        _ => {
            let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            // Stock cuts the exponent to 32 bits without a look.
            (10, exponent as i32, Format::DecimalExponent)
        }
    })
}

/// The digits as one number, with what is smaller than a nano rounded up.
fn rounded_up_to_nano(whole: &str, fraction: &str, scale: i32) -> Result<(i128, i32), QuantityError> {
    let dropped = usize::try_from(i64::from(NANO) - i64::from(scale)).unwrap_or(0);
    let total = whole.len() + fraction.len();
    let kept = total.saturating_sub(dropped);
    let digits = || whole.bytes().chain(fraction.bytes());
    let (kept, scale) = if kept > DIGITS_MAX && dropped == 0 {
        let trailing_zeros =
            fraction.bytes().rev().chain(whole.bytes().rev()).take_while(|digit| *digit == b'0').count();
        (kept - trailing_zeros, scale.saturating_add(trailing_zeros as i32))
    } else {
        (kept, scale)
    };
    let significant = digits().take(kept).skip_while(|digit| *digit == b'0').count();
    if significant > DIGITS_MAX {
        return Err(QuantityError::Number);
    }
    let mut value = digits().take(kept).fold(0_i128, |value, digit| value * 10 + i128::from(digit - b'0'));
    if dropped > 0 {
        if digits().skip(kept).any(|digit| digit != b'0') {
            value += 1;
        }
        return Ok((value, if value == 0 { 0 } else { NANO }));
    }
    Ok((value, scale))
}

fn parse_binary(text: &str, pieces: &Pieces<'_>, exponent: i32) -> Result<Quantity, QuantityError> {
    const MOST: i128 = i64::MAX as i128;
    /// Digits of the fraction that are looked at; what lies behind them only rounds up.
    const FRACTION_DIGITS: usize = 15;
    let sign = if pieces.negative { -1 } else { 1 };
    let unit = 1_i128 << exponent;
    let whole = if pieces.whole.len() > 19 {
        MOST + 1
    } else {
        pieces.whole.parse::<i128>().map_err(|_| QuantityError::Number)? * unit
    };
    let digits = pieces.whole.len() as i64;
    if pieces.fraction.is_empty() {
        let quick = digits + i64::from(exponent) * 3 / 10 < 15;
        let keeps_text = quick && (whole / unit) & 7 != 0;
        return Ok(Quantity {
            value: whole.min(MOST) * sign,
            scale: 0,
            format: Format::BinarySi,
            text: keeps_text.then(|| text.into()),
        });
    }
    if whole > MOST {
        return Ok(Quantity { value: MOST * sign, scale: 0, format: Format::BinarySi, text: None });
    }
    let shown = &pieces.fraction[..pieces.fraction.len().min(FRACTION_DIGITS)];
    let behind = pieces.fraction[shown.len()..].bytes().any(|digit| digit != b'0');
    let fraction: i128 =
        shown.parse::<i128>().unwrap_or(0) * 10_i128.pow((FRACTION_DIGITS - shown.len()) as u32) + i128::from(behind);
    let nanos = divide_away_from_zero(fraction * unit, FRACTION_DIGITS as i32 + NANO);
    let value = (whole * 1_000_000_000 + nanos).min(MOST * 1_000_000_000);
    let format = if value > 0 && value < 1_000_000_000 { Format::DecimalSi } else { Format::BinarySi };
    Ok(Quantity { value: value * sign, scale: NANO, format, text: None })
}
