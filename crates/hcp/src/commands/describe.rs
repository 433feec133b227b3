//! `hcp describe`: a cluster as a tree of its parts, with what each waits for.

mod tree;

use jiff::Timestamp;

use crate::arguments::{Describe, DescribeWhat, Format};
use crate::plane::{CONTROL_PLANE_COMPONENTS, HOSTED_CLUSTERS, HOSTED_CONTROL_PLANES, NODE_POOLS, Plane};

use super::change::checked_name;
use super::error::CommandError;
use super::printed;
use tree::Parts;

pub(super) async fn run(arguments: &Describe) -> Result<(), CommandError> {
    let DescribeWhat::Cluster { name, plane: place, output } = &arguments.what;
    let (name, namespace) = (checked_name(name)?, checked_name(&place.namespace)?);
    let plane = Plane::connect(place.kubeconfig.as_deref()).await?;
    let cluster = plane.require(&HOSTED_CLUSTERS, namespace, name).await?;
    let inside = format!("{namespace}-{name}");
    let (control_plane, components, pools) = tokio::try_join!(
        plane.get(&HOSTED_CONTROL_PLANES, &inside, name),
        plane.list(&CONTROL_PLANE_COMPONENTS, &inside, ""),
        plane.list(&NODE_POOLS, namespace, ""),
    )?;
    let pools = pools.into_iter().filter(|pool| pool["spec"]["clusterName"] == name).collect();
    let tree = tree::tree(&Parts { cluster, control_plane, components, pools });
    match output {
        Format::Json => printed::json(&tree.to_json())?,
        Format::Yaml => printed::yaml(&tree.to_json())?,
        _ => printed::print(&printed::columns(&tree.rows(Timestamp::now())))?,
    }
    Ok(())
}
