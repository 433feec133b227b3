//! Differences between texts, line by line, as Python's difflib and its port to Go find and print them.

use std::collections::HashMap;
use std::fmt::Write as _;

/// Lines shown around a difference.
const CONTEXT: usize = 3;
/// From this many lines on, lines that occur very often are no longer used to align the texts.
const POPULAR_FROM: usize = 200;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tag {
    Equal,
    Replace,
    Delete,
    Insert,
}

/// How a stretch of the old lines becomes a stretch of the new ones.
#[derive(Clone, Copy)]
struct Step {
    tag: Tag,
    old: (usize, usize),
    new: (usize, usize),
}

/// A unified diff of two texts, without a header.
pub(crate) fn diff(old: &str, new: &str) -> String {
    let old: Vec<&str> = old.split('\n').collect();
    let new: Vec<&str> = new.split('\n').collect();
    let mut text = String::new();
    for group in groups(steps(&old, &new)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let range = |from: usize, to: usize| match to - from {
            1 => format!("{}", from + 1),
            0 => format!("{from},0"),
            length => format!("{},{length}", from + 1),
        };
        let _ = writeln!(text, "@@ -{} +{} @@", range(first.old.0, last.old.1), range(first.new.0, last.new.1));
        for step in group {
            let mut lines = |mark: char, lines: &[&str]| {
                for line in lines {
                    let _ = writeln!(text, "{mark}{line}");
                }
            };
            if step.tag == Tag::Equal {
                lines(' ', &old[step.old.0..step.old.1]);
                continue;
            }
            if step.tag != Tag::Insert {
                lines('-', &old[step.old.0..step.old.1]);
            }
            if step.tag != Tag::Delete {
                lines('+', &new[step.new.0..step.new.1]);
            }
        }
    }
    text
}

/// Finds the longest run of equal lines within bounds, the earliest if there are several.
fn longest_match(
    old: &[&str],
    new: &[&str],
    positions: &HashMap<&str, Vec<usize>>,
    (old_low, old_high): (usize, usize),
    (new_low, new_high): (usize, usize),
) -> (usize, usize, usize) {
    let (mut best_old, mut best_new, mut best) = (old_low, new_low, 0);
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for (index, line) in old.iter().enumerate().take(old_high).skip(old_low) {
        let mut extended = HashMap::new();
        for position in positions.get(line).into_iter().flatten().copied() {
            if position < new_low {
                continue;
            }
            if position >= new_high {
                break;
            }
            let length = position.checked_sub(1).and_then(|before| lengths.get(&before)).copied().unwrap_or(0) + 1;
            extended.insert(position, length);
            if length > best {
                (best_old, best_new, best) = (index + 1 - length, position + 1 - length, length);
            }
        }
        lengths = extended;
    }
    while best_old > old_low && best_new > new_low && old[best_old - 1] == new[best_new - 1] {
        (best_old, best_new, best) = (best_old - 1, best_new - 1, best + 1);
    }
    while best_old + best < old_high && best_new + best < new_high && old[best_old + best] == new[best_new + best] {
        best += 1;
    }
    (best_old, best_new, best)
}

fn steps(old: &[&str], new: &[&str]) -> Vec<Step> {
    let mut positions: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in new.iter().enumerate() {
        positions.entry(line).or_default().push(index);
    }
    if new.len() >= POPULAR_FROM {
        let limit = new.len() / 100 + 1;
        positions.retain(|_, found| found.len() <= limit);
    }
    let mut blocks = Vec::new();
    let mut pending = vec![((0, old.len()), (0, new.len()))];
    while let Some((in_old, in_new)) = pending.pop() {
        let (at_old, at_new, length) = longest_match(old, new, &positions, in_old, in_new);
        if length == 0 {
            continue;
        }
        blocks.push((at_old, at_new, length));
        if in_old.0 < at_old && in_new.0 < at_new {
            pending.push(((in_old.0, at_old), (in_new.0, at_new)));
        }
        if at_old + length < in_old.1 && at_new + length < in_new.1 {
            pending.push(((at_old + length, in_old.1), (at_new + length, in_new.1)));
        }
    }
    blocks.sort_unstable();
    blocks.push((old.len(), new.len(), 0));
    let mut steps: Vec<Step> = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (at_old, at_new, length) in blocks {
        let tag = match (i < at_old, j < at_new) {
            (true, true) => Some(Tag::Replace),
            (true, false) => Some(Tag::Delete),
            (false, true) => Some(Tag::Insert),
            (false, false) => None,
        };
        if let Some(tag) = tag {
            steps.push(Step { tag, old: (i, at_old), new: (j, at_new) });
        }
        (i, j) = (at_old + length, at_new + length);
        if length > 0 {
            match steps.last_mut() {
                // Blocks that touch are one.
                Some(last) if last.tag == Tag::Equal && tag.is_none() => {
                    (last.old.1, last.new.1) = (i, j);
                }
                _ => steps.push(Step { tag: Tag::Equal, old: (at_old, i), new: (at_new, j) }),
            }
        }
    }
    steps
}

/// Gathers the differences that lie close together, with some equal lines around.
fn groups(mut steps: Vec<Step>) -> Vec<Vec<Step>> {
    let trim_front = |step: &mut Step| {
        step.old.0 = step.old.0.max(step.old.1.saturating_sub(CONTEXT));
        step.new.0 = step.new.0.max(step.new.1.saturating_sub(CONTEXT));
    };
    let trim_back = |step: &mut Step| {
        step.old.1 = step.old.1.min(step.old.0 + CONTEXT);
        step.new.1 = step.new.1.min(step.new.0 + CONTEXT);
    };
    if let Some(first) = steps.first_mut().filter(|step| step.tag == Tag::Equal) {
        trim_front(first);
    }
    if let Some(last) = steps.last_mut().filter(|step| step.tag == Tag::Equal) {
        trim_back(last);
    }
    let mut groups = Vec::new();
    let mut group: Vec<Step> = Vec::new();
    for step in steps {
        let mut step = step;
        if step.tag == Tag::Equal && step.old.1 - step.old.0 > 2 * CONTEXT {
            let mut end = step;
            trim_back(&mut end);
            group.push(end);
            groups.push(std::mem::take(&mut group));
            trim_front(&mut step);
        }
        group.push(step);
    }
    if group.iter().any(|step| step.tag != Tag::Equal) {
        groups.push(group);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_shown_with_three_lines_around() {
        let old: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        let mut new = old.clone();
        new[5] = "five".to_owned();
        new.insert(17, "more".to_owned());
        let expected = "@@ -3,7 +3,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n@@ -15,6 +15,7 @@\n 14\n 15\n 16\n+more\n 17\n 18\n 19\n";
        assert_eq!(diff(&old.join("\n"), &new.join("\n")), expected);
        assert_eq!(diff("a", "a"), "");
        assert_eq!(diff("a\nb", "b"), "@@ -1,2 +1 @@\n-a\n b\n");
    }
}
