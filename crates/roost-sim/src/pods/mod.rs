//! The pods of a simulated node: taken through the real phases, as their annotations ask.
//!
//! What happens to a pod is a pure function of its object, what happened before and the time ([`pod`], [`status`]);
//! [`worker`] is all that speaks to the API.

mod addresses;
mod behaviour;
mod container;
mod pod;
mod status;
mod view;
mod worker;

pub(crate) use addresses::Addresses;
pub(crate) use view::{ContainerView, Line, PodView, View};
pub(crate) use worker::Worker;
