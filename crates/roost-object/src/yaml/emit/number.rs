//! Numbers as Go writes them after they have been read from JSON text.

use serde_json::Number;

/// The least power of ten that is written with an exponent.
const LARGEST_PLAIN_EXPONENT: i32 = 6;

/// The digits of a number: whole where it fits into 64 bits, else the fewest that read back as the same.
pub(super) fn text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => {
            let is_whole = float.fract() == 0.0 && float >= i64::MIN as f64 && float < u64::MAX as f64;
            if is_whole { (float as i128).to_string() } else { shortest(float) }
        }
        _ => number.to_string(),
    }
}

fn shortest(float: f64) -> String {
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..LARGEST_PLAIN_EXPONENT).contains(&exponent) {
        return float.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn numbers_look_as_go_writes_them() {
        let cases = [
            (json!(1.5), "1.5"),
            (json!(1_234_567.5), "1.2345675e+06"),
            (json!(0.000_012_5), "1.25e-05"),
            (json!(1e20), "1e+20"),
            (json!(100.0), "100"),
            (json!(-3), "-3"),
            (json!(u64::MAX), "18446744073709551615"),
        ];
        for (number, wanted) in cases {
            assert_eq!(super::text(number.as_number().unwrap()), wanted);
        }
    }
}
