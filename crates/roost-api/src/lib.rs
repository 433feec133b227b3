//! The kinds of Roost's API, as Rust types that generate their custom resource definitions. No I/O.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

pub mod agent_install;
pub mod capi_provider;
pub mod cluster_api;
pub mod definition;
pub mod hypershift;
pub mod mce;
pub mod metal3;
pub mod ocm;
mod open_string;
pub mod preserved;
pub mod rules;
mod variation;

/// The definitions of every kind, in the order in which an engine creates them.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    [
        hypershift::definitions(),
        agent_install::definitions(),
        capi_provider::definitions(),
        cluster_api::definitions(),
        metal3::definitions(),
        ocm::definitions(),
        mce::definitions(),
    ]
    .concat()
}
