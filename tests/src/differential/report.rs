//! What a run of the suite found, in words.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::table::{Explanation, Sequence};
use crate::text_difference;

/// Longer differences are cut, so that one broken listing does not hide the others.
const LARGEST_DIFFERENCE_LINES: usize = 80;

/// A step whose answers differ.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The number of the step, from 1.
    pub step: usize,
    /// What was asked.
    pub request: String,
    /// The lines that differ, stock's with `-` and ours with `+`.
    pub text: String,
    /// Why it is allowed, if it is.
    pub reason: Option<String>,
}

/// What became of one sequence.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The sequence.
    pub name: String,
    /// The file it is in.
    pub area: String,
    /// How many answers were compared.
    pub compared: usize,
    /// Those that differ.
    pub differences: Vec<Difference>,
    /// What differed when it was first run and did not when it was run again.
    pub only_at_first: Vec<Difference>,
    /// The command that runs it alone.
    pub again: String,
}

impl Verdict {
    fn failed(&self) -> bool {
        self.differences.iter().any(|difference| difference.reason.is_none())
    }

    fn explained(&self) -> bool {
        !self.differences.is_empty() && !self.failed()
    }

    /// Adds a difference between two answers.
    pub fn add(&mut self, step: usize, request: &str, stock: &str, ours: &str, explanations: &[Explanation]) {
        let mut text = text_difference::describe(stock, ours);
        if text.is_empty() {
            // Equal answers come here only when stock did not do what the sequence is about.
            stock.clone_into(&mut text);
        }
        let lines = text.lines().count();
        if lines > LARGEST_DIFFERENCE_LINES {
            let kept: Vec<&str> = text.lines().take(LARGEST_DIFFERENCE_LINES).collect();
            text = format!("{}\n  ... and {} more lines\n", kept.join("\n"), lines - LARGEST_DIFFERENCE_LINES);
        }
        let reason = explanations
            .iter()
            .find(|known| known.sequence == self.name && known.step.is_none_or(|number| number == step))
            .map(|known| known.reason.clone());
        self.differences.push(Difference { step, request: request.to_owned(), text, reason });
    }

    /// An empty verdict for a sequence.
    pub fn new(sequence: &Sequence) -> Self {
        Self {
            name: sequence.name.clone(),
            area: sequence.area.clone(),
            compared: 0,
            differences: Vec::new(),
            only_at_first: Vec::new(),
            again: format!("cargo xtask differential --filter {}", sequence.name),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for difference in self.only_at_first.iter().chain(&self.differences) {
            writeln!(formatter, "{} ({}) step {}: {}", self.name, self.area, difference.step, difference.request)?;
            if let Some(reason) = &difference.reason {
                writeln!(formatter, "  explained: {reason}")?;
            }
            for line in difference.text.lines() {
                writeln!(formatter, "    {line}")?;
            }
        }
        if !self.only_at_first.is_empty() {
            writeln!(formatter, "  equal when it was run once more")?;
        }
        if !self.only_at_first.is_empty() || !self.differences.is_empty() {
            writeln!(formatter, "  again: {}", self.again)?;
        }
        Ok(())
    }
}

/// What became of all sequences.
#[derive(Debug, Default)]
pub struct Summary {
    /// One for each sequence, in the order of the table.
    pub verdicts: Vec<Verdict>,
    /// The sequences that are known to differ still.
    pub open: BTreeSet<String>,
}

impl Summary {
    /// Those that differ, and neither have a reason nor are known to be open.
    pub fn unexpected(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(|verdict| verdict.failed() && !self.open.contains(&verdict.name))
    }

    /// Puts the verdict of a further try in the place of the first, and keeps what the first one found.
    pub fn replace(&mut self, mut verdict: Verdict) {
        if let Some(place) = self.verdicts.iter_mut().find(|place| place.name == verdict.name) {
            verdict.only_at_first = std::mem::take(&mut place.differences);
            *place = verdict;
        }
    }

    /// Those that passed only when they were run again.
    pub fn on_further_try(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(|verdict| !verdict.only_at_first.is_empty())
    }

    /// How many sequences had no difference.
    pub fn passed(&self) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.differences.is_empty()).count()
    }

    /// How many have a difference without a reason that nobody knew of.
    pub fn failed(&self) -> usize {
        self.unexpected().count()
    }

    /// How many differ still, as is known.
    pub fn still_open(&self) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.failed() && self.open.contains(&verdict.name)).count()
    }

    /// The sequences that are listed as open but do not differ any more.
    pub fn closed(&self) -> impl Iterator<Item = &str> {
        let passed = self.verdicts.iter().filter(|verdict| !verdict.failed());
        passed.map(|verdict| verdict.name.as_str()).filter(|name| self.open.contains(*name))
    }

    /// How many have only differences with a reason.
    pub fn explained(&self) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.explained()).count()
    }

    /// A line for each area: how many of its sequences passed.
    pub fn by_area(&self) -> String {
        let mut areas: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for verdict in &self.verdicts {
            let (passed, all) = areas.entry(&verdict.area).or_default();
            *all += 1;
            *passed += usize::from(!verdict.failed());
        }
        let lines: Vec<String> =
            areas.iter().map(|(area, (passed, all))| format!("  {area:<24} {passed:>4} of {all}")).collect();
        lines.join("\n")
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compared: usize = self.verdicts.iter().map(|verdict| verdict.compared).sum();
        let different: usize = self.verdicts.iter().map(|verdict| verdict.differences.len()).sum();
        write!(
            formatter,
            "{} passed, {} failed, {} explained, {} open ({} of {compared} answers equal)",
            self.passed(),
            self.failed(),
            self.explained(),
            self.still_open(),
            compared - different,
        )?;
        let races: Vec<&str> = self.on_further_try().map(|verdict| verdict.name.as_str()).collect();
        if races.is_empty() {
            return Ok(());
        }
        write!(formatter, ", {} only on a further try ({})", races.len(), races.join(", "))
    }
}
