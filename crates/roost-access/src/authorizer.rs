//! Decisions, and how several authorizers make one.

use std::fmt;
use std::sync::Arc;

use crate::attributes::Attributes;
use crate::rbac::Grant;
use crate::user::MASTERS;

/// Why a decision was made. It becomes text only when someone reads it: most allowed requests are never asked.
#[derive(Clone, Debug, Default)]
pub struct Reason(Words);

#[derive(Clone, Debug, Default)]
enum Words {
    #[default]
    None,
    Fixed(&'static str),
    Text(String),
    Grant(Arc<Grant>, usize),
}

impl Reason {
    /// No words at all.
    pub const NONE: Self = Self(Words::None);

    pub(crate) fn grant(grant: Arc<Grant>, subject: usize) -> Self {
        Self(Words::Grant(grant, subject))
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Words::None => true,
            Words::Fixed(text) => text.is_empty(),
            Words::Text(text) => text.is_empty(),
            Words::Grant(..) => false,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Words::None => Ok(()),
            Words::Fixed(text) => f.write_str(text),
            Words::Text(text) => f.write_str(text),
            Words::Grant(grant, subject) => write!(f, "RBAC: allowed by {}", grant.describe(*subject)),
        }
    }
}

impl From<&'static str> for Reason {
    fn from(text: &'static str) -> Self {
        Self(Words::Fixed(text))
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self(Words::Text(text))
    }
}

impl PartialEq for Reason {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

/// What an authorizer says to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The request may go on, and nobody else is asked.
    Allow(Reason),
    /// The request may not go on, and nobody else is asked.
    Deny(Reason),
    /// Others may decide; when nobody does, the request may not go on.
    NoOpinion(Reason),
}

impl Decision {
    /// Whether the request may go on.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allow(_))
    }

    /// Why.
    pub fn reason(&self) -> &Reason {
        match self {
            Self::Allow(reason) | Self::Deny(reason) | Self::NoOpinion(reason) => reason,
        }
    }
}

/// Something that decides on requests.
pub trait Authorizer {
    /// Decides on one request.
    fn authorize(&self, attributes: &Attributes<'_>) -> Decision;
}

impl<F: Fn(&Attributes<'_>) -> Decision> Authorizer for F {
    fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        self(attributes)
    }
}

/// Lets members of `system:masters` do anything. It stands before all other authorizers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Superusers;

impl Authorizer for Superusers {
    fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        if attributes.user.is_in(MASTERS) { Decision::Allow(Reason::NONE) } else { Decision::NoOpinion(Reason::NONE) }
    }
}

/// Several authorizers in a row: the first that decides, decides.
pub struct Union<'a>(pub &'a [&'a dyn Authorizer]);

impl Authorizer for Union<'_> {
    fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let mut reasons = Vec::new();
        for authorizer in self.0 {
            match authorizer.authorize(attributes) {
                Decision::NoOpinion(reason) if reason.is_empty() => {}
                Decision::NoOpinion(reason) => reasons.push(reason),
                decided => return decided,
            }
        }
        Decision::NoOpinion(match reasons.len() {
            0 => Reason::NONE,
            1 => reasons.swap_remove(0),
            _ => reasons.iter().map(Reason::to_string).collect::<Vec<_>>().join("\n").into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::User;

    #[test]
    fn the_first_decision_counts_and_silence_joins_reasons() {
        let user = User::new("u", ["g"]);
        let attributes = Attributes::path(&user, "get", "/");
        let silent = |_: &Attributes<'_>| Decision::NoOpinion(Reason::NONE);
        let one = |_: &Attributes<'_>| Decision::NoOpinion("one".into());
        let two = |_: &Attributes<'_>| Decision::NoOpinion("two".into());
        let deny = |_: &Attributes<'_>| Decision::Deny("no".into());
        assert_eq!(Union(&[&one, &silent, &two]).authorize(&attributes), Decision::NoOpinion("one\ntwo".into()));
        assert_eq!(Union(&[&one, &deny, &two]).authorize(&attributes), Decision::Deny("no".into()));
        assert!(!Union(&[&Superusers]).authorize(&attributes).is_allowed());
        let master = User::new("root", [MASTERS]);
        assert!(Union(&[&Superusers, &deny]).authorize(&Attributes::path(&master, "get", "/")).is_allowed());
    }
}
