//! The kinds of Roost's API, as Rust types that generate their custom resource definitions. No I/O.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

pub mod definition;
pub mod hypershift;
pub mod preserved;
pub mod rules;

/// The definitions of every kind, in the order in which an engine creates them.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    [hypershift::definitions()].concat()
}
