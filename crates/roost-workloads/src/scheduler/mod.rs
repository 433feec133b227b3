//! The scheduler: which node a pod goes to, by the filters and scores of the stock default profile.
//!
//! [`State`] holds the nodes and what lies on them, and changes by one pod at a time. Pods that look the same to every
//! rule are counted, not listed, so that what one more pod costs does not grow with the pods already placed.

mod affinity;
mod budget;
mod choose;
mod filter;
mod node;
mod nomination;
mod outcome;
mod preempt;
mod score;
mod spread;
mod state;
mod term;
mod volumes;

pub use budget::Budget;
pub use choose::{Choice, Surroundings, choose};
pub(crate) use filter::{untolerated, wants};
pub use node::{Image, Node, Taint};
pub use outcome::Unfit;
pub use preempt::{Preemption, preempt};
pub use state::State;
pub use volumes::{Bindings, Found, Volumes};

/// The scheduler that pods ask for when they ask for none.
pub const DEFAULT_NAME: &str = "default-scheduler";
