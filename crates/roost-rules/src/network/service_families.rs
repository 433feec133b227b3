//! Which address families a service has: from what it asks for, what it had, and what the cluster has.

use roost_object::Value;
use roost_object::field::{Error, Errors, Path};

use super::service_addresses::{self, is_ipv6};
use super::service_allocation::{Giving, Refusal};
use super::service_update::same_addresses;
use super::texts;
use crate::check::{Spot, elements, text};
use crate::fill::Fill;

fn other_family(family: &str) -> &'static str {
    if family == "IPv4" { "IPv6" } else { "IPv4" }
}

fn family_of(address: &str) -> &'static str {
    if is_ipv6(address) { "IPv6" } else { "IPv4" }
}

impl Giving<'_> {
    fn default_family(&self) -> &'static str {
        if self.pools.ranges.first().is_some_and(|range| range.network().is_ipv6()) { "IPv6" } else { "IPv4" }
    }

    fn has_family(&self, family: &str) -> bool {
        self.pools.ranges.iter().any(|range| range.network().is_ipv6() == (family == "IPv6"))
    }

    fn is_dual_stack(&self) -> bool {
        self.has_family("IPv4") && self.has_family("IPv6")
    }

    /// Settles the families of the service and the policy behind them.
    pub(super) fn init_families(&self, spec: &mut Value, before: Option<&Value>) -> Result<(), Refusal> {
        if text(spec, "type") == "ExternalName" || before.is_some_and(|before| prefers_as_before(spec, before)) {
            return Ok(());
        }
        let selectorless = spec["selector"].as_object().is_none_or(roost_object::Map::is_empty);
        let open = text(spec, "clusterIP") == "None" && selectorless;
        if spec["ipFamilyPolicy"].is_null() {
            let policy = match before.map(|before| text(before, "ipFamilyPolicy")).unwrap_or_default() {
                "" if open => "RequireDualStack",
                "" => "SingleStack",
                policy => policy,
            };
            spec.put("ipFamilyPolicy", policy);
        }
        let mut errors = Errors::new();
        let old = before.map(|before| serde_json::json!({"spec": {"clusterIPs": before["clusterIPs"]}}));
        service_addresses::validate(&Spot::new(spec, Path::new("spec")), old.as_ref(), &mut errors);
        refuse(errors)?;

        let errors = self.settle_against_before(spec, before);
        refuse(errors)?;
        if open {
            self.open_families(spec);
            return Ok(());
        }
        refuse(self.check_families(spec))?;
        let mut families: Vec<Value> = elements(&spec["ipFamilies"]).to_vec();
        if families.is_empty() {
            families.push(self.default_family().into());
        }
        if text(spec, "ipFamilyPolicy") != "SingleStack" && families.len() == 1 && self.is_dual_stack() {
            families.push(other_family(families[0].as_str().unwrap_or_default()).into());
        }
        spec.put("ipFamilies", families);
        Ok(())
    }

    /// Shortens the lists of a service that became single-stack, and reads families from addresses.
    fn settle_against_before(&self, spec: &mut Value, before: Option<&Value>) -> Errors {
        let mut errors = Errors::new();
        let path = Path::new("spec");
        let policy_path = path.child("ipFamilyPolicy");
        let policy = spec["ipFamilyPolicy"].clone();
        let single = policy == "SingleStack";
        if let Some(before) = before {
            for (field, released) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
                let (new, old) = (elements(&spec[field]), elements(&before[field]));
                if single {
                    if new == old && new.len() > 1 {
                        let first = vec![new[0].clone()];
                        spec.put(field, first);
                    }
                } else if !new.is_empty() && new.len() < old.len() {
                    let words = format!("must be 'SingleStack' to release the secondary {released}");
                    errors.push(Error::invalid(&policy_path, policy.clone(), words));
                }
            }
        }
        if single {
            for (field, several) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
                if elements(&spec[field]).len() == 2 {
                    let words = format!(
                        "must be 'RequireDualStack' or 'PreferDualStack' when multiple {several} are specified"
                    );
                    errors.push(Error::invalid(&policy_path, policy.clone(), words));
                }
            }
        }
        let mut families: Vec<Value> = elements(&spec["ipFamilies"]).to_vec();
        let known = families.len();
        for (index, one) in texts(&spec["clusterIPs"]).into_iter().enumerate() {
            if one == "None" {
                break;
            }
            if index >= families.len() {
                let family = family_of(one);
                if self.has_family(family) {
                    families.push(family.into());
                } else {
                    let at = path.child("clusterIPs");
                    let words = format!("{family} is not configured on this cluster");
                    errors.push(Error::invalid(&at.index(index), spec["clusterIPs"].clone(), words));
                }
            }
        }
        if families.len() > known {
            spec.put("ipFamilies", families);
        }
        errors
    }

    /// A headless service without a selector may have endpoints of any family, whatever the cluster has.
    fn open_families(&self, spec: &mut Value) {
        let mut families: Vec<Value> = elements(&spec["ipFamilies"]).to_vec();
        if families.is_empty() {
            families.push(self.default_family().into());
        }
        if families.len() < 2 && text(spec, "ipFamilyPolicy") != "SingleStack" {
            families.push(other_family(families[0].as_str().unwrap_or_default()).into());
        }
        spec.put("ipFamilies", families);
    }

    fn check_families(&self, spec: &Value) -> Errors {
        let mut errors = Errors::new();
        let path = Path::new("spec");
        if text(spec, "ipFamilyPolicy") == "RequireDualStack" && !self.is_dual_stack() {
            let words = "this cluster is not configured for dual-stack services";
            errors.push(Error::invalid(&path.child("ipFamilyPolicy"), spec["ipFamilyPolicy"].clone(), words));
        }
        let families = path.child("ipFamilies");
        for (index, family) in texts(&spec["ipFamilies"]).into_iter().enumerate() {
            if !self.has_family(family) {
                errors.push(Error::invalid(&families.index(index), family, "not configured on this cluster"));
            }
        }
        errors
    }
}

/// Whether a dual-stack preference and all it led to is as it was. Such a service stays as it is even if the cluster
/// has changed its families since.
pub(super) fn prefers_as_before(spec: &Value, before: &Value) -> bool {
    let addressed = |spec: &Value| matches!(text(spec, "type"), "ClusterIP" | "NodePort" | "LoadBalancer");
    let prefers = |spec: &Value| matches!(text(spec, "ipFamilyPolicy"), "" | "PreferDualStack");
    addressed(spec)
        && addressed(before)
        && prefers(spec)
        && prefers(before)
        && same_addresses(spec, before)
        && texts(&spec["ipFamilies"]) == texts(&before["ipFamilies"])
}

fn refuse(errors: Errors) -> Result<(), Refusal> {
    if errors.is_empty() { Ok(()) } else { Err(Refusal::Invalid(errors)) }
}
