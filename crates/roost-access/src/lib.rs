//! Who may do what: RBAC, the node authorizer, tokens and access reviews, as pure functions.
//!
//! Nothing here reads a store, a socket or a clock: objects and the time come in as values. Reasons and refusals read
//! as the stock API server words them.

pub mod attributes;
pub mod authorizer;
pub mod impersonation;
pub mod node;
pub mod rbac;
pub mod review;
pub mod token;
pub mod user;

pub use attributes::{Attributes, ResourceAttributes};
pub use authorizer::{Authorizer, Decision, Reason, Superusers, Union};
pub use user::User;
