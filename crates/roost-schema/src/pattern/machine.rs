//! A matcher whose effort can be counted: it follows all alternatives at once, character by character.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Programs longer than this are refused.
const MAX_INSTRUCTIONS: usize = 200_000;

/// The steps that searches may still take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps(pub(crate) u64);

/// A search took more steps than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

impl Steps {
    fn take(&mut self, count: usize) -> Result<(), Exhausted> {
        self.0 = self.0.checked_sub(count as u64).ok_or(Exhausted)?;
        Ok(())
    }
}

/// A program for the matcher.
#[derive(Debug)]
pub(crate) struct Machine {
    instructions: Vec<Instruction>,
    /// Ranges of characters, sorted; several instructions may share one.
    classes: Vec<Box<[(u32, u32)]>>,
}

#[derive(Clone, Copy, Debug)]
enum Instruction {
    /// A character of a class.
    Class(u32),
    /// Goes on at both places; the first is preferred.
    Split(u32, u32),
    Jump(u32),
    Look(Look),
    Match,
}

impl Machine {
    /// Compiles an expression in the spelling of the `regex` crate; none when it is too long.
    pub(super) fn compile(pattern: &str) -> Option<Machine> {
        let hir = regex_syntax::parse(pattern).ok()?;
        let mut machine = Machine { instructions: Vec::new(), classes: Vec::new() };
        machine.emit(&hir)?;
        machine.push(Instruction::Match)?;
        Some(machine)
    }

    fn push(&mut self, instruction: Instruction) -> Option<usize> {
        if self.instructions.len() >= MAX_INSTRUCTIONS {
            return None;
        }
        self.instructions.push(instruction);
        Some(self.instructions.len() - 1)
    }

    fn here(&self) -> u32 {
        self.instructions.len() as u32
    }

    fn class(&mut self, ranges: Box<[(u32, u32)]>) -> Option<()> {
        let known = self.classes.iter().position(|known| *known == ranges);
        let index = known.unwrap_or_else(|| {
            self.classes.push(ranges);
            self.classes.len() - 1
        });
        self.push(Instruction::Class(index as u32)).map(|_| ())
    }

    fn emit(&mut self, hir: &Hir) -> Option<()> {
        match hir.kind() {
            HirKind::Empty => Some(()),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).ok()?;
                text.chars().try_for_each(|c| self.class([(c as u32, c as u32)].into()))
            }
            HirKind::Class(Class::Unicode(class)) => {
                self.class(class.iter().map(|range| (range.start() as u32, range.end() as u32)).collect())
            }
            HirKind::Class(Class::Bytes(class)) => {
                self.class(class.iter().map(|range| (u32::from(range.start()), u32::from(range.end()))).collect())
            }
            HirKind::Look(look) => self.push(Instruction::Look(*look)).map(|_| ()),
            HirKind::Capture(capture) => self.emit(&capture.sub),
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.emit(part)),
            HirKind::Alternation(parts) => self.alternation(parts),
            HirKind::Repetition(repetition) => {
                for _ in 0..repetition.min {
                    self.emit(&repetition.sub)?;
                }
                match repetition.max {
                    None => self.repeat(&repetition.sub, repetition.greedy),
                    Some(max) => {
                        let optional = max.saturating_sub(repetition.min);
                        self.optional(&repetition.sub, optional, repetition.greedy)
                    }
                }
            }
        }
    }

    fn split(greedy: bool, inside: u32, after: u32) -> Instruction {
        if greedy { Instruction::Split(inside, after) } else { Instruction::Split(after, inside) }
    }

    fn repeat(&mut self, sub: &Hir, greedy: bool) -> Option<()> {
        let start = self.push(Instruction::Match)?;
        self.emit(sub)?;
        self.push(Instruction::Jump(start as u32))?;
        self.instructions[start] = Self::split(greedy, start as u32 + 1, self.here());
        Some(())
    }

    fn optional(&mut self, sub: &Hir, times: u32, greedy: bool) -> Option<()> {
        let mut splits = Vec::new();
        for _ in 0..times {
            splits.push(self.push(Instruction::Match)?);
            self.emit(sub)?;
        }
        let after = self.here();
        for split in splits {
            self.instructions[split] = Self::split(greedy, split as u32 + 1, after);
        }
        Some(())
    }

    fn alternation(&mut self, parts: &[Hir]) -> Option<()> {
        let mut jumps = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            if index + 1 == parts.len() {
                self.emit(part)?;
                break;
            }
            let split = self.push(Instruction::Match)?;
            self.emit(part)?;
            jumps.push(self.push(Instruction::Match)?);
            self.instructions[split] = Instruction::Split(split as u32 + 1, self.here());
        }
        let after = self.here();
        for jump in jumps {
            self.instructions[jump] = Instruction::Jump(after);
        }
        Some(())
    }

    fn is_in(&self, class: u32, character: char) -> bool {
        let code = character as u32;
        let ranges = &self.classes[class as usize];
        let after = ranges.partition_point(|(start, _)| *start <= code);
        after > 0 && code <= ranges[after - 1].1
    }

    /// How many places the program has.
    pub(super) fn size(&self) -> usize {
        self.instructions.len()
    }

    /// The first match that begins at or after a place: where it begins and ends.
    pub(super) fn find(&self, text: &str, from: usize, steps: &mut Steps) -> Result<Option<(usize, usize)>, Exhausted> {
        steps.take(self.instructions.len() / 16)?;
        let mut current = Threads::new(self.instructions.len());
        let mut next = Threads::new(self.instructions.len());
        let mut found = None;
        let mut at = from;
        loop {
            if found.is_none() {
                self.follow(&mut current, 0, at, text, at);
            }
            if current.list.is_empty() && found.is_some() {
                return Ok(found);
            }
            steps.take(1 + current.marked.len())?;
            let character = text[at..].chars().next();
            let after = at + character.map_or(0, char::len_utf8);
            next.clear();
            for index in 0..current.list.len() {
                let (place, start) = current.list[index];
                match self.instructions[place as usize] {
                    Instruction::Class(class) if character.is_some_and(|character| self.is_in(class, character)) => {
                        self.follow(&mut next, place + 1, after, text, start);
                    }
                    Instruction::Match => {
                        // Threads after this one are less preferred.
                        found = Some((start, at));
                        break;
                    }
                    _ => {}
                }
            }
            if character.is_none() {
                return Ok(found);
            }
            std::mem::swap(&mut current, &mut next);
            at = after;
        }
    }

    /// Adds a place and all that can be reached from it without a character.
    fn follow(&self, threads: &mut Threads, place: u32, at: usize, text: &str, start: usize) {
        threads.pending.push(place);
        while let Some(place) = threads.pending.pop() {
            if std::mem::replace(&mut threads.seen[place as usize], true) {
                continue;
            }
            threads.marked.push(place);
            match self.instructions[place as usize] {
                Instruction::Jump(to) => threads.pending.push(to),
                Instruction::Split(first, second) => threads.pending.extend([second, first]),
                Instruction::Look(look) => {
                    if holds(look, text, at) {
                        threads.pending.push(place + 1);
                    }
                }
                Instruction::Class(_) | Instruction::Match => threads.list.push((place, start)),
            }
        }
    }

    /// The parts of the text that match, from left to right, without overlap.
    pub(super) fn find_all<'t>(
        &self,
        text: &'t str,
        limit: usize,
        steps: &mut Steps,
    ) -> Result<Vec<&'t str>, Exhausted> {
        let mut found = Vec::new();
        let mut from = 0;
        let mut last_end = None;
        while found.len() < limit && from <= text.len() {
            let Some((start, end)) = self.find(text, from, steps)? else { break };
            if start == end {
                // An empty match right after another one does not count.
                if last_end != Some(end) {
                    found.push(&text[start..end]);
                }
                from = end + text[end..].chars().next().map_or(1, char::len_utf8);
            } else {
                found.push(&text[start..end]);
                from = end;
                last_end = Some(end);
            }
        }
        Ok(found)
    }
}

fn holds(look: Look, text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at..].chars().next();
    let word = |character: Option<char>| character.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    match look {
        Look::Start => at == 0,
        Look::End => at == text.len(),
        Look::StartLF => before.is_none_or(|c| c == '\n'),
        Look::EndLF => after.is_none_or(|c| c == '\n'),
        Look::WordAscii => word(before) != word(after),
        Look::WordAsciiNegate => word(before) == word(after),
        _ => false,
    }
}

/// The places at which the matcher is, in the order of preference.
struct Threads {
    list: Vec<(u32, usize)>,
    seen: Vec<bool>,
    marked: Vec<u32>,
    pending: Vec<u32>,
}

impl Threads {
    fn new(size: usize) -> Self {
        Self { list: Vec::new(), seen: vec![false; size], marked: Vec::new(), pending: Vec::new() }
    }

    fn clear(&mut self) {
        self.list.clear();
        for place in self.marked.drain(..) {
            self.seen[place as usize] = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::translate;
    use super::*;

    #[test]
    fn the_machine_agrees_with_the_crate() {
        let patterns = [
            "a",
            "^a$",
            "a*",
            "a+?b",
            "(a|ab)(c|bcd)?",
            "[a-c]{2,3}",
            "x?y",
            r"\bfoo\b",
            "^$",
            "(?i)AbC",
            r"\d+-\d*",
            "",
            "(?m)^b",
            "é+",
            ".*b",
            "a{0,2}?",
        ];
        let texts = ["", "a", "ab", "abcd", "aaab", "foo bar", "xy yx", "ABC abc", "12-34 5-", "a\nb", "éé", "abcbc"];
        for pattern in patterns {
            let respelled = translate(pattern).unwrap();
            let regex = regex::Regex::new(&respelled).unwrap();
            let machine = Machine::compile(&respelled).unwrap();
            for text in texts {
                let expected = regex.find(text).map(|found| (found.start(), found.end()));
                let mut steps = Steps(10_000);
                assert_eq!(machine.find(text, 0, &mut steps), Ok(expected), "{pattern} on {text:?}");
                let expected: Vec<_> = regex.find_iter(text).map(|found| found.as_str()).collect();
                assert_eq!(machine.find_all(text, usize::MAX, &mut steps), Ok(expected), "{pattern} on {text:?}");
            }
        }
    }
    #[test]
    fn searches_end_when_their_steps_are_taken() {
        let text = "a".repeat(10_000);
        let machine = Machine::compile("a(.*b)?").unwrap();
        assert_eq!(machine.find_all(&text, usize::MAX, &mut Steps(1_000_000)), Err(Exhausted));
    }
}
