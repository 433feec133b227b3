//! Admission policies: expressions that refuse or change writes, and what binds them to writes and parameters.

mod binding;
mod check;
mod conditions;
mod constraints;
mod device;
mod environment;
mod evaluation;
mod expression;
mod mutating;
mod validating;

pub use binding::{Action, Binding, MissingParameter, ParameterKind, ParameterReference};
pub use check::{check_conditions, check_mutating, check_validating};
pub use conditions::{Conditions, Verdict};
pub use constraints::{Constraints, Matched};
pub use device::device_selector_problem;
pub use evaluation::Input;
pub use mutating::{Change, MutatingPolicy, Mutation};
pub use validating::{Decision, Outcome, ValidatingPolicy, denied};
