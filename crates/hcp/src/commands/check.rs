//! `hcp check egressip`: which nodes can host an address, and why the others cannot. Nothing is written.

use serde_json::json;

use crate::arguments::{Check, CheckEgressIp, CheckWhat, Format};
use crate::day_two::egress::{self, Facts, Verdict};
use crate::plane::{EGRESS_IPS, HOSTED_CLUSTERS, NODES, Plane, PlaneError};

use super::change::checked_name;
use super::create_ingress::agents;
use super::error::CommandError;
use super::{create_kubeconfig, printed};

pub(super) async fn run(arguments: &Check) -> Result<(), CommandError> {
    let CheckWhat::EgressIp(flags) = &arguments.what;
    let name = checked_name(&flags.name)?;
    let plane = Plane::connect(flags.plane.kubeconfig.as_deref()).await?;
    let cluster = plane.require(&HOSTED_CLUSTERS, &flags.plane.namespace, name).await?;
    let guest = create_kubeconfig::guest_of(&plane, &cluster).await?;
    let nodes = guest.list(&NODES, "", "").await?;
    let egress_ips = match guest.list(&EGRESS_IPS, "", "").await {
        Err(PlaneError::NoSuchKind) => {
            eprintln!("warning: {name} has no kind EgressIP: its network plugin gives out no such addresses");
            Vec::new()
        }
        answer => answer?,
    };
    let agents = agents(&plane).await?;
    let facts = Facts { cluster: &cluster, nodes: &nodes, agents: &agents, egress_ips: &egress_ips };
    let verdicts = egress::verdicts(&flags.addresses, &facts);
    print(flags, &verdicts)?;
    let hosted = |address| verdicts.iter().any(|verdict| verdict.address == address && verdict.can_host);
    let left: Vec<String> =
        flags.addresses.iter().filter(|address| !hosted(**address)).map(ToString::to_string).collect();
    if left.is_empty() {
        Ok(())
    } else {
        Err(CommandError::NoHost { cluster: name.to_owned(), addresses: left.join(", ") })
    }
}

fn print(flags: &CheckEgressIp, verdicts: &[Verdict]) -> Result<(), CommandError> {
    match flags.output {
        Format::Json => printed::json(&json!({"verdicts": verdicts}))?,
        Format::Yaml => printed::yaml(&json!({"verdicts": verdicts}))?,
        Format::Name => {
            let hosts = verdicts.iter().filter(|verdict| verdict.can_host);
            printed::print(&printed::lines(hosts.map(|verdict| format!("node/{}", verdict.node))))?;
        }
        Format::Table | Format::Wide => printed::print(&table(verdicts))?,
    }
    Ok(())
}

fn table(verdicts: &[Verdict]) -> String {
    let mut rows = vec![["ADDRESS", "NODE", "CAN HOST", "WHY", "FIX"].map(str::to_owned).to_vec()];
    for verdict in verdicts {
        let can = if verdict.can_host { "yes" } else { "no" };
        let cells = [&verdict.address.to_string(), &verdict.node, can, &verdict.why, &verdict.fix];
        rows.push(cells.map(str::to_owned).to_vec());
    }
    printed::columns(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_columns() {
        let verdict = Verdict {
            address: "10.19.3.50".parse().unwrap(),
            node: "worker-1".to_owned(),
            can_host: false,
            why: "it is not Ready".to_owned(),
            fix: "kubectl describe node worker-1".to_owned(),
        };
        assert_eq!(
            table(&[verdict]),
            "ADDRESS      NODE       CAN HOST   WHY               FIX\n\
             10.19.3.50   worker-1   no         it is not Ready   kubectl describe node worker-1\n"
        );
    }
}
