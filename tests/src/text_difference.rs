//! The difference between two texts, line by line, as people read it.

/// How many equal lines are shown around a difference.
const CONTEXT_LINES: usize = 3;

/// Beyond this many pairs of lines the exact comparison would need too much memory; only a prefix is compared then.
const LARGEST_TABLE: usize = 16_000_000;

enum Line<'a> {
    Same(&'a str),
    Left(&'a str),
    Right(&'a str),
}

/// The lines that differ, with `-` for the left and `+` for the right, and some equal lines around them.
pub fn describe(left: &str, right: &str) -> String {
    let left: Vec<&str> = left.lines().collect();
    let right: Vec<&str> = right.lines().collect();
    let lines = align(&left, &right);
    let changed: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| !matches!(line, Line::Same(_))).map(|(index, _)| index).collect();
    let mut text = String::new();
    let mut previous = None;
    let mut next_change = 0;
    for (index, line) in lines.iter().enumerate() {
        while changed.get(next_change).is_some_and(|change| change + CONTEXT_LINES < index) {
            next_change += 1;
        }
        let near = changed.get(next_change).is_some_and(|change| change.abs_diff(index) <= CONTEXT_LINES);
        if !near {
            continue;
        }
        if previous.is_some_and(|previous| previous + 1 != index) {
            text.push_str("  ...\n");
        }
        previous = Some(index);
        let (mark, content) = match line {
            Line::Same(content) => (' ', content),
            Line::Left(content) => ('-', content),
            Line::Right(content) => ('+', content),
        };
        text.push(mark);
        text.push(' ');
        text.push_str(content);
        text.push('\n');
    }
    text
}

fn align<'a>(left: &[&'a str], right: &[&'a str]) -> Vec<Line<'a>> {
    let start = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    let end = left[start..].iter().rev().zip(right[start..].iter().rev()).take_while(|(left, right)| left == right);
    let end = end.count();
    let (left_middle, right_middle) = (&left[start..left.len() - end], &right[start..right.len() - end]);
    let mut lines: Vec<Line<'a>> = left[..start].iter().map(|line| Line::Same(line)).collect();
    lines.extend(align_middle(left_middle, right_middle));
    lines.extend(left[left.len() - end..].iter().map(|line| Line::Same(line)));
    lines
}

/// The longest common subsequence, by the textbook table.
fn align_middle<'a>(left: &[&'a str], right: &[&'a str]) -> Vec<Line<'a>> {
    if left.len().saturating_mul(right.len()) > LARGEST_TABLE {
        let removed = left.iter().map(|line| Line::Left(line));
        return removed.chain(right.iter().map(|line| Line::Right(line))).collect();
    }
    let width = right.len() + 1;
    let mut lengths = vec![0_u32; (left.len() + 1) * width];
    for row in (0..left.len()).rev() {
        for column in (0..right.len()).rev() {
            lengths[row * width + column] = if left[row] == right[column] {
                lengths[(row + 1) * width + column + 1] + 1
            } else {
                lengths[(row + 1) * width + column].max(lengths[row * width + column + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut lines = Vec::new();
    while row < left.len() || column < right.len() {
        if row < left.len() && column < right.len() && left[row] == right[column] {
            lines.push(Line::Same(left[row]));
            row += 1;
            column += 1;
        } else if column == right.len()
            || row < left.len() && lengths[(row + 1) * width + column] >= lengths[row * width + column + 1]
        {
            lines.push(Line::Left(left[row]));
            row += 1;
        } else {
            lines.push(Line::Right(right[column]));
            column += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::describe;

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(describe("a\nb\n", "a\nb\n"), "");
    }

    #[test]
    fn a_changed_line_is_shown_with_its_surroundings() {
        let left = "1\n2\n3\n4\n5\n6\n7\n8\n9";
        let right = "1\n2\n3\n4\nfive\n6\n7\n8\n9";
        assert_eq!(describe(left, right), "  2\n  3\n  4\n- 5\n+ five\n  6\n  7\n  8\n");
    }

    #[test]
    fn distant_changes_are_separated() {
        let left = "a\n1\n2\n3\n4\n5\n6\n7\n8\n9\nb";
        let right = "A\n1\n2\n3\n4\n5\n6\n7\n8\n9\nB";
        assert_eq!(describe(left, right), "- a\n+ A\n  1\n  2\n  3\n  ...\n  7\n  8\n  9\n- b\n+ B\n");
    }
}
