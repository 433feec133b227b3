//! Reviews: questions about permissions and credentials, asked as objects.

mod access;
mod rules;
mod token;

pub use access::{AccessReview, ReviewKind};
pub use rules::{rules_review, self_review};
pub use token::{TokenReview, token_review_answer};
