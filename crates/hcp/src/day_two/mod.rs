//! The network of a cluster that runs: which objects give its ingress an address and a place, and which nodes can host an
//! address for what leaves it. Only decisions; the commands carry them out.

pub(crate) mod egress;
pub(crate) mod ingress;
pub(crate) mod networks;
