//! Services and what leads to them: endpoints, ingresses, network policies, and the addresses that are given out.

pub mod allocation;
mod endpoints;
mod ingress;
mod network_policy;
mod ranges;
pub mod service;
mod service_addresses;
pub mod service_allocation;
mod service_families;
mod service_ports;
mod service_update;
mod service_warnings;

use roost_object::Value;

use crate::check::elements;
use crate::{Generation, NameRule, Rules, drop_status, keep_spec, keep_spec_and_metadata, keep_status};

const GROUP: &str = "networking.k8s.io";

pub(crate) static TABLE: &[Rules] = &[
    Rules {
        kind: "Service",
        name: NameRule::Label,
        defaults: service::defaults,
        prepare_create: service_update::prepare_create,
        prepare_update: service_update::prepare,
        prepare_status_update: keep_spec,
        validate: |service, errors| service::validate(service, None, errors),
        validate_update: |new, old, errors| {
            service_update::validate(new, old, errors);
            service::validate(new, Some(old), errors);
        },
        validate_status_update: service_update::validate_status,
        warnings: service_warnings::of,
        create_on_update: true,
        ..Rules::NONE
    },
    Rules {
        kind: "Endpoints",
        defaults: endpoints::defaults,
        validate: |endpoints, errors| endpoints::validate(endpoints, None, errors),
        validate_update: |new, old, errors| endpoints::validate(new, Some(old), errors),
        warnings: endpoints::warnings,
        create_on_update: true,
        ..Rules::NONE
    },
    Rules {
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        defaults: endpoints::slice_defaults,
        prepare_create: endpoints::prepare_slice,
        prepare_update: endpoints::prepare_slice_update,
        validate: |slice, errors| endpoints::validate_slice(slice, None, errors),
        validate_update: |new, old, errors| endpoints::validate_slice(new, Some(old), errors),
        warnings: endpoints::slice_warnings,
        warns_on_update: |_, _| false,
        update_warnings: |new, _, warnings| endpoints::slice_address_warnings(new, warnings),
        ..Rules::NONE
    },
    Rules {
        group: GROUP,
        kind: "Ingress",
        prepare_create: drop_status,
        prepare_update: keep_status,
        prepare_status_update: keep_spec,
        generation: Generation::Spec,
        validate: ingress::validate,
        validate_update: ingress::validate_update,
        validate_status_update: ingress::validate_status_update,
        warnings: ingress::warnings,
        warns_on_update: |_, _| false,
        ..Rules::NONE
    },
    Rules {
        group: GROUP,
        kind: "IngressClass",
        defaults: ingress::class_defaults,
        generation: Generation::Spec,
        validate: ingress::validate_class,
        validate_update: ingress::validate_class_update,
        ..Rules::NONE
    },
    Rules {
        group: GROUP,
        kind: "NetworkPolicy",
        defaults: network_policy::defaults,
        generation: Generation::SpecAsSent,
        validate: |policy, errors| network_policy::validate(policy, None, errors),
        validate_update: |new, old, errors| network_policy::validate(new, Some(old), errors),
        warnings: network_policy::warnings,
        ..Rules::NONE
    },
    Rules {
        group: GROUP,
        kind: "IPAddress",
        name: NameRule::Address,
        validate: ranges::validate_address,
        validate_update: ranges::validate_address_update,
        ..Rules::NONE
    },
    Rules {
        group: GROUP,
        kind: "ServiceCIDR",
        prepare_create: drop_status,
        prepare_update: keep_status,
        prepare_status_update: keep_spec_and_metadata,
        validate: ranges::validate_range,
        validate_update: ranges::validate_range_update,
        ..Rules::NONE
    },
];

/// The texts in a list.
fn texts(list: &Value) -> Vec<&str> {
    elements(list).iter().map(|text| text.as_str().unwrap_or_default()).collect()
}
