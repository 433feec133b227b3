//! The ports that services open on nodes.

use roost_object::Value;
use roost_object::field::{Error, Path};

use super::allocation::{Taken, allocate_node_port, claim_node_port};
use super::service_allocation::{Giving, Refusal};
use super::service_update::node_ports;
use crate::check::{elements, text};
use crate::fill::Fill;

pub(super) fn to_port(number: i64) -> Option<u16> {
    u16::try_from(number).ok()
}

pub(super) fn port(value: &Value) -> Option<u16> {
    value.as_i64().filter(|number| *number > 0).and_then(to_port)
}

pub(super) fn opens_node_ports(spec: &Value) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

/// Whether ports are given even where none is asked for.
pub(super) fn wants_node_ports(spec: &Value) -> bool {
    match text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => spec["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    }
}

impl Giving<'_> {
    /// Takes a port that was asked for.
    fn claim_port(&mut self, number: i64) -> Result<(), Taken> {
        let port = match to_port(number) {
            Some(port) => port,
            // Without a write, nobody looks whether there is such a port.
            None if self.pools.dry_run => return Ok(()),
            None => return Err(Taken::PortOutsideRange(self.pools.ports.clone())),
        };
        if self.pools.dry_run {
            if (self.pools.port_in_use)(port) || self.changes.taken_ports.contains(&port) {
                return Err(Taken::Port);
            }
        } else {
            let used = |port| (self.pools.port_in_use)(port) || self.changes.taken_ports.contains(&port);
            claim_node_port(port, &self.pools.ports, &used)?;
        }
        self.changes.taken_ports.push(port);
        Ok(())
    }

    /// Takes any port.
    fn any_port(&mut self) -> Option<u16> {
        /// Where the made-up ports of writes that are not stored begin.
        const MADE_UP: u16 = 32_769;
        let port = if self.pools.dry_run {
            self.changes.taken_ports.iter().max().map_or(MADE_UP, |last| last.saturating_add(1))
        } else {
            let used = |port| (self.pools.port_in_use)(port) || self.changes.taken_ports.contains(&port);
            let seed = self.pools.seed.wrapping_add(self.changes.taken_ports.len() as u64);
            allocate_node_port(&self.pools.ports, &used, seed)?
        };
        self.changes.taken_ports.push(port);
        Some(port)
    }

    /// Gives a new service its ports. Ports with the same number share one, whatever their protocols.
    pub(super) fn give_ports(&mut self, spec: &mut Value) -> Result<(), Refusal> {
        let wants_any = wants_node_ports(spec);
        let mut ports: Vec<Value> = elements(&spec["ports"]).to_vec();
        let mut given: Vec<(i64, i64)> = Vec::new();
        for index in 0..ports.len() {
            let number = |port: &Value, field: &str| port[field].as_i64().unwrap_or_default();
            let (service_port, asked) = (number(&ports[index], "port"), number(&ports[index], "nodePort"));
            if asked == 0 && !wants_any {
                continue;
            }
            let shared = given.iter().find(|(port, _)| *port == service_port).map(|(_, node_port)| *node_port);
            match shared {
                None => {
                    let asked = ports
                        .iter()
                        .filter(|port| number(port, "port") == service_port)
                        .map(|port| number(port, "nodePort"))
                        .find(|port| *port != 0);
                    let chosen = match asked {
                        Some(asked) => {
                            self.claim_port(asked).map_err(|taken| refused_port(index, asked, &taken))?;
                            asked
                        }
                        None => i64::from(self.any_port().ok_or_else(no_port_left)?),
                    };
                    ports[index].put("nodePort", chosen);
                    given.push((service_port, chosen));
                }
                Some(shared) if asked == 0 => ports[index].put("nodePort", shared),
                Some(shared) if asked != shared => {
                    self.claim_port(asked).map_err(|taken| refused_port(index, asked, &taken))?;
                }
                Some(_) => {}
            }
        }
        if !ports.is_empty() {
            spec.put("ports", ports);
        }
        Ok(())
    }

    pub(super) fn update_ports(&mut self, spec: &mut Value, before: &Value) -> Result<(), Refusal> {
        let had: Vec<i64> = node_ports(before).collect();
        if opens_node_ports(spec) {
            let wants_any = wants_node_ports(spec);
            let mut ports: Vec<Value> = elements(&spec["ports"]).to_vec();
            let mut claimed = Vec::new();
            let mut opened: Vec<(String, i64)> = Vec::new();
            for (index, port) in ports.iter_mut().enumerate() {
                match port["nodePort"].as_i64().unwrap_or_default() {
                    0 if !wants_any => continue,
                    0 => {
                        let chosen = self.any_port().ok_or_else(no_port_left)?;
                        port.put("nodePort", chosen);
                    }
                    asked if had.contains(&asked) || claimed.contains(&asked) => {}
                    asked => {
                        self.claim_port(asked).map_err(|taken| refused_port(index, asked, &taken))?;
                        claimed.push(asked);
                    }
                }
                let open = (text(port, "protocol").to_owned(), port["nodePort"].as_i64().unwrap_or_default());
                if opened.contains(&open) {
                    return Err(Refusal::Failed(format!("duplicate nodePort: {{{} {}}}", open.0, open.1)));
                }
                opened.push(open);
            }
            if !ports.is_empty() {
                spec.put("ports", ports);
            }
        }
        if opens_node_ports(before) {
            let has: Vec<i64> = if opens_node_ports(spec) { node_ports(spec).collect() } else { Vec::new() };
            let gone = had.into_iter().filter(|port| !has.contains(port)).filter_map(to_port);
            self.changes.returned_ports.extend(gone);
        }
        Ok(())
    }

    pub(super) fn give_health_check_port(&mut self, spec: &mut Value) -> Result<(), Refusal> {
        let asked = spec["healthCheckNodePort"].as_i64().unwrap_or_default();
        if asked != 0 {
            return self.claim_port(asked).map_err(|taken| {
                Refusal::Exhausted(format!("failed to allocate requested HealthCheck NodePort {asked}: {taken}"))
            });
        }
        let Some(chosen) = self.any_port() else {
            return Err(Refusal::Exhausted("failed to allocate a HealthCheck NodePort 0: range is full".to_owned()));
        };
        spec.put("healthCheckNodePort", chosen);
        Ok(())
    }
}

fn refused_port(index: usize, asked: i64, taken: &Taken) -> Refusal {
    let ports = Path::new("spec.ports");
    let port = ports.index(index);
    Error::invalid(&port.child("nodePort"), asked, taken.to_string()).into()
}

fn no_port_left() -> Refusal {
    Refusal::Exhausted("failed to allocate a nodePort: range is full".to_owned())
}
