//! Questions about an inventory, in the language of jq: parsed, asked and answered within bounds.
//!
//! What loops by itself is not there (`def`, `reduce`, `foreach`, `while`, `until`, `repeat`, `recurse(f)`), nor what changes
//! a document. So a question ends, and steps are counted: one that takes too many is an error and not a service that stands.

mod datum;
mod evaluate;
mod function;
mod parse;

use datum::Datum;
use evaluate::{Failure, Run};
use parse::Expression;

/// The longest text of a query.
const LONGEST: usize = 4096;
/// How many steps one answer may take. A question about each disk and card of a large host takes some thousands.
const STEPS: u32 = 200_000;
/// How deep a query may be nested, and its evaluation: both use the stack.
const DEPTH: usize = 128;

/// Why a query cannot be asked, or has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The text is not a query.
    #[error("the query is not understood at character {at}: {problem}")]
    Parse {
        /// Where in the text.
        at: usize,
        /// What is wrong there.
        problem: String,
    },
    /// The text is too long.
    #[error("the query is longer than {LONGEST} characters")]
    TooLong,
    /// The query failed on this document.
    #[error("{0}")]
    Failed(String),
    /// The query takes too many steps.
    #[error("the query takes more than {STEPS} steps")]
    TooManySteps,
    /// There is no answer.
    #[error("Expected boolean, found no values")]
    NoValue,
    /// There is more than one answer.
    #[error("Expected boolean, found multiple values")]
    ManyValues,
}

/// A question.
#[derive(Clone, Debug)]
pub struct Query(Expression);

impl Query {
    /// Reads a question.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        if text.len() > LONGEST {
            return Err(QueryError::TooLong);
        }
        parse::parse(text).map(Self)
    }

    /// Whether a document answers with yes. An answer that is neither yes nor no is no.
    pub fn is_match(&self, document: &serde_json::Value) -> Result<bool, QueryError> {
        let mut answer: Option<Datum> = None;
        let mut run = Run::new(STEPS);
        let input = Datum::of(document);
        let ended = run.evaluate(&self.0, &input, None, &mut |_, value| {
            if answer.is_some() {
                return Err(Failure::Refused(QueryError::ManyValues));
            }
            answer = Some(value);
            Ok(())
        });
        match ended {
            Ok(()) => answer.map(|answer| matches!(answer, Datum::Bool(true))).ok_or(QueryError::NoValue),
            Err(Failure::Error(value)) => Err(QueryError::Failed(value.error_text())),
            Err(Failure::Refused(error)) => Err(error),
            Err(Failure::Enough) => Err(QueryError::NoValue),
        }
    }
}

#[cfg(test)]
mod tests;
