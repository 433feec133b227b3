//! `hcp plan`: which nodes a change would restart, why, and in which order. Nothing is written.

use std::fmt::Write as _;

use jiff::Timestamp;
use roost_operator::{Pending, Preview};
use serde_json::json;

use crate::arguments::{Format, Plan, PlanFlags, PlanWhat};
use crate::high;
use crate::plane::{HOSTED_CLUSTERS, NODE_POOLS, Plane};

use super::error::CommandError;
use super::{change, create_kubeconfig, files, printed};

pub(super) async fn run(arguments: &Plan) -> Result<(), CommandError> {
    let (PlanWhat::NodePool(flags) | PlanWhat::Cluster(flags)) = &arguments.what;
    let name = change::checked_name(&flags.name)?;
    let release = flags.set_release.as_deref().map(high::release_image).transpose()?;
    let pending = Pending { release, objects: files::objects("filename", &flags.files)? };
    let plane = Plane::connect(flags.plane.kubeconfig.as_deref()).await?;
    let namespace = &flags.plane.namespace;
    let pools = match &arguments.what {
        PlanWhat::NodePool(_) => vec![plane.require(&NODE_POOLS, namespace, name).await?],
        PlanWhat::Cluster(_) => {
            plane.require(&HOSTED_CLUSTERS, namespace, name).await?;
            let all = plane.list(&NODE_POOLS, namespace, "").await?;
            all.into_iter().filter(|pool| pool["spec"]["clusterName"] == name).collect()
        }
    };
    let mut previews = Vec::new();
    for pool in &pools {
        let cluster = pool["spec"]["clusterName"].as_str().unwrap_or_default();
        let guest = guest(&plane, namespace, cluster).await?;
        let pool = pool["metadata"]["name"].as_str().unwrap_or_default();
        let made = roost_operator::preview(&plane.client(), guest, (namespace, pool), &pending, Timestamp::now()).await;
        previews.push(made?);
    }
    print(flags, &previews)
}

/// The way to a cluster's nodes; none while it has no kubeconfig.
async fn guest(plane: &Plane, namespace: &str, cluster: &str) -> Result<Option<kube::Client>, CommandError> {
    let cluster = plane.require(&HOSTED_CLUSTERS, namespace, cluster).await?;
    match create_kubeconfig::guest_of(plane, &cluster).await {
        Ok(guest) => Ok(Some(guest.client())),
        Err(CommandError::NoKubeconfig { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn print(flags: &PlanFlags, previews: &[Preview]) -> Result<(), CommandError> {
    let document = json!({"nodePools": previews});
    match flags.output {
        Format::Json => printed::json(&document)?,
        Format::Yaml => printed::yaml(&document)?,
        Format::Name => printed::print(&printed::lines(
            previews.iter().flat_map(|preview| preview.nodes.iter().map(|node| format!("node/{}", node.node))),
        ))?,
        Format::Table | Format::Wide => printed::print(&previews.iter().map(table).collect::<String>())?,
    }
    eprintln!("nothing was changed");
    Ok(())
}

/// A pool for people to read.
fn table(preview: &Preview) -> String {
    let Preview { node_pool, target, version, strategy, .. } = preview;
    if preview.nodes.is_empty() {
        return format!("NodePool {node_pool}: no node would restart; all have {target}\n");
    }
    let mut text = format!("NodePool {node_pool}: configuration {target}, version {version} ({strategy})\n");
    for field in &preview.changed {
        let _ = writeln!(text, "  because of {field}");
    }
    if !preview.waits_for.is_empty() {
        let _ = writeln!(text, "  waits: {}", preview.waits_for);
    }
    let mut rows = vec![["ORDER", "NODE", "WHAT", "WHY"].map(str::to_owned).to_vec()];
    for (place, node) in preview.nodes.iter().enumerate() {
        rows.push(vec![(place + 1).to_string(), node.node.clone(), node.action.clone(), node.reason.clone()]);
    }
    text.push_str(&printed::columns(&rows));
    text
}

#[cfg(test)]
mod tests {
    use roost_operator::PlannedNode;

    use super::*;

    #[test]
    fn a_plan_says_which_nodes_why_and_in_which_order() {
        let node = |name: &str| PlannedNode {
            node: name.to_owned(),
            action: "drain".to_owned(),
            reason: "it has a and should have b".to_owned(),
        };
        let mut preview = Preview {
            node_pool: "clusters/workers".to_owned(),
            target: "b".to_owned(),
            version: "1.36.3".to_owned(),
            strategy: "InPlace, at most 1 away".to_owned(),
            changed: vec!["spec.config of the NodePool".to_owned()],
            nodes: vec![node("one"), node("two")],
            unchanged: Vec::new(),
            waits_for: String::new(),
        };
        assert_eq!(
            table(&preview),
            "NodePool clusters/workers: configuration b, version 1.36.3 (InPlace, at most 1 away)\n  \
             because of spec.config of the NodePool\n\
             ORDER   NODE   WHAT    WHY\n\
             1       one    drain   it has a and should have b\n\
             2       two    drain   it has a and should have b\n"
        );
        preview.nodes.clear();
        assert_eq!(table(&preview), "NodePool clusters/workers: no node would restart; all have b\n");
    }
}
