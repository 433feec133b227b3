//! Sets of indexes of an indexed job, written as `1,3-5,7`.

/// Reads one interval; both ends are included.
fn parse_interval(text: &str, completions: i64) -> Result<(i64, i64), String> {
    let parse = |text: &str| -> Result<i64, String> {
        let quoted = roost_object::field::quote(text);
        let index: i64 = text.parse().map_err(|_| format!("cannot convert string to integer for index: {quoted}"))?;
        if index >= completions { Err(format!("too large index: {quoted}")) } else { Ok(index) }
    };
    match text.split('-').collect::<Vec<_>>()[..] {
        [only] => parse(only).map(|index| (index, index)),
        [first, last] => {
            let (first, last) = (parse(first)?, parse(last)?);
            if first >= last {
                return Err(format!("non-increasing order, previous: {first}, current: {last}"));
            }
            Ok((first, last))
        }
        _ => {
            let quoted = roost_object::field::quote(text);
            Err(format!(
                "the fragment {quoted} violates the requirement that an index interval can have at most two parts separated by '-'"
            ))
        }
    }
}

/// Checks the set, and tells how many indexes are in it.
pub(super) fn count(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let mut total = 0;
    let mut previous = None;
    for interval in text.split(',') {
        let (first, last) = parse_interval(interval, completions)?;
        if let Some(previous) = previous.filter(|previous| *previous >= first) {
            return Err(format!("non-increasing order, previous: {previous}, current: {first}"));
        }
        total += last - first + 1;
        previous = Some(last);
    }
    Ok(total)
}

/// The first index that is in both sets. Intervals that cannot be read are skipped.
pub(super) fn overlap(one: &str, other: &str, completions: i64) -> Option<i64> {
    let intervals = |text: &str| -> Vec<(i64, i64)> {
        text.split(',').filter_map(|interval| parse_interval(interval, completions).ok()).collect()
    };
    if one.is_empty() || other.is_empty() {
        return None;
    }
    let (ones, others) = (intervals(one), intervals(other));
    let (mut i, mut j) = (0, 0);
    while let (Some((first, last)), Some((other_first, other_last))) = (ones.get(i), others.get(j)) {
        if first <= other_last && other_first <= last {
            return Some(*first.max(other_first));
        }
        if first <= other_first {
            i += 1;
        } else {
            j += 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_ordered_and_bounded() {
        assert_eq!(count("0,2-4", 5), Ok(4));
        assert_eq!(count("3,1", 5), Err("non-increasing order, previous: 3, current: 1".to_owned()));
        assert_eq!(count("5", 5), Err(r#"too large index: "5""#.to_owned()));
        assert_eq!(count("a", 5), Err(r#"cannot convert string to integer for index: "a""#.to_owned()));
        assert_eq!(overlap("1,3-5", "2,4", 9), Some(4));
        assert_eq!(overlap("1", "2", 9), None);
    }
}
