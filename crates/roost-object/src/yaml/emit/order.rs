//! The order of keys: numbers in them count as numbers, and letters come after everything else.

use std::cmp::Ordering;

/// So many keys are put in order one by one.
const FEW: usize = 12;

/// Puts keys in order. The order goes in circles for some (`0x` before `1`, `1` before `09`, `09` before `0x`), which the
/// sorts of the standard library do not have to bear; this one ends with some order whatever they are.
pub(super) fn sort<T>(entries: &mut Vec<(&String, T)>) {
    if entries.len() > FEW {
        let mut rest = entries.split_off(entries.len() / 2);
        sort(entries);
        sort(&mut rest);
        let (mut left, mut right) = (std::mem::take(entries).into_iter().peekable(), rest.into_iter().peekable());
        while let (Some(first), Some(second)) = (left.peek(), right.peek()) {
            let next = if compare(second.0, first.0).is_lt() { right.next() } else { left.next() };
            entries.extend(next);
        }
        entries.extend(left.chain(right));
        return;
    }
    for end in 1..entries.len() {
        for at in (1..=end).rev() {
            if compare(entries[at].0, entries[at - 1].0).is_ge() {
                break;
            }
            entries.swap(at, at - 1);
        }
    }
}

/// Which of two keys comes first.
fn compare(left: &str, right: &str) -> Ordering {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let Some(at) = left.iter().zip(&right).position(|(left, right)| left != right) else {
        return left.len().cmp(&right.len());
    };
    let (first, second) = (left[at], right[at]);
    match (first.is_alphabetic(), second.is_alphabetic()) {
        (true, true) => return first.cmp(&second),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero that goes on with a number is worth something; one that begins it is not.
    let goes_on = (first == '0' || second == '0')
        && left[..at].iter().rev().take_while(|character| character.is_ascii_digit()).any(|digit| *digit != '0');
    let (first_number, second_number) = (number(&left[at..], goes_on), number(&right[at..], goes_on));
    first_number.cmp(&second_number).then(first.cmp(&second))
}

/// What digits are worth, in a form that compares, and how many there are.
fn number(characters: &[char], goes_on: bool) -> (usize, Vec<char>, usize) {
    let length = characters.iter().take_while(|character| character.is_ascii_digit()).count();
    let before = goes_on.then_some('1');
    let digits = before.into_iter().chain(characters[..length].iter().copied());
    let worth: Vec<char> = digits.skip_while(|digit| *digit == '0').collect();
    (worth.len(), worth, length)
}

#[cfg(test)]
mod tests {
    use super::{FEW, sort};

    fn sorted(keys: &[&str]) -> Vec<String> {
        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        let mut entries: Vec<_> = keys.iter().map(|key| (key, ())).collect();
        sort(&mut entries);
        entries.into_iter().map(|(key, ())| key.clone()).collect()
    }

    #[test]
    fn numbers_count_and_letters_come_last() {
        let wanted =
            ["", "-", "_", "0", "00", "1", "1-", "2", "10", "A", "a", "a-", "a0", "a1", "a01", "a9", "a10", "ab"];
        assert!(wanted.len() > FEW);
        let mut keys = wanted;
        keys.sort_unstable();
        assert_eq!(sorted(&keys), wanted);
    }

    #[test]
    fn an_order_in_circles_comes_to_an_end() {
        let keys = ["0x", "1", "09"].repeat(50);
        assert_eq!(sorted(&keys).len(), keys.len());
    }
}
