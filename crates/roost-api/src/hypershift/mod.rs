//! The kinds of `hypershift.openshift.io/v1beta1`: hosted clusters, their control planes, node pools and components.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// The definitions of the kinds of this group.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    Vec::new()
}
